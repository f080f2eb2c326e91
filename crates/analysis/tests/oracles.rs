//! The worked examples of the specification, statement by statement. Variables
//! are memory, as in the examples.

use std::collections::BTreeSet;

use changeling_analysis::pdg::{Pdg, side_label};
use changeling_analysis::{Distances, Graphs, Memory, Slicer};
use changeling_program::{
    BinaryOp, Builder, FunctionBuilder, GlobalId, Predicate, Program, Site, Value,
};

/// (deciding line, line, side).
type Decided = Vec<(u32, u32, String)>;
/// (defining line, using line, variable).
type Flows = Vec<(Option<u32>, u32, String)>;

struct Example {
    program: Program,
}

impl Example {
    fn lines(&self) -> (Decided, Vec<u32>, Flows) {
        let graphs = Graphs::new(&self.program);
        let memory = Memory::new(&self.program, &graphs.pointers, &graphs.calls);
        let main = self.program.function_named("main").expect("main");
        let lines = Pdg::new(&self.program, &graphs, &memory, main).by_line(&self.program);
        let decided = lines
            .control
            .iter()
            .filter_map(|(from, to, label)| Some(((*from)?, *to, label.clone())));
        let entry = lines
            .control
            .iter()
            .filter(|(from, ..)| from.is_none())
            .map(|&(_, to, _)| to);
        (
            decided.collect(),
            entry.collect(),
            lines.data.into_iter().collect(),
        )
    }

    /// The flow of `main`, where each node has one line: (line, next line, side). 0 for what has none.
    fn flow(&self) -> Vec<(u32, u32, String)> {
        let graphs = Graphs::new(&self.program);
        let main = self.program.function_named("main").expect("main");
        let flow = graphs.flow.function(main);
        let segment = |node| graphs.flow.segment(flow.segment(node));
        let line = |node| {
            let lines = self.lines_of(segment(node).sites().collect());
            assert!(lines.len() < 2, "{lines:?}");
            lines.first().copied().unwrap_or(0)
        };
        let mut edges = Vec::new();
        for node in flow.graph.nodes() {
            for (side, &next) in (0..).zip(flow.graph.successors(node)) {
                let label = side_label(&self.program, segment(node).last, side);
                edges.push((line(node), line(next), label));
            }
        }
        assert_eq!(flow.exits.iter().map(|&node| line(node)).max(), Some(0));
        edges.sort();
        edges
    }

    fn sites_at(&self, line: u32) -> Vec<Site> {
        self.program
            .sites()
            .filter(|&site| self.program.place(site).is_some_and(|p| p.line == line))
            .collect()
    }

    fn forward(&self, line: u32) -> Vec<u32> {
        let graphs = Graphs::new(&self.program);
        let memory = Memory::new(&self.program, &graphs.pointers, &graphs.calls);
        let slicer = Slicer::new(&self.program, &graphs, &memory);
        // The defining instructions of a line: what it stores or calls.
        self.lines_of(slicer.forward(&self.sites_at(line)))
    }

    fn backward(&self, line: u32) -> Vec<u32> {
        let graphs = Graphs::new(&self.program);
        let memory = Memory::new(&self.program, &graphs.pointers, &graphs.calls);
        let slicer = Slicer::new(&self.program, &graphs, &memory);
        self.lines_of(slicer.backward(&self.sites_at(line)))
    }

    fn lines_of(&self, sites: BTreeSet<Site>) -> Vec<u32> {
        let lines: BTreeSet<u32> = sites
            .iter()
            .filter_map(|&site| self.program.place(site))
            .map(|place| place.line)
            .collect();
        lines.into_iter().collect()
    }
}

fn load(f: &mut FunctionBuilder<'_>, variable: GlobalId) -> Value {
    f.load(Value::Global(variable))
}

fn store(f: &mut FunctionBuilder<'_>, value: Value, variable: GlobalId) {
    f.store(value, Value::Global(variable));
}

fn owned(list: &[(u32, u32, &str)]) -> Vec<(u32, u32, String)> {
    list.iter()
        .map(|&(a, b, label)| (a, b, label.to_owned()))
        .collect()
}

fn data(list: &[(u32, u32, &str)]) -> Vec<(Option<u32>, u32, String)> {
    // Line 0 stands for the entry.
    let edges = list
        .iter()
        .map(|&(a, b, name)| ((a != 0).then_some(a), b, name.to_owned()));
    let edges: BTreeSet<_> = edges.collect();
    edges.into_iter().collect()
}

/// Program E.
fn program_e() -> Example {
    let mut b = Builder::new();
    let print = b.declare("print", 1);
    let main = b.declare("main", 0);
    let (x, y) = (b.global("x", 4, None), b.global("y", 4, None));
    let mut f = b.define(main, 7);
    f.start(0).line(1);
    let value = load(&mut f, x);
    let two = f.int(2);
    let condition = f.compare(Predicate::Sle, value, two);
    f.branch(condition, f.block(1), f.block(2));
    for (block, line, step) in [(1, 2, 1), (2, 4, -1)] {
        f.start(block).line(line);
        let value = load(&mut f, y);
        let step = f.int(step);
        let sum = f.binary(BinaryOp::Add, value, step);
        store(&mut f, sum, y);
        f.jump(f.block(3));
    }
    f.start(3).line(6);
    let value = load(&mut f, y);
    let condition = f.compare(Predicate::Sgt, value, two);
    f.branch(condition, f.block(4), f.block(5));
    for (block, line, number) in [(4, 7, 1), (5, 9, 0)] {
        f.start(block).line(line);
        let number = f.int(number);
        f.call(print, &[number]);
        f.jump(f.block(6));
    }
    f.start(6).line(0);
    f.ret(None);
    Example {
        program: b.finish(),
    }
}

#[test]
fn graphs_of_program_e() {
    let example = program_e();
    // 0 is the exit. Where it begins is where 1 is.
    let expected = [
        (1, 2, "T"),
        (1, 4, "F"),
        (2, 6, ""),
        (4, 6, ""),
        (6, 7, "T"),
        (6, 9, "F"),
        (7, 0, ""),
        (9, 0, ""),
    ];
    assert_eq!(example.flow(), owned(&expected));
    let (control, entry, dataflow) = example.lines();
    assert_eq!(
        control,
        owned(&[(1, 2, "T"), (1, 4, "F"), (6, 7, "T"), (6, 9, "F")])
    );
    assert_eq!(entry, [1, 6]);
    let expected = [
        (0, 1, "x"),
        (0, 2, "y"),
        (0, 4, "y"),
        (2, 6, "y"),
        (4, 6, "y"),
    ];
    assert_eq!(dataflow, data(&expected), "and nothing from the entry to 6");
}

/// `prog'`, with or without statement 8.
fn prog(with_8: bool) -> Example {
    let mut b = Builder::new();
    let print = b.declare("print", 1);
    let main = b.declare("main", 1);
    let names = ["n", "m", "r", "i", "a"];
    let [n, m, r, i, a] = names.map(|name| b.global(name, if name == "m" { 16 } else { 4 }, None));
    let mut f = b.define(main, 8);
    f.start(0).line(1);
    let value = load(&mut f, n);
    store(&mut f, value, r);
    f.line(2);
    let zero = f.int(0);
    store(&mut f, zero, i);
    f.jump(f.block(1));
    f.start(1).line(2);
    let index = load(&mut f, i);
    let four = f.int(4);
    let more = f.compare(Predicate::Slt, index, four);
    f.branch(more, f.block(2), f.block(7));
    f.start(2).line(3);
    let index = load(&mut f, i);
    let place = f.indexed(Value::Global(m), index, 4);
    let element = f.load(place);
    let positive = f.compare(Predicate::Sgt, element, zero);
    f.branch(positive, f.block(3), f.block(4));
    for (block, line, number) in [(3, 4, 5), (4, 5, 2)] {
        f.start(block).line(line);
        let number = f.int(number);
        store(&mut f, number, a);
        f.jump(f.block(5));
    }
    f.start(5).line(6);
    let (left, right) = (load(&mut f, r), load(&mut f, a));
    let sum = f.binary(BinaryOp::Add, left, right);
    store(&mut f, sum, r);
    f.jump(f.block(6));
    f.start(6).line(2);
    let index = load(&mut f, i);
    let one = f.int(1);
    let next = f.binary(BinaryOp::Add, index, one);
    store(&mut f, next, i);
    f.jump(f.block(1));
    f.start(7).line(7);
    let value = load(&mut f, r);
    let bound = f.int(-10);
    let greater = f.compare(Predicate::Sgt, value, bound);
    f.call(print, &[greater]);
    if with_8 {
        f.line(8);
        let value = load(&mut f, a);
        f.call(print, &[value]);
    }
    f.line(0);
    f.ret(None);
    Example {
        program: b.finish(),
    }
}

#[test]
fn slices_of_prog() {
    let example = prog(true);
    assert_eq!(example.forward(1), [1, 6, 7]);
    assert_eq!(example.forward(4), [4, 6, 7, 8]);
    assert_eq!(example.forward(7), [7]);
    assert_eq!(example.forward(8), [8]);
    assert_eq!(prog(false).forward(4), [4, 6, 7]);
    let (control, entry, dataflow) = example.lines();
    let expected = [
        (2, 2, "T"),
        (2, 3, "T"),
        (2, 6, "T"),
        (3, 4, "T"),
        (3, 5, "F"),
    ];
    assert_eq!(control, owned(&expected));
    assert_eq!(entry, [1, 2, 7, 8]);
    // What 8 has from the entry it has only if the loop never runs.
    let expected = [
        (0, 1, "n"),
        (0, 3, "m"),
        (0, 8, "a"),
        (1, 6, "r"),
        (1, 7, "r"),
        (2, 2, "i"),
        (2, 3, "i"),
        (4, 6, "a"),
        (4, 8, "a"),
        (5, 6, "a"),
        (5, 8, "a"),
        (6, 6, "r"),
        (6, 7, "r"),
    ];
    assert_eq!(dataflow, data(&expected));
    assert_eq!(example.backward(8), [2, 3, 4, 5, 8]);
    assert_eq!(example.backward(7), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn control_dependences_of_a_nested_condition() {
    let mut b = Builder::new();
    let input = b.declare("input", 0);
    let main = b.declare("main", 0);
    let [x, y, o] = ["x", "y", "o"].map(|name| b.global(name, 4, None));
    let mut f = b.define(main, 6);
    f.start(0).line(3);
    let value = f.call(input, &[]);
    store(&mut f, value, x);
    f.line(4);
    let value = f.call(input, &[]);
    store(&mut f, value, y);
    f.line(5);
    let (value, zero) = (load(&mut f, x), f.int(0));
    let condition = f.compare(Predicate::Sgt, value, zero);
    f.branch(condition, f.block(1), f.block(4));
    f.start(1).line(6);
    let (value, one) = (load(&mut f, y), f.int(1));
    let sum = f.binary(BinaryOp::Add, value, one);
    store(&mut f, sum, y);
    f.line(7);
    let value = load(&mut f, y);
    let condition = f.compare(Predicate::Sgt, value, zero);
    f.branch(condition, f.block(2), f.block(3));
    for (block, line, number) in [(2, 8, 10), (3, 10, 20), (4, 13, 30)] {
        f.start(block).line(line);
        let number = f.int(number);
        store(&mut f, number, o);
        f.jump(f.block(5));
    }
    f.start(5).line(0);
    f.ret(None);
    let (control, entry, _) = Example {
        program: b.finish(),
    }
    .lines();
    let expected = [
        (5, 6, "T"),
        (5, 7, "T"),
        (5, 13, "F"),
        (7, 8, "T"),
        (7, 10, "F"),
    ];
    assert_eq!(control, owned(&expected));
    assert_eq!(entry, [3, 4, 5]);
}

/// The program of the reaching search, in its newer version. The branches with their lines.
fn reaching() -> (Example, Vec<(u32, Site)>) {
    let mut b = Builder::new();
    let (input, output) = (b.declare("input", 0), b.declare("output", 1));
    let main = b.declare("main", 0);
    let [x, y, o] = ["x", "y", "o"].map(|name| b.global(name, 4, None));
    let mut f = b.define(main, 8);
    let mut branches = Vec::new();
    let mut decide = |f: &mut FunctionBuilder<'_>, value, bound, then, otherwise| {
        let bound = f.int(bound);
        let condition = f.compare(Predicate::Sgt, value, bound);
        f.branch(condition, f.block(then), f.block(otherwise));
        branches.push(Site(condition.site().expect("a site").0 + 1));
    };
    f.start(0).line(5);
    let value = f.call(input, &[]);
    store(&mut f, value, x);
    f.line(7);
    let value = load(&mut f, x);
    decide(&mut f, value, 0, 1, 4);
    f.start(1).line(8);
    let two = f.int(2);
    store(&mut f, two, y);
    f.line(9);
    let (left, right) = (load(&mut f, x), load(&mut f, y));
    let difference = f.binary(BinaryOp::Sub, left, right);
    decide(&mut f, difference, 0, 2, 3);
    for (block, line, number) in [(2, 10, None), (3, 12, Some(0)), (4, 14, Some(-1))] {
        f.start(block).line(line);
        let value = match number {
            Some(number) => f.int(number),
            None => load(&mut f, y),
        };
        store(&mut f, value, o);
        f.jump(f.block(5));
    }
    f.start(5).line(16);
    let value = load(&mut f, x);
    decide(&mut f, value, 20, 6, 7);
    f.start(6).line(17);
    let ten = f.int(10);
    store(&mut f, ten, o);
    f.jump(f.block(7));
    f.start(7).line(19);
    let value = load(&mut f, o);
    f.call(output, &[value]);
    f.line(0);
    f.ret(None);
    let example = Example {
        program: b.finish(),
    };
    (example, [7, 9, 16].into_iter().zip(branches).collect())
}

#[test]
fn control_dependences_of_the_reaching_search() {
    let (control, entry, _) = reaching().0.lines();
    let expected = [
        (7, 8, "T"),
        (7, 9, "T"),
        (7, 14, "F"),
        (9, 10, "T"),
        (9, 12, "F"),
        (16, 17, "T"),
    ];
    assert_eq!(control, owned(&expected));
    assert_eq!(entry, [5, 7, 16, 19]);
}

#[test]
fn distances_to_a_line() {
    let (example, branches) = reaching();
    let graphs = Graphs::new(&example.program);
    let targets = example.sites_at(8);
    let distances = Distances::new(&example.program, &graphs, &targets);
    let found: Vec<_> = branches
        .iter()
        .map(|&(line, site)| (line, distances.of_branch(&graphs, site)))
        .collect();
    assert_eq!(found, [(7, Some(1)), (9, None), (16, None)]);
    assert_eq!(distances.of_site(&graphs, targets[0]), Some(0));
}
