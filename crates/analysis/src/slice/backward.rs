//! What can influence sites.

use std::collections::{BTreeSet, HashMap, HashSet};

use changeling_program::{BlockId, Callee, FunctionId, Operation, Site, Value};

use super::{Slicer, Tide};
use crate::bits::Bits;

/// A thing that is in the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// The instruction with all it does.
    Site(Site),
    /// Only its result: for calls, what came back.
    Result(Site),
    /// That it runs or not.
    Run(Site),
    /// A parameter.
    Argument(FunctionId, u32),
    /// That the function is entered.
    Entered(FunctionId),
    /// What the call's functions return, and whether they do.
    Returns(FunctionId),
}

pub struct Backward<'s, 'p> {
    slicer: &'s Slicer<'p>,
    found: BTreeSet<Site>,
    seen: HashSet<Step>,
    decided: Vec<bool>,
    /// Sites of which it matters what they read.
    reading: Vec<bool>,
    work: Vec<Step>,
    tide: Tide,
    /// At calls that may not come back: what matters where they go on.
    behind: HashMap<Site, Bits>,
}

impl<'s, 'p> Backward<'s, 'p> {
    pub fn new(slicer: &'s Slicer<'p>) -> Backward<'s, 'p> {
        Backward {
            slicer,
            found: BTreeSet::new(),
            seen: HashSet::new(),
            decided: vec![false; slicer.graphs.flow.segments.len()],
            reading: vec![false; slicer.program.instructions.len()],
            work: Vec::new(),
            tide: Tide::new(slicer.program),
            behind: HashMap::new(),
        }
    }

    /// `None` if it takes more than so many steps.
    pub fn run(mut self, sites: &[Site], most: usize) -> Option<BTreeSet<Site>> {
        for &site in sites {
            self.reach(Step::Site(site));
        }
        let mut flows = 0;
        loop {
            while let Some(step) = self.work.pop() {
                self.expand(step);
            }
            let Some(block) = self.tide.next() else { break };
            self.flow(block);
            flows += 1;
            if flows > most || self.seen.len() > most {
                return None;
            }
        }
        Some(self.found)
    }

    fn reach(&mut self, step: Step) {
        if self.seen.insert(step) {
            self.work.push(step);
        }
    }

    fn expand(&mut self, step: Step) {
        let slicer = self.slicer;
        let program = slicer.program;
        if let Step::Site(site) | Step::Run(site) | Step::Result(site) = step {
            self.found.insert(site);
        }
        match step {
            Step::Site(site) => {
                self.reach(Step::Run(site));
                self.reach(Step::Result(site));
            }
            Step::Result(site) => self.result(site),
            Step::Run(site) => self.runs(site),
            Step::Argument(function, n) => {
                for call in slicer.graphs.calls.callers(function) {
                    let operands = &program.instruction(call).operands;
                    if let Some(&value) = operands.get(n as usize) {
                        self.found.insert(call);
                        self.origin(program.function_of(call), value);
                    }
                }
            }
            Step::Entered(function) => {
                for call in slicer.graphs.calls.callers(function) {
                    self.reach(Step::Run(call));
                }
            }
            Step::Returns(function) => {
                let flow = slicer.graphs.flow.function(function);
                for &node in &flow.returns {
                    let segment = slicer.graphs.flow.segment(flow.segment(node));
                    self.reach(Step::Site(segment.last));
                }
            }
        }
    }

    fn result(&mut self, site: Site) {
        let program = self.slicer.program;
        let instruction = program.instruction(site);
        if self.slicer.calls_defined(site) {
            self.results_of(site);
        } else {
            for value in instruction.uses() {
                self.origin(program.function_of(site), value);
            }
        }
        let reads = self.slicer.memory.touched(site);
        if reads.is_some_and(|touched| !touched.reads.is_empty()) {
            self.reading[site.index()] = true;
            self.tide.again(instruction.block);
        }
        if let Operation::Phi { incoming } = &instruction.operation {
            for &block in incoming {
                let last = program.terminator(block);
                self.reach(Step::Run(last));
                if program.instruction(last).decides() {
                    self.reach(Step::Site(last));
                }
            }
        }
        self.reach(Step::Run(site));
    }

    fn origin(&mut self, function: FunctionId, value: Value) {
        match value {
            Value::Result(site) => self.reach(Step::Result(site)),
            Value::Argument(n) => self.reach(Step::Argument(function, n)),
            _ => {}
        }
    }

    fn results_of(&mut self, call: Site) {
        let slicer = self.slicer;
        for callee in slicer.defined_callees(call) {
            self.reach(Step::Returns(callee));
        }
        let instruction = slicer.program.instruction(call);
        if let Some(Callee::Indirect(pointer)) = instruction.call().map(|call| &call.callee) {
            self.origin(slicer.program.function_of(call), *pointer);
        }
    }

    /// Decisions the site's running depends on.
    fn runs(&mut self, site: Site) {
        let slicer = self.slicer;
        let function = slicer.program.function_of(site);
        let flow = slicer.graphs.flow.function(function);
        let segment = slicer.graphs.flow.segment_of(site);
        if std::mem::replace(&mut self.decided[segment.0 as usize], true) {
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
                self.results_of(last);
            }
        }
        self.reach(Step::Entered(function));
    }

    /// Takes the cells that matter through a block, against the flow.
    fn flow(&mut self, block: BlockId) {
        let slicer = self.slicer;
        let (program, memory) = (slicer.program, slicer.memory);
        let mut cells = self.tide.blocks[block.index()].clone();
        for &site in memory.events(block).iter().rev() {
            if let Some(wanted) = self.behind.get(&site) {
                cells.join(wanted);
            }
            for callee in slicer.defined_callees(site) {
                let written = cells.both(memory.summary(callee).1);
                if !written.is_empty() {
                    self.found.insert(site);
                    self.leave(callee, &written);
                }
            }
            if slicer.graphs.calls.setjmps.contains(&site) {
                self.before_jumps(&cells);
            }
            if let Some(wanted) = self.tide.calls.get(&site) {
                cells.join(wanted);
            }
            if let Some(touched) = memory.touched(site) {
                if touched.writes.meets(&cells) {
                    self.reach(Step::Site(site));
                }
                if let Some(cell) = touched.replaced {
                    cells.remove(cell);
                }
                if self.reading[site.index()] {
                    cells.join(&touched.reads);
                }
            }
        }
        if cells.is_empty() {
            return;
        }
        for &before in memory.predecessors(block) {
            self.tide.rise(before, &cells);
        }
        let function = program.block(block).function;
        if program.function(function).first_block == block {
            self.enter(function, &cells);
        }
    }

    /// The cells matter when the function returns, or is left in another way.
    fn leave(&mut self, function: FunctionId, cells: &Bits) {
        for &site in &self.slicer.unwinding[function.index()] {
            self.rise_behind(site, cells);
        }
        for &block in &self.slicer.ends[function.index()] {
            self.tide.rise(block, cells);
        }
    }

    /// The cells matter wherever a jump can begin.
    fn before_jumps(&mut self, cells: &Bits) {
        for &site in &self.slicer.jumping {
            self.rise_behind(site, cells);
        }
    }

    fn rise_behind(&mut self, site: Site, cells: &Bits) {
        if self.behind.entry(site).or_default().join(cells) {
            self.tide.again(self.slicer.program.instruction(site).block);
        }
    }

    /// The cells matter when the function is entered.
    fn enter(&mut self, function: FunctionId, cells: &Bits) {
        let slicer = self.slicer;
        if slicer
            .memory
            .unnamed(function)
            .is_some_and(|own| own.meets(cells))
        {
            self.unnamed_arguments(function);
        }
        let outer = cells.without(slicer.memory.own(function));
        let Some(fresh) = self.tide.cross(function, &outer) else {
            return;
        };
        for call in slicer.graphs.calls.callers(function) {
            let block = slicer.program.instruction(call).block;
            self.tide.rise_at(call, block, &fresh);
        }
    }

    fn unnamed_arguments(&mut self, function: FunctionId) {
        let slicer = self.slicer;
        let named = slicer.program.function(function).parameters.len();
        for call in slicer.graphs.calls.callers(function) {
            for &value in slicer.program.instruction(call).operands.iter().skip(named) {
                self.found.insert(call);
                self.origin(slicer.program.function_of(call), value);
            }
        }
    }
}
