//! Coroutines of C++, and calls that must take the place of their caller.
//!
//! A coroutine that is not split yet has ways to go on, and calls, that nothing in its code tells. Prepared bitcode has
//! plain functions instead, as the compiler makes them later anyway.

use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::module::Module;
use inkwell::values::{CallSiteValue, InstructionOpcode};

/// What coroutines are made plain by, before all other passes. Values that are in registers by then need no room in their frames.
const PASSES: &str =
    "coro-early,function(sroa<preserve-cfg>,early-cse),cgscc(coro-split),coro-cleanup";
const INTRINSIC: &[u8] = b"llvm.coro.";

/// The passes that a module needs for its coroutines.
pub fn passes(module: &Module<'_>) -> Option<&'static str> {
    let mut functions = module.get_functions();
    let any = functions.any(|f| f.get_name().to_bytes().starts_with(INTRINSIC));
    any.then_some(PASSES)
}

/// Behind a call that must take its caller's place there is no room for anything, such as for what a tracer has to do.
/// As a plain call it does the same, as long as there is room on the stack.
pub fn allow_returns(module: &Module<'_>) {
    let blocks = module
        .get_functions()
        .flat_map(|f| f.get_basic_block_iter());
    for instruction in blocks.flat_map(|block| block.get_instructions()) {
        if instruction.get_opcode() != InstructionOpcode::Call {
            continue;
        }
        let Ok(call) = CallSiteValue::try_from(instruction) else {
            continue;
        };
        if call.get_tail_call_kind() == LLVMTailCallKind::LLVMTailCallKindMustTail {
            call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindNone);
        }
    }
}
