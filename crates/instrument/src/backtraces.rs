//! What prints backtraces in Rust.
//!
//! Bitcode comes without the part of the standard library that does (`build`), with functions in its place that do
//! nothing. A run that comes to one of these is not seen as a whole.
//!
//! Programs may have copies of the crates that it is made of. They read the program's own debug information, and no
//! input gets there, so their values carry no labels, nobody asks which of their blocks ran, and time spent on
//! optimising them would be lost. What they call is traced like all other code.

use crate::ir::{Cursor, Ir, Value};
use std::collections::HashSet;

/// The module of the standard library, as it appears in mangled names.
const ROOT: &str = "12backtrace_rs";

/// Crates that it is made of. Programs may have copies of their own.
const CRATES: &[&str] = &["5gimli", "9addr2line", "14rustc_demangle", "11miniz_oxide"];

/// What the functions that do nothing are called, with a number behind it if there are several.
const REPLACED: &str = "changeling_backtrace";
/// Part of the tracer: what is not followed from here on, bits of [`changeling_trace::layout::unseen`].
const UNTRACED: &str = "__chg_rt_untraced_input";

/// Tells of runs that should print backtraces.
pub fn account(ir: Ir, functions: &[Value]) {
    let is_replaced = |function: &&Value| function.name().starts_with(REPLACED);
    let replaced: Vec<&Value> = functions.iter().filter(is_replaced).collect();
    if replaced.is_empty() {
        return;
    }
    let untraced = ir.add_function(UNTRACED, ir.void(), &[ir.int(32)]);
    ir.attribute(untraced, "nounwind");
    let cursor = Cursor::new(ir);
    for function in replaced {
        let start = function
            .blocks()
            .first()
            .and_then(|block| block.first_insertion());
        cursor.before(start.expect("a function has a beginning"));
        cursor.call(untraced, &[ir.constant(32, u32::MAX.into())]);
    }
}

/// Functions that only such crates call.
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
        user.is_instruction() && user.is_call() && !inside.contains(&user.enclosing_function())
    })
}
