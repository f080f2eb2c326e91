//! Change-sequence graphs of pairs of C programs.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use changeling_analysis::sequences::{Mark, MarkKind};
use changeling_analysis::{Graphs, Memory};
use changeling_changes::{ChangeSequences, Version};
use changeling_program::Program;
use common::Pair;

/// The running example of the specification.
const HEAD: &str = "\
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  int v = 0, init = 1, c, ch;
  int lhs = 0;
  while (1) {
    ch = getchar();
    if (ch >= '0' && ch <= '9') {
      v = ch - '0';
      lhs = 1;
    } else if (ch == '-') {
      c = lhs;
      init = c ? v : 1;
    } else if (ch == EOF) {
      printf(\"%d\\n\", init);
      break;
    }
  }
  return 0;
}
";

fn edges(
    program: &Program,
    set: &changeling_changes::ChangeSet,
    version: Version,
) -> Vec<(u32, u32)> {
    let graphs = Graphs::new(program);
    let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
    let found = ChangeSequences::new(program, &graphs, &memory, set, version);
    let line = |mark: &Mark| match mark.kind {
        MarkKind::Root => 0,
        MarkKind::Out => 99,
        // By the change, which is also known where its statement left no code.
        MarkKind::Changed | MarkKind::Anchor => {
            let change = &set.changes[mark.changes[0] as usize];
            let lines = match version {
                Version::Base => change.base.lines,
                Version::Head => change.head.lines,
            };
            lines.expect("lines").first
        }
        _ => {
            program
                .place(mark.site.expect("a site"))
                .expect("a place")
                .line
        }
    };
    let mut edges = BTreeSet::new();
    for edge in &found.graph.edges {
        edges.insert((
            line(found.graph.mark(edge.from)),
            line(found.graph.mark(edge.to)),
        ));
    }
    edges.into_iter().collect()
}

#[test]
fn the_running_example_in_c() {
    let base = HEAD
        .replace("  int lhs = 0;\n", "")
        .replace("      lhs = 1;\n", "")
        .replace("c = lhs;", "c = v;");
    let pair = Pair::new(&base, HEAD);
    let lines: Vec<u32> = pair
        .set
        .changes
        .iter()
        .map(|c| pair.head_lines(c).0)
        .collect();
    assert_eq!(lines, [5, 10, 12], "{:#?}", pair.set.changes);
    let expected = [
        (0, 5),
        (5, 10),
        (5, 12),
        (5, 15),
        (10, 10),
        (10, 12),
        (10, 15),
        (12, 13),
        (13, 10),
        (13, 12),
        (13, 15),
        (15, 99),
    ];
    assert_eq!(edges(&pair.head, &pair.set, Version::Head), expected);
}

/// The same with a `bool`, which is tested without a comparison, and an assertion. Where the ways
/// of a decision bring the same value nothing depends on it, so the changes meet once.
#[test]
fn the_running_example_as_a_fixture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracles/b1");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a fixture");
    let pair = Pair::new(&text("old.c"), &text("new.c"));
    let mut expected = Vec::new();
    // `lhs = false`, `lhs = true`, the assertion's failure and the output after it.
    expected.push((0, 12));
    for from in [12, 18] {
        expected.extend([18, 20, 23, 28].map(|to| (from, to)));
    }
    // `c = lhs`, then the place where it meets the others.
    expected.push((20, 21));
    expected.extend([18, 20, 23, 28].map(|to| (21, to)));
    expected.extend([(23, 99), (28, 99)]);
    assert_eq!(edges(&pair.head, &pair.set, Version::Head), expected);
}

/// What was deleted is marked where it was; base's graph has the code itself.
#[test]
fn a_deletion_has_its_place_in_both_graphs() {
    let base = "\
#include <stdio.h>
static int depth(int n) {
  if (n > 3)
    n = 3;
  return n ? 1 + depth(n - 1) : 0;
}
int main(int argc, char **argv) {
  int n = depth(argc);
  if (n == 2)
    puts(\"two\");
  printf(\"%d\\n\", n);
  return 0;
}
";
    let head = base.replace("  if (n > 3)\n    n = 3;\n", "");
    let pair = Pair::new(base, &head);
    assert_eq!(pair.set.changes.len(), 1, "{:#?}", pair.set.changes);
    // Recursion: the place is come by again before and after each output's call.
    let expected = [(0, 3), (3, 3), (3, 10), (3, 11), (10, 11), (11, 99)];
    assert_eq!(edges(&pair.base, &pair.set, Version::Base), expected);
    let expected = [(0, 3), (3, 3), (3, 8), (3, 9), (8, 9), (9, 99)];
    assert_eq!(edges(&pair.head, &pair.set, Version::Head), expected);
}
