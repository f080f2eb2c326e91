//! Which branches can still, or could already, have led to a change.
//!
//! Everything follows calls and returns in pairs (a way that enters a function
//! from one place never leaves it to another), by summaries of functions, so it
//! also holds with recursion. What is not certain is answered with "can": a
//! branch is called irrelevant only if it is.

use changeling_program::{Constant, FunctionId, Global, Program, Site, Value};

use crate::flow::SegmentId;
use crate::graphs::Graphs;
use crate::library;
use crate::passage::Passage;

/// Summaries for one set of changed sites.
pub struct Reach {
    /// Per function: a changed site can run before it is left.
    functions: Vec<bool>,
    /// Per segment: a changed site can run from its start before the function
    /// is left.
    inside: Vec<bool>,
    /// Per function: a changed site can run after it was left.
    after: Vec<bool>,
    /// Per segment: a changed site can have run before its end.
    before: Vec<bool>,
    changed: Vec<Site>,
    /// A change can come at any time, or have come before `main`.
    always: bool,
    jump: bool,
    passage: Passage,
}

impl Reach {
    pub fn new(program: &Program, graphs: &Graphs, changed: &[Site]) -> Reach {
        let mut changed = changed.to_vec();
        changed.sort_unstable();
        changed.dedup();
        let mut summary = Summary::new(program, graphs, changed);
        summary.forwards();
        // A jump can go on behind any `setjmp`; if a change can follow there,
        // then also from wherever a jump can start.
        if summary.behind_setjmp() {
            summary.reach.jump = true;
            summary.forwards();
        }
        summary.backwards();
        let functions = &summary.reach.functions;
        // No trace tells what ran before `main`: whoever comes from there may have come by a change.
        let always = summary.apart().any(|id| functions[id.index()]);
        summary.reach.always = always;
        summary.reach
    }

    /// Whether a changed site can run when the branch at `site` takes `side`,
    /// or after that. A branch side that cannot is in B_E.
    pub fn can_follow(&self, program: &Program, graphs: &Graphs, site: Site, side: usize) -> bool {
        let function = program.function_of(site);
        self.always
            || self.after[function.index()]
            || self.can_follow_inside(program, graphs, site, side)
    }

    /// The same without what happens when the function has been left; with
    /// [`Reach::can_follow_return`] for each call on the stack it is exact for a
    /// given stack.
    pub fn can_follow_inside(
        &self,
        program: &Program,
        graphs: &Graphs,
        site: Site,
        side: usize,
    ) -> bool {
        let targets = graphs.flow.targets(program, site);
        self.always
            || targets
                .get(side)
                .is_none_or(|target| self.inside[target.0 as usize])
    }

    /// Whether a changed site can run in the calling function after the call at
    /// `site` has come back (or unwound into it).
    pub fn can_follow_return(&self, graphs: &Graphs, site: Site) -> bool {
        self.always || self.rest(graphs, site)
    }

    /// Whether a changed site can run in the instruction at `site` (in what it calls) or at
    /// any time after it.
    pub fn can_follow_site(&self, program: &Program, graphs: &Graphs, site: Site) -> bool {
        let function = program.function_of(site);
        let mut callees = graphs.calls.callees(site);
        self.always
            || self.after[function.index()]
            || callees.any(|callee| self.functions[callee.index()])
            || self.changed.binary_search(&site).is_ok()
            || graphs.calls.unresolved.contains(&site)
            || self.rest(graphs, site)
    }

    fn rest(&self, graphs: &Graphs, site: Site) -> bool {
        let segment_id = graphs.flow.segment_of(site);
        let segment = graphs.flow.segment(segment_id);
        let mut behind = (site.0 + 1..=segment.last.0).map(Site);
        let here = behind.any(|site| {
            self.passage.within(graphs, site)
                && (self.changed.binary_search(&site).is_ok()
                    || graphs
                        .calls
                        .callees(site)
                        .any(|callee| self.functions[callee.index()]))
        });
        let function = graphs.flow.function(segment.function);
        let mut next = function.graph.successors(function.node(segment_id)).iter();
        here || (self.passage.is_passable(segment_id)
            && next.any(|&node| self.inside[function.segment(node).0 as usize]))
    }

    /// Whether a changed site can have run before the branch at `site` decides.
    /// A side of B_E for which it cannot is in B_P.
    pub fn can_precede(&self, graphs: &Graphs, site: Site) -> bool {
        self.always || self.before[graphs.flow.segment_of(site).0 as usize]
    }

    /// Whether entering the function can run a changed site.
    pub fn function(&self, id: FunctionId) -> bool {
        self.functions[id.index()]
    }
}

struct Summary<'g> {
    program: &'g Program,
    graphs: &'g Graphs,
    reach: Reach,
}

impl<'g> Summary<'g> {
    fn new(program: &'g Program, graphs: &'g Graphs, changed: Vec<Site>) -> Summary<'g> {
        let passage = Passage::new(program, graphs);
        let functions = program.functions.len();
        let segments = graphs.flow.segments.len();
        let reach = Reach {
            functions: vec![false; functions],
            inside: vec![false; segments],
            after: vec![false; functions],
            before: vec![false; segments],
            changed,
            always: false,
            jump: false,
            passage,
        };
        Summary {
            program,
            graphs,
            reach,
        }
    }

    fn forwards(&mut self) {
        self.mark_functions();
        self.mark_after();
    }

    /// `functions` and `inside` together, as a least fixpoint: a segment that
    /// reaches makes its predecessors reach; a first segment that reaches makes
    /// the function and so all segments that call it reach.
    fn mark_functions(&mut self) {
        let flow = &self.graphs.flow;
        let mut work: Vec<SegmentId> = Vec::new();
        for site in self.reach.changed.clone() {
            self.mark_at(site, &mut work);
        }
        if self.reach.jump {
            for &(site, callee) in self.graphs.calls.edges() {
                if is_jump(self.program, callee) {
                    self.mark_at(site, &mut work);
                }
            }
        }
        let mut unresolved_marked = self.graphs.calls.unresolved.is_empty();
        while let Some(segment) = work.pop() {
            let function = flow.segment(segment).function;
            let own = flow.function(function);
            let node = own.node(segment);
            for &before in own.graph.predecessors(node) {
                if self.reach.passage.is_passable(own.segment(before)) {
                    self.mark(own.segment(before), &mut work);
                }
            }
            if node.0 == 0 && !std::mem::replace(&mut self.reach.functions[function.index()], true)
            {
                let callers: Vec<Site> = self.graphs.calls.callers(function).collect();
                for site in callers {
                    self.mark_at(site, &mut work);
                }
                if !std::mem::replace(&mut unresolved_marked, true) {
                    // A call to nobody knows where may enter any function.
                    for &site in &self.graphs.calls.unresolved {
                        self.mark_at(site, &mut work);
                    }
                }
            }
        }
    }

    fn mark_at(&mut self, site: Site, work: &mut Vec<SegmentId>) {
        if self.reach.passage.within(self.graphs, site) {
            self.mark(self.graphs.flow.segment_of(site), work);
        }
    }

    fn mark(&mut self, segment: SegmentId, work: &mut Vec<SegmentId>) {
        if !std::mem::replace(&mut self.reach.inside[segment.0 as usize], true) {
            work.push(segment);
        }
    }

    /// Functions that code outside of the program calls, nobody knows from where and when.
    fn apart(&self) -> impl Iterator<Item = FunctionId> {
        let loader = run_by_loader(self.program).into_iter();
        loader.chain(self.graphs.calls.loose.iter().copied())
    }

    /// Those of them that have a body, if there is a change that can come before or behind.
    fn entered_from_outside(&self) -> Vec<FunctionId> {
        let defined = |id: &FunctionId| self.program.function(*id).is_defined();
        let known = self.apart().filter(|id| defined(id));
        known.filter(|_| !self.reach.changed.is_empty()).collect()
    }

    fn mark_after(&mut self) {
        let mut work = self.entered_from_outside();
        for id in &work {
            self.reach.after[id.index()] = true;
        }
        for &(site, callee) in self.graphs.calls.edges() {
            if self.is_live(site) && !self.reach.after[callee.index()] && self.rest(site) {
                self.reach.after[callee.index()] = true;
                work.push(callee);
            }
        }
        while let Some(function) = work.pop() {
            let sites = self.program.function(function).sites();
            let live: Vec<Site> = sites.filter(|&site| self.is_live(site)).collect();
            for callee in live
                .into_iter()
                .flat_map(|site| self.graphs.calls.callees(site))
            {
                if !std::mem::replace(&mut self.reach.after[callee.index()], true) {
                    work.push(callee);
                }
            }
        }
    }

    fn is_live(&self, site: Site) -> bool {
        self.reach.passage.is_live(self.graphs, site)
    }

    fn rest(&self, site: Site) -> bool {
        self.reach.rest(self.graphs, site)
    }

    fn behind_setjmp(&self) -> bool {
        let edges = self.graphs.calls.edges().iter();
        let mut setjmps =
            edges.filter(|(_, callee)| library::is_setjmp(&self.program.function(*callee).symbol));
        let jumps = self
            .graphs
            .calls
            .edges()
            .iter()
            .any(|&(_, callee)| is_jump(self.program, callee));
        jumps
            && setjmps.any(|&(site, _)| {
                self.rest(site) || self.reach.after[self.program.function_of(site).index()]
            })
    }

    /// `before`: from changed sites onwards, into callers and callees.
    fn backwards(&mut self) {
        let flow = &self.graphs.flow;
        let mut dirty = Dirty {
            at_start: vec![false; flow.segments.len()],
            at_end: vec![false; flow.segments.len()],
            work: Vec::new(),
        };
        for &site in &self.reach.changed {
            if self.is_live(site) {
                dirty.inside(flow.segment_of(site), site);
            }
        }
        for id in self.entered_from_outside() {
            dirty.start(flow.function(id).first, flow);
        }
        let unresolved = self.graphs.calls.unresolved.iter().copied();
        let some_reach = self.reach.functions.contains(&true);
        let unresolved = unresolved.filter(|_| some_reach);
        let calls = self.graphs.calls.edges().iter();
        let calls = calls.filter(|(_, callee)| self.reach.functions[callee.index()]);
        for site in calls.map(|&(site, _)| site).chain(unresolved) {
            if self.is_live(site) {
                dirty.inside(flow.segment_of(site), Site(site.0 + 1));
            }
        }
        while let Some((segment, from)) = dirty.work.pop() {
            let own = flow.segment(segment);
            let function = flow.function(own.function);
            for &next in function.graph.successors(function.node(segment)) {
                dirty.start(function.segment(next), flow);
            }
            for site in own.sites().filter(|&site| site >= from) {
                for callee in self.graphs.calls.callees(site) {
                    if self.program.function(callee).is_defined() {
                        dirty.start(flow.function(callee).first, flow);
                    } else if is_jump(self.program, callee) {
                        self.behind_jumps(&mut dirty);
                    }
                }
            }
        }
        self.reach.before = dirty.at_end;
    }

    fn behind_jumps(&self, dirty: &mut Dirty) {
        for &(site, callee) in self.graphs.calls.edges() {
            if library::is_setjmp(&self.program.function(callee).symbol) {
                dirty.start(self.graphs.flow.segment_of(site), &self.graphs.flow);
            }
        }
    }
}

/// Where a changed site can have run.
struct Dirty {
    at_start: Vec<bool>,
    at_end: Vec<bool>,
    /// Segments to go on from, and from which site on the change lies behind.
    work: Vec<(SegmentId, Site)>,
}

impl Dirty {
    fn start(&mut self, segment: SegmentId, flow: &crate::Flow) {
        if !std::mem::replace(&mut self.at_start[segment.0 as usize], true) {
            self.inside(segment, flow.segment(segment).first);
        }
    }

    fn inside(&mut self, segment: SegmentId, from: Site) {
        self.at_end[segment.0 as usize] = true;
        self.work.push((segment, from));
    }
}

fn is_jump(program: &Program, callee: FunctionId) -> bool {
    let function = program.function(callee);
    !function.is_defined()
        && library::leaving(&function.symbol, function.no_return) == library::Leaving::Jumps
}

/// Functions that run before `main`.
pub fn constructors(program: &Program) -> Vec<FunctionId> {
    listed(program, "llvm.global_ctors")
}

/// Functions that the loader runs before `main`: those in the compiler's list, and those whose address the source has put
/// among them by itself.
pub fn run_before_main(program: &Program) -> Vec<FunctionId> {
    let mut found = in_sections(program, &[".preinit_array", ".init_array", ".ctors"]);
    found.extend(constructors(program));
    found
}

/// The same, and those that it runs after `main`.
pub fn run_by_loader(program: &Program) -> Vec<FunctionId> {
    let mut found = run_before_main(program);
    found.extend(in_sections(program, &[".fini_array", ".dtors"]));
    found.extend(listed(program, "llvm.global_dtors"));
    found
}

fn in_sections(program: &Program, names: &[&str]) -> Vec<FunctionId> {
    let is_one = |section: &String| names.iter().any(|name| section.starts_with(name));
    let globals = program.globals.iter();
    let lists = globals.filter(|global| global.section.as_ref().is_some_and(is_one));
    lists.flat_map(|list| named_in(program, list)).collect()
}

fn listed(program: &Program, name: &str) -> Vec<FunctionId> {
    let list = program.globals.iter().find(|global| global.symbol == name);
    list.map_or_else(Vec::new, |list| named_in(program, list))
}

fn named_in(program: &Program, list: &Global) -> Vec<FunctionId> {
    let values = addresses_in(program, list).into_iter();
    let functions = values.filter_map(|value| match value {
        Value::Function(id) => Some(id),
        _ => None,
    });
    let mut found: Vec<FunctionId> = functions.collect();
    found.sort_unstable();
    found
}

/// What a list names.
pub(crate) fn addresses_in(program: &Program, list: &Global) -> Vec<Value> {
    let mut work: Vec<Value> = list.initialiser.into_iter().collect();
    let mut found = Vec::new();
    while let Some(value) = work.pop() {
        match value {
            Value::Function(_) | Value::Global(_) => found.push(value),
            Value::Constant(id) => {
                if let Constant::Aggregate { elements, .. } = program.constant(id) {
                    work.extend(elements);
                }
            }
            _ => {}
        }
    }
    found
}
