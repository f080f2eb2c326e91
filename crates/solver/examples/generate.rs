//! Writes queries like those of a search over small programs: a run's path
//! condition is built by executing the program's logic on symbolic bytes, and
//! each of its conditions is negated in turn.
//!
//!     cargo run --release -p changeling-solver --example generate -- DIR
//!
//! Makes one directory per program: parser, number, checksum, sort, table, utf8.

use changeling_solver::{
    Answer, Arena, Assignment, Bounds, Expr, Op, Query, Settings, Solver, Var,
};
use std::path::{Path, PathBuf};

/// A run in the making: concrete bytes and the path condition so far.
struct Run<'a> {
    arena: &'a mut Arena,
    input: Assignment,
    path: Vec<Expr>,
}

impl Run<'_> {
    fn byte(&mut self, offset: u32) -> Expr {
        self.arena.input(0, offset)
    }

    fn constant(&mut self, width: u32, value: u64) -> Expr {
        self.arena.constant(width, value).expect("a valid width")
    }

    fn binary(&mut self, op: Op, a: Expr, b: Expr) -> Expr {
        self.arena.binary(op, a, b).expect("equal widths")
    }

    fn with(&mut self, op: Op, a: Expr, value: u64) -> Expr {
        let b = self.constant(self.arena.width(a), value);
        self.binary(op, a, b)
    }

    fn int(&mut self, offset: u32) -> Expr {
        let byte = self.byte(offset);
        self.arena.zext(byte, 32).expect("wider")
    }

    /// Takes the branch that the concrete bytes take.
    fn branch(&mut self, condition: Expr) -> bool {
        let truth = self.arena.holds(condition, &self.input);
        let taken = if truth {
            condition
        } else {
            self.arena.not(condition)
        };
        if self.arena.truth(taken).is_none() {
            self.path.push(taken);
        }
        truth
    }

    /// Whether the input goes on at `offset`.
    fn available(&mut self, offset: u32) -> bool {
        let length = self.arena.length(0);
        let at = self.constant(64, offset.into());
        let more = self.binary(Op::Ult, at, length);
        self.branch(more)
    }

    fn is(&mut self, offset: u32, expected: u8) -> bool {
        let c = self.int(offset);
        let test = self.with(Op::Eq, c, expected.into());
        self.branch(test)
    }

    fn in_range(&mut self, offset: u32, low: u8, high: u8) -> bool {
        let c = self.int(offset);
        let shifted = self.with(Op::Sub, c, low.into());
        let inside = self.with(Op::Ule, shifted, u64::from(high - low));
        self.branch(inside)
    }
}

/// Keys and numbers: `name=123;…`
fn parser(run: &mut Run) {
    let mut at = 0;
    while run.available(at) {
        let mut name = 0;
        while run.available(at) && run.in_range(at, b'a', b'z') {
            at += 1;
            name += 1;
        }
        if name == 0 || !run.available(at) || !run.is(at, b'=') {
            return;
        }
        at += 1;
        let mut value = run.constant(32, 0);
        while run.available(at) && run.in_range(at, b'0', b'9') {
            let digit = run.int(at);
            let digit = run.with(Op::Sub, digit, 48);
            let scaled = run.with(Op::Mul, value, 10);
            value = run.binary(Op::Add, scaled, digit);
            let large = run.with(Op::Slt, value, 1000);
            run.branch(large);
            at += 1;
        }
        if !run.available(at) || !run.is(at, b';') {
            return;
        }
        at += 1;
    }
}

/// `strtol` with sign, base prefix and overflow checks, then tests of the value.
fn number(run: &mut Run) {
    let mut at = 0;
    while run.available(at) && run.is(at, b' ') {
        at += 1;
    }
    let negative = run.available(at) && run.is(at, b'-');
    at += u32::from(negative);
    let hexadecimal =
        run.available(at) && run.is(at, b'0') && run.available(at + 1) && run.is(at + 1, b'x');
    at += 2 * u32::from(hexadecimal);
    let base = if hexadecimal { 16 } else { 10 };
    let mut value = run.constant(64, 0);
    while run.available(at) {
        let c = run.byte(at);
        let wide = run.arena.zext(c, 64).expect("wider");
        let digit = if run.in_range(at, b'0', b'9') {
            run.with(Op::Sub, wide, 48)
        } else if hexadecimal && run.in_range(at, b'a', b'f') {
            run.with(Op::Sub, wide, 87)
        } else {
            break;
        };
        let limit = run.with(Op::Ult, value, (i64::MAX as u64) / base);
        if !run.branch(limit) {
            break;
        }
        let scaled = run.with(Op::Mul, value, base);
        value = run.binary(Op::Add, scaled, digit);
        at += 1;
    }
    for bound in [7, 100, 4096, 65535, 1_000_000] {
        let above = run.constant(64, bound);
        let above = run.binary(Op::Slt, above, value);
        run.branch(above);
    }
    let rest = run.with(Op::URem, value, 7);
    let divisible = run.with(Op::Eq, rest, 0);
    run.branch(divisible);
    let square = run.with(Op::UDiv, value, 13);
    let exact = run.with(Op::Eq, square, 31);
    run.branch(exact);
}

fn crc_table() -> Vec<u8> {
    let entries = (0..256u32).map(|n| {
        (0..8).fold(n, |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    });
    entries.flat_map(u32::to_le_bytes).collect()
}

/// A length byte, a payload, and its table-driven CRC-32 at the end.
fn checksum(run: &mut Run) {
    let table = run
        .arena
        .add_table(&crc_table(), None)
        .expect("constant bytes");
    let size = 6;
    let mut crc = run.constant(32, 0xffff_ffff);
    for at in 0..size {
        if !run.available(at) {
            return;
        }
        run.in_range(at, b' ', b'~');
        let byte = run.int(at);
        let mixed = run.binary(Op::Xor, crc, byte);
        let index = run.arena.extract(mixed, 0, 8).expect("low byte");
        let index = run.arena.zext(index, 64).expect("wider");
        let index = run.with(Op::Mul, index, 4);
        let entry = run.arena.read(table, index, 32).expect("an aligned entry");
        let shifted = run.with(Op::LShr, crc, 8);
        crc = run.binary(Op::Xor, entry, shifted);
    }
    let mut stored = run.byte(size);
    for at in size + 1..size + 4 {
        let byte = run.byte(at);
        stored = run.arena.concat(byte, stored).expect("narrow");
    }
    if !run.available(size + 3) {
        return;
    }
    let matches = run.binary(Op::Eq, crc, stored);
    run.branch(matches);
    let low = run.with(Op::And, crc, 0xff);
    let odd = run.with(Op::Eq, low, 0x5a);
    run.branch(odd);
}

/// Insertion sort of ten bytes, then a search in the sorted array.
fn sort(run: &mut Run) {
    let count = 10;
    let mut items: Vec<Expr> = (0..count).map(|at| run.int(at)).collect();
    for i in 1..items.len() {
        let mut j = i;
        while j > 0 {
            let less = run.binary(Op::Slt, items[j], items[j - 1]);
            if !run.branch(less) {
                break;
            }
            items.swap(j, j - 1);
            j -= 1;
        }
    }
    let sum = items
        .clone()
        .into_iter()
        .reduce(|a, b| run.binary(Op::Add, a, b))
        .expect("ten");
    let middle = run.with(Op::Eq, sum, 1000);
    run.branch(middle);
    let gap = run.binary(Op::Sub, items[9], items[0]);
    let wide = run.with(Op::Slt, gap, 20);
    run.branch(wide);
}

/// A lexer driven by a table of character classes and a transition table.
fn table(run: &mut Run) {
    let class = |c: u8| match c {
        b' ' | b'\n' | b'\t' => 0u8,
        b'0'..=b'9' => 1,
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => 2,
        b'+' | b'-' | b'*' | b'/' => 3,
        _ => 4,
    };
    let classes: Vec<u8> = (0..=255).map(class).collect();
    let classes = run.arena.add_table(&classes, None).expect("constant bytes");
    let next: [u8; 25] = [
        0, 1, 2, 3, 4, 0, 1, 4, 3, 4, 0, 2, 2, 3, 4, 0, 1, 2, 3, 4, 4, 4, 4, 4, 4,
    ];
    let next = run.arena.add_table(&next, None).expect("constant bytes");
    let mut state = run.constant(8, 0);
    for at in 0..14 {
        if !run.available(at) {
            break;
        }
        let c = run.byte(at);
        let index = run.arena.zext(c, 64).expect("wider");
        let class = run.arena.read(classes, index, 8).expect("in bounds");
        let row = run.with(Op::Mul, state, 5);
        let place = run.binary(Op::Add, row, class);
        let place = run.arena.zext(place, 64).expect("wider");
        state = run.arena.read(next, place, 8).expect("in bounds");
        let error = run.with(Op::Eq, state, 4);
        if run.branch(error) {
            return;
        }
        let word = run.with(Op::Eq, state, 2);
        run.branch(word);
    }
}

/// Decoding of UTF-8 as a Rust program does it.
fn utf8(run: &mut Run) {
    let mut at = 0;
    while run.available(at) {
        let c = run.byte(at);
        let ascii = run.with(Op::Slt, c, 0);
        if !run.branch(ascii) {
            at += 1;
            continue;
        }
        let lead = run.with(Op::And, c, 0xe0);
        let two = run.with(Op::Eq, lead, 0xc0);
        let lead = run.with(Op::And, c, 0xf0);
        let three = run.with(Op::Eq, lead, 0xe0);
        let extra = if run.branch(two) {
            1
        } else if run.branch(three) {
            2
        } else {
            return;
        };
        let part = run.with(Op::And, c, if extra == 1 { 0x1f } else { 0x0f });
        let mut code = run.arena.zext(part, 32).expect("wider");
        for next in at + 1..=at + extra {
            if !run.available(next) {
                return;
            }
            let c = run.byte(next);
            let tag = run.with(Op::And, c, 0xc0);
            let continues = run.with(Op::Eq, tag, 0x80);
            if !run.branch(continues) {
                return;
            }
            let bits = run.with(Op::And, c, 0x3f);
            let bits = run.arena.zext(bits, 32).expect("wider");
            let shifted = run.with(Op::Shl, code, 6);
            code = run.binary(Op::Or, shifted, bits);
        }
        let least = if extra == 1 { 0x80 } else { 0x800 };
        let overlong = run.with(Op::Ult, code, least);
        if run.branch(overlong) {
            return;
        }
        let offset = run.with(Op::Sub, code, 0xd800);
        let surrogate = run.with(Op::Ult, offset, 0x800);
        if run.branch(surrogate) {
            return;
        }
        let euro = run.with(Op::Eq, code, 0x20ac);
        run.branch(euro);
        at += extra + 1;
    }
}

type Program = (&'static str, fn(&mut Run), &'static [&'static [u8]]);

const PROGRAMS: [Program; 6] = [
    (
        "parser",
        parser,
        &[
            b"alpha=12;beta=345;c=6;",
            b"x=1;yy=22;zzz=999;w=",
            b"key=12a;",
        ],
    ),
    (
        "number",
        number,
        &[b"  -1234567", b"0x1f2e", b"403x", b"99999999999999999"],
    ),
    (
        "checksum",
        checksum,
        &[b"hello!\x01\x02\x03\x04", b"abcdef\0\0\0\0"],
    ),
    ("sort", sort, &[b"zyxwvutsrq", b"abcdefghij", b"mzcbaxnyop"]),
    (
        "table",
        table,
        &[b"abc 123 +x1_ 9", b"a+b*c-d/e   zz", b"12 34 56"],
    ),
    (
        "utf8",
        utf8,
        &[
            b"plain text",
            b"\xc3\xa4\xe2\x82\xac ok",
            b"\xe1\x88\xb4\xc2\xa9z",
        ],
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: generate DIR")?;
    for (name, program, seeds) in PROGRAMS {
        let count = search(&Path::new(&directory).join(name), program, seeds)?;
        println!("{name}: {count} queries");
    }
    Ok(())
}

/// A generational search as far as a budget of queries goes.
fn search(directory: &Path, program: fn(&mut Run), seeds: &[&[u8]]) -> std::io::Result<u64> {
    let record: Option<PathBuf> = Some(directory.into());
    let mut solver = Solver::new(Settings {
        record,
        ..Settings::default()
    });
    let mut arena = Arena::new();
    let bounds = Bounds::new(vec![24]);
    let mut inputs: Vec<Assignment> = seeds.iter().map(|bytes| assignment(bytes)).collect();
    let mut next = 0;
    let mut asked = std::collections::HashSet::new();
    while next < inputs.len() && solver.statistics().queries < 400 {
        let input = inputs[next].clone();
        next += 1;
        let mut run = Run {
            arena: &mut arena,
            input: input.clone(),
            path: Vec::new(),
        };
        program(&mut run);
        let path = run.path;
        for (position, &condition) in path.iter().enumerate() {
            let goal = arena.not(condition);
            if !asked.insert(
                path[..position]
                    .iter()
                    .copied()
                    .chain([goal])
                    .collect::<Vec<_>>(),
            ) {
                continue;
            }
            let query = Query {
                prefix: &path[..position],
                goal,
                hint: &input,
                bounds: &bounds,
                soft: &[],
            };
            if let Answer::Sat(model) = solver.solve(&mut arena, &query) {
                inputs.push(model);
            }
        }
    }
    match solver.record_problem() {
        Some(problem) => Err(std::io::Error::other(problem.to_string())),
        None => Ok(solver.statistics().queries),
    }
}

fn assignment(bytes: &[u8]) -> Assignment {
    let mut values = Assignment::new();
    for (&byte, offset) in bytes.iter().zip(0..) {
        values.set_byte(0, offset, byte);
    }
    values.set(Var::Length { stream: 0 }, bytes.len() as u64);
    values
}
