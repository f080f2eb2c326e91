//! Instructions and what they do.

use serde::{Deserialize, Serialize};

use crate::{BlockId, FunctionId, LocationId, Site, TypeId, Value};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    pub operation: Operation,
    /// Type of the result; void if there is none.
    pub ty: TypeId,
    /// Values used, in the bitcode's order. Block labels and direct callees are
    /// not values and are found in the operation; calls list their arguments.
    pub operands: Vec<Value>,
    pub block: BlockId,
    pub location: Option<LocationId>,
    /// What else has a say in what it does, such as alignments, in words that are the same if it is.
    #[serde(default)]
    pub manner: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    Binary(BinaryOp, Flags),
    Negate,
    Compare(Predicate),
    Cast(CastOp),
    Select,
    Freeze,
    Phi {
        /// Where each operand comes from.
        incoming: Vec<BlockId>,
    },

    Alloca {
        allocated: TypeId,
    },
    /// Operand 0 is the address.
    Load(Access),
    /// Operand 0 is the value, operand 1 the address.
    Store(Access),
    /// Operand 0 is the base address.
    Address(Address),
    /// Operands: address, value.
    AtomicUpdate {
        operation: u32,
    },
    /// Operands: address, expected, replacement.
    CompareExchange,
    Fence,

    ExtractValue {
        indices: Vec<u32>,
    },
    InsertValue {
        indices: Vec<u32>,
    },
    ExtractElement,
    InsertElement,
    Shuffle {
        mask: Vec<i32>,
    },

    Call(Call),
    LandingPad {
        cleanup: bool,
    },
    VariadicArgument,

    Return,
    Jump {
        target: BlockId,
    },
    /// Operand 0 is the condition.
    Branch {
        then: BlockId,
        otherwise: BlockId,
    },
    /// Operand 0 is the selector.
    Switch {
        cases: Vec<Case>,
        default: BlockId,
    },
    IndirectJump {
        targets: Vec<BlockId>,
    },
    Resume,
    Unreachable,

    /// An opcode this model has no word for; `targets` if it ends a block.
    Other {
        opcode: String,
        targets: Vec<BlockId>,
    },
}

impl Operation {
    /// Whether it does nothing but make a value out of others, and cannot fail.
    pub fn computes(&self) -> bool {
        use BinaryOp::{SDiv, SRem, UDiv, URem};
        match self {
            Operation::Binary(operation, _) => !matches!(operation, SDiv | SRem | UDiv | URem),
            Operation::Negate
            | Operation::Compare(_)
            | Operation::Cast(_)
            | Operation::Select
            | Operation::Freeze
            | Operation::Phi { .. } => true,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// The selector's value.
    pub value: u128,
    pub target: BlockId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

/// Promises that make some results poison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flags {
    pub no_unsigned_wrap: bool,
    pub no_signed_wrap: bool,
    pub exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FPToUI,
    FPToSI,
    UIToFP,
    SIToFP,
    FPTrunc,
    FPExt,
    PtrToInt,
    IntToPtr,
    BitCast,
    AddressSpace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Predicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
    /// Floating-point comparison by the bitcode's number of its predicate.
    Float(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    pub volatile: bool,
    pub atomic: bool,
}

/// Address arithmetic: base + `constant` + the sum of operand × stride.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    pub constant: i64,
    /// (position in the operands, stride in bytes).
    pub scaled: Vec<(u32, i64)>,
    /// The type whose layout the arithmetic follows.
    pub element: TypeId,
    /// Constant indices after the first, e.g. the field numbers; what is not
    /// constant is `None`.
    pub path: Vec<Option<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    pub callee: Callee,
    /// The function type used by the call.
    pub signature: TypeId,
    /// The call never comes back (attribute of the call or the callee).
    pub no_return: bool,
    /// The call never unwinds.
    pub no_unwind: bool,
    /// What it tells the compiler beside its arguments; the tags are in the instruction's manner.
    #[serde(default)]
    pub bundled: Vec<Value>,
    /// For an invoke: where it goes after returning and when unwinding.
    pub invoke: Option<Invoke>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invoke {
    pub normal: BlockId,
    pub unwind: BlockId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Callee {
    Direct(FunctionId),
    /// Through a pointer.
    Indirect(Value),
    Assembly(String),
}

impl Instruction {
    /// All values the instruction uses, a call's function pointer included.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let pointer = match &self.operation {
            Operation::Call(Call {
                callee: Callee::Indirect(value),
                ..
            }) => Some(*value),
            _ => None,
        };
        self.operands.iter().copied().chain(pointer)
    }

    /// Sites whose results it uses.
    pub fn used_sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.uses().filter_map(Value::site)
    }

    pub fn call(&self) -> Option<&Call> {
        match &self.operation {
            Operation::Call(call) => Some(call),
            _ => None,
        }
    }

    pub fn is_terminator(&self) -> bool {
        match &self.operation {
            Operation::Return
            | Operation::Jump { .. }
            | Operation::Branch { .. }
            | Operation::Switch { .. }
            | Operation::IndirectJump { .. }
            | Operation::Resume
            | Operation::Unreachable => true,
            Operation::Call(call) => call.invoke.is_some(),
            Operation::Other { targets, .. } => !targets.is_empty(),
            _ => false,
        }
    }

    /// Blocks control can go to next; empty unless it ends a block. A target
    /// that several cases share is listed once for each.
    pub fn successors(&self) -> Vec<BlockId> {
        match &self.operation {
            Operation::Jump { target } => vec![*target],
            Operation::Branch { then, otherwise } => vec![*then, *otherwise],
            Operation::Switch { cases, default } => cases
                .iter()
                .map(|case| case.target)
                .chain([*default])
                .collect(),
            Operation::IndirectJump { targets } | Operation::Other { targets, .. } => {
                targets.clone()
            }
            Operation::Call(Call {
                invoke: Some(invoke),
                ..
            }) => {
                vec![invoke.normal, invoke.unwind]
            }
            _ => Vec::new(),
        }
    }

    /// Whether control can really go more than one way because of a value.
    pub fn decides(&self) -> bool {
        match &self.operation {
            Operation::Branch { then, otherwise } => then != otherwise,
            Operation::Switch { cases, default } => {
                cases.iter().any(|case| case.target != *default)
            }
            Operation::IndirectJump { targets } => targets.len() > 1,
            _ => false,
        }
    }
}
