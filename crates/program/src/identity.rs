//! Numbers that stand for parts of a program. Each kind of number is a type of
//! its own, so that a block can never be taken for a function.

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("a program has fewer than 2^32 parts of a kind"))
            }

            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// A function, defined or only declared, in module order.
    FunctionId
);
index!(
    /// A basic block. Blocks are numbered through the whole program, in module
    /// order, from 0.
    BlockId
);
index!(GlobalId);
index!(TypeId);
index!(ConstantId);
index!(FileId);
index!(LocationId);
index!(VariableId);

/// An instruction's number: instructions of the prepared bitcode are counted
/// from 1 in module order (functions in the order of the module, their blocks
/// in order, the instructions of a block in order). Debug records are not
/// instructions and are not counted. The tracer numbers alike, so a site of a
/// trace and a site of a program are the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Site(pub u32);

impl Site {
    pub const FIRST: Site = Site(1);

    /// Position in [`crate::Program::instructions`].
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    pub fn from_index(index: usize) -> Site {
        Site(u32::try_from(index + 1).expect("a program has fewer than 2^32 instructions"))
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
