//! What variables start with is written in several places: rows, macros, enumerations, types. Each has a say.

mod common;

use changeling_changes::Subject;
use common::Pair;

/// What is written anew, and what it becomes.
type Edits = &'static [(&'static str, &'static str)];

const BASE: &str = "\
#include <stdio.h>
#define FIRST 1
#define KEPT 9
#define LAST 2
enum {
  SMALL,
  LARGE
};
struct inner { char mark; short value; };
struct outer { struct inner inner[2]; };
static const int table[] = { FIRST, KEPT, LAST, 7, 8 };
static const struct { const char *name; int size; } rows[] = {
  { \"a;\", 1 },
  { \"b\", 2 },
  { \"c\", 3 },
  { 0, 0 }
};
static const int sizes[] = { SMALL, LARGE };
static struct outer all = { { { 'a', 1 }, { 'b', 2 } } };
static int count;
__attribute__((constructor(101))) static void twice(void) { count = count * 2 + 1; }
__attribute__((constructor(102))) static void thrice(void) { count = count * 3 + 1; }
int main(int argc, char **argv) {
  printf(\"%d %d %s %d\\n\", table[argc], sizes[argc & 1], rows[argc].name, count);
  return ((char *)&all)[argc];
}
";

/// The first lines of changes and of differences without effect, for one edit or more.
fn lines(edits: &[(&str, &str)]) -> (Vec<u32>, Vec<u32>) {
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert!(head.contains(from), "{from}");
        head = head.replace(from, to);
    }
    let pair = Pair::new(BASE, &head);
    let changes = pair.set.changes.iter();
    let changed = changes.map(|change| pair.head_lines(change).0).collect();
    let quiet = pair.set.quiet_hunks();
    (changed, quiet.map(|hunk| hunk.head.first).collect())
}

#[test]
fn all_that_variables_are_made_of_is_named() {
    let edits: [(Edits, &[u32]); 9] = [
        (&[("FIRST 1", "FIRST 11")], &[2]),
        (&[("FIRST 1", "FIRST 11"), ("LAST 2", "LAST 22")], &[2, 4]),
        (&[("FIRST 1", "FIRST 11"), ("7, 8", "7, 88")], &[2, 11]),
        (
            &[("\"a;\", 1", "\"A;\", 1"), ("\"c\", 3", "\"c\", 4")],
            &[13, 15],
        ),
        (
            &[
                ("  { \"b\", 2 },\n", ""),
                ("  { 0, 0", "  { \"d\", 4 },\n  { 0, 0"),
            ],
            &[14, 15],
        ),
        (&[("  SMALL,", "  SMALL = 4,")], &[6]),
        (
            &[("char mark; short value", "short value; char mark")],
            &[9],
        ),
        (&[("short value", "int value")], &[9]),
        (&[("constructor(102)", "constructor(100)")], &[22]),
    ];
    for (edits, expected) in edits {
        assert_eq!(lines(edits), (expected.to_vec(), vec![]), "{edits:?}");
    }
}

#[test]
fn what_has_no_say_is_not() {
    let quiet = [("KEPT 9", "KEPT (8 + 1)"), ("\"a;\", 1", "\"A;\", 1")];
    assert_eq!(lines(&quiet[1..]), (vec![13], vec![]));
    // A comment between the rows says nothing.
    let edits = [
        ("\"a;\", 1", "\"A;\", 1"),
        ("\"c\", 3 },", "\"c\", 3 }, /* c */"),
    ];
    assert_eq!(lines(&edits), (vec![13], vec![15]));
    assert_eq!(lines(&quiet[..1]), (vec![], vec![3]));
}

#[test]
fn rows_in_rust_have_a_say() {
    let base = "\
pub static NAMES: [&'static str; 3] = [
    \"a\",
    \"b\",
    \"c\",
];
#[unsafe(no_mangle)]
pub extern \"C\" fn main(argc: i32) -> i32 { NAMES[argc as usize].len() as i32 }
";
    let head = base.replace("\"a\"", "\"aa\"").replace("\"c\"", "\"cc\"");
    let pair = Pair::of_rust(base, &head);
    let changes = pair.set.changes.iter();
    let lines: Vec<u32> = changes.map(|change| pair.head_lines(change).0).collect();
    assert_eq!(lines, [2, 4]);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

/// Of a class the table has its virtual functions, wherever else it was changed.
#[test]
fn tables_of_classes_have_virtual_functions() {
    const PRINTER: &str = "\
#include <cstdio>
class Printer {
public:
  virtual ~Printer() {}
  void put(char c);
  void line() { put('\\n'); }
protected:
  int depth = 0;
};
void Printer::put(char c) { std::putchar(c); }
int main() {
  Printer printer;
  printer.line();
}
";
    let head = PRINTER.replace("  void put(char c);", "  virtual void put(char c);");
    let head = head.replace("protected:\n", "protected:\n  void forget();\n");
    let pair = Pair::of_files(&[("main.cpp", PRINTER)], &[("main.cpp", &head)]);
    let tables = pair.set.changes.iter();
    let tables = tables.filter(|change| matches!(change.subject, Subject::Global { .. }));
    let lines: Vec<_> = tables.map(|change| pair.head_lines(change)).collect();
    assert_eq!(lines, [(5, 1)], "{:#?}", pair.set.changes);
}
