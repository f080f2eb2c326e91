//! The worked examples of the specification, statement by statement. Variables
//! are memory, as in the examples.

use std::collections::BTreeSet;

use changeling_analysis::pdg::Pdg;
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
    let (control, entry, dataflow) = program_e().lines();
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
    let (_, _, dataflow) = example.lines();
    let into_8: Vec<_> = dataflow
        .iter()
        .filter(|(_, to, name)| *to == 8 && name == "a")
        .collect();
    let from: Vec<_> = into_8.iter().map(|(from, ..)| *from).collect();
    assert_eq!(
        from,
        [None, Some(4), Some(5)],
        "the entry's a only if the loop never runs"
    );
    assert!(dataflow.contains(&(Some(6), 6, "r".into())));
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

/// The program of the reaching search: distances to line 8.
#[test]
fn distances_to_a_line() {
    let mut b = Builder::new();
    let output = b.declare("output", 1);
    let main = b.declare("main", 1);
    let [y, o] = ["y", "o"].map(|name| b.global(name, 4, None));
    let mut f = b.define(main, 8);
    let mut branches = Vec::new();
    let mut compare = |f: &mut FunctionBuilder<'_>, line, bound, then, otherwise| {
        f.line(line);
        let (x, bound) = (f.argument(0), f.int(bound));
        let condition = f.compare(Predicate::Sgt, x, bound);
        f.branch(condition, f.block(then), f.block(otherwise));
        branches.push((line, Site(condition.site().expect("a site").0 + 1)));
    };
    let assign = |f: &mut FunctionBuilder<'_>, line, number, variable| {
        f.line(line);
        let number = f.int(number);
        store(f, number, variable);
    };
    f.start(0);
    compare(&mut f, 7, 0, 1, 4);
    f.start(1);
    assign(&mut f, 8, 2, y);
    compare(&mut f, 9, 5, 2, 3);
    for (block, line) in [(2, 10), (3, 12), (4, 14)] {
        f.start(block);
        assign(&mut f, line, 1, o);
        f.jump(f.block(5));
    }
    f.start(5);
    compare(&mut f, 16, 20, 6, 7);
    f.start(6);
    assign(&mut f, 17, 10, o);
    f.jump(f.block(7));
    f.start(7).line(19);
    let value = load(&mut f, o);
    f.call(output, &[value]);
    f.ret(None);
    let example = Example {
        program: b.finish(),
    };
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
