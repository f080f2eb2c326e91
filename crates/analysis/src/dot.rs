//! Drawings for `dot`.

use std::fmt::Write;

use changeling_program::{FunctionId, Program, Site};

use crate::graphs::Graphs;
use crate::memory::Memory;
use crate::pdg::{Pdg, side_label};

/// The flow graph of a function: one box per segment, with its source lines.
pub fn cfg(program: &Program, graphs: &Graphs, function: FunctionId) -> String {
    let flow = graphs.flow.function(function);
    let mut out = Drawing::new(&program.function(function).name);
    out.node("entry", "entry");
    for node in flow.graph.nodes() {
        let segment = graphs.flow.segment(flow.segment(node));
        out.node(&format!("n{}", node.0), &describe(program, segment.sites()));
    }
    out.node("exit", "exit");
    if !flow.is_empty() {
        out.edge("entry", "n0", "", "");
    }
    for node in flow.graph.nodes() {
        let last = graphs.flow.segment(flow.segment(node)).last;
        for (side, next) in flow.graph.successors(node).iter().enumerate() {
            let label = side_label(program, last, side as u32);
            out.edge(&format!("n{}", node.0), &format!("n{}", next.0), &label, "");
        }
    }
    for node in &flow.exits {
        let style = if flow.returns.contains(node) {
            ""
        } else {
            "dashed"
        };
        out.edge(&format!("n{}", node.0), "exit", "", style);
    }
    out.finish()
}

/// Control dependences of a function, by segments.
pub fn cdg(program: &Program, graphs: &Graphs, function: FunctionId) -> String {
    let flow = graphs.flow.function(function);
    let mut out = Drawing::new(&program.function(function).name);
    out.node("entry", "entry");
    for node in flow.graph.nodes() {
        let name = format!("n{}", node.0);
        let segment = graphs.flow.segment(flow.segment(node));
        out.node(&name, &describe(program, segment.sites()));
        let control = graphs.control(function);
        if control.is_unconditional(node) {
            out.edge("entry", &name, "", "");
        }
        for decision in control.controllers(node) {
            let last = graphs.flow.segment(flow.segment(decision.from)).last;
            let label = side_label(program, last, decision.side);
            out.edge(&format!("n{}", decision.from.0), &name, &label, "");
        }
    }
    out.finish()
}

/// Dependences of a function, by source lines.
pub fn pdg(program: &Program, graphs: &Graphs, memory: &Memory, function: FunctionId) -> String {
    let lines = Pdg::new(program, graphs, memory, function).by_line(program);
    let mut out = Drawing::new(&program.function(function).name);
    let name = |line: Option<u32>| line.map_or("entry".to_owned(), |line| format!("l{line}"));
    let from = lines
        .control
        .iter()
        .chain(&lines.data)
        .filter_map(|&(from, ..)| from);
    let to = lines
        .control
        .iter()
        .chain(&lines.data)
        .map(|&(_, to, _)| to);
    let all: std::collections::BTreeSet<u32> = from.chain(to).collect();
    out.node("entry", "entry");
    for line in all {
        out.node(&name(Some(line)), &format!("line {line}"));
    }
    for (from, to, label) in &lines.control {
        out.edge(&name(*from), &name(Some(*to)), label, "");
    }
    for (from, to, variable) in &lines.data {
        out.edge(&name(*from), &name(Some(*to)), variable, "dashed");
    }
    out.finish()
}

/// Lines, or site numbers where there are none.
fn describe(program: &Program, sites: impl Iterator<Item = Site>) -> String {
    let sites: Vec<Site> = sites.collect();
    let mut lines: Vec<u32> = sites
        .iter()
        .filter_map(|&site| program.place(site))
        .map(|place| place.line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    match (&lines[..], &sites[..]) {
        ([], [first, .., last]) => format!("sites {first}–{last}"),
        ([], [only]) => format!("site {only}"),
        (lines, _) => {
            let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
            format!("line {}", numbers.join(", "))
        }
    }
}

struct Drawing(String);

impl Drawing {
    fn new(name: &str) -> Drawing {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "digraph {} {{\n  node [shape=box, fontname=\"monospace\"];",
            quoted(name)
        );
        Drawing(text)
    }

    fn node(&mut self, name: &str, label: &str) {
        let _ = writeln!(self.0, "  {name} [label={}];", quoted(label));
    }

    fn edge(&mut self, from: &str, to: &str, label: &str, style: &str) {
        let mut attributes = Vec::new();
        if !label.is_empty() {
            attributes.push(format!("label={}", quoted(label)));
        }
        if !style.is_empty() {
            attributes.push(format!("style={style}"));
        }
        let _ = match attributes.is_empty() {
            true => writeln!(self.0, "  {from} -> {to};"),
            false => writeln!(self.0, "  {from} -> {to} [{}];", attributes.join(", ")),
        };
    }

    fn finish(mut self) -> String {
        self.0.push_str("}\n");
        self.0
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
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
        let text = cfg(&program, &graphs, main);
        assert!(
            text.contains("n0 -> n1 [label=\"T\"];") && text.contains("n0 -> n2 [label=\"F\"];")
        );
        let text = cdg(&program, &graphs, main);
        assert!(text.contains("entry -> n0;") && text.contains("n0 -> n2 [label=\"F\"];"));
        let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
        let text = pdg(&program, &graphs, &memory, main);
        assert!(text.contains("l1 -> l2 [label=\"T\"];"), "{text}");
    }
}
