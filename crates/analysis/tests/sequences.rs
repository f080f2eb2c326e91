//! Change-sequence graphs: the worked example of the specification, calls, and
//! random programs against ways found by plain closure.

mod shapes;

use std::collections::BTreeSet;

use changeling_analysis::interactions::{Changed, MeetingKind};
use changeling_analysis::sequences::{Mark, MarkId, MarkKind, Point, Sequences};
use changeling_analysis::{Graphs, Interactions, Memory, Slicer};
use changeling_program::{BinaryOp, Builder, Predicate, Program, Site, Value};
use shapes::{Random, Shape, build, shape};

/// The running example: a reader of a list of digits and dashes, statement by
/// statement; variables are memory.
fn running_example() -> Program {
    let mut b = Builder::new();
    let assert = b.declare("changeling_observe", 1);
    let next = b.declare("next", 0);
    let main = b.declare("main", 0);
    let [lhs, fs, v, c, init] =
        ["lhs", "fs", "v", "c", "init"].map(|name| Value::Global(b.global(name, 4, None)));
    let mut f = b.define(main, 10);
    f.start(0).line(1);
    let (zero, one) = (f.int(0), f.int(1));
    f.store(zero, lhs);
    f.jump(f.block(1));
    // Blocks 1, 3, 6: what the character is.
    f.start(1).line(2);
    let (read, digit) = (f.load(fs), f.int(2));
    f.line(3);
    let is_digit = f.compare(Predicate::Slt, read, digit);
    f.branch(is_digit, f.block(2), f.block(3));
    f.start(2).line(4);
    let value = f.call(next, &[]);
    f.store(value, v);
    f.line(5);
    f.store(one, lhs);
    f.jump(f.block(9));
    f.start(3).line(6);
    let (read, dash) = (f.load(fs), f.int(3));
    let is_dash = f.compare(Predicate::Eq, read, dash);
    f.branch(is_dash, f.block(4), f.block(6));
    f.start(4).line(7);
    let value = f.load(lhs);
    f.store(value, c);
    f.line(8);
    let (chosen, value) = (f.load(c), f.load(v));
    let is_set = f.compare(Predicate::Ne, chosen, zero);
    let selected = f.select(is_set, value, one);
    f.store(selected, init);
    f.jump(f.block(5));
    f.start(5);
    f.jump(f.block(9));
    f.start(6).line(9);
    let (read, end) = (f.load(fs), f.int(4));
    let is_end = f.compare(Predicate::Eq, read, end);
    f.branch(is_end, f.block(7), f.block(9));
    f.start(7).line(10);
    let value = f.load(init);
    f.call(assert, &[value]);
    f.line(11);
    f.jump(f.block(8));
    f.start(8);
    f.ret(None);
    f.start(9).line(13);
    let value = f.load(fs);
    let sum = f.binary(BinaryOp::Add, value, one);
    f.store(sum, fs);
    f.jump(f.block(1));
    b.finish()
}

fn at_line(program: &Program, line: u32) -> Vec<Site> {
    let own = |site: &Site| program.place(*site).is_some_and(|place| place.line == line);
    program.sites().filter(own).collect()
}

fn interactions(program: &Program, graphs: &Graphs, changed: &[u32]) -> Interactions {
    let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
    let slicer = Slicer::new(program, graphs, &memory);
    let changes: Vec<Changed> = changed
        .iter()
        .map(|&line| Changed {
            modified: at_line(program, line),
            own: Vec::new(),
        })
        .collect();
    Interactions::new(program, graphs, &slicer, &changes)
}

/// Edges by line; 0 is the start, 99 the end.
fn by_line(
    program: &Program,
    sequences: &Sequences,
    edges: &[(MarkId, MarkId)],
) -> Vec<(u32, u32)> {
    let line = |id: MarkId| match sequences.mark(id) {
        Mark {
            kind: MarkKind::Root,
            ..
        } => 0,
        Mark {
            site: Some(site), ..
        } => program.place(*site).expect("a line").line,
        _ => 99,
    };
    let lines: BTreeSet<_> = edges.iter().map(|&(a, b)| (line(a), line(b))).collect();
    lines.into_iter().collect()
}

fn plain(sequences: &Sequences) -> Vec<(MarkId, MarkId)> {
    sequences
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect()
}

/// Ways from the start to the end that come by nothing twice.
fn simple_ways(edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    let mut work = vec![vec![0]];
    while let Some(way) = work.pop() {
        let last = *way.last().expect("a start");
        if last == 99 {
            found.push(way);
            continue;
        }
        for &(_, to) in edges.iter().filter(|(from, _)| *from == last) {
            if !way.contains(&to) {
                work.push([&way[..], &[to]].concat());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_running_example() {
    let program = running_example();
    let graphs = Graphs::new(&program);
    let lines = [1, 5, 7];
    let found = interactions(&program, &graphs, &lines);
    let influence = |line: u32| {
        let sites = at_line(&program, line);
        let all: BTreeSet<u32> = sites
            .iter()
            .flat_map(|&site| found.of(site))
            .copied()
            .collect();
        all.into_iter()
            .map(|n| lines[n as usize])
            .collect::<Vec<_>>()
    };
    assert_eq!(influence(7), [1, 5, 7], "and on itself");
    assert_eq!(influence(8), [1, 5, 7]);
    assert_eq!(influence(10), [1, 5, 7]);
    for line in [2, 3, 4, 6, 9, 13] {
        assert_eq!(influence(line), [], "{line}");
    }
    // Line 8 is where they meet; what line 10 depends on, it has from there.
    let meetings: Vec<_> = found
        .meetings
        .iter()
        .map(|m| (program.place(m.site).expect("a line").line, m.kind))
        .collect();
    assert_eq!(meetings, [(8, MeetingKind::Depends)]);

    let mut points = Vec::new();
    for (number, line) in (0..).zip(lines) {
        points.extend(at_line(&program, line).into_iter().map(|site| Point {
            site,
            kind: MarkKind::Changed,
            changes: vec![number],
        }));
    }
    points.extend(found.meetings.iter().map(|meeting| Point {
        site: meeting.site,
        kind: MarkKind::Meeting,
        changes: meeting.changes.clone(),
    }));
    let output = at_line(&program, 10)[1];
    points.push(Point {
        site: output,
        kind: MarkKind::Output,
        changes: found.of(output).to_vec(),
    });
    let sequences = Sequences::new(&program, &graphs, &points);
    assert!(sequences.unreachable.is_empty());
    let edges = by_line(&program, &sequences, &plain(&sequences));
    let expected = [
        (0, 1),
        (1, 5),
        (1, 7),
        (1, 10),
        (5, 5),
        (5, 7),
        (5, 10),
        (7, 8),
        (8, 5),
        (8, 7),
        (8, 10),
        (10, 99),
    ];
    assert_eq!(edges, expected);
    let ways = simple_ways(&edges);
    let expected = [
        vec![0, 1, 5, 7, 8, 10, 99],
        vec![0, 1, 5, 10, 99],
        vec![0, 1, 7, 8, 5, 10, 99],
        vec![0, 1, 7, 8, 10, 99],
        vec![0, 1, 10, 99],
    ];
    assert_eq!(ways, expected);

    let literal = by_line(&program, &sequences, &sequences.literal());
    let more: Vec<_> = literal
        .iter()
        .filter(|edge| !edges.contains(edge))
        .collect();
    assert_eq!(more, [&(1, 8), &(5, 8)]);
    assert_eq!(simple_ways(&literal).len(), 8);

    // The side of the branch that leads to a digit decides about 5.
    let five = sequences
        .at(at_line(&program, 5)[0])
        .next()
        .expect("a mark");
    let first = sequences
        .at(at_line(&program, 1)[0])
        .next()
        .expect("a mark");
    let edge = sequences
        .successors(first)
        .iter()
        .find(|edge| edge.to == five);
    let deciders = &edge.expect("an edge").deciders;
    let branch = *at_line(&program, 3).last().expect("a branch");
    assert!(deciders.contains(&(branch, 0)), "{deciders:?}");
}

/// Without the first change all others lie in one loop: by the published rule, where nothing leads to is where one
/// starts, there is no start.
#[test]
fn changes_in_a_loop_have_a_start() {
    let program = running_example();
    let graphs = Graphs::new(&program);
    let lines = [5, 7];
    let found = interactions(&program, &graphs, &lines);
    let at_8 = at_line(&program, 8);
    let meets =
        |meeting: &&changeling_analysis::interactions::Meeting| at_8.contains(&meeting.site);
    assert_eq!(
        found.meetings.iter().filter(meets).count(),
        found.meetings.len()
    );
    let mut points = Vec::new();
    for (number, line) in (0..).zip(lines) {
        points.extend(at_line(&program, line).into_iter().map(|site| Point {
            site,
            kind: MarkKind::Changed,
            changes: vec![number],
        }));
    }
    points.extend(found.meetings.iter().map(|meeting| Point {
        site: meeting.site,
        kind: MarkKind::Meeting,
        changes: meeting.changes.clone(),
    }));
    let sequences = Sequences::new(&program, &graphs, &points);
    let edges = by_line(&program, &sequences, &plain(&sequences));
    let expected = [
        (0, 5),
        (0, 7),
        (0, 99),
        (5, 5),
        (5, 7),
        (5, 99),
        (7, 8),
        (8, 5),
        (8, 7),
        (8, 99),
    ];
    assert_eq!(edges, expected);
    let literal = by_line(&program, &sequences, &sequences.literal());
    for line in lines {
        assert!(literal.iter().any(|(from, to)| *from != 0 && *to == line));
    }
}

#[test]
fn one_change_overwrites_another_or_decides_about_it() {
    let mut b = Builder::new();
    let print = b.declare("print", 1);
    let main = b.declare("main", 1);
    let [x, y] = ["x", "y"].map(|name| Value::Global(b.global(name, 4, None)));
    let mut f = b.define(main, 3);
    f.start(0).line(1);
    let (one, zero) = (f.int(1), f.int(0));
    f.store(one, x);
    f.line(2);
    f.store(one, y);
    f.line(3);
    let value = f.load(y);
    f.line(4);
    f.store(value, x);
    f.line(5);
    let condition = f.compare(Predicate::Eq, value, zero);
    f.branch(condition, f.block(1), f.block(2));
    f.start(1).line(6);
    f.store(zero, y);
    f.jump(f.block(2));
    f.start(2).line(7);
    let value = f.load(x);
    f.call(print, &[value]);
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    let found = interactions(&program, &graphs, &[1, 2, 6]);
    let meetings: Vec<_> = found
        .meetings
        .iter()
        .map(|m| {
            let line = program.place(m.site).expect("a line").line;
            (line, m.kind, m.changes.clone())
        })
        .collect();
    // Line 4 puts what depends on 2 over what 1 wrote; line 5 decides whether 6 runs.
    let expected = [
        (4, MeetingKind::Overwrites, vec![0, 1]),
        (5, MeetingKind::Decides, vec![1, 2]),
    ];
    assert_eq!(meetings, expected);
}

/// A block of the random programs: before its mark (0), behind the mark and
/// before its call (1), behind the call (2).
struct Reference {
    nodes: usize,
    /// Ways without a mark, calls in pairs with their returns.
    silent: Vec<bool>,
    /// All ways.
    level: Vec<bool>,
    /// (block, entry of the callee, its end).
    calls: Vec<(usize, usize, usize)>,
    live: Vec<bool>,
}

impl Reference {
    fn new(shape: &Shape, marked: &[bool]) -> Reference {
        let mut first = vec![0];
        for body in &shape.functions {
            first.push(first.last().expect("one") + body.len());
        }
        let blocks = *first.last().expect("one");
        let nodes = 3 * blocks;
        let mut steps = Vec::new();
        let mut calls = Vec::new();
        for (f, body) in shape.functions.iter().enumerate() {
            for (n, (callee, next)) in body.iter().enumerate() {
                let block = first[f] + n;
                match callee {
                    None => steps.push((3 * block + 1, 3 * block + 2)),
                    Some(callee) => {
                        let end = 3 * (first[callee + 1] - 1) + 2;
                        calls.push((block, 3 * first[*callee], end));
                    }
                }
                steps.extend(next.iter().map(|to| (3 * block + 2, 3 * (first[f] + to))));
            }
        }
        let passed = |silent: bool| {
            let own = (0..blocks).filter(|&block| !silent || !marked[block]);
            own.map(|block| (3 * block, 3 * block + 1))
                .collect::<Vec<_>>()
        };
        let silent = closed(nodes, &[&steps[..], &passed(true)].concat(), &calls);
        let level = closed(nodes, &[&steps[..], &passed(false)].concat(), &calls);
        let mut reference = Reference {
            nodes,
            silent,
            level,
            calls,
            live: vec![false; nodes],
        };
        let live = reference.spread(&[0], &reference.level, false);
        reference.live = live;
        reference
    }

    /// Nodes reached over a relation and into calls; first out of calls, if `open`.
    fn spread(&self, from: &[usize], along: &[bool], open: bool) -> Vec<bool> {
        let mut seen = vec![false; self.nodes];
        let mut work = from.to_vec();
        work.iter().for_each(|&node| seen[node] = true);
        let step = |node: usize, out: bool| -> Vec<usize> {
            let mut next: Vec<usize> = (0..self.nodes)
                .filter(|to| along[node * self.nodes + to])
                .collect();
            for &(block, entry, end) in &self.calls {
                if !out && 3 * block + 1 == node {
                    next.push(entry);
                }
                if out && end == node && self.live[3 * block + 1] {
                    next.push(3 * block + 2);
                }
            }
            next
        };
        for out in [true, false] {
            if out && !open {
                continue;
            }
            work = (0..self.nodes).filter(|&n| seen[n]).collect();
            while let Some(node) = work.pop() {
                for next in step(node, out) {
                    if !std::mem::replace(&mut seen[next], true) {
                        work.push(next);
                    }
                }
            }
        }
        seen
    }
}

fn closed(nodes: usize, steps: &[(usize, usize)], calls: &[(usize, usize, usize)]) -> Vec<bool> {
    let mut level = vec![false; nodes * nodes];
    (0..nodes).for_each(|n| level[n * nodes + n] = true);
    steps.iter().for_each(|&(a, b)| level[a * nodes + b] = true);
    loop {
        for k in 0..nodes {
            for i in (0..nodes).filter(|i| *i != k) {
                if level[i * nodes + k] {
                    for j in 0..nodes {
                        if level[k * nodes + j] {
                            level[i * nodes + j] = true;
                        }
                    }
                }
            }
        }
        let mut grown = false;
        for &(block, entry, end) in calls {
            let pair = (3 * block + 1) * nodes + 3 * block + 2;
            grown |= level[entry * nodes + end] && !std::mem::replace(&mut level[pair], true);
        }
        if !grown {
            return level;
        }
    }
}

#[test]
fn random_programs_have_the_edges_of_their_ways() {
    for round in 0..300u64 {
        let mut random = Random(round * 7919 + 5);
        let mut shape = shape(&mut random, round % 2 == 1);
        // More marks than the search for irrelevant branches wants.
        for f in 0..shape.functions.len() {
            for n in 0..shape.functions[f].len() {
                if random.chance(12) {
                    shape.changed.push((f, n));
                }
            }
        }
        shape.changed.sort_unstable();
        shape.changed.dedup();
        let mut first = vec![0];
        for body in &shape.functions {
            first.push(first.last().expect("one") + body.len());
        }
        let blocks: Vec<usize> = shape.changed.iter().map(|&(f, n)| first[f] + n).collect();
        let marked: Vec<bool> = (0..*first.last().expect("one"))
            .map(|block| blocks.contains(&block))
            .collect();
        let reference = Reference::new(&shape, &marked);
        let (program, sites) = build(&shape);
        let graphs = Graphs::new(&program);
        let points: Vec<Point> = (0..)
            .zip(&sites)
            .map(|(n, &site)| Point {
                site,
                kind: MarkKind::Changed,
                changes: vec![n],
            })
            .collect();
        let sequences = Sequences::new(&program, &graphs, &points);
        let block_of = |id: MarkId| {
            let site = sequences.mark(id).site;
            site.map(|site| program.instruction(site).block.index())
        };
        let found: BTreeSet<_> = sequences
            .edges
            .iter()
            .map(|edge| (block_of(edge.from), block_of(edge.to)))
            .collect();
        let mut expected = BTreeSet::new();
        let end = 3 * (shape.functions[0].len() - 1) + 2;
        let starts = blocks.iter().map(|&block| Some(block)).chain([None]);
        for from in starts {
            let node = from.map_or(0, |block| 3 * block + 1);
            if !reference.live[node] {
                continue;
            }
            let seen = reference.spread(&[node], &reference.silent, true);
            let marks = blocks.iter().filter(|&&block| seen[3 * block]);
            expected.extend(marks.map(|&to| (from, Some(to))));
            // The end: out of all calls that are under way, and out of main.
            let mut out = reference.spread_out(node);
            if std::mem::take(&mut out[end]) {
                expected.insert((from, None));
            }
        }
        assert_eq!(found, expected, "round {round}");
    }
}

impl Reference {
    /// Nodes reached without a mark by leaving functions only.
    fn spread_out(&self, from: usize) -> Vec<bool> {
        let mut seen = vec![false; self.nodes];
        seen[from] = true;
        let mut work = vec![from];
        while let Some(node) = work.pop() {
            let along = (0..self.nodes).filter(|to| self.silent[node * self.nodes + to]);
            let left = self.calls.iter().filter(|call| call.2 == node);
            let left = left.filter(|(block, ..)| self.live[3 * block + 1]);
            for next in along
                .chain(left.map(|(block, ..)| 3 * block + 2))
                .collect::<Vec<_>>()
            {
                if !std::mem::replace(&mut seen[next], true) {
                    work.push(next);
                }
            }
        }
        seen
    }
}
