//! Who calls whom.

use std::collections::BTreeSet;

use changeling_program::{Call, Callee, FunctionId, Operation, Program, Site};

use crate::graphs::Graphs;
use crate::library::{self, Leaving};
use crate::names::known_functions;
use crate::pointers::{Pointers, address_taken};
use crate::reach;

/// The call graph, and how calls can fail to come back.
pub struct Calls {
    /// (call site, callee), by site. External functions are callees too; what an
    /// external function may call back counts as called at the same site.
    edges: Vec<(Site, FunctionId)>,
    /// (callee, call site), by callee.
    callers: Vec<(FunctionId, Site)>,
    /// How each function can leave other than by returning.
    exits: Vec<Exits>,
    /// Functions that may unwind, also because of what is outside of the program and may throw.
    unwinding: Vec<bool>,
    /// Calls of `setjmp`.
    pub setjmps: Vec<Site>,
    /// Indirect calls without any known callee.
    pub unresolved: Vec<Site>,
    /// Functions that can run at any later time: exit and signal handlers, threads.
    pub detached: BTreeSet<FunctionId>,
    /// Functions that may run whenever code outside of the program does: these, and all that it may know of. Most of them
    /// run where it is called; that no other can is not known.
    pub loose: BTreeSet<FunctionId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// May end the program or jump out of it all.
    pub halts: bool,
    /// May unwind into its caller.
    pub throws: bool,
    /// May jump behind a call of `setjmp`.
    pub jumps: bool,
}

impl Exits {
    pub fn any(self) -> bool {
        self.halts || self.throws || self.jumps
    }

    fn join(&mut self, other: Exits) -> bool {
        let before = *self;
        self.halts |= other.halts;
        self.throws |= other.throws;
        self.jumps |= other.jumps;
        *self != before
    }
}

impl Calls {
    pub fn new(program: &Program, pointers: &Pointers) -> Calls {
        let mut calls = Calls {
            edges: Vec::new(),
            callers: Vec::new(),
            exits: vec![Exits::default(); program.functions.len()],
            unwinding: vec![false; program.functions.len()],
            setjmps: Vec::new(),
            unresolved: Vec::new(),
            detached: BTreeSet::new(),
            loose: pointers.given_away().clone(),
        };
        for site in program.sites() {
            if let Some(call) = program.instruction(site).call() {
                calls.add(program, pointers, site, call);
            }
        }
        calls.edges.sort_unstable();
        calls.edges.dedup();
        calls.callers = calls
            .edges
            .iter()
            .map(|&(site, callee)| (callee, site))
            .collect();
        calls.callers.sort_unstable();
        calls.find_exits(program);
        calls.find_unwinding(program);
        let edges = calls.edges.iter();
        let setjmps =
            edges.filter(|(_, callee)| library::is_setjmp(&program.function(*callee).symbol));
        calls.setjmps = setjmps.map(|&(site, _)| site).collect();
        calls.loose.extend(&calls.detached);
        calls.loose.extend(known_functions(program));
        calls
    }

    fn add(&mut self, program: &Program, pointers: &Pointers, site: Site, call: &Call) {
        let mut found: Vec<FunctionId> = match &call.callee {
            Callee::Direct(callee) => vec![*callee],
            _ => pointers.callees(site).collect(),
        };
        if found.is_empty() && matches!(call.callee, Callee::Indirect(_)) {
            self.unresolved.push(site);
        }
        let runs_later = found.iter().any(|&callee| {
            let symbol = program.function(callee).symbol.as_str();
            [
                "atexit",
                "__cxa_atexit",
                "at_quick_exit",
                "on_exit",
                "signal",
                "sigaction",
                "pthread_create",
                "pthread_key_create",
                "thrd_create",
            ]
            .contains(&symbol)
        });
        let called_back: Vec<FunctionId> = pointers.callbacks(site).collect();
        if runs_later {
            self.detached.extend(&called_back);
        }
        found.extend(called_back);
        self.edges
            .extend(found.into_iter().map(|callee| (site, callee)));
    }

    pub fn callees(&self, site: Site) -> impl Iterator<Item = FunctionId> + '_ {
        let from = self.edges.partition_point(|&(at, _)| at < site);
        self.edges[from..]
            .iter()
            .take_while(move |(at, _)| *at == site)
            .map(|&(_, callee)| callee)
    }

    /// Sites that can call the function.
    pub fn callers(&self, function: FunctionId) -> impl Iterator<Item = Site> + '_ {
        let from = self
            .callers
            .partition_point(|&(callee, _)| callee < function);
        let own = self.callers[from..]
            .iter()
            .take_while(move |(callee, _)| *callee == function);
        own.map(|&(_, site)| site)
    }

    pub fn edges(&self) -> &[(Site, FunctionId)] {
        &self.edges
    }

    pub fn exits(&self, function: FunctionId) -> Exits {
        self.exits[function.index()]
    }

    /// How the call at the site can fail to come back to the next instruction.
    pub fn call_exits(&self, program: &Program, site: Site) -> Exits {
        let mut exits = Exits::default();
        for callee in self.callees(site) {
            exits.join(self.exits(callee));
        }
        let call = program.instruction(site).call();
        if call.is_some_and(|call| call.no_unwind || call.invoke.is_some()) {
            exits.throws = false;
        }
        exits
    }

    /// Whether what was done before the call comes back at the site may be looked at elsewhere next: in a caller, because
    /// the call unwinds, or behind a `setjmp`.
    pub fn may_pass_by(&self, program: &Program, site: Site) -> bool {
        self.may_unwind(program, site) || self.call_exits(program, site).jumps
    }

    /// Whether the call at the site may leave its function by unwinding. Anything outside of the program may throw that
    /// does not promise otherwise.
    pub fn may_unwind(&self, program: &Program, site: Site) -> bool {
        let Some(call) = program.instruction(site).call() else {
            return false;
        };
        let caught = call.no_unwind || call.invoke.is_some();
        let mut callees = self.callees(site).peekable();
        !caught
            && !program.function(program.function_of(site)).no_unwind
            && (callees.peek().is_none() || callees.any(|callee| self.unwinding[callee.index()]))
    }

    /// Functions that are entered from nowhere in the program: where it starts, what the loader runs, what code outside may
    /// know of, and if a call goes nobody knows where, all whose address is taken.
    pub fn roots(&self, program: &Program) -> Vec<FunctionId> {
        let mut roots = Graphs::starts(program);
        // Without a known start everything may be one.
        if roots.is_empty() {
            roots = program.definitions().collect();
        }
        roots.extend(reach::run_by_loader(program));
        roots.extend(&self.loose);
        if !self.unresolved.is_empty() {
            roots.extend(address_taken(program));
        }
        roots
    }

    /// Functions that can run at all. Of all others it is certain that they never do.
    pub fn live(&self, program: &Program) -> Vec<bool> {
        self.reachable(program, &self.roots(program))
    }

    /// Functions that can run when the program starts at these.
    pub fn reachable(&self, program: &Program, starts: &[FunctionId]) -> Vec<bool> {
        let mut live = vec![false; program.functions.len()];
        let mut work: Vec<FunctionId> = Vec::new();
        for &start in starts {
            live[start.index()] = true;
            work.push(start);
        }
        while let Some(function) = work.pop() {
            for site in program.function(function).sites() {
                for callee in self.callees(site) {
                    if !std::mem::replace(&mut live[callee.index()], true) {
                        work.push(callee);
                    }
                }
            }
        }
        live
    }

    fn find_unwinding(&mut self, program: &Program) {
        let mut work = Vec::new();
        for id in program.function_ids() {
            let function = program.function(id);
            let by_itself = match function.is_defined() {
                true => function.sites().any(|site| self.may_unwind(program, site)),
                false => !function.symbol.starts_with("llvm."),
            };
            let unwinds = self.exits(id).throws || by_itself && !function.no_unwind;
            if unwinds && !std::mem::replace(&mut self.unwinding[id.index()], true) {
                work.push(id);
            }
        }
        while let Some(callee) = work.pop() {
            let callers: Vec<Site> = self.callers(callee).collect();
            for site in callers {
                let caller = program.function_of(site);
                let unwinds = self.may_unwind(program, site);
                if unwinds && !std::mem::replace(&mut self.unwinding[caller.index()], true) {
                    work.push(caller);
                }
            }
        }
    }

    fn find_exits(&mut self, program: &Program) {
        let mut work = Vec::new();
        for id in program.function_ids() {
            let function = program.function(id);
            let exits = &mut self.exits[id.index()];
            if !function.is_defined() {
                match library::leaving(&function.symbol, function.no_return) {
                    Leaving::Returns => {}
                    Leaving::Halts => exits.halts = true,
                    Leaving::Throws => exits.throws = true,
                    Leaving::Jumps => exits.jumps = true,
                }
            } else {
                exits.throws = function
                    .sites()
                    .any(|site| program.instruction(site).operation == Operation::Resume);
            }
            if exits.any() {
                work.push(id);
            }
        }
        while let Some(callee) = work.pop() {
            let sites: Vec<Site> = self.callers(callee).collect();
            for site in sites {
                let exits = self.call_exits(program, site);
                let caller = program.function_of(site);
                if self.exits[caller.index()].join(exits) {
                    work.push(caller);
                }
            }
        }
    }
}
