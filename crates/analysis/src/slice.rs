//! Static slices: what a set of instructions can influence, and what can
//! influence it, through values, memory and decisions, across calls.

use std::collections::{BTreeSet, HashMap, HashSet};

use changeling_program::{BlockId, FunctionId, Operation, Program, Site, Value};

use crate::flow::SegmentId;
use crate::graphs::Graphs;
use crate::memory::{Memory, Trail};
use crate::pointers::Cell;

/// A program's dependences, ready for slicing.
pub struct Slicer<'p> {
    program: &'p Program,
    graphs: &'p Graphs,
    memory: &'p Memory,
    users: Vec<Vec<Site>>,
    argument_users: HashMap<(FunctionId, u32), Vec<Site>>,
    /// Phi nodes by the block a value comes from.
    phis_from: HashMap<BlockId, Vec<Site>>,
}

impl<'p> Slicer<'p> {
    pub fn new(program: &'p Program, graphs: &'p Graphs, memory: &'p Memory) -> Slicer<'p> {
        let mut slicer = Slicer {
            program,
            graphs,
            memory,
            users: vec![Vec::new(); program.instructions.len()],
            argument_users: HashMap::new(),
            phis_from: HashMap::new(),
        };
        for site in program.sites() {
            let function = program.function_of(site);
            let instruction = program.instruction(site);
            for value in instruction.uses() {
                match value {
                    Value::Result(used) => slicer.users[used.index()].push(site),
                    Value::Argument(n) => {
                        slicer
                            .argument_users
                            .entry((function, n))
                            .or_default()
                            .push(site);
                    }
                    _ => {}
                }
            }
            if let Operation::Phi { incoming } = &instruction.operation {
                for &block in incoming {
                    slicer.phis_from.entry(block).or_default().push(site);
                }
            }
        }
        slicer
    }

    /// Everything the sites can influence, themselves included.
    pub fn forward(&self, sites: &[Site]) -> BTreeSet<Site> {
        let mut walk = Walk::new(self);
        for &site in sites {
            walk.reach(Step::Site(site));
            // A call that was itself altered passes and gets back something else.
            for callee in walk.defined_callees(site) {
                walk.reach(Step::Result(site));
                for n in 0..self.program.instruction(site).operands.len() as u32 {
                    walk.reach(Step::Argument(callee, n));
                }
            }
        }
        walk.run(Walk::forward);
        walk.found
    }

    /// Everything that can influence the sites, themselves included.
    pub fn backward(&self, sites: &[Site]) -> BTreeSet<Site> {
        let mut walk = Walk::new(self);
        for &site in sites {
            walk.reach(Step::Site(site));
        }
        walk.run(Walk::backward);
        walk.found
    }
}

/// A thing that is in the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// The instruction with all it does.
    Site(Site),
    /// Only its result: for calls, what came back.
    Result(Site),
    /// That it runs or not: for calls, the callee's being entered.
    Run(Site),
    /// A parameter.
    Argument(FunctionId, u32),
    /// What a cell holds behind a site.
    Behind(Site, Cell),
    /// What a cell holds when the function is entered.
    Entry(FunctionId, Cell),
    /// What a cell holds in front of a site.
    Before(Site, Cell),
    /// What a cell holds when the function returns.
    Exit(FunctionId, Cell),
    /// That the function is entered.
    Entered(FunctionId),
}

struct Walk<'s, 'p> {
    slicer: &'s Slicer<'p>,
    found: BTreeSet<Site>,
    seen: HashSet<Step>,
    work: Vec<Step>,
    decided: HashSet<SegmentId>,
    trails: HashMap<(FunctionId, Cell), Trail>,
}

impl<'s, 'p> Walk<'s, 'p> {
    fn new(slicer: &'s Slicer<'p>) -> Walk<'s, 'p> {
        Walk {
            slicer,
            found: BTreeSet::new(),
            seen: HashSet::new(),
            work: Vec::new(),
            decided: HashSet::new(),
            trails: HashMap::new(),
        }
    }

    fn reach(&mut self, step: Step) {
        if self.seen.insert(step) {
            self.work.push(step);
        }
    }

    fn run(&mut self, expand: fn(&mut Self, Step)) {
        while let Some(step) = self.work.pop() {
            if let Step::Site(site) | Step::Run(site) | Step::Result(site) = step {
                self.found.insert(site);
            }
            expand(self, step);
        }
    }

    fn defined_callees(&self, site: Site) -> Vec<FunctionId> {
        let callees = self.slicer.graphs.calls.callees(site);
        callees
            .filter(|&callee| self.slicer.program.function(callee).is_defined())
            .collect()
    }

    fn forward(&mut self, step: Step) {
        let slicer = self.slicer;
        let program = slicer.program;
        match step {
            Step::Site(site) => {
                self.reach(Step::Run(site));
                if self.defined_callees(site).is_empty() {
                    self.reach(Step::Result(site));
                }
            }
            Step::Result(site) => {
                for &user in &slicer.users[site.index()] {
                    self.use_of(user, Value::Result(site));
                }
                if let Some(access) = slicer.memory.access(site) {
                    for &cell in &access.writes {
                        self.reach(Step::Behind(site, cell));
                    }
                }
                self.returned(site);
                self.decide(site);
            }
            Step::Run(site) => {
                for callee in self.defined_callees(site) {
                    self.reach(Step::Entered(callee));
                }
                let is_terminator = program.instruction(site).is_terminator();
                let leaves = slicer.graphs.calls.call_exits(program, site).any();
                if is_terminator || leaves {
                    self.decide(site);
                }
            }
            Step::Argument(function, n) => {
                let users = slicer.argument_users.get(&(function, n));
                for &user in users.map_or(&[][..], Vec::as_slice) {
                    self.use_of(user, Value::Argument(n));
                }
            }
            Step::Behind(site, cell) => self.spread(program.function_of(site), Some(site), cell),
            Step::Entry(function, cell) => self.spread(function, None, cell),
            Step::Entered(function) => {
                let flow = slicer.graphs.flow.function(function);
                let control = slicer.graphs.control(function);
                let nodes: Vec<_> = flow
                    .graph
                    .nodes()
                    .filter(|&node| control.is_unconditional(node))
                    .collect();
                for node in nodes {
                    self.segment_runs(flow.segment(node));
                }
            }
            Step::Before(..) | Step::Exit(..) => {}
        }
    }

    /// The value reached an instruction that uses it.
    fn use_of(&mut self, user: Site, value: Value) {
        let instruction = self.slicer.program.instruction(user);
        let callees = self.defined_callees(user);
        if callees.is_empty() {
            self.reach(Step::Site(user));
            return;
        }
        self.found.insert(user);
        for (n, &operand) in instruction.operands.iter().enumerate() {
            if operand == value {
                for &callee in &callees {
                    self.reach(Step::Argument(callee, n as u32));
                }
            }
        }
        let pointer = instruction.call().is_some_and(|call| {
            matches!(call.callee, changeling_program::Callee::Indirect(pointer) if pointer == value)
        });
        if pointer {
            // Another function may be called.
            self.reach(Step::Run(user));
            self.reach(Step::Result(user));
        }
    }

    /// A returned value goes to all calls of the function.
    fn returned(&mut self, site: Site) {
        let program = self.slicer.program;
        if program.instruction(site).operation == Operation::Return {
            let function = program.function_of(site);
            let callers: Vec<Site> = self.slicer.graphs.calls.callers(function).collect();
            for call in callers {
                self.reach(Step::Result(call));
            }
        }
    }

    fn spread(&mut self, function: FunctionId, from: Option<Site>, cell: Cell) {
        let slicer = self.slicer;
        let calls = &slicer.graphs.calls;
        let trail = self.trails.entry((function, cell));
        let trail =
            trail.or_insert_with(|| slicer.memory.trail(slicer.program, calls, function, cell));
        let spread = slicer.memory.spread(slicer.program, trail, from);
        for site in spread.uses {
            self.reach(Step::Site(site));
        }
        for site in spread.calls {
            for callee in self.defined_callees(site) {
                if slicer.memory.may_read(callee, cell) {
                    self.reach(Step::Entry(callee, cell));
                }
            }
        }
        if spread.leaves {
            let callers: Vec<Site> = calls.callers(function).collect();
            for call in callers {
                self.reach(Step::Behind(call, cell));
            }
        }
    }

    /// What the decision at the site decides runs or not.
    fn decide(&mut self, site: Site) {
        let slicer = self.slicer;
        let segment = slicer.graphs.flow.segment_of(site);
        if slicer.graphs.flow.segment(segment).last != site || !self.decided.insert(segment) {
            return;
        }
        let function = slicer.program.function_of(site);
        let flow = slicer.graphs.flow.function(function);
        let control = slicer.graphs.control(function);
        let node = flow.node(segment);
        let own = control
            .decisions()
            .iter()
            .filter(|decision| decision.from == node);
        for decision in own.copied().collect::<Vec<_>>() {
            for controlled in control.controlled(decision) {
                self.segment_runs(flow.segment(controlled));
            }
        }
        if slicer.program.instruction(site).decides() {
            self.phis_behind(segment);
        }
    }

    fn segment_runs(&mut self, segment: SegmentId) {
        let slicer = self.slicer;
        for site in slicer.graphs.flow.segment(segment).sites() {
            self.reach(Step::Site(site));
            if !self.defined_callees(site).is_empty() {
                self.reach(Step::Result(site));
            }
        }
        self.phis_behind(segment);
    }

    /// Which value a phi node takes depends on which way was taken.
    fn phis_behind(&mut self, segment: SegmentId) {
        let slicer = self.slicer;
        let last = slicer.graphs.flow.segment(segment).last;
        let instruction = slicer.program.instruction(last);
        if instruction.is_terminator() {
            let phis = slicer.phis_from.get(&instruction.block);
            for &phi in phis.map_or(&[][..], Vec::as_slice) {
                self.reach(Step::Site(phi));
            }
        }
    }

    fn backward(&mut self, step: Step) {
        let slicer = self.slicer;
        let program = slicer.program;
        let instruction = |site: Site| program.instruction(site);
        match step {
            Step::Site(site) => {
                self.reach(Step::Run(site));
                self.reach(Step::Result(site));
            }
            Step::Result(site) => {
                let callees = self.defined_callees(site);
                if callees.is_empty() {
                    for value in instruction(site).uses().collect::<Vec<_>>() {
                        self.origin(program.function_of(site), value);
                    }
                } else {
                    self.results_of(site, &callees);
                }
                if let Some(access) = slicer.memory.access(site) {
                    for &cell in &access.reads {
                        self.reach(Step::Before(site, cell));
                    }
                }
                if let Operation::Phi { incoming } = &instruction(site).operation {
                    for &block in incoming {
                        self.reach(Step::Run(program.terminator(block)));
                        if instruction(program.terminator(block)).decides() {
                            self.reach(Step::Site(program.terminator(block)));
                        }
                    }
                }
                self.reach(Step::Run(site));
            }
            Step::Run(site) => self.run_backward(site),
            Step::Argument(function, n) => {
                let callers: Vec<Site> = slicer.graphs.calls.callers(function).collect();
                for call in callers {
                    if let Some(&value) = instruction(call).operands.get(n as usize) {
                        self.found.insert(call);
                        self.origin(program.function_of(call), value);
                    }
                }
            }
            Step::Before(site, cell) => self.gather(program.function_of(site), Some(site), cell),
            Step::Exit(function, cell) => self.gather(function, None, cell),
            Step::Entered(function) => {
                let callers: Vec<Site> = slicer.graphs.calls.callers(function).collect();
                for call in callers {
                    self.reach(Step::Run(call));
                }
            }
            Step::Behind(..) | Step::Entry(..) => {}
        }
    }

    fn origin(&mut self, function: FunctionId, value: Value) {
        match value {
            Value::Result(site) => self.reach(Step::Result(site)),
            Value::Argument(n) => self.reach(Step::Argument(function, n)),
            _ => {}
        }
    }

    fn results_of(&mut self, call: Site, callees: &[FunctionId]) {
        let slicer = self.slicer;
        for &callee in callees {
            let flow = slicer.graphs.flow.function(callee);
            for &node in &flow.returns {
                let site = slicer.graphs.flow.segment(flow.segment(node)).last;
                self.reach(Step::Site(site));
            }
        }
        if let Some(changeling_program::Callee::Indirect(pointer)) = slicer
            .program
            .instruction(call)
            .call()
            .map(|call| call.callee.clone())
        {
            self.origin(slicer.program.function_of(call), pointer);
        }
    }

    /// Decisions the site's running depends on.
    fn run_backward(&mut self, site: Site) {
        let slicer = self.slicer;
        let function = slicer.program.function_of(site);
        let flow = slicer.graphs.flow.function(function);
        let segment = slicer.graphs.flow.segment_of(site);
        if !self.decided.insert(segment) {
            return;
        }
        let control = slicer.graphs.control(function);
        for decision in control.controllers(flow.node(segment)) {
            let last = slicer.graphs.flow.segment(flow.segment(decision.from)).last;
            if slicer.program.instruction(last).is_terminator() {
                self.reach(Step::Site(last));
            } else {
                // Whether the call comes back is decided inside it.
                self.reach(Step::Run(last));
                let callees = self.defined_callees(last);
                self.results_of(last, &callees);
            }
        }
        self.reach(Step::Entered(function));
    }

    fn gather(&mut self, function: FunctionId, before: Option<Site>, cell: Cell) {
        let slicer = self.slicer;
        let calls = &slicer.graphs.calls;
        let trail = self.trails.entry((function, cell));
        let trail =
            trail.or_insert_with(|| slicer.memory.trail(slicer.program, calls, function, cell));
        let sources = slicer.memory.sources(slicer.program, trail, before);
        for site in sources.definitions {
            self.reach(Step::Site(site));
        }
        for site in sources.calls {
            self.found.insert(site);
            for callee in self.defined_callees(site) {
                if slicer.memory.may_write(callee, cell) {
                    self.reach(Step::Exit(callee, cell));
                }
            }
        }
        if sources.enters {
            let callers: Vec<Site> = calls.callers(function).collect();
            for call in callers {
                self.reach(Step::Before(call, cell));
            }
        }
    }
}
