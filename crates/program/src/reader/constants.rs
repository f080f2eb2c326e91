//! Values: results and arguments by number, constants by structure.

use super::Reader;
use super::llvm::{self, Opcode, TypeKind, ValueKind};
use crate::{Constant, ConstantId, Value};

impl<'m> Reader<'m> {
    pub(super) fn value(&mut self, value: llvm::Value<'m>) -> Value {
        match value.kind() {
            ValueKind::LLVMInstructionValueKind | ValueKind::LLVMArgumentValueKind => {
                self.locals[&value]
            }
            ValueKind::LLVMFunctionValueKind => Value::Function(self.functions[&value]),
            ValueKind::LLVMGlobalVariableValueKind => Value::Global(self.globals[&value]),
            ValueKind::LLVMGlobalAliasValueKind => self.value(value.aliasee()),
            _ => {
                if let Some(&known) = self.known_constants.get(&value) {
                    return known;
                }
                let read = self.constant(value);
                self.known_constants.insert(value, read);
                read
            }
        }
    }

    fn constant(&mut self, value: llvm::Value<'m>) -> Value {
        let ty = self.type_id(value.ty());
        let constant = match value.kind() {
            ValueKind::LLVMConstantIntValueKind => match integer_bits(value) {
                Some(bits) => Constant::Integer { ty, bits },
                None => Constant::Opaque {
                    ty,
                    text: value.print(),
                },
            },
            ValueKind::LLVMConstantFPValueKind => {
                let text = value.print();
                let text = text
                    .split_once(' ')
                    .map_or(text.as_str(), |(_, number)| number);
                Constant::Float {
                    ty,
                    text: text.to_owned(),
                }
            }
            ValueKind::LLVMConstantPointerNullValueKind => Constant::Null { ty },
            ValueKind::LLVMConstantAggregateZeroValueKind => Constant::Zero { ty },
            ValueKind::LLVMUndefValueValueKind => Constant::Undefined { ty, poison: false },
            ValueKind::LLVMPoisonValueKind => Constant::Undefined { ty, poison: true },
            ValueKind::LLVMConstantDataArrayValueKind
            | ValueKind::LLVMConstantDataVectorValueKind => Constant::Bytes {
                ty,
                bytes: value.raw_data(),
            },
            ValueKind::LLVMConstantArrayValueKind
            | ValueKind::LLVMConstantStructValueKind
            | ValueKind::LLVMConstantVectorValueKind => {
                let elements = value
                    .operands()
                    .into_iter()
                    .map(|element| self.value(element));
                Constant::Aggregate {
                    ty,
                    elements: elements.collect(),
                }
            }
            ValueKind::LLVMConstantExprValueKind => return self.expression(value),
            ValueKind::LLVMBlockAddressValueKind => {
                let (function, block) = value.block_address();
                Constant::BlockAddress {
                    function: self.functions[&function],
                    block: self.blocks[&block],
                }
            }
            ValueKind::LLVMMetadataAsValueValueKind => Constant::Opaque {
                ty,
                text: format!("metadata {:?}", value.metadata_strings()),
            },
            _ => Constant::Opaque {
                ty,
                text: value.print(),
            },
        };
        self.intern(constant)
    }

    fn expression(&mut self, value: llvm::Value<'m>) -> Value {
        let ty = self.type_id(value.ty());
        let opcode = value.constant_opcode();
        if opcode == Opcode::LLVMGetElementPtr
            && let Some(bytes) = self.constant_offset(value)
        {
            let base = self.value(value.operand(0));
            return self.offset(base, bytes);
        }
        let operands = value
            .operands()
            .into_iter()
            .map(|operand| self.value(operand))
            .collect();
        let operation = format!("{opcode:?}").trim_start_matches("LLVM").to_owned();
        self.intern(Constant::Expression {
            ty,
            operation,
            operands,
        })
    }

    fn offset(&mut self, base: Value, bytes: i64) -> Value {
        if bytes == 0 {
            return base;
        }
        // Offsets from offsets are one offset.
        if let Value::Constant(id) = base
            && let Constant::Offset { base, bytes: inner } = *self.program.constant(id)
        {
            return self.offset(base, inner.wrapping_add(bytes));
        }
        self.intern(Constant::Offset { base, bytes })
    }

    fn constant_offset(&mut self, address: llvm::Value<'m>) -> Option<i64> {
        let address = self.address(address);
        address.scaled.is_empty().then_some(address.constant)
    }

    pub(super) fn intern(&mut self, constant: Constant) -> Value {
        let program = &mut self.program;
        let id = *self
            .constants
            .entry(constant)
            .or_insert_with_key(|constant| {
                program.constants.push(constant.clone());
                ConstantId::new(program.constants.len() - 1)
            });
        Value::Constant(id)
    }
}

/// `None` beyond 128 bits.
pub(super) fn integer_bits(value: llvm::Value<'_>) -> Option<u128> {
    if value.ty().kind() != TypeKind::LLVMIntegerTypeKind {
        return None;
    }
    let width = value.ty().integer_bits();
    if width <= 64 {
        return Some(u128::from(value.zero_extended()));
    }
    if width > 128 {
        return None;
    }
    let text = value.print();
    let number = text.rsplit(' ').next()?;
    let signed: Option<u128> = number.parse::<i128>().ok().map(|n| n as u128);
    let bits = signed.or_else(|| number.parse::<u128>().ok())?;
    let mask = if width == 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    };
    Some(bits & mask)
}
