//! How values of any type break up into parts that can carry a label.

use crate::ir::{Ir, Kind, Type};

/// One labelled part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// An integer, a pointer (64 bits), or a small vector seen as its bits.
    Bits(u32),
    /// A float, or something too wide to be expressed.
    Opaque,
}

impl Leaf {
    pub fn bits(self) -> Option<u32> {
        match self {
            Leaf::Bits(bits) => Some(bits),
            Leaf::Opaque => None,
        }
    }
}

/// The widest value that is expressed.
pub const WIDEST: u32 = 128;
/// Aggregates of more parts than this carry no labels.
const MOST: usize = 64;

/// A leaf with the indices that lead to it.
#[derive(Clone, Debug)]
pub struct Part {
    pub leaf: Leaf,
    pub path: Vec<u32>,
    pub ty: Type,
}

pub fn parts(ir: Ir, ty: Type) -> Vec<Part> {
    let mut found = Vec::new();
    collect(ir, ty, &mut Vec::new(), &mut found);
    if found.len() > MOST {
        for part in &mut found {
            part.leaf = Leaf::Opaque;
        }
    }
    found
}

fn collect(ir: Ir, ty: Type, path: &mut Vec<u32>, found: &mut Vec<Part>) {
    let mut descend = |index: u32, ty: Type, path: &mut Vec<u32>| {
        path.push(index);
        collect(ir, ty, path, found);
        path.pop();
    };
    match ty.kind() {
        Kind::LLVMStructTypeKind => {
            for (index, field) in ty.fields().into_iter().enumerate() {
                descend(index as u32, field, path);
            }
        }
        Kind::LLVMArrayTypeKind => {
            for index in 0..ty.array_length().min(MOST as u64 + 1) {
                descend(index as u32, ty.element(), path);
            }
        }
        _ => {
            let leaf = leaf(ir, ty);
            found.push(Part {
                leaf,
                path: path.clone(),
                ty,
            });
        }
    }
}

/// What a type that is no aggregate can carry.
pub fn leaf(ir: Ir, ty: Type) -> Leaf {
    match ty.kind() {
        Kind::LLVMIntegerTypeKind if ty.int_bits() <= WIDEST => Leaf::Bits(ty.int_bits()),
        Kind::LLVMPointerTypeKind => Leaf::Bits(64),
        Kind::LLVMVectorTypeKind if holds_bits(ty) && ir.bit_size(ty) <= WIDEST as u64 => {
            Leaf::Bits(ir.bit_size(ty) as u32)
        }
        _ => Leaf::Opaque,
    }
}

/// Vectors of pointers cannot be seen as one integer.
fn holds_bits(vector: Type) -> bool {
    vector.element().kind() == Kind::LLVMIntegerTypeKind
}

/// The range of leaves below an index path.
pub fn range(ir: Ir, ty: Type, path: &[u32]) -> std::ops::Range<usize> {
    let all = parts(ir, ty);
    let start = all
        .iter()
        .position(|part| part.path.starts_with(path))
        .unwrap_or(0);
    let count = all
        .iter()
        .filter(|part| part.path.starts_with(path))
        .count();
    start..start + count
}
