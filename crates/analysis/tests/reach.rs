//! Irrelevant branches on random programs, against reachability along matched
//! calls and returns computed by plain closure.

mod shapes;

use changeling_analysis::{Graphs, Reach};
use changeling_program::{BlockId, Builder, Operation, Predicate, Site};
use shapes::{Random, Shape, build, shape};

/// Reachability by closure over pairs of blocks; a call edge must be matched by
/// its own return edge.
struct Reference {
    block_count: usize,
    /// Ways within one function, calls included as pairs of call and return.
    level: Vec<bool>,
    calls: Vec<(usize, usize, usize)>,
    live: Vec<bool>,
    changed: Vec<usize>,
}

impl Reference {
    /// Nodes: a block before its call (2n) and after it (2n + 1).
    fn new(shape: &Shape) -> Reference {
        let mut first = vec![0];
        for body in &shape.functions {
            first.push(first.last().expect("one") + body.len());
        }
        let block_count = *first.last().expect("one");
        let nodes = 2 * block_count;
        let mut level = vec![false; nodes * nodes];
        let mut calls = Vec::new();
        for n in 0..nodes {
            level[n * nodes + n] = true;
        }
        for (f, body) in shape.functions.iter().enumerate() {
            for (n, (callee, next)) in body.iter().enumerate() {
                let block = first[f] + n;
                match callee {
                    None => level[2 * block * nodes + 2 * block + 1] = true,
                    Some(callee) => {
                        let exit = first[callee + 1] - 1;
                        calls.push((block, 2 * first[*callee], 2 * exit + 1));
                    }
                }
                for to in next {
                    level[(2 * block + 1) * nodes + 2 * (first[f] + to)] = true;
                }
            }
        }
        let changed = shape
            .changed
            .iter()
            .map(|&(f, n)| 2 * (first[f] + n))
            .collect();
        let mut reference = Reference {
            block_count,
            level,
            calls,
            live: vec![false; nodes],
            changed,
        };
        reference.close();
        reference
    }

    fn close(&mut self) {
        let nodes = 2 * self.block_count;
        loop {
            for k in 0..nodes {
                for i in 0..nodes {
                    if self.level[i * nodes + k] {
                        for j in 0..nodes {
                            if self.level[k * nodes + j] {
                                self.level[i * nodes + j] = true;
                            }
                        }
                    }
                }
            }
            let mut grown = false;
            for &(block, entry, exit) in &self.calls {
                let cell = 2 * block * nodes + 2 * block + 1;
                if self.level[entry * nodes + exit] && !self.level[cell] {
                    self.level[cell] = true;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        // Live: from main's entry over level ways and calls.
        let mut work = vec![0];
        while let Some(node) = work.pop() {
            for next in 0..nodes {
                if self.level[node * nodes + next] && !self.live[next] {
                    self.live[next] = true;
                    work.push(next);
                }
            }
            let entered = self.calls.iter().filter(|(block, ..)| 2 * block == node);
            for &(_, entry, _) in entered {
                if !self.live[entry] {
                    self.live[entry] = true;
                    work.push(entry);
                }
            }
        }
    }

    /// Whether some way from the node reaches a changed node: first out of any
    /// number of calls that are under way, then into any number of others.
    fn reaches(&self, from: usize) -> bool {
        let nodes = 2 * self.block_count;
        let mut out = vec![false; nodes];
        let mut work = vec![from];
        out[from] = true;
        while let Some(node) = work.pop() {
            for (next, seen) in out.iter_mut().enumerate() {
                if self.level[node * nodes + next] && !std::mem::replace(seen, true) {
                    work.push(next);
                }
            }
            let left = self
                .calls
                .iter()
                .filter(|(block, _, exit)| *exit == node && self.live[2 * block]);
            for &(block, _, _) in left {
                if !std::mem::replace(&mut out[2 * block + 1], true) {
                    work.push(2 * block + 1);
                }
            }
        }
        let mut work: Vec<usize> = (0..nodes).filter(|&n| out[n]).collect();
        while let Some(node) = work.pop() {
            if self.changed.contains(&node) {
                return true;
            }
            let into = self
                .calls
                .iter()
                .filter(|(block, ..)| 2 * block == node)
                .map(|&(_, entry, _)| entry);
            let along = (0..nodes).filter(|next| self.level[node * nodes + next]);
            for next in into.chain(along).collect::<Vec<_>>() {
                if !std::mem::replace(&mut out[next], true) {
                    work.push(next);
                }
            }
        }
        false
    }

    /// Whether a way from the program's start runs a changed node and then
    /// comes to the node.
    fn preceded(&self, to: usize) -> bool {
        let nodes = 2 * self.block_count;
        self.changed
            .iter()
            .filter(|&&changed| self.live[changed])
            .any(|&changed| {
                let mut seen = vec![false; nodes];
                // Up first, then down, as above.
                let mut up = vec![changed];
                seen[changed] = true;
                while let Some(node) = up.pop() {
                    for (next, known) in seen.iter_mut().enumerate() {
                        if self.level[node * nodes + next] && !std::mem::replace(known, true) {
                            up.push(next);
                        }
                    }
                    let left = self
                        .calls
                        .iter()
                        .filter(|(block, _, exit)| *exit == node && self.live[2 * block]);
                    for &(block, _, _) in left {
                        if !std::mem::replace(&mut seen[2 * block + 1], true) {
                            up.push(2 * block + 1);
                        }
                    }
                }
                let mut down: Vec<usize> = (0..nodes).filter(|&n| seen[n]).collect();
                while let Some(node) = down.pop() {
                    let into = self
                        .calls
                        .iter()
                        .filter(|(b, ..)| 2 * b == node)
                        .map(|&(_, entry, _)| entry);
                    let along = (0..nodes).filter(|next| self.level[node * nodes + next]);
                    for next in into.chain(along).collect::<Vec<_>>() {
                        if !std::mem::replace(&mut seen[next], true) {
                            down.push(next);
                        }
                    }
                }
                seen[to]
            })
    }
}

/// What is said about the branches of random programs, against what is true.
#[derive(Default)]
struct Comparison {
    /// Programs with a branch about which something untrue is said.
    unsound: usize,
    /// Sides behind which no change is said to run, and those behind which none does.
    never_after: (usize, usize),
    /// Branches before which no change is said to run, and those before which none does.
    never_before: (usize, usize),
}

fn compare(rounds: u64, recursive: bool) -> Comparison {
    let mut all = Comparison::default();
    for round in 0..rounds {
        let mut random = Random(round * 977 + u64::from(recursive));
        let shape = shape(&mut random, recursive);
        let reference = Reference::new(&shape);
        let (program, changed) = build(&shape);
        let graphs = Graphs::new(&program);
        let reach = Reach::new(&program, &graphs, &changed);
        let mut bad = false;
        for block in (0..program.blocks.len()).map(BlockId::new) {
            let branch = program.terminator(block);
            let Operation::Branch { then, otherwise } = program.instruction(branch).operation
            else {
                continue;
            };
            if !reference.live[2 * block.index() + 1] {
                continue;
            }
            let preceded = reference.preceded(2 * block.index() + 1);
            let said = reach.can_precede(&graphs, branch);
            bad |= preceded && !said;
            all.never_before.0 += usize::from(!said);
            all.never_before.1 += usize::from(!preceded);
            for (side, target) in [then, otherwise].into_iter().enumerate() {
                let can = reference.reaches(2 * target.index());
                let said = reach.can_follow(&program, &graphs, branch, side);
                bad |= can && !said;
                all.never_after.0 += usize::from(!said);
                all.never_after.1 += usize::from(!can);
            }
        }
        all.unsound += usize::from(bad);
    }
    all
}

#[test]
fn random_call_graphs_without_recursion() {
    let all = compare(1704, false);
    assert_eq!(all.unsound, 0);
    assert!(all.never_after.1 > 1704 && all.never_before.1 > 1704);
    assert_eq!(all.never_after.0, all.never_after.1, "summaries are exact");
    assert_eq!(all.never_before.0, all.never_before.1);
}

#[test]
fn random_call_graphs_with_recursion() {
    let all = compare(1704, true);
    assert_eq!(all.unsound, 0);
    assert!(all.never_after.1 > 100 && all.never_before.1 > 100);
    // Nearly exact: more would be said of functions that never come back.
    for ((said, real), percent) in [(all.never_after, 99), (all.never_before, 94)] {
        assert!(
            said <= real && said * 100 >= real * percent,
            "{said} of {real}"
        );
    }
}

/// `TestMe`: the state machine whose sets the specification lists.
#[test]
fn the_sets_of_test_me() {
    let mut builder = Builder::new();
    let main = builder.declare("main", 3);
    let mut f = builder.define(main, 23);
    // Blocks by line: a and b are the two halves of a short-circuit condition.
    let names = [
        "1", "2b", "3", "4", "5", "5s", "6a", "6b", "6s", "7a", "7b", "7s", "8a", "8b", "9", "11",
        "12", "13", "14a", "14b", "15", "16a", "16b",
    ];
    let at = |name: &str| names.iter().position(|n| *n == name).expect("a block");
    // Each block: (line, successors by name); equal returns share a block.
    let edges: [(&str, u32, &[&str]); 23] = [
        ("1", 2, &["3", "2b"]),
        ("2b", 2, &["3", "4"]),
        ("3", 3, &[]),
        ("4", 4, &["5", "16a"]),
        ("5", 5, &["5s", "6a"]),
        ("5s", 5, &["12"]),
        ("6a", 6, &["6b", "7a"]),
        ("6b", 6, &["6s", "7a"]),
        ("6s", 6, &["12"]),
        ("7a", 7, &["7b", "8a"]),
        ("7b", 7, &["7s", "8a"]),
        ("7s", 7, &["12"]),
        ("8a", 8, &["8b", "12"]),
        ("8b", 8, &["9", "12"]),
        ("9", 10, &["11", "12"]),
        ("11", 11, &["12"]),
        ("12", 12, &["13", "14a"]),
        ("13", 13, &[]),
        ("14a", 14, &["14b", "4"]),
        ("14b", 14, &["15", "4"]),
        ("15", 15, &[]),
        ("16a", 16, &["16b", "3"]),
        ("16b", 16, &["13", "3"]),
    ];
    let mut changed = Vec::new();
    let mut branches = Vec::new();
    for (n, (name, line, next)) in edges.iter().enumerate() {
        f.start(n).line(*line);
        let (a, b) = (f.argument(0), f.argument(1));
        let condition = f.compare(Predicate::Slt, a, b);
        if matches!(*name, "9" | "11") {
            changed.push(condition.site().expect("a site"));
        }
        match next {
            [] => f.ret(Some(a)),
            [to] => f.jump(f.block(at(to))),
            [then, otherwise] => {
                f.branch(condition, f.block(at(then)), f.block(at(otherwise)));
                branches.push((*name, Site(condition.site().expect("a site").0 + 1)));
            }
            _ => unreachable!("two sides at most"),
        }
    }
    assert_eq!(2 * branches.len(), 32, "sides in all");
    let program = builder.finish();
    let graphs = Graphs::new(&program);
    let reach = Reach::new(&program, &graphs, &changed);
    let mut never_again = Vec::new();
    let mut never = Vec::new();
    for (name, branch) in branches {
        for (side, letter) in ["T", "F"].into_iter().enumerate() {
            if !reach.can_follow(&program, &graphs, branch, side) {
                never_again.push(format!("{name}{letter}"));
                if !reach.can_precede(&graphs, branch) {
                    never.push(format!("{name}{letter}"));
                }
            }
        }
    }
    // "1" holds the first half of line 2's condition.
    assert_eq!(
        never_again,
        [
            "1T", "2bT", "4F", "12T", "14bT", "16aT", "16aF", "16bT", "16bF"
        ]
    );
    assert_eq!(never, ["1T", "2bT"]);
}
