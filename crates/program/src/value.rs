//! What an instruction can use: results, arguments, constants, addresses.

use serde::{Deserialize, Serialize};

use crate::{BlockId, ConstantId, FunctionId, GlobalId, Site, TypeId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// The result of an instruction.
    Result(Site),
    /// The n-th parameter of the function around it, from 0.
    Argument(u32),
    Constant(ConstantId),
    /// The address of a global variable.
    Global(GlobalId),
    /// The address of a function.
    Function(FunctionId),
}

impl Value {
    pub fn site(self) -> Option<Site> {
        match self {
            Value::Result(site) => Some(site),
            _ => None,
        }
    }
}

/// A constant, interned. Addresses inside it are [`Value::Global`] and
/// [`Value::Function`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Constant {
    /// The low 128 bits, zero-extended.
    Integer {
        ty: TypeId,
        #[serde(with = "wide")]
        bits: u128,
    },
    /// The exact text the bitcode prints.
    Float {
        ty: TypeId,
        text: String,
    },
    Null {
        ty: TypeId,
    },
    /// All bytes zero.
    Zero {
        ty: TypeId,
    },
    /// `undef` and `poison`.
    Undefined {
        ty: TypeId,
        poison: bool,
    },
    /// An array of plain numbers, as it lies in memory.
    Bytes {
        ty: TypeId,
        bytes: Vec<u8>,
    },
    Aggregate {
        ty: TypeId,
        elements: Vec<Value>,
    },
    /// An address plus a constant number of bytes.
    Offset {
        base: Value,
        bytes: i64,
    },
    /// Any other constant expression; `operation` is its opcode.
    Expression {
        ty: TypeId,
        operation: String,
        operands: Vec<Value>,
    },
    BlockAddress {
        function: FunctionId,
        block: BlockId,
    },
    /// Metadata, inline assembler and whatever else has no structure here.
    Opaque {
        ty: TypeId,
        text: String,
    },
}

/// 128-bit numbers as text, since JSON readers lose their low digits.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bits: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(bits)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
