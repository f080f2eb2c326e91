//! Changes of the worked example `prog`, in C: regions with one entry, and what is truly modified in them.

mod common;

use changeling_analysis::{Graphs, Memory, Slicer};
use changeling_changes::{Change, ChangeKind, Side};
use changeling_program::{Program, Site};
use common::{Pair, lines_of};

/// Statement n of the example is on line n + 10; 8 is left empty.
const BASE: &str = "\
#include <stdio.h>







void prog(int n, const int *m) {
  volatile int a = 0, r, i;
  r = n;
  for (i = 0; i < 4; i++) {
    if (m[i] > 0)
      a = 4;
    else a = 2;
    r += a;
  } printf(\"%d\\n\", r > 0);

}
int main(int argc, char **argv) {
  int m[4] = {1, -1, 0, 3 + argc};
  prog(5, m);
  return 0;
}
";

const CH1: (&str, &str) = ("r = n;", "r = n - 1;");
const CH2: (&str, &str) = ("a = 4;", "a = 5;");
const CH3: (&str, &str) = ("r > 0", "r > -10");
const CH4: (&str, &str) = (");\n\n}", ");\n  printf(\"%d\\n\", a);\n}");

fn pair(edits: &[(&str, &str)]) -> Pair {
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert_eq!(head.matches(from).count(), 1, "{from}");
        head = head.replace(from, to);
    }
    Pair::new(BASE, &head)
}

fn statements(program: &Program, sites: &[Site]) -> Vec<u32> {
    let lines = lines_of(program, sites).into_iter();
    lines.filter_map(|line| line.checked_sub(10)).collect()
}

/// Statements of a side's region, and where it is entered.
fn region(program: &Program, side: &Side) -> (Vec<u32>, Vec<u32>) {
    let spans = side.region.iter();
    let sites = spans.flat_map(|span| (span.first.0..=span.last.0).map(Site));
    let entry: Vec<Site> = side.entry.into_iter().collect();
    let sites: Vec<Site> = sites.collect();
    (statements(program, &sites), statements(program, &entry))
}

/// Edges across the border of base's region, as statements: into it, with where each leads in head, and out of it, with
/// where each starts in head.
fn border(pair: &Pair, change: &Change) -> [Vec<(u32, u32, u32)>; 2] {
    let at = |program: &Program, site: Option<Site>| {
        let found = site.map(|site| statements(program, &[site]));
        found.map_or(0, |found| found[0])
    };
    let (base, head) = (&pair.base, &pair.head);
    let incoming = change.incoming.iter();
    let outgoing = change.outgoing.iter();
    [
        incoming
            .map(|&(from, to, there)| (at(base, from), at(base, Some(to)), at(head, Some(there))))
            .collect(),
        outgoing
            .map(|&(from, to, there)| (at(base, Some(from)), at(base, to), at(head, there)))
            .collect(),
    ]
}

/// What the change can influence in head.
fn slice(pair: &Pair, change: &Change) -> Vec<u32> {
    let graphs = Graphs::new(&pair.head);
    let memory = Memory::new(&pair.head, &graphs.pointers, &graphs.calls);
    let slicer = Slicer::new(&pair.head, &graphs, &memory);
    let sites: Vec<Site> = slicer.forward(&change.head.modified).into_iter().collect();
    let mut found = statements(&pair.head, &sites);
    found.retain(|statement| *statement <= 8);
    found
}

#[test]
fn one_statement_is_a_region_of_its_own() {
    for (edit, statement, influenced) in [
        (CH1, 1, vec![1, 6, 7]),
        (CH2, 4, vec![4, 6, 7]),
        (CH3, 7, vec![7]),
    ] {
        let pair = pair(&[edit]);
        let change = pair.only();
        assert_eq!(change.kind, ChangeKind::Modified, "{edit:?}");
        let own = (vec![statement], vec![statement]);
        for (program, side) in [(&pair.base, &change.base), (&pair.head, &change.head)] {
            assert_eq!(region(program, side), own, "{edit:?}");
            assert_eq!(statements(program, &side.modified), [statement]);
        }
        assert_eq!(slice(&pair, change), influenced, "{edit:?}");
    }
    let first = pair(&[CH1]);
    let [incoming, outgoing] = border(&first, first.only());
    assert_eq!(incoming, [(0, 1, 1)]);
    assert_eq!(outgoing, [(1, 2, 1)]);
}

/// The anchor belongs to the region, and is not modified: nothing that depends on it depends on the change.
#[test]
fn an_inserted_statement_hangs_on_the_one_before() {
    let pair = pair(&[CH4]);
    let change = pair.only();
    assert_eq!(region(&pair.base, &change.base), (vec![7], vec![7]));
    assert_eq!(region(&pair.head, &change.head), (vec![7, 8], vec![7]));
    assert!(change.base.modified.is_empty());
    assert_eq!(statements(&pair.head, &change.head.modified), [8]);
    // 9 stands for the end.
    let [incoming, outgoing] = border(&pair, change);
    assert_eq!(incoming, [(7, 7, 7)]);
    assert_eq!(outgoing, [(7, 9, 8)]);
    assert_eq!(slice(&pair, change), [8]);
}

#[test]
fn changes_of_one_program_are_kept_apart() {
    let pair = pair(&[CH1, CH2, CH4]);
    let changes = pair.set.changes.iter();
    let found: Vec<_> = changes
        .map(|change| {
            let modified = statements(&pair.head, &change.head.modified);
            (modified, slice(&pair, change))
        })
        .collect();
    let expected = [
        (vec![1], vec![1, 6, 7]),
        (vec![4], vec![4, 6, 7, 8]),
        (vec![8], vec![8]),
    ];
    assert_eq!(found, expected);
}
