//! Random programs: a few functions of a few blocks that call one another.

use changeling_program::{Builder, FunctionId, Predicate, Program, Site};

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Blocks as nodes: what each calls, and where it goes on.
pub struct Shape {
    /// Per function, per node: callee and successors; none for the last node.
    pub functions: Vec<Vec<(Option<usize>, Vec<usize>)>>,
    pub changed: Vec<(usize, usize)>,
}

pub fn shape(random: &mut Random, recursive: bool) -> Shape {
    let count = 6;
    let mut functions = Vec::new();
    for f in 0..count {
        let nodes = 4 + random.below(5);
        let mut body = Vec::new();
        for n in 0..nodes {
            let callee = if recursive {
                random.chance(35).then(|| random.below(count))
            } else {
                (f + 1 < count && random.chance(45)).then(|| f + 1 + random.below(count - f - 1))
            };
            let mut next = Vec::new();
            if n + 1 < nodes {
                // Forwards, so that every node leads to the end; now and then a loop.
                next.push(n + 1 + random.below(nodes - n - 1));
                if random.chance(45) {
                    next.push(if random.chance(15) {
                        random.below(n + 1)
                    } else {
                        n + 1
                    });
                }
            }
            body.push((callee, next));
        }
        functions.push(body);
    }
    let changed = (0..1 + random.below(2))
        .map(|_| {
            let f = random.below(count);
            (f, random.below(functions[f].len()))
        })
        .collect();
    Shape { functions, changed }
}

/// The program of a shape, and the site of each changed node: an addition in
/// front of the node's call.
pub fn build(shape: &Shape) -> (Program, Vec<Site>) {
    let mut builder = Builder::new();
    let names: Vec<FunctionId> = (0..shape.functions.len())
        .map(|n| {
            builder.declare(
                &if n == 0 {
                    "main".into()
                } else {
                    format!("f{n}")
                },
                1,
            )
        })
        .collect();
    let mut changed = Vec::new();
    for (f, body) in shape.functions.iter().enumerate() {
        let mut function = builder.define(names[f], body.len());
        for (n, (callee, next)) in body.iter().enumerate() {
            function.start(n);
            let argument = function.argument(0);
            let one = function.int(1);
            let sum = function.binary(changeling_program::BinaryOp::Add, argument, one);
            if shape.changed.contains(&(f, n)) {
                changed.push(sum.site().expect("a site"));
            }
            if let Some(callee) = callee {
                function.call(names[*callee], &[sum]);
            }
            match next[..] {
                [] => function.ret(Some(sum)),
                [to] => function.jump(function.block(to)),
                _ => {
                    let condition = function.compare(Predicate::Slt, sum, one);
                    function.branch(condition, function.block(next[0]), function.block(next[1]));
                }
            }
        }
    }
    (builder.finish(), changed)
}
