//! How far branches are from a goal, and which of their sides lead there: distance in
//! the interprocedural control-dependence graph. What a branch tests may have been decided
//! just before, by other branches: these lead there, too.

use super::conditions::{Demand, Test, demands};
use super::definitions::{Spot, definitions, uncast};
use super::facts::Facts;
use super::plan::{Distances, Effect};
use super::users::of_results;
use changeling_analysis::control::ControlSearch;
use changeling_analysis::{Control, SegmentId};
use changeling_program::{FunctionId, Operation, Site, Value};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

type Decisions = HashMap<(Site, u32), Rc<[Spot]>>;

/// What is the same for all goals of a version.
pub struct Surveyor<'a, 'p> {
    facts: &'a Facts<'p>,
    /// Calls out of the program, each with the branches that depend on its result.
    calls: Vec<(Site, Vec<Site>)>,
    /// By branch and side: where it was decided that the branch takes it.
    decisions: RefCell<Decisions>,
}

impl<'a, 'p> Surveyor<'a, 'p> {
    pub fn new(facts: &'a Facts<'p>) -> Surveyor<'a, 'p> {
        let users = of_results(facts.program);
        let calls = facts.outside_calls().into_iter();
        let calls = calls.map(|site| (site, facts.branches_behind(&users, site)));
        Surveyor {
            facts,
            calls: calls.collect(),
            decisions: RefCell::default(),
        }
    }

    /// Where a value is chosen, at once before it is tested, that lets a branch take a side.
    fn decisions(&self, branch: Site, side: u32) -> Rc<[Spot]> {
        if let Some(known) = self.decisions.borrow().get(&(branch, side)) {
            return known.clone();
        }
        let found: Rc<[Spot]> = self.chosen(branch, side).unwrap_or_default().into();
        let mut known = self.decisions.borrow_mut();
        known.insert((branch, side), found.clone());
        found
    }

    fn chosen(&self, branch: Site, side: u32) -> Option<Vec<Spot>> {
        let program = self.facts.program;
        let found = demands(program, branch, side as usize);
        let [Demand { value, test }] = &found[..] else {
            return None;
        };
        let Value::Result(site) = *value else {
            return None;
        };
        let instruction = program.instruction(site);
        match instruction.operation {
            Operation::Phi { .. } => {}
            // In which of several calls nobody can tell here: goals do.
            Operation::Call(_) => {
                let mut callees = self.facts.graphs.calls.callees(site);
                let (Some(callee), None) = (callees.next(), callees.next()) else {
                    return None;
                };
                if self.facts.graphs.calls.callers(callee).count() != 1 {
                    return None;
                }
            }
            _ => return None,
        }
        let sources = definitions(self.facts, program.function_of(branch), *value)?;
        if sources.lasting || sources.vague {
            return None;
        }
        let brings = |effect| matches!(effect, Effect::Set(value) if test.holds(value));
        let list = sources.list.iter().filter(|found| brings(found.effect));
        Some(list.map(|definition| definition.aim()).collect())
    }

    /// Distances to the nearest of some places. `via`: by way of this call of their function. `further`: where
    /// it should go on to from there.
    pub fn distances(&self, goals: &[Spot], via: Option<Site>, further: Option<Spot>) -> Distances {
        let facts = self.facts;
        let count = facts.graphs.flow.segments.len();
        let mut search = Search {
            surveyor: self,
            facts,
            via,
            segments: vec![None; count],
            done: vec![false; count],
            entered: vec![false; facts.program.functions.len()],
            controls: facts.program.functions.iter().map(|_| None).collect(),
            queue: VecDeque::new(),
            found: Distances::default(),
            aimed: HashSet::new(),
            musts: HashMap::new(),
        };
        if let [goal] = goals {
            let last = further.filter(|further| facts.is_on_the_way(*goal, *further));
            search.musts = demanded(facts, last.unwrap_or(*goal));
        }
        for goal in goals {
            search.aim(*goal, 0);
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
    surveyor: &'a Surveyor<'a, 'p>,
    facts: &'a Facts<'p>,
    via: Option<Site>,
    segments: Vec<Option<u32>>,
    done: Vec<bool>,
    entered: Vec<bool>,
    controls: Vec<Option<ControlSearch<'a>>>,
    queue: VecDeque<(u32, SegmentId)>,
    found: Distances,
    /// Ways out of branches that were aimed at.
    aimed: HashSet<(Site, u32)>,
    /// What every way through its function to the goal demands of values.
    musts: HashMap<(FunctionId, Value), Vec<Test>>,
}

impl<'a> Search<'a, '_> {
    fn aim(&mut self, spot: Spot, distance: u32) {
        let (facts, graphs) = (self.facts, self.facts.graphs);
        let end = facts.program.terminator(spot.block);
        let first = facts.program.block(spot.block).first;
        match spot.side {
            None => self.reach(graphs.flow.segment_of(first), distance),
            Some(side) => {
                self.decided_at(end, side, distance + 1);
                self.reach(graphs.flow.segment_of(end), distance + 1);
                // What decides about the way may have been decided in turn.
                if self.aimed.insert((end, side)) {
                    for spot in &*self.surveyor.decisions(end, side) {
                        self.aim(*spot, distance + 1);
                    }
                }
            }
        }
    }

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
                if self.is_contrary(function, last, decision.side) {
                    continue;
                }
                self.decided_at(last, decision.side, distance + 1);
                self.reach(from, distance + 1);
                for spot in &*self.surveyor.decisions(last, decision.side) {
                    self.aim(*spot, distance + 1);
                }
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

    /// Whether a side demands what the goal, later on, has no use for: `what == 'x'` on the way to the case 'd'.
    fn is_contrary(&self, function: FunctionId, branch: Site, side: u32) -> bool {
        let program = self.facts.program;
        let demands = demands(program, branch, side as usize);
        demands.into_iter().any(|Demand { value, test }| {
            let musts = self.musts.get(&(function, uncast(program, value)));
            let mut musts = musts.into_iter().flatten();
            musts.any(|must| {
                let both = Test::All(vec![must.clone(), test.clone()]);
                both.example().is_none()
            })
        })
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

/// What the branches demand that every way through its function to a spot goes by.
fn demanded(facts: &Facts<'_>, spot: Spot) -> HashMap<(FunctionId, Value), Vec<Test>> {
    let program = facts.program;
    let function = program.block(spot.block).function;
    let mut musts: HashMap<(FunctionId, Value), Vec<Test>> = HashMap::new();
    for (sides, _) in facts.guards(spot) {
        let [(branch, side)] = sides[..] else {
            continue;
        };
        for Demand { value, test } in demands(program, branch, side as usize) {
            let value = uncast(program, value);
            musts.entry((function, value)).or_default().push(test);
        }
    }
    musts
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

#[cfg(test)]
mod tests;
