//! What is known of an expression whatever the input: bits and an unsigned range.

use crate::arena::{Arena, Expr, Term};
use crate::machine::{mask, signed};
use changeling_trace::Op;

/// For widths up to 64; nothing is known of wider expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Bits that are certainly zero.
    pub zeros: u64,
    /// Bits that are certainly one.
    pub ones: u64,
    pub low: u64,
    pub high: u64,
}

impl Facts {
    fn unknown(width: u32) -> Facts {
        Facts {
            zeros: 0,
            ones: 0,
            low: 0,
            high: mask(width),
        }
    }

    fn constant(width: u32, value: u64) -> Facts {
        Facts {
            zeros: !value & mask(width),
            ones: value,
            low: value,
            high: value,
        }
    }

    /// Bits that may be one.
    pub fn possible(&self, width: u32) -> u64 {
        mask(width) & !self.zeros
    }

    pub fn single(&self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn of(arena: &Arena, term: &Term) -> Facts {
        let width = u32::from(term.width);
        if width > 64 {
            return Facts::unknown(width);
        }
        let mut facts = raw(arena, term, width);
        facts.tighten(width);
        facts
    }

    /// Lets bits and range learn from each other.
    fn tighten(&mut self, width: u32) {
        self.low = self.low.max(self.ones);
        self.high = self.high.min(self.possible(width));
        if self.low > self.high {
            // Only for expressions that are never evaluated; stay harmless.
            *self = Facts::unknown(width);
            return;
        }
        let differing = self.low ^ self.high;
        let common = match differing {
            0 => mask(width),
            d => !(u64::MAX >> d.leading_zeros()) & mask(width),
        };
        self.ones |= self.low & common;
        self.zeros |= !self.low & common;
    }
}

fn raw(arena: &Arena, term: &Term, width: u32) -> Facts {
    let unknown = Facts::unknown(width);
    let narrow = |e: Expr| arena.width(e) <= 64;
    let of = |e: Expr| *arena.facts(e);
    match term.op {
        Op::Const => Facts::constant(width, term.imm),
        Op::And => {
            let (a, b) = (of(term.a), of(term.b));
            let (zeros, ones) = (a.zeros | b.zeros, a.ones & b.ones);
            Facts {
                zeros,
                ones,
                low: 0,
                high: a.high.min(b.high),
            }
        }
        Op::Or => {
            let (a, b) = (of(term.a), of(term.b));
            let (zeros, ones) = (a.zeros & b.zeros, a.ones | b.ones);
            Facts {
                zeros,
                ones,
                low: a.low.max(b.low),
                high: mask(width),
            }
        }
        Op::Xor => {
            let (a, b) = (of(term.a), of(term.b));
            let zeros = a.zeros & b.zeros | a.ones & b.ones;
            let ones = a.zeros & b.ones | a.ones & b.zeros;
            Facts {
                zeros,
                ones,
                ..unknown
            }
        }
        Op::Add => sum(width, of(term.a), of(term.b)),
        Op::Sub => {
            let (a, b) = (of(term.a), of(term.b));
            let mut facts = unknown;
            if a.low >= b.high {
                (facts.low, facts.high) = (a.low - b.high, a.high - b.low);
            }
            facts.zeros = low_bits(trailing(a).min(trailing(b)), width);
            facts
        }
        Op::Mul => {
            let (a, b) = (of(term.a), of(term.b));
            let mut facts = unknown;
            let product = u128::from(a.high) * u128::from(b.high);
            if product <= u128::from(mask(width)) {
                (facts.low, facts.high) = (a.low * b.low, product as u64);
            }
            facts.zeros = low_bits((trailing(a) + trailing(b)).min(64), width);
            facts
        }
        Op::UDiv => {
            let (a, b) = (of(term.a), of(term.b));
            match b.low {
                0 => unknown,
                least => Facts {
                    low: a.low / b.high,
                    high: a.high / least,
                    ..unknown
                },
            }
        }
        Op::URem => {
            let (a, b) = (of(term.a), of(term.b));
            match b.low {
                0 => Facts {
                    high: a.high,
                    ..unknown
                },
                _ => Facts {
                    high: a.high.min(b.high - 1),
                    ..unknown
                },
            }
        }
        Op::LShr => Facts {
            high: of(term.a).high >> of(term.b).low.min(63),
            ..unknown
        },
        Op::ZExt => {
            let (inner, a) = (arena.width(term.a), of(term.a));
            Facts {
                zeros: a.zeros | mask(width) & !mask(inner),
                ..a
            }
        }
        Op::SExt => {
            let (inner, a) = (arena.width(term.a), of(term.a));
            let top = mask(width) & !mask(inner);
            let sign = 1 << (inner - 1);
            if a.zeros & sign != 0 {
                return Facts {
                    zeros: a.zeros | top,
                    ..a
                };
            }
            if a.ones & sign != 0 {
                let stretch = |n| signed(inner, n) as u64 & mask(width);
                return Facts {
                    zeros: a.zeros,
                    ones: a.ones | top,
                    low: stretch(a.low),
                    high: stretch(a.high),
                };
            }
            Facts {
                zeros: a.zeros,
                ones: a.ones,
                ..unknown
            }
        }
        Op::Extract if narrow(term.a) => {
            let a = of(term.a);
            let shift = term.imm;
            let cut = |n: u64| n >> shift & mask(width);
            let mut facts = Facts {
                zeros: cut(a.zeros),
                ones: cut(a.ones),
                ..unknown
            };
            if a.high >> shift <= mask(width) {
                (facts.low, facts.high) = (a.low >> shift, a.high >> shift);
            }
            facts
        }
        Op::Concat => {
            let (a, b) = (of(term.a), of(term.b));
            let shift = arena.width(term.b);
            let join = |x: u64, y: u64| x << shift | y;
            Facts {
                zeros: join(a.zeros, b.zeros),
                ones: join(a.ones, b.ones),
                low: join(a.low, b.low),
                high: join(a.high, b.high),
            }
        }
        Op::Ite => {
            let (b, c) = (of(term.b), of(term.c));
            Facts {
                zeros: b.zeros & c.zeros,
                ones: b.ones & c.ones,
                low: b.low.min(c.low),
                high: b.high.max(c.high),
            }
        }
        Op::Read => read(arena, term, width),
        Op::Popcount | Op::LeadingZeros | Op::TrailingZeros => Facts {
            high: u64::from(arena.width(term.a)).min(mask(width)),
            ..unknown
        },
        _ => unknown,
    }
}

fn sum(width: u32, a: Facts, b: Facts) -> Facts {
    let mut facts = Facts::unknown(width);
    let (low, high) = (
        u128::from(a.low) + u128::from(b.low),
        u128::from(a.high) + u128::from(b.high),
    );
    let modulus = u128::from(mask(width)) + 1;
    if high < modulus {
        (facts.low, facts.high) = (low as u64, high as u64);
    } else if low >= modulus {
        (facts.low, facts.high) = ((low - modulus) as u64, (high - modulus) as u64);
    }
    facts.zeros = low_bits(trailing(a).min(trailing(b)), width);
    facts
}

/// The range of the table's entries, if they are constant.
fn read(arena: &Arena, term: &Term, width: u32) -> Facts {
    let table = &arena.tables[term.b.index()];
    let mut facts = Facts::unknown(width);
    if table.cells.is_some() || !width.is_multiple_of(8) || table.bytes.len() > 4096 {
        return facts;
    }
    let index = arena.facts(term.a);
    let size = (width / 8) as usize;
    let last = table.bytes.len().saturating_sub(size) as u64;
    let stride = 1u64 << trailing(*index).min(16);
    let (mut low, mut high, mut any, mut all) = (u64::MAX, 0, 0, mask(width));
    let mut note = |entry: u64| {
        (low, high) = (low.min(entry), high.max(entry));
        (any, all) = (any | entry, all & entry);
    };
    if index.high > last || table.bytes.len() < size {
        note(0);
    }
    let start = index.low.next_multiple_of(stride);
    if table.bytes.len() >= size {
        for at in (start..=index.high.min(last)).step_by(stride as usize) {
            note(entry(&table.bytes, at as usize, size));
        }
    }
    if low <= high {
        facts = Facts {
            zeros: !any & mask(width),
            ones: all,
            low,
            high,
        };
    }
    facts
}

/// Little-endian entry of up to 8 bytes.
pub(crate) fn entry(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size]
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// Number of low bits known to be zero.
pub(crate) fn trailing(facts: Facts) -> u32 {
    facts.zeros.trailing_ones()
}

fn low_bits(count: u32, width: u32) -> u64 {
    mask(count) & mask(width) & if count == 0 { 0 } else { u64::MAX }
}
