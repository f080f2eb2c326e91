//! Statements that leave no instruction of their own.
//!
//! In prepared bitcode variables are values, so nothing is left of `mode = 1;` or `return 1;` but what other instructions
//! take from there. Whoever asks for a line, or draws statements, needs something that stands at it: a call of
//! `llvm.sideeffect`, which does nothing and is kept where it is by all passes. In drawings, where something also has to
//! be what flows from an assignment, the value that is assigned passes through `llvm.annotation`.

use crate::version::Lines;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMDILocationGetLine, LLVMInstructionGetDebugLoc};
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMDbgRecordKind, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::{AsValueRef as _, FunctionValue};
use std::collections::HashSet;

/// Gives every line something that stands at it. Variables must still be in memory.
pub fn keep(module: &Module<'_>, lines: Lines) {
    if lines == Lines::Needed {
        return;
    }
    let raw = module.as_mut_ptr();
    let functions: Vec<FunctionValue<'_>> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0 && is_usual(function))
        .collect();
    let builder = unsafe { LLVMCreateBuilderInContext(LLVMGetModuleContext(raw)) };
    for function in functions {
        let instructions = instructions(function.as_value_ref());
        if lines == Lines::Drawn {
            let variables = variables(&instructions);
            for &instruction in &instructions {
                pass_on(raw, builder, instruction, &variables);
            }
        }
        mark(raw, builder, &instructions);
    }
    unsafe { LLVMDisposeBuilder(builder) };
}

/// Coroutines are split first, and a function without a frame consists of assembler.
fn is_usual(function: &FunctionValue<'_>) -> bool {
    ["presplitcoroutine", "naked"].into_iter().all(|name| {
        let kind = Attribute::get_named_enum_kind_id(name);
        let found = function.get_enum_attribute(AttributeLoc::Function, kind);
        found.is_none()
    })
}

fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut all = Vec::new();
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                all.push(instruction);
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    all
}

/// The line of an instruction; 0 if it has none.
fn line_of(instruction: LLVMValueRef) -> u32 {
    unsafe {
        let location = LLVMInstructionGetDebugLoc(instruction);
        match location.is_null() {
            true => 0,
            false => LLVMDILocationGetLine(location),
        }
    }
}

/// Puts a call where another line begins in a block.
fn mark(module: LLVMModuleRef, builder: LLVMBuilderRef, instructions: &[LLVMValueRef]) {
    let mut last = (std::ptr::null_mut(), 0);
    for &instruction in instructions {
        let line = line_of(instruction);
        let here = (unsafe { LLVMGetInstructionParent(instruction) }, line);
        if line == 0 || here == last || !may_stand_before(instruction) {
            continue;
        }
        last = here;
        // It gets the location of the instruction.
        unsafe { LLVMPositionBuilderBefore(builder, instruction) };
        call(module, builder, "llvm.sideeffect", &mut [], &mut []);
    }
}

/// Values that meet, and what an exception begins with, are first in their blocks; a return may have to follow a call
/// at once. Where the life of a variable begins and ends nothing is written.
fn may_stand_before(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    match unsafe { LLVMGetInstructionOpcode(instruction) } {
        LLVMPHI | LLVMLandingPad | LLVMAlloca | LLVMRet | LLVMUnreachable => false,
        LLVMCall => {
            let name = crate::choices::name_of(unsafe { LLVMGetCalledValue(instruction) });
            !name.starts_with(b"llvm.lifetime.") && !name.starts_with(b"llvm.dbg.")
        }
        _ => true,
    }
}

/// Memory of variables that the source has. The compiler's own, such as for what a function returns, is not among it.
fn variables(instructions: &[LLVMValueRef]) -> HashSet<LLVMValueRef> {
    let mut found = HashSet::new();
    for &instruction in instructions {
        unsafe {
            let mut record = LLVMGetFirstDbgRecord(instruction);
            while !record.is_null() {
                if LLVMDbgRecordGetKind(record) == LLVMDbgRecordKind::LLVMDbgRecordDeclare {
                    found.insert(LLVMDbgVariableRecordGetValue(record, 0));
                }
                record = LLVMGetNextDbgRecord(record);
            }
        }
    }
    found
}

/// What is assigned to a variable comes from the line of the assignment.
fn pass_on(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    instruction: LLVMValueRef,
    variables: &HashSet<LLVMValueRef>,
) {
    unsafe {
        let is_store = LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMStore;
        // What a function is given is stored without a line.
        if !is_store || line_of(instruction) == 0 {
            return;
        }
        let value = LLVMGetOperand(instruction, 0);
        let mut place = LLVMGetOperand(instruction, 1);
        while !LLVMIsAGetElementPtrInst(place).is_null() {
            place = LLVMGetOperand(place, 0);
        }
        let kind = LLVMTypeOf(value);
        let is_integer = LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMIntegerTypeKind;
        let is_local = !LLVMIsAAllocaInst(place).is_null();
        // In memory of the compiler's own, what a function returns comes from where it was computed, too; but numbers
        // there tell where to go on.
        let comes = variables.contains(&place) || is_local && LLVMIsConstant(value) == 0;
        if !is_integer || !comes {
            return;
        }
        let context = LLVMGetModuleContext(module);
        let pointer = LLVMPointerTypeInContext(context, 0);
        let nothing = LLVMConstNull(pointer);
        let zero = LLVMConstInt(LLVMInt32TypeInContext(context), 0, 0);
        LLVMPositionBuilderBefore(builder, instruction);
        let passed = call(
            module,
            builder,
            "llvm.annotation",
            &mut [kind, pointer],
            &mut [value, nothing, nothing, zero],
        );
        LLVMSetOperand(instruction, 0, passed);
    }
}

fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    name: &str,
    types: &mut [LLVMTypeRef],
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    unsafe {
        let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
        let callee = LLVMGetIntrinsicDeclaration(module, id, types.as_mut_ptr(), types.len());
        LLVMBuildCall2(
            builder,
            LLVMGlobalGetValueType(callee),
            callee,
            arguments.as_mut_ptr(),
            arguments.len() as u32,
            c"".as_ptr(),
        )
    }
}
