//! Labels whose address is taken.

mod common;

use changeling_changes::Subject;
use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
int run(const char *code) {
  static const void *const table[] = {&&stop, &&more, &&less};
  const void *last = &&stop;
  int n = 0;
  goto *table[*code++ & 3];
more:
  n += 3;
  goto *table[*code++ & 3];
less:
  n *= 7;
  if (n > 100)
    goto *last;
  goto *table[*code++ & 3];
stop:
  printf(\"%d\\n\", n);
  return n;
}
int main(int argc, char **argv) {
  return run(argv[1]);
}
";

fn replaced(pieces: &[(&str, &str)]) -> Pair {
    let mut head = BASE.to_owned();
    for (from, to) in pieces {
        assert!(head.contains(from), "nothing to replace: {from}");
        head = head.replacen(from, to, 1);
    }
    Pair::new(BASE, &head)
}

fn tables(pair: &Pair) -> usize {
    let changes = pair.set.changes.iter();
    changes
        .filter(|change| matches!(change.subject, Subject::Global { .. }))
        .count()
}

#[test]
fn a_block_that_was_added_changes_no_table() {
    let pair = replaced(&[(
        "  n += 3;",
        "  n += 3;\n  if (n == 50)\n    puts(\"half\");",
    )]);
    assert_eq!(pair.head_lines(pair.only()), (9, 2));
    assert_eq!(tables(&pair), 0);
}

/// The code behind the label begins with what was added.
#[test]
fn a_block_at_a_label_changes_no_table() {
    let pair = replaced(&[(
        "  n *= 7;",
        "  if (n == 50)\n    puts(\"half\");\n  n *= 7;",
    )]);
    assert_eq!(pair.head_lines(pair.only()), (11, 2));
}

#[test]
fn other_labels_in_a_table_are_a_change() {
    let pair = replaced(&[("&&more, &&less", "&&less, &&more")]);
    assert_eq!(tables(&pair), 1);
    // Also if blocks got other numbers.
    let more = ("  int n = 0;", "  int n = 0;\n  if (!code)\n    return 0;");
    let pair = replaced(&[("&&more, &&less", "&&less, &&more"), more]);
    assert_eq!(tables(&pair), 1);
}

#[test]
fn code_that_stands_at_other_labels_is_a_change() {
    let pair = replaced(&[("more:", "other:"), ("less:", "more:"), ("other:", "less:")]);
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn another_label_in_the_code_is_a_change() {
    let pair = replaced(&[("last = &&stop", "last = &&more")]);
    let lines: Vec<Vec<u32>> = pair
        .set
        .changes
        .iter()
        .map(|change| lines_of(&pair.head, &change.head.modified))
        .collect();
    assert!(!lines.is_empty(), "{:#?}", pair.set.changes);
}
