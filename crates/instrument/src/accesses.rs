//! Loads and stores.

use crate::function::{Pass, base_of};
use crate::group::{Argument, Label, Word};
use crate::intrinsics::meta;
use crate::ir::{Kind, RmwOp, Type, Value};
use crate::leaves::{self, Leaf, Part};
use changeling_trace::event::LossReason;
use changeling_trace::node::Op;

impl Pass<'_> {
    pub fn load(&mut self, i: Value) {
        let pointer = i.operand(0);
        let parts = leaves::parts(self.ir, i.ty());
        if let [part] = &parts[..]
            && part.path.is_empty()
        {
            let label = self.loaded_label(i, pointer, part, Word::User(i));
            self.give(i, label);
            return;
        }
        // An aggregate: the address is fixed, then each part is read where it lies.
        let label = self.label(pointer);
        self.concretize(i, label, Word::User(pointer), LossReason::LoadAddress);
        let labels = parts
            .iter()
            .map(|part| {
                let at = self.part_address(i, pointer, i.ty(), &part.path);
                self.loaded_label(i, at, part, Word::Part(i, part.path.clone()))
            })
            .collect();
        self.group.assign(&mut self.labels, i, labels);
    }

    fn loaded_label(&mut self, i: Value, pointer: Value, part: &Part, value: Word) -> Label {
        let site = self.site(i);
        let address = self.label(pointer);
        let bytes = self.ir.store_size(part.ty);
        match part.leaf {
            Leaf::Bits(bits) if bits <= 64 => {
                let mut arguments = vec![Argument::Word(Word::User(pointer))];
                if address == Label::Zero {
                    arguments.extend([
                        Argument::Number(bits),
                        Argument::Word(value),
                        Argument::Number(site),
                    ]);
                    return self
                        .group
                        .loaded("__chg_rt_load", arguments, (pointer, bytes));
                }
                arguments.extend([
                    Argument::Label(address),
                    Argument::Number(bits),
                    Argument::Word(value),
                    Argument::Number(site),
                    Argument::Word(Word::User(base_of(pointer))),
                ]);
                self.group
                    .loaded("__chg_rt_load_at", arguments, (pointer, bytes))
            }
            Leaf::Bits(bits) => {
                self.concretize(i, address, Word::User(pointer), LossReason::LoadAddress);
                let arguments = vec![
                    Argument::Word(Word::User(pointer)),
                    Argument::Number(bits),
                    Argument::Number(site),
                    Argument::Wide(value),
                ];
                self.group
                    .loaded("__chg_rt_wide_load", arguments, (pointer, bytes))
            }
            Leaf::Opaque => {
                self.concretize(i, address, Word::User(pointer), LossReason::LoadAddress);
                self.opaque_load(site, pointer, part.ty, value);
                Label::Zero
            }
        }
    }

    /// A float from labelled memory: the bits are fixed to what they are.
    fn opaque_load(&mut self, site: u32, pointer: Value, ty: Type, value: Word) {
        let bytes = self.ir.store_size(ty);
        if matches!(
            ty.kind(),
            Kind::LLVMFloatTypeKind | Kind::LLVMDoubleTypeKind
        ) {
            let arguments = vec![
                Argument::Word(Word::User(pointer)),
                Argument::Number(bytes as u32 * 8),
                Argument::Word(value.clone()),
                Argument::Number(site),
            ];
            let label = self
                .group
                .loaded("__chg_rt_load", arguments, (pointer, bytes));
            self.group.effect(
                "__chg_rt_concretize",
                vec![
                    Argument::Number(site),
                    Argument::Label(label),
                    Argument::Word(value),
                    Argument::Number(LossReason::Float as u32),
                ],
            );
            return;
        }
        let arguments = vec![
            Argument::Word(Word::User(pointer)),
            Argument::Word(Word::Constant(bytes)),
            Argument::Number(LossReason::Unsupported as u32),
            Argument::Number(site),
        ];
        self.group
            .stored("__chg_rt_lost_memory", arguments, (pointer, bytes.min(32)));
    }

    pub fn store(&mut self, i: Value) {
        let (value, pointer) = (i.operand(0), i.operand(1));
        if !self.in_model && self.named.is_foreign(pointer) {
            self.concretize_parts(i, value, LossReason::Size);
        }
        let parts = leaves::parts(self.ir, value.ty());
        let labels = self.labels_of(value);
        if let ([part], [label]) = (&parts[..], &labels[..])
            && part.path.is_empty()
        {
            self.stored_label(i, pointer, part, *label, Word::User(value));
            self.flush(i);
            return;
        }
        let address = self.label(pointer);
        self.concretize(i, address, Word::User(pointer), LossReason::StoreAddress);
        self.flush(i);
        let labels = self.labels_of(value);
        for (part, label) in parts.iter().zip(labels) {
            let at = self.part_address(i, pointer, value.ty(), &part.path);
            self.stored_label(i, at, part, label, Word::Part(value, part.path.clone()));
            self.flush(i);
        }
    }

    fn stored_label(&mut self, i: Value, pointer: Value, part: &Part, label: Label, value: Word) {
        let address = self.label(pointer);
        let bytes = self.ir.store_size(part.ty);
        let at = Argument::Word(Word::User(pointer));
        match part.leaf {
            Leaf::Bits(bits) if bits <= 64 && address != Label::Zero => {
                let arguments = vec![
                    at,
                    Argument::Label(address),
                    Argument::Number(bits),
                    Argument::Label(label),
                    Argument::Word(value),
                    Argument::Number(self.site(i)),
                    Argument::Word(Word::User(base_of(pointer))),
                ];
                self.group
                    .stored("__chg_rt_store_at", arguments, (pointer, bytes));
            }
            Leaf::Bits(bits) if bits <= 64 => {
                let arguments = vec![at, Argument::Number(bits), Argument::Label(label)];
                self.group
                    .stored("__chg_rt_store", arguments, (pointer, bytes));
            }
            Leaf::Bits(bits) => {
                self.concretize(i, address, Word::User(pointer), LossReason::StoreAddress);
                let arguments = vec![
                    at,
                    Argument::Number(bits),
                    Argument::Label(label),
                    Argument::Wide(value),
                ];
                self.group
                    .stored("__chg_rt_wide_store", arguments, (pointer, bytes));
            }
            Leaf::Opaque => {
                self.concretize(i, address, Word::User(pointer), LossReason::StoreAddress);
                let arguments = vec![at, Argument::Word(Word::Constant(bytes))];
                self.group
                    .stored("__chg_rt_clear", arguments, (pointer, bytes.min(32)));
            }
        }
    }

    /// The address of a part of an aggregate in memory, computed in front of
    /// (or right behind) the access.
    fn part_address(&mut self, access: Value, pointer: Value, ty: Type, path: &[u32]) -> Value {
        let mut offset = 0;
        let mut ty = ty;
        for index in path {
            if ty.kind() == Kind::LLVMStructTypeKind {
                offset += self.ir.field_offset(ty, *index);
                ty = ty.fields()[*index as usize];
            } else {
                ty = ty.element();
                offset += self.ir.abi_size(ty) * *index as u64;
            }
        }
        self.cursor.before(access);
        let address = self.cursor.as_int(pointer, 64);
        let sum = self.cursor.binary(
            crate::ir::Opcode::LLVMAdd,
            address,
            self.ir.constant(64, offset),
        );
        self.cursor
            .cast(crate::ir::Opcode::LLVMIntToPtr, sum, self.ir.ptr())
    }

    fn flush_after(&mut self, i: Value) {
        if let Some(next) = i.next() {
            self.flush(next);
        }
    }

    pub fn read_modify_write(&mut self, i: Value) {
        let (pointer, operand) = (i.operand(0), i.operand(1));
        let parts = leaves::parts(self.ir, i.ty());
        let [
            Part {
                leaf: Leaf::Bits(bits @ 1..=64),
                ..
            },
        ] = parts[..]
        else {
            self.concretize_parts(i, operand, LossReason::Unsupported);
            self.flush(i);
            return;
        };
        let address = self.label(pointer);
        self.concretize(i, address, Word::User(pointer), LossReason::StoreAddress);
        let old = self.atomic_old(i, pointer, bits, Word::User(i));
        let arguments = |op: Op, old: Label, operand_label: Label| {
            vec![
                Argument::Number(meta(op, bits)),
                Argument::Label(old),
                Argument::Label(operand_label),
                Argument::Word(Word::User(i)),
                Argument::Word(Word::User(operand)),
            ]
        };
        let given = self.label(operand);
        let new = match i.rmw_operation() {
            RmwOp::LLVMAtomicRMWBinOpXchg => given,
            operation => match atomic_operator(operation) {
                Some(op) => self
                    .group
                    .label("__chg_rt_atomic", arguments(op, old, given)),
                None => {
                    self.concretize(i, old, Word::User(i), LossReason::Unsupported);
                    self.concretize(i, given, Word::User(operand), LossReason::Unsupported);
                    Label::Zero
                }
            },
        };
        let store = vec![
            Argument::Word(Word::User(pointer)),
            Argument::Number(bits),
            Argument::Label(new),
        ];
        self.group.stored(
            "__chg_rt_store",
            store,
            (pointer, self.ir.store_size(i.ty())),
        );
        self.give(i, old);
        self.flush_after(i);
    }

    fn atomic_old(&mut self, i: Value, pointer: Value, bits: u32, value: Word) -> Label {
        let arguments = vec![
            Argument::Word(Word::User(pointer)),
            Argument::Number(bits),
            Argument::Word(value),
            Argument::Number(self.site(i)),
        ];
        self.group.loaded(
            "__chg_rt_load",
            arguments,
            (pointer, (bits as u64).div_ceil(8)),
        )
    }

    /// Gives the old value and whether it was the expected one; memory gets the
    /// new value's label in the one case and keeps its own in the other.
    pub fn compare_exchange(&mut self, i: Value) {
        let (pointer, expected, new) = (i.operand(0), i.operand(1), i.operand(2));
        let Some(bits @ 1..=64) = leaves::leaf(self.ir, expected.ty()).bits() else {
            self.concretize_parts(i, expected, LossReason::Unsupported);
            self.concretize_parts(i, new, LossReason::Unsupported);
            self.flush(i);
            return;
        };
        let address = self.label(pointer);
        self.concretize(i, address, Word::User(pointer), LossReason::StoreAddress);
        let (was, done) = (Word::Part(i, vec![0]), Word::Part(i, vec![1]));
        let old = self.atomic_old(i, pointer, bits, was.clone());
        let equal = self.group.label(
            "__chg_rt_compare",
            vec![
                Argument::Number(meta(Op::Eq, bits)),
                Argument::Label(old),
                Argument::Label(self.label(expected)),
                Argument::Word(was.clone()),
                Argument::Word(Word::User(expected)),
                Argument::Word(done.clone()),
            ],
        );
        let kept = self.group.label(
            "__chg_rt_choice",
            vec![
                Argument::Number(bits),
                Argument::Label(equal),
                Argument::Label(self.label(new)),
                Argument::Label(old),
                Argument::Word(Word::User(new)),
                Argument::Word(was),
                Argument::Flag(done),
            ],
        );
        let store = vec![
            Argument::Word(Word::User(pointer)),
            Argument::Number(bits),
            Argument::Label(kept),
        ];
        self.group.stored(
            "__chg_rt_store",
            store,
            (pointer, (bits as u64).div_ceil(8)),
        );
        self.group.assign(&mut self.labels, i, vec![old, equal]);
        self.flush_after(i);
    }
}

fn atomic_operator(operation: RmwOp) -> Option<Op> {
    Some(match operation {
        RmwOp::LLVMAtomicRMWBinOpAdd => Op::Add,
        RmwOp::LLVMAtomicRMWBinOpSub => Op::Sub,
        RmwOp::LLVMAtomicRMWBinOpAnd => Op::And,
        RmwOp::LLVMAtomicRMWBinOpOr => Op::Or,
        RmwOp::LLVMAtomicRMWBinOpXor => Op::Xor,
        _ => return None,
    })
}
