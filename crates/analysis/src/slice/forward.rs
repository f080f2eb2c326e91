//! What sites can influence.

use std::collections::{HashMap, HashSet};

use changeling_program::{BlockId, Callee, FunctionId, Operation, Site, Value};

use super::{Slice, Slicer, Tide};
use crate::bits::Bits;
use crate::flow::SegmentId;

/// A thing that is in the slice.
#[derive(Clone, Copy)]
enum Step {
    /// The instruction with all it does.
    Site(Site),
    /// Only its result: for calls, what came back.
    Result(Site),
    /// That it runs or not: for calls, the callee's being entered.
    Run(Site),
    /// A parameter.
    Argument(FunctionId, u32),
    /// That the function is entered.
    Entered(FunctionId),
}

pub struct Forward<'s, 'p> {
    slicer: &'s Slicer<'p>,
    sites: Seen,
    results: Seen,
    runs: Seen,
    found: Seen,
    dependent: Seen,
    kills: Seen,
    arguments: HashSet<(FunctionId, u32)>,
    entered: Vec<bool>,
    /// Segments of which it is known that they run or not.
    running: Vec<bool>,
    decided: Vec<bool>,
    /// Phi nodes: the value that all ways bring which are decided on.
    brought: HashMap<Site, Value>,
    work: Vec<Step>,
    tide: Tide,
    /// What has been taken along by jumps.
    jumped: Bits,
}

/// A set of sites.
struct Seen(Vec<bool>);

impl Seen {
    fn insert(&mut self, site: Site) -> bool {
        !std::mem::replace(&mut self.0[site.index()], true)
    }

    fn has(&self, site: Site) -> bool {
        self.0[site.index()]
    }

    fn list(&self) -> Vec<Site> {
        let sites = self.0.iter().enumerate().filter(|(_, seen)| **seen);
        sites.map(|(index, _)| Site::from_index(index)).collect()
    }
}

impl<'s, 'p> Forward<'s, 'p> {
    pub fn new(slicer: &'s Slicer<'p>) -> Forward<'s, 'p> {
        let seen = || Seen(vec![false; slicer.program.instructions.len()]);
        let segments = slicer.graphs.flow.segments.len();
        Forward {
            slicer,
            sites: seen(),
            results: seen(),
            runs: seen(),
            found: seen(),
            dependent: seen(),
            kills: seen(),
            arguments: HashSet::new(),
            entered: vec![false; slicer.program.functions.len()],
            running: vec![false; segments],
            decided: vec![false; segments],
            brought: HashMap::new(),
            work: Vec::new(),
            tide: Tide::new(slicer.program),
            jumped: Bits::default(),
        }
    }

    /// After so many steps it ends, with what was found by then.
    pub fn run(mut self, sites: &[Site], most: usize) -> Slice {
        for &site in sites {
            self.start(Step::Site(site));
            // A call that was itself altered passes and gets back something else.
            for callee in self.slicer.defined_callees(site) {
                self.start(Step::Result(site));
                for n in 0..self.slicer.program.instruction(site).operands.len() as u32 {
                    self.start(Step::Argument(callee, n));
                }
                self.unnamed_argument(callee);
            }
        }
        let mut steps = 0;
        while steps < most {
            while let Some(step) = self.work.pop() {
                self.expand(step);
                steps += 1;
            }
            let Some(block) = self.tide.next() else { break };
            self.flow(block);
            steps += 1;
        }
        Slice {
            sites: self.found.list(),
            dependent: self.dependent.list(),
            kills: self.kills.list(),
        }
    }

    fn start(&mut self, step: Step) {
        let new = match step {
            Step::Site(site) => self.sites.insert(site),
            Step::Result(site) => self.results.insert(site),
            Step::Run(site) => self.runs.insert(site),
            Step::Argument(function, n) => self.arguments.insert((function, n)),
            Step::Entered(id) => !std::mem::replace(&mut self.entered[id.index()], true),
        };
        if new {
            self.work.push(step);
        }
    }

    /// As `start`, for what depends on something else of the slice.
    fn reach(&mut self, step: Step) {
        if let Step::Site(site) = step {
            self.dependent.insert(site);
        }
        self.start(step);
    }

    fn expand(&mut self, step: Step) {
        let slicer = self.slicer;
        let program = slicer.program;
        match step {
            Step::Site(site) => {
                self.found.insert(site);
                self.start(Step::Run(site));
                if !slicer.calls_defined(site) {
                    self.start(Step::Result(site));
                }
            }
            Step::Result(site) => {
                self.found.insert(site);
                for &user in &slicer.users[site.index()] {
                    self.use_of(user, Value::Result(site));
                }
                if slicer.memory.touched(site).is_some() {
                    self.tide.again(program.instruction(site).block);
                }
                self.returned(site);
                self.decide(site);
            }
            Step::Run(site) => {
                self.found.insert(site);
                for callee in slicer.defined_callees(site) {
                    self.reach(Step::Entered(callee));
                }
                let is_terminator = program.instruction(site).is_terminator();
                if is_terminator || slicer.graphs.calls.call_exits(program, site).any() {
                    self.decide(site);
                }
            }
            Step::Argument(function, n) => {
                let users = slicer.argument_users.get(&(function, n));
                for &user in users.map_or(&[][..], Vec::as_slice) {
                    self.use_of(user, Value::Argument(n));
                }
            }
            Step::Entered(function) => {
                let flow = slicer.graphs.flow.function(function);
                let control = slicer.graphs.control(function);
                for node in flow.graph.nodes() {
                    if control.is_unconditional(node) {
                        self.segment_runs(flow.segment(node));
                    }
                }
            }
        }
    }

    /// The value reached an instruction that uses it.
    fn use_of(&mut self, user: Site, value: Value) {
        let slicer = self.slicer;
        let instruction = slicer.program.instruction(user);
        if !slicer.calls_defined(user) {
            self.reach(Step::Site(user));
            return;
        }
        self.found.insert(user);
        for (n, &operand) in instruction.operands.iter().enumerate() {
            if operand == value {
                for callee in slicer.defined_callees(user) {
                    self.reach(Step::Argument(callee, n as u32));
                    if n >= slicer.program.function(callee).parameters.len() {
                        self.unnamed_argument(callee);
                    }
                }
            }
        }
        let pointer = instruction.call().is_some_and(
            |call| matches!(call.callee, Callee::Indirect(pointer) if pointer == value),
        );
        if pointer {
            // Another function may be called.
            self.reach(Step::Run(user));
            self.reach(Step::Result(user));
        }
    }

    /// Arguments without names are found in memory by the function that is called.
    fn unnamed_argument(&mut self, callee: FunctionId) {
        let slicer = self.slicer;
        if let Some(cells) = slicer.memory.unnamed(callee) {
            let entry = slicer.program.function(callee).first_block;
            self.tide.rise(entry, cells);
        }
    }

    /// A returned value goes to all calls of the function.
    fn returned(&mut self, site: Site) {
        let program = self.slicer.program;
        if program.instruction(site).operation == Operation::Return {
            let function = program.function_of(site);
            for call in self.slicer.graphs.calls.callers(function) {
                self.reach(Step::Result(call));
            }
        }
    }

    /// What the decision at the site decides runs or not.
    fn decide(&mut self, site: Site) {
        let slicer = self.slicer;
        let segment = slicer.graphs.flow.segment_of(site);
        if slicer.graphs.flow.segment(segment).last != site
            || std::mem::replace(&mut self.decided[segment.0 as usize], true)
        {
            return;
        }
        let function = slicer.program.function_of(site);
        let flow = slicer.graphs.flow.function(function);
        let control = slicer.graphs.control(function);
        for decision in control.decisions_of(flow.node(segment)) {
            for controlled in control.controlled(decision) {
                self.segment_runs(flow.segment(controlled));
            }
        }
        if slicer.program.instruction(site).decides() {
            self.phis_behind(segment);
        }
    }

    fn segment_runs(&mut self, segment: SegmentId) {
        if std::mem::replace(&mut self.running[segment.0 as usize], true) {
            return;
        }
        let slicer = self.slicer;
        for site in slicer.graphs.flow.segment(segment).sites() {
            self.reach(Step::Site(site));
            if slicer.calls_defined(site) {
                self.reach(Step::Result(site));
            }
        }
        self.phis_behind(segment);
    }

    /// Which value a phi node takes depends on which way was taken, if the ways that are
    /// decided on do not all bring the same.
    fn phis_behind(&mut self, segment: SegmentId) {
        let slicer = self.slicer;
        let last = slicer.graphs.flow.segment(segment).last;
        let end = slicer.program.instruction(last);
        if !end.is_terminator() {
            return;
        }
        let phis = slicer.phis_from.get(&end.block);
        for &phi in phis.map_or(&[][..], Vec::as_slice) {
            let instruction = slicer.program.instruction(phi);
            let Operation::Phi { incoming } = &instruction.operation else {
                continue;
            };
            let edges = instruction.operands.iter().zip(incoming);
            for (&value, _) in edges.filter(|(_, from)| **from == end.block) {
                if *self.brought.entry(phi).or_insert(value) != value {
                    self.reach(Step::Site(phi));
                }
            }
        }
    }

    /// Takes the cells that matter through a block.
    fn flow(&mut self, block: BlockId) {
        let slicer = self.slicer;
        let (program, memory) = (slicer.program, slicer.memory);
        let mut cells = self.tide.blocks[block.index()].clone();
        for &site in memory.events(block) {
            if let Some(touched) = memory.touched(site) {
                if touched.reads.meets(&cells) {
                    self.reach(Step::Site(site));
                }
                if let Some(cell) = touched.replaced.filter(|&cell| cells.has(cell)) {
                    self.kills.insert(site);
                    cells.remove(cell);
                }
                if self.results.has(site) {
                    cells.join(&touched.writes);
                }
            }
            for callee in slicer.defined_callees(site) {
                let read = cells.both(memory.summary(callee).0);
                if !read.is_empty() {
                    self.tide.rise(program.function(callee).first_block, &read);
                }
            }
            if let Some(back) = self.tide.calls.get(&site) {
                cells.join(back);
            }
            self.pass_by(site, &cells);
        }
        if cells.is_empty() {
            return;
        }
        let next = program.successors(block);
        for &block in &next {
            self.tide.rise(block, &cells);
        }
        if next.is_empty() {
            self.leave(program.block(block).function, &cells);
        }
    }

    /// A call that does not come back leaves memory as it is, whatever would have been stored here next: to a caller, or
    /// to who called `setjmp`.
    fn pass_by(&mut self, site: Site, cells: &Bits) {
        let slicer = self.slicer;
        let (program, calls) = (slicer.program, &slicer.graphs.calls);
        if cells.is_empty() {
            return;
        }
        if calls.may_unwind(program, site) {
            self.leave(program.function_of(site), cells);
        }
        if !calls.setjmps.is_empty() && calls.call_exits(program, site).jumps {
            let fresh = cells.without(&self.jumped);
            self.jumped.join(&fresh);
            for &setjmp in calls.setjmps.iter().filter(|_| !fresh.is_empty()) {
                let block = program.instruction(setjmp).block;
                self.tide.rise_at(setjmp, block, &fresh);
            }
        }
    }

    fn leave(&mut self, function: FunctionId, cells: &Bits) {
        let slicer = self.slicer;
        let outer = cells.without(slicer.memory.own(function));
        let Some(fresh) = self.tide.cross(function, &outer) else {
            return;
        };
        for call in slicer.graphs.calls.callers(function) {
            let block = slicer.program.instruction(call).block;
            self.tide.rise_at(call, block, &fresh);
        }
    }
}
