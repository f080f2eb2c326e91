//! The part of Rust's standard library that prints backtraces.
//!
//! It reads the program's own debug information and is in every Rust program,
//! more than half of a small one. No input gets there, so its values carry no
//! labels, nobody asks which of its blocks ran, and time spent on optimising it
//! would be lost. What it calls is traced like all other code.

use crate::ir::{Ir, Opcode, Value};
use std::collections::HashSet;

/// The module of the standard library, as it appears in mangled names.
const ROOT: &str = "12backtrace_rs";

/// Crates that it is made of. Programs may have copies of their own.
const CRATES: &[&str] = &["5gimli", "9addr2line", "14rustc_demangle", "11miniz_oxide"];

/// Functions that only that part calls.
pub fn functions(functions: &[Value]) -> HashSet<Value> {
    let mut found: HashSet<Value> = functions
        .iter()
        .copied()
        .filter(|function| is_candidate(&function.name()))
        .collect();
    loop {
        let others: Vec<Value> = found
            .iter()
            .copied()
            .filter(|function| !function.name().contains(ROOT) && is_called(*function, &found))
            .collect();
        if others.is_empty() {
            return found;
        }
        for function in others {
            found.remove(&function);
        }
    }
}

pub fn leave_unoptimised(ir: Ir, functions: &HashSet<Value>) {
    for function in functions {
        ir.leave_unoptimised(*function);
    }
}

fn is_candidate(symbol: &str) -> bool {
    symbol.starts_with('_')
        && (symbol.contains(ROOT) || CRATES.iter().any(|part| symbol.contains(part)))
}

fn is_called(function: Value, inside: &HashSet<Value>) -> bool {
    function.users().into_iter().any(|user| {
        user.is_instruction()
            && matches!(user.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke)
            && !inside.contains(&user.enclosing_function())
    })
}
