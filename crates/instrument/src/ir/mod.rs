//! Handles on LLVM's intermediate representation.
//!
//! The pass looks at every instruction there is, in ways for which `inkwell`'s
//! typed values are too narrow (it has no case for some operands), so this file
//! wraps the C interface that `inkwell` itself is built on. It is the only place
//! of this crate with `unsafe` code: every handle belongs to the one module that
//! the pass works on, and that module outlives all of them.

pub use inkwell::llvm_sys::LLVMAtomicRMWBinOp as RmwOp;
pub use inkwell::llvm_sys::LLVMIntPredicate as Predicate;
pub use inkwell::llvm_sys::LLVMOpcode as Opcode;
pub use inkwell::llvm_sys::LLVMTypeKind as Kind;
mod cursor;
mod value;

pub use cursor::Cursor;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMGetSubprogram;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::*;
use std::ffi::{CStr, CString};
pub use value::Written;

/// Attributes that let the optimiser drop, merge or move calls.
const IMPURE: [&str; 2] = ["memory", "speculatable"];

/// Attribute of calls that holds their number.
const NUMBER: &str = "chg-site";

/// Which operand of a subprogram's description is its name.
const SUBPROGRAM_NAME: usize = 2;

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

    /// The name of a function in the debug information, in Rust with what it was made for.
    pub fn debug_name(&self, function: Value) -> Option<String> {
        unsafe {
            let subprogram = LLVMGetSubprogram(function.0);
            if subprogram.is_null() {
                return None;
            }
            let node = LLVMMetadataAsValue(self.context, subprogram);
            let mut fields = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
            LLVMGetMDNodeOperands(node, fields.as_mut_ptr());
            let name = *fields.get(SUBPROGRAM_NAME).filter(|name| !name.is_null())?;
            let mut length = 0;
            let text = LLVMGetMDString(name, &mut length);
            (!text.is_null()).then(|| name_of(text, length as usize))
        }
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

    /// Assembler outside of functions.
    pub fn assembler(&self) -> String {
        let mut length = 0;
        let text = unsafe {
            let text = LLVMGetModuleInlineAsm(self.module, &mut length);
            std::slice::from_raw_parts(text.cast::<u8>(), length)
        };
        String::from_utf8_lossy(text).into_owned()
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

    /// Forbids that a function is put in place of its calls.
    pub fn keep_apart(&self, function: Value) {
        for name in ["alwaysinline", "inlinehint"] {
            let kind = self.parameter_attribute(name);
            unsafe { LLVMRemoveEnumAttributeAtIndex(function.0, u32::MAX, kind) };
        }
        self.attribute(function, "noinline");
    }

    /// Promises that a function reads and writes nothing that the program knows of.
    pub fn touches_nothing_known(&self, function: Value) {
        // Two bits for each kind of memory; the second kind is what no program can reach.
        const READS_AND_WRITES_INACCESSIBLE: u64 = 0b11 << 2;
        unsafe {
            let kind = self.parameter_attribute("memory");
            let attribute =
                LLVMCreateEnumAttribute(self.context, kind, READS_AND_WRITES_INACCESSIBLE);
            LLVMAddAttributeAtIndex(function.0, u32::MAX, attribute);
        }
        self.attribute(function, "willreturn");
    }

    /// How large a function may be and still be put in place of its calls.
    pub fn set_inline_threshold(&self, function: Value, threshold: u32) {
        unsafe {
            let attribute =
                self.text_attribute("function-inline-threshold", &threshold.to_string());
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

    pub fn leave_unoptimised(&self, function: Value) {
        self.keep_apart(function);
        for name in ["optsize", "minsize"] {
            let kind = self.parameter_attribute(name);
            unsafe { LLVMRemoveEnumAttributeAtIndex(function.0, u32::MAX, kind) };
        }
        self.attribute(function, "optnone");
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
        // A call that is inlined under a handler of exceptions is made anew, with
        // its attributes and without its metadata.
        if instruction.is_call() {
            let text = number.to_string();
            unsafe {
                let attribute = self.text_attribute(NUMBER, &text);
                LLVMAddCallSiteAttribute(instruction.0, u32::MAX, attribute);
            }
        }
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
                return self.number_of_call(instruction);
            }
            let mut operand = [std::ptr::null_mut()];
            LLVMGetMDNodeOperands(node, operand.as_mut_ptr());
            Some(LLVMConstIntGetZExtValue(operand[0]) as u32)
        }
    }

    fn number_of_call(&self, instruction: Value) -> Option<u32> {
        if !instruction.is_call() {
            return None;
        }
        unsafe {
            let attribute = LLVMGetCallSiteStringAttribute(
                instruction.0,
                u32::MAX,
                NUMBER.as_ptr().cast(),
                NUMBER.len() as u32,
            );
            if attribute.is_null() {
                return None;
            }
            let mut length = 0;
            let text = LLVMGetStringAttributeValue(attribute, &mut length);
            let text = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
            std::str::from_utf8(text).ok()?.parse().ok()
        }
    }

    unsafe fn text_attribute(&self, name: &str, text: &str) -> LLVMAttributeRef {
        unsafe {
            LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as u32,
                text.as_ptr().cast(),
                text.len() as u32,
            )
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

    pub fn struct_name(self) -> Option<String> {
        if self.kind() != Kind::LLVMStructTypeKind {
            return None;
        }
        let name = unsafe { LLVMGetStructName(self.0) };
        (!name.is_null()).then(|| {
            unsafe { CStr::from_ptr(name) }
                .to_string_lossy()
                .into_owned()
        })
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
