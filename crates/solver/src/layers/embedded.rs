//! The embedded solver: gates, clauses and CaDiCaL, incrementally.
//!
//! A condition is a literal; a query assumes the literals of its conditions.
//! Clauses and what was learnt from them stay for the next query.

use crate::arena::{Arena, Expr};
use crate::blast::{Blaster, NoGates};
use crate::cadical::{Cadical, SatResult};
use crate::clauses::Encoding;
use crate::gates::{Bit, FALSE, Gates, TRUE};
use crate::query::Reason;
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use changeling_trace::Op;
use rustc_hash::FxHashMap;

/// A SAT instance that has grown beyond this is replaced: each query costs time
/// in proportion to all variables of the instance.
const MAX_VARIABLES: usize = 200_000;

pub(crate) struct Embedded {
    blaster: Blaster,
    instance: Instance,
}

impl Embedded {
    pub fn new() -> Embedded {
        Embedded {
            blaster: Blaster::new(),
            instance: Instance::new(),
        }
    }

    fn solve(&mut self, arena: &mut Arena, task: &Task) -> Result<Verdict, NoGates> {
        if self.instance.solver.variables() > MAX_VARIABLES || self.instance.solver.is_broken() {
            self.instance = Instance::new();
        }
        let mut assumptions = Vec::with_capacity(task.conditions.len() + 1);
        let mut origin: FxHashMap<i32, usize> = FxHashMap::default();
        for (index, condition) in task.all().enumerate() {
            match self.blaster.condition(arena, condition, task.deadline)? {
                TRUE => {}
                FALSE => return Ok(Verdict::Unsat(index.checked_sub(1).into_iter().collect())),
                bit => {
                    let literal = self.instance.literal(&self.blaster.gates, bit);
                    assumptions.push(literal);
                    origin.entry(literal).or_insert(index);
                }
            }
        }
        for bound in length_bounds(arena, task) {
            let bit = self.blaster.condition(arena, bound, task.deadline)?;
            if bit != TRUE {
                assumptions.push(self.instance.literal(&self.blaster.gates, bit));
            }
        }
        self.prefer_hint(arena, task);
        Ok(
            match self.instance.solver.solve(&assumptions, task.deadline) {
                SatResult::Sat => Verdict::Sat(self.model(arena, task)),
                SatResult::Unsat => {
                    let core = self.instance.solver.core();
                    let indices = core.iter().filter_map(|literal| origin.get(literal));
                    Verdict::Unsat(indices.filter_map(|index| index.checked_sub(1)).collect())
                }
                SatResult::Unknown => Verdict::Unknown(Reason::Time),
            },
        )
    }

    fn prefer_hint(&mut self, arena: &Arena, task: &Task) {
        for &var in &task.variables {
            let value = task.hint_value(arena, var);
            for bit in 0..width(arena, var) {
                let input = self.blaster.gates.input(var, bit);
                if let Some(variable) = self.instance.known(input) {
                    let literal = if value >> bit & 1 == 1 {
                        variable
                    } else {
                        -variable
                    };
                    self.instance.solver.prefer(literal);
                }
            }
        }
    }

    fn model(&mut self, arena: &Arena, task: &Task) -> Vec<(VarId, u64)> {
        let mut values = Vec::with_capacity(task.variables.len());
        for &var in &task.variables {
            let mut value = task.hint_value(arena, var);
            for bit in 0..width(arena, var) {
                let input = self.blaster.gates.input(var, bit);
                let known = self.instance.known(input);
                if let Some(truth) = known.and_then(|n| self.instance.solver.value(n)) {
                    value = value & !(1 << bit) | u64::from(truth) << bit;
                }
            }
            values.push((var, value));
        }
        values
    }
}

impl Layer for Embedded {
    fn attempt(&mut self, arena: &mut Arena, _trial: &mut Trial, task: &Task) -> Option<Verdict> {
        match self.solve(arena, task) {
            Ok(verdict) => Some(verdict),
            Err(NoGates::Float) => None,
            Err(NoGates::TooLarge) => Some(Verdict::Unknown(Reason::Size)),
            Err(NoGates::Time) => Some(Verdict::Unknown(Reason::Time)),
        }
    }

    fn reset(&mut self) {
        *self = Embedded::new();
    }
}

fn width(arena: &Arena, var: VarId) -> u32 {
    match arena.variables.var(var) {
        Var::Byte { .. } => 8,
        Var::Length { .. } => 64,
    }
}

/// Lengths are at most their capacities.
pub(crate) fn length_bounds(arena: &mut Arena, task: &Task) -> Vec<Expr> {
    let lengths: Vec<u32> = task
        .variables
        .iter()
        .filter_map(|&var| match arena.variables.var(var) {
            Var::Length { stream } => Some(stream),
            Var::Byte { .. } => None,
        })
        .collect();
    let mut bounds = Vec::with_capacity(lengths.len());
    for stream in lengths {
        let length = arena.length(stream);
        let capacity = arena.constant_u64(64, task.bounds.capacity(stream));
        bounds.push(arena.build(Op::Ule, length, capacity));
    }
    bounds
}

/// A SAT solver with the clauses of the gates that queries have reached.
struct Instance {
    solver: Cadical,
    encoding: Encoding,
}

impl Instance {
    fn new() -> Instance {
        Instance {
            solver: Cadical::new(),
            encoding: Encoding::default(),
        }
    }

    fn known(&self, bit: Bit) -> Option<i32> {
        self.encoding.known(bit)
    }

    fn literal(&mut self, gates: &Gates, bit: Bit) -> i32 {
        self.encoding.literal(gates, bit, &mut self.solver)
    }
}
