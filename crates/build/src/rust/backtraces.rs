//! The part of Rust's standard library that prints backtraces, and finds names and lines for them in debug
//! information: most of a small Rust program.
//!
//! The traced binary has no debug information, so it would find nothing. In prepared bitcode a panic prints no
//! backtrace, the frames of others have no names, and what only that calls is no part of the program. The plain
//! binary is as it was.

use inkwell::context::ContextRef;
use inkwell::module::{Linkage, Module};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, FunctionValue};

/// Parts of names, in this order, of functions of the standard library through which all of it is called: of what
/// looks for names, and of what prints the backtrace of a panic. A program may have a copy of the same crate under
/// another name, which stays.
const ENTRIES: [&[&str]; 4] = [
    &[
        "3std12backtrace_rs9symbolize5gimli",
        "5Cache",
        "11with_global",
    ],
    &[
        "3std3sys9backtrace",
        "13BacktraceLock",
        "5print",
        "16DisplayBacktrace",
        "7Display3fmt",
    ],
    &[
        "std..sys..backtrace..BacktraceLock..print..DisplayBacktrace",
        "fmt..Display$GT$3fmt",
    ],
    &[
        "std..sys_common..backtrace.._print..DisplayBacktrace",
        "fmt..Display$GT$3fmt",
    ],
];

/// What the functions in their place are called: the tracer tells that a run which comes there is not seen as a whole.
const REPLACED: &str = "changeling_backtrace";

/// Puts functions that do nothing in place of those that print backtraces.
pub fn drop_backtraces(module: &Module<'_>) {
    let functions: Vec<FunctionValue> = module.get_functions().collect();
    let is_entry = |function: &&FunctionValue| {
        let name = function.get_name().to_string_lossy();
        function.count_basic_blocks() > 0 && is_entry(&name)
    };
    for &function in functions.iter().filter(is_entry) {
        replace(module, function);
    }
}

fn is_entry(name: &str) -> bool {
    let has = |parts: &&[&str]| {
        let mut rest = name;
        parts.iter().all(|part| {
            let found = rest.find(part).map(|at| at + part.len());
            rest = &rest[found.unwrap_or(0)..];
            found.is_some()
        })
    };
    ENTRIES.iter().any(has)
}

/// The function itself, without a user, is dropped with what it calls by the passes that follow. The one in its place
/// returns nothing, or `Ok(())`, which is `false`.
fn replace<'a>(module: &Module<'a>, function: FunctionValue<'a>) {
    let returned = match function.get_type().get_return_type() {
        None => None,
        Some(BasicTypeEnum::IntType(bit)) if bit.get_bit_width() == 1 => Some(bit.const_zero()),
        Some(_) => return,
    };
    let empty = module.add_function(REPLACED, function.get_type(), Some(Linkage::Internal));
    empty.set_call_conventions(function.get_call_conventions());
    let context: ContextRef = module.get_context();
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(empty, "entry"));
    let value = returned.as_ref().map(|value| value as &dyn BasicValue);
    let built = builder.build_return(value);
    built.expect("the builder stands at the end of a block");
    function.replace_all_uses_with(empty);
    function.set_linkage(Linkage::Internal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_library_s_own_functions_are_found() {
        let own = "_RINvMs0_NtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimliNtB6_5Cache11with_globalNCNvB6_7resolves_0EBc_";
        let legacy = "_ZN3std12backtrace_rs9symbolize5gimli5Cache11with_global17h0123456789abcdefE";
        assert!(is_entry(own) && is_entry(legacy));
        let print = "_RNvXNvMNtNtCsjrHSEGnQ3l9_3std3sys9backtraceNtB5_13BacktraceLock5printNtB2_16DisplayBacktraceNtNtCsgEmfK2I1SDS_4core3fmt7Display3fmt";
        assert!(is_entry(print));
        let crates = "_RINvMs0_NtNtCsjrHSEGnQ3l9_9backtrace9symbolize5gimliNtB6_5Cache11with_globalNCNvB6_7resolves_0EBc_";
        let within =
            "_RNvNvMs0_NtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimliNtB7_5Cache3new";
        assert!(!is_entry(crates) && !is_entry(within));
    }
}
