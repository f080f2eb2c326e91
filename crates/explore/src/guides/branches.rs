//! What runs tell about branches.

use super::plan::{Guard, Plan};
use std::collections::{HashMap, HashSet};

/// Which branches of interest runs have come to, and which of them test the input.
#[derive(Default)]
pub struct Tests {
    /// By block: a run has come there.
    executed: HashMap<u32, bool>,
    symbolic: HashSet<u32>,
    /// Branches of interest.
    guards: HashSet<u32>,
}

impl Tests {
    pub fn new(plan: &Plan) -> Tests {
        let guards = plan.goals.iter().flat_map(|goal| &goal.guards);
        Tests {
            executed: guards.clone().map(|guard| (guard.block, false)).collect(),
            symbolic: HashSet::new(),
            guards: guards.map(|guard| guard.branch).collect(),
        }
    }

    pub fn is_stuck(&self, guard: &Guard) -> bool {
        self.executed[&guard.block] && !self.symbolic.contains(&guard.branch)
    }

    /// Whether something new was learnt.
    pub fn cover(&mut self, coverage: &[u8]) -> bool {
        let mut is_new = false;
        for (block, executed) in &mut self.executed {
            let ran = coverage.get(*block as usize).is_some_and(|byte| *byte != 0);
            is_new |= ran && !std::mem::replace(executed, *executed || ran);
        }
        is_new
    }

    pub fn see(&mut self, site: u32) -> bool {
        self.guards.contains(&site) && self.symbolic.insert(site)
    }
}
