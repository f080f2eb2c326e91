//! Questions about types.

use super::{Type, TypeKind, take_message};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMTypeRef;
use std::ffi::CStr;

impl<'m> Type<'m> {
    pub fn kind(self) -> TypeKind {
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub fn integer_bits(self) -> u32 {
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    pub fn pointer_space(self) -> u32 {
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    pub fn element(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGetElementType(self.0) })
    }

    /// Of an array or vector.
    pub fn length(self) -> u64 {
        match self.kind() {
            TypeKind::LLVMArrayTypeKind => unsafe { LLVMGetArrayLength2(self.0) },
            _ => u64::from(unsafe { LLVMGetVectorSize(self.0) }),
        }
    }

    pub fn struct_name(self) -> Option<String> {
        let name = unsafe { LLVMGetStructName(self.0) };
        (!name.is_null()).then(|| {
            unsafe { CStr::from_ptr(name) }
                .to_string_lossy()
                .into_owned()
        })
    }

    pub fn is_packed(self) -> bool {
        unsafe { LLVMIsPackedStruct(self.0) != 0 }
    }

    pub fn fields(self) -> Vec<Type<'m>> {
        let count = unsafe { LLVMCountStructElementTypes(self.0) } as usize;
        let mut fields: Vec<LLVMTypeRef> = vec![std::ptr::null_mut(); count];
        unsafe { LLVMGetStructElementTypes(self.0, fields.as_mut_ptr()) };
        fields.into_iter().map(Type::sure).collect()
    }

    pub fn field(self, index: u32) -> Type<'m> {
        Type::sure(unsafe { LLVMStructGetTypeAtIndex(self.0, index) })
    }

    pub fn parameters(self) -> Vec<Type<'m>> {
        let count = unsafe { LLVMCountParamTypes(self.0) } as usize;
        let mut parameters: Vec<LLVMTypeRef> = vec![std::ptr::null_mut(); count];
        unsafe { LLVMGetParamTypes(self.0, parameters.as_mut_ptr()) };
        parameters.into_iter().map(Type::sure).collect()
    }

    pub fn result(self) -> Type<'m> {
        Type::sure(unsafe { LLVMGetReturnType(self.0) })
    }

    pub fn is_variadic(self) -> bool {
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    pub fn print(self) -> String {
        take_message(unsafe { LLVMPrintTypeToString(self.0) })
    }
}
