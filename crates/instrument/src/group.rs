//! Groups of instructions whose labels are computed behind one test.
//!
//! While the pass walks a block it collects *steps*: calls of the runtime that
//! would build nodes or log events. When memory changes or control leaves, the
//! steps so far become two generated functions. The first is always inlined: it
//! ors everything that enters the group (labels from outside, shadow cells of
//! loaded and overwritten memory) and returns zeros if nothing is there. The
//! second, cold one makes the calls.

use crate::ir::{Cursor, Ir, Opcode, Predicate, Type, Value};
use changeling_trace::layout::{SHADOW_ADDRESS, SHADOW_MASK};
use std::collections::{HashMap, HashSet};

/// A label as the pass knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Zero,
    /// An `i32` of the function under work.
    Known(Value),
    /// The result of a step of the open group.
    Step(usize),
}

/// A concrete value as a step needs it: 64 bits, zero-extended unless said otherwise.
#[derive(Clone, Debug)]
pub enum Word {
    User(Value),
    Signed(Value),
    Part(Value, Vec<u32>),
    Constant(u64),
    Sum(Box<Word>, Box<Word>),
    Scaled(Box<Word>, u64),
}

impl Word {
    /// A value, or the part of it that a path leads to.
    pub fn of(value: Value, path: Vec<u32>) -> Word {
        match path.is_empty() {
            true => Word::User(value),
            false => Word::Part(value, path),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Argument {
    Label(Label),
    Word(Word),
    /// 128 bits.
    Wide(Word),
    /// 32 bits.
    Flag(Word),
    Number(u32),
}

pub struct Step {
    pub function: &'static str,
    pub arguments: Vec<Argument>,
    /// Whether it gives a label; otherwise it is called for its effect.
    pub result: bool,
    /// Memory whose shadow decides whether the step matters.
    pub cells: Vec<(Value, u64)>,
}

#[derive(Default)]
pub struct Group {
    steps: Vec<Step>,
    /// Instructions seen since the group was opened.
    members: HashSet<Value>,
    /// Values that have a step's result as (part of) their label.
    holders: HashMap<usize, Vec<Value>>,
}

/// Labels of all values of a function, one per leaf.
pub type Labels = HashMap<Value, Vec<Label>>;

impl Group {
    pub fn visit(&mut self, instruction: Value) {
        self.members.insert(instruction);
    }

    /// Adds a step that gives a label. A step whose inputs are all concrete is none.
    pub fn label(&mut self, function: &'static str, arguments: Vec<Argument>) -> Label {
        if !any_label(&arguments) {
            return Label::Zero;
        }
        self.push(Step {
            function,
            arguments,
            result: true,
            cells: Vec::new(),
        })
    }

    /// Adds a step that gives the label of loaded memory.
    pub fn loaded(
        &mut self,
        function: &'static str,
        arguments: Vec<Argument>,
        cells: (Value, u64),
    ) -> Label {
        self.push(Step {
            function,
            arguments,
            result: true,
            cells: vec![cells],
        })
    }

    /// Adds a step for its effect, which matters only if a label goes in.
    pub fn effect(&mut self, function: &'static str, arguments: Vec<Argument>) {
        if any_label(&arguments) {
            self.push(Step {
                function,
                arguments,
                result: false,
                cells: Vec::new(),
            });
        }
    }

    /// Adds a step for its effect on memory.
    pub fn stored(
        &mut self,
        function: &'static str,
        arguments: Vec<Argument>,
        cells: (Value, u64),
    ) {
        self.changed(function, arguments, vec![cells]);
    }

    /// The same where more than the changed memory decides.
    pub fn changed(
        &mut self,
        function: &'static str,
        arguments: Vec<Argument>,
        cells: Vec<(Value, u64)>,
    ) {
        self.push(Step {
            function,
            arguments,
            result: false,
            cells,
        });
    }

    fn push(&mut self, step: Step) -> Label {
        self.steps.push(step);
        Label::Step(self.steps.len() - 1)
    }

    /// Gives a value its labels.
    pub fn assign(&mut self, labels: &mut Labels, value: Value, of: Vec<Label>) {
        for label in &of {
            if let Label::Step(step) = label {
                self.holders.entry(*step).or_default().push(value);
            }
        }
        if of.iter().any(|label| *label != Label::Zero) {
            labels.insert(value, of);
        }
    }

    /// Writes the code for what has been collected in front of an instruction.
    pub fn flush(&mut self, generator: &mut Generator, labels: &mut Labels, before: Value) {
        let group = std::mem::take(self);
        if group.steps.is_empty() {
            return;
        }
        let live = group.live_results();
        let needed = group.needed(&live);
        let values = if needed.iter().any(|needed| *needed) {
            generator.write(&group, &needed, &live, before)
        } else {
            HashMap::new()
        };
        for (step, holders) in &group.holders {
            let label = values
                .get(step)
                .map_or(Label::Zero, |value| Label::Known(*value));
            for holder in holders {
                for slot in labels.get_mut(holder).into_iter().flatten() {
                    if *slot == Label::Step(*step) {
                        *slot = label;
                    }
                }
            }
        }
    }

    /// Steps whose results are used outside the group.
    fn live_results(&self) -> Vec<usize> {
        let mut live: Vec<usize> = self
            .holders
            .iter()
            .filter(|(_, holders)| {
                holders
                    .iter()
                    .any(|holder| holder.users().iter().any(|user| self.is_outside(*user)))
            })
            .map(|(step, _)| *step)
            .collect();
        live.sort_unstable();
        live
    }

    /// A phi uses its operands when control comes round again, wherever it stands.
    fn is_outside(&self, user: Value) -> bool {
        !self.members.contains(&user) || user.opcode() == Opcode::LLVMPHI
    }

    fn needed(&self, live: &[usize]) -> Vec<bool> {
        let mut needed = vec![false; self.steps.len()];
        for index in live {
            needed[*index] = true;
        }
        for index in (0..self.steps.len()).rev() {
            let step = &self.steps[index];
            needed[index] |= !step.result;
            if !needed[index] {
                continue;
            }
            for argument in &step.arguments {
                if let Argument::Label(Label::Step(earlier)) = argument {
                    needed[*earlier] = true;
                }
            }
        }
        needed
    }
}

fn any_label(arguments: &[Argument]) -> bool {
    arguments
        .iter()
        .any(|argument| matches!(argument, Argument::Label(label) if *label != Label::Zero))
}

/// Writes group functions into the module.
pub struct Generator {
    pub ir: Ir,
    cursor: Cursor,
    outside: Cursor,
    runtime: HashMap<&'static str, Value>,
    count: usize,
}

impl Generator {
    pub fn new(ir: Ir) -> Generator {
        Generator {
            ir,
            cursor: Cursor::new(ir),
            outside: Cursor::new(ir),
            runtime: HashMap::new(),
            count: 0,
        }
    }

    /// Writes the two functions and the call of the first; returns the labels
    /// that are used outside.
    fn write(
        &mut self,
        group: &Group,
        needed: &[bool],
        live: &[usize],
        before: Value,
    ) -> HashMap<usize, Value> {
        let steps: Vec<(usize, &Step)> = group
            .steps
            .iter()
            .enumerate()
            .filter(|(index, _)| needed[*index])
            .collect();
        let inputs = inputs(&steps);
        let types: Vec<Type> = inputs.iter().map(|value| value.ty()).collect();
        let result = self.result_type(live.len());
        self.count += 1;
        let slow = self
            .ir
            .add_function(&format!("__chg_slow_{}", self.count), result, &types);
        slow.set_internal();
        slow.set_preserve_most();
        for attribute in ["noinline", "cold", "nounwind"] {
            self.ir.attribute(slow, attribute);
        }
        self.write_slow(slow, &inputs, &steps, live);
        let test = self
            .ir
            .add_function(&format!("__chg_group_{}", self.count), result, &types);
        test.set_internal();
        for attribute in ["alwaysinline", "nounwind"] {
            self.ir.attribute(test, attribute);
        }
        self.write_test(test, slow, &inputs, &steps);
        self.outside.before(before);
        let call = self.outside.call(test, &inputs);
        match live {
            [] => HashMap::new(),
            [one] => HashMap::from([(*one, call)]),
            many => many
                .iter()
                .enumerate()
                .map(|(index, step)| (*step, self.outside.extract_value(call, index as u32)))
                .collect(),
        }
    }

    fn result_type(&self, count: usize) -> Type {
        match count {
            0 => self.ir.void(),
            1 => self.ir.int(32),
            _ => self.ir.structure(&vec![self.ir.int(32); count]),
        }
    }

    fn write_test(&self, test: Value, slow: Value, inputs: &[Value], steps: &[(usize, &Step)]) {
        let parameters = test.parameters();
        let places: HashMap<Value, Value> = inputs
            .iter()
            .copied()
            .zip(parameters.iter().copied())
            .collect();
        let entry = self.ir.append_block(test, "");
        let symbolic = self.ir.append_block(test, "");
        let concrete = self.ir.append_block(test, "");
        self.cursor.end_of(entry);
        let mut any = self.ir.constant(64, 0);
        let mut seen = HashSet::new();
        for (_, step) in steps {
            for argument in &step.arguments {
                if let Argument::Label(Label::Known(value)) = argument
                    && seen.insert(*value)
                {
                    let label = self.cursor.as_int(place(&places, *value), 64);
                    any = self.cursor.or(any, label);
                }
            }
            for &(pointer, bytes) in &step.cells {
                let cells = self.cells(place(&places, pointer), bytes);
                any = self.cursor.or(any, cells);
            }
        }
        let found = self
            .cursor
            .compare(Predicate::LLVMIntNE, any, self.ir.constant(64, 0));
        let branch = self.cursor.branch(found, symbolic, concrete);
        self.ir.unlikely(branch);
        self.cursor.end_of(symbolic);
        let call = self.cursor.call(slow, &parameters);
        let result = test.function_type().result();
        let empty = result == self.ir.void();
        self.cursor.ret((!empty).then_some(call));
        self.cursor.end_of(concrete);
        self.cursor.ret((!empty).then(|| result.zero()));
    }

    /// The or of the shadow cells of `bytes` bytes.
    fn cells(&self, pointer: Value, bytes: u64) -> Value {
        let c = &self.cursor;
        let address = c.as_int(pointer, 64);
        let low = c.binary(Opcode::LLVMAnd, address, self.ir.constant(64, SHADOW_MASK));
        let scaled = c.binary(Opcode::LLVMShl, low, self.ir.constant(64, 2));
        let first = c.binary(
            Opcode::LLVMAdd,
            scaled,
            self.ir.constant(64, SHADOW_ADDRESS),
        );
        let at = |offset: u64| {
            let address = c.binary(Opcode::LLVMAdd, first, self.ir.constant(64, offset));
            c.cast(Opcode::LLVMIntToPtr, address, self.ir.ptr())
        };
        let mut any = self.ir.constant(64, 0);
        let mut byte = 0;
        while byte < bytes {
            let word = if byte + 2 <= bytes { 64 } else { 32 };
            let cell = c.load_unaligned(self.ir.int(word), at(4 * byte), 4);
            any = c.or(any, c.as_int(cell, 64));
            byte += word as u64 / 32;
        }
        any
    }

    fn write_slow(
        &mut self,
        slow: Value,
        inputs: &[Value],
        steps: &[(usize, &Step)],
        live: &[usize],
    ) {
        let places: HashMap<Value, Value> = inputs.iter().copied().zip(slow.parameters()).collect();
        let entry = self.ir.append_block(slow, "");
        self.cursor.end_of(entry);
        let mut results: HashMap<usize, Value> = HashMap::new();
        for (index, step) in steps {
            let arguments: Vec<Value> = step
                .arguments
                .iter()
                .map(|argument| self.argument(argument, &places, &results))
                .collect();
            let function = self.runtime(step.function, step.result, &arguments);
            let call = self.cursor.call(function, &arguments);
            if step.result {
                results.insert(*index, call);
            }
        }
        let value = match live {
            [] => None,
            [one] => Some(results[one]),
            many => {
                let mut whole = self.result_type(many.len()).zero();
                for (index, step) in many.iter().enumerate() {
                    whole = self.cursor.insert_value(whole, results[step], index as u32);
                }
                Some(whole)
            }
        };
        self.cursor.ret(value);
    }

    fn argument(
        &self,
        argument: &Argument,
        places: &HashMap<Value, Value>,
        results: &HashMap<usize, Value>,
    ) -> Value {
        match argument {
            Argument::Label(Label::Zero) => self.ir.constant(32, 0),
            Argument::Label(Label::Known(value)) => place(places, *value),
            Argument::Label(Label::Step(step)) => results[step],
            Argument::Word(word) => self.word(word, 64, places),
            Argument::Wide(word) => self.word(word, 128, places),
            Argument::Flag(word) => self.word(word, 32, places),
            Argument::Number(number) => self.ir.constant(32, *number as u64),
        }
    }

    fn word(&self, word: &Word, bits: u32, places: &HashMap<Value, Value>) -> Value {
        let c = &self.cursor;
        match word {
            Word::User(value) => c.as_int(place(places, *value), bits),
            Word::Signed(value) => {
                let value = place(places, *value);
                if value.ty().int_bits() < bits {
                    c.cast(Opcode::LLVMSExt, value, self.ir.int(bits))
                } else {
                    c.as_int(value, bits)
                }
            }
            Word::Part(value, path) => {
                let mut part = place(places, *value);
                for index in path {
                    part = c.extract_value(part, *index);
                }
                c.as_int(part, bits)
            }
            Word::Constant(value) => self.ir.constant(bits, *value),
            Word::Sum(a, b) => c.binary(
                Opcode::LLVMAdd,
                self.word(a, bits, places),
                self.word(b, bits, places),
            ),
            Word::Scaled(a, scale) => c.binary(
                Opcode::LLVMMul,
                self.word(a, bits, places),
                self.ir.constant(bits, *scale),
            ),
        }
    }

    /// The declaration of a runtime function, by the arguments it is given.
    pub fn runtime(&mut self, name: &'static str, result: bool, arguments: &[Value]) -> Value {
        let ir = self.ir;
        *self.runtime.entry(name).or_insert_with(|| {
            let types: Vec<Type> = arguments.iter().map(|value| value.ty()).collect();
            let result = if result { ir.int(32) } else { ir.void() };
            let function = ir
                .function(name)
                .unwrap_or_else(|| ir.add_function(name, result, &types));
            ir.attribute(function, "nounwind");
            function
        })
    }
}

fn place(places: &HashMap<Value, Value>, value: Value) -> Value {
    places.get(&value).copied().unwrap_or(value)
}

/// What must be handed to the group functions: all but constants.
fn inputs(steps: &[(usize, &Step)]) -> Vec<Value> {
    let mut list = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |value: Value| {
        if (value.is_instruction() || value.is_argument()) && seen.insert(value) {
            list.push(value);
        }
    };
    for (_, step) in steps {
        for argument in &step.arguments {
            match argument {
                Argument::Label(Label::Known(value)) => add(*value),
                Argument::Word(word) | Argument::Wide(word) | Argument::Flag(word) => {
                    word_inputs(word, &mut add)
                }
                _ => {}
            }
        }
        for &(pointer, _) in &step.cells {
            add(pointer);
        }
    }
    list
}

fn word_inputs(word: &Word, add: &mut impl FnMut(Value)) {
    match word {
        Word::User(value) | Word::Signed(value) | Word::Part(value, _) => add(*value),
        Word::Constant(_) => {}
        Word::Sum(a, b) => {
            word_inputs(a, add);
            word_inputs(b, add);
        }
        Word::Scaled(a, _) => word_inputs(a, add),
    }
}
