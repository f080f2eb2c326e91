//! How many decisions stand between a branch and a target: distance in the
//! interprocedural control-dependence graph.

use std::collections::VecDeque;

use changeling_program::{FunctionId, Operation, Program, Site};

use crate::control::{Control, ControlSearch};
use crate::flow::SegmentId;
use crate::graphs::Graphs;

/// Distances of all branches to the nearest of some targets.
pub struct Distances {
    /// Per segment: decisions still to be made for a target to run, once this
    /// segment runs.
    segments: Vec<Option<u32>>,
    /// Per segment: distance of the decision at its end.
    decisions: Vec<Option<u32>>,
}

impl Distances {
    pub fn new(program: &Program, graphs: &Graphs, targets: &[Site]) -> Distances {
        let mut search = Search::new(program, graphs);
        for &target in targets {
            search.reach(graphs.flow.segment_of(target), 0);
        }
        search.run();
        Distances {
            segments: search.segments,
            decisions: search.decisions,
        }
    }

    /// Distance of a branch: 1 if it decides whether a target runs. `None` if
    /// it has no say.
    pub fn of_branch(&self, graphs: &Graphs, branch: Site) -> Option<u32> {
        let segment = graphs.flow.segment_of(branch);
        let ends = graphs.flow.segment(segment).last == branch;
        self.decisions[segment.0 as usize].filter(|_| ends)
    }

    /// Decisions left once the site runs; 0 for a target.
    pub fn of_site(&self, graphs: &Graphs, site: Site) -> Option<u32> {
        self.segments[graphs.flow.segment_of(site).0 as usize]
    }
}

struct Search<'g> {
    program: &'g Program,
    graphs: &'g Graphs,
    segments: Vec<Option<u32>>,
    decisions: Vec<Option<u32>>,
    done: Vec<bool>,
    entered: Vec<bool>,
    searches: Vec<Option<ControlSearch<'g>>>,
    queue: VecDeque<(u32, SegmentId)>,
}

impl<'g> Search<'g> {
    fn new(program: &'g Program, graphs: &'g Graphs) -> Search<'g> {
        let count = graphs.flow.segments.len();
        Search {
            program,
            graphs,
            segments: vec![None; count],
            decisions: vec![None; count],
            done: vec![false; count],
            entered: vec![false; program.functions.len()],
            searches: program.functions.iter().map(|_| None).collect(),
            queue: VecDeque::new(),
        }
    }

    fn reach(&mut self, segment: SegmentId, distance: u32) {
        let known = &mut self.segments[segment.0 as usize];
        if known.is_none_or(|known| distance < known) {
            *known = Some(distance);
            // Steps weigh 0 or 1: those of weight 0 go to the front.
            let front = self
                .queue
                .front()
                .is_none_or(|&(first, _)| distance <= first);
            if front {
                self.queue.push_front((distance, segment));
            } else {
                self.queue.push_back((distance, segment));
            }
        }
    }

    fn run(&mut self) {
        while let Some((distance, segment)) = self.queue.pop_front() {
            let current = self.segments[segment.0 as usize] == Some(distance);
            if !current || std::mem::replace(&mut self.done[segment.0 as usize], true) {
                continue;
            }
            self.expand(segment, distance);
        }
    }

    fn expand(&mut self, segment: SegmentId, distance: u32) {
        let function = self.graphs.flow.segment(segment).function;
        let flow = self.graphs.flow.function(function);
        let control: &'g Control = self.graphs.control(function);
        let node = flow.node(segment);
        let search = self.searches[function.index()].get_or_insert_with(|| control.search());
        for decision in search.take(node) {
            let from = flow.segment(decision.from);
            let last = self.graphs.flow.segment(from).last;
            let instruction = self.program.instruction(last);
            if instruction.call().is_none() {
                let known = &mut self.decisions[from.0 as usize];
                *known = Some(known.map_or(distance + 1, |known| known.min(distance + 1)));
                self.reach(from, distance + 1);
                continue;
            }
            // A call that may not come back, or by throwing: what decides is inside it.
            self.reach(from, distance);
            match instruction.is_terminator() && decision.side > 0 {
                false => self.returns(last, distance),
                true => self.throws(last, distance),
            }
        }
        if control.is_unconditional(node) {
            self.callers(function, distance);
        }
    }

    /// The ways on which the called functions come back.
    fn returns(&mut self, call: Site, distance: u32) {
        let callees: Vec<FunctionId> = self.graphs.calls.callees(call).collect();
        for callee in callees {
            let flow = self.graphs.flow.function(callee);
            for &node in &flow.returns {
                self.reach(flow.segment(node), distance);
            }
        }
    }

    /// The ways on which the called functions throw.
    fn throws(&mut self, call: Site, distance: u32) {
        let (program, graphs) = (self.program, self.graphs);
        let callees: Vec<FunctionId> = graphs.calls.callees(call).collect();
        for callee in callees {
            let flow = graphs.flow.function(callee);
            for &node in &flow.exits {
                let segment = flow.segment(node);
                let last = graphs.flow.segment(segment).last;
                let throws = match &program.instruction(last).operation {
                    Operation::Resume => true,
                    Operation::Call(_) => graphs.calls.call_exits(program, last).throws,
                    _ => false,
                };
                if throws {
                    self.reach(segment, distance);
                }
            }
        }
    }

    fn callers(&mut self, function: FunctionId, distance: u32) {
        if std::mem::replace(&mut self.entered[function.index()], true) {
            return;
        }
        let sites: Vec<Site> = self.graphs.calls.callers(function).collect();
        for site in sites {
            self.reach(self.graphs.flow.segment_of(site), distance);
        }
    }
}
