//! What hides the effect of a change.
//!
//! A run may enter a change and show nothing because of something else that it did, such as an
//! error that was noted before and is all that is reported. The guide knows what has to hold where
//! effects are shown, and when it ceased to hold; what was decided right before that is then decided
//! otherwise.

use crate::frontier::{Bucket, Mend, Task};
use crate::guide::Context;
use crate::state::State;
use crate::tree::{NodeId, RunId, WayState};
use changeling_solver::{Answer, Expr, Var};
use changeling_trace::input::Input;

/// So many decisions before the mask are made otherwise.
const NEAR: u32 = 4;

impl State {
    /// Looks for what hid the effect of a change on a run.
    pub fn lift_mask(&mut self, run: RunId) {
        let ran = &self.corpus[run.0 as usize];
        let mut way: Vec<(NodeId, usize)> = Vec::new();
        let mut contexts: Vec<[Context; 2]> = vec![ran.contexts];
        for (node, decision, taken) in self.tree.way_to(ran.end) {
            way.push((node, taken));
            contexts.push(decision.contexts);
        }
        way.reverse();
        contexts.reverse();
        let Some(last) = self.guide.masked(&contexts) else {
            return;
        };
        for (rank, &(node, taken)) in (0..NEAR).zip(way[..=last].iter().rev()) {
            let Some(decision) = self.tree.decision(node) else {
                continue;
            };
            let ways = decision.ways.iter().map(|way| way.state).enumerate();
            let others = ways.filter(|(at, _)| *at != taken);
            let possible = others.filter(|(_, state)| *state != WayState::Impossible);
            let possible: Vec<usize> = possible.map(|(at, _)| at).collect();
            for at in possible {
                for inserts in [false, true] {
                    let (way, mend) = (at as u32, Mend { run, inserts });
                    let task = Task::Mend { node, way, mend };
                    self.frontier.push(Bucket::Use, rank, 0, task);
                }
            }
        }
    }

    /// The input of a run as it would have to be for a decision to go the other way.
    pub fn mended(&mut self, node: NodeId, way: usize, mend: Mend) -> Option<Input> {
        let goal = self.tree.decision(node)?.ways[way].held;
        if mend.inserts {
            return self.with_byte(mend.run, goal, 0);
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
