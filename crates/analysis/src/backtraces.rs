//! Programs without the part of Rust's standard library that prints backtraces, where they still have it.
//!
//! Prepared bitcode is without most of it already, if the library is one whose names are known. It reads the
//! program's own debug information and would be two thirds of a small program, with most of its pointers. It takes nothing from the input and calls nothing but itself and what it is given, so for
//! everything that asks how a program handles its input it is as good as any function without a body.

use std::collections::HashSet;

use changeling_program::{Callee, Constant, Function, GlobalId, Operation, Program, Site, Value};

/// The module of the standard library, as it appears in mangled names.
const ROOT: &str = "12backtrace_rs";

/// The program with these functions, and all that only they use, declared and not defined. Everything keeps its
/// number. `None` if there are none, or if they can come to the function around one of `sites`.
pub fn without_backtraces(program: &Program, sites: &[Site]) -> Option<Program> {
    let prints = |function: &Function| function.is_defined() && is_root(function);
    if !program.functions.iter().any(prints) {
        return None;
    }
    let kept = kept(program);
    let mut inside = Search::new(program, |_| true);
    for id in program.definitions() {
        if !kept.functions[id.index()] {
            inside.reach(Value::Function(id));
        }
    }
    let inside = inside.run();
    if sites
        .iter()
        .any(|site| inside.functions[program.function_of(*site).index()])
    {
        return None;
    }
    let mut program = program.clone();
    for (function, kept) in program.functions.iter_mut().zip(&kept.functions) {
        if *kept || !function.is_defined() {
            continue;
        }
        for site in function.sites() {
            let instruction = &mut program.instructions[site.index()];
            instruction.operation = Operation::Unreachable;
            instruction.operands = Vec::new();
        }
        function.block_count = 0;
        function.site_count = 0;
    }
    Some(program)
}

fn is_root(function: &Function) -> bool {
    function.symbol.starts_with('_') && function.symbol.contains(ROOT)
}

/// What the rest of the program names: from what nobody names on, `main` and lists of constructors among it.
fn kept(program: &Program) -> Named {
    let all = Search::new(program, |_| true);
    let mut named = HashSet::new();
    for id in program.function_ids() {
        all.names_of(Value::Function(id), &mut |value| {
            if value != Value::Function(id) {
                named.insert(value);
            }
        });
    }
    for n in 0..program.globals.len() {
        let own = Value::Global(GlobalId::new(n));
        all.names_of(own, &mut |value| {
            if value != own {
                named.insert(value);
            }
        });
    }
    let mut search = Search::new(program, |function| !is_root(function));
    let functions = program.function_ids().map(Value::Function);
    let globals = (0..program.globals.len()).map(GlobalId::new);
    let globals = globals.map(Value::Global);
    for value in functions.chain(globals) {
        if !named.contains(&value) {
            search.reach(value);
        }
    }
    search.run()
}

/// Functions and globals that were come to.
struct Named {
    functions: Vec<bool>,
    globals: Vec<bool>,
}

/// Follows names: a function names those that it calls or uses otherwise, a global those that it holds.
struct Search<'p, F> {
    program: &'p Program,
    enters: F,
    named: Named,
    work: Vec<Value>,
}

impl<'p, F: Fn(&Function) -> bool> Search<'p, F> {
    fn new(program: &'p Program, enters: F) -> Search<'p, F> {
        Search {
            program,
            enters,
            named: Named {
                functions: vec![false; program.functions.len()],
                globals: vec![false; program.globals.len()],
            },
            work: Vec::new(),
        }
    }

    fn run(mut self) -> Named {
        while let Some(value) = self.work.pop() {
            let mut found = Vec::new();
            self.names_of(value, &mut |value| found.push(value));
            for value in found {
                self.reach(value);
            }
        }
        self.named
    }

    fn reach(&mut self, value: Value) {
        let seen = match value {
            Value::Function(id) if (self.enters)(self.program.function(id)) => {
                &mut self.named.functions[id.index()]
            }
            Value::Global(id) => &mut self.named.globals[id.index()],
            _ => return,
        };
        if !std::mem::replace(seen, true) {
            self.work.push(value);
        }
    }

    /// Functions and globals that a function or global names itself.
    fn names_of(&self, value: Value, found: &mut dyn FnMut(Value)) {
        match value {
            Value::Function(id) => {
                for site in self.program.function(id).sites() {
                    let instruction = self.program.instruction(site);
                    for value in instruction.uses() {
                        self.names_in(value, found);
                    }
                    let callee = instruction.call().map(|call| &call.callee);
                    if let Some(Callee::Direct(callee)) = callee {
                        found(Value::Function(*callee));
                    }
                }
            }
            Value::Global(id) => {
                if let Some(value) = self.program.global(id).initialiser {
                    self.names_in(value, found);
                }
            }
            _ => {}
        }
    }

    fn names_in(&self, value: Value, found: &mut dyn FnMut(Value)) {
        let Value::Constant(id) = value else {
            if matches!(value, Value::Function(_) | Value::Global(_)) {
                found(value);
            }
            return;
        };
        let parts: &[Value] = match self.program.constant(id) {
            Constant::Aggregate { elements, .. } => elements,
            Constant::Expression { operands, .. } => operands,
            Constant::Offset { base, .. } => std::slice::from_ref(base),
            _ => &[],
        };
        for part in parts {
            self.names_in(*part, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{Builder, FunctionId};

    /// `main` calls `user` and `panics`, that what prints backtraces, and that `helper` and `allocate`; `user`
    /// calls `allocate` too.
    fn program() -> (Program, [FunctionId; 6]) {
        let mut builder = Builder::new();
        let names = ["main", "user", "panics", "_RN3std12backtrace_rs5trace"];
        let [main, user, panics, trace] = names.map(|name| builder.declare(name, 0));
        let [helper, allocate] = ["helper", "allocate"].map(|name| builder.declare(name, 0));
        let calls = [
            (main, vec![user, panics]),
            (user, vec![allocate]),
            (panics, vec![trace]),
            (trace, vec![helper, allocate]),
            (helper, vec![]),
            (allocate, vec![]),
        ];
        for (function, callees) in calls {
            let mut body = builder.define(function, 1);
            body.start(0);
            for callee in callees {
                body.call(callee, &[]);
            }
            body.ret(None);
        }
        let all = [main, user, panics, trace, helper, allocate];
        (builder.finish(), all)
    }

    #[test]
    fn what_only_prints_backtraces_is_left_out_and_the_rest_keeps_its_numbers() {
        let (whole, all) = program();
        let user = whole.function(all[1]).first_site;
        let trimmed = without_backtraces(&whole, &[user]).expect("something to leave out");
        let defined = all.map(|id| trimmed.function(id).is_defined());
        assert_eq!(defined, [true, true, true, false, false, true]);
        assert_eq!(trimmed.instructions.len(), whole.instructions.len());
        for id in trimmed.definitions() {
            assert_eq!(trimmed.function(id), whole.function(id));
            for site in whole.function(id).sites() {
                assert_eq!(trimmed.instruction(site), whole.instruction(site));
            }
        }
    }

    #[test]
    fn nothing_is_left_out_if_it_can_come_to_what_matters() {
        let (whole, all) = program();
        for id in [all[3], all[4], all[5]] {
            let site = whole.function(id).first_site;
            assert_eq!(without_backtraces(&whole, &[site]), None);
        }
    }

    #[test]
    fn programs_without_backtraces_stay_as_they_are() {
        let mut builder = Builder::new();
        let main = builder.declare("main", 0);
        builder.define(main, 1).start(0).ret(None);
        assert_eq!(without_backtraces(&builder.finish(), &[]), None);
    }
}
