//! Whether a program looks at the places in its source that calls and panics carry about. Mostly only the message of a
//! panic tells them, and there they are not compared.

use std::collections::{HashMap, HashSet};

use changeling_program::{Callee, Constant, Function, FunctionId, Program, Site, Value};

use crate::contents::is_nameless;
use crate::libraries::compiler_root;

/// Where Rust's library has what a place can be asked.
const SOURCE: &str = "core/src/panic/location.rs";
/// The type that it is about, in names.
const TYPE: &str = "panic::location::Location";
/// Who sets one of these is told of places.
const HOOKS: [&str; 2] = ["::set_hook", "::update_hook"];

/// Whether code that is not of Rust's own library may look at a place.
pub fn are_read(program: &Program) -> bool {
    Reader::new(program).is_some_and(|mut reader| {
        let mut sites = program.sites();
        sites.any(|site| reader.reads(site))
    })
}

struct Reader<'p> {
    program: &'p Program,
    /// By file, whether it is the one about places.
    about: Vec<bool>,
    /// By file, whether it is of the compiler's library.
    of_compiler: Vec<bool>,
    /// Functions that look at places or are told of them.
    functions: HashSet<FunctionId>,
    /// By value in a constant, whether one of them is in it.
    known: HashMap<Value, bool>,
}

impl<'p> Reader<'p> {
    /// None if there is nothing of the kind.
    fn new(program: &'p Program) -> Option<Reader<'p>> {
        let paths: Vec<_> = program.files.iter().map(|file| file.path()).collect();
        let about: Vec<bool> = paths.iter().map(|path| path.ends_with(SOURCE)).collect();
        let is_about = |function: &Function| {
            function
                .place
                .is_some_and(|place| about[place.file.index()])
                || [&function.name, &function.instance]
                    .iter()
                    .any(|name| name.contains(TYPE))
                || HOOKS.iter().any(|hook| function.name.ends_with(hook))
        };
        let all = program.function_ids();
        let functions: HashSet<FunctionId> =
            all.filter(|&id| is_about(program.function(id))).collect();
        let of_compiler = paths.iter().map(|path| compiler_root(path).is_some());
        let of_compiler = of_compiler.collect();
        let is_there = !functions.is_empty() || about.contains(&true);
        is_there.then(|| Reader {
            program,
            about,
            of_compiler,
            functions,
            known: HashMap::new(),
        })
    }

    fn reads(&mut self, site: Site) -> bool {
        let program = self.program;
        let stands = |marked: &[bool], wanted: bool| {
            let mut places = program.inlining(site);
            places.any(|place| marked[place.file.index()] == wanted)
        };
        // What the library does with them by itself ends in messages.
        if !stands(&self.of_compiler, false) {
            return false;
        }
        let instruction = program.instruction(site);
        let called = match instruction.call().map(|call| &call.callee) {
            Some(Callee::Direct(callee)) => self.functions.contains(callee),
            _ => false,
        };
        let mut operands = instruction.uses();
        called || stands(&self.about, true) || operands.any(|value| self.leads_there(value))
    }

    /// Whether a value is, or holds, the address of one of the functions.
    fn leads_there(&mut self, value: Value) -> bool {
        let program = self.program;
        let parts: &[Value] = match value {
            Value::Function(id) => return self.functions.contains(&id),
            Value::Result(_) | Value::Argument(_) => return false,
            _ if self.known.contains_key(&value) => return self.known[&value],
            Value::Global(id) => {
                let global = program.global(id);
                let content = global.initialiser.as_ref().filter(|_| is_nameless(global));
                content.map_or(&[], std::slice::from_ref)
            }
            Value::Constant(id) => match program.constant(id) {
                Constant::Aggregate { elements, .. } => elements,
                Constant::Expression { operands, .. } => operands,
                Constant::Offset { base, .. } => std::slice::from_ref(base),
                _ => &[],
            },
        };
        // Constants may lead back to themselves.
        self.known.insert(value, false);
        let found = parts.iter().any(|&part| self.leads_there(part));
        self.known.insert(value, found);
        found
    }
}
