//! Functions that are chosen when the program is loaded (`ifunc`, `target_clones`).
//!
//! The loader calls what chooses them before anything else of the program runs, so also before there is a place
//! for labels. In prepared bitcode the first constructor calls it instead, and calls of the function go through
//! a table: ordinary code, which is traced, compared and analysed like all other.

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMLinkage, LLVMValueKind};
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

/// What LLVM makes for the purpose has no names; versions are compared by them.
const CONSTRUCTOR: &str = "changeling_choices";
const TABLE: &str = "changeling_chosen";

/// Puts the choice into a constructor, if the module has any.
pub fn make_plain(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    let raw = module.as_mut_ptr();
    if chosen(raw).is_empty() {
        return Ok(());
    }
    drop_aliases(raw);
    let run = |passes| {
        let done = module.run_passes(passes, machine, PassBuilderOptions::create());
        done.map_err(|message| message.to_string())
    };
    run("globaldce")?;
    let known: Vec<LLVMValueRef> = functions(raw).into_iter().chain(globals(raw)).collect();
    run("lower-ifunc")?;
    let is_new = |value: &LLVMValueRef| name_of(*value).is_empty() && !known.contains(value);
    for table in globals(raw).into_iter().filter(is_new) {
        set_name(table, TABLE);
    }
    let Some(constructor) = functions(raw).into_iter().find(is_new) else {
        return Ok(());
    };
    set_name(constructor, CONSTRUCTOR);
    // The pass leaves those that initial values of variables name.
    for function in chosen(raw) {
        if users(function).into_iter().all(is_plain) {
            fill(raw, constructor, function);
        }
    }
    Ok(())
}

/// Variables that begin with a chosen function get it from the constructor.
fn fill(module: LLVMModuleRef, constructor: LLVMValueRef, function: LLVMValueRef) {
    unsafe {
        let context = LLVMGetModuleContext(module);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(
            builder,
            LLVMGetBasicBlockTerminator(LLVMGetLastBasicBlock(constructor)),
        );
        let resolver = LLVMGetGlobalIFuncResolver(function);
        let pointer = LLVMPointerTypeInContext(context, 0);
        let chooser = LLVMFunctionType(pointer, std::ptr::null_mut(), 0, 0);
        let number = LLVMInt32TypeInContext(context);
        for global in globals(module) {
            if name_of(global).starts_with(b"llvm.") || LLVMGetInitializer(global).is_null() {
                continue;
            }
            let mut places = Vec::new();
            find(
                LLVMGetInitializer(global),
                function,
                &mut vec![0],
                &mut places,
            );
            for place in places {
                let call = LLVMBuildCall2(
                    builder,
                    chooser,
                    resolver,
                    std::ptr::null_mut(),
                    0,
                    c"".as_ptr(),
                );
                let mut indices: Vec<LLVMValueRef> = place
                    .iter()
                    .map(|&index| LLVMConstInt(number, u64::from(index), 0))
                    .collect();
                let address = LLVMConstInBoundsGEP2(
                    LLVMGlobalGetValueType(global),
                    global,
                    indices.as_mut_ptr(),
                    indices.len() as u32,
                );
                LLVMBuildStore(builder, call, address);
                LLVMSetGlobalConstant(global, 0);
            }
        }
        LLVMDisposeBuilder(builder);
        // Any function would do until the constructor has run.
        LLVMReplaceAllUsesWith(function, resolver);
        LLVMEraseGlobalIFunc(function);
    }
}

/// Where in an initial value the function is.
fn find(
    value: LLVMValueRef,
    function: LLVMValueRef,
    path: &mut Vec<u32>,
    places: &mut Vec<Vec<u32>>,
) {
    if value == function {
        places.push(path.clone());
    } else if is_plain(value) {
        for index in 0..unsafe { LLVMGetNumOperands(value) } as u32 {
            path.push(index);
            find(
                unsafe { LLVMGetOperand(value, index) },
                function,
                path,
                places,
            );
            path.pop();
        }
    }
}

/// An initial value, or an array or structure in one: nothing is computed from its parts.
fn is_plain(value: LLVMValueRef) -> bool {
    use LLVMValueKind::*;
    matches!(
        unsafe { LLVMGetValueKind(value) },
        LLVMConstantArrayValueKind
            | LLVMConstantStructValueKind
            | LLVMConstantVectorValueKind
            | LLVMGlobalVariableValueKind
    )
}

/// Another name of a chosen function is that function. What nobody uses then is removed by a pass.
fn drop_aliases(module: LLVMModuleRef) {
    let chosen = chosen(module);
    let mut next = unsafe { LLVMGetFirstGlobalAlias(module) };
    while !next.is_null() {
        let alias = next;
        unsafe {
            next = LLVMGetNextGlobalAlias(alias);
            let function = LLVMAliasGetAliasee(alias);
            if chosen.contains(&function) {
                LLVMReplaceAllUsesWith(alias, function);
                LLVMSetLinkage(alias, LLVMLinkage::LLVMInternalLinkage);
            }
        }
    }
}

fn chosen(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    let first = unsafe { LLVMGetFirstGlobalIFunc(module) };
    list(first, |value| unsafe { LLVMGetNextGlobalIFunc(value) })
}

fn functions(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    let first = unsafe { LLVMGetFirstFunction(module) };
    list(first, |value| unsafe { LLVMGetNextFunction(value) })
}

fn globals(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    let first = unsafe { LLVMGetFirstGlobal(module) };
    list(first, |value| unsafe { LLVMGetNextGlobal(value) })
}

fn list(mut next: LLVMValueRef, after: impl Fn(LLVMValueRef) -> LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut all = Vec::new();
    while !next.is_null() {
        all.push(next);
        next = after(next);
    }
    all
}

fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut all = Vec::new();
    unsafe {
        let mut next = LLVMGetFirstUse(value);
        while !next.is_null() {
            all.push(LLVMGetUser(next));
            next = LLVMGetNextUse(next);
        }
    }
    all
}

pub fn name_of<'a>(value: LLVMValueRef) -> &'a [u8] {
    unsafe {
        let mut length = 0;
        let text = LLVMGetValueName2(value, &mut length);
        std::slice::from_raw_parts(text.cast(), length)
    }
}

fn set_name(value: LLVMValueRef, name: &str) {
    unsafe { LLVMSetValueName2(value, name.as_ptr().cast(), name.len()) };
}
