//! Function bodies.

use super::Reader;
use super::constants::integer_bits;
use super::llvm::{self, AttributePlace, Opcode, TypeKind, ValueKind};
use crate::{
    Access, Address, BinaryOp, Block, BlockId, Call, Callee, Case, CastOp, Flags, Instruction,
    Invoke, Operation, Predicate, Site, Value,
};

impl<'m> Reader<'m> {
    pub(super) fn body(&mut self, function: llvm::Value<'m>) {
        let id = self.functions[&function];
        let first_site = Site::from_index(self.program.instructions.len());
        let first_block = BlockId::new(self.program.blocks.len());
        self.number_locals(function, first_site);
        for block in function.blocks() {
            let block_id = self.blocks[&block];
            let first = Site::from_index(self.program.instructions.len());
            for instruction in block.instructions() {
                let site = Site::from_index(self.program.instructions.len());
                self.debug_values(id, site, instruction);
                let read = self.instruction(instruction, block_id);
                self.program.instructions.push(read);
            }
            let end = Site::from_index(self.program.instructions.len());
            self.program.blocks.push(Block {
                function: id,
                first,
                count: end.0 - first.0,
            });
        }
        let site_count = Site::from_index(self.program.instructions.len()).0 - first_site.0;
        let block_count = self.program.blocks.len() as u32 - first_block.0;
        let read = &mut self.program.functions[id.index()];
        read.first_block = first_block;
        read.block_count = block_count;
        read.first_site = first_site;
        read.site_count = site_count;
    }

    /// Instructions refer to later ones (phi nodes), so all get numbers first.
    fn number_locals(&mut self, function: llvm::Value<'m>, first: Site) {
        self.locals.clear();
        for (n, parameter) in function.parameters().into_iter().enumerate() {
            self.locals.insert(parameter, Value::Argument(n as u32));
        }
        let instructions = function.blocks().flat_map(|block| block.instructions());
        for (n, instruction) in instructions.enumerate() {
            self.locals
                .insert(instruction, Value::Result(Site(first.0 + n as u32)));
        }
    }

    fn instruction(&mut self, instruction: llvm::Value<'m>, block: BlockId) -> Instruction {
        let operation = self.operation(instruction);
        let operands = match &operation {
            Operation::Phi { .. } => instruction
                .incoming()
                .into_iter()
                .map(|(value, _)| self.value(value))
                .collect(),
            Operation::Call(_) => (0..instruction.argument_count())
                .map(|n| self.value(instruction.operand(n)))
                .collect(),
            Operation::Branch { .. } => vec![self.value(instruction.operand(0))],
            Operation::Switch { .. } => vec![self.value(instruction.operand(0))],
            _ => {
                let operands = instruction.operands().into_iter();
                let values = operands.filter(|operand| operand.as_block().is_none());
                values.map(|operand| self.value(operand)).collect()
            }
        };
        Instruction {
            operation,
            ty: self.type_id(instruction.ty()),
            operands,
            block,
            location: instruction
                .debug_location()
                .map(|location| self.location(location)),
            manner: self.manner(instruction),
        }
    }

    fn operation(&mut self, instruction: llvm::Value<'m>) -> Operation {
        let opcode = instruction.opcode();
        if let Some(operation) = binary(opcode) {
            return Operation::Binary(operation, flags(opcode, instruction));
        }
        if let Some(operation) = cast(opcode) {
            return Operation::Cast(operation);
        }
        let access = || Access {
            volatile: instruction.is_volatile(),
            atomic: instruction.is_atomic_access(),
        };
        match opcode {
            Opcode::LLVMFNeg => Operation::Negate,
            Opcode::LLVMICmp => Operation::Compare(integer_predicate(instruction)),
            Opcode::LLVMFCmp => Operation::Compare(Predicate::Float(instruction.float_predicate())),
            Opcode::LLVMSelect => Operation::Select,
            Opcode::LLVMFreeze => Operation::Freeze,
            Opcode::LLVMPHI => {
                let blocks = instruction
                    .incoming()
                    .into_iter()
                    .map(|(_, block)| self.blocks[&block]);
                Operation::Phi {
                    incoming: blocks.collect(),
                }
            }
            Opcode::LLVMAlloca => Operation::Alloca {
                allocated: self.type_id(instruction.allocated_type()),
            },
            Opcode::LLVMLoad => Operation::Load(access()),
            Opcode::LLVMStore => Operation::Store(access()),
            Opcode::LLVMGetElementPtr => Operation::Address(self.address(instruction)),
            Opcode::LLVMAtomicRMW => Operation::AtomicUpdate {
                operation: instruction.atomic_operation(),
            },
            Opcode::LLVMAtomicCmpXchg => Operation::CompareExchange,
            Opcode::LLVMFence => Operation::Fence,
            Opcode::LLVMExtractValue => Operation::ExtractValue {
                indices: instruction.indices(),
            },
            Opcode::LLVMInsertValue => Operation::InsertValue {
                indices: instruction.indices(),
            },
            Opcode::LLVMExtractElement => Operation::ExtractElement,
            Opcode::LLVMInsertElement => Operation::InsertElement,
            Opcode::LLVMShuffleVector => Operation::Shuffle {
                mask: instruction.shuffle_mask(),
            },
            Opcode::LLVMCall => Operation::Call(self.call(instruction, None)),
            Opcode::LLVMInvoke => {
                let invoke = Invoke {
                    normal: self.blocks[&instruction.normal_target()],
                    unwind: self.blocks[&instruction.unwind_target()],
                };
                Operation::Call(self.call(instruction, Some(invoke)))
            }
            Opcode::LLVMLandingPad => Operation::LandingPad {
                cleanup: instruction.is_cleanup(),
            },
            Opcode::LLVMVAArg => Operation::VariadicArgument,
            Opcode::LLVMRet => Operation::Return,
            Opcode::LLVMBr => self.branch(instruction),
            Opcode::LLVMSwitch => self.switch(instruction),
            Opcode::LLVMIndirectBr => Operation::IndirectJump {
                targets: self.targets(instruction),
            },
            Opcode::LLVMResume => Operation::Resume,
            Opcode::LLVMUnreachable => Operation::Unreachable,
            other => Operation::Other {
                opcode: format!("{other:?}").trim_start_matches("LLVM").to_owned(),
                targets: self.targets(instruction),
            },
        }
    }

    fn targets(&self, instruction: llvm::Value<'m>) -> Vec<BlockId> {
        instruction
            .successors()
            .into_iter()
            .map(|block| self.blocks[&block])
            .collect()
    }

    fn branch(&self, instruction: llvm::Value<'m>) -> Operation {
        match self.targets(instruction)[..] {
            [target] => Operation::Jump { target },
            [then, otherwise] => Operation::Branch { then, otherwise },
            _ => unreachable!("a branch has one or two targets"),
        }
    }

    fn switch(&self, instruction: llvm::Value<'m>) -> Operation {
        let targets = self.targets(instruction);
        // The default comes first among the successors.
        let cases = targets[1..].iter().enumerate().map(|(n, &target)| {
            let value = instruction.switch_case(n as u32 + 1);
            Case {
                value: integer_bits(value).unwrap_or_default(),
                target,
            }
        });
        Operation::Switch {
            cases: cases.collect(),
            default: targets[0],
        }
    }

    fn call(&mut self, instruction: llvm::Value<'m>, invoke: Option<Invoke>) -> Call {
        let called = instruction.called();
        let callee = match called.kind() {
            ValueKind::LLVMInlineAsmValueKind => Callee::Assembly(called.print()),
            _ => match self.value(called) {
                Value::Function(function) => Callee::Direct(function),
                other => Callee::Indirect(other),
            },
        };
        let has = |name| instruction.call_has_attribute(AttributePlace::Function, name);
        let callee_has = |name| {
            called.kind() == ValueKind::LLVMFunctionValueKind
                && called.has_attribute(AttributePlace::Function, name)
        };
        Call {
            callee,
            signature: self.type_id(instruction.called_type()),
            no_return: has("noreturn") || callee_has("noreturn"),
            no_unwind: has("nounwind") || callee_has("nounwind"),
            bundled: self.bundled(instruction),
            invoke,
        }
    }

    /// Also for constant expressions.
    pub(super) fn address(&mut self, instruction: llvm::Value<'m>) -> Address {
        let element = instruction.address_element();
        let mut address = Address {
            constant: 0,
            scaled: Vec::new(),
            element: self.type_id(element),
            path: Vec::new(),
        };
        let mut inside = element;
        for n in 1..instruction.operand_count() {
            let index = instruction.operand(n);
            let fixed = signed_index(index);
            if n > 1 {
                address.path.push(fixed.map(|index| index as u64));
            }
            if n > 1 && inside.kind() == TypeKind::LLVMStructTypeKind {
                let field = fixed.unwrap_or_default() as u32;
                address.constant = address
                    .constant
                    .wrapping_add(self.source.offset_of(inside, field) as i64);
                inside = inside.field(field);
                continue;
            }
            if n > 1 {
                inside = inside.element();
            }
            let stride = self.source.size_of(inside).unwrap_or(0) as i64;
            match fixed {
                Some(index) => {
                    address.constant = address.constant.wrapping_add(index.wrapping_mul(stride));
                }
                None => address.scaled.push((n, stride)),
            }
        }
        address
    }
}

/// The value of a constant index, sign-extended.
fn signed_index(index: llvm::Value<'_>) -> Option<i64> {
    if index.kind() != ValueKind::LLVMConstantIntValueKind {
        return None;
    }
    let bits = integer_bits(index)? as u64;
    let unused = 64u32.saturating_sub(index.ty().integer_bits());
    Some(((bits << unused) as i64) >> unused)
}

fn integer_predicate(instruction: llvm::Value<'_>) -> Predicate {
    // Numbered from 32 in LLVM.
    match instruction.integer_predicate() {
        32 => Predicate::Eq,
        33 => Predicate::Ne,
        34 => Predicate::Ugt,
        35 => Predicate::Uge,
        36 => Predicate::Ult,
        37 => Predicate::Ule,
        38 => Predicate::Sgt,
        39 => Predicate::Sge,
        40 => Predicate::Slt,
        41 => Predicate::Sle,
        other => Predicate::Float(other),
    }
}

fn flags(opcode: Opcode, instruction: llvm::Value<'_>) -> Flags {
    use Opcode::*;
    let wraps = matches!(opcode, LLVMAdd | LLVMSub | LLVMMul | LLVMShl);
    let divides = matches!(opcode, LLVMUDiv | LLVMSDiv | LLVMLShr | LLVMAShr);
    Flags {
        no_unsigned_wrap: wraps && instruction.no_unsigned_wrap(),
        no_signed_wrap: wraps && instruction.no_signed_wrap(),
        exact: divides && instruction.is_exact(),
    }
}

fn binary(opcode: Opcode) -> Option<BinaryOp> {
    Some(match opcode {
        Opcode::LLVMAdd => BinaryOp::Add,
        Opcode::LLVMSub => BinaryOp::Sub,
        Opcode::LLVMMul => BinaryOp::Mul,
        Opcode::LLVMUDiv => BinaryOp::UDiv,
        Opcode::LLVMSDiv => BinaryOp::SDiv,
        Opcode::LLVMURem => BinaryOp::URem,
        Opcode::LLVMSRem => BinaryOp::SRem,
        Opcode::LLVMShl => BinaryOp::Shl,
        Opcode::LLVMLShr => BinaryOp::LShr,
        Opcode::LLVMAShr => BinaryOp::AShr,
        Opcode::LLVMAnd => BinaryOp::And,
        Opcode::LLVMOr => BinaryOp::Or,
        Opcode::LLVMXor => BinaryOp::Xor,
        Opcode::LLVMFAdd => BinaryOp::FAdd,
        Opcode::LLVMFSub => BinaryOp::FSub,
        Opcode::LLVMFMul => BinaryOp::FMul,
        Opcode::LLVMFDiv => BinaryOp::FDiv,
        Opcode::LLVMFRem => BinaryOp::FRem,
        _ => return None,
    })
}

fn cast(opcode: Opcode) -> Option<CastOp> {
    Some(match opcode {
        Opcode::LLVMTrunc => CastOp::Trunc,
        Opcode::LLVMZExt => CastOp::ZExt,
        Opcode::LLVMSExt => CastOp::SExt,
        Opcode::LLVMFPToUI => CastOp::FPToUI,
        Opcode::LLVMFPToSI => CastOp::FPToSI,
        Opcode::LLVMUIToFP => CastOp::UIToFP,
        Opcode::LLVMSIToFP => CastOp::SIToFP,
        Opcode::LLVMFPTrunc => CastOp::FPTrunc,
        Opcode::LLVMFPExt => CastOp::FPExt,
        Opcode::LLVMPtrToInt => CastOp::PtrToInt,
        Opcode::LLVMIntToPtr => CastOp::IntToPtr,
        Opcode::LLVMBitCast => CastOp::BitCast,
        Opcode::LLVMAddrSpaceCast => CastOp::AddressSpace,
        _ => return None,
    })
}
