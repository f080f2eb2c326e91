//! One question on its way through the layers.

use crate::arena::{Arena, Expr};
use crate::assignment::{Assignment, Bounds};
use crate::query::Reason;
use crate::trial::Trial;
use crate::variables::VarId;
use std::time::Instant;

/// What the layers see: only conditions that matter.
pub(crate) struct Task<'a> {
    pub goal: Expr,
    /// Distinct, none constant.
    pub conditions: Vec<Expr>,
    /// All variables of goal and conditions.
    pub variables: Vec<VarId>,
    pub hint: &'a Assignment,
    pub bounds: &'a Bounds,
    pub deadline: Instant,
}

impl Task<'_> {
    /// Goal first: it is the one that fails.
    pub fn all(&self) -> impl Iterator<Item = Expr> + '_ {
        std::iter::once(self.goal).chain(self.conditions.iter().copied())
    }

    pub fn hint_value(&self, arena: &Arena, var: VarId) -> u64 {
        self.hint.get(arena.variables.var(var))
    }
}

pub(crate) enum Verdict {
    /// Values that differ from the hint, or all of them.
    Sat(Vec<(VarId, u64)>),
    /// Indices of conditions that contradict the goal.
    Unsat(Vec<usize>),
    Unknown(Reason),
}

/// A way to answer. `None` passes the question on.
pub(crate) trait Layer {
    fn attempt(&mut self, arena: &mut Arena, trial: &mut Trial, task: &Task) -> Option<Verdict>;

    /// What the layers behind this one found.
    fn learn(&mut self, _arena: &Arena, _task: &Task, _verdict: &Verdict) {}

    /// Another arena: forget everything about expressions.
    fn reset(&mut self);
}
