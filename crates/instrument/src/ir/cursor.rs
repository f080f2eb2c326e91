//! A place in the code, for writing instructions.

use super::{Block, Ir, Kind, Opcode, Predicate, Type, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;

pub struct Cursor {
    builder: LLVMBuilderRef,
    ir: Ir,
}

impl Cursor {
    pub fn new(ir: Ir) -> Cursor {
        Cursor {
            builder: unsafe { LLVMCreateBuilderInContext(ir.context) },
            ir,
        }
    }

    pub fn before(&self, instruction: Value) {
        unsafe { LLVMPositionBuilderBefore(self.builder, instruction.0) }
    }

    pub fn end_of(&self, block: Block) {
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block.0) }
    }

    pub fn call(&self, function: Value, arguments: &[Value]) -> Value {
        let mut list: Vec<LLVMValueRef> = arguments.iter().map(|value| value.0).collect();
        unsafe {
            let ty = LLVMGlobalGetValueType(function.0);
            let call = LLVMBuildCall2(
                self.builder,
                ty,
                function.0,
                list.as_mut_ptr(),
                list.len() as u32,
                c"".as_ptr(),
            );
            LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(function.0));
            Value(call)
        }
    }

    pub fn load(&self, ty: Type, from: Value) -> Value {
        Value(unsafe { LLVMBuildLoad2(self.builder, ty.0, from.0, c"".as_ptr()) })
    }

    /// A load that needs no alignment.
    pub fn load_unaligned(&self, ty: Type, from: Value, alignment: u32) -> Value {
        let load = self.load(ty, from);
        unsafe { LLVMSetAlignment(load.0, alignment) };
        load
    }

    pub fn store(&self, value: Value, to: Value) -> Value {
        Value(unsafe { LLVMBuildStore(self.builder, value.0, to.0) })
    }

    pub fn phi(&self, ty: Type) -> Value {
        Value(unsafe { LLVMBuildPhi(self.builder, ty.0, c"".as_ptr()) })
    }

    pub fn binary(&self, opcode: Opcode, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildBinOp(self.builder, opcode, a.0, b.0, c"".as_ptr()) })
    }

    pub fn or(&self, a: Value, b: Value) -> Value {
        self.binary(Opcode::LLVMOr, a, b)
    }

    pub fn compare(&self, predicate: Predicate, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildICmp(self.builder, predicate, a.0, b.0, c"".as_ptr()) })
    }

    pub fn select(&self, condition: Value, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildSelect(self.builder, condition.0, a.0, b.0, c"".as_ptr()) })
    }

    pub fn cast(&self, opcode: Opcode, value: Value, to: Type) -> Value {
        Value(unsafe { LLVMBuildCast(self.builder, opcode, value.0, to.0, c"".as_ptr()) })
    }

    pub fn freeze(&self, value: Value) -> Value {
        Value(unsafe { LLVMBuildFreeze(self.builder, value.0, c"".as_ptr()) })
    }

    pub fn extract_value(&self, aggregate: Value, index: u32) -> Value {
        Value(unsafe { LLVMBuildExtractValue(self.builder, aggregate.0, index, c"".as_ptr()) })
    }

    pub fn insert_value(&self, aggregate: Value, value: Value, index: u32) -> Value {
        Value(unsafe {
            LLVMBuildInsertValue(self.builder, aggregate.0, value.0, index, c"".as_ptr())
        })
    }

    pub fn alloca(&self, ty: Type) -> Value {
        Value(unsafe { LLVMBuildAlloca(self.builder, ty.0, c"".as_ptr()) })
    }

    pub fn branch(&self, condition: Value, then: Block, otherwise: Block) -> Value {
        Value(unsafe { LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0) })
    }

    pub fn ret(&self, value: Option<Value>) -> Value {
        Value(unsafe {
            match value {
                Some(value) => LLVMBuildRet(self.builder, value.0),
                None => LLVMBuildRetVoid(self.builder),
            }
        })
    }

    /// An integer or pointer as an integer of `bits` bits (zero-extended).
    pub fn as_int(&self, value: Value, bits: u32) -> Value {
        match value.ty().kind() {
            Kind::LLVMPointerTypeKind => {
                let word = self.cast(Opcode::LLVMPtrToInt, value, self.ir.int(64));
                self.resize(word, bits)
            }
            Kind::LLVMIntegerTypeKind => self.resize(value, bits),
            _ => {
                let own = self.ir.bit_size(value.ty()) as u32;
                let word = self.cast(Opcode::LLVMBitCast, self.freeze(value), self.ir.int(own));
                self.resize(word, bits)
            }
        }
    }

    fn resize(&self, value: Value, bits: u32) -> Value {
        let own = value.ty().int_bits();
        match own.cmp(&bits) {
            std::cmp::Ordering::Less => self.cast(Opcode::LLVMZExt, value, self.ir.int(bits)),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.cast(Opcode::LLVMTrunc, value, self.ir.int(bits)),
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        unsafe { LLVMDisposeBuilder(self.builder) }
    }
}
