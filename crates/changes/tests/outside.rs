//! What the program has of its own in place of a library's is something else, whatever it is called.

mod common;

use changeling_changes::Subject;
use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
#include <unistd.h>
int fold(int c);
int main(int argc, char **argv) {
  if (argc > 1)
    printf(\"%d\\n\", fold(argv[1][0]));
  return opterr;
}
";

/// With a definition at the end.
fn with(definition: &str) -> Pair {
    Pair::new(BASE, &format!("{BASE}{definition}\n"))
}

#[test]
fn a_function_in_place_of_a_librarys_changes_its_calls() {
    for head in [
        with("int fold(int c) { return c + 1; }"),
        Pair::new(
            BASE,
            &BASE.replace("int fold(int c);", "static int fold(int c) { return c; }"),
        ),
    ] {
        let change = head.only();
        assert_eq!(change.subject, Subject::Code);
        assert_eq!(lines_of(&head.base, &change.base.modified), [6]);
        assert_eq!(lines_of(&head.head, &change.head.modified), [6]);
        assert_eq!(head.set.added.len(), 1);
    }
}

#[test]
fn a_variable_in_place_of_a_librarys_changes_its_uses() {
    let pair = with("int opterr = 0;");
    let change = pair.only();
    assert_eq!(lines_of(&pair.base, &change.base.modified), [7]);
    assert_eq!(lines_of(&pair.head, &change.head.modified), [7]);
    assert!(with("").set.changes.is_empty());
}
