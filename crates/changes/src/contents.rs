//! Numbers that stand for constants and variables, comparable across versions: nameless ones go by what they hold.

use changeling_program::{
    Constant, Global, GlobalId, Linkage, Program, Shape, TypeId, Value, stable_name,
};

use crate::keys::{Keys, Names, hash};

/// How long a chain of nameless constants that lead to each other is followed, if it does not end before.
const LONGEST_CHAIN: u32 = 64;

pub struct Contents<'a> {
    program: &'a Program,
    names: &'a Names,
    keys: &'a Keys<'a>,
    /// Of nameless globals, what is in them.
    nameless: Vec<u64>,
}

impl<'a> Contents<'a> {
    /// `keys` must know types, functions and labels.
    pub fn new(program: &'a Program, names: &'a Names, keys: &'a Keys<'a>) -> Contents<'a> {
        let mut contents = Contents {
            program,
            names,
            keys,
            nameless: vec![0; program.globals.len()],
        };
        contents.look_into_nameless();
        contents
    }

    /// Nameless constants lead to others, and these to further ones, perhaps back to where they came from: tables of tables of
    /// texts. Each round looks one step further, until nothing new is seen.
    fn look_into_nameless(&mut self) {
        for _ in 0..LONGEST_CHAIN {
            let globals = self.program.globals.iter();
            let next = globals.map(|global| match is_nameless(global) {
                true => {
                    let content = global.initialiser.map(|value| self.value(value));
                    hash(&("content", self.ty(global.ty), content))
                }
                false => 0,
            });
            let next: Vec<u64> = next.collect();
            if next == self.nameless {
                return;
            }
            self.nameless = next;
        }
    }

    pub fn globals(&self) -> Vec<u64> {
        let all = (0..self.program.globals.len()).map(GlobalId::new);
        all.map(|id| self.global(id)).collect()
    }

    pub fn constants(&self) -> Vec<u64> {
        let all = self.program.constants.iter();
        all.map(|constant| self.constant(constant)).collect()
    }

    /// Literals and other nameless constants go by contents, the rest by name.
    fn global(&self, id: GlobalId) -> u64 {
        let global = self.program.global(id);
        if is_nameless(global) {
            self.nameless[id.index()]
        } else if let Some(name) = self.names.globals.get(&id) {
            hash(&("global", name))
        } else {
            let local = global.linkage == Linkage::Internal;
            hash(&("global", stable_name(&global.symbol, local)))
        }
    }

    fn constant(&self, constant: &Constant) -> u64 {
        match constant {
            Constant::Integer { ty, bits } => hash(&("integer", self.ty(*ty), bits)),
            Constant::Float { ty, text } => hash(&("float", self.ty(*ty), text)),
            Constant::Null { .. } => hash(&"null"),
            Constant::Zero { ty } => hash(&("zero", self.ty(*ty))),
            Constant::Undefined { ty, poison } => hash(&("undefined", self.ty(*ty), poison)),
            Constant::Bytes { ty, bytes } => hash(&("bytes", self.ty(*ty), bytes)),
            Constant::Aggregate { elements, .. } if self.is_place(elements) => hash(&"place"),
            Constant::Aggregate { ty, elements } => {
                let elements = self.values(elements);
                hash(&("aggregate", self.ty(*ty), elements))
            }
            Constant::Offset { base, bytes } => hash(&("offset", self.value(*base), bytes)),
            Constant::Expression {
                ty,
                operation,
                operands,
            } => {
                let operands = self.values(operands);
                hash(&("expression", self.ty(*ty), operation, operands))
            }
            Constant::BlockAddress { function, block } => {
                let name = self.keys.labels.get(block);
                hash(&("label", self.keys.function(*function), name))
            }
            Constant::Opaque { ty, text } => match self.program.ty(*ty).shape {
                Shape::Metadata => hash(&("opaque", self.ty(*ty), without_numbers(text))),
                // A number that is too wide to be kept as one, or another of many digits.
                _ => hash(&("opaque", self.ty(*ty), text)),
            },
        }
    }

    fn values(&self, values: &[Value]) -> Vec<u64> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    /// Inside constants, where nothing is local.
    fn value(&self, value: Value) -> u64 {
        match value {
            Value::Constant(id) => self.constant(self.program.constant(id)),
            Value::Global(id) => self.global(id),
            Value::Function(id) => self.keys.address(id),
            Value::Result(_) | Value::Argument(_) => 0,
        }
    }

    fn ty(&self, id: TypeId) -> u64 {
        self.keys.ty(id)
    }

    /// Whether a constant only says at which line and column of a Rust file
    /// something stands: a file name, then its length, line and column. Where it stands is no part of what it does, unless the
    /// program looks at it.
    fn is_place(&self, elements: &[Value]) -> bool {
        let bytes = |value: Value| match value {
            Value::Constant(id) => match self.program.constant(id) {
                Constant::Bytes { bytes, .. } => Some(bytes),
                _ => None,
            },
            _ => None,
        };
        let [Value::Global(file), numbers] = elements else {
            return false;
        };
        let file = self.program.global(*file);
        // As Rust's compiler calls what has no name.
        if !file.symbol.starts_with("alloc_") && !file.symbol.starts_with("anon.") {
            return false;
        }
        let name = file.initialiser.and_then(bytes);
        // The compiler ends these names by a zero that does not count; a text of the program, in a table of its own,
        // has its whole length.
        let name = name.and_then(|name| name.strip_suffix(b"\0"));
        let is_of_file = |name: &[u8], numbers: &[u8]| {
            let length = numbers
                .first_chunk()
                .map(|bytes| u64::from_le_bytes(*bytes));
            name.ends_with(b".rs") && numbers.len() == 16 && length == Some(name.len() as u64)
        };
        let numbers = bytes(*numbers);
        !self.names.places_count
            && name
                .zip(numbers)
                .is_some_and(|(name, numbers)| is_of_file(name, numbers))
    }
}

/// String literals, switch tables and the like, whose names mean nothing.
pub fn is_nameless(global: &Global) -> bool {
    let name = &global.symbol;
    let made_up = [
        ".str",
        ".compoundliteral",
        ".L",
        "alloc_",
        "vtable.",
        "switch.table",
        "anon.",
        "__const.",
        "__func__.",
        "__PRETTY_FUNCTION__.",
        "str.",
    ];
    global.constant
        && global.linkage == Linkage::Internal
        && (name.is_empty() || made_up.iter().any(|prefix| name.starts_with(prefix)))
}

/// Metadata and the like print with numbers that depend on the rest of the module.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}
