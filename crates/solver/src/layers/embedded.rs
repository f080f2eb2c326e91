//! The embedded solver: gates, clauses and SAT, incrementally.
//!
//! A condition is a literal; a query assumes the literals of its conditions.
//! Clauses and what was learnt from them stay for the next query. A quick solver
//! that looks only at what the query needs goes first; CaDiCaL decides what
//! turns out to be hard.

use crate::arena::{Arena, Expr};
use crate::blast::{Blaster, NoGates};
use crate::cadical::{Cadical, SatResult};
use crate::cdcl::{Cdcl, Quick};
use crate::clauses::Encoding;
use crate::gates::{Bit, FALSE, TRUE};
use crate::query::Reason;
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use changeling_trace::Op;
use rustc_hash::FxHashMap;

/// CaDiCaL gives every variable of an instance a value before it says *sat*, so
/// a query costs time in proportion to all that the instance has seen. Parts of
/// the input that have nothing to do with each other therefore get instances of
/// their own, and one that has grown beyond this is replaced.
const MAX_VARIABLES: usize = 50_000;
/// Instances kept; the one used longest ago makes room.
const MAX_INSTANCES: usize = 24;
/// The gates are forgotten when there are this many.
const MAX_GATES: usize = 10_000_000;
/// The quick solver starts afresh beyond this many variables or words of clauses.
const MAX_QUICK_VARIABLES: usize = 2_000_000;
const MAX_QUICK_SIZE: usize = 40_000_000;
/// Conflicts after which a question counts as hard.
const QUICK_CONFLICTS: u64 = 2_000;
/// Clauses to look at after which it does if there is no time.
const HURRIED_WORK: u64 = 300_000;

/// What a hard question counts for, besides what was done to find out that it is.
const HARD: u64 = 10_000_000;

/// What it costs to make a gate, or the clauses of one, in clauses looked at.
const GATE: u64 = 8;

pub(crate) struct Embedded {
    blaster: Blaster,
    quick: Quickly,
    /// By the smallest variable of the question, with the time of last use.
    instances: FxHashMap<VarId, (u64, Instance)>,
    clock: u64,
    /// Variables of one instance.
    size_limit: usize,
    /// How much was done, in clauses looked at; making gates counts too.
    pub work: u64,
    /// Hard questions are put off.
    pub hurries: bool,
}

/// A question as gates.
struct Wired {
    /// Assumed bits with the index of their condition; bounds have none.
    assumed: Vec<(Bit, Option<usize>)>,
    /// The bits of the input variables, with the hint's values.
    inputs: Vec<(Bit, bool)>,
}

impl Embedded {
    pub fn new(size_limit: usize) -> Embedded {
        Embedded {
            blaster: Blaster::new(),
            quick: Quickly::new(),
            instances: FxHashMap::default(),
            clock: 0,
            size_limit,
            work: 0,
            hurries: false,
        }
    }

    fn solve(&mut self, arena: &mut Arena, task: &Task) -> Result<Verdict, NoGates> {
        if self.blaster.gates.len() > MAX_GATES {
            self.reset();
        }
        let gates = self.blaster.gates.len();
        let wired = self.wire(arena, task);
        self.work += (self.blaster.gates.len() - gates) as u64 * GATE;
        let wired = match wired? {
            Ok(wired) => wired,
            Err(verdict) => return Ok(verdict),
        };
        if let Some(verdict) = self.ask_quick(arena, task, &wired)? {
            return Ok(verdict);
        }
        if self.hurries {
            return Ok(Verdict::Unknown(Reason::Postponed));
        }
        self.work += HARD;
        self.ask_cadical(arena, task, &wired)
    }

    /// The gates of a question, or its answer if they are constant.
    fn wire(&mut self, arena: &mut Arena, task: &Task) -> Result<Result<Wired, Verdict>, NoGates> {
        let mut assumed = Vec::with_capacity(task.conditions.len() + 1);
        for (index, condition) in task.all().enumerate() {
            // The goal comes first and is no condition.
            let index = index.checked_sub(1);
            match self.blaster.condition(arena, condition, task.deadline)? {
                TRUE => {}
                FALSE => return Ok(Err(Verdict::Unsat(index.into_iter().collect()))),
                bit => assumed.push((bit, index)),
            }
        }
        for bound in length_bounds(arena, task) {
            match self.blaster.condition(arena, bound, task.deadline)? {
                TRUE => {}
                bit => assumed.push((bit, None)),
            }
        }
        // Conditions of the path first: the next question has them too.
        if !assumed.is_empty() {
            assumed.rotate_left(1);
        }
        let mut inputs = Vec::with_capacity(task.variables.len() * 8);
        for &var in &task.variables {
            let value = task.hint_value(arena, var);
            for bit in 0..width(arena, var) {
                inputs.push((self.blaster.gates.input(var, bit), value >> bit & 1 == 1));
            }
        }
        Ok(Ok(Wired { assumed, inputs }))
    }

    fn ask_quick(
        &mut self,
        arena: &Arena,
        task: &Task,
        wired: &Wired,
    ) -> Result<Option<Verdict>, NoGates> {
        let solver = &self.quick.solver;
        if solver.variables() > MAX_QUICK_VARIABLES || solver.size() > MAX_QUICK_SIZE {
            self.quick = Quickly::new();
        }
        let Quickly { solver, encoding } = &mut self.quick;
        let gates = &self.blaster.gates;
        let known = solver.variables();
        let (assumptions, origin) = assume(wired, |bit| encoding.literal(gates, bit, solver));
        self.work += (solver.variables() - known) as u64 * GATE;
        if solver.variables() > self.size_limit {
            self.quick = Quickly::new();
            return Err(NoGates::TooLarge);
        }
        let inputs = known_inputs(wired, encoding);
        let before = solver.work;
        solver.patience = if self.hurries { HURRIED_WORK } else { u64::MAX };
        let answer = solver.solve(&assumptions, &inputs, QUICK_CONFLICTS, task.deadline);
        self.work += solver.work - before;
        Ok(match answer {
            Quick::Sat => {
                let value = |bit| {
                    encoding
                        .known(bit)
                        .and_then(|variable| solver.value(variable))
                };
                Some(Verdict::Sat(model(arena, task, wired, value)))
            }
            Quick::Unsat => Some(Verdict::Unsat(blame(solver.core(), &origin))),
            Quick::Hard => None,
        })
    }

    fn ask_cadical(
        &mut self,
        arena: &Arena,
        task: &Task,
        wired: &Wired,
    ) -> Result<Verdict, NoGates> {
        // A question without variables was decided by the simplifier.
        let key = task.variables.iter().min().copied().unwrap_or(VarId(0));
        self.clock += 1;
        let mut instance = match self.instances.remove(&key) {
            Some((_, instance)) if instance.is_fit() => instance,
            _ => Instance::new(),
        };
        let verdict = self.ask_instance(&mut instance, arena, task, wired);
        if self.instances.len() >= MAX_INSTANCES {
            let oldest = self.instances.iter().min_by_key(|(_, (used, _))| *used);
            if let Some((&oldest, _)) = oldest {
                self.instances.remove(&oldest);
            }
        }
        self.instances.insert(key, (self.clock, instance));
        verdict
    }

    fn ask_instance(
        &self,
        instance: &mut Instance,
        arena: &Arena,
        task: &Task,
        wired: &Wired,
    ) -> Result<Verdict, NoGates> {
        let Instance { solver, encoding } = instance;
        let gates = &self.blaster.gates;
        let (assumptions, origin) = assume(wired, |bit| encoding.literal(gates, bit, solver));
        if solver.variables() > self.size_limit {
            return Err(NoGates::TooLarge);
        }
        for literal in known_inputs(wired, encoding) {
            solver.prefer(literal);
        }
        Ok(match solver.solve(&assumptions, task.deadline) {
            SatResult::Sat => {
                let value = |bit| {
                    encoding
                        .known(bit)
                        .and_then(|variable| solver.value(variable))
                };
                Verdict::Sat(model(arena, task, wired, value))
            }
            SatResult::Unsat => Verdict::Unsat(blame(&solver.core(), &origin)),
            SatResult::Unknown => Verdict::Unknown(Reason::Time),
        })
    }
}

/// Literals of the assumed bits, and which condition each stands for.
fn assume(
    wired: &Wired,
    mut literal: impl FnMut(Bit) -> i32,
) -> (Vec<i32>, FxHashMap<i32, Option<usize>>) {
    let mut assumptions = Vec::with_capacity(wired.assumed.len());
    let mut origin = FxHashMap::default();
    for &(bit, index) in &wired.assumed {
        let literal = literal(bit);
        assumptions.push(literal);
        origin.entry(literal).or_insert(index);
    }
    (assumptions, origin)
}

fn blame(core: &[i32], origin: &FxHashMap<i32, Option<usize>>) -> Vec<usize> {
    core.iter()
        .filter_map(|literal| origin.get(literal).copied().flatten())
        .collect()
}

/// Literals of the inputs that the instance has, as the hint has them.
fn known_inputs(wired: &Wired, encoding: &Encoding) -> Vec<i32> {
    let known = |&(bit, value): &(Bit, bool)| {
        encoding
            .known(bit)
            .map(|variable| if value { variable } else { -variable })
    };
    wired.inputs.iter().filter_map(known).collect()
}

fn model(
    arena: &Arena,
    task: &Task,
    wired: &Wired,
    value: impl Fn(Bit) -> Option<bool>,
) -> Vec<(VarId, u64)> {
    let mut values = Vec::with_capacity(task.variables.len());
    let mut inputs = wired.inputs.iter();
    for &var in &task.variables {
        let mut number = 0;
        for (place, &(bit, hint)) in inputs.by_ref().take(width(arena, var) as usize).enumerate() {
            number |= u64::from(value(bit).unwrap_or(hint)) << place;
        }
        values.push((var, number));
    }
    values
}

struct Quickly {
    solver: Cdcl,
    encoding: Encoding,
}

impl Quickly {
    fn new() -> Quickly {
        Quickly {
            solver: Cdcl::new(),
            encoding: Encoding::default(),
        }
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
        let Embedded { work, hurries, .. } = *self;
        *self = Embedded {
            work,
            hurries,
            ..Embedded::new(self.size_limit)
        };
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

    fn is_fit(&self) -> bool {
        self.solver.variables() <= MAX_VARIABLES && !self.solver.is_broken()
    }
}
