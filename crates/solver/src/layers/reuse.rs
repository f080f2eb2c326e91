//! Answers to questions that were asked before, or that follow from them.
//!
//! - The same conditions and goal: the same answer (if the hint's values of the
//!   variables matter to the caller, a known model is as good as a new one).
//! - A goal that contradicted some conditions still contradicts them when
//!   there are more.
//! - A model of a goal may satisfy the goal under other conditions too.

use crate::arena::{Arena, Expr};
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::VarId;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is remembered of one goal; the oldest goes first.
const MODELS: usize = 4;
const CORES: usize = 16;
/// When there are more goals than this, everything is forgotten.
const GOALS: usize = 200_000;

#[derive(Default)]
pub(crate) struct Reuse {
    goals: FxHashMap<Expr, Memory>,
}

#[derive(Default)]
struct Memory {
    models: Vec<Vec<(VarId, u64)>>,
    /// Conditions that contradict the goal, sorted.
    cores: Vec<Box<[Expr]>>,
}

impl Layer for Reuse {
    fn attempt(&mut self, arena: &mut Arena, trial: &mut Trial, task: &Task) -> Option<Verdict> {
        let memory = self.goals.get(&task.goal)?;
        if !memory.cores.is_empty() {
            let present: FxHashMap<Expr, usize> =
                task.conditions.iter().copied().zip(0..).collect();
            for core in &memory.cores {
                let positions: Option<Vec<usize>> = core
                    .iter()
                    .map(|condition| present.get(condition).copied())
                    .collect();
                if let Some(positions) = positions {
                    return Some(Verdict::Unsat(positions));
                }
            }
        }
        let variables: FxHashSet<VarId> = task.variables.iter().copied().collect();
        for model in memory.models.iter().rev() {
            let values: Vec<(VarId, u64)> = model
                .iter()
                .copied()
                .filter(|(var, _)| variables.contains(var))
                .collect();
            let fits = |&(var, value): &(VarId, u64)| {
                value <= task.bounds.maximum(arena.variables.var(var))
            };
            if !values.iter().all(fits) {
                continue;
            }
            trial.vary(arena, values.iter().copied());
            if task.all().all(|condition| trial.holds(arena, condition)) {
                return Some(Verdict::Sat(values));
            }
        }
        None
    }

    fn learn(&mut self, arena: &Arena, task: &Task, verdict: &Verdict) {
        if self.goals.len() > GOALS {
            self.goals.clear();
        }
        match verdict {
            Verdict::Sat(values) => {
                let changed = values.iter().copied();
                let changed = changed.filter(|&(var, value)| value != task.hint_value(arena, var));
                let memory = self.goals.entry(task.goal).or_default();
                memory.models.push(changed.collect());
                if memory.models.len() > MODELS {
                    memory.models.remove(0);
                }
            }
            Verdict::Unsat(core) => {
                // Bounds of lengths are part of the question but not of the core.
                let bounded = task.all().any(|e| mentions_length(arena, e));
                if bounded {
                    return;
                }
                let mut core: Vec<Expr> =
                    core.iter().map(|&index| task.conditions[index]).collect();
                core.sort_unstable();
                let memory = self.goals.entry(task.goal).or_default();
                memory.cores.push(core.into());
                if memory.cores.len() > CORES {
                    memory.cores.remove(0);
                }
            }
            Verdict::Unknown(_) => {}
        }
    }

    fn reset(&mut self) {
        self.goals.clear();
    }
}

fn mentions_length(arena: &Arena, e: Expr) -> bool {
    let mut variables = arena.set(e).iter();
    variables.any(|var| {
        matches!(
            arena.variables.var(var),
            crate::variables::Var::Length { .. }
        )
    })
}
