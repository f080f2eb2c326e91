//! Variables: renamed ones are no change, what they start with may be, however deep it lies, and static ones of
//! one name are told apart.

mod common;

use changeling_changes::Subject;
use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
static int counter;
static int errors;
int depth = 5;
static const int limit = 9;
static const int k = 3;
struct in { const char *name; int weights[2]; };
struct mid { struct in in[2]; };
struct out { struct mid mid[2]; };
struct out table[2] = {
  {{{{{\"a\", {1, 2}}, {\"b\", {3, 4}}}}, {{{\"c\", {1, 2}}, {\"d\", {3, 4}}}}}},
  {{{{{\"e\", {1, 2}}, {\"f\", {3, 4}}}}, {{{\"g\", {1, 2}}, {\"h\", {3, 4}}}}}},
};
int grid[2][2][2][2][2] = {{{{{1, 2}}}}, {{{{3, 4}, {5, 6}}}}};
static int note(int kind) {
  counter++;
  if (kind > limit)
    errors++;
  return kind * depth;
}
int main(int argc, char **argv) {
  printf(\"%d %d\\n\", note(argc), counter + errors);
  printf(\"%d\\n\", argc * k);
  printf(\"%s\\n\", table[argc & 1].mid[1].in[0].name);
  return table[argc & 1].mid[1].in[argc >> 1 & 1].weights[1] + grid[argc & 1][0][0][1][0];
}
";

fn edited(edits: &[(&str, &str)]) -> Pair {
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert!(head.contains(from), "{from}");
        head = head.replace(from, to);
    }
    Pair::new(BASE, &head)
}

#[test]
fn another_name_is_no_change() {
    let renamed = [
        ("counter", "events"),
        ("errors", "mistakes"),
        ("depth", "deepness"),
        ("table", "contents"),
        ("grid", "cells"),
        ("limit", "most"),
    ];
    for one in renamed {
        let pair = edited(&[one]);
        assert!(
            pair.set.changes.is_empty(),
            "{one:?}: {:#?}",
            pair.set.changes
        );
    }
    let pair = edited(&renamed);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}

#[test]
fn another_name_and_another_use_is_a_change() {
    let pair = edited(&[
        ("static int errors;\n", ""),
        ("    errors++;", "    counter++;"),
        ("counter + errors", "counter + counter"),
    ]);
    let lines: Vec<u32> = pair
        .set
        .changes
        .iter()
        .flat_map(|change| lines_of(&pair.head, &change.head.modified))
        .collect();
    assert!(lines.contains(&17) && lines.contains(&21), "{lines:?}");
    let pair = edited(&[
        ("counter", "events"),
        ("static int events;", "static int events = 1;"),
    ]);
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn contents_are_compared_however_deep() {
    for (from, to, line) in [
        ("\"h\", {3, 4}", "\"h\", {3, 5}", 12),
        ("\"h\", {3, 4}", "\"hh\", {3, 4}", 12),
        ("{5, 6}", "{5, 7}", 14),
    ] {
        let pair = edited(&[(from, to)]);
        let change = pair.only();
        assert!(matches!(&change.subject, Subject::Global { .. }));
        assert_eq!(pair.head_lines(change), (line, 1), "{to}");
    }
}

#[test]
fn a_constant_of_one_letter_is_found() {
    let pair = edited(&[("k = 3", "k = 4")]);
    assert_eq!(pair.head_lines(pair.only()), (6, 1));
    assert_eq!(lines_of(&pair.head, &pair.only().head.modified), [23]);
}

const FIRST: &str = "\
static int count = 1;
int bump(int by) {
  count += by;
  return count;
}
int first(void) { return count; }
";
const SECOND: &str = "\
static int count = 2;
int drop(int by) {
  count -= by;
  return count;
}
";
const BUMP: &str = "int bump(int by) {\n  count += by;\n  return count;\n}\n";
const MAIN: &str = "\
int bump(int); int first(void); int drop(int);
int main(int argc, char **argv) {
  bump(argc);
  return first() + drop(2);
}
";

/// Of two files with a static variable of the same name.
fn units(first: &str, second: &str) -> Pair {
    let of = |first, second| [("first.c", first), ("second.c", second), ("main.c", MAIN)];
    Pair::of_units(&of(FIRST, SECOND), &of(first, second))
}

#[test]
fn static_variables_of_one_name_are_told_apart() {
    assert!(units(FIRST, SECOND).set.changes.is_empty());
    // The other one starts with that already.
    let pair = units(&FIRST.replace("= 1", "= 2"), SECOND);
    assert_eq!(pair.head_lines(pair.only()), (1, 1));
    let pair = units(&FIRST.replace("= 1", "= 2"), &SECOND.replace("= 2", "= 1"));
    assert_eq!(pair.set.changes.len(), 2, "{:#?}", pair.set.changes);
    // The same text means the other variable now.
    let pair = units(&FIRST.replace(BUMP, ""), &format!("{SECOND}{BUMP}"));
    let line = lines_of(&pair.head, &pair.only().head.modified);
    assert_eq!(line, [7]);
    let pair = units(
        &FIRST.replace("static ", ""),
        &SECOND.replace("static int count = 2", "extern int count"),
    );
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn files_that_change_places_are_no_change() {
    assert!(units(SECOND, FIRST).set.changes.is_empty());
    let pair = units(&FIRST.replace("count", "total"), SECOND);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}
