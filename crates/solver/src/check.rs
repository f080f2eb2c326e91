//! Checks of models, before they are believed.

use crate::arena::{Arena, Expr};
use crate::assignment::Assignment;
use crate::path::Path;
use crate::query::Query;
use crate::task::{Task, Verdict};
use crate::trial::Trial;
use crate::value::Value;
use crate::variables::{Var, VarId};

/// The reference evaluator with its memory kept from check to check: making room
/// anew for every model took longer than evaluating.
#[derive(Default)]
pub(crate) struct Check {
    /// The check in which a value was computed.
    stamps: Vec<u32>,
    values: Vec<Option<Value>>,
    now: u32,
    todo: Vec<Expr>,
}

impl Check {
    pub fn reset(&mut self) {
        *self = Check::default();
    }

    /// Whether an input satisfies the goal and all conditions that were violated
    /// or mention what has changed. The others held on the hint and still do.
    pub fn satisfies(
        &mut self,
        arena: &Arena,
        path: &mut Path,
        query: &Query,
        model: &Assignment,
    ) -> bool {
        let length = query.prefix.len();
        let changed = changes(arena, query.hint, model);
        let good = changed.iter().all(|&id| {
            let var = arena.variables.var(id);
            model.get(var) <= query.bounds.maximum(var)
        });
        self.restart(arena.len());
        let good = good
            && self.holds(arena, query.goal, model)
            && path
                .touched(&changed, length)
                .iter()
                .all(|&at| self.holds(arena, query.prefix[at as usize], model));
        debug_assert!(
            !good || query.prefix.iter().all(|&e| arena.holds(e, model)),
            "a condition that mentions nothing that changed has changed"
        );
        good
    }

    /// Whether all conditions hold; parts that they share are computed once.
    pub fn all_hold(&mut self, arena: &Arena, conditions: &[Expr], input: &Assignment) -> bool {
        self.restart(arena.len());
        let mut conditions = conditions.iter();
        conditions.all(|&condition| self.holds(arena, condition, input))
    }

    fn restart(&mut self, size: usize) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.stamps.fill(0);
            self.now = 1;
        }
        if self.stamps.len() < size {
            self.stamps.resize(size, 0);
            self.values.resize(size, None);
        }
    }

    fn holds(&mut self, arena: &Arena, condition: Expr, model: &Assignment) -> bool {
        self.todo.push(condition);
        while let Some(&e) = self.todo.last() {
            if self.stamps[e.index()] == self.now {
                self.todo.pop();
                continue;
            }
            let before = self.todo.len();
            for operand in arena.parts(e) {
                if self.stamps[operand.index()] != self.now {
                    self.todo.push(operand);
                }
            }
            if self.todo.len() > before {
                continue;
            }
            let values = &self.values;
            let get = |e: Expr| values[e.index()].clone().expect("operands come first");
            let value = arena.value_of(e, model, &get);
            self.values[e.index()] = Some(value);
            self.stamps[e.index()] = self.now;
            self.todo.pop();
        }
        let value = &self.values[condition.index()];
        value.as_ref().is_some_and(Value::is_true)
    }
}

/// Variables with another value than the hint's.
fn changes(arena: &Arena, hint: &Assignment, model: &Assignment) -> Vec<VarId> {
    let mut changed = Vec::new();
    for ((bytes, length), stream) in model.contents().zip(0..) {
        if length != hint.length(stream) {
            changed.push(Var::Length { stream });
        }
        let before = hint.bytes(stream);
        let missing = std::iter::repeat(&0);
        let pairs = bytes.iter().zip(before.iter().chain(missing));
        for (offset, _) in (0..).zip(pairs).filter(|(_, (new, old))| new != old) {
            changed.push(Var::Byte { stream, offset });
        }
    }
    let changed = changed.into_iter();
    changed
        .filter_map(|var| arena.variables.find(var))
        .collect()
}

/// Lengths of the hint that the query speaks of are possible at all.
pub(crate) fn within_bounds(arena: &Arena, query: &Query) -> bool {
    let mut streams = (0..).zip(query.bounds.capacities());
    if streams.all(|(stream, &capacity)| query.hint.length(stream) <= capacity) {
        return true;
    }
    let conditions = query.prefix.iter().chain([&query.goal]);
    let lengths = conditions.flat_map(|&e| arena.set(e).iter());
    lengths
        .map(|id| arena.variables.var(id))
        .all(|var| match var {
            Var::Length { .. } => query.hint.get(var) <= query.bounds.maximum(var),
            Var::Byte { .. } => true,
        })
}

/// Whether a layer's model satisfies its question, by the fast evaluator: if
/// not, the next layer is asked.
pub(crate) fn confirmed(arena: &Arena, trial: &mut Trial, task: &Task, verdict: &Verdict) -> bool {
    let Verdict::Sat(values) = verdict else {
        return true;
    };
    trial.vary(arena, values.iter().copied());
    let good = task.all().all(|condition| trial.holds(arena, condition));
    debug_assert_eq!(good, believable(arena, trial, task, verdict));
    good
}

/// Whether a model satisfies its question, by the reference evaluator.
pub(crate) fn believable(arena: &Arena, trial: &mut Trial, task: &Task, verdict: &Verdict) -> bool {
    let Verdict::Sat(values) = verdict else {
        return true;
    };
    let vars = values
        .iter()
        .map(|&(id, value)| (arena.variables.var(id), value));
    if vars
        .clone()
        .any(|(var, value)| value > task.bounds.maximum(var))
    {
        return false;
    }
    let mut model = trial.hint().clone();
    vars.for_each(|(var, value)| model.set(var, value));
    let all: Vec<Expr> = task.all().collect();
    arena
        .evaluate_all(&all, &model)
        .iter()
        .all(|value| value.is_true())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Bounds;
    use changeling_trace::Op;

    /// Conditions on two bytes and a length; every way of breaking the question.
    #[test]
    fn wrong_inputs_are_refused() {
        let mut arena = Arena::new();
        let equals = |arena: &mut Arena, offset, value| {
            let byte = arena.input(0, offset);
            let value = arena.constant_u64(8, value);
            arena.build(Op::Eq, byte, value)
        };
        let prefix = [equals(&mut arena, 0, 7), equals(&mut arena, 1, 8)];
        let length = arena.length(0);
        let least = arena.constant_u64(64, 2);
        let goal = arena.build(Op::Ult, least, length);
        // The hint violates the second condition and the goal.
        let input = |bytes: [u8; 2], length| {
            let mut input = Assignment::new();
            for (byte, offset) in bytes.into_iter().zip(0..) {
                input.set_byte(0, offset, byte);
            }
            input.set(Var::Length { stream: 0 }, length);
            input
        };
        let (hint, bounds) = (input([7, 0], 2), Bounds::new(vec![4]));
        let query = Query {
            prefix: &prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        let (mut path, mut trial) = (Path::default(), Trial::default());
        path.follow(&arena, &prefix);
        path.judge(&arena, &mut trial, &hint, prefix.len());
        let mut check = Check::default();
        let mut judge = |model| check.satisfies(&arena, &mut path, &query, &model);
        assert!(judge(input([7, 8], 3)));
        assert!(!judge(input([7, 8], 2)), "the goal");
        assert!(!judge(input([6, 8], 3)), "a condition that held");
        assert!(!judge(input([7, 0], 3)), "a condition that was violated");
        assert!(!judge(input([7, 8], 5)), "longer than the stream can be");
        assert!(judge(input([7, 8], 4)), "what was seen before is forgotten");
    }
}
