//! Value search: answers that need no solver.
//!
//! A condition on a single byte is a set of 256 bits, computed once. The sets
//! of all such conditions of a query are intersected: if one becomes empty the
//! query has no solution, and if there are only such conditions it has been
//! solved. Conditions on several bytes are tried out: with the run's own bytes,
//! changing as few of them as possible, guided by working backwards from what
//! the goal needs. Those that compare sums are solved as such.

mod inversion;
mod linear;
mod reads;
mod sums;

use crate::arena::{Arena, Expr};
use crate::machine;
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use changeling_trace::Op;
use inversion::Inversion;
use linear::Linear;
use reads::Reads;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use sums::{Choice, Found};

/// Which of 256 values satisfy a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    fn of(mut member: impl FnMut(u64) -> bool) -> ByteSet {
        let mut set = ByteSet([0; 4]);
        for value in (0..256u64).filter(|&value| member(value)) {
            set.0[(value / 64) as usize] |= 1 << (value % 64);
        }
        set
    }

    fn contains(&self, value: u64) -> bool {
        value < 256 && self.0[(value / 64) as usize] >> (value % 64) & 1 == 1
    }

    fn intersect(&mut self, other: &ByteSet) {
        for (word, &mask) in self.0.iter_mut().zip(&other.0) {
            *word &= mask;
        }
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..256).filter(|&value| self.contains(value))
    }
}

/// Work (expressions evaluated) that a search may cost before it gives up.
const MAX_WORK: u64 = 60_000;
/// Values tried for a byte on its own.
const MAX_SINGLES: usize = 48;
/// Values that a variable of a sum may have.
const MAX_CHOICES: u64 = 4_096;
/// Demands on sums that are met at once.
const MAX_DEMANDS: usize = 64;

#[derive(Default)]
pub(crate) struct Values {
    sets: FxHashMap<Expr, ByteSet>,
    reads: Reads,
}

/// What is known of one variable of the query.
struct Domain {
    set: ByteSet,
    /// For lengths: the range.
    low: u64,
    high: u64,
    /// Indices into the task's conditions (goal: `usize::MAX`) that made it.
    reasons: Vec<usize>,
}

const GOAL: usize = usize::MAX;

impl Layer for Values {
    fn attempt(&mut self, arena: &mut Arena, trial: &mut Trial, task: &Task) -> Option<Verdict> {
        let mut domains: FxHashMap<VarId, Domain> = FxHashMap::default();
        let mut open: Vec<(Expr, usize)> = Vec::new();
        let named = task
            .conditions
            .iter()
            .copied()
            .zip(0..)
            .chain([(task.goal, GOAL)]);
        for (condition, index) in named {
            let set = arena.set(condition);
            let only = (set.len() == 1).then(|| set.iter().next()).flatten();
            let Some(var) = only else {
                open.push((condition, index));
                continue;
            };
            let domain = domains.entry(var).or_insert_with(|| Domain {
                set: ByteSet::ALL,
                low: 0,
                high: task.bounds.maximum(arena.variables.var(var)),
                reasons: Vec::new(),
            });
            match arena.variables.var(var) {
                Var::Byte { .. } => {
                    let set = self.set(arena, trial, condition, var);
                    domain.set.intersect(&set);
                }
                Var::Length { .. } => match length_range(arena, condition) {
                    Some((low, high)) => {
                        domain.low = domain.low.max(low);
                        domain.high = domain.high.min(high);
                    }
                    None => {
                        open.push((condition, index));
                        continue;
                    }
                },
            }
            domain.reasons.push(index);
            if domain.set.is_empty() || domain.low > domain.high {
                let core = domain
                    .reasons
                    .iter()
                    .copied()
                    .filter(|&index| index != GOAL);
                return Some(Verdict::Unsat(core.collect()));
            }
        }
        // The nearest value to the hint wherever the hint does not do.
        let mut values: Vec<(VarId, u64)> = Vec::new();
        for (&var, domain) in &domains {
            let old = task.hint_value(arena, var);
            let new = domain.nearest(old);
            if new != old {
                values.push((var, new));
            }
        }
        if open.is_empty() {
            return Some(Verdict::Sat(values));
        }
        let conditions: Vec<Expr> = open.iter().map(|(condition, _)| *condition).collect();
        if let Some(verdict) = holds(arena, trial, &conditions, &values) {
            return Some(verdict);
        }
        self.reads.look(arena, task.goal);
        let sums = self.sums(arena, trial, task, &domains, &open, &values);
        sums.or_else(|| self.search(arena, trial, task, &domains, &conditions, values))
    }

    fn reset(&mut self) {
        self.sets.clear();
        self.reads.clear();
    }
}

impl Domain {
    fn contains(&self, value: u64) -> bool {
        (self.low..=self.high).contains(&value) && (self.high > 255 || self.set.contains(value))
    }

    /// Nearest by value; for lengths that is the smallest change.
    fn nearest(&self, value: u64) -> u64 {
        if self.contains(value) {
            return value;
        }
        if self.set == ByteSet::ALL || self.high > 255 {
            return value.clamp(self.low, self.high);
        }
        let candidates = self
            .set
            .iter()
            .filter(|&candidate| self.contains(candidate));
        candidates
            .min_by_key(|&candidate| candidate.abs_diff(value))
            .unwrap_or(value)
    }
}

impl Values {
    /// The values of its only byte that satisfy a condition.
    fn set(&mut self, arena: &Arena, trial: &mut Trial, condition: Expr, var: VarId) -> ByteSet {
        if let Some(&known) = self.sets.get(&condition) {
            return known;
        }
        let set = by_form(arena, condition, 0).unwrap_or_else(|| {
            ByteSet::of(|value| {
                trial.vary(arena, [(var, value)]);
                trial.holds(arena, condition)
            })
        });
        self.sets.insert(condition, set);
        set
    }

    /// Takes conditions for demands on sums, as far as they are; `forced` are values that
    /// conditions on single variables need anyway.
    fn sums(
        &self,
        arena: &Arena,
        trial: &mut Trial,
        task: &Task,
        domains: &FxHashMap<VarId, Domain>,
        open: &[(Expr, usize)],
        forced: &[(VarId, u64)],
    ) -> Option<Verdict> {
        let bounds = |var: VarId| match domains.get(&var) {
            Some(domain) => (domain.low, domain.high),
            None => (0, task.bounds.maximum(arena.variables.var(var))),
        };
        let values = |var: VarId| {
            let (low, high) = bounds(var);
            (low..=high).filter(move |&value| match domains.get(&var) {
                Some(domain) => domain.contains(value),
                None => true,
            })
        };
        // Bounds rest on variables, too, that are no part of a sum.
        let asked = RefCell::new(FxHashSet::default());
        let range = |var: VarId| {
            asked.borrow_mut().insert(var);
            let (low, high) = bounds(var);
            if high - low >= MAX_CHOICES {
                return (low as i64, high.min(i64::MAX as u64) as i64);
            }
            let ends = [values(var).min(), values(var).max()];
            let [least, most] = ends.map(|end| end.unwrap_or(low) as i64);
            (least, most)
        };
        let mut linear = Linear::new(arena, &self.reads, &range);
        let mut demands = Vec::new();
        let mut core: Vec<usize> = Vec::new();
        for &(condition, index) in open.iter().rev() {
            let before = demands.len();
            let _ = linear.demands(condition, &mut demands);
            match (index, demands.len() > before) {
                (GOAL, false) => return None,
                (GOAL, true) | (_, false) => {}
                (index, true) => core.push(index),
            }
            if demands.len() >= MAX_DEMANDS {
                break;
            }
        }
        let mut vars: Vec<VarId> = demands
            .iter()
            .flat_map(|demand| demand.parts.iter().map(|(var, _)| *var))
            .collect();
        vars.sort_unstable();
        vars.dedup();
        let choices = vars.iter().map(|&var| {
            let (low, high) = bounds(var);
            if high - low >= MAX_CHOICES {
                return None;
            }
            let old = task.hint_value(arena, var);
            let mut values: Vec<u64> = values(var).collect();
            values.sort_by_key(|value| value.abs_diff(old));
            let values = values.into_iter().map(|value| value as i64).collect();
            Some(Choice { var, values })
        });
        let choices: Vec<Choice> = choices.collect::<Option<_>>()?;
        let mut accepted = Vec::new();
        let mut accept = |chosen: &[(VarId, u64)]| {
            let others = forced.iter().filter(|(var, _)| !vars.contains(var));
            accepted = others.chain(chosen).copied().collect();
            trial.vary(arena, accepted.iter().copied());
            let mut conditions = open.iter().rev();
            conditions.all(|&(condition, _)| trial.holds(arena, condition))
        };
        match sums::solve(&demands, choices, &mut accept) {
            Found::Solution => Some(Verdict::Sat(accepted)),
            Found::Contradiction => {
                let asked = asked.borrow();
                let reasons = asked.iter().filter_map(|var| domains.get(var));
                core.extend(reasons.flat_map(|domain| &domain.reasons));
                core.retain(|index| *index != GOAL);
                core.sort_unstable();
                core.dedup();
                Some(Verdict::Unsat(core))
            }
            Found::Nothing => None,
        }
    }

    /// Tries changes of few bytes; `forced` are those that single-byte
    /// conditions need anyway.
    fn search(
        &self,
        arena: &Arena,
        trial: &mut Trial,
        task: &Task,
        domains: &FxHashMap<VarId, Domain>,
        open: &[Expr],
        forced: Vec<(VarId, u64)>,
    ) -> Option<Verdict> {
        let limit = trial.work + MAX_WORK;
        let allowed = |var: VarId, value: u64| match domains.get(&var) {
            Some(domain) => domain.contains(value),
            None => value <= task.bounds.maximum(arena.variables.var(var)),
        };
        // What the goal, or the first condition that fails, asks of its operands.
        let mut current = forced.clone();
        for round in 0..12 {
            trial.vary(arena, current.iter().copied());
            let Some(&failing) = open
                .iter()
                .find(|&&condition| !trial.holds(arena, condition))
            else {
                return Some(Verdict::Sat(current));
            };
            if trial.work > limit {
                return None;
            }
            let mut inversion = Inversion::new(arena, trial, round);
            let Some(changes) = inversion.make_true(failing, &allowed) else {
                break;
            };
            let mut next = current.clone();
            for (var, value) in changes {
                next.retain(|&(other, _)| other != var);
                next.push((var, value));
            }
            if next == current {
                break;
            }
            current = next;
            if let Some(verdict) = holds(arena, trial, open, &current) {
                return Some(verdict);
            }
        }
        // One byte of the goal at a time.
        let goal_vars: Vec<VarId> = arena.set(task.goal).iter().take(8).collect();
        for &var in &goal_vars {
            let Var::Byte { .. } = arena.variables.var(var) else {
                continue;
            };
            let fixed: Vec<(VarId, u64)> = forced
                .iter()
                .copied()
                .filter(|&(other, _)| other != var)
                .collect();
            let set = domains.get(&var).map_or(ByteSet::ALL, |domain| domain.set);
            let old = task.hint_value(arena, var);
            let mut candidates: Vec<u64> = set.iter().filter(|&value| value != old).collect();
            candidates.sort_by_key(|&value| value.abs_diff(old));
            for value in candidates.into_iter().take(MAX_SINGLES) {
                if trial.work > limit {
                    return None;
                }
                let mut changes = fixed.clone();
                changes.push((var, value));
                if let Some(verdict) = holds(arena, trial, open, &changes) {
                    return Some(verdict);
                }
            }
        }
        None
    }
}

fn holds(
    arena: &Arena,
    trial: &mut Trial,
    conditions: &[Expr],
    changes: &[(VarId, u64)],
) -> Option<Verdict> {
    trial.vary(arena, changes.iter().copied());
    // The goal is last and is the one that usually fails.
    let all = conditions
        .iter()
        .rev()
        .all(|&condition| trial.holds(arena, condition));
    all.then(|| Verdict::Sat(changes.to_vec()))
}

/// The set of a condition whose form says it all: comparisons of the byte itself
/// with constants, joined by and, or, not.
fn by_form(arena: &Arena, condition: Expr, depth: u32) -> Option<ByteSet> {
    if depth > 8 {
        return None;
    }
    if let Some(inner) = arena.complemented(condition) {
        let set = by_form(arena, inner, depth + 1)?;
        return Some(ByteSet(set.0.map(|word| !word)));
    }
    let term = arena.term(condition);
    let is_byte = |e: Expr| arena.term(e).op == Op::Input;
    match term.op {
        Op::And | Op::Or => {
            let (a, b) = (
                by_form(arena, term.a, depth + 1)?,
                by_form(arena, term.b, depth + 1)?,
            );
            let join = |i: usize| match term.op {
                Op::And => a.0[i] & b.0[i],
                _ => a.0[i] | b.0[i],
            };
            Some(ByteSet([0, 1, 2, 3].map(join)))
        }
        Op::Eq | Op::Ult | Op::Slt if arena.width(term.a) == 8 => {
            let (left, right) = (arena.small(term.a), arena.small(term.b));
            let apply = |x, y| machine::apply(term.op, 1, 8, [x, y, 0], 0) == 1;
            match (left, right) {
                (Some(c), None) if is_byte(term.b) => Some(ByteSet::of(|value| apply(c, value))),
                (None, Some(c)) if is_byte(term.a) => Some(ByteSet::of(|value| apply(value, c))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Comparisons of a length with a constant.
fn length_range(arena: &Arena, condition: Expr) -> Option<(u64, u64)> {
    let (inner, negated) = match arena.complemented(condition) {
        Some(inner) => (inner, true),
        None => (condition, false),
    };
    let term = arena.term(inner);
    let is_length = |e: Expr| arena.term(e).op == Op::Length;
    match (term.op, negated) {
        (Op::Ult, false) if is_length(term.a) => Some((0, arena.small(term.b)?.checked_sub(1)?)),
        (Op::Ult, true) if is_length(term.a) => Some((arena.small(term.b)?, u64::MAX)),
        (Op::Ult, false) if is_length(term.b) => {
            Some((arena.small(term.a)?.checked_add(1)?, u64::MAX))
        }
        (Op::Ult, true) if is_length(term.b) => Some((0, arena.small(term.a)?)),
        (Op::Eq, false) if is_length(term.a) => {
            let value = arena.small(term.b)?;
            Some((value, value))
        }
        _ => None,
    }
}
