//! Numbers that stand for constants and variables, comparable across versions: nameless ones go by what they hold.

use changeling_program::{
    Constant, ConstantId, Global, GlobalId, Linkage, Program, TypeId, Value, stable_name,
};

use crate::keys::{Keys, Names, hash};

/// Constants that hold constants are looked through so far, more than any program nests them: only to be sure that
/// there is room on the stack.
const DEPTH: u32 = 200;

pub struct Contents<'a> {
    program: &'a Program,
    names: &'a Names,
    keys: &'a Keys<'a>,
    /// What is known so far. What is being looked at counts as 0, which ends cycles.
    constants: Vec<Option<u64>>,
    globals: Vec<Option<u64>>,
}

impl<'a> Contents<'a> {
    /// `keys` must know types, functions and labels.
    pub fn new(program: &'a Program, names: &'a Names, keys: &'a Keys<'a>) -> Contents<'a> {
        Contents {
            program,
            names,
            keys,
            constants: vec![None; program.constants.len()],
            globals: vec![None; program.globals.len()],
        }
    }

    pub fn globals(&mut self) -> Vec<u64> {
        let all = (0..self.globals.len()).map(GlobalId::new);
        all.map(|id| self.global(id, DEPTH)).collect()
    }

    pub fn constants(&mut self) -> Vec<u64> {
        let all = (0..self.constants.len()).map(ConstantId::new);
        all.map(|id| self.constant(id, DEPTH)).collect()
    }

    /// Literals and other nameless constants go by contents, the rest by name.
    fn global(&mut self, id: GlobalId, depth: u32) -> u64 {
        if let Some(known) = self.globals[id.index()] {
            return known;
        }
        let global = self.program.global(id);
        let key = if is_nameless(global) {
            if depth == 0 {
                return 0;
            }
            self.globals[id.index()] = Some(0);
            let content = global.initialiser.map(|value| self.value(value, depth - 1));
            hash(&("content", self.ty(global.ty), content))
        } else if let Some(name) = self.names.globals.get(&id) {
            hash(&("global", name))
        } else {
            let local = global.linkage == Linkage::Internal;
            hash(&("global", stable_name(&global.symbol, local)))
        };
        self.globals[id.index()] = Some(key);
        key
    }

    fn constant(&mut self, id: ConstantId, depth: u32) -> u64 {
        if let Some(known) = self.constants[id.index()] {
            return known;
        }
        if depth == 0 {
            return 0;
        }
        self.constants[id.index()] = Some(0);
        let key = self.constant_key(self.program.constant(id), depth - 1);
        self.constants[id.index()] = Some(key);
        key
    }

    fn constant_key(&mut self, constant: &Constant, depth: u32) -> u64 {
        match constant {
            Constant::Integer { ty, bits } => hash(&("integer", self.ty(*ty), bits)),
            Constant::Float { ty, text } => hash(&("float", self.ty(*ty), text)),
            Constant::Null { .. } => hash(&"null"),
            Constant::Zero { ty } => hash(&("zero", self.ty(*ty))),
            Constant::Undefined { ty, poison } => hash(&("undefined", self.ty(*ty), poison)),
            Constant::Bytes { ty, bytes } => hash(&("bytes", self.ty(*ty), bytes)),
            Constant::Aggregate { elements, .. } if self.is_place(elements) => hash(&"place"),
            Constant::Aggregate { ty, elements } => {
                let elements = self.values(elements, depth);
                hash(&("aggregate", self.ty(*ty), elements))
            }
            Constant::Offset { base, bytes } => hash(&("offset", self.value(*base, depth), bytes)),
            Constant::Expression {
                ty,
                operation,
                operands,
            } => {
                let operands = self.values(operands, depth);
                hash(&("expression", self.ty(*ty), operation, operands))
            }
            Constant::BlockAddress { function, block } => {
                let name = self.keys.labels.get(block);
                hash(&("label", self.keys.function(*function), name))
            }
            Constant::Opaque { ty, text } => hash(&("opaque", self.ty(*ty), without_numbers(text))),
        }
    }

    fn values(&mut self, values: &[Value], depth: u32) -> Vec<u64> {
        let all = values.iter();
        all.map(|&value| self.value(value, depth)).collect()
    }

    /// Inside constants, where nothing is local.
    fn value(&mut self, value: Value, depth: u32) -> u64 {
        match value {
            Value::Constant(id) => self.constant(id, depth),
            Value::Global(id) => self.global(id, depth),
            Value::Function(id) => self.keys.function(id),
            Value::Result(_) | Value::Argument(_) => 0,
        }
    }

    fn ty(&self, id: TypeId) -> u64 {
        self.keys.ty(id)
    }

    /// Whether a constant only says at which line and column of a Rust file
    /// something stands: a file name, then its length, line and column. Where it stands is no part of what it does.
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
        let name = self.program.global(*file).initialiser.and_then(bytes);
        let name = name.map(|name| name.strip_suffix(b"\0").unwrap_or(name));
        name.is_some_and(|name| name.ends_with(b".rs"))
            && bytes(*numbers).is_some_and(|numbers| numbers.len() == 16)
    }
}

/// String literals, switch tables and the like, whose names mean nothing.
pub fn is_nameless(global: &Global) -> bool {
    let name = &global.symbol;
    let made_up = [
        ".str",
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
