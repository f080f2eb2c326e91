//! Where a value can come from: through phis, copies, arithmetic with constants,
//! memory, arguments and results, back to constants and to what is not known.

use super::conditions::{apply, integer};
use super::facts::Facts;
use changeling_analysis::{Cell, Origin};
use changeling_program::{
    BinaryOp, BlockId, Constant, FunctionId, Operation, Program, Shape, Site, TypeId, Value,
};
use std::collections::HashSet;

/// One definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Definition {
    /// What the value is then; `None` if that is not known.
    pub value: Option<u64>,
    pub spot: Spot,
    /// The call of something outside of the program that it comes from.
    pub call: Option<Site>,
    /// The call that hands the value back, if one does.
    pub via: Option<Site>,
}

/// Where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    pub block: BlockId,
    /// Only when the branch at the block's end takes this side.
    pub side: Option<u32>,
}

/// All definitions of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    /// Sorted.
    pub list: Vec<Definition>,
    /// What memory holds at the start, if the value comes from there.
    pub initial: Option<u64>,
}

/// Values with more definitions than this are not followed.
const MOST_DEFINITIONS: usize = 64;
/// Loads from so many cells say nothing.
const MOST_CELLS: usize = 8;
const DEEPEST: usize = 24;

/// `None` if there are too many.
pub fn definitions(facts: &Facts<'_>, function: FunctionId, value: Value) -> Option<Definitions> {
    let asked = match value {
        Value::Result(site) => Some(site),
        _ => None,
    };
    let mut search = Search {
        facts,
        asked,
        via: None,
        seen: HashSet::new(),
        found: Definitions::default(),
        steps: Vec::new(),
        given_up: false,
    };
    let spot = Spot {
        block: facts.program.function(function).first_block,
        side: None,
    };
    search.value(function, value, spot);
    if search.given_up {
        return None;
    }
    let mut found = search.found;
    found.list.sort_unstable();
    found.list.dedup();
    Some(found)
}

struct Search<'a, 'p> {
    facts: &'a Facts<'p>,
    /// The very value whose definitions are looked for: the branches on that are what asks.
    asked: Option<Site>,
    /// The call whose result is followed, if one is.
    via: Option<Site>,
    seen: HashSet<(FunctionId, Value, usize, Option<Site>)>,
    found: Definitions,
    /// Instructions between here and the value asked for, each with the operand that
    /// is followed.
    steps: Vec<(Site, usize)>,
    given_up: bool,
}

impl Search<'_, '_> {
    /// `spot`: where the value is handed on.
    fn value(&mut self, function: FunctionId, value: Value, spot: Spot) {
        let program = self.facts.program;
        if let Some(constant) = integer(program, value) {
            return self.add(self.definition(self.computed(constant), spot));
        }
        let unknown = self.definition(None, spot);
        if self.steps.len() > DEEPEST {
            self.given_up = true;
        }
        // Going around a loop brings nothing new, as long as it does not compute.
        if self.given_up
            || !self
                .seen
                .insert((function, value, self.steps.len(), self.via))
        {
            return;
        }
        match value {
            Value::Argument(n) => self.argument(function, n, unknown),
            Value::Result(site) => self.result(function, site, spot),
            _ => self.add(unknown),
        }
    }

    fn result(&mut self, function: FunctionId, site: Site, spot: Spot) {
        let program = self.facts.program;
        let instruction = program.instruction(site);
        let here = Spot {
            block: instruction.block,
            side: None,
        };
        let unknown = self.definition(None, here);
        // A condition that is handed on after it was decided by.
        let sides: Vec<[Spot; 2]> = self.facts.sides_of(site).collect();
        if !sides.is_empty() && self.asked != Some(site) {
            for (spot, truth) in sides.into_iter().flat_map(|[yes, no]| [(yes, 1), (no, 0)]) {
                self.add(self.definition(self.computed(truth), spot));
            }
            return;
        }
        match &instruction.operation {
            Operation::Phi { incoming } => {
                for (&operand, &from) in instruction.operands.iter().zip(incoming) {
                    let spot = edge(program, from, instruction.block);
                    self.value(function, operand, spot);
                }
            }
            Operation::Load(_) => self.load(site, unknown),
            Operation::Call(_) => self.call(site, unknown),
            Operation::Cast(_) | Operation::Freeze => self.step(function, site, 0, spot),
            Operation::Binary(operation, _) => {
                let known = |n: usize| integer(program, instruction.operands[n]).is_some();
                // Counting has no end.
                let counts = matches!(operation, BinaryOp::Add | BinaryOp::Sub)
                    && self.seen.iter().any(|(_, value, depth, _)| {
                        *value == Value::Result(site) && *depth < self.steps.len()
                    });
                match (known(0), known(1)) {
                    _ if counts => self.add(unknown),
                    (false, true) => self.step(function, site, 0, spot),
                    (true, false) => self.step(function, site, 1, spot),
                    _ => self.add(unknown),
                }
            }
            Operation::Compare(_) => {
                let known = |n: usize| integer(program, instruction.operands[n]).is_some();
                match (known(0), known(1)) {
                    (false, true) => self.step(function, site, 0, spot),
                    (true, false) => self.step(function, site, 1, spot),
                    _ => self.add(unknown),
                }
            }
            _ => self.add(unknown),
        }
    }

    fn step(&mut self, function: FunctionId, site: Site, at: usize, spot: Spot) {
        let operand = self.facts.program.instruction(site).operands[at];
        self.steps.push((site, at));
        self.value(function, operand, spot);
        self.steps.pop();
    }

    fn load(&mut self, site: Site, unknown: Definition) {
        let facts = self.facts;
        let cells = facts.memory.access(site).map(|access| &access.reads);
        let cells = cells.filter(|cells| cells.len() <= MOST_CELLS);
        let Some(cells) = cells else {
            return self.add(unknown);
        };
        // What is in memory may come from anywhere.
        let via = self.via.take();
        for &cell in cells {
            let initial = initial(facts, cell, site);
            let initial = initial.and_then(|value| self.computed(value));
            self.found.initial = self.found.initial.or(initial);
            for &writer in facts.writers.get(&cell).into_iter().flatten() {
                let instruction = facts.program.instruction(writer);
                let spot = Spot {
                    block: instruction.block,
                    side: None,
                };
                match instruction.operation {
                    Operation::Store(_) => {
                        let function = facts.program.function_of(writer);
                        self.value(function, instruction.operands[0], spot);
                    }
                    _ => self.add(Definition {
                        value: None,
                        spot,
                        call: instruction.call().map(|_| writer),
                        via: None,
                    }),
                }
            }
        }
        self.via = via;
    }

    fn call(&mut self, site: Site, unknown: Definition) {
        let facts = self.facts;
        let program = facts.program;
        let callees: Vec<FunctionId> = facts.graphs.calls.callees(site).collect();
        if callees.is_empty() || callees.iter().any(|id| !program.function(*id).is_defined()) {
            let call = Some(site);
            return self.add(Definition { call, ..unknown });
        }
        let via = self.via.replace(site);
        for callee in callees {
            let flow = facts.graphs.flow.function(callee);
            for &node in &flow.returns {
                let site = facts.graphs.flow.segment(flow.segment(node)).last;
                let instruction = program.instruction(site);
                let spot = Spot {
                    block: instruction.block,
                    side: None,
                };
                if let Some(&value) = instruction.operands.first() {
                    self.value(callee, value, spot);
                }
            }
        }
        self.via = via;
    }

    fn argument(&mut self, function: FunctionId, n: u32, unknown: Definition) {
        let program = self.facts.program;
        let callers: Vec<Site> = self.facts.graphs.calls.callers(function).collect();
        if callers.is_empty() {
            return self.add(unknown);
        }
        // What was followed into a call comes from that call.
        let via = self.via.take();
        let known = callers.iter().any(|caller| Some(*caller) == via);
        for caller in callers {
            if known && Some(caller) != via {
                continue;
            }
            let instruction = program.instruction(caller);
            let spot = Spot {
                block: instruction.block,
                side: None,
            };
            match instruction.operands.get(n as usize) {
                Some(&value) => self.value(program.function_of(caller), value, spot),
                None => self.add(Definition {
                    spot,
                    via: None,
                    ..unknown
                }),
            }
        }
        self.via = via;
    }

    /// What becomes of a constant on the way to the value asked for.
    fn computed(&self, constant: u64) -> Option<u64> {
        let steps = self.steps.iter().rev();
        steps.copied().try_fold(constant, |value, (site, at)| {
            apply(self.facts.program, site, at, value)
        })
    }

    fn definition(&self, value: Option<u64>, spot: Spot) -> Definition {
        Definition {
            value,
            spot,
            call: None,
            via: self.via,
        }
    }

    fn add(&mut self, definition: Definition) {
        self.found.list.push(definition);
        self.given_up |= self.found.list.len() > MOST_DEFINITIONS;
    }
}

/// The place where control goes from one block to another.
fn edge(program: &Program, from: BlockId, to: BlockId) -> Spot {
    let targets = program.successors(from);
    let side = targets.iter().position(|target| *target == to);
    Spot {
        block: from,
        side: side.filter(|_| targets.len() > 1).map(|side| side as u32),
    }
}

/// What a global variable's cell holds before anything is written.
fn initial(facts: &Facts<'_>, cell: Cell, load: Site) -> Option<u64> {
    let program = facts.program;
    let (Origin::Global(id), offset) = facts.graphs.pointers.describe(cell) else {
        return None;
    };
    let value = program.global(id).initialiser?;
    let size = program.ty(program.instruction(load).ty).size?;
    at_offset(program, value, program.global(id).ty, offset, size)
}

fn at_offset(program: &Program, value: Value, ty: TypeId, offset: u64, size: u64) -> Option<u64> {
    if let (0, Some(value)) = (offset, integer(program, value)) {
        return Some(value);
    }
    let Value::Constant(id) = value else {
        return None;
    };
    match program.constant(id) {
        Constant::Zero { .. } | Constant::Null { .. } => Some(0),
        Constant::Bytes { bytes, .. } if size <= 8 => {
            let (from, to) = (offset as usize, (offset + size) as usize);
            let bytes = bytes.get(from..to)?;
            let number = bytes.iter().rev();
            Some(number.fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        Constant::Aggregate { elements, .. } => {
            let (at, within, ty) = match &program.ty(ty).shape {
                Shape::Struct {
                    fields, offsets, ..
                } => {
                    let at = offsets
                        .partition_point(|start| *start <= offset)
                        .checked_sub(1)?;
                    (at, offset - offsets[at], fields[at])
                }
                Shape::Array { element, .. } => {
                    let stride = program.ty(*element).size.filter(|size| *size > 0)?;
                    ((offset / stride) as usize, offset % stride, *element)
                }
                _ => return None,
            };
            at_offset(program, *elements.get(at)?, ty, within, size)
        }
        _ => None,
    }
}
