//! Functions of libraries that both versions are built with. Their text is the same, so what differs in an
//! instance of one comes from what it was made for: the change is where it is used.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use changeling_program::{
    Callee, Constant, FileId, Function, FunctionId, Global, GlobalId, Instruction, Program, Value,
    is_rust,
};

use crate::Sources;
use crate::source::Which;

/// How deep constants are looked through for functions.
const DEPTH: u32 = 6;

/// For each version and function, whether it is of a library that both know.
pub struct Libraries([Vec<bool>; 2]);

impl Libraries {
    pub fn new(base: &Program, head: &Program, sources: &Sources) -> Libraries {
        let of = |own: &Program, texts: &dyn Fn(FileId) -> bool, other: &Program| {
            let paths: HashSet<PathBuf> = other.files.iter().map(|file| file.path()).collect();
            let roots: HashSet<PathBuf> = paths
                .iter()
                .filter_map(|path| compiler_root(path))
                .collect();
            let shared = own.files.iter().enumerate().map(|(number, file)| {
                let path = file.path();
                let known = paths.contains(&path)
                    || compiler_root(&path).is_some_and(|root| roots.contains(&root));
                path.is_absolute() && known && !texts(FileId::new(number))
            });
            let shared: Vec<bool> = shared.collect();
            let functions = own.functions.iter();
            let of_library = functions.map(|function| match function.place {
                Some(place) => shared[place.file.index()],
                // All of a program is built with debug information, the compiler's own library is not.
                None => is_rust(&function.symbol),
            });
            of_library.collect::<Vec<bool>>()
        };
        // Without any source nothing tells a library from the program.
        if sources.base.is_empty() || sources.head.is_empty() {
            let none = |program: &Program| vec![false; program.functions.len()];
            return Libraries([none(base), none(head)]);
        }
        Libraries([
            of(base, &|file| sources.base.contains_key(&file), head),
            of(head, &|file| sources.head.contains_key(&file), base),
        ])
    }

    /// All of them, by version.
    pub fn functions(&self) -> [Vec<FunctionId>; 2] {
        self.0.each_ref().map(|known| {
            let known = known.iter().enumerate().filter(|(_, known)| **known);
            known.map(|(number, _)| FunctionId::new(number)).collect()
        })
    }

    pub fn has(&self, which: Which, function: FunctionId) -> bool {
        self.0[which as usize][function.index()]
    }
}

/// `/rustc/HASH` of a file of Rust's own library: what one version uses of it, the other has, too.
pub fn compiler_root(path: &Path) -> Option<PathBuf> {
    let root: PathBuf = path.components().take(3).collect();
    root.starts_with("/rustc").then_some(root)
}

/// The parts of Rust's own library.
pub const OWN_CRATES: [&str; 3] = ["core", "alloc", "std"];

/// Whether a function of Rust's library depends on nothing of the program, so that two that go by the same name
/// are the same. One of them may have been compiled with the library, the other with the program. Not so in
/// headers of C and C++: there the program's macros have a say.
pub fn is_closed(function: &Function) -> bool {
    is_rust(&function.symbol) && is_made_for_own_types(&function.instance)
}

fn is_made_for_own_types(instance: &str) -> bool {
    let mut rest = instance;
    let mut behind_path = false;
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| !letter(c)).unwrap_or(rest.len());
        let (word, next) = rest.split_at(end.max(first.len_utf8()));
        let leads = letter(first) && next.starts_with("::") && !behind_path;
        // A closure or a type without a path is of nobody knows where.
        if leads && !OWN_CRATES.contains(&word) || first == '{' {
            return false;
        }
        behind_path = next.starts_with("::") || word == ":";
        rest = next;
    }
    !instance.is_empty()
}

/// What differs from its counterpart in head although its text is the same: functions of base, and variables (such as tables
/// of methods) that lead to them.
#[derive(Default)]
pub struct Apart {
    functions: HashSet<FunctionId>,
    globals: HashSet<GlobalId>,
}

impl Apart {
    /// `differing`: functions of libraries with other code in head. Those that use them differ with them.
    pub fn new(
        base: &Program,
        differing: HashSet<FunctionId>,
        of_library: impl Fn(FunctionId) -> bool,
    ) -> Apart {
        let mut apart = Apart {
            functions: differing,
            globals: HashSet::new(),
        };
        if apart.functions.is_empty() {
            return apart;
        }
        let candidates: Vec<FunctionId> = base.definitions().filter(|&id| of_library(id)).collect();
        loop {
            let before = (apart.functions.len(), apart.globals.len());
            for (number, global) in base.globals.iter().enumerate() {
                if apart.is_in_content(base, global, DEPTH) {
                    apart.globals.insert(GlobalId::new(number));
                }
            }
            for &id in &candidates {
                let mut sites = base.function(id).sites();
                if !apart.functions.contains(&id)
                    && sites.any(|site| apart.is_used_by(base, base.instruction(site)))
                {
                    apart.functions.insert(id);
                }
            }
            if before == (apart.functions.len(), apart.globals.len()) {
                return apart;
            }
        }
    }

    pub fn has(&self, function: FunctionId) -> bool {
        self.functions.contains(&function)
    }

    /// Whether an instruction of base calls or mentions something that differs.
    pub fn is_used_by(&self, base: &Program, instruction: &Instruction) -> bool {
        if self.functions.is_empty() {
            return false;
        }
        let callee = instruction.call().map(|call| &call.callee);
        matches!(callee, Some(Callee::Direct(to)) if self.has(*to))
            || instruction
                .operands
                .iter()
                .any(|&value| self.is_in(base, value, DEPTH))
    }

    fn is_in(&self, base: &Program, value: Value, depth: u32) -> bool {
        if depth == 0 {
            return false;
        }
        let within = |value: &Value| self.is_in(base, *value, depth - 1);
        match value {
            Value::Function(id) => self.has(id),
            Value::Global(id) => self.globals.contains(&id),
            Value::Constant(id) => match base.constant(id) {
                Constant::Aggregate { elements, .. } => elements.iter().any(within),
                Constant::Expression { operands, .. } => operands.iter().any(within),
                Constant::Offset { base, .. } => within(base),
                _ => false,
            },
            Value::Result(_) | Value::Argument(_) => false,
        }
    }

    /// Named ones count as well: a table of virtual functions holds the same names, whatever these do.
    fn is_in_content(&self, base: &Program, global: &Global, depth: u32) -> bool {
        let content = global.initialiser;
        content.is_some_and(|value| self.is_in(base, value, depth))
    }
}

#[cfg(test)]
mod tests {
    use super::is_made_for_own_types as is_closed;

    #[test]
    fn instances_for_types_of_the_library_are_closed() {
        assert!(is_closed("read"));
        assert!(is_closed("push<u8, alloc::alloc::Global>"));
        assert!(is_closed(
            "from<&str, alloc::vec::Vec<core::option::Option<u8>>>"
        ));
        assert!(!is_closed("push<wild::State, alloc::alloc::Global>"));
        assert!(!is_closed("map<core::str::Chars, {closure_env#0}>"));
        assert!(!is_closed("next<core::slice::Iter<std_like::Word>>"));
        assert!(!is_closed(""));
    }
}
