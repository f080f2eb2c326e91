//! Where a value can come from: through phis, copies, arithmetic with constants,
//! memory, arguments and results, back to constants and to what is not known.

use super::conditions::{apply, bits, integer, mask, signed};
use super::contents::{filled, initial, may_fill};
use super::facts::Facts;
use super::loops::is_taken_out;
use super::plan::Effect;
use super::recursion::{deepened, returns};
use changeling_program::{BinaryOp, BlockId, CastOp, FunctionId, Operation, Program, Site, Value};
use std::collections::HashSet;

/// One definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Definition {
    pub effect: Effect,
    pub spot: Spot,
    /// The instruction that hands the value on there: the later ones in a block have the last word.
    pub at: Site,
    /// The call of something outside of the program that it comes from.
    pub call: Option<Site>,
    /// The call that hands the value back, if one does.
    pub via: Option<Site>,
    /// Where the value, one of a loop's, is taken out of the loop: it is lost without that.
    pub taken: Option<Spot>,
}

impl Definition {
    /// What has to run for the value to arrive. Whoever counts has to come there several times.
    pub fn aim(&self) -> Spot {
        match self.effect {
            Effect::Add { .. } => self.spot,
            _ => self.taken.unwrap_or(self.spot),
        }
    }
}

/// Where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    pub block: BlockId,
    /// Only when the branch at the block's end takes this side.
    pub side: Option<u32>,
}

/// All definitions of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Definitions {
    /// Sorted.
    pub list: Vec<Definition>,
    /// What memory holds at the start, if the value comes from there.
    pub initial: Option<u64>,
    /// What `Effect::Choose` chooses from.
    pub choices: Vec<Choice>,
    /// Which of them ran last says nothing about the value.
    pub vague: bool,
    /// The value outlives what computes it: in memory, or from one round of a loop to the next.
    pub lasting: bool,
}

/// One of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    pub function: FunctionId,
    pub condition: Value,
    pub yes: Effect,
    pub no: Effect,
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
        at: Site(0),
        via: None,
        taken: None,
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
    /// The instruction that hands on what is followed.
    at: Site,
    /// The call whose result is followed, if one is.
    via: Option<Site>,
    /// Where what is followed is taken out of a loop, if it is.
    taken: Option<Spot>,
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
        let unknown = self.definition(Effect::Unknown, spot);
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
        let unknown = self.definition(Effect::Unknown, here);
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
                self.found.lasting |= self.facts.is_carried(site);
                for (&operand, &from) in instruction.operands.iter().zip(incoming) {
                    let spot = edge(program, from, instruction.block);
                    let before = std::mem::replace(&mut self.at, program.terminator(from));
                    let counted = counted(program, operand, |value| value == Value::Result(site));
                    let effect = match counted {
                        Some(by) => Some(self.counting(by, function, Value::Result(site))),
                        None => self.decided(function, operand),
                    };
                    match effect {
                        Some(effect) => self.add(self.definition(effect, spot)),
                        None => {
                            let out = is_taken_out(self.facts, site, operand).then_some(spot);
                            let before = self.taken;
                            self.taken = before.or(out);
                            self.value(function, operand, spot);
                            self.taken = before;
                        }
                    }
                    self.at = before;
                }
            }
            Operation::Select => {
                let effect = self.chosen(function, Value::Result(site));
                self.add(self.definition(effect, spot));
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

    /// The outcome of a comparison that comes in by an edge, as in `a && b < 3`: it is taken when the
    /// edge is, whenever what it compares was computed. One that was branched on is known by that.
    fn decided(&mut self, function: FunctionId, value: Value) -> Option<Effect> {
        let Value::Result(site) = value else {
            return None;
        };
        let program = self.facts.program;
        let compares = matches!(program.instruction(site).operation, Operation::Compare(_));
        if !compares || self.facts.sides_of(site).next().is_some() {
            return None;
        }
        let [yes, no] = [1, 0].map(|truth| self.computed(truth));
        Some(self.choice(function, value, yes, no))
    }

    fn choice(
        &mut self,
        function: FunctionId,
        condition: Value,
        yes: Effect,
        no: Effect,
    ) -> Effect {
        self.found.choices.push(Choice {
            function,
            condition,
            yes,
            no,
        });
        Effect::Choose(self.found.choices.len() as u32 - 1)
    }

    /// A constant, or one of two.
    fn chosen(&mut self, function: FunctionId, value: Value) -> Effect {
        let program = self.facts.program;
        if let Some(constant) = integer(program, value) {
            return self.computed(constant);
        }
        let Value::Result(site) = value else {
            return Effect::Unknown;
        };
        let instruction = program.instruction(site);
        let (Operation::Select, [condition, yes, no]) =
            (&instruction.operation, &instruction.operands[..])
        else {
            return Effect::Unknown;
        };
        let [yes, no] = [*yes, *no].map(|value| self.chosen(function, value));
        if [yes, no] == [Effect::Unknown; 2] {
            return Effect::Unknown;
        }
        self.choice(function, *condition, yes, no)
    }

    fn load(&mut self, site: Site, unknown: Definition) {
        let facts = self.facts;
        let cells = facts.memory.access(site).map(|access| &access.reads);
        let cells = cells.filter(|cells| cells.len() <= MOST_CELLS);
        let Some(cells) = cells else {
            return self.add(unknown);
        };
        // What is in memory may come from anywhere.
        let (via, taken) = (self.via.take(), self.taken.take());
        self.found.lasting = true;
        // Of a text nobody knows where it was written last and where it is read next.
        let text = cells.iter().any(|cell| facts.is_text(*cell, site));
        for &cell in cells {
            let initial = initial(facts, cell, site).map(|value| self.computed(value));
            let initial = initial.and_then(|effect| effect.on(None));
            self.found.initial = self.found.initial.or(initial);
            for &writer in facts.writers.get(&cell).into_iter().flatten() {
                let instruction = facts.program.instruction(writer);
                let spot = Spot {
                    block: instruction.block,
                    side: None,
                };
                let before = std::mem::replace(&mut self.at, writer);
                match instruction.operation {
                    Operation::Store(_) => {
                        let stored = instruction.operands[0];
                        let counted = counted(facts.program, stored, |value| {
                            let Value::Result(load) = value else {
                                return false;
                            };
                            let access = facts.memory.access(load);
                            access.is_some_and(|access| access.reads == [cell])
                        });
                        match counted {
                            Some(by) => {
                                let around = facts.program.function_of(site);
                                let effect = self.counting(by, around, Value::Result(site));
                                self.add(self.definition(effect, spot));
                            }
                            None => {
                                let function = facts.program.function_of(writer);
                                self.value(function, stored, spot);
                            }
                        }
                    }
                    _ if !may_fill(facts, writer, cell) => {}
                    _ => match filled(facts, writer, cell, site) {
                        Some(value) => self.add(self.definition(self.computed(value), spot)),
                        None => self.add(Definition {
                            effect: Effect::Unknown,
                            spot,
                            at: writer,
                            call: instruction.call().map(|_| writer),
                            via: None,
                            taken: None,
                        }),
                    },
                }
                self.at = before;
            }
        }
        (self.via, self.taken) = (via, taken);
        if text {
            self.found.vague |= self.found.list.iter().any(|d| d.effect == Effect::Unknown);
        }
    }

    fn call(&mut self, site: Site, unknown: Definition) {
        let facts = self.facts;
        let program = facts.program;
        let callees: Vec<FunctionId> = facts.graphs.calls.callees(site).collect();
        if callees.is_empty() || callees.iter().any(|id| !program.function(*id).is_defined()) {
            self.found.lasting = true;
            let call = Some(site);
            return self.add(Definition { call, ..unknown });
        }
        let (via, taken) = (self.via.replace(site), self.taken.take());
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
                    let before = std::mem::replace(&mut self.at, site);
                    self.value(callee, value, spot);
                    self.at = before;
                }
            }
        }
        (self.via, self.taken) = (via, taken);
    }

    fn argument(&mut self, function: FunctionId, n: u32, unknown: Definition) {
        let program = self.facts.program;
        let callers: Vec<Site> = self.facts.graphs.calls.callers(function).collect();
        if callers.is_empty() {
            return self.add(unknown);
        }
        // What was followed into a call comes from that call.
        let (via, taken) = (self.via.take(), self.taken.take());
        let known = callers.iter().any(|caller| Some(*caller) == via);
        let mut depths = Vec::new();
        for caller in callers {
            if known && Some(caller) != via {
                continue;
            }
            let instruction = program.instruction(caller);
            let spot = Spot {
                block: instruction.block,
                side: None,
            };
            let before = std::mem::replace(&mut self.at, caller);
            let depth = deepened(self.facts, caller, function, n);
            depths.extend(depth);
            match (depth, instruction.operands.get(n as usize)) {
                (Some(by), _) => {
                    self.found.lasting = true;
                    let effect = self.counting(by, function, Value::Argument(n));
                    self.add(self.definition(effect, spot));
                }
                (None, Some(&value)) => self.value(program.function_of(caller), value, spot),
                (None, None) => self.add(Definition {
                    spot,
                    at: caller,
                    via: None,
                    taken: None,
                    ..unknown
                }),
            }
            self.at = before;
        }
        // What was counted on the way down is taken back on the way up.
        depths.dedup();
        if let [by] = depths[..] {
            for (spot, at) in returns(self.facts, function) {
                let before = std::mem::replace(&mut self.at, at);
                let effect = self.counting(-by, function, Value::Argument(n));
                self.add(self.definition(effect, spot));
                self.at = before;
            }
        }
        (self.via, self.taken) = (via, taken);
    }

    /// What becomes of a constant on the way to the value asked for.
    fn computed(&self, constant: u64) -> Effect {
        let steps = self.steps.iter().rev();
        let value = steps.copied().try_fold(constant, |value, (site, at)| {
            apply(self.facts.program, site, at, value)
        });
        value.map_or(Effect::Unknown, Effect::Set)
    }

    /// The same for a variable, read as `value`, to which something is added.
    fn counting(&self, by: i64, function: FunctionId, value: Value) -> Effect {
        let program = self.facts.program;
        let additive = |&(site, at): &(Site, usize)| match program.instruction(site).operation {
            Operation::Cast(_) | Operation::Freeze => true,
            Operation::Binary(BinaryOp::Add, _) => true,
            Operation::Binary(BinaryOp::Sub, _) => at == 0,
            _ => false,
        };
        let (function, asked) = match self.steps.first() {
            Some((site, _)) => (program.function_of(*site), Value::Result(*site)),
            None => (function, value),
        };
        let width = bits(program, function, asked);
        match width {
            Some(bits) if by != 0 && self.steps.iter().all(additive) => Effect::Add {
                by: by as u64 & mask(bits),
                bits,
            },
            _ => Effect::Unknown,
        }
    }

    fn definition(&self, effect: Effect, spot: Spot) -> Definition {
        Definition {
            effect,
            spot,
            at: self.at,
            call: None,
            via: self.via,
            taken: self.taken,
        }
    }

    fn add(&mut self, definition: Definition) {
        self.found.list.push(definition);
        self.given_up |= self.found.list.len() > MOST_DEFINITIONS;
    }
}

/// If a value is a variable with a constant added to it: the constant.
pub(super) fn counted(
    program: &Program,
    value: Value,
    is_variable: impl Fn(Value) -> bool,
) -> Option<i64> {
    let Value::Result(site) = uncast(program, value) else {
        return None;
    };
    let instruction = program.instruction(site);
    let Operation::Binary(operation, _) = &instruction.operation else {
        return None;
    };
    let [left, right] = instruction.operands[..] else {
        return None;
    };
    let (variable, constant, sign) = match operation {
        BinaryOp::Add if integer(program, left).is_some() => (right, left, 1),
        BinaryOp::Add => (left, right, 1),
        BinaryOp::Sub => (left, right, -1),
        _ => return None,
    };
    let width = bits(program, program.function_of(site), Value::Result(site))?;
    let constant = signed(integer(program, constant)?, width);
    is_variable(uncast(program, variable)).then_some(sign * constant)
}

/// What a value was before it was made wider or narrower.
pub(super) fn uncast(program: &Program, mut value: Value) -> Value {
    while let Value::Result(site) = value
        && let Operation::Cast(CastOp::Trunc | CastOp::ZExt | CastOp::SExt) =
            program.instruction(site).operation
    {
        value = program.instruction(site).operands[0];
    }
    value
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
