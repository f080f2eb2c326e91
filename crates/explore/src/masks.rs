//! What hides the effect of a change, and what may bring it to light.
//!
//! A run may enter a change and show nothing because of something else that it did, such as an
//! error that was noted before and is all that is reported. The guide knows what has to hold where
//! effects are shown, and when it ceased to hold; what was decided right before that is then decided
//! otherwise.
//!
//! A run that enters a change and hides nothing may lack but a little: `1?2:3` shows nothing where
//! `-1?2:3` does. Bytes that the program would have taken otherwise are put in between the others.

use crate::frontier::{Bucket, How, Mend, Task};
use crate::guide::Context;
use crate::guides::Key;
use crate::state::State;
use crate::tree::{NodeId, RunId, WayState};
use changeling_solver::{Answer, Expr, Var};
use changeling_trace::input::Input;

/// So many decisions before the mask are made otherwise.
const NEAR: usize = 4;
/// Ranks that each byte is worth behind the mask: what is right up to there is a beginning. Of longer inputs
/// nothing is hoped for.
const BYTE: u32 = 2;
const MOST_BYTES: usize = 16;
/// Ranks that each place is worth in which something was changed and which did not run.
const MISSING: u32 = 2;
/// Ranks on the way to a target that count for one.
const NEARER: u32 = Key::GOAL / 2;
/// So much waits to be mended at the same time.
const MOST_MENDS: usize = 1 << 14;
/// So many decisions of a run are looked at.
const MOST_BETWEEN: usize = 512;

impl State {
    /// A run entered a change and shows nothing of it.
    pub fn bring_to_light(&mut self, run: RunId) {
        let ran = &self.corpus[run.0 as usize];
        let mut way: Vec<(NodeId, usize)> = Vec::new();
        let mut contexts: Vec<[Context; 2]> = vec![ran.contexts];
        for (node, decision, taken) in self.tree.way_to(ran.end) {
            way.push((node, taken));
            contexts.push(decision.contexts);
        }
        way.reverse();
        contexts.reverse();
        for first in self.guide.first_ran(&contexts) {
            self.look_around(run, &way, first);
        }
        match self.guide.masked(&contexts) {
            Some(last) => self.lift_mask(run, &way[..=last]),
            None => self.put_between(run),
        }
    }

    /// More of the changes than ever had run before a decision: what was decided right before that and
    /// after it is decided otherwise.
    fn look_around(&mut self, run: RunId, way: &[(NodeId, usize)], first: usize) {
        let before = way[..first].iter().rev().take(NEAR);
        let after = way[first..].iter().take(NEAR);
        let near: Vec<(u32, (NodeId, usize))> = (0u32..)
            .zip(before.copied())
            .chain((0u32..).zip(after.copied()))
            .collect();
        for (rank, (node, taken)) in near {
            self.mend_otherwise(run, node, taken, rank);
        }
    }

    /// What was decided right before the mask is decided otherwise.
    fn lift_mask(&mut self, run: RunId, way: &[(NodeId, usize)]) {
        let length = self.corpus[run.0 as usize].length();
        let masked = way.last().and_then(|(node, _)| self.tree.decision(*node));
        let variables = masked.map(|decision| self.arena.variables(decision.subject));
        let offsets = variables.into_iter().flatten().map(|var| match var {
            Var::Byte { offset, .. } => offset as usize,
            Var::Length { .. } => length,
        });
        let behind = length.saturating_sub(offsets.max().unwrap_or(length));
        let behind = BYTE * behind.min(MOST_BYTES) as u32;
        for (rank, &(node, taken)) in (0u32..).zip(way.iter().rev().take(NEAR)) {
            self.mend_otherwise(run, node, taken, behind + rank);
        }
    }

    /// A decision of a run will be made otherwise, in all ways there are.
    fn mend_otherwise(&mut self, run: RunId, node: NodeId, taken: usize, rank: u32) {
        let Some(decision) = self.tree.decision(node) else {
            return;
        };
        let ways = decision.ways.iter().map(|way| way.state).enumerate();
        let others = ways.filter(|(at, _)| *at != taken);
        let possible = others.filter(|(_, state)| *state != WayState::Impossible);
        let possible: Vec<usize> = possible.map(|(at, _)| at).collect();
        for at in possible {
            for how in [How::Instead, How::Before] {
                let (way, mend) = (at as u32, Mend { run, how });
                self.mend_later(Task::Mend { node, way, mend }, rank);
            }
        }
    }

    /// The more of the changes has run the better. When too much waits, it has to do without the rest.
    fn mend_later(&mut self, task: Task, rank: u32) {
        if self.frontier.waiting_in(Bucket::Mend) >= MOST_MENDS {
            return;
        }
        let missing = match task {
            Task::Mend { mend, .. } => {
                let contexts = self.corpus[mend.run.0 as usize].contexts;
                self.guide.missing(contexts)
            }
            _ => 0,
        };
        let rank = rank + MISSING * missing;
        let novelty = self.novelty(Bucket::Mend, &task);
        self.frontier.push(Bucket::Mend, rank, novelty, task);
    }

    /// Bytes that decide otherwise will be put in before those that a run's decisions rest on.
    fn put_between(&mut self, run: RunId) {
        let way = self.tree.way_to(self.corpus[run.0 as usize].end);
        let ways = way.take(MOST_BETWEEN).flat_map(|(node, decision, taken)| {
            let ways = decision.ways.iter().enumerate();
            ways.filter(move |(at, _)| *at != taken)
                .map(move |(at, way)| (node, at, way.held))
        });
        let bytes = ways.filter(|(_, _, held)| self.is_about_a_byte(*held));
        let tasks: Vec<Task> = bytes
            .map(|(node, at, _)| {
                let how = How::Before;
                let mend = Mend { run, how };
                let way = at as u32;
                Task::Mend { node, way, mend }
            })
            .collect();
        // There is more room in short inputs.
        let rank = self.corpus[run.0 as usize].length().min(MOST_BYTES) as u32;
        for task in tasks.into_iter().rev() {
            self.mend_later(task, rank);
        }
    }

    /// A flip leads to a target, but writes over what stands there: the byte that it asks for will also be
    /// put in.
    pub fn put_in_later(&mut self, node: NodeId, way: usize, rank: u32) {
        let held = self
            .tree
            .decision(node)
            .map(|decision| decision.ways[way].held);
        if !held.is_some_and(|held| self.is_about_a_byte(held)) {
            return;
        }
        let run = self.tree.run(node);
        for how in [How::Before, How::Behind] {
            let (way, mend) = (way as u32, Mend { run, how });
            self.mend_later(Task::Mend { node, way, mend }, rank / NEARER);
        }
    }

    fn is_about_a_byte(&self, condition: Expr) -> bool {
        self.arena.variable_count(condition) == 1
            && matches!(self.arena.variables(condition)[0], Var::Byte { .. })
    }

    /// The input of a run as it would have to be for a decision to go the other way.
    pub fn mended(&mut self, node: NodeId, way: usize, mend: Mend) -> Option<Input> {
        let goal = self.tree.decision(node)?.ways[way].held;
        self.count_mended(node, way, mend);
        match mend.how {
            How::Instead => {}
            How::Before => return self.with_byte(mend.run, goal, 0),
            How::Behind => return self.with_byte(mend.run, goal, 1),
        }
        let prefix = self.tree.prefix(node);
        match self.ask(&prefix, goal, mend.run) {
            Answer::Sat(model) => Some(model.to_input(&self.subject.shape)),
            Answer::Unsat(_) | Answer::Unknown(_) => None,
        }
    }

    /// The input of a run with a byte more that satisfies a condition on one byte, put in where that
    /// byte stands or so many bytes behind it.
    pub fn with_byte(&mut self, run: RunId, goal: Expr, behind: usize) -> Option<Input> {
        if self.arena.variable_count(goal) != 1 {
            return None;
        }
        let var = *self.arena.variables(goal).first()?;
        let Var::Byte { stream, offset } = var else {
            return None;
        };
        let Answer::Sat(model) = self.ask(&[], goal, run) else {
            return None;
        };
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let bytes = &mut input.streams.get_mut(stream as usize)?.bytes;
        let at = (offset as usize + behind).min(bytes.len());
        bytes.insert(at, model.get(var) as u8);
        input.normalise();
        Some(input)
    }
}
