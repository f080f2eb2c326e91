//! What code that is not traced knows by name: variables that it reads, functions that it calls.

use crate::ir::{Ir, Opcode, Value};
use crate::streams;
use std::collections::HashSet;

/// Models read and write these of the C library, labels and all.
const FOLLOWED: &[&str] = &["optarg", "opterr", "optind", "optopt"];
/// Those of the C++ library are objects of which traced code knows the parts.
const OBJECTS: &str = "_Z";

#[derive(Default)]
pub struct Named {
    /// All words in assembler: any of them may be a function, here or there.
    pub words: HashSet<String>,
    /// Variables of the program that assembler names.
    pub variables: Vec<Value>,
    /// Variables of libraries, such as `environ`.
    foreign: HashSet<Value>,
}

impl Named {
    pub fn of(ir: Ir, functions: &[Value]) -> Named {
        let words = words(ir, functions);
        let is_named = |variable: &Value| {
            !variable.is_declaration()
                && !variable.is_constant_global()
                && words.contains(&variable.name())
        };
        let is_foreign = |variable: &Value| {
            let name = variable.name();
            variable.is_declaration()
                && !name.starts_with("__chg_")
                && !name.starts_with(OBJECTS)
                && !FOLLOWED.contains(&name.as_str())
        };
        let variables = ir.globals();
        Named {
            variables: variables.iter().copied().filter(is_named).collect(),
            foreign: variables.iter().copied().filter(is_foreign).collect(),
            words,
        }
    }

    /// Whether an address is in a variable of a library, or in one of its streams: nobody sees when that is read.
    pub fn is_foreign(&self, mut pointer: Value) -> bool {
        loop {
            if self.foreign.contains(&pointer) || streams::field(pointer).is_some() {
                return true;
            }
            let is_inside = match pointer.is_instruction() {
                true => pointer.opcode() == Opcode::LLVMGetElementPtr,
                // Variables and functions have names, what is computed from them has none.
                false => {
                    pointer.is_constant()
                        && pointer.name().is_empty()
                        && pointer.operand_count() > 0
                }
            };
            if !is_inside {
                return false;
            }
            pointer = pointer.operand(0);
        }
    }
}

fn words(ir: Ir, functions: &[Value]) -> HashSet<String> {
    let inline = functions
        .iter()
        .flat_map(|function| function.blocks())
        .flat_map(|block| block.instructions())
        .filter(|i| i.is_call())
        .map(|call| call.callee())
        .filter(|callee| callee.is_inline_asm())
        .map(|code| code.asm_text());
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    let mut words = HashSet::new();
    for text in inline.chain([ir.assembler()]) {
        let parts = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
        words.extend(parts.map(str::to_owned));
    }
    words
}
