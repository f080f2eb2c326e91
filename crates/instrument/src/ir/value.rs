//! What can be asked of a value: instructions, functions, globals, constants.

use super::{Block, Opcode, Predicate, RmwOp, Type, Value, name_of, some};
use inkwell::llvm_sys::comdat::LLVMSetComdat;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{
    LLVMDILocationGetColumn, LLVMDILocationGetInlinedAt, LLVMDILocationGetLine,
    LLVMDILocationGetScope, LLVMInstructionGetDebugLoc,
};
use inkwell::llvm_sys::prelude::LLVMMetadataRef;
use inkwell::llvm_sys::{LLVMLinkage, LLVMVisibility};
use std::ffi::CStr;

/// A place in the source, as the debug information has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Written {
    line: u32,
    column: u32,
    /// The block or function around it, by its address.
    scope: usize,
}

/// LLVM's number for the convention that saves nearly all registers in the callee.
const PRESERVE_MOST: u32 = 14;

impl Value {
    pub fn ty(self) -> Type {
        Type(unsafe { LLVMTypeOf(self.0) })
    }

    pub fn name(self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMGetValueName2(self.0, &mut length) };
        name_of(text, length)
    }

    pub fn set_name(self, name: &str) {
        unsafe { LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()) }
    }

    pub fn opcode(self) -> Opcode {
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    /// Of an instruction.
    pub fn is_call(self) -> bool {
        matches!(self.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke)
    }

    pub fn is_instruction(self) -> bool {
        unsafe { !LLVMIsAInstruction(self.0).is_null() }
    }

    pub fn is_argument(self) -> bool {
        unsafe { !LLVMIsAArgument(self.0).is_null() }
    }

    pub fn is_function(self) -> bool {
        unsafe { !LLVMIsAFunction(self.0).is_null() }
    }

    /// A function, a variable, or what is made from these.
    pub fn is_constant(self) -> bool {
        unsafe { !LLVMIsAConstant(self.0).is_null() }
    }

    pub fn is_inline_asm(self) -> bool {
        unsafe { !LLVMIsAInlineAsm(self.0).is_null() }
    }

    /// Whether an inline assembler value has no instructions: a barrier.
    pub fn is_empty_asm(self) -> bool {
        let mut length = 0;
        unsafe { LLVMGetInlineAsmAsmString(self.0, &mut length) };
        length == 0
    }

    /// Whether an inline assembler value has this in its text.
    pub fn asm_contains(self, part: &str) -> bool {
        self.asm_text().contains(part)
    }

    pub fn asm_text(self) -> String {
        let mut length = 0;
        let text = unsafe {
            let text = LLVMGetInlineAsmAsmString(self.0, &mut length);
            std::slice::from_raw_parts(text.cast::<u8>(), length)
        };
        String::from_utf8_lossy(text).into_owned()
    }

    pub fn constant_value(self) -> Option<u64> {
        unsafe {
            if LLVMIsAConstantInt(self.0).is_null() || self.ty().int_bits() > 64 {
                return None;
            }
            Some(LLVMConstIntGetZExtValue(self.0))
        }
    }

    pub fn operand_count(self) -> u32 {
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    pub fn operand(self, index: u32) -> Value {
        Value(unsafe { LLVMGetOperand(self.0, index) })
    }

    pub fn operands(self) -> Vec<Value> {
        (0..self.operand_count())
            .map(|index| self.operand(index))
            .collect()
    }

    /// Instructions that use this value, once per use.
    pub fn users(self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = unsafe { LLVMGetFirstUse(self.0) };
        while !next.is_null() {
            all.push(Value(unsafe { LLVMGetUser(next) }));
            next = unsafe { LLVMGetNextUse(next) };
        }
        all
    }

    /// The function that an instruction is in.
    pub fn enclosing_function(self) -> Value {
        unsafe { Value(LLVMGetBasicBlockParent(LLVMGetInstructionParent(self.0))) }
    }

    pub fn replace_uses(self, other: Value) {
        unsafe { LLVMReplaceAllUsesWith(self.0, other.0) }
    }

    pub fn next(self) -> Option<Value> {
        some(unsafe { LLVMGetNextInstruction(self.0) })
    }

    pub fn predicate(self) -> Predicate {
        unsafe { LLVMGetICmpPredicate(self.0) }
    }

    pub fn is_conditional(self) -> bool {
        unsafe { LLVMIsConditional(self.0) != 0 }
    }

    pub fn successor(self, index: u32) -> Block {
        Block(unsafe { LLVMGetSuccessor(self.0, index) })
    }

    /// Values and blocks of a switch's cases.
    pub fn switch_cases(self) -> Vec<(Value, Block)> {
        let successors = unsafe { LLVMGetNumSuccessors(self.0) };
        (1..successors)
            .map(|n| {
                (
                    Value(unsafe { LLVMGetSwitchCaseValue(self.0, n) }),
                    self.successor(n),
                )
            })
            .collect()
    }

    pub fn incoming(self) -> Vec<(Value, Block)> {
        let count = unsafe { LLVMCountIncoming(self.0) };
        (0..count)
            .map(|n| unsafe {
                (
                    Value(LLVMGetIncomingValue(self.0, n)),
                    Block(LLVMGetIncomingBlock(self.0, n)),
                )
            })
            .collect()
    }

    pub fn add_incoming(self, value: Value, block: Block) {
        let (mut values, mut blocks) = ([value.0], [block.0]);
        unsafe { LLVMAddIncoming(self.0, values.as_mut_ptr(), blocks.as_mut_ptr(), 1) }
    }

    pub fn indices(self) -> Vec<u32> {
        unsafe {
            let count = LLVMGetNumIndices(self.0) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.0), count).to_vec()
        }
    }

    pub fn gep_source_type(self) -> Type {
        Type(unsafe { LLVMGetGEPSourceElementType(self.0) })
    }

    pub fn allocated_type(self) -> Type {
        Type(unsafe { LLVMGetAllocatedType(self.0) })
    }

    pub fn callee(self) -> Value {
        Value(unsafe { LLVMGetCalledValue(self.0) })
    }

    pub fn argument_count(self) -> u32 {
        unsafe { LLVMGetNumArgOperands(self.0) }
    }

    /// Whether the call's own function type takes more arguments than it names.
    pub fn call_type(self) -> Type {
        Type(unsafe { LLVMGetCalledFunctionType(self.0) })
    }

    pub fn is_must_tail(self) -> bool {
        self.opcode() == Opcode::LLVMCall
            && unsafe { LLVMGetTailCallKind(self.0) }
                == inkwell::llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    pub fn rmw_operation(self) -> RmwOp {
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }

    // ---- functions ----

    pub fn is_declaration(self) -> bool {
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub fn function_type(self) -> Type {
        Type(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    pub fn is_variadic_function(self) -> bool {
        self.function_type().is_variadic()
    }

    pub fn blocks(self) -> Vec<Block> {
        let mut all = Vec::new();
        let mut next = unsafe { LLVMGetFirstBasicBlock(self.0) };
        while !next.is_null() {
            all.push(Block(next));
            next = unsafe { LLVMGetNextBasicBlock(next) };
        }
        all
    }

    pub fn parameters(self) -> Vec<Value> {
        let count = unsafe { LLVMCountParams(self.0) };
        (0..count)
            .map(|n| Value(unsafe { LLVMGetParam(self.0, n) }))
            .collect()
    }

    pub fn is_internal(self) -> bool {
        matches!(
            unsafe { LLVMGetLinkage(self.0) },
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        )
    }

    pub fn set_internal(self) {
        self.leave_group();
        unsafe { LLVMSetLinkage(self.0, LLVMLinkage::LLVMInternalLinkage) }
    }

    pub fn set_external(self) {
        self.leave_group();
        unsafe { LLVMSetLinkage(self.0, LLVMLinkage::LLVMExternalLinkage) }
    }

    /// In a group a function or variable shares the fate of others of the same origin.
    fn leave_group(self) {
        unsafe {
            if LLVMIsDeclaration(self.0) == 0 {
                LLVMSetComdat(self.0, std::ptr::null_mut());
            }
            LLVMSetVisibility(self.0, LLVMVisibility::LLVMDefaultVisibility);
        }
    }

    /// A variable is defined elsewhere.
    pub fn forget_initialiser(self) {
        self.leave_group();
        unsafe { LLVMSetInitializer(self.0, std::ptr::null_mut()) }
    }

    pub fn delete_global(self) {
        unsafe { LLVMDeleteGlobal(self.0) }
    }

    pub fn set_preserve_most(self) {
        unsafe { LLVMSetFunctionCallConv(self.0, PRESERVE_MOST) }
    }

    pub fn is_constant_global(self) -> bool {
        unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    pub fn is_thread_local(self) -> bool {
        unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    pub fn section(self) -> Option<String> {
        let text = unsafe { LLVMGetSection(self.0) };
        if text.is_null() {
            return None;
        }
        let text = unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned();
        (!text.is_empty()).then_some(text)
    }

    pub fn set_initialiser(self, value: Value) {
        unsafe { LLVMSetInitializer(self.0, value.0) }
    }

    pub fn set_constant(self) {
        unsafe { LLVMSetGlobalConstant(self.0, 1) }
    }

    pub fn value_type(self) -> Type {
        Type(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    // ---- source ----

    /// The place that an instruction was written for, and if its function was put in
    /// place of a call, that of the call.
    pub fn written_at(self) -> (Option<Written>, Option<Written>) {
        let place = |location: LLVMMetadataRef| unsafe {
            Written {
                line: LLVMDILocationGetLine(location),
                column: LLVMDILocationGetColumn(location),
                scope: LLVMDILocationGetScope(location) as usize,
            }
        };
        let known = |location: LLVMMetadataRef| (!location.is_null()).then_some(location);
        let own = known(unsafe { LLVMInstructionGetDebugLoc(self.0) });
        let call = own.and_then(|own| known(unsafe { LLVMDILocationGetInlinedAt(own) }));
        (own.map(place), call.map(place))
    }

    /// File, line and column of an instruction.
    pub fn location(self) -> Option<(String, u32, u32)> {
        unsafe {
            let line = LLVMGetDebugLocLine(self.0);
            let mut length = 0;
            let name = LLVMGetDebugLocFilename(self.0, &mut length);
            if name.is_null() {
                return None;
            }
            let file = name_of(name, length as usize);
            let mut length = 0;
            let directory = LLVMGetDebugLocDirectory(self.0, &mut length);
            let directory = name_of(directory, length as usize);
            let path = if file.starts_with('/') || directory.is_empty() {
                file
            } else {
                format!("{directory}/{file}")
            };
            Some((path, line, LLVMGetDebugLocColumn(self.0)))
        }
    }
}
