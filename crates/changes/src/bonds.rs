//! What may change places with what.

use changeling_analysis::library::{self, Writes};
use changeling_program::{Call, Callee, Instruction, Operation, Program};

/// What an instruction's place among others rests on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bond {
    /// It may stand anywhere.
    None,
    /// On what may write before it, and on whether it runs at all: it may fail.
    Reads,
    /// It may write, do something that is seen, or decide what comes next.
    Acts,
}

impl Bond {
    /// Whether two must not change places.
    pub fn binds(self, other: Bond) -> bool {
        match self {
            Bond::None => false,
            Bond::Reads => other == Bond::Acts,
            Bond::Acts => other != Bond::None,
        }
    }
}

pub fn bond(program: &Program, instruction: &Instruction) -> Bond {
    match &instruction.operation {
        operation if operation.computes() => Bond::None,
        // One by zero ends the program.
        Operation::Binary(..) => Bond::Reads,
        Operation::Address(_)
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. }
        | Operation::Alloca { .. } => Bond::None,
        Operation::Load(access) if !access.volatile && !access.atomic => Bond::Reads,
        Operation::Call(Call {
            callee: Callee::Direct(callee),
            ..
        }) => {
            let symbol = &program.function(*callee).symbol;
            let computes =
                symbol.starts_with("llvm.") && library::writes(symbol) == Writes::Nothing;
            if computes { Bond::Reads } else { Bond::Acts }
        }
        _ => Bond::Acts,
    }
}
