//! Whether both versions are in the same state, as far as probes tell.
//!
//! Where values leave what was changed, traces have them ([`crate::guides::Lockstep`]). As long as both versions come by
//! the same probes in the same order, and with equal values, nothing has come of the changes. Equal means: for every
//! input that takes this pair of paths, which is what the solver is asked if the expressions are not the same.

use crate::frontier::{Bucket, Task};
use crate::guide::{Flip, Guide};
use crate::merge::Step;
use crate::path::{Path, Probed};
use crate::runner::Side;
use crate::state::State;
use crate::terms::{self, TermError};
use crate::tree::NodeId;
use changeling_solver::{Answer, Arena, Assignment, Expr};
use changeling_trace::event::probe;
use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sameness {
    /// They are not, or nobody knows.
    #[default]
    Unknown,
    /// Nothing but decisions rests on what was changed so far, and these were made alike.
    Alike,
    /// All values that have left what was changed are equal.
    Equal,
    /// They are, unless this holds.
    Unless(Expr),
}

/// What the probes of two whole paths tell.
pub struct Compared {
    pub sameness: Sameness,
    /// The probes whose values may differ, and whether they did.
    pub open: Vec<(u32, bool)>,
}

/// Follows the probes along two paths.
pub struct Comparison<'a> {
    paths: [&'a Path; 2],
    /// So many have been compared.
    compared: usize,
    /// Nothing is known any more.
    lost: bool,
    /// Values were compared, not only decisions.
    values: bool,
    unless: Option<Expr>,
    /// The probes whose values may differ, and whether they did.
    open: Vec<(u32, bool)>,
}

impl<'a> Comparison<'a> {
    /// `are_probed`: the traces have all values that matter.
    pub fn new(paths: [&'a Path; 2], are_probed: bool) -> Comparison<'a> {
        Comparison {
            paths,
            compared: 0,
            // What was lost on the way may depend on the input all the same.
            lost: !are_probed || !paths.iter().all(|path| path.tells_all()),
            values: false,
            unless: None,
            open: Vec::new(),
        }
    }

    /// A block was entered behind which nothing is known.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// After so many probes of each version.
    pub fn after(&mut self, arena: &mut Arena, passed: [usize; 2]) -> Result<Sameness, TermError> {
        while !self.lost && self.compared < passed[0].min(passed[1]) {
            let [base, head] = self.paths.map(|path| path.probes[self.compared]);
            self.compared += 1;
            self.compare(arena, base, head)?;
        }
        Ok(match self.unless {
            _ if self.lost || passed[0] != passed[1] => Sameness::Unknown,
            Some(unless) => Sameness::Unless(unless),
            None if self.values => Sameness::Equal,
            None => Sameness::Alike,
        })
    }

    /// After all of them.
    pub fn finish(mut self, arena: &mut Arena) -> Result<Compared, TermError> {
        let all = self.paths.map(|path| path.probes.len());
        let sameness = self.after(arena, all)?;
        let open = self.open;
        Ok(Compared { sameness, open })
    }

    fn compare(&mut self, arena: &mut Arena, base: Probed, head: Probed) -> Result<(), TermError> {
        if base.code != head.code || base.code == probe::CUT {
            self.lost = true;
            return Ok(());
        }
        // The path condition says where control goes for every input.
        if probe::decides(base.code) {
            self.lost |= base.concrete != head.concrete;
            return Ok(());
        }
        self.values = true;
        if base.value == head.value {
            return Ok(());
        }
        let differ = terms::differ(arena, base.value, head.value)?;
        self.open.push((base.code, base.concrete != head.concrete));
        match arena.truth(differ) {
            Some(false) => {}
            Some(true) => self.lost = true,
            None => {
                let either = match self.unless {
                    Some(unless) => arena.any(&[unless, differ])?,
                    None => differ,
                };
                self.lost |= arena.truth(either) == Some(true);
                self.unless = Some(either);
            }
        }
        Ok(())
    }
}

/// What was asked about states.
#[derive(Default)]
pub struct Asked {
    /// By the node whose prefix was asked about.
    equal: HashMap<NodeId, bool>,
    /// By probe: how often an input was asked for on which its values differ; enough if they did.
    wishes: HashMap<u32, u32>,
    /// By node: what should hold there.
    pub goals: HashMap<NodeId, Expr>,
}

/// So many inputs are asked for on which the values of a probe differ.
const MOST_WISHES: u32 = 2;

impl State {
    /// Compares the values that changes have left behind before each decision, and in the end.
    pub fn follow_probes(
        &mut self,
        steps: &mut [Step],
        paths: [&Path; 2],
    ) -> Result<Compared, TermError> {
        let mut comparison = Comparison::new(paths, self.guide.has_probes());
        let mut passed = [0; 2];
        let mut pass = |until: [usize; 2], guide: &dyn Guide, comparison: &mut Comparison<'_>| {
            for side in Side::BOTH {
                let at = side.index();
                let marks = &paths[at].marks[passed[at]..until[at]];
                if marks.iter().any(|mark| guide.is_blind(side, mark.block)) {
                    comparison.lose();
                }
                passed[at] = until[at];
            }
        };
        for step in steps {
            pass(step.marks, self.guide.as_ref(), &mut comparison);
            step.sameness = comparison.after(&mut self.arena, step.probes)?;
        }
        let all = paths.map(|path| path.marks.len());
        pass(all, self.guide.as_ref(), &mut comparison);
        comparison.finish(&mut self.arena)
    }

    /// A flip that could be given up if both versions are in the same state before it: whether they are.
    pub fn settle_sameness(&mut self, node: NodeId, flip: &mut Flip) {
        let Sameness::Unless(unless) = flip.sameness else {
            return;
        };
        let hoped = Flip {
            sameness: Sameness::Equal,
            ..*flip
        };
        if self.guide.needs_sameness(&hoped) && self.is_impossible(node, unless) {
            flip.sameness = Sameness::Equal;
        }
    }

    /// Whether no input that comes to a node makes states differ. What is impossible where the last value was compared is
    /// so from there on; else what was decided in between may make it so.
    fn is_impossible(&mut self, node: NodeId, unless: Expr) -> bool {
        let first = self.first_with(node, unless);
        self.ask_sameness(first, unless) || first != node && self.ask_sameness(node, unless)
    }

    /// The first decision on the way to a node at which the same is compared.
    fn first_with(&self, node: NodeId, unless: Expr) -> NodeId {
        let before = self.tree.way_to(node);
        let same = before
            .take_while(|(_, decision, _)| decision.sameness == Sameness::Unless(unless))
            .last();
        same.map_or(node, |(first, _, _)| first)
    }

    fn ask_sameness(&mut self, node: NodeId, unless: Expr) -> bool {
        if let Some(&known) = self.asked.equal.get(&node) {
            return known;
        }
        let run = self.tree.run(node);
        let input = Assignment::from_input(&self.corpus[run.0 as usize].input);
        let equal = !self.arena.holds(unless, &input) && {
            let prefix = self.tree.prefix(node);
            self.solver.hurry(true);
            let answer = self.ask(&prefix, unless, run);
            self.stats.infections.asked += 1;
            matches!(answer, Answer::Unsat(_))
        };
        self.stats.infections.impossible += u64::from(equal);
        self.asked.equal.insert(node, equal);
        equal
    }

    /// A run came by changes and they made no difference to the state, which was luck: other bytes on the same way would.
    /// Asked for until it was seen of each probe.
    pub fn wish_for_infection(&mut self, end: NodeId, compared: Compared) {
        let Compared { sameness, open } = compared;
        for (code, _) in open.iter().filter(|(_, differs)| *differs) {
            self.asked.wishes.insert(*code, MOST_WISHES);
        }
        let Sameness::Unless(unless) = sameness else {
            return;
        };
        let wishes = &mut self.asked.wishes;
        let mut unseen = false;
        for (code, _) in open.iter().filter(|(_, differs)| !differs) {
            let times = wishes.entry(*code).or_default();
            unseen |= *times < MOST_WISHES;
        }
        if !unseen || open.iter().any(|(_, differs)| *differs) {
            return;
        }
        let codes: HashSet<u32> = open.iter().map(|(code, _)| *code).collect();
        for code in codes {
            *wishes.entry(code).or_default() += 1;
        }
        let node = self.first_with(end, unless);
        self.asked.goals.insert(node, unless);
        self.frontier.push(Bucket::Out, 1, 0, Task::Infect { node });
    }
}

/// By version: how many of a path's probes come before so many of its tests.
pub fn passed(paths: [&Path; 2], tests: [usize; 2]) -> [usize; 2] {
    Side::BOTH.map(|side| {
        let at = side.index();
        let path = paths[at];
        match tests[at] >= path.tests.len() {
            true => path.probes.len(),
            false => path
                .probes
                .partition_point(|p| p.after as usize <= tests[at]),
        }
    })
}
