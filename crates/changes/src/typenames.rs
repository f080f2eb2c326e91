//! The texts that C++ keeps of the names of types, of which a program takes no notice unless it asks for them.

use std::collections::HashSet;

use changeling_program::{
    Callee, Constant, Global, GlobalId, Instruction, Operation, Program, Value,
};

use crate::globals::{GlobalPair, uses};

const TEXT: &str = "_ZTS";
const DESCRIPTION: &str = "_ZTI";
/// Members of `std::type_info` whose results depend on the name.
const TELLING: [&str; 3] = [
    "_ZNKSt9type_info4nameEv",
    "_ZNKSt9type_info9hash_codeEv",
    "_ZNKSt9type_info6beforeERKS_",
];

/// Whether both are the names of one type, which was renamed, and neither version can show them. The description of a
/// type leads to its name, and is given away by `throw`, whose type is told if nobody catches it.
pub fn are_unread((base, head): (&Program, &Program), (left, right): GlobalPair) -> bool {
    let sides = [(base, left), (head, right)];
    sides.into_iter().all(|(program, text)| {
        let global = program.global(text);
        is_own_name(program, global) && !is_asked_for(program, text)
    })
}

fn is_own_name(program: &Program, global: &Global) -> bool {
    let Some(Value::Constant(id)) = global.initialiser else {
        return false;
    };
    let name = global.symbol.strip_prefix(TEXT);
    name.is_some_and(|name| match program.constant(id) {
        Constant::Bytes { bytes, .. } => {
            // A star says that the type is known in its file only.
            let text = bytes.strip_prefix(b"*").unwrap_or(bytes);
            text.strip_suffix(b"\0") == Some(name.as_bytes())
        }
        _ => false,
    })
}

fn is_asked_for(program: &Program, text: GlobalId) -> bool {
    let functions = program.functions.iter();
    if functions
        .into_iter()
        .any(|function| TELLING.contains(&function.symbol.as_str()))
    {
        return true;
    }
    let name = &program.global(text).symbol[TEXT.len()..];
    let ids = (0..program.globals.len()).map(GlobalId::new);
    let of_type = ids.filter(|&id| {
        let symbol = program.global(id).symbol.strip_prefix(DESCRIPTION);
        id == text || symbol == Some(name)
    });
    let used = uses(program, of_type.collect::<HashSet<GlobalId>>());
    let mut sites = used.into_values().flatten();
    sites.any(|site| !only_compares(program, program.instruction(site)))
}

/// Descriptions are compared to find the handler of an exception and the class of an object.
fn only_compares(program: &Program, instruction: &Instruction) -> bool {
    if matches!(instruction.operation, Operation::LandingPad { .. }) {
        return true;
    }
    let callee = instruction.call().map(|call| &call.callee);
    let Some(Callee::Direct(callee)) = callee else {
        return false;
    };
    let symbol = &program.function(*callee).symbol;
    symbol == "__dynamic_cast" || symbol.starts_with("llvm.eh.typeid.for")
}
