//! Where a branch leads.

mod common;

use common::{Pair, lines_of};

const TOGETHER: &str = "\
#include <stdio.h>
#include <stdlib.h>
char failed, noisy;
int main(int argc, char **argv) {
  failed = argc > 1;
  noisy = argc > 2;
  if (failed && noisy) {
    puts(\"failed\");
    exit(2);
  }
  puts(\"good\");
  return 0;
}
";

/// What stood behind both conditions stands behind one: no statement is new.
const APART: &str = "\
#include <stdio.h>
#include <stdlib.h>
char failed, noisy;
int main(int argc, char **argv) {
  failed = argc > 1;
  noisy = argc > 2;
  if (failed) {
    if (noisy) {
      puts(\"failed\");
    }
    exit(2);
  }
  puts(\"good\");
  return 0;
}
";

#[test]
fn a_branch_into_the_middle_of_old_code_is_modified() {
    let pair = Pair::new(TOGETHER, APART);
    let changes = pair.set.changes.iter();
    let lines: Vec<u32> = changes
        .flat_map(|change| lines_of(&pair.head, &change.head.modified))
        .collect();
    assert!(lines.contains(&8), "{:#?}", pair.set.changes);
    let back = Pair::new(APART, TOGETHER);
    let changes = back.set.changes.iter();
    let lines: Vec<u32> = changes
        .flat_map(|change| lines_of(&back.head, &change.head.modified))
        .collect();
    assert!(lines.contains(&7), "{:#?}", back.set.changes);
}
