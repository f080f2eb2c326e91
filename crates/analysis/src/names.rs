//! What of a program code outside of it knows by name: to call it, or to look at it.

use std::collections::{BTreeSet, HashSet};

use changeling_program::{Callee, FunctionId, GlobalId, Program, Value};

use crate::library;
use crate::reach::addresses_in;

/// Functions that libraries can call or that they call in place of theirs, that are kept for somebody who is not part of the code
/// (`used`), or whose name is in assembler.
pub fn known_functions(program: &Program) -> BTreeSet<FunctionId> {
    let words = words_of_assembler(program);
    let is_known = |id: &FunctionId| {
        let symbol = program.function(*id).symbol.as_str();
        library::replaces(symbol) || words.contains(symbol)
    };
    let mut known: BTreeSet<FunctionId> = program.definitions().filter(is_known).collect();
    let kept = kept(program).into_iter().filter_map(|value| match value {
        Value::Function(id) => Some(id),
        _ => None,
    });
    known.extend(kept);
    known.extend(&program.exported);
    known
}

/// The same for variables.
pub fn known_variables(program: &Program) -> BTreeSet<GlobalId> {
    let words = words_of_assembler(program);
    let globals = program.globals.iter().enumerate();
    let own = globals.filter(|(_, global)| global.initialiser.is_some());
    let named = own.filter(|(_, global)| words.contains(global.symbol.as_str()));
    let mut known: BTreeSet<GlobalId> = named.map(|(index, _)| GlobalId::new(index)).collect();
    let kept = kept(program).into_iter().filter_map(|value| match value {
        Value::Global(id) => Some(id),
        _ => None,
    });
    known.extend(kept);
    known.extend(&program.exported_variables);
    known
}

fn kept(program: &Program) -> Vec<Value> {
    let is_list = |symbol: &str| ["llvm.used", "llvm.compiler.used"].contains(&symbol);
    let globals = program.globals.iter();
    let lists = globals.filter(|global| is_list(&global.symbol));
    lists.flat_map(|list| addresses_in(program, list)).collect()
}

fn words_of_assembler(program: &Program) -> HashSet<&str> {
    let inline = program.instructions.iter().filter_map(|instruction| {
        match &instruction.call()?.callee {
            // The code is the first text; the second one tells of registers.
            Callee::Assembly(text) => text.split('"').nth(1),
            _ => None,
        }
    });
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    let texts = inline.chain([program.assembler.as_str()]);
    texts.flat_map(|text| text.split(|c| !is_part(c))).collect()
}
