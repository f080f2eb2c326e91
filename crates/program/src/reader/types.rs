//! Types.

use super::Reader;
use super::llvm::{self, TypeKind};
use crate::{FloatKind, Shape, Type, TypeId};

impl<'m> Reader<'m> {
    pub(super) fn type_id(&mut self, ty: llvm::Type<'m>) -> TypeId {
        if let Some(&id) = self.types.get(&ty) {
            return id;
        }
        let shape = self.shape(ty);
        let read = Type {
            shape,
            size: self.source.size_of(ty),
        };
        let program = &mut self.program;
        let id = *self.shapes.entry(read).or_insert_with_key(|read| {
            program.types.push(read.clone());
            TypeId::new(program.types.len() - 1)
        });
        self.types.insert(ty, id);
        id
    }

    /// Ends because pointers do not name what they point to.
    fn shape(&mut self, ty: llvm::Type<'m>) -> Shape {
        match ty.kind() {
            TypeKind::LLVMVoidTypeKind => Shape::Void,
            TypeKind::LLVMIntegerTypeKind => Shape::Integer {
                bits: ty.integer_bits(),
            },
            TypeKind::LLVMHalfTypeKind => Shape::Float(FloatKind::Half),
            TypeKind::LLVMBFloatTypeKind => Shape::Float(FloatKind::BFloat),
            TypeKind::LLVMFloatTypeKind => Shape::Float(FloatKind::Single),
            TypeKind::LLVMDoubleTypeKind => Shape::Float(FloatKind::Double),
            TypeKind::LLVMX86_FP80TypeKind => Shape::Float(FloatKind::X87),
            TypeKind::LLVMFP128TypeKind => Shape::Float(FloatKind::Quad),
            TypeKind::LLVMPPC_FP128TypeKind => Shape::Float(FloatKind::PpcDouble),
            TypeKind::LLVMPointerTypeKind => Shape::Pointer {
                space: ty.pointer_space(),
            },
            TypeKind::LLVMArrayTypeKind => Shape::Array {
                element: self.type_id(ty.element()),
                length: ty.length(),
            },
            TypeKind::LLVMVectorTypeKind | TypeKind::LLVMScalableVectorTypeKind => Shape::Vector {
                element: self.type_id(ty.element()),
                length: ty.length(),
                scalable: ty.kind() == TypeKind::LLVMScalableVectorTypeKind,
            },
            TypeKind::LLVMStructTypeKind => {
                let fields = ty.fields();
                let sized = self.source.size_of(ty).is_some();
                let count = if sized { fields.len() as u32 } else { 0 };
                Shape::Struct {
                    name: ty.struct_name(),
                    offsets: (0..count).map(|n| self.source.offset_of(ty, n)).collect(),
                    fields: fields
                        .into_iter()
                        .map(|field| self.type_id(field))
                        .collect(),
                    packed: ty.is_packed(),
                }
            }
            TypeKind::LLVMFunctionTypeKind => Shape::Function {
                result: self.type_id(ty.result()),
                parameters: ty
                    .parameters()
                    .into_iter()
                    .map(|p| self.type_id(p))
                    .collect(),
                variadic: ty.is_variadic(),
            },
            TypeKind::LLVMLabelTypeKind => Shape::Label,
            TypeKind::LLVMMetadataTypeKind => Shape::Metadata,
            TypeKind::LLVMTokenTypeKind => Shape::Token,
            _ => Shape::Other(ty.print()),
        }
    }
}
