//! Drawings of a program's graphs.

use std::collections::BTreeSet;

use changeling_program::{FileId, FunctionId, Place, Program, Site};

use crate::drawing::{Drawing, Look};
use crate::graphs::Graphs;
use crate::memory::Memory;
use crate::pdg::{Pdg, side_label, written};
use crate::sequences::{MarkKind, Sequences};

/// Gives the text of source lines, where it is known.
pub type Source<'a> = &'a dyn Fn(Place) -> Option<String>;

/// For drawings with line numbers only.
pub fn no_source(_: Place) -> Option<String> {
    None
}

/// More lines of a box than this are cut.
const LINES: usize = 8;
const COLUMNS: usize = 56;

/// The flow graph of a function: one box per segment, with its source lines.
pub fn cfg(
    program: &Program,
    graphs: &Graphs,
    function: FunctionId,
    source: Source<'_>,
) -> Drawing {
    let flow = graphs.flow.function(function);
    let mut out = Drawing::new(&format!(
        "{}: control flow",
        program.function(function).name
    ));
    let entry = out.shape("entry", vec!["entry".into()], Look::End);
    let nodes = segments(&mut out, program, graphs, function, source);
    let exit = out.shape("exit", vec!["exit".into()], Look::End);
    if let Some(&first) = nodes.first() {
        out.arrow(entry, first, "", false);
    }
    for node in flow.graph.nodes() {
        let last = graphs.flow.segment(flow.segment(node)).last;
        for (side, next) in flow.graph.successors(node).iter().enumerate() {
            let label = side_label(program, last, side as u32);
            out.arrow(nodes[node.index()], nodes[next.index()], &label, false);
        }
    }
    for node in &flow.exits {
        let returns = flow.returns.contains(node);
        out.arrow(nodes[node.index()], exit, "", !returns);
    }
    out.join_arrows();
    out
}

/// Control dependences of a function, by segments.
pub fn cdg(
    program: &Program,
    graphs: &Graphs,
    function: FunctionId,
    source: Source<'_>,
) -> Drawing {
    let flow = graphs.flow.function(function);
    let name = &program.function(function).name;
    let mut out = Drawing::new(&format!("{name}: control dependence"));
    let entry = out.shape("entry", vec!["entry".into()], Look::End);
    let nodes = segments(&mut out, program, graphs, function, source);
    for node in flow.graph.nodes() {
        let control = graphs.control(function);
        if control.is_unconditional(node) {
            out.arrow(entry, nodes[node.index()], "", false);
        }
        for decision in control.controllers(node) {
            let last = graphs.flow.segment(flow.segment(decision.from)).last;
            let label = side_label(program, last, decision.side);
            out.arrow(
                nodes[decision.from.index()],
                nodes[node.index()],
                &label,
                false,
            );
        }
    }
    out.join_arrows();
    out
}

fn segments(
    out: &mut Drawing,
    program: &Program,
    graphs: &Graphs,
    function: FunctionId,
    source: Source<'_>,
) -> Vec<usize> {
    let flow = graphs.flow.function(function);
    let mut nodes = Vec::with_capacity(flow.graph.len());
    for node in flow.graph.nodes() {
        let segment = graphs.flow.segment(flow.segment(node));
        let lines = describe(program, segment.sites(), source);
        nodes.push(out.shape(&format!("n{}", node.0), lines, Look::Plain));
    }
    nodes
}

/// Dependences of a function, by source lines; what flows through variables is
/// dashed.
pub fn pdg(
    program: &Program,
    graphs: &Graphs,
    memory: &Memory,
    function: FunctionId,
    source: Source<'_>,
) -> Drawing {
    let lines = Pdg::new(program, graphs, memory, function).by_line(program);
    let name = &program.function(function).name;
    let mut out = Drawing::new(&format!("{name}: dependences"));
    let all = || lines.control.iter().chain(&lines.data);
    let from = all().filter_map(|&(from, ..)| from);
    let numbers: BTreeSet<u32> = from.chain(all().map(|&(_, to, _)| to)).collect();
    let numbers: Vec<u32> = numbers.into_iter().collect();
    let entry = out.shape("entry", vec!["entry".into()], Look::End);
    let file = program.function(function).place.map(|place| place.file);
    for &line in &numbers {
        let place = Place {
            file: file.unwrap_or(FileId(0)),
            line,
        };
        out.shape(
            &format!("l{line}"),
            vec![line_label(place, source)],
            Look::Plain,
        );
    }
    let at = |line: Option<u32>| {
        line.map_or(entry, |line| {
            1 + numbers.partition_point(|&number| number < line)
        })
    };
    for (from, to, label) in &lines.control {
        out.arrow(at(*from), at(Some(*to)), label, false);
    }
    for (from, to, variable) in &lines.data {
        out.arrow(at(*from), at(Some(*to)), variable, true);
    }
    out.join_arrows();
    out
}

/// A change-sequence graph. `name` says what changes are called.
pub fn csg(
    program: &Program,
    sequences: &Sequences,
    name: &dyn Fn(u32) -> String,
    source: Source<'_>,
) -> Drawing {
    let mut out = Drawing::new("change sequences");
    for (n, mark) in sequences.marks.iter().enumerate() {
        let changes: Vec<String> = mark.changes.iter().map(|&change| name(change)).collect();
        let changes = changes.join(", ");
        let (look, what) = match mark.kind {
            MarkKind::Root => (Look::End, "start".to_owned()),
            MarkKind::Out => (Look::End, "end".to_owned()),
            MarkKind::Changed => (Look::Changed, format!("change {changes}")),
            MarkKind::Anchor => (Look::Gone, format!("deleted by change {changes}")),
            MarkKind::Meeting => (Look::Meeting, format!("changes {changes} meet")),
            MarkKind::Output => (Look::Output, format!("output, depends on {changes}")),
        };
        let mut lines = vec![cut(&what)];
        if let Some(site) = mark.site {
            let function = &program.function(program.function_of(site)).name;
            lines.push(cut(&format!("in {function}")));
            if let Some(place) = near(program, site) {
                lines.push(line_label(place, source));
            }
        }
        out.shape(&format!("m{n}"), lines, look);
    }
    for edge in &sequences.edges {
        out.arrow(edge.from.0 as usize, edge.to.0 as usize, "", false);
    }
    out
}

/// The line of the site, or of the closest one behind it in its block.
fn near(program: &Program, site: Site) -> Option<Place> {
    let last = program.terminator(program.instruction(site).block);
    (site.0..=last.0).find_map(|n| program.place(Site(n)))
}

/// Lines, or site numbers where there are none.
fn describe(
    program: &Program,
    sites: impl Iterator<Item = Site>,
    source: Source<'_>,
) -> Vec<String> {
    let sites: Vec<Site> = sites.collect();
    let places: BTreeSet<Place> = sites
        .iter()
        .filter_map(|&site| written(program, site))
        .collect();
    let mut lines: Vec<String> = match (places.is_empty(), &sites[..]) {
        (true, [first, .., last]) => vec![format!("sites {first}–{last}")],
        (true, [only]) => vec![format!("site {only}")],
        _ => places
            .iter()
            .map(|&place| line_label(place, source))
            .collect(),
    };
    if lines.len() > LINES {
        let more = lines.len() - LINES + 1;
        lines.truncate(LINES - 1);
        lines.push(format!("… and {more} more lines"));
    }
    lines
}

fn line_label(place: Place, source: Source<'_>) -> String {
    match source(place) {
        Some(text) => cut(&format!("{}: {}", place.line, text.trim())),
        None => format!("line {}", place.line),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(COLUMNS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{Builder, Predicate};

    #[test]
    fn a_condition_is_drawn_with_its_sides() {
        let mut b = Builder::new();
        let main = b.declare("main", 1);
        let mut f = b.define(main, 3);
        f.start(0).line(1);
        let (x, zero) = (f.argument(0), f.int(0));
        let condition = f.compare(Predicate::Eq, x, zero);
        f.branch(condition, f.block(1), f.block(2));
        f.start(1).line(2);
        f.ret(Some(zero));
        f.start(2).line(3);
        f.ret(Some(x));
        let program = b.finish();
        let graphs = Graphs::new(&program);
        let text = cfg(&program, &graphs, main, &no_source).dot();
        assert!(
            text.contains("n0 -> n1 [label=\"T\"];") && text.contains("n0 -> n2 [label=\"F\"];")
        );
        let drawing = cdg(&program, &graphs, main, &no_source);
        let text = drawing.dot();
        assert!(text.contains("entry -> n0;") && text.contains("n0 -> n2 [label=\"F\"];"));
        let svg = drawing.svg().expect("a drawing");
        assert_eq!(svg.matches("<rect").count(), 1 + drawing.boxes.len());
        assert_eq!(svg.matches("marker-end").count(), drawing.arrows.len());
        let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
        let text = pdg(&program, &graphs, &memory, main, &no_source).dot();
        assert!(text.contains("l1 -> l2 [label=\"T\"];"), "{text}");
    }
}
