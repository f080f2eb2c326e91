//! Random formulas with a fixed seed.
#![allow(dead_code)]

pub mod z3;

use changeling_solver::{Arena, Expr, Op, TableId, Value};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What formulas are made of.
pub struct Shape {
    pub widths: &'static [u32],
    pub bytes: u32,
    pub lengths: bool,
    pub tables: bool,
    pub depth: u32,
    /// Multiplication and division of operands up to this width.
    pub heavy: u32,
}

pub struct Generator<'a> {
    pub arena: &'a mut Arena,
    pub random: Random,
    pub shape: Shape,
    tables: Vec<TableId>,
}

impl<'a> Generator<'a> {
    pub fn new(arena: &'a mut Arena, seed: u64, shape: Shape) -> Generator<'a> {
        let mut random = Random::new(seed);
        let mut tables = Vec::new();
        for size in [8usize, 5, 12] {
            let bytes: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
            tables.push(arena.add_table(&bytes, None).unwrap());
        }
        let cells: Vec<Expr> = (0..4)
            .map(|i| match i {
                0 | 1 => arena.input(0, i),
                _ => arena.constant(8, random.next()).unwrap(),
            })
            .collect();
        tables.push(arena.add_table(&[0; 4], Some(&cells)).unwrap());
        Generator {
            arena,
            random,
            shape,
            tables,
        }
    }

    pub fn condition(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return self.expr(1, 0);
        }
        match self.random.below(10) {
            0 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = self.random.pick(&[Op::And, Op::Or, Op::Xor]);
                self.arena.binary(op, a, b).unwrap()
            }
            1 => {
                let a = self.condition(depth - 1);
                self.arena.not(a)
            }
            2 => {
                let [a, b, c] = [(); 3].map(|()| self.condition(depth - 1));
                self.arena.ite(a, b, c).unwrap()
            }
            _ => {
                let width = self.random.pick(self.shape.widths);
                let op =
                    self.random
                        .pick(&[Op::Eq, Op::Ne, Op::Ult, Op::Ule, Op::Slt, Op::Sle, Op::Eq]);
                let a = self.expr(width, depth - 1);
                let b = if self.random.chance(40) {
                    self.constant(width)
                } else {
                    self.expr(width, depth - 1)
                };
                let (a, b) = if self.random.chance(20) {
                    (b, a)
                } else {
                    (a, b)
                };
                self.arena.binary(op, a, b).unwrap()
            }
        }
    }

    pub fn constant(&mut self, width: u32) -> Expr {
        let raw = self.random.next();
        let value = match self.random.below(6) {
            0 => Value::zero(width),
            1 => Value::ones(width),
            2 => Value::new(width, u128::from(raw % 256)),
            3 => Value::new(width, 1 << (raw % u64::from(width.min(127)))),
            _ => {
                let limbs = (0..width.div_ceil(64))
                    .map(|_| self.random.next())
                    .collect();
                Value::from_limbs(width, limbs)
            }
        };
        self.arena.constant_wide(&value).unwrap()
    }

    fn leaf(&mut self, width: u32) -> Expr {
        if self.random.chance(25) {
            return self.constant(width);
        }
        let base = if self.shape.lengths && self.random.chance(10) {
            self.arena.length(0)
        } else {
            let offset = self.random.below(self.shape.bytes.into()) as u32;
            self.arena.input(0, offset)
        };
        self.fit(base, width)
    }

    fn fit(&mut self, e: Expr, width: u32) -> Expr {
        let from = self.arena.width(e);
        if from > width {
            let low = self.random.below(u64::from(from - width) + 1) as u32;
            return self.arena.extract(e, low, width).unwrap();
        }
        match self.random.chance(50) {
            true => self.arena.zext(e, width).unwrap(),
            false => self.arena.sext(e, width).unwrap(),
        }
    }

    pub fn expr(&mut self, width: u32, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf(width);
        }
        match self.random.below(16) {
            0..=6 => {
                let cheap = [
                    Op::Add,
                    Op::Sub,
                    Op::And,
                    Op::Or,
                    Op::Xor,
                    Op::Shl,
                    Op::LShr,
                    Op::AShr,
                ];
                let heavy = [Op::Mul, Op::UDiv, Op::SDiv, Op::URem, Op::SRem];
                let op = match width <= self.shape.heavy && self.random.chance(30) {
                    true => self.random.pick(&heavy),
                    false => self.random.pick(&cheap),
                };
                let a = self.expr(width, depth - 1);
                let b = if self.random.chance(40) {
                    self.constant(width)
                } else {
                    self.expr(width, depth - 1)
                };
                let (a, b) = if self.random.chance(20) {
                    (b, a)
                } else {
                    (a, b)
                };
                self.arena.binary(op, a, b).unwrap()
            }
            7 | 8 => {
                let from = self.random.pick(self.shape.widths);
                let e = self.expr(from, depth - 1);
                self.fit(e, width)
            }
            9 | 10 if width >= 2 => {
                let low = 1 + self.random.below(u64::from(width) - 1) as u32;
                let (a, b) = (self.expr(width - low, depth - 1), self.expr(low, depth - 1));
                self.arena.concat(a, b).unwrap()
            }
            11 => {
                let condition = self.condition(depth - 1);
                let (a, b) = (self.expr(width, depth - 1), self.expr(width, depth - 1));
                self.arena.ite(condition, a, b).unwrap()
            }
            12 => {
                let op = self.random.pick(&[
                    Op::Popcount,
                    Op::LeadingZeros,
                    Op::TrailingZeros,
                    Op::BitReverse,
                    Op::ByteSwap,
                ]);
                let op = if op == Op::ByteSwap && !width.is_multiple_of(8) {
                    Op::Popcount
                } else {
                    op
                };
                let a = self.expr(width, depth - 1);
                self.arena.unary(op, a).unwrap()
            }
            13 | 14 if self.shape.tables && width >= 8 => {
                let size = self.random.pick(&[8, 16, 32]);
                let size = if size > width { 8 } else { size };
                let index = self.expr(8, depth - 1);
                let mut index = self.arena.zext(index, 64).unwrap();
                if self.random.chance(50) {
                    let by = self.arena.constant(64, u64::from(size / 8)).unwrap();
                    index = self.arena.binary(Op::Mul, index, by).unwrap();
                }
                let table = self.random.pick(&self.tables);
                let e = self.arena.read(table, index, size).unwrap();
                self.fit(e, width)
            }
            _ => self.leaf(width),
        }
    }
}
