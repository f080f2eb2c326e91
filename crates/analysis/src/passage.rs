//! Which calls can come back, and which code can run at all.

use changeling_program::{FunctionId, Program, Site};

use crate::flow::SegmentId;
use crate::graphs::Graphs;
use crate::library;

pub struct Passage {
    /// Per segment: the last site that can run once its first has.
    limit: Vec<Site>,
    /// Per segment: control can go on behind its last site.
    passable: Vec<bool>,
    live: Vec<bool>,
}

impl Passage {
    pub fn new(program: &Program, graphs: &Graphs) -> Passage {
        let returning = returning(program, graphs);
        let comes_back = |site: Site| comes_back(program, graphs, &returning, site);
        let mut limit = Vec::with_capacity(graphs.flow.segments.len());
        let mut passable = Vec::with_capacity(graphs.flow.segments.len());
        for segment in &graphs.flow.segments {
            let stuck = segment.sites().find(|&site| !comes_back(site));
            limit.push(stuck.unwrap_or(segment.last));
            passable.push(stuck.is_none());
        }
        let mut passage = Passage {
            limit,
            passable,
            live: Vec::new(),
        };
        passage.live = passage.find_live(program, graphs);
        passage
    }

    /// Whether the site can run after the first one of its segment.
    pub fn within(&self, graphs: &Graphs, site: Site) -> bool {
        site <= self.limit[graphs.flow.segment_of(site).0 as usize]
    }

    pub fn is_passable(&self, segment: SegmentId) -> bool {
        self.passable[segment.0 as usize]
    }

    /// Whether the site can run when the program starts where programs start.
    pub fn is_live(&self, graphs: &Graphs, site: Site) -> bool {
        self.live[graphs.flow.segment_of(site).0 as usize] && self.within(graphs, site)
    }

    fn find_live(&self, program: &Program, graphs: &Graphs) -> Vec<bool> {
        let flow = &graphs.flow;
        let mut live = vec![false; flow.segments.len()];
        let mut work: Vec<SegmentId> = Vec::new();
        let begin = |function: FunctionId, live: &mut Vec<bool>, work: &mut Vec<SegmentId>| {
            let own = flow.function(function);
            if !own.is_empty() && !std::mem::replace(&mut live[own.first.0 as usize], true) {
                work.push(own.first);
            }
        };
        for function in graphs.calls.roots(program) {
            begin(function, &mut live, &mut work);
        }
        while let Some(segment) = work.pop() {
            let own = flow.segment(segment);
            let limit = self.limit[segment.0 as usize];
            for site in own.sites().take_while(|&site| site <= limit) {
                for callee in graphs.calls.callees(site) {
                    begin(callee, &mut live, &mut work);
                }
            }
            if self.is_passable(segment) {
                let function = flow.function(own.function);
                for &next in function.graph.successors(function.node(segment)) {
                    let next = function.segment(next);
                    if !std::mem::replace(&mut live[next.0 as usize], true) {
                        work.push(next);
                    }
                }
            }
        }
        live
    }
}

/// Functions that can return to their caller, as a least fixpoint. With jumps in
/// the program anything may come back anywhere.
fn returning(program: &Program, graphs: &Graphs) -> Vec<bool> {
    let edges = graphs.calls.edges().iter();
    let jumps = edges.map(|&(_, callee)| &program.function(callee).symbol);
    let jumps = jumps.into_iter().any(|symbol| library::is_setjmp(symbol));
    let mut returning: Vec<bool> = program
        .functions
        .iter()
        .map(|function| jumps || (!function.is_defined() && !function.no_return))
        .collect();
    // Repeats only the callers of functions that were found to return.
    let mut work: Vec<FunctionId> = program.definitions().collect();
    while let Some(function) = work.pop() {
        if returning[function.index()] || !can_return(program, graphs, &returning, function) {
            continue;
        }
        returning[function.index()] = true;
        work.extend(
            graphs
                .calls
                .callers(function)
                .map(|site| program.function_of(site)),
        );
    }
    returning
}

fn can_return(program: &Program, graphs: &Graphs, returning: &[bool], id: FunctionId) -> bool {
    let function = graphs.flow.function(id);
    if function.is_empty() {
        return false;
    }
    let mut seen = vec![false; function.graph.len()];
    let mut work = vec![crate::Node(0)];
    seen[0] = true;
    while let Some(node) = work.pop() {
        let segment = graphs.flow.segment(function.segment(node));
        if !segment
            .sites()
            .all(|site| comes_back(program, graphs, returning, site))
        {
            continue;
        }
        if function.returns.binary_search(&node).is_ok() {
            return true;
        }
        for &next in function.graph.successors(node) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                work.push(next);
            }
        }
    }
    false
}

/// Whether control can go on behind the site: it is no call, or one of the
/// functions it calls returns, or is not known, or unwinds into this function.
fn comes_back(program: &Program, graphs: &Graphs, returning: &[bool], site: Site) -> bool {
    let Some(call) = program.instruction(site).call() else {
        return true;
    };
    let mut callees = graphs.calls.callees(site).peekable();
    let unknown = callees.peek().is_none();
    let unwinds = call.invoke.is_some();
    unknown || unwinds || callees.any(|callee| returning[callee.index()])
}
