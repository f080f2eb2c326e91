//! The change-sequence graph: in which orders a run can come by the changes,
//! the places where they meet, and the outputs.
//!
//! It is the flow graph of the whole program seen from its *marks*: an edge
//! stands for a way from one mark to another that passes no third, with calls
//! and returns in pairs. What runs on its own (handlers, threads) is taken to
//! run at the start or the end.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use changeling_program::{Callee, FunctionId, Operation, Program, Site};
use serde::{Deserialize, Serialize};

use crate::flow::SegmentId;
use crate::graphs::Graphs;
use crate::library::{self, Leaving};
use crate::passage::Passage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MarkId(pub u32);

/// Marks of one site come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// The start of the program.
    Root,
    /// Where code was deleted.
    Anchor,
    /// Code of a change.
    Changed,
    /// Where changes meet.
    Meeting,
    /// What the world can see.
    Output,
    /// The end of the program.
    Out,
}

/// Something to mark, just before a site runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    pub site: Site,
    pub kind: MarkKind,
    /// Numbers of the changes: its own, or those it may depend on. Ascending.
    pub changes: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub kind: MarkKind,
    /// `None` for the start and the end.
    pub site: Option<Site>,
    pub changes: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    pub from: MarkId,
    pub to: MarkId,
    /// Sides of branches on the way that `to` depends on: (branch, side).
    pub deciders: Vec<(Site, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequences {
    /// The first is the start, the second the end, the others by site.
    pub marks: Vec<Mark>,
    /// By `from`, then by `to`.
    pub edges: Vec<Edge>,
    /// Points in code that no run can come to.
    pub unreachable: Vec<Point>,
}

impl Sequences {
    pub const ROOT: MarkId = MarkId(0);
    pub const OUT: MarkId = MarkId(1);

    /// Neighbouring points of one kind and change in one stretch of code
    /// become one mark.
    pub fn new(program: &Program, graphs: &Graphs, points: &[Point]) -> Sequences {
        let mut map = Map::new(program, graphs, points);
        map.summarise();
        let mut edges = Vec::new();
        for from in map.start_marks() {
            edges.extend(Walk::new(&map, from).edges());
        }
        Sequences {
            marks: map.marks,
            edges,
            unreachable: map.unreachable,
        }
    }

    pub fn mark(&self, id: MarkId) -> &Mark {
        &self.marks[id.0 as usize]
    }

    /// Marks of a site, in the order in which a run comes by them.
    pub fn at(&self, site: Site) -> impl Iterator<Item = MarkId> + '_ {
        let of = |mark: &Mark| mark.site.unwrap_or(Site(0));
        let from = self.marks.partition_point(|mark| of(mark) < site).max(2);
        let own = self.marks[from..].iter().take_while(move |m| of(m) == site);
        own.enumerate().map(move |(n, _)| MarkId((from + n) as u32))
    }

    /// Edges out of a mark.
    pub fn successors(&self, id: MarkId) -> &[Edge] {
        let from = self.edges.partition_point(|edge| edge.from < id);
        let to = self.edges.partition_point(|edge| edge.from <= id);
        &self.edges[from..to]
    }

    /// The edges of the construction as first published: besides these, one
    /// from every change to every meeting place that depends on it. Some of
    /// those stand for no way through the program.
    pub fn literal(&self) -> Vec<(MarkId, MarkId)> {
        let mut edges: BTreeSet<(MarkId, MarkId)> =
            self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let ids = || (0..self.marks.len() as u32).map(MarkId);
        let of_kind = |kind: MarkKind| ids().filter(move |&id| self.mark(id).kind == kind);
        for to in of_kind(MarkKind::Meeting) {
            let depends = |id: &MarkId| {
                let own = &self.mark(*id).changes;
                own.iter()
                    .any(|change| self.mark(to).changes.contains(change))
            };
            edges.extend(
                of_kind(MarkKind::Changed)
                    .filter(depends)
                    .map(|from| (from, to)),
            );
        }
        edges.into_iter().collect()
    }
}

/// What a walk stops or turns at, in the order of the code.
#[derive(Clone, Copy)]
enum Item {
    Mark(MarkId),
    Call(Site),
}

/// The program with its marks.
struct Map<'g> {
    program: &'g Program,
    graphs: &'g Graphs,
    passage: Passage,
    marks: Vec<Mark>,
    unreachable: Vec<Point>,
    /// Per segment.
    items: Vec<Vec<Item>>,
    /// Per function: it can be left without coming by a mark.
    silent: Vec<bool>,
    starts: Vec<FunctionId>,
    /// Functions that may be called from nobody knows where.
    taken: Vec<FunctionId>,
    setjmps: Vec<Site>,
}

impl<'g> Map<'g> {
    fn new(program: &'g Program, graphs: &'g Graphs, points: &[Point]) -> Map<'g> {
        let mut starts = Graphs::starts(program);
        if starts.is_empty() {
            starts = program.definitions().collect();
        }
        let taken = match graphs.calls.unresolved.is_empty() {
            true => Vec::new(),
            false => crate::pointers::address_taken(program),
        };
        let calls = graphs.calls.edges().iter();
        let setjmps = calls.filter(|(_, f)| library::is_setjmp(&program.function(*f).symbol));
        let end = |kind| Mark {
            kind,
            site: None,
            changes: Vec::new(),
        };
        let mut map = Map {
            program,
            graphs,
            passage: Passage::new(program, graphs),
            marks: vec![end(MarkKind::Root), end(MarkKind::Out)],
            unreachable: Vec::new(),
            items: vec![Vec::new(); graphs.flow.segments.len()],
            silent: vec![false; program.functions.len()],
            starts,
            taken,
            setjmps: setjmps.map(|&(site, _)| site).collect(),
        };
        map.place(points);
        map
    }

    fn place(&mut self, points: &[Point]) {
        let mut points: Vec<&Point> = points.iter().collect();
        points.sort();
        points.dedup();
        let mut by_site: BTreeMap<Site, Vec<&Point>> = BTreeMap::new();
        for point in points {
            if self.passage.is_live(self.graphs, point.site) {
                by_site.entry(point.site).or_default().push(point);
            } else {
                self.unreachable.push(point.clone());
            }
        }
        // All calls that matter, and all points, in the order of the code.
        let program = self.program;
        let calls = program.sites().filter(|&site| {
            let call = program.instruction(site).call();
            call.is_some_and(|_| self.is_turn(site))
        });
        let mut sites: BTreeSet<Site> = calls.collect();
        sites.extend(by_site.keys());
        for site in sites {
            let segment = self.graphs.flow.segment_of(site).0 as usize;
            for point in by_site.get(&site).into_iter().flatten() {
                let last = match self.items[segment].last() {
                    Some(Item::Mark(id)) => Some(&self.marks[id.0 as usize]),
                    _ => None,
                };
                let goes_on = last
                    .is_some_and(|mark| mark.kind == point.kind && mark.changes == point.changes);
                if !goes_on {
                    self.items[segment].push(Item::Mark(MarkId(self.marks.len() as u32)));
                    self.marks.push(Mark {
                        kind: point.kind,
                        site: Some(point.site),
                        changes: point.changes.clone(),
                    });
                }
            }
            if program.instruction(site).call().is_some() && self.is_turn(site) {
                self.items[segment].push(Item::Call(site));
            }
        }
    }

    /// Whether control does something else at the call than to go on.
    fn is_turn(&self, site: Site) -> bool {
        let mut callees = self.graphs.calls.callees(site).peekable();
        let unknown = callees.peek().is_none();
        let turns = |id: FunctionId| {
            let function = self.program.function(id);
            function.is_defined()
                || function.no_return
                || library::leaving(&function.symbol, false) != Leaving::Returns
        };
        callees.any(turns) || (unknown && self.is_indirect(site))
    }

    fn is_indirect(&self, site: Site) -> bool {
        let call = self.program.instruction(site).call();
        call.is_some_and(|call| matches!(call.callee, Callee::Indirect(_)))
    }

    fn start_marks(&self) -> Vec<MarkId> {
        let all = 0..self.marks.len() as u32;
        all.map(MarkId).filter(|&id| id != Sequences::OUT).collect()
    }

    /// `silent`, as a least fixpoint.
    fn summarise(&mut self) {
        let mut work: Vec<FunctionId> = self.program.definitions().collect();
        while let Some(function) = work.pop() {
            if self.silent[function.index()] || !self.can_leave(function) {
                continue;
            }
            self.silent[function.index()] = true;
            let callers = self.graphs.calls.callers(function);
            work.extend(callers.map(|site| self.program.function_of(site)));
        }
    }

    fn can_leave(&self, id: FunctionId) -> bool {
        let function = self.graphs.flow.function(id);
        let mut seen = vec![false; function.graph.len()];
        let mut work = vec![function.first];
        seen[0] = true;
        while let Some(segment) = work.pop() {
            let mut left = false;
            let passed = self.pass(segment, 0, &mut |event| left |= event == Event::Leave);
            if left {
                return true;
            }
            if passed {
                for &next in function.graph.successors(function.node(segment)) {
                    if !std::mem::replace(&mut seen[next.index()], true) {
                        work.push(function.segment(next));
                    }
                }
            }
        }
        false
    }

    /// Goes through a segment from the item at `from`. Returns whether control
    /// can go on behind it.
    fn pass(&self, segment: SegmentId, from: usize, meet: &mut impl FnMut(Event)) -> bool {
        for &item in &self.items[segment.0 as usize][from..] {
            match item {
                Item::Mark(id) => {
                    meet(Event::Mark(id));
                    return false;
                }
                Item::Call(site) => {
                    if !self.call(site, meet) {
                        return false;
                    }
                }
            }
        }
        let last = self
            .program
            .instruction(self.graphs.flow.segment(segment).last);
        if matches!(last.operation, Operation::Return | Operation::Resume) {
            meet(Event::Leave);
        }
        true
    }

    /// Returns whether control can come back from the call without having come
    /// by a mark.
    fn call(&self, site: Site, meet: &mut impl FnMut(Event)) -> bool {
        let mut comes_back = false;
        let mut throws = false;
        let mut known = false;
        for callee in self.graphs.calls.callees(site) {
            known = true;
            let function = self.program.function(callee);
            if function.is_defined() {
                meet(Event::Enter(callee));
                let silent = self.silent[callee.index()];
                comes_back |= silent;
                throws |= silent && self.graphs.calls.exits(callee).throws;
                continue;
            }
            match library::leaving(&function.symbol, function.no_return) {
                Leaving::Returns => comes_back = true,
                Leaving::Halts => {
                    meet(Event::Halt);
                    comes_back |= !function.no_return;
                }
                Leaving::Throws => throws = true,
                Leaving::Jumps => meet(Event::Jump),
            }
        }
        if !known {
            self.taken.iter().for_each(|&id| meet(Event::Enter(id)));
            comes_back = true;
        }
        let call = self.program.instruction(site).call();
        if call.is_some_and(|call| call.invoke.is_some()) {
            return comes_back || throws;
        }
        if throws {
            meet(Event::Leave);
        }
        comes_back
    }

    /// The item behind the call, in its segment.
    fn behind(&self, call: Site) -> (SegmentId, usize) {
        let segment = self.graphs.flow.segment_of(call);
        let items = &self.items[segment.0 as usize];
        let at = items
            .iter()
            .position(|item| matches!(item, Item::Call(site) if *site == call));
        (segment, at.map_or(items.len(), |at| at + 1))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Mark(MarkId),
    Enter(FunctionId),
    /// The function is left.
    Leave,
    /// The program ends.
    Halt,
    /// Control goes on behind some `setjmp`.
    Jump,
}

/// All ways out of one mark. As long as it only leaves functions it may leave
/// the next one too (`open`); from where it has entered one, leaving that is
/// part of the call.
struct Walk<'m, 'g> {
    map: &'m Map<'g>,
    from: MarkId,
    targets: BTreeSet<MarkId>,
    /// Segments entered at their start, by `open`.
    entered: [HashSet<SegmentId>; 2],
    inside: HashSet<(SegmentId, usize)>,
    left: HashSet<FunctionId>,
    jumped: bool,
    work: Vec<(SegmentId, usize, bool)>,
}

impl<'m, 'g> Walk<'m, 'g> {
    fn new(map: &'m Map<'g>, from: MarkId) -> Walk<'m, 'g> {
        let mut walk = Walk {
            map,
            from,
            targets: BTreeSet::new(),
            entered: [HashSet::new(), HashSet::new()],
            inside: HashSet::new(),
            left: HashSet::new(),
            jumped: false,
            work: Vec::new(),
        };
        match map.marks[from.0 as usize].site {
            Some(site) => {
                let segment = map.graphs.flow.segment_of(site);
                let items = &map.items[segment.0 as usize];
                let own = |item: &Item| matches!(item, Item::Mark(id) if *id == from);
                let at = items.iter().position(own).unwrap_or(0);
                walk.work.push((segment, at + 1, true));
            }
            None => {
                for &start in &map.starts {
                    walk.enter(start, true);
                }
                for &handler in &map.graphs.calls.detached {
                    walk.enter(handler, false);
                }
            }
        }
        while let Some((segment, item, open)) = walk.work.pop() {
            walk.expand(segment, item, open);
        }
        walk
    }

    fn enter(&mut self, function: FunctionId, open: bool) {
        let flow = self.map.graphs.flow.function(function);
        if !flow.is_empty() {
            self.go(flow.first, open);
        }
    }

    fn go(&mut self, segment: SegmentId, open: bool) {
        if self.entered[usize::from(open)].insert(segment) {
            self.work.push((segment, 0, open));
        }
    }

    fn resume(&mut self, call: Site) {
        let (segment, item) = self.map.behind(call);
        if self.inside.insert((segment, item)) {
            self.work.push((segment, item, true));
        }
    }

    fn expand(&mut self, segment: SegmentId, item: usize, open: bool) {
        let map = self.map;
        let mut events = Vec::new();
        let passed = map.pass(segment, item, &mut |event| events.push(event));
        let function = map.graphs.flow.segment(segment).function;
        for event in events {
            match event {
                Event::Mark(id) => {
                    self.targets.insert(id);
                }
                Event::Enter(callee) => self.enter(callee, false),
                Event::Halt => self.end(),
                Event::Leave if open => self.leave(function),
                Event::Leave => {}
                Event::Jump => {
                    if !std::mem::replace(&mut self.jumped, true) {
                        map.setjmps.iter().for_each(|&site| self.resume(site));
                    }
                }
            }
        }
        if passed {
            let flow = map.graphs.flow.function(function);
            for &next in flow.graph.successors(flow.node(segment)) {
                self.go(flow.segment(next), open);
            }
        }
    }

    fn end(&mut self) {
        self.targets.insert(Sequences::OUT);
        for &handler in &self.map.graphs.calls.detached {
            self.enter(handler, false);
        }
    }

    fn leave(&mut self, function: FunctionId) {
        if !self.left.insert(function) {
            return;
        }
        let map = self.map;
        let start = map.starts.iter().position(|&start| start == function);
        if let Some(start) = start {
            // Constructors come behind the main function in the list, and run before it.
            let symbol = &map.program.function(map.starts[0]).symbol;
            let constructor = start > 0 && symbol == "main";
            match constructor {
                true => map.starts.iter().for_each(|&other| self.enter(other, true)),
                false => self.end(),
            }
        }
        if map.graphs.calls.detached.contains(&function) {
            self.end();
        }
        let callers: Vec<Site> = map.graphs.calls.callers(function).collect();
        for call in callers {
            if map.passage.is_live(map.graphs, call) {
                self.resume(call);
            }
        }
    }

    fn edges(&self) -> Vec<Edge> {
        let edge = |&to: &MarkId| Edge {
            from: self.from,
            to,
            deciders: self.deciders(to),
        };
        self.targets.iter().map(edge).collect()
    }

    fn was_in(&self, segment: SegmentId) -> bool {
        let start = self.map.marks[self.from.0 as usize].site;
        let start = start.map(|site| self.map.graphs.flow.segment_of(site));
        start == Some(segment)
            || self.entered.iter().any(|set| set.contains(&segment))
            || self.inside.iter().any(|&(inside, _)| inside == segment)
    }

    /// Decisions that the mark's running depends on, as far as they lie on the way.
    fn deciders(&self, to: MarkId) -> Vec<(Site, u32)> {
        let Some(site) = self.map.marks[to.0 as usize].site else {
            return Vec::new();
        };
        let graphs = self.map.graphs;
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut work = vec![graphs.flow.segment_of(site)];
        while let Some(segment) = work.pop() {
            if !seen.insert(segment) {
                continue;
            }
            let function = graphs.flow.segment(segment).function;
            let flow = graphs.flow.function(function);
            let control = graphs.control(function);
            for decision in control.controllers(flow.node(segment)) {
                let from = flow.segment(decision.from);
                let last = graphs.flow.segment(from).last;
                let branches = self.map.program.instruction(last).decides();
                if branches && self.was_in(from) {
                    found.insert((last, decision.side));
                }
            }
            let first_entered = self.entered[0].contains(&flow.first);
            if control.is_unconditional(flow.node(segment)) && first_entered {
                let callers = graphs.calls.callers(function);
                let callers = callers.map(|call| graphs.flow.segment_of(call));
                work.extend(callers.filter(|&segment| self.was_in(segment)));
            }
        }
        found.into_iter().collect()
    }
}
