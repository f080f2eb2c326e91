//! Two paths of the same input as one sequence of decisions.
//!
//! The order in which decisions appear may depend only on how earlier ones went:
//! then all sequences form a decision tree, each leaf of which is a pair of
//! paths. Base's next decision comes first, then head's; one that follows from
//! an earlier one by being the same condition is left out, so the common prefix
//! of both versions appears, and is stored, once.

use crate::guide::Context;
use crate::path::{Path, Test, TestKind};
use crate::runner::Side;
use crate::sameness::{self, Sameness};
use changeling_solver::Expr;
use rustc_hash::{FxHashMap, FxHashSet};

/// Whose decision it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Both versions tested the same thing at this place.
    Both,
    One(Side),
}

impl Owner {
    pub fn includes(self, side: Side) -> bool {
        match self {
            Owner::Both => true,
            Owner::One(owner) => owner == side,
        }
    }
}

/// One decision of a pair of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub owner: Owner,
    /// The test of the owner; base's, if both.
    pub test: Test,
    /// Sites in base and head, 0 where the version has no part in it.
    pub sites: [u32; 2],
    /// Sites of the calls that the functions around it stand for, likewise.
    pub within: [u32; 2],
    /// How often this place was decided at before on the way.
    pub visits: u32,
    /// How many of each version's marks are certain to come once all that was decided
    /// before is: those before the version's next test.
    pub marks: [usize; 2],
    /// The same for probes.
    pub probes: [usize; 2],
    /// What the guide makes of these marks.
    pub contexts: [Context; 2],
    /// What follows from these probes.
    pub sameness: Sameness,
}

impl Step {
    /// The version whose site table describes `test`.
    pub fn side(&self) -> Side {
        match self.owner {
            Owner::Both => Side::Base,
            Owner::One(side) => side,
        }
    }

    pub fn is_fixed(&self) -> bool {
        matches!(self.test.kind, TestKind::Fixed(_))
    }
}

pub fn merge(base: &Path, head: &Path) -> Vec<Step> {
    let mut merging = Merging {
        known: FxHashSet::default(),
        visits: FxHashMap::default(),
        steps: Vec::new(),
        paths: [base, head],
        marks: [0, 0],
        probes: [0, 0],
    };
    let mut base = base.tests.as_slice();
    let mut head = head.tests.as_slice();
    loop {
        base = merging.skip_known(base);
        head = merging.skip_known(head);
        merging.pass_marks([base.len(), head.len()]);
        match (base.split_first(), head.split_first()) {
            (None, None) => return merging.steps,
            (Some((b, rest_b)), Some((h, rest_h))) if b.held == h.held => {
                merging.push([Some(b), Some(h)]);
                (base, head) = (rest_b, rest_h);
            }
            (b, h) => {
                if let Some((b, rest)) = b {
                    merging.push([Some(b), None]);
                    base = merging.skip_known(rest);
                    merging.pass_marks([base.len(), head.len()]);
                }
                // Base's decision may be that of head too.
                if let Some((h, rest)) = h
                    && !merging.known.contains(&h.held)
                {
                    merging.push([None, Some(h)]);
                    head = rest;
                }
            }
        }
    }
}

struct Merging<'a> {
    known: FxHashSet<Expr>,
    /// By owner, site and calling site.
    visits: FxHashMap<(Owner, u32, u32), u32>,
    steps: Vec<Step>,
    paths: [&'a Path; 2],
    marks: [usize; 2],
    probes: [usize; 2],
}

impl Merging<'_> {
    /// Counts the marks before the next test of each version, of which so many tests are
    /// left.
    fn pass_marks(&mut self, left: [usize; 2]) {
        for (at, path) in self.paths.iter().enumerate() {
            let next = path.tests.len() - left[at];
            let rest = path.marks[self.marks[at]..].iter();
            let certain = rest.take_while(|mark| left[at] == 0 || mark.after as usize <= next);
            self.marks[at] += certain.count();
        }
        let next = [0, 1].map(|at| self.paths[at].tests.len() - left[at]);
        self.probes = sameness::passed(self.paths, next);
    }

    fn skip_known<'a>(&self, mut tests: &'a [Test]) -> &'a [Test] {
        while let Some((first, rest)) = tests.split_first()
            && self.known.contains(&first.held)
        {
            tests = rest;
        }
        tests
    }

    /// Takes in a test of one version, or the same one of both.
    fn push(&mut self, tests: [Option<&Test>; 2]) {
        let (owner, test) = match tests {
            [Some(base), Some(_)] => (Owner::Both, base),
            [Some(base), None] => (Owner::One(Side::Base), base),
            [None, Some(head)] => (Owner::One(Side::Head), head),
            [None, None] => return,
        };
        self.known.insert(test.held);
        let visits = self.visits.entry((owner, test.site, test.caller));
        let visits = visits.or_default();
        self.steps.push(Step {
            owner,
            test: test.clone(),
            sites: tests.map(|test| test.map_or(0, |test| test.site)),
            within: tests.map(|test| test.map_or(0, |test| test.within)),
            visits: *visits,
            marks: self.marks,
            probes: self.probes,
            contexts: [Context::default(); 2],
            sameness: Sameness::default(),
        });
        *visits += 1;
    }
}

/// Where two paths part: the sites of the first decisions that are not the same,
/// 0 for a version that has none left. None if they take the same decisions.
pub fn parting(base: &Path, head: &Path) -> Option<[u32; 2]> {
    let place = |test: &Test| {
        if test.caller != 0 {
            test.caller
        } else {
            test.site
        }
    };
    let mut pairs = base.tests.iter().zip(&head.tests);
    if let Some((b, h)) = pairs.find(|(b, h)| b.held != h.held) {
        return Some([place(b), place(h)]);
    }
    let common = base.tests.len().min(head.tests.len());
    let next = |path: &Path| path.tests.get(common).map(place);
    match (next(base), next(head)) {
        (None, None) => None,
        (b, h) => Some([b.unwrap_or(0), h.unwrap_or(0)]),
    }
}
