//! A narrow, safe view of LLVM's C interface: just what the reader asks.
//!
//! `inkwell` parses the module and owns it, but has no words for much of what
//! the reader needs (debug locations, constant expressions, debug records,
//! call-site attributes), so those questions go to LLVM directly. This is the
//! only module of the crate with `unsafe` code. What makes it sound:
//! every handle borrows the module it came from, so nothing outlives the
//! module; handles are only made from pointers LLVM returned and found to be
//! non-null; and each question that LLVM allows for one kind of value only is
//! asked behind a check of that kind, here or in the arm of a `match` on it.

mod metadata;
mod ty;

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use inkwell::context::Context;
use inkwell::llvm_sys::core::*;
pub use inkwell::llvm_sys::debuginfo::LLVMMetadataKind as MetadataKind;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::*;
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMDbgRecordKind, LLVMLinkage};
pub use inkwell::llvm_sys::{
    LLVMOpcode as Opcode, LLVMTypeKind as TypeKind, LLVMValueKind as ValueKind,
};
use inkwell::module::Module;

use crate::Linkage;

macro_rules! handle {
    ($name:ident, $raw:ty) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<'m>($raw, PhantomData<&'m ()>);

        impl<'m> $name<'m> {
            fn maybe(raw: $raw) -> Option<Self> {
                (!raw.is_null()).then_some($name(raw, PhantomData))
            }

            #[allow(dead_code, reason = "not every kind is asked for in both ways")]
            fn sure(raw: $raw) -> Self {
                Self::maybe(raw).expect("LLVM returns a value here")
            }
        }
    };
}

handle!(Value, LLVMValueRef);
handle!(Type, LLVMTypeRef);
handle!(BasicBlock, LLVMBasicBlockRef);
handle!(Metadata, LLVMMetadataRef);
handle!(DebugRecord, LLVMDbgRecordRef);

/// The module and what goes with it.
pub struct Source<'m> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    layout: LLVMTargetDataRef,
    borrowed: PhantomData<&'m ()>,
}

macro_rules! list {
    ($first:expr, $next:ident, $handle:ident) => {
        std::iter::successors($handle::maybe($first), |item| {
            $handle::maybe(unsafe { $next(item.0) })
        })
    };
}

impl<'m> Source<'m> {
    pub fn new(module: &'m Module<'_>, context: &'m Context) -> Source<'m> {
        // The layout belongs to the module.
        let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
        Source {
            module: module.as_mut_ptr(),
            context: context.raw(),
            layout,
            borrowed: PhantomData,
        }
    }

    pub fn functions(&self) -> impl Iterator<Item = Value<'m>> {
        list!(
            unsafe { LLVMGetFirstFunction(self.module) },
            LLVMGetNextFunction,
            Value
        )
    }

    pub fn globals(&self) -> impl Iterator<Item = Value<'m>> {
        list!(
            unsafe { LLVMGetFirstGlobal(self.module) },
            LLVMGetNextGlobal,
            Value
        )
    }

    /// Assembler outside of functions.
    pub fn assembler(&self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMGetModuleInlineAsm(self.module, &mut length) };
        if text.is_null() || length == 0 {
            return String::new();
        }
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    pub fn size_of(&self, ty: Type<'m>) -> Option<u64> {
        let sized = unsafe { LLVMTypeIsSized(ty.0) } != 0;
        sized.then(|| unsafe { LLVMABISizeOfType(self.layout, ty.0) })
    }

    pub fn offset_of(&self, structure: Type<'m>, field: u32) -> u64 {
        debug_assert!(structure.kind() == TypeKind::LLVMStructTypeKind);
        unsafe { LLVMOffsetOfElement(self.layout, structure.0, field) }
    }

    /// Operands of a metadata node; what is absent is `None`.
    pub fn operands(&self, node: Metadata<'m>) -> Vec<Option<Value<'m>>> {
        let value = self.metadata_value(node);
        if unsafe { LLVMIsAMDNode(value.0) }.is_null() {
            return Vec::new();
        }
        let count = unsafe { LLVMGetMDNodeNumOperands(value.0) } as usize;
        let mut operands: Vec<LLVMValueRef> = vec![std::ptr::null_mut(); count];
        unsafe { LLVMGetMDNodeOperands(value.0, operands.as_mut_ptr()) };
        operands.into_iter().map(Value::maybe).collect()
    }

    /// A metadata node as text.
    pub fn print(&self, node: Metadata<'m>) -> String {
        self.metadata_value(node).print()
    }

    fn metadata_value(&self, node: Metadata<'m>) -> Value<'m> {
        Value::sure(unsafe { LLVMMetadataAsValue(self.context, node.0) })
    }
}

impl<'m> Value<'m> {
    pub fn kind(self) -> ValueKind {
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub fn ty(self) -> Type<'m> {
        Type::sure(unsafe { LLVMTypeOf(self.0) })
    }

    pub fn name(self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMGetValueName2(self.0, &mut length) };
        copied(text, length)
    }

    pub fn print(self) -> String {
        take_message(unsafe { LLVMPrintValueToString(self.0) })
    }

    /// The strings of metadata that stands as an operand: the name of a register, a way of rounding. Its number is
    /// nothing that two versions could have in common, and takes a walk through the whole module to print.
    pub fn metadata_strings(self) -> Vec<String> {
        if unsafe { LLVMIsAMDNode(self.0) }.is_null() {
            return self.metadata_text().into_iter().collect();
        }
        let count = unsafe { LLVMGetMDNodeNumOperands(self.0) } as usize;
        let mut operands: Vec<LLVMValueRef> = vec![std::ptr::null_mut(); count];
        unsafe { LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr()) };
        let operands = operands.into_iter().filter_map(Value::maybe);
        operands.filter_map(|value| value.metadata_text()).collect()
    }

    /// Type of a function, or of a global variable itself rather than its address.
    pub fn global_type(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    pub fn linkage(self) -> Linkage {
        match unsafe { LLVMGetLinkage(self.0) } {
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage => Linkage::Internal,
            LLVMLinkage::LLVMExternalLinkage
            | LLVMLinkage::LLVMAvailableExternallyLinkage
            | LLVMLinkage::LLVMAppendingLinkage => Linkage::External,
            _ => Linkage::Mergeable,
        }
    }

    pub fn initialiser(self) -> Option<Value<'m>> {
        Value::maybe(unsafe { LLVMGetInitializer(self.0) })
    }

    pub fn is_global_constant(self) -> bool {
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
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        (!text.is_empty()).then(|| text.into_owned())
    }

    pub fn aliasee(self) -> Value<'m> {
        Value::sure(unsafe { LLVMAliasGetAliasee(self.0) })
    }

    /// The `!dbg` attachment of a global variable.
    pub fn global_debug(self) -> Option<Metadata<'m>> {
        let mut count = 0;
        let entries = unsafe { LLVMGlobalCopyAllMetadata(self.0, &mut count) };
        let mut found = None;
        for index in 0..count as u32 {
            let node =
                Metadata::sure(unsafe { LLVMValueMetadataEntriesGetMetadata(entries, index) });
            if matches!(
                node.kind(),
                MetadataKind::LLVMDIGlobalVariableExpressionMetadataKind
            ) {
                found = Some(node);
            }
        }
        unsafe { LLVMDisposeValueMetadataEntries(entries) };
        found.and_then(|node| {
            Metadata::maybe(unsafe { LLVMDIGlobalVariableExpressionGetVariable(node.0) })
        })
    }

    pub fn parameters(self) -> Vec<Value<'m>> {
        let count = unsafe { LLVMCountParams(self.0) };
        (0..count)
            .map(|n| Value::sure(unsafe { LLVMGetParam(self.0, n) }))
            .collect()
    }

    pub fn has_attribute(self, place: AttributePlace, name: &str) -> bool {
        let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
        !unsafe { LLVMGetEnumAttributeAtIndex(self.0, place.index(), kind) }.is_null()
    }

    pub fn call_has_attribute(self, place: AttributePlace, name: &str) -> bool {
        let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
        !unsafe { LLVMGetCallSiteEnumAttribute(self.0, place.index(), kind) }.is_null()
    }

    /// The value of an attribute that is a text.
    pub fn word(self, name: &str) -> Option<String> {
        let index = AttributePlace::Function.index();
        let (text, length) = (name.as_ptr().cast(), name.len() as u32);
        let attribute = unsafe { LLVMGetStringAttributeAtIndex(self.0, index, text, length) };
        if attribute.is_null() {
            return None;
        }
        let mut length = 0;
        let value = unsafe { LLVMGetStringAttributeValue(attribute, &mut length) };
        Some(copied(value, length as usize))
    }

    /// Of a function, variable, load, store or place on the stack; 0 if nothing is said.
    pub fn alignment(self) -> u32 {
        unsafe { LLVMGetAlignment(self.0) }
    }

    /// Liberties that the compiler may take with a computation.
    pub fn fast_math(self) -> u32 {
        match unsafe { LLVMCanValueUseFastMathFlags(self.0) } {
            0 => 0,
            _ => unsafe { LLVMGetFastMathFlags(self.0) },
        }
    }

    /// Tags and operands of what a call tells the compiler beside its arguments.
    pub fn bundles(self) -> Vec<(String, Vec<Value<'m>>)> {
        let count = unsafe { LLVMGetNumOperandBundles(self.0) };
        let bundle = |n| unsafe {
            let bundle = LLVMGetOperandBundleAtIndex(self.0, n);
            let mut length = 0;
            let tag = LLVMGetOperandBundleTag(bundle, &mut length);
            let tag = copied(tag, length);
            let values = (0..LLVMGetNumOperandBundleArgs(bundle))
                .map(|n| Value::sure(LLVMGetOperandBundleArgAtIndex(bundle, n)));
            let values = values.collect();
            LLVMDisposeOperandBundle(bundle);
            (tag, values)
        };
        (0..count).map(bundle).collect()
    }

    pub fn subprogram(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMGetSubprogram(self.0) })
    }

    pub fn blocks(self) -> impl Iterator<Item = BasicBlock<'m>> {
        list!(
            unsafe { LLVMGetFirstBasicBlock(self.0) },
            LLVMGetNextBasicBlock,
            BasicBlock
        )
    }

    pub fn operand_count(self) -> u32 {
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    pub fn operand(self, index: u32) -> Value<'m> {
        Value::sure(unsafe { LLVMGetOperand(self.0, index) })
    }

    pub fn operands(self) -> Vec<Value<'m>> {
        (0..self.operand_count()).map(|n| self.operand(n)).collect()
    }

    /// Contents of an array or vector of plain numbers, as in memory.
    pub fn raw_data(self) -> Vec<u8> {
        let mut size = 0usize;
        // The bindings declare the size as a number; LLVM takes its address and
        // stores the size there.
        let data = unsafe { LLVMGetRawDataValues(self.0, &raw mut size as usize) };
        copied_bytes(data, size)
    }

    /// Only up to 64 bits.
    pub fn zero_extended(self) -> u64 {
        unsafe { LLVMConstIntGetZExtValue(self.0) }
    }

    pub fn constant_opcode(self) -> Opcode {
        unsafe { LLVMGetConstOpcode(self.0) }
    }

    pub fn block_address(self) -> (Value<'m>, BasicBlock<'m>) {
        let function = Value::sure(unsafe { LLVMGetBlockAddressFunction(self.0) });
        (
            function,
            BasicBlock::sure(unsafe { LLVMGetBlockAddressBasicBlock(self.0) }),
        )
    }

    pub fn as_block(self) -> Option<BasicBlock<'m>> {
        let is_block = unsafe { LLVMValueIsBasicBlock(self.0) } != 0;
        is_block.then(|| BasicBlock::sure(unsafe { LLVMValueAsBasicBlock(self.0) }))
    }

    pub fn opcode(self) -> Opcode {
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    pub fn debug_location(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMInstructionGetDebugLoc(self.0) })
    }

    pub fn debug_records(self) -> impl Iterator<Item = DebugRecord<'m>> {
        list!(
            unsafe { LLVMGetFirstDbgRecord(self.0) },
            LLVMGetNextDbgRecord,
            DebugRecord
        )
    }

    pub fn no_unsigned_wrap(self) -> bool {
        unsafe { LLVMGetNUW(self.0) != 0 }
    }

    pub fn no_signed_wrap(self) -> bool {
        unsafe { LLVMGetNSW(self.0) != 0 }
    }

    pub fn is_exact(self) -> bool {
        unsafe { LLVMGetExact(self.0) != 0 }
    }

    pub fn integer_predicate(self) -> u32 {
        unsafe { LLVMGetICmpPredicate(self.0) as u32 }
    }

    pub fn float_predicate(self) -> u32 {
        unsafe { LLVMGetFCmpPredicate(self.0) as u32 }
    }

    pub fn allocated_type(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGetAllocatedType(self.0) })
    }

    pub fn is_volatile(self) -> bool {
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub fn is_atomic_access(self) -> bool {
        unsafe { LLVMGetOrdering(self.0) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic }
    }

    pub fn atomic_operation(self) -> u32 {
        unsafe { LLVMGetAtomicRMWBinOp(self.0) as u32 }
    }

    /// Element type of address arithmetic.
    pub fn address_element(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGetGEPSourceElementType(self.0) })
    }

    pub fn indices(self) -> Vec<u32> {
        let count = unsafe { LLVMGetNumIndices(self.0) } as usize;
        let first = unsafe { LLVMGetIndices(self.0) };
        // LLVM keeps `count` numbers at that address with the instruction.
        (0..count).map(|n| unsafe { *first.add(n) }).collect()
    }

    pub fn shuffle_mask(self) -> Vec<i32> {
        let count = unsafe { LLVMGetNumMaskElements(self.0) };
        (0..count)
            .map(|n| unsafe { LLVMGetMaskValue(self.0, n) })
            .collect()
    }

    pub fn incoming(self) -> Vec<(Value<'m>, BasicBlock<'m>)> {
        let count = unsafe { LLVMCountIncoming(self.0) };
        let value = |n| Value::sure(unsafe { LLVMGetIncomingValue(self.0, n) });
        let block = |n| BasicBlock::sure(unsafe { LLVMGetIncomingBlock(self.0, n) });
        (0..count).map(|n| (value(n), block(n))).collect()
    }

    pub fn called(self) -> Value<'m> {
        Value::sure(unsafe { LLVMGetCalledValue(self.0) })
    }

    pub fn called_type(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGetCalledFunctionType(self.0) })
    }

    pub fn argument_count(self) -> u32 {
        unsafe { LLVMGetNumArgOperands(self.0) }
    }

    pub fn normal_target(self) -> BasicBlock<'m> {
        BasicBlock::sure(unsafe { LLVMGetNormalDest(self.0) })
    }

    pub fn unwind_target(self) -> BasicBlock<'m> {
        BasicBlock::sure(unsafe { LLVMGetUnwindDest(self.0) })
    }

    pub fn is_cleanup(self) -> bool {
        unsafe { LLVMIsCleanup(self.0) != 0 }
    }

    /// Targets of a terminator.
    pub fn successors(self) -> Vec<BasicBlock<'m>> {
        if unsafe { LLVMIsATerminatorInst(self.0) }.is_null() {
            return Vec::new();
        }
        let count = unsafe { LLVMGetNumSuccessors(self.0) };
        (0..count)
            .map(|n| BasicBlock::sure(unsafe { LLVMGetSuccessor(self.0, n) }))
            .collect()
    }

    pub fn switch_case(self, successor: u32) -> Value<'m> {
        Value::sure(unsafe { LLVMGetSwitchCaseValue(self.0, successor) })
    }

    /// The metadata a value stands for.
    pub fn as_metadata(self) -> Option<Metadata<'m>> {
        let is_metadata = self.kind() == ValueKind::LLVMMetadataAsValueValueKind;
        is_metadata.then(|| Metadata::sure(unsafe { LLVMValueAsMetadata(self.0) }))
    }

    /// The number that a metadata operand stands for.
    pub fn constant_metadata(self) -> Option<i64> {
        // An operand that is a constant comes as the constant itself.
        match self.kind() {
            ValueKind::LLVMConstantIntValueKind => {
                Some(unsafe { LLVMConstIntGetSExtValue(self.0) })
            }
            _ => None,
        }
    }

    /// The text of a metadata string.
    pub fn metadata_text(self) -> Option<String> {
        if unsafe { LLVMIsAMDString(self.0) }.is_null() {
            return None;
        }
        let mut length = 0;
        let text = unsafe { LLVMGetMDString(self.0, &mut length) };
        Some(copied(text, length as usize))
    }
}

impl<'m> BasicBlock<'m> {
    pub fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        list!(
            unsafe { LLVMGetFirstInstruction(self.0) },
            LLVMGetNextInstruction,
            Value
        )
    }
}

#[derive(Clone, Copy)]
pub enum AttributePlace {
    Function,
    Parameter(u32),
}

impl AttributePlace {
    fn index(self) -> u32 {
        match self {
            AttributePlace::Function => u32::MAX,
            AttributePlace::Parameter(n) => n + 1,
        }
    }
}

fn copied(text: *const c_char, length: usize) -> String {
    String::from_utf8_lossy(&copied_bytes(text, length)).into_owned()
}

fn copied_bytes(data: *const c_char, length: usize) -> Vec<u8> {
    if data.is_null() || length == 0 {
        return Vec::new();
    }
    // LLVM says that many bytes are there, and they live as long as the module.
    unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec()
}

fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    let text = unsafe { CStr::from_ptr(message) }
        .to_string_lossy()
        .into_owned();
    unsafe { LLVMDisposeMessage(message) };
    text
}
