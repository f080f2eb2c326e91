//! Printing in Rust: which functions of its library print numbers, write to
//! strings and write to standard output, and the models that stand in for them.
//!
//! The library comes as optimised bitcode, so these functions are found by name,
//! and the models rest on the form of its structures; if that is not the known one,
//! everything stays as it is and digits are traced like other code.

use crate::ir::{Cursor, Ir, Kind, Opcode, Type, Value};
use crate::redirect;
use crate::sites::demangled;
use std::collections::HashMap;

/// The library's own function, as models call it, and the model.
const REAL: &str = "__real_rust_";
const MODEL: &str = "__model_rust_";

/// Names of functions that write to standard output and error.
const STREAMS: &str = "__chg_rust_streams";

const TRAITS: [&str; 4] = ["Display", "LowerHex", "UpperHex", "Octal"];
const INTEGERS: [&str; 10] = [
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
];

/// What a string can do, and the models of it.
const STRING: [(&str, &str); 7] = [
    (
        "<alloc::string::String as core::fmt::Write>::write_str",
        "write_str",
    ),
    (
        "<alloc::string::String as core::fmt::Write>::write_char",
        "write_char",
    ),
    ("alloc::string::String::push_str", "push_str"),
    ("<alloc::string::String>::push_str", "push_str"),
    ("alloc::string::String::push", "push"),
    ("<alloc::string::String>::push", "push"),
    (
        "<alloc::string::String as core::clone::Clone>::clone",
        "clone",
    ),
];
const TO_STRING: &str = " as alloc::string::SpecToString>::spec_to_string";

/// What turns writing of bytes into writing of text; what it writes to is `T` in older names.
const ADAPTER: &str = "std::io::default_write_fmt::Adapter<";
/// Writers that lead to standard output and error and tell nobody how much they wrote.
const WRITERS: [&str; 8] = [
    "std::io::stdio::Stdout",
    "std::io::stdio::StdoutLock",
    "std::io::stdio::StdoutRaw",
    "std::io::stdio::Stderr",
    "std::io::stdio::StderrLock",
    "std::io::stdio::StderrRaw",
    "std::sys::stdio::unix::Stdout",
    "std::sys::stdio::unix::Stderr",
];
/// Writers in front of another one.
const WRAPPERS: [&str; 2] = [
    "std::io::buffered::bufwriter::BufWriter<",
    "std::io::buffered::linewriter::LineWriter<",
];

/// Their use would show where the library has put what, which models decide as in
/// this run.
const CAPACITY: &str = "alloc::string::String::capacity";
const BUFFER: &str = "std::io::buffered::bufwriter::BufWriter<W>::";
const BUFFER_USES: [&str; 3] = ["buffer", "capacity", "into_parts"];

/// Functions of a program by their plain names.
struct Names {
    functions: Vec<(String, Value)>,
}

impl Names {
    fn of(ir: Ir) -> Names {
        let functions = redirect::defined(ir)
            .into_iter()
            .filter(|function| is_rust(&function.name()))
            .map(|function| (plain_name(&function.name()), function))
            .collect();
        Names { functions }
    }

    fn has(&self, wanted: &str) -> bool {
        self.functions.iter().any(|(name, _)| name == wanted)
    }
}

fn is_rust(symbol: &str) -> bool {
    symbol.starts_with("_R") || symbol.starts_with("_ZN")
}

/// Copies of a function get numbers behind their names.
fn plain_name(symbol: &str) -> String {
    let copied = symbol.rsplit_once('.').filter(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    demangled(copied.map_or(symbol, |(name, _)| name))
}

/// Is this a program whose library prints in the way the models know?
pub fn is_wanted(ir: Ir) -> bool {
    ir.functions().into_iter().any(|function| {
        let name = function.name();
        is_rust(&name)
            && !function.is_declaration()
            && name.contains("12pad_integral")
            && demangled(&name).ends_with("Formatter>::pad_integral")
            && has_known_form(function)
    })
}

/// The function that pads numbers reads everything of a formatter that models read:
/// two pointers, flags of 32 bits and a width of 16; and the fourth entry of a
/// table of functions.
fn has_known_form(pad: Value) -> bool {
    let loads = loads(pad);
    let formatter = pad.parameters().first().copied();
    let reads = |offset: u64, wanted: &dyn Fn(Type) -> bool| {
        loads
            .iter()
            .any(|(base, at, ty)| Some(*base) == formatter && *at == offset && wanted(*ty))
    };
    let is_int =
        |bits| move |ty: Type| ty.kind() == Kind::LLVMIntegerTypeKind && ty.int_bits() == bits;
    let is_pointer = |ty: Type| ty.kind() == Kind::LLVMPointerTypeKind;
    reads(0, &is_pointer)
        && reads(8, &is_pointer)
        && reads(16, &is_int(32))
        && reads(20, &is_int(16))
        && loads
            .iter()
            .any(|(base, at, ty)| Some(*base) != formatter && *at == 24 && is_pointer(*ty))
}

/// Writing to a string reads its capacity, the place of its bytes and its length, in
/// this order. A copy of the function that was not optimised leaves that to another one.
fn has_known_string(names: &Names) -> bool {
    let forms: Vec<HashMap<u64, Type>> = names
        .functions
        .iter()
        .filter(|(name, _)| name == STRING[0].0)
        .map(|(_, function)| loaded_fields(*function))
        .filter(|fields| !fields.is_empty())
        .collect();
    let is_known = |fields: &HashMap<u64, Type>| {
        let kind = |offset| fields.get(&offset).map(|ty| ty.kind());
        kind(0) == Some(Kind::LLVMIntegerTypeKind)
            && kind(8) == Some(Kind::LLVMPointerTypeKind)
            && kind(16) == Some(Kind::LLVMIntegerTypeKind)
    };
    !forms.is_empty() && forms.iter().all(is_known)
}

/// What a function loads from the structure that its first parameter points to.
fn loaded_fields(function: Value) -> HashMap<u64, Type> {
    let structure = function.parameters().first().copied();
    loads(function)
        .into_iter()
        .filter(|(base, _, _)| Some(*base) == structure)
        .map(|(_, offset, ty)| (offset, ty))
        .collect()
}

/// Base, offset and type of all loads of a function.
fn loads(function: Value) -> Vec<(Value, u64, Type)> {
    function
        .blocks()
        .into_iter()
        .flat_map(|block| block.instructions())
        .filter(|instruction| instruction.opcode() == Opcode::LLVMLoad)
        .map(|load| {
            let (base, offset) = place(load.operand(0));
            (base, offset, load.ty())
        })
        .collect()
}

/// A pointer as another one and a constant distance.
fn place(pointer: Value) -> (Value, u64) {
    if pointer.is_instruction()
        && pointer.opcode() == Opcode::LLVMGetElementPtr
        && pointer.operand_count() == 2
        && let Some(offset) = pointer.operand(1).constant_value()
    {
        return (pointer.operand(0), offset);
    }
    (pointer, 0)
}

/// Lists the functions that write to streams, before the models are linked.
pub fn list_streams(ir: Ir) {
    let names = Names::of(ir);
    let is_open = BUFFER_USES
        .iter()
        .any(|method| names.has(&format!("{BUFFER}{method}")));
    let mut streams: Vec<Value> = names
        .functions
        .iter()
        .filter(|(name, function)| {
            name.ends_with("::write_str")
                && writer(ir, name, *function)
                    .is_some_and(|writer| is_stream(&writer) && !(is_open && is_wrapped(&writer)))
        })
        .map(|(_, function)| *function)
        .collect();
    streams.push(ir.ptr().zero());
    let table = ir.add_global(STREAMS, ir.array(ir.ptr(), streams.len() as u64));
    table.set_initialiser(ir.constant_array(ir.ptr(), &streams));
    table.set_constant();
}

/// Sends calls of the library's functions to the models, which are linked by now.
pub fn to_models(ir: Ir) {
    let names = Names::of(ir);
    let is_string_open = names.has(CAPACITY) || !has_known_string(&names);
    let mut known: HashMap<String, Value> = HashMap::new();
    for (name, function) in &names.functions {
        let Some(model) = model_of(name) else {
            continue;
        };
        if is_string_open && model.contains("string") {
            continue;
        }
        let Some(stand_in) = ir.function(&format!("{MODEL}{model}")) else {
            continue;
        };
        if stand_in.function_type() != function.function_type() {
            continue;
        }
        function.replace_uses(stand_in);
        known.entry(model).or_insert(*function);
    }
    for function in ir.functions() {
        if let Some(name) = function.name().strip_prefix(REAL) {
            // A model of what the program does not have is never called.
            let real = known.get(name).copied();
            function.replace_uses(real.unwrap_or_else(|| ir.ptr().zero()));
        }
    }
}

fn model_of(name: &str) -> Option<String> {
    if let Some((_, method)) = STRING.iter().find(|(method, _)| *method == name) {
        return Some(format!("string_{method}"));
    }
    if let Some(this) = name.strip_suffix(TO_STRING) {
        let integer = this.strip_prefix('<')?;
        return INTEGERS
            .contains(&integer)
            .then(|| format!("to_string_{integer}"));
    }
    if matches!(name, "<str as core::fmt::Display>::fmt") {
        return Some("show_str".into());
    }
    let shown = name.strip_suffix("::fmt")?;
    let (kind, integer) = match shown.strip_prefix('<')?.split_once(" as core::fmt::") {
        Some((integer, kind)) => (kind.strip_suffix('>')?, integer),
        None => return None,
    };
    (TRAITS.contains(&kind) && INTEGERS.contains(&integer)).then(|| format!("{kind}_{integer}"))
}

/// What an adapter writes to, if the function is one's.
fn writer(ir: Ir, name: &str, function: Value) -> Option<String> {
    let generic = || {
        let debug = ir.debug_name(function)?;
        let (_, arguments) = debug.split_once('<')?;
        arguments.strip_suffix('>').map(str::to_owned)
    };
    let adapted = match name.strip_prefix('<') {
        Some(rest) => {
            let (this, _) = rest.split_once(" as core::fmt::Write>::write_")?;
            this.strip_prefix(ADAPTER)?.strip_suffix('>')?.to_owned()
        }
        None if name == "core::fmt::Write::write_char" => {
            let this = generic()?;
            return Some(this.strip_prefix(ADAPTER)?.strip_suffix('>')?.to_owned());
        }
        None => return None,
    };
    if adapted == "T" {
        generic()
    } else {
        Some(adapted)
    }
}

fn is_stream(writer: &str) -> bool {
    let writer = writer.trim_start_matches('&').trim_start_matches("mut ");
    if WRITERS.contains(&writer) {
        return true;
    }
    WRAPPERS.iter().any(|wrapper| {
        let inner = writer.strip_prefix(wrapper);
        inner.is_some_and(|inner| inner.strip_suffix('>').is_some_and(is_stream))
    })
}

fn is_wrapped(writer: &str) -> bool {
    writer.contains(WRAPPERS[0])
}

/// Tells the runtime while the program is in code that only passes text on: the
/// library's part of writing to standard output and error. Returns those functions.
pub fn mark_passages(ir: Ir, functions: &[Value]) -> Vec<Value> {
    let passages: Vec<Value> = functions
        .iter()
        .copied()
        .filter(|function| is_rust(&function.name()))
        .filter(|function| is_passage(ir, &plain_name(&function.name()), *function))
        .collect();
    if passages.is_empty() || ir.global(STREAMS).is_none() {
        return Vec::new();
    }
    let [enter, leave, reset] = ["enter", "leave", "reset"].map(|name| {
        let function = ir.add_function(&format!("__chg_rt_text_{name}"), ir.void(), &[]);
        ir.attribute(function, "nounwind");
        function
    });
    let cursor = Cursor::new(ir);
    for passage in &passages {
        for (number, block) in passage.blocks().into_iter().enumerate() {
            if let (0, Some(first)) = (number, block.first_insertion()) {
                cursor.before(first);
                cursor.call(enter, &[]);
            }
            if let Some(end) = block.terminator()
                && end.opcode() == Opcode::LLVMRet
            {
                cursor.before(end);
                cursor.call(leave, &[]);
            }
        }
    }
    for function in functions {
        for block in function.blocks() {
            let lands = block
                .instructions()
                .iter()
                .any(|instruction| instruction.opcode() == Opcode::LLVMLandingPad);
            if lands && let Some(place) = block.first_insertion() {
                cursor.before(place);
                cursor.call(reset, &[]);
            }
        }
    }
    passages
}

fn is_passage(ir: Ir, name: &str, function: Value) -> bool {
    if let Some(rest) = name.strip_prefix('<')
        && let Some((this, _)) = rest.split_once(" as std::io::Write>::write")
    {
        return is_stream(this);
    }
    writer(ir, name, function).is_some_and(|writer| is_stream(&writer))
}

/// Is this a call that tells the runtime about passages?
pub fn is_mark(call: Value) -> bool {
    let callee = call.callee();
    callee.is_function() && callee.name().starts_with("__chg_rt_text_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_print_have_models() {
        let model = |name| model_of(name);
        assert_eq!(
            model("<u32 as core::fmt::Display>::fmt").as_deref(),
            Some("Display_u32")
        );
        assert_eq!(
            model("<isize as core::fmt::LowerHex>::fmt").as_deref(),
            Some("LowerHex_isize")
        );
        assert_eq!(
            model("<alloc::string::String as core::fmt::Write>::write_str").as_deref(),
            Some("string_write_str")
        );
        assert_eq!(model("<u128 as core::fmt::Display>::fmt"), None);
        assert_eq!(model("<u32 as core::fmt::Debug>::fmt"), None);
        assert_eq!(model("<f64 as core::fmt::Display>::fmt"), None);
        assert_eq!(
            model("<alloc::string::String as core::fmt::Write>::write_fmt"),
            None
        );
    }

    #[test]
    fn writers_are_known_to_the_end() {
        assert!(is_stream("std::io::stdio::StdoutLock"));
        assert!(is_stream("&mut std::io::stdio::StdoutLock"));
        assert!(is_stream(
            "std::io::buffered::bufwriter::BufWriter<std::io::stdio::Stdout>"
        ));
        assert!(!is_stream("alloc::vec::Vec<u8>"));
        assert!(!is_stream(
            "std::io::buffered::bufwriter::BufWriter<program::Counter>"
        ));
    }
}
