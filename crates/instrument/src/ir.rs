//! Handles on LLVM's intermediate representation.
//!
//! The pass looks at every instruction there is, in ways for which `inkwell`'s
//! typed values are too narrow (it has no case for some operands), so this file
//! wraps the C interface that `inkwell` itself is built on. It is the only place
//! of this crate with `unsafe` code: every handle belongs to the one module that
//! the pass works on, and that module outlives all of them.

pub use inkwell::llvm_sys::LLVMAtomicRMWBinOp as RmwOp;
pub use inkwell::llvm_sys::LLVMIntPredicate as Predicate;
use inkwell::llvm_sys::LLVMLinkage;
pub use inkwell::llvm_sys::LLVMOpcode as Opcode;
pub use inkwell::llvm_sys::LLVMTypeKind as Kind;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::*;
use std::ffi::{CStr, CString};

/// LLVM's number for the convention that saves nearly all registers in the callee.
const PRESERVE_MOST: u32 = 14;

/// Attributes that let the optimiser drop, merge or move calls.
const IMPURE: [&str; 2] = ["memory", "speculatable"];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(LLVMValueRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type(LLVMTypeRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Block(LLVMBasicBlockRef);

/// The module under work with its data layout.
#[derive(Clone, Copy)]
pub struct Ir {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    layout: LLVMTargetDataRef,
}

pub struct Cursor {
    builder: LLVMBuilderRef,
    ir: Ir,
}

fn c(text: &str) -> CString {
    CString::new(text).expect("names of ours contain no NUL")
}

fn some(value: LLVMValueRef) -> Option<Value> {
    (!value.is_null()).then_some(Value(value))
}

fn name_of(pointer: *const std::ffi::c_char, length: usize) -> String {
    if pointer.is_null() {
        return String::new();
    }
    let bytes = unsafe { std::slice::from_raw_parts(pointer as *const u8, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl Ir {
    /// The module must stay alive as long as any handle is used.
    pub fn new(module: &inkwell::module::Module<'_>) -> Ir {
        let module = module.as_mut_ptr();
        unsafe {
            Ir {
                module,
                context: LLVMGetModuleContext(module),
                layout: LLVMGetModuleDataLayout(module),
            }
        }
    }

    pub fn functions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = unsafe { LLVMGetFirstFunction(self.module) };
        while !next.is_null() {
            all.push(Value(next));
            next = unsafe { LLVMGetNextFunction(next) };
        }
        all
    }

    pub fn globals(&self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = unsafe { LLVMGetFirstGlobal(self.module) };
        while !next.is_null() {
            all.push(Value(next));
            next = unsafe { LLVMGetNextGlobal(next) };
        }
        all
    }

    pub fn function(&self, name: &str) -> Option<Value> {
        some(unsafe { LLVMGetNamedFunction(self.module, c(name).as_ptr()) })
    }

    pub fn add_function(&self, name: &str, result: Type, parameters: &[Type]) -> Value {
        let mut list: Vec<LLVMTypeRef> = parameters.iter().map(|ty| ty.0).collect();
        unsafe {
            let ty = LLVMFunctionType(result.0, list.as_mut_ptr(), list.len() as u32, 0);
            Value(LLVMAddFunction(self.module, c(name).as_ptr(), ty))
        }
    }

    /// A declaration of the same type as `like`, under another name.
    pub fn declare_like(&self, name: &str, like: Value) -> Value {
        self.function(name).unwrap_or_else(|| unsafe {
            Value(LLVMAddFunction(
                self.module,
                c(name).as_ptr(),
                LLVMGlobalGetValueType(like.0),
            ))
        })
    }

    pub fn global(&self, name: &str) -> Option<Value> {
        some(unsafe { LLVMGetNamedGlobal(self.module, c(name).as_ptr()) })
    }

    pub fn add_global(&self, name: &str, ty: Type) -> Value {
        Value(unsafe { LLVMAddGlobal(self.module, ty.0, c(name).as_ptr()) })
    }

    /// An external thread-local variable of the executable itself.
    pub fn thread_local(&self, name: &str, ty: Type) -> Value {
        self.global(name).unwrap_or_else(|| {
            let global = self.add_global(name, ty);
            unsafe {
                LLVMSetThreadLocalMode(
                    global.0,
                    inkwell::llvm_sys::LLVMThreadLocalMode::LLVMLocalExecTLSModel,
                );
            }
            global
        })
    }

    pub fn int(&self, bits: u32) -> Type {
        Type(unsafe { LLVMIntTypeInContext(self.context, bits) })
    }

    pub fn ptr(&self) -> Type {
        Type(unsafe { LLVMPointerTypeInContext(self.context, 0) })
    }

    pub fn void(&self) -> Type {
        Type(unsafe { LLVMVoidTypeInContext(self.context) })
    }

    pub fn array(&self, element: Type, count: u64) -> Type {
        Type(unsafe { LLVMArrayType2(element.0, count) })
    }

    pub fn structure(&self, fields: &[Type]) -> Type {
        let mut list: Vec<LLVMTypeRef> = fields.iter().map(|ty| ty.0).collect();
        Type(unsafe {
            LLVMStructTypeInContext(self.context, list.as_mut_ptr(), list.len() as u32, 0)
        })
    }

    pub fn constant(&self, bits: u32, value: u64) -> Value {
        Value(unsafe { LLVMConstInt(self.int(bits).0, value, 0) })
    }

    pub fn constant_struct(&self, fields: &[Value]) -> Value {
        let mut list: Vec<LLVMValueRef> = fields.iter().map(|value| value.0).collect();
        Value(unsafe {
            LLVMConstStructInContext(self.context, list.as_mut_ptr(), list.len() as u32, 0)
        })
    }

    pub fn constant_array(&self, element: Type, items: &[Value]) -> Value {
        let mut list: Vec<LLVMValueRef> = items.iter().map(|value| value.0).collect();
        Value(unsafe { LLVMConstArray2(element.0, list.as_mut_ptr(), list.len() as u64) })
    }

    pub fn constant_pointer(&self, address: u64) -> Value {
        Value(unsafe { LLVMConstIntToPtr(self.constant(64, address).0, self.ptr().0) })
    }

    pub fn address_of(&self, global: Value) -> Value {
        Value(unsafe { LLVMConstPtrToInt(global.0, self.int(64).0) })
    }

    /// The address `bytes` behind a global.
    pub fn offset(&self, global: Value, bytes: u64) -> Value {
        let mut index = [self.constant(64, bytes).0];
        Value(unsafe { LLVMConstGEP2(self.int(8).0, global.0, index.as_mut_ptr(), 1) })
    }

    pub fn store_size(&self, ty: Type) -> u64 {
        unsafe { LLVMStoreSizeOfType(self.layout, ty.0) }
    }

    pub fn abi_alignment(&self, ty: Type) -> u32 {
        unsafe { LLVMABIAlignmentOfType(self.layout, ty.0) }
    }

    pub fn abi_size(&self, ty: Type) -> u64 {
        unsafe { LLVMABISizeOfType(self.layout, ty.0) }
    }

    pub fn bit_size(&self, ty: Type) -> u64 {
        unsafe { LLVMSizeOfTypeInBits(self.layout, ty.0) }
    }

    pub fn field_offset(&self, ty: Type, field: u32) -> u64 {
        unsafe { LLVMOffsetOfElement(self.layout, ty.0, field) }
    }

    pub fn append_block(&self, function: Value, name: &str) -> Block {
        Block(unsafe { LLVMAppendBasicBlockInContext(self.context, function.0, c(name).as_ptr()) })
    }

    pub fn attribute(&self, function: Value, name: &str) {
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
            LLVMAddAttributeAtIndex(function.0, u32::MAX, attribute);
        }
    }

    /// Takes back promises about memory, which tracing code does not keep.
    pub fn forget_purity(&self, function: Value) {
        for name in IMPURE {
            let kind = self.parameter_attribute(name);
            unsafe { LLVMRemoveEnumAttributeAtIndex(function.0, u32::MAX, kind) };
        }
    }

    pub fn forget_purity_of_call(&self, call: Value) {
        for name in IMPURE {
            let kind = self.parameter_attribute(name);
            unsafe { LLVMRemoveCallSiteEnumAttribute(call.0, u32::MAX, kind) };
        }
    }

    fn parameter_attribute(&self, name: &str) -> u32 {
        unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
    }

    /// The type behind a `byval` parameter of a function.
    pub fn byval_parameter(&self, function: Value, index: u32) -> Option<Type> {
        let kind = self.parameter_attribute("byval");
        unsafe {
            let attribute = LLVMGetEnumAttributeAtIndex(function.0, index + 1, kind);
            (!attribute.is_null()).then(|| Type(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// The type behind a `byval` argument of a call.
    pub fn byval_argument(&self, call: Value, index: u32) -> Option<Type> {
        let kind = self.parameter_attribute("byval");
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(call.0, index + 1, kind);
            (!attribute.is_null()).then(|| Type(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// Attaches a number to an instruction; it survives passes that keep the instruction.
    pub fn set_number(&self, instruction: Value, number: u32) {
        unsafe {
            let mut list = [LLVMValueAsMetadata(self.constant(32, number as u64).0)];
            let node = LLVMMDNodeInContext2(self.context, list.as_mut_ptr(), 1);
            LLVMSetMetadata(
                instruction.0,
                self.number_kind(),
                LLVMMetadataAsValue(self.context, node),
            );
        }
    }

    pub fn number(&self, instruction: Value) -> Option<u32> {
        unsafe {
            let node = LLVMGetMetadata(instruction.0, self.number_kind());
            if node.is_null() {
                return None;
            }
            let mut operand = [std::ptr::null_mut()];
            LLVMGetMDNodeOperands(node, operand.as_mut_ptr());
            Some(LLVMConstIntGetZExtValue(operand[0]) as u32)
        }
    }

    fn number_kind(&self) -> u32 {
        let name = c"chg.site";
        unsafe { LLVMGetMDKindIDInContext(self.context, name.as_ptr(), name.count_bytes() as u32) }
    }

    /// Says that a branch is hardly ever taken.
    pub fn unlikely(&self, branch: Value) {
        unsafe {
            let word = |n: u64| LLVMValueAsMetadata(self.constant(32, n).0);
            let name = b"branch_weights";
            let text = LLVMMDStringInContext2(self.context, name.as_ptr().cast(), name.len());
            let mut list = [text, word(1), word(100_000)];
            let node = LLVMMDNodeInContext2(self.context, list.as_mut_ptr(), list.len());
            let kind = LLVMGetMDKindIDInContext(self.context, c"prof".as_ptr(), 4);
            LLVMSetMetadata(branch.0, kind, LLVMMetadataAsValue(self.context, node));
        }
    }
}

impl Type {
    pub fn kind(self) -> Kind {
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub fn int_bits(self) -> u32 {
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    pub fn zero(self) -> Value {
        Value(unsafe { LLVMConstNull(self.0) })
    }

    pub fn fields(self) -> Vec<Type> {
        let count = unsafe { LLVMCountStructElementTypes(self.0) };
        (0..count)
            .map(|field| Type(unsafe { LLVMStructGetTypeAtIndex(self.0, field) }))
            .collect()
    }

    pub fn array_length(self) -> u64 {
        unsafe { LLVMGetArrayLength2(self.0) }
    }

    pub fn vector_length(self) -> u32 {
        unsafe { LLVMGetVectorSize(self.0) }
    }

    pub fn element(self) -> Type {
        Type(unsafe { LLVMGetElementType(self.0) })
    }
}

impl Block {
    pub fn instructions(self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = unsafe { LLVMGetFirstInstruction(self.0) };
        while !next.is_null() {
            all.push(Value(next));
            next = unsafe { LLVMGetNextInstruction(next) };
        }
        all
    }

    /// The first place where an instruction may be put.
    pub fn first_insertion(self) -> Option<Value> {
        self.instructions().into_iter().find(|instruction| {
            !matches!(
                instruction.opcode(),
                Opcode::LLVMPHI
                    | Opcode::LLVMLandingPad
                    | Opcode::LLVMCatchPad
                    | Opcode::LLVMCleanupPad
                    | Opcode::LLVMCatchSwitch
            )
        })
    }

    pub fn terminator(self) -> Option<Value> {
        some(unsafe { LLVMGetBasicBlockTerminator(self.0) })
    }

    pub fn successors(self) -> Vec<Block> {
        let Some(end) = self.terminator() else {
            return Vec::new();
        };
        let count = unsafe { LLVMGetNumSuccessors(end.0) };
        (0..count)
            .map(|n| Block(unsafe { LLVMGetSuccessor(end.0, n) }))
            .collect()
    }
}

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

    pub fn is_instruction(self) -> bool {
        unsafe { !LLVMIsAInstruction(self.0).is_null() }
    }

    pub fn is_argument(self) -> bool {
        unsafe { !LLVMIsAArgument(self.0).is_null() }
    }

    pub fn is_function(self) -> bool {
        unsafe { !LLVMIsAFunction(self.0).is_null() }
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

    pub fn set_internal(self) {
        unsafe { LLVMSetLinkage(self.0, LLVMLinkage::LLVMInternalLinkage) }
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

impl Type {
    pub fn is_variadic(self) -> bool {
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    pub fn parameter_count(self) -> u32 {
        unsafe { LLVMCountParamTypes(self.0) }
    }

    pub fn result(self) -> Type {
        Type(unsafe { LLVMGetReturnType(self.0) })
    }
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
