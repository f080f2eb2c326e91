//! How far branches are from a goal, and which of their sides lead there: distance in
//! the interprocedural control-dependence graph.

use super::definitions::Spot;
use super::facts::Facts;
use super::plan::Distances;
use super::users::of_results;
use changeling_analysis::control::ControlSearch;
use changeling_analysis::{Control, SegmentId};
use changeling_program::{FunctionId, Operation, Site};
use std::collections::{HashMap, VecDeque};

/// What is the same for all goals of a version.
pub struct Surveyor<'a, 'p> {
    facts: &'a Facts<'p>,
    /// Calls out of the program, each with the branches that depend on its result.
    calls: Vec<(Site, Vec<Site>)>,
}

impl<'a, 'p> Surveyor<'a, 'p> {
    pub fn new(facts: &'a Facts<'p>) -> Surveyor<'a, 'p> {
        let users = of_results(facts.program);
        let calls = facts.outside_calls().into_iter();
        let calls = calls.map(|site| (site, facts.branches_behind(&users, site)));
        Surveyor {
            facts,
            calls: calls.collect(),
        }
    }

    /// Distances to the nearest of some places. `via`: by way of this call of their function.
    pub fn distances(&self, goals: &[Spot], via: Option<Site>) -> Distances {
        let facts = self.facts;
        let count = facts.graphs.flow.segments.len();
        let mut search = Search {
            facts,
            via,
            segments: vec![None; count],
            done: vec![false; count],
            entered: vec![false; facts.program.functions.len()],
            controls: facts.program.functions.iter().map(|_| None).collect(),
            queue: VecDeque::new(),
            found: Distances::default(),
        };
        for goal in goals {
            let end = facts.program.terminator(goal.block);
            let first = facts.program.block(goal.block).first;
            match goal.side {
                None => search.reach(facts.graphs.flow.segment_of(first), 0),
                Some(side) => {
                    search.decided_at(end, side, 1);
                    search.reach(facts.graphs.flow.segment_of(end), 1);
                }
            }
        }
        search.run();
        let Search {
            segments,
            mut found,
            ..
        } = search;
        for (site, branches) in &self.calls {
            let behind = branches.iter().filter_map(|branch| {
                let (distance, _) = found.branches.get(&branch.0)?;
                Some(*distance)
            });
            let around = segments[facts.graphs.flow.segment_of(*site).0 as usize];
            let around = around.map(|distance| distance + 1);
            if let Some(distance) = behind.chain(around).min() {
                found.calls.insert(site.0, distance);
            }
        }
        found
    }
}

struct Search<'a, 'p> {
    facts: &'a Facts<'p>,
    via: Option<Site>,
    segments: Vec<Option<u32>>,
    done: Vec<bool>,
    entered: Vec<bool>,
    controls: Vec<Option<ControlSearch<'a>>>,
    queue: VecDeque<(u32, SegmentId)>,
    found: Distances,
}

impl<'a> Search<'a, '_> {
    fn reach(&mut self, segment: SegmentId, distance: u32) {
        let known = &mut self.segments[segment.0 as usize];
        if known.is_some_and(|known| known <= distance) {
            return;
        }
        *known = Some(distance);
        // Steps weigh 0 or 1: those of weight 0 go to the front.
        let first = self.queue.front();
        if first.is_none_or(|&(first, _)| distance <= first) {
            self.queue.push_front((distance, segment));
        } else {
            self.queue.push_back((distance, segment));
        }
    }

    fn run(&mut self) {
        while let Some((distance, segment)) = self.queue.pop_front() {
            let current = self.segments[segment.0 as usize] == Some(distance);
            if current && !std::mem::replace(&mut self.done[segment.0 as usize], true) {
                self.expand(segment, distance);
            }
        }
    }

    fn expand(&mut self, segment: SegmentId, distance: u32) {
        let facts: &'a Facts<'_> = self.facts;
        let graphs = facts.graphs;
        let function = graphs.flow.segment(segment).function;
        let flow = graphs.flow.function(function);
        let control: &'a Control = graphs.control(function);
        let node = flow.node(segment);
        let search = self.controls[function.index()].get_or_insert_with(|| control.search());
        for decision in search.take(node) {
            let from = flow.segment(decision.from);
            let last = graphs.flow.segment(from).last;
            let instruction = facts.program.instruction(last);
            if instruction.call().is_none() {
                self.decided_at(last, decision.side, distance + 1);
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

    fn decided_at(&mut self, branch: Site, side: u32, distance: u32) {
        let bit = 1u64 << side.min(63);
        let known = self.found.branches.entry(branch.0);
        let (nearest, sides) = known.or_insert((distance, bit));
        if distance < *nearest {
            (*nearest, *sides) = (distance, bit);
        } else if distance == *nearest {
            *sides |= bit;
        }
    }

    /// The ways on which the called functions come back.
    fn returns(&mut self, call: Site, distance: u32) {
        let graphs = self.facts.graphs;
        let callees: Vec<FunctionId> = graphs.calls.callees(call).collect();
        for callee in callees {
            let flow = graphs.flow.function(callee);
            for &node in &flow.returns {
                self.reach(flow.segment(node), distance);
            }
        }
    }

    /// The ways on which the called functions throw.
    fn throws(&mut self, call: Site, distance: u32) {
        let facts = self.facts;
        let graphs = facts.graphs;
        let callees: Vec<FunctionId> = graphs.calls.callees(call).collect();
        for callee in callees {
            let flow = graphs.flow.function(callee);
            for &node in &flow.exits {
                let segment = flow.segment(node);
                let last = graphs.flow.segment(segment).last;
                let throws = match &facts.program.instruction(last).operation {
                    Operation::Resume => true,
                    Operation::Call(_) => graphs.calls.call_exits(facts.program, last).throws,
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
        let graphs = self.facts.graphs;
        let mut sites: Vec<Site> = graphs.calls.callers(function).collect();
        if let Some(via) = self.via.filter(|via| sites.contains(via)) {
            sites = vec![via];
        }
        for site in sites {
            self.reach(graphs.flow.segment_of(site), distance);
        }
    }
}

/// Which side of a switch a trace means by the number of a block.
pub fn switch_sides(facts: &Facts<'_>) -> HashMap<(u32, u64), u32> {
    let mut sides = HashMap::new();
    for site in &facts.table.sites {
        if site.cases.is_empty() || site.number as usize > facts.program.instructions.len() {
            continue;
        }
        let instruction = facts.program.instruction(Site(site.number));
        let Operation::Switch { cases, .. } = &instruction.operation else {
            continue;
        };
        for &(value, block) in &site.cases {
            let at = match value {
                Some(value) => cases.iter().position(|case| case.value as u64 == value),
                None => Some(cases.len()),
            };
            if let Some(at) = at {
                sides
                    .entry((site.number, u64::from(block)))
                    .or_insert(at as u32);
            }
        }
    }
    sides
}
