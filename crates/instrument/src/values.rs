//! Instructions that compute: arithmetic, comparisons, casts, addresses,
//! parts of aggregates and vectors.

use crate::function::{Pass, gep_terms};
use crate::group::{Argument, Label, Word};
use crate::intrinsics::meta;
use crate::ir::{Kind, Opcode, Predicate, Value};
use crate::leaves::{self, Leaf};
use changeling_trace::event::LossReason;
use changeling_trace::node::Op;

impl Pass<'_> {
    pub fn arithmetic(&mut self, i: Value) {
        let (a, b) = (i.operand(0), i.operand(1));
        let Some(bits) = self.integer_bits(i) else {
            self.concretize_parts(i, a, LossReason::Unsupported);
            self.concretize_parts(i, b, LossReason::Unsupported);
            return;
        };
        let op = operator(i.opcode());
        let label = if bits > 64 {
            self.wide_binary(i, op, bits, a, b)
        } else {
            let mut arguments = vec![
                Argument::Number(meta(op, bits)),
                Argument::Label(self.label(a)),
                Argument::Label(self.label(b)),
                Argument::Word(Word::User(a)),
                Argument::Word(Word::User(b)),
                Argument::Word(Word::User(i)),
            ];
            let function = match op {
                Op::UDiv | Op::SDiv | Op::URem | Op::SRem => "__chg_rt_divide",
                Op::Shl | Op::LShr | Op::AShr if b.constant_value().is_none() => "__chg_rt_shift",
                _ => "__chg_rt_binary",
            };
            if function != "__chg_rt_binary" {
                arguments.push(Argument::Number(self.site(i)));
            }
            self.group.label(function, arguments)
        };
        self.give(i, label);
    }

    pub fn wide_binary(&mut self, at: Value, op: Op, bits: u32, a: Value, b: Value) -> Label {
        self.group.label(
            "__chg_rt_wide",
            vec![
                Argument::Number(meta(op, bits)),
                Argument::Label(self.label(a)),
                Argument::Label(self.label(b)),
                Argument::Number(self.site(at)),
                Argument::Wide(Word::User(a)),
                Argument::Wide(Word::User(b)),
            ],
        )
    }

    /// Width of a value that is an integer or pointer and can be expressed.
    fn integer_bits(&self, value: Value) -> Option<u32> {
        match value.ty().kind() {
            Kind::LLVMIntegerTypeKind | Kind::LLVMPointerTypeKind => {
                leaves::leaf(self.ir, value.ty()).bits()
            }
            _ => None,
        }
    }

    pub fn comparison(&mut self, i: Value) {
        let (mut a, mut b) = (i.operand(0), i.operand(1));
        let Some(bits) = self.integer_bits(a) else {
            self.concretize_parts(i, a, LossReason::Unsupported);
            self.concretize_parts(i, b, LossReason::Unsupported);
            return;
        };
        let (op, swapped) = relation(i.predicate());
        if swapped {
            std::mem::swap(&mut a, &mut b);
        }
        let label = if bits > 64 {
            self.wide_binary(i, op, bits, a, b)
        } else {
            self.group.label(
                "__chg_rt_compare",
                vec![
                    Argument::Number(meta(op, bits)),
                    Argument::Label(self.label(a)),
                    Argument::Label(self.label(b)),
                    Argument::Word(Word::User(a)),
                    Argument::Word(Word::User(b)),
                    Argument::Word(Word::User(i)),
                ],
            )
        };
        self.give(i, label);
    }

    pub fn cast(&mut self, i: Value) {
        let operand = i.operand(0);
        let from = leaves::leaf(self.ir, operand.ty()).bits();
        let to = leaves::leaf(self.ir, i.ty()).bits();
        let (Some(from), Some(to)) = (from, to) else {
            let reason = if i.opcode() == Opcode::LLVMBitCast {
                LossReason::Float
            } else {
                LossReason::Unsupported
            };
            self.concretize_parts(i, operand, reason);
            return;
        };
        let elementwise =
            i.opcode() != Opcode::LLVMBitCast && i.ty().kind() == Kind::LLVMVectorTypeKind;
        if elementwise {
            self.concretize_parts(i, operand, LossReason::Unsupported);
            return;
        }
        if from == to {
            self.copy_labels(i, operand);
            return;
        }
        let op = match i.opcode() {
            Opcode::LLVMSExt => Op::SExt,
            _ if to > from => Op::ZExt,
            _ => Op::Extract,
        };
        let arguments = vec![
            Argument::Number(meta(op, to)),
            Argument::Label(self.label(operand)),
            Argument::Word(Word::User(i)),
        ];
        let label = self.group.label("__chg_rt_cast", arguments);
        self.give(i, label);
    }

    pub fn select(&mut self, i: Value) {
        let (condition, then, otherwise) = (i.operand(0), i.operand(1), i.operand(2));
        if condition.ty().kind() == Kind::LLVMVectorTypeKind {
            for operand in [condition, then, otherwise] {
                self.concretize_parts(i, operand, LossReason::Unsupported);
            }
            return;
        }
        let parts = leaves::parts(self.ir, i.ty());
        if parts.iter().any(|part| part.leaf == Leaf::Opaque) {
            // Which float it is cannot be expressed.
            self.concretize_parts(i, condition, LossReason::Float);
        }
        let (t, f) = (self.labels_of(then), self.labels_of(otherwise));
        let labels = parts
            .iter()
            .enumerate()
            .map(|(index, part)| {
                let Leaf::Bits(bits) = part.leaf else {
                    return Label::Zero;
                };
                let word = |value| match part.path.is_empty() {
                    true => Word::User(value),
                    false => Word::Part(value, part.path.clone()),
                };
                let (function, a, b) = if bits > 64 {
                    (
                        "__chg_rt_wide_choice",
                        Argument::Wide(word(then)),
                        Argument::Wide(word(otherwise)),
                    )
                } else {
                    (
                        "__chg_rt_choice",
                        Argument::Word(word(then)),
                        Argument::Word(word(otherwise)),
                    )
                };
                let arguments = vec![
                    Argument::Number(bits),
                    Argument::Label(self.label(condition)),
                    Argument::Label(t[index]),
                    Argument::Label(f[index]),
                    a,
                    b,
                    Argument::Flag(Word::User(condition)),
                ];
                self.group.label(function, arguments)
            })
            .collect();
        self.group.assign(&mut self.labels, i, labels);
    }

    /// `getelementptr`: the base plus scaled indices plus a constant.
    pub fn address(&mut self, i: Value) {
        if i.ty().kind() != Kind::LLVMPointerTypeKind {
            for operand in i.operands() {
                self.concretize_parts(i, operand, LossReason::Unsupported);
            }
            return;
        }
        let base = i.operand(0);
        let (constant, terms) = gep_terms(self.ir, i);
        let mut label = self.label(base);
        let mut value = Word::User(base);
        for (index, scale) in terms {
            let offset = self.sign_extended(index);
            let arguments = vec![
                Argument::Label(label),
                Argument::Label(offset),
                Argument::Word(value.clone()),
                Argument::Word(Word::Signed(index)),
                Argument::Word(Word::Constant(scale)),
            ];
            label = self.group.label("__chg_rt_index", arguments);
            let step = Word::Scaled(Box::new(Word::Signed(index)), scale);
            value = Word::Sum(Box::new(value), Box::new(step));
        }
        if constant != 0 {
            label = self.group.label(
                "__chg_rt_binary",
                vec![
                    Argument::Number(meta(Op::Add, 64)),
                    Argument::Label(label),
                    Argument::Label(Label::Zero),
                    Argument::Word(value),
                    Argument::Word(Word::Constant(constant)),
                    Argument::Word(Word::User(i)),
                ],
            );
        }
        self.give(i, label);
    }

    fn sign_extended(&mut self, index: Value) -> Label {
        let bits = index.ty().int_bits();
        if bits == 64 {
            return self.label(index);
        }
        let op = if bits < 64 { Op::SExt } else { Op::Extract };
        let arguments = vec![
            Argument::Number(meta(op, 64)),
            Argument::Label(self.label(index)),
            Argument::Word(Word::Signed(index)),
        ];
        self.group.label("__chg_rt_cast", arguments)
    }

    pub fn extract_value(&mut self, i: Value) {
        let aggregate = i.operand(0);
        if !self.labels.contains_key(&aggregate) {
            return;
        }
        let range = leaves::range(self.ir, aggregate.ty(), &i.indices());
        let labels = self.labels_of(aggregate)[range].to_vec();
        self.group.assign(&mut self.labels, i, labels);
    }

    pub fn insert_value(&mut self, i: Value) {
        let (aggregate, part) = (i.operand(0), i.operand(1));
        let mut labels = self.labels_of(aggregate);
        let range = leaves::range(self.ir, aggregate.ty(), &i.indices());
        for (slot, label) in range.zip(self.labels_of(part)) {
            labels[slot] = label;
        }
        self.group.assign(&mut self.labels, i, labels);
    }

    pub fn extract_element(&mut self, i: Value) {
        let (vector, index) = (i.operand(0), i.operand(1));
        let place = self.element_place(vector, index);
        let (Some((low, bits)), Label::Known(_) | Label::Step(_)) = (place, self.label(vector))
        else {
            self.concretize_parts(i, vector, LossReason::Unsupported);
            self.concretize_parts(i, index, LossReason::Unsupported);
            return;
        };
        let arguments = vec![
            Argument::Label(self.label(vector)),
            Argument::Number(low),
            Argument::Number(bits),
            Argument::Word(Word::User(i)),
        ];
        let label = self.group.label("__chg_rt_extract", arguments);
        self.give(i, label);
    }

    pub fn insert_element(&mut self, i: Value) {
        let (vector, element, index) = (i.operand(0), i.operand(1), i.operand(2));
        let whole = leaves::leaf(self.ir, i.ty()).bits();
        let (Some((low, bits)), Some(width)) = (self.element_place(vector, index), whole) else {
            for operand in [vector, element, index] {
                self.concretize_parts(i, operand, LossReason::Unsupported);
            }
            return;
        };
        let arguments = vec![
            Argument::Label(self.label(vector)),
            Argument::Label(self.label(element)),
            Argument::Number(width),
            Argument::Number(low | bits << 16),
            Argument::Word(Word::User(element)),
            Argument::Wide(Word::User(vector)),
        ];
        let label = self.group.label("__chg_rt_insert", arguments);
        self.give(i, label);
    }

    /// First bit and width of a vector's element at a constant index.
    fn element_place(&self, vector: Value, index: Value) -> Option<(u32, u32)> {
        let bits = leaves::leaf(self.ir, vector.ty().element()).bits()?;
        leaves::leaf(self.ir, vector.ty()).bits()?;
        let index = index.constant_value()? as u32;
        (bits <= 64 && index < vector.ty().vector_length()).then_some((index * bits, bits))
    }
}

pub fn operator(opcode: Opcode) -> Op {
    match opcode {
        Opcode::LLVMAdd => Op::Add,
        Opcode::LLVMSub => Op::Sub,
        Opcode::LLVMMul => Op::Mul,
        Opcode::LLVMUDiv => Op::UDiv,
        Opcode::LLVMSDiv => Op::SDiv,
        Opcode::LLVMURem => Op::URem,
        Opcode::LLVMSRem => Op::SRem,
        Opcode::LLVMShl => Op::Shl,
        Opcode::LLVMLShr => Op::LShr,
        Opcode::LLVMAShr => Op::AShr,
        Opcode::LLVMAnd => Op::And,
        Opcode::LLVMOr => Op::Or,
        _ => Op::Xor,
    }
}

/// The operator for a predicate, and whether its operands change places.
fn relation(predicate: Predicate) -> (Op, bool) {
    match predicate {
        Predicate::LLVMIntEQ => (Op::Eq, false),
        Predicate::LLVMIntNE => (Op::Ne, false),
        Predicate::LLVMIntULT => (Op::Ult, false),
        Predicate::LLVMIntULE => (Op::Ule, false),
        Predicate::LLVMIntUGT => (Op::Ult, true),
        Predicate::LLVMIntUGE => (Op::Ule, true),
        Predicate::LLVMIntSLT => (Op::Slt, false),
        Predicate::LLVMIntSLE => (Op::Sle, false),
        Predicate::LLVMIntSGT => (Op::Slt, true),
        Predicate::LLVMIntSGE => (Op::Sle, true),
    }
}
