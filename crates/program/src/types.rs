//! Types, interned: equal types have equal numbers within a program.

use serde::{Deserialize, Serialize};

use crate::TypeId;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Type {
    pub shape: Shape,
    /// Size of a stored value in bytes, padding included; `None` for types
    /// without size (void, functions, opaque structures).
    pub size: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    Void,
    Integer {
        bits: u32,
    },
    Float(FloatKind),
    Pointer {
        space: u32,
    },
    Array {
        element: TypeId,
        length: u64,
    },
    Vector {
        element: TypeId,
        length: u64,
        scalable: bool,
    },
    Struct {
        /// As in the bitcode, e.g. `struct.point`; `None` for a literal one.
        name: Option<String>,
        fields: Vec<TypeId>,
        /// Byte offset of each field.
        offsets: Vec<u64>,
        packed: bool,
    },
    Function {
        result: TypeId,
        parameters: Vec<TypeId>,
        variadic: bool,
    },
    Label,
    Metadata,
    Token,
    /// Something this model has no word for, as the bitcode prints it.
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FloatKind {
    Half,
    BFloat,
    Single,
    Double,
    X87,
    Quad,
    PpcDouble,
}
