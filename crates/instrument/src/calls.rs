//! Calls: who is called, and how labels get there and back.

use crate::coverage;
use crate::function::Pass;
use crate::group::{Argument, Label, Word};
use crate::ir::{Opcode, Predicate, Type, Value};
use crate::leaves::{self, Leaf};
use crate::quiet;
use crate::rust;
use crate::taint;
use changeling_trace::event::LossReason;

/// Slots in the glue's arrays.
const ARGUMENT_SLOTS: usize = 64;
const RESULT_SLOTS: usize = 16;
const BYVAL_SLOTS: usize = 16;
/// Structures up to this many bytes are looked at in line.
const SMALL: u64 = 16;

/// Who a call instruction calls.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function with a body in the module.
    Traced(Value),
    /// Part of the tracer; takes and gives labels through the slots.
    Glue(Value),
    Intrinsic(String),
    /// Not in the module.
    External(Value),
    Indirect(Value),
    Assembler(Value),
}

pub fn callee_of(call: Value) -> Callee {
    let callee = call.callee();
    if callee.is_inline_asm() {
        return Callee::Assembler(callee);
    }
    if !callee.is_function() {
        return Callee::Indirect(callee);
    }
    let name = callee.name();
    if name.starts_with("llvm.") {
        Callee::Intrinsic(name)
    } else if name.starts_with("__chg_") {
        Callee::Glue(callee)
    } else if callee.is_declaration() {
        Callee::External(callee)
    } else {
        Callee::Traced(callee)
    }
}

impl Pass<'_> {
    pub fn call(&mut self, call: Value) {
        match callee_of(call) {
            Callee::Intrinsic(name) => self.intrinsic(call, &name),
            Callee::Assembler(code) => self.assembler(call, code),
            Callee::External(target) => match target.name().as_str() {
                "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" => {
                    self.block_copy(call);
                    self.copy_labels(call, call.operand(0));
                }
                "memset" | "__memset_chk" => {
                    self.block_fill(call);
                    self.copy_labels(call, call.operand(0));
                }
                _ => self.external_call(call, target),
            },
            Callee::Traced(target) => self.traced_call(call, Some(target)),
            Callee::Glue(_) if coverage::is_mark(call) || rust::is_mark(call) => {}
            Callee::Glue(target) => self.traced_call(call, Some(target)),
            Callee::Indirect(pointer) => {
                let label = self.label(pointer);
                self.concretize(call, label, Word::User(pointer), LossReason::Target);
                self.traced_call(call, None);
            }
        }
    }

    /// A call in a function whose values carry no labels.
    pub fn unlabelled_call(&mut self, call: Value) {
        match callee_of(call) {
            Callee::Intrinsic(_) | Callee::Assembler(_) | Callee::External(_) => {}
            Callee::Glue(_) if coverage::is_mark(call) || rust::is_mark(call) => {}
            Callee::Traced(target) | Callee::Glue(target) => self.traced_call(call, Some(target)),
            Callee::Indirect(_) => self.traced_call(call, None),
        }
    }

    /// A call that takes labels along. `target` is None for an indirect one,
    /// which may or may not arrive in traced code.
    fn traced_call(&mut self, call: Value, target: Option<Value>) {
        self.flush(call);
        self.cursor.before(call);
        self.send_arguments(call);
        let checked = target.is_none_or(|target| self.taint.address_taken.contains(&target));
        if checked {
            self.cursor.store(call.callee(), self.slots.callee);
        }
        if target.is_none() {
            self.cursor.store(self.ir.ptr().zero(), self.slots.returned);
        }
        // Through a pointer one may get into a model as well.
        if target.is_none_or(|target| self.models.contains(&target)) && !self.in_model {
            let site = self.ir.constant(32, self.site(call) as u64);
            self.cursor.store(site, self.slots.call_site);
        }
        self.receive_result(call, target);
        if target.is_none() && !self.is_unlabelled {
            self.account_for_target(call);
        }
    }

    /// Through a pointer one may get into code that is not traced: a function of a library, code that was made at run time.
    /// Traced functions say when they return, so it is known behind the call; what it was given is lost then.
    fn account_for_target(&mut self, call: Value) {
        if call.is_must_tail() {
            return;
        }
        let Some(after) = behind(call) else {
            return;
        };
        self.cursor.before(after);
        let target = call.callee();
        let returned = self.cursor.load(self.ir.ptr(), self.slots.returned);
        let returned = self.cursor.as_int(returned, 64);
        let address = self.cursor.as_int(target, 64);
        let beside = self.unlabelled_mark(address);
        let equal = |to| self.cursor.compare(Predicate::LLVMIntEQ, returned, to);
        let inside = self.cursor.or(equal(address), equal(beside));
        let zero = self.ir.constant(32, 0);
        let unless_inside = |value| Label::Known(self.cursor.select(inside, zero, value));
        let outside = unless_inside(self.ir.constant(32, 1));
        let site = Argument::Number(self.site(call));
        let to = Argument::Word(Word::User(target));
        let mut steps = Vec::new();
        let mut memory = vec![target];
        for index in 0..call.argument_count() {
            let argument = call.operand(index);
            let parts = leaves::parts(self.ir, argument.ty());
            for (label, part) in self.labels_of(argument).into_iter().zip(parts) {
                if label == Label::Zero {
                    continue;
                }
                let lost = unless_inside(self.label_value(label));
                let word = Argument::Word(Word::of(argument, part.path));
                let lost = Argument::Label(lost);
                let arguments = vec![lost, word, to.clone(), site.clone()];
                steps.push(("__chg_rt_foreign_value", arguments));
            }
            if argument.ty() == self.ir.ptr() && may_hold_labels(argument) {
                memory.push(argument);
            }
        }
        for pointer in memory {
            let address = Argument::Word(Word::User(pointer));
            let arguments = vec![Argument::Label(outside), address, to.clone(), site.clone()];
            steps.push(("__chg_rt_foreign_memory", arguments));
        }
        for (function, arguments) in steps {
            self.group.effect(function, arguments);
        }
        self.flush(after);
    }

    /// What a function that is traced without labels says when it returns.
    pub fn unlabelled_mark(&self, address: Value) -> Value {
        let one = self.ir.constant(64, 1);
        self.cursor.binary(Opcode::LLVMAdd, address, one)
    }

    fn send_arguments(&mut self, call: Value) {
        let fixed = call.call_type().parameter_count();
        let mut slot = 0;
        let mut byval = 0;
        for index in 0..call.argument_count().min(fixed) {
            let argument = call.operand(index);
            if self.ir.byval_argument(call, index).is_some() {
                if byval < BYVAL_SLOTS {
                    let address = self.cursor.as_int(argument, 64);
                    let to = self.ir.offset(self.slots.byval, 8 * byval as u64);
                    self.cursor.store(address, to);
                }
                byval += 1;
            }
            for label in self.labels_of(argument) {
                if slot < ARGUMENT_SLOTS {
                    let value = self.label_value(label);
                    self.cursor
                        .store(value, self.ir.offset(self.slots.args, 4 * slot as u64));
                }
                slot += 1;
            }
        }
        if call.call_type().is_variadic() {
            self.send_variable_arguments(call, fixed);
        }
    }

    /// The variable part travels in a list of its own, placed as the x86-64 ABI
    /// places the arguments themselves.
    fn send_variable_arguments(&mut self, call: Value, fixed: u32) {
        let zero = self.ir.constant(64, 0);
        self.cursor.store(zero, self.slots.variable);
        let mut registers = 0;
        let mut overflow = 0u64;
        let mut labelled = Vec::new();
        for index in 0..call.argument_count() {
            let argument = call.operand(index);
            let place = argument_place(self, call, index, argument, &mut registers, &mut overflow);
            if index >= fixed
                && let Some((offset, bits, source)) = place
            {
                labelled.push((argument, offset, bits, source));
            }
        }
        let bytes = self.ir.constant(64, overflow);
        self.cursor
            .store(bytes, self.ir.offset(self.slots.variable, 8));
        for (argument, offset, bits, source) in labelled {
            let label = self.label(argument);
            if !source && label == Label::Zero {
                continue;
            }
            let source = if source {
                Word::User(argument)
            } else {
                Word::Constant(0)
            };
            let arguments = vec![
                Argument::Label(label),
                Argument::Number(bits),
                Argument::Word(Word::Constant(offset)),
                Argument::Word(source.clone()),
            ];
            match source {
                // A structure: its own shadow says whether there is anything to tell.
                Word::User(pointer) => {
                    let bytes = u64::from(bits / 8).min(SMALL);
                    self.group
                        .stored("__chg_va_add", arguments, (pointer, bytes));
                }
                _ => self.group.effect("__chg_va_add", arguments),
            }
        }
        self.flush(call);
        self.cursor.before(call);
    }

    fn receive_result(&mut self, call: Value, target: Option<Value>) {
        if !self.taint.contains(call) || call.is_must_tail() {
            return;
        }
        let Some(after) = behind(call) else {
            return;
        };
        self.cursor.before(after);
        let valid = target.is_none().then(|| {
            let from = self.cursor.load(self.ir.ptr(), self.slots.returned);
            self.cursor
                .compare(Predicate::LLVMIntEQ, from, call.callee())
        });
        let labels = self.slot_labels(call.ty(), self.slots.rets, 0, RESULT_SLOTS, valid);
        self.group.assign(&mut self.labels, call, labels);
    }

    /// Loads the labels of a value from consecutive slots.
    pub fn slot_labels(
        &mut self,
        ty: Type,
        slots: Value,
        first: usize,
        limit: usize,
        valid: Option<Value>,
    ) -> Vec<Label> {
        let zero = self.ir.constant(32, 0);
        leaves::parts(self.ir, ty)
            .iter()
            .enumerate()
            .map(|(index, part)| {
                let slot = first + index;
                if part.leaf == Leaf::Opaque || slot >= limit {
                    return Label::Zero;
                }
                let from = self.ir.offset(slots, 4 * slot as u64);
                let label = self.cursor.load(self.ir.int(32), from);
                Label::Known(match valid {
                    Some(valid) => self.cursor.select(valid, label, zero),
                    None => label,
                })
            })
            .collect()
    }

    /// At function entry: labels of the parameters.
    pub fn receive_parameters(&mut self, function: Value, first: Value) {
        self.cursor.before(first);
        let valid = self.taint.address_taken.contains(&function).then(|| {
            let whom = self.cursor.load(self.ir.ptr(), self.slots.callee);
            self.cursor.store(self.ir.ptr().zero(), self.slots.callee);
            self.cursor.compare(Predicate::LLVMIntEQ, whom, function)
        });
        self.is_asked_by_traced = valid;
        let mut slot = 0;
        let mut byval = 0;
        for (index, parameter) in function.parameters().into_iter().enumerate() {
            if let Some(ty) = self.ir.byval_parameter(function, index as u32) {
                self.receive_structure(parameter, ty, byval, valid);
                byval += 1;
            }
            let count = leaves::parts(self.ir, parameter.ty()).len();
            if self.taint.contains(parameter) {
                let labels =
                    self.slot_labels(parameter.ty(), self.slots.args, slot, ARGUMENT_SLOTS, valid);
                self.group.assign(&mut self.labels, parameter, labels);
            }
            slot += count;
        }
    }

    /// The callee's copy of a structure gets the labels of the caller's.
    fn receive_structure(&mut self, copy: Value, ty: Type, number: usize, valid: Option<Value>) {
        let size = self.ir.constant(64, self.ir.abi_size(ty));
        let to = self.cursor.as_int(copy, 64);
        if number >= BYVAL_SLOTS {
            let clear = self.generator.runtime("__chg_rt_clear", false, &[to, size]);
            self.cursor.call(clear, &[to, size]);
            return;
        }
        let slot = self.ir.offset(self.slots.byval, 8 * number as u64);
        let mut from = self.cursor.load(self.ir.int(64), slot);
        if let Some(valid) = valid {
            // Copying a structure onto itself leaves what is there; an unknown
            // caller's structure has no labels, like unmapped shadow.
            from = self.cursor.select(valid, from, self.ir.constant(64, 0));
        }
        let copy = self
            .generator
            .runtime("__chg_rt_copy", false, &[to, from, size]);
        self.cursor.call(copy, &[to, from, size]);
    }

    pub fn send_result(&mut self, ret: Value) {
        let function = self.function;
        self.flush(ret);
        self.cursor.before(ret);
        // Whoever calls `main` looks at its result as well.
        let asked = self.taint.returns(function) || function.name() == "main";
        let is_asked = asked || self.taint.address_taken.contains(&function);
        if is_asked && ret.operand_count() > 0 {
            let value = ret.operand(0);
            self.decide_for_others(ret, value);
            for (slot, label) in self
                .labels_of(value)
                .into_iter()
                .enumerate()
                .take(RESULT_SLOTS)
            {
                let label = self.label_value(label);
                self.cursor
                    .store(label, self.ir.offset(self.slots.rets, 4 * slot as u64));
            }
        }
        if self.taint.address_taken.contains(&function) {
            self.cursor.store(function, self.slots.returned);
        }
    }

    /// Code that is not traced may have called, as a search through a table does that is given what compares: branches
    /// decide what it is told.
    fn decide_for_others(&mut self, ret: Value, value: Value) {
        let Some(is_traced) = self.is_asked_by_traced else {
            return;
        };
        if taint::is_start(self.function) {
            return;
        }
        let zero = self.ir.constant(32, 0);
        let parts = leaves::parts(self.ir, value.ty());
        for (label, part) in self.labels_of(value).into_iter().zip(parts) {
            if label == Label::Zero {
                continue;
            }
            let label = self.label_value(label);
            let told = Label::Known(self.cursor.select(is_traced, zero, label));
            let word = Word::of(value, part.path);
            self.concretize(ret, told, word, LossReason::Size);
        }
        self.flush(ret);
        self.cursor.before(ret);
    }

    /// The same of a function whose values carry no labels: there are none for the caller to take.
    pub fn unlabelled_return(&mut self, ret: Value) {
        if self.taint.address_taken.contains(&self.function) {
            self.cursor.before(ret);
            let address = self.cursor.as_int(self.function, 64);
            let mark = self.unlabelled_mark(address);
            let mark = self.cursor.cast(Opcode::LLVMIntToPtr, mark, self.ir.ptr());
            self.cursor.store(mark, self.slots.returned);
        }
    }

    /// Code that is not traced: its arguments become what they are in this run.
    fn external_call(&mut self, call: Value, target: Value) {
        let name = target.name();
        if self.is_accountable || quiet::is_quiet(&name) {
            self.flush(call);
            return;
        }
        let reason = match quiet::is_decided(&name) {
            true => LossReason::Size,
            false => LossReason::ExternalCall,
        };
        for index in 0..call.argument_count() {
            self.concretize_parts(call, call.operand(index), reason);
        }
        self.flush(call);
        if self.named.words.contains(&name) {
            self.give_up_named(call, |_| true);
        }
        if quiet::ignores_memory(&name) {
            return;
        }
        self.hand_over(call, quiet::follows_pointers(&name));
    }

    /// Counts the labels of memory that code outside is given pointers to, and of what these lead to if it follows them.
    fn hand_over(&mut self, call: Value, follows: bool) {
        self.cursor.before(call);
        for index in 0..call.argument_count() {
            let pointer = call.operand(index);
            if pointer.ty() != self.ir.ptr() || !may_hold_labels(pointer) {
                continue;
            }
            let site = self.ir.constant(32, self.site(call) as u64);
            let follows = self.ir.constant(32, follows.into());
            let arguments = [self.cursor.as_int(pointer, 64), follows, site];
            let function = self
                .generator
                .runtime("__chg_rt_hand_over", false, &arguments);
            self.cursor.call(function, &arguments);
        }
    }

    fn assembler(&mut self, call: Value, code: Value) {
        // Empty assembler is a barrier for the optimiser; a value that goes
        // through it comes out as it was.
        if code.is_empty_asm() {
            if call.argument_count() > 0 && call.operand(0).ty() == call.ty() {
                let labels = self.labels_of(call.operand(0));
                self.group.assign(&mut self.labels, call, labels);
            }
            return;
        }
        for index in 0..call.argument_count() {
            self.concretize_parts(call, call.operand(index), LossReason::Unsupported);
        }
        self.flush(call);
        self.give_up_named(call, |name| code.asm_contains(name));
        self.hand_over(call, true);
    }

    /// Counts the labels of variables that assembler may know by name.
    fn give_up_named(&mut self, call: Value, is_known: impl Fn(&str) -> bool) {
        self.cursor.before(call);
        for &variable in &self.named.variables {
            if !is_known(&variable.name()) {
                continue;
            }
            let arguments = [
                self.cursor.as_int(variable, 64),
                self.ir
                    .constant(64, self.ir.abi_size(variable.value_type())),
                self.ir.constant(32, LossReason::Unsupported as u64),
                self.ir.constant(32, self.site(call) as u64),
            ];
            let lost = self
                .generator
                .runtime("__chg_rt_lost_memory", false, &arguments);
            self.cursor.call(lost, &arguments);
        }
    }
}

/// Where control goes on when a call has returned.
fn behind(call: Value) -> Option<Value> {
    match call.opcode() {
        Opcode::LLVMInvoke => call.successor(0).first_insertion(),
        _ => call.next(),
    }
}

fn may_hold_labels(pointer: Value) -> bool {
    !pointer.is_function() && pointer.constant_value().is_none()
}

/// Where an argument of a variadic call goes: offset in the register save area
/// or (from 48) in the overflow area, its bits, and whether it is a structure
/// whose labels are in memory. None for floats in registers.
fn argument_place(
    pass: &Pass<'_>,
    call: Value,
    index: u32,
    argument: Value,
    registers: &mut u64,
    overflow: &mut u64,
) -> Option<(u64, u32, bool)> {
    let mut in_memory = |size: u64, alignment: u64| {
        *overflow = overflow.next_multiple_of(alignment.max(8));
        let at = *overflow;
        *overflow += size.next_multiple_of(8);
        48 + at
    };
    if let Some(ty) = pass.ir.byval_argument(call, index) {
        let size = pass.ir.abi_size(ty);
        return Some((
            in_memory(size, pass.ir.abi_alignment(ty) as u64),
            (size * 8) as u32,
            true,
        ));
    }
    match leaves::leaf(pass.ir, argument.ty()) {
        Leaf::Bits(bits)
            if bits <= 64 && argument.ty().kind() != crate::ir::Kind::LLVMVectorTypeKind =>
        {
            if *registers < 6 {
                let at = *registers * 8;
                *registers += 1;
                return Some((at, bits, false));
            }
            Some((in_memory(8, 8), bits, false))
        }
        Leaf::Bits(bits) => {
            in_memory((bits as u64).div_ceil(8), 16);
            None
        }
        // The first eight floats are in vector registers and carry no labels.
        Leaf::Opaque => None,
    }
}
