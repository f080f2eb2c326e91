//! The pass over one function: blocks in order of dominance, instructions into
//! groups, labels through phi nodes.

use crate::group::{Argument, Generator, Group, Label, Labels, Word};
use crate::ir::{Block, Cursor, Ir, Opcode, Predicate, Value};
use crate::leaves::{self, Leaf};
use crate::named::Named;
use crate::sites::{Copies, Numbering};
use crate::taint::Taint;
use changeling_trace::event::LossReason;
use std::collections::HashSet;

/// Globals of the glue.
#[derive(Clone, Copy)]
pub struct Slots {
    pub args: Value,
    pub rets: Value,
    pub callee: Value,
    pub returned: Value,
    pub byval: Value,
    pub variable: Value,
    pub call_site: Value,
}

impl Slots {
    pub fn declare(ir: Ir) -> Slots {
        let words = |count| ir.array(ir.int(32), count);
        let longs = |count| ir.array(ir.int(64), count);
        Slots {
            args: ir.thread_local("__chg_args", words(64)),
            rets: ir.thread_local("__chg_rets", words(16)),
            callee: ir.thread_local("__chg_callee", ir.ptr()),
            returned: ir.thread_local("__chg_returned", ir.ptr()),
            byval: ir.thread_local("__chg_byval", longs(16)),
            // Two words and 32 entries of three.
            variable: ir.thread_local("__chg_va", longs(VARIABLE_WORDS)),
            call_site: ir
                .global("__chg_call_site")
                .unwrap_or_else(|| ir.add_global("__chg_call_site", ir.int(32))),
        }
    }
}

/// Size of the glue's `struct variable_arguments` in 8-byte words.
pub const VARIABLE_WORDS: u64 = 2 + 32 * 3;

pub struct Pass<'a> {
    pub ir: Ir,
    pub cursor: Cursor,
    pub generator: &'a mut Generator,
    pub taint: &'a Taint,
    pub slots: Slots,
    pub numbering: &'a Numbering,
    pub copies: &'a Copies,
    /// Functions of the library models.
    pub models: &'a HashSet<Value>,
    pub function: Value,
    pub in_model: bool,
    /// None of its values carries a label.
    pub is_unlabelled: bool,
    /// A model that was written as one gives account of what it hands to other code.
    pub is_accountable: bool,
    pub labels: Labels,
    pub group: Group,
    pub saved_variable_arguments: Option<Value>,
    /// Whether the function was called by traced code, where that is not known beforehand.
    pub is_asked_by_traced: Option<Value>,
    pub named: &'a Named,
    /// Stack objects that the runtime was told of when the function began.
    pub told: HashSet<Value>,
}

impl Pass<'_> {
    pub fn run(&mut self) {
        let order = reverse_postorder(self.function);
        if self.is_unlabelled {
            self.run_unlabelled(&order);
            return;
        }
        let Some(&entry) = order.first() else {
            return;
        };
        let bodies: Vec<(Block, Vec<Value>)> = order
            .iter()
            .map(|block| (*block, block.instructions()))
            .collect();
        let phis = self.label_phis(&bodies);
        self.enter(entry);
        self.tell_of_frame(&bodies[0].1);
        for (_, instructions) in &bodies {
            for &instruction in instructions {
                // Calls and returns read labels behind the group that they end.
                let reads_later = matches!(
                    instruction.opcode(),
                    Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMRet
                );
                if !reads_later {
                    self.group.visit(instruction);
                }
                self.instruction(instruction);
                if reads_later {
                    self.group.visit(instruction);
                }
            }
        }
        self.fill_phis(&phis);
    }

    /// All that is left to do is to tell callees that their arguments carry no labels, and callers that this is known code.
    fn run_unlabelled(&mut self, order: &[Block]) {
        for block in order {
            for instruction in block.instructions() {
                match instruction.opcode() {
                    Opcode::LLVMCall | Opcode::LLVMInvoke => self.unlabelled_call(instruction),
                    Opcode::LLVMRet => self.unlabelled_return(instruction),
                    _ => {}
                }
            }
        }
    }

    /// One phi of labels for each labelled part of each phi.
    fn label_phis(&mut self, bodies: &[(Block, Vec<Value>)]) -> Vec<(Value, Vec<Option<Value>>)> {
        let mut made = Vec::new();
        for (_, instructions) in bodies {
            for &phi in instructions
                .iter()
                .take_while(|value| value.opcode() == Opcode::LLVMPHI)
            {
                if !self.taint.contains(phi) || phi.incoming().len() == 1 {
                    continue;
                }
                self.cursor.before(phi);
                let parts = leaves::parts(self.ir, phi.ty());
                let labels: Vec<Option<Value>> = parts
                    .iter()
                    .map(|part| {
                        (part.leaf != Leaf::Opaque).then(|| self.cursor.phi(self.ir.int(32)))
                    })
                    .collect();
                let known = labels
                    .iter()
                    .map(|label| label.map_or(Label::Zero, Label::Known));
                self.labels.insert(phi, known.collect());
                made.push((phi, labels));
            }
        }
        made
    }

    fn fill_phis(&mut self, phis: &[(Value, Vec<Option<Value>>)]) {
        for (phi, labels) in phis {
            for (value, block) in phi.incoming() {
                let incoming = self.labels_of(value);
                for (index, label) in labels.iter().enumerate() {
                    if let Some(label) = label {
                        let from = incoming.get(index).copied().unwrap_or(Label::Zero);
                        label.add_incoming(self.label_value(from), block);
                    }
                }
            }
        }
    }

    fn enter(&mut self, entry: Block) {
        let Some(first) = entry.first_insertion() else {
            return;
        };
        self.receive_parameters(self.function, first);
        if self.function.is_variadic_function() {
            self.cursor.before(first);
            let saved = self
                .cursor
                .alloca(self.ir.array(self.ir.int(64), VARIABLE_WORDS));
            let save = self.generator.runtime("__chg_va_save", false, &[saved]);
            self.cursor.call(save, &[saved]);
            self.saved_variable_arguments = Some(saved);
        }
    }

    fn instruction(&mut self, i: Value) {
        use Opcode::*;
        match i.opcode() {
            LLVMAdd | LLVMSub | LLVMMul | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem | LLVMShl
            | LLVMLShr | LLVMAShr | LLVMAnd | LLVMOr | LLVMXor => self.arithmetic(i),
            LLVMICmp => self.comparison(i),
            LLVMTrunc | LLVMZExt | LLVMSExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast
            | LLVMAddrSpaceCast => self.cast(i),
            LLVMUIToFP | LLVMSIToFP => self.concretize_parts(i, i.operand(0), LossReason::Float),
            LLVMFreeze => self.copy_labels(i, i.operand(0)),
            LLVMPHI => {
                if let [(value, _)] = i.incoming()[..] {
                    self.copy_labels(i, value);
                }
            }
            LLVMSelect => self.select(i),
            LLVMGetElementPtr => self.address(i),
            LLVMExtractValue => self.extract_value(i),
            LLVMInsertValue => self.insert_value(i),
            LLVMExtractElement => self.extract_element(i),
            LLVMInsertElement => self.insert_element(i),
            LLVMShuffleVector => {
                self.concretize_parts(i, i.operand(0), LossReason::Unsupported);
                self.concretize_parts(i, i.operand(1), LossReason::Unsupported);
            }
            LLVMLoad => self.load(i),
            LLVMStore => self.store(i),
            LLVMAtomicRMW => self.read_modify_write(i),
            LLVMAtomicCmpXchg => self.compare_exchange(i),
            LLVMAlloca => self.alloca(i),
            LLVMCall | LLVMInvoke => self.call(i),
            LLVMRet => self.send_result(i),
            LLVMBr => self.branch(i),
            LLVMSwitch => self.switch(i),
            LLVMIndirectBr => {
                self.concretize_parts(i, i.operand(0), LossReason::Target);
                self.flush(i);
            }
            LLVMUnreachable | LLVMResume | LLVMCallBr | LLVMCatchRet | LLVMCleanupRet
            | LLVMCatchSwitch => self.flush(i),
            _ => {}
        }
    }

    fn branch(&mut self, i: Value) {
        if i.is_conditional() {
            let condition = i.operand(0);
            let arguments = vec![
                Argument::Number(self.site(i)),
                Argument::Label(self.label(condition)),
                Argument::Flag(Word::User(condition)),
                Argument::Number(self.copies.call_of(i)),
            ];
            self.group.effect("__chg_rt_branch", arguments);
        }
        self.flush(i);
    }

    fn switch(&mut self, i: Value) {
        let selector = i.operand(0);
        if selector.ty().int_bits() <= 64 {
            let arguments = vec![
                Argument::Number(self.site(i)),
                Argument::Label(self.label(selector)),
                Argument::Word(Word::User(selector)),
            ];
            self.group.effect("__chg_rt_switch", arguments);
        } else if self.label(selector) != Label::Zero {
            // The event has room for 64 bits, and so has the table of cases: each case is a branch.
            for (value, _) in i.switch_cases() {
                self.cursor.before(i);
                let equal = self.cursor.compare(Predicate::LLVMIntEQ, selector, value);
                self.comparison(equal);
                let arguments = vec![
                    Argument::Number(self.site(i)),
                    Argument::Label(self.label(equal)),
                    Argument::Flag(Word::User(equal)),
                    Argument::Number(self.copies.call_of(i)),
                ];
                self.group.effect("__chg_rt_branch", arguments);
            }
        }
        self.flush(i);
    }

    // ---- labels ----

    /// The labels of a value, one per leaf; constants have none.
    pub fn labels_of(&self, value: Value) -> Vec<Label> {
        match self.labels.get(&value) {
            Some(labels) => labels.clone(),
            None => vec![Label::Zero; leaves::parts(self.ir, value.ty()).len()],
        }
    }

    /// The label of a value that is no aggregate.
    pub fn label(&self, value: Value) -> Label {
        self.labels
            .get(&value)
            .and_then(|labels| labels.first().copied())
            .unwrap_or(Label::Zero)
    }

    pub fn give(&mut self, value: Value, label: Label) {
        self.group.assign(&mut self.labels, value, vec![label]);
    }

    pub fn copy_labels(&mut self, to: Value, from: Value) {
        let labels = self.labels_of(from);
        self.group.assign(&mut self.labels, to, labels);
    }

    /// A label as an `i32`; the group must have been flushed.
    pub fn label_value(&self, label: Label) -> Value {
        match label {
            Label::Known(value) => value,
            Label::Zero | Label::Step(_) => self.ir.constant(32, 0),
        }
    }

    pub fn flush(&mut self, before: Value) {
        self.group.flush(self.generator, &mut self.labels, before);
    }

    pub fn site(&self, instruction: Value) -> u32 {
        self.numbering.site(instruction)
    }

    pub fn concretize(&mut self, at: Value, label: Label, value: Word, reason: LossReason) {
        let arguments = vec![
            Argument::Number(self.site(at)),
            Argument::Label(label),
            Argument::Word(value),
            Argument::Number(reason as u32),
        ];
        self.group.effect("__chg_rt_concretize", arguments);
    }

    /// Gives up every label of a value.
    pub fn concretize_parts(&mut self, at: Value, value: Value, reason: LossReason) {
        let Some(labels) = self.labels.get(&value).cloned() else {
            return;
        };
        let parts = leaves::parts(self.ir, value.ty());
        for (label, part) in labels.into_iter().zip(parts) {
            self.concretize(at, label, Word::of(value, part.path), reason);
        }
    }
}

/// Blocks reachable from the entry, each after all that dominate it.
fn reverse_postorder(function: Value) -> Vec<Block> {
    let Some(&entry) = function.blocks().first() else {
        return Vec::new();
    };
    let mut seen = HashSet::from([entry]);
    let mut stack = vec![(entry, entry.successors().into_iter())];
    let mut postorder = Vec::new();
    while let Some((block, successors)) = stack.last_mut() {
        match successors.find(|successor| seen.insert(*successor)) {
            Some(next) => stack.push((next, next.successors().into_iter())),
            None => {
                postorder.push(*block);
                stack.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}

/// Offsets of a `getelementptr`: a constant, and indices with their scales.
pub fn gep_terms(ir: Ir, gep: Value) -> (u64, Vec<(Value, u64)>) {
    let mut constant = 0u64;
    let mut terms = Vec::new();
    let mut ty = gep.gep_source_type();
    for (level, index) in gep.operands().into_iter().skip(1).enumerate() {
        if level > 0 && ty.kind() == crate::ir::Kind::LLVMStructTypeKind {
            let field = index.constant_value().unwrap_or(0) as u32;
            constant = constant.wrapping_add(ir.field_offset(ty, field));
            ty = ty.fields()[field as usize];
            continue;
        }
        if level > 0 {
            ty = ty.element();
        }
        let scale = ir.abi_size(ty);
        match index.constant_value() {
            Some(value) => {
                let bits = index.ty().int_bits();
                let signed = ((value << (64 - bits)) as i64 >> (64 - bits)) as u64;
                constant = constant.wrapping_add(signed.wrapping_mul(scale));
            }
            None => terms.push((index, scale)),
        }
    }
    (constant, terms)
}

/// The pointer that an address was computed from, for finding its object.
pub fn base_of(mut pointer: Value) -> Value {
    while pointer.is_instruction() && pointer.opcode() == Opcode::LLVMGetElementPtr {
        pointer = pointer.operand(0);
    }
    pointer
}
