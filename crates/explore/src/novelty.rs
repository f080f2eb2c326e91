//! How well known the places are that tasks lead to.
//!
//! A side of a branch that no path has taken is news. So is one taken for the fifth
//! time in a loop if no path has come round so often, and one taken right after
//! another side that it never followed. Which of two tasks is the better news is
//! told by how often paths were seen to do the like.

use crate::frontier::{Bucket, Edit, How, Mend, Task};
use crate::guides::Key;
use crate::runner::Side;
use crate::state::State;
use crate::tree::{NodeId, RunId};
use changeling_solver::Var;
use rustc_hash::FxHashMap;

/// Version, site, calling site, outcome.
pub type SideOfBranch = (Side, u32, u32, u64);

/// A side of a branch for a condition of a certain shape. In a function such as
/// `take(text, wanted)`, `wanted` may tell more than the branch.
type Test = (SideOfBranch, u64);

/// And how often the branch was come to before, roughly.
type Turn = (Test, u32);

/// Which runs are alike, where in them, and the kind of edit.
type EditOf = (u64, [u32; 4], u32);

/// How often paths did things in a new way.
#[derive(Default)]
pub struct Familiar {
    /// Took a side, by how the versions had parted before.
    taken: FxHashMap<(Option<SideOfBranch>, Test), u32>,
    /// Took a side after coming to its branch so often.
    turns: FxHashMap<Turn, u32>,
    /// Took a side right after another one.
    steps: FxHashMap<(Option<Turn>, Turn), u32>,
    /// Took a side of a branch that only one version has there.
    parted: FxHashMap<SideOfBranch, u32>,
    /// Took a side when the guide had the same still to do,
    acted: FxHashMap<(u64, Test), u32>,
    /// and had last read the same byte of those that stand for themselves: an amount behind `d` is not one behind `o`.
    spoken: FxHashMap<(u64, u64, Test), u32>,
    /// Could not take it then, right after another side.
    barred: FxHashMap<(u64, Option<Turn>, Test), u32>,
    /// Was mended to take it then, by a byte that was put in or another one.
    mended: FxHashMap<(u64, How, Test), u32>,
    /// Was edited in some way where others like it were.
    edited: FxHashMap<EditOf, u32>,
}

/// What one step of familiarity weighs.
pub const NEWS: u32 = 64;

/// The same weighs more where the guide leads: doing the same once more brings nothing that it knows of.
/// As much as one more goal.
const REPEATED: u32 = NEWS * (Key::GOAL / 4);

/// Steps that mending a run counts for when others came further.
const UNPROMISING: u32 = 2;

/// Other bytes are tried before other lengths, as long as both are equally new.
const RESIZED: u32 = 32;

impl State {
    /// How well known the place is that a task of a bucket leads to; smaller is newer.
    pub fn novelty(&self, bucket: Bucket, task: &Task) -> u32 {
        match *task {
            Task::Flip { node, way } => {
                let novelty = self.novelty_of(node, way as usize);
                match bucket {
                    Bucket::Reach => novelty + REPEATED * self.repeated(node, way as usize),
                    _ => novelty,
                }
            }
            // The way is known, what comes after it is not.
            Task::Carry { node, way, .. } => NEWS + self.novelty_of(node, way as usize) / 2,
            Task::Mend { node, way, mend } => {
                let times = self.times_mended(node, way as usize, mend);
                NEWS * (times + self.unpromising(mend.run))
            }
            Task::Edit { run, edit } => {
                NEWS * (self.times_edited(run, edit) + self.unpromising(run))
            }
            Task::Out { .. }
            | Task::Another { .. }
            | Task::Vary
            | Task::Infect { .. }
            | Task::Approach { .. } => 0,
        }
    }

    /// How often the like of a way was mended so.
    fn times_mended(&self, node: NodeId, way: usize, mend: Mend) -> u32 {
        let keys = self.mends(node, way, mend);
        let times = keys
            .into_iter()
            .map(|key| roughly(self.familiar.mended.get(&key)));
        times.min().unwrap_or(0)
    }

    /// A decision of a run is changed.
    pub fn count_mended(&mut self, node: NodeId, way: usize, mend: Mend) {
        for key in self.mends(node, way, mend) {
            *self.familiar.mended.entry(key).or_default() += 1;
        }
    }

    /// Once a change was entered, what did not come there has less to give; the same goes for what is
    /// hidden once something was not.
    fn unpromising(&self, run: RunId) -> u32 {
        let masked = self.corpus[run.0 as usize].mask.is_some();
        let entered = self.histories.is_empty() || self.entered_change(run);
        u32::from(!entered || self.unmasked && masked) * UNPROMISING
    }

    /// How often runs that are alike were edited so.
    fn times_edited(&self, run: RunId, edit: Edit) -> u32 {
        roughly(self.familiar.edited.get(&self.edit_key(run, edit)))
    }

    /// A run is edited.
    pub fn count_edited(&mut self, run: RunId, edit: Edit) {
        let key = self.edit_key(run, edit);
        *self.familiar.edited.entry(key).or_default() += 1;
    }

    fn edit_key(&self, run: RunId, edit: Edit) -> EditOf {
        let ran = &self.corpus[run.0 as usize];
        let state = self.guide.likeness(ran.contexts);
        match edit {
            Edit::Again { times, like, .. } => (like.into(), [0; 4], times),
            Edit::Insert { .. } => (state, ran.masked_at, 0),
            Edit::Without { from, to, .. } => (ran.history, [from, to, 0, 0], u32::MAX),
        }
    }

    fn mends(&self, node: NodeId, way: usize, mend: Mend) -> Vec<(u64, How, Test)> {
        let Some(decision) = self.tree.decision(node) else {
            return Vec::new();
        };
        let state = self.guide.likeness(decision.contexts);
        let tests = self.turns(node, way).map(|(test, _)| test);
        tests.map(|test| (state, mend.how, test)).collect()
    }

    pub fn novelty_of(&self, node: NodeId, way: usize) -> u32 {
        let context = self.context(node);
        let before = self.turn_before(node);
        let familiar = &self.familiar;
        let known = self.turns(node, way).map(|turn| {
            let taken = familiar.taken.contains_key(&(context, turn.0));
            let times = familiar.turns.get(&turn);
            let steps = familiar.steps.get(&(before, turn));
            u32::from(taken) + roughly(times) + roughly(steps)
        });
        let known = known.min().unwrap_or(0);
        let parted = context.and_then(|context| familiar.parted.get(&context));
        known * NEWS + roughly(parted) + u32::from(self.only_resizes(node, way)) * RESIZED
    }

    /// How often the like was done when the guide had the same still to do.
    pub fn repeated(&self, node: NodeId, way: usize) -> u32 {
        let Some(decision) = self.tree.decision(node) else {
            return 0;
        };
        let state = self.guide.likeness(decision.contexts);
        let before = self.turn_before(node);
        let familiar = &self.familiar;
        let resizes = self.only_resizes(node, way);
        let word = self.tree.word(node);
        let times = self.turns(node, way).map(|(test, _)| {
            let test = done_by(test, resizes);
            let acted = roughly(familiar.acted.get(&(state, test)));
            let spoken = roughly(familiar.spoken.get(&(state, word, test)));
            let barred = familiar.barred.get(&(state, before, test));
            (acted + spoken).div_ceil(2).max(roughly(barred))
        });
        let times = times.min().unwrap_or(0);
        // Another length does nothing by itself.
        if resizes { times / 2 } else { times }
    }

    /// A way was taken for the first time. Whether the like was never done before.
    pub fn count_taken(&mut self, node: NodeId, way: usize) -> bool {
        self.count(node, way, true)
    }

    /// A way cannot be taken: what turns out to be impossible again and again is no news. But what the guide has to do is not
    /// done by that, and after something else it may be possible.
    pub fn count_barred(&mut self, node: NodeId, way: usize) {
        self.count(node, way, false);
    }

    fn count(&mut self, node: NodeId, way: usize, taken: bool) -> bool {
        let context = self.context(node);
        let before = self.turn_before(node);
        let turns: Vec<Turn> = self.turns(node, way).collect();
        let contexts = self.tree.decision(node).map(|decision| decision.contexts);
        let state = self.guide.likeness(contexts.unwrap_or_default());
        let resizes = self.only_resizes(node, way);
        let word = self.tree.word(node);
        let familiar = &mut self.familiar;
        let mut is_new = false;
        for turn in turns {
            is_new |= !familiar.turns.contains_key(&turn);
            let test = done_by(turn.0, resizes);
            if taken {
                *familiar.acted.entry((state, test)).or_default() += 1;
                *familiar.spoken.entry((state, word, test)).or_default() += 1;
            } else {
                *familiar.barred.entry((state, before, test)).or_default() += 1;
            }
            *familiar.taken.entry((context, turn.0)).or_default() += 1;
            *familiar.turns.entry(turn).or_default() += 1;
            *familiar.steps.entry((before, turn)).or_default() += 1;
        }
        is_new
    }

    /// A run took a side of a branch that only one version has there.
    pub fn count_parting(&mut self, side: SideOfBranch) {
        *self.familiar.parted.entry(side).or_default() += 1;
    }

    /// Whether a way asks for nothing but another length of a stream.
    pub fn only_resizes(&self, node: NodeId, way: usize) -> bool {
        let decision = self.tree.decision(node);
        let held = decision
            .and_then(|decision| decision.ways.get(way))
            .map(|way| way.held);
        held.is_some_and(|held| {
            self.arena.variable_count(held) == 1
                && matches!(self.arena.variables(held)[0], Var::Length { .. })
        })
    }

    /// How the versions parted last before a node.
    fn context(&self, node: NodeId) -> Option<SideOfBranch> {
        let (node, way) = self.tree.difference_before(node)?;
        let turn = self.turns(node, way as usize).next();
        turn.map(|((side, _), _)| side)
    }

    /// What was decided last before a node.
    fn turn_before(&self, node: NodeId) -> Option<Turn> {
        let (node, way) = self.tree.before(node)?;
        self.turns(node, way).next()
    }

    /// A way of a decision as each version that takes it has it.
    fn turns(&self, node: NodeId, way: usize) -> impl Iterator<Item = Turn> + '_ {
        let decision = self.tree.decision(node).into_iter();
        decision.flat_map(move |decision| {
            let owners = Side::BOTH.into_iter();
            owners
                .filter(|side| decision.owner.includes(*side))
                .map(move |side| {
                    let site = decision.sites[side.index()];
                    let outcome = decision.ways[way].outcome;
                    let side = (side, site, decision.caller, outcome);
                    ((side, decision.shape), rounds(decision.visits))
                })
        })
    }
}

/// What taking a side does for a guide. In what belongs to a library the same branch may test anything, as
/// each letter in `strchr("abc", letter)` does.
fn done_by((side, shape): Test, resizes: bool) -> Test {
    let (_, _, caller, _) = side;
    let tells = caller != 0 && !resizes;
    (side, if tells { shape } else { 0 })
}

/// Counts are rough, so that old tasks are not overtaken for ever.
fn roughly(times: Option<&u32>) -> u32 {
    let log = times.and_then(|times| times.checked_ilog2());
    log.map_or(0, |log| log + 1)
}

/// Each of the first rounds of a loop is one of its own.
fn rounds(visits: u32) -> u32 {
    const EXACT: u32 = 4;
    match visits {
        0..EXACT => visits,
        _ => EXACT + (visits / EXACT).ilog2(),
    }
}
