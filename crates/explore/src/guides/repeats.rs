//! What it takes to do something again, learnt from runs that did it.
//!
//! A count goes up where its definition runs, and what that needs may be gone afterwards: a machine
//! that has made a stroke has to be brought back first. How things are then is seen when a run comes by.

use super::guided::{Guided, SideTable};
use super::plan::GoalId;
use super::situations::Situations;
use crate::guide::Context;
use crate::runner::Side;
use std::collections::HashMap;

#[derive(Default)]
pub struct Repeats {
    /// By version and block: the goals that count there.
    counters: HashMap<(usize, u32), Vec<GoalId>>,
    /// Reached since the last decision.
    reached: Vec<(usize, GoalId)>,
}

impl Repeats {
    pub fn new(sides: &[SideTable; 2]) -> Repeats {
        let mut repeats = Repeats::default();
        for (at, side) in sides.iter().enumerate() {
            for &block in side.plan.effects.keys() {
                let counters = side.plan.counters(block);
                if !counters.is_empty() {
                    repeats.counters.insert((at, block), counters);
                }
            }
        }
        repeats
    }

    /// Whether something is counted in a block.
    pub fn counts(&self, side: Side, block: u32) -> bool {
        self.counters.contains_key(&(side.index(), block))
    }

    pub fn enter(&mut self, side: Side, block: u32) {
        let at = side.index();
        let goals = self.counters.get(&(at, block));
        for goal in goals.into_iter().flatten() {
            self.reached.push((at, *goal));
        }
    }
}

impl Guided {
    /// A path comes to a decision.
    pub(super) fn note_repeats(&mut self, contexts: [Context; 2]) {
        let mut better = false;
        for (at, goal) in std::mem::take(&mut self.repeats.reached) {
            let values = &self.contexts[at].get(contexts[at]).values;
            better |= self.tables.sides[at].plan.came_by(goal, values);
        }
        if better {
            // All that was worked out with less is out of date.
            self.situations = Situations::default();
            self.continued.clear();
            self.leads.clear();
            self.open.clear();
            self.epoch += 1;
        }
    }
}
