//! Expressions as sums: whole numbers that do not wrap around.
//!
//! A number in the input is a sum of its digits, each times a power of ten. Where the
//! ranges of the input variables show that no step on the way wraps around, a comparison
//! of such expressions is one of plain numbers, and bounds of sums say what is possible. Of
//! what is no sum, as a product of two numbers, only the bounds are known.

use super::reads::Reads;
use crate::arena::{Arena, Expr};
use crate::facts::trailing;
use crate::machine::signed;
use crate::value::Value;
use crate::variables::VarId;
use changeling_trace::Op;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A number that is congruent to an expression's value, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    /// By variable, none with factor 0.
    pub parts: Vec<(VarId, i64)>,
    pub constant: i64,
    /// What else is in it is somewhere between these.
    pub loose: (i64, i64),
    /// Between what all of it lies.
    pub low: i64,
    pub high: i64,
}

/// What a condition demands of a sum without its constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub parts: Vec<(VarId, i64)>,
    /// Wider than any sum, since a bound may be missing.
    pub low: i128,
    pub high: i128,
    pub loose: (i64, i64),
    /// It must lie outside of these bounds instead.
    pub outside: bool,
}

/// Expressions looked at for one question.
const MOST_EXPRESSIONS: u32 = 4_000;
/// Variables of a sum.
const MOST_PARTS: usize = 40;
/// Distances between two numbers have a sign, and do not wrap around.
const WIDEST: u32 = 66;
/// Places of a table that are looked at.
const MOST_PLACES: i64 = 64;
/// How far down an expression is followed.
const DEEPEST: u32 = 300;

pub(super) struct Linear<'a> {
    arena: &'a Arena,
    reads: &'a Reads,
    range: &'a dyn Fn(VarId) -> (i64, i64),
    known: FxHashMap<Expr, Option<Rc<Sum>>>,
    left: u32,
}

impl<'a> Linear<'a> {
    /// `range`: between what a variable lies.
    pub fn new(
        arena: &'a Arena,
        reads: &'a Reads,
        range: &'a dyn Fn(VarId) -> (i64, i64),
    ) -> Linear<'a> {
        Linear {
            arena,
            reads,
            range,
            known: FxHashMap::default(),
            left: MOST_EXPRESSIONS,
        }
    }

    /// What `condition` demands of sums. It may demand more than that if this is `None`, and then
    /// what was found before is still demanded.
    pub fn demands(&mut self, condition: Expr, found: &mut Vec<Demand>) -> Option<()> {
        self.collect(condition, true, found, 0)
    }

    fn collect(
        &mut self,
        condition: Expr,
        holds: bool,
        found: &mut Vec<Demand>,
        depth: u32,
    ) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        if let Some(inner) = self.arena.complemented(condition) {
            return self.collect(inner, !holds, found, depth + 1);
        }
        let term = *self.arena.term(condition);
        match (term.op, holds) {
            (Op::And, true) | (Op::Or, false) => {
                let first = self.collect(term.a, holds, found, depth + 1);
                let second = self.collect(term.b, holds, found, depth + 1);
                first.and(second)
            }
            (Op::Eq | Op::Ult | Op::Slt, _) => {
                let demand = self.comparison(term.op, term.a, term.b, holds)?;
                found.push(demand);
                Some(())
            }
            _ => None,
        }
    }

    fn comparison(&mut self, op: Op, a: Expr, b: Expr, holds: bool) -> Option<Demand> {
        let width = self.arena.width(a);
        let place = match op {
            Op::Slt => Sum::signed,
            _ => Sum::unsigned,
        };
        let a = place(&*self.sum(a, 0)?, width)?;
        let b = place(&*self.sum(b, 0)?, width)?;
        let difference = a.plus(&b, -1)?;
        let (low, high) = match (op, holds) {
            (Op::Eq, _) => (0, 0),
            (_, true) => (i128::MIN / 2, -1),
            (_, false) => (0, i128::MAX / 2),
        };
        let constant = i128::from(difference.constant);
        Some(Demand {
            low: low - constant,
            high: high - constant,
            outside: op == Op::Eq && !holds,
            loose: difference.loose,
            parts: difference.parts,
        })
    }

    fn sum(&mut self, e: Expr, depth: u32) -> Option<Rc<Sum>> {
        if let Some(known) = self.known.get(&e) {
            return known.clone();
        }
        self.left = self.left.checked_sub(1)?;
        let sum = if depth > DEEPEST || self.arena.width(e) > WIDEST {
            None
        } else {
            let sum = self
                .make(e, depth + 1)
                .or_else(|| self.bounds(e, depth + 1));
            sum.or_else(|| self.anything(e)).map(Rc::new)
        };
        self.known.insert(e, sum.clone());
        sum
    }

    fn make(&mut self, e: Expr, depth: u32) -> Option<Sum> {
        let term = *self.arena.term(e);
        let width = u32::from(term.width);
        match term.op {
            Op::Const if width <= 64 => Some(Sum::constant(signed(width, term.imm))),
            Op::Const => {
                let value = self.arena.constant_value(e)?;
                let low = value.low_u64();
                let fits = Value::new(64, low.into()).sext(width) == value;
                fits.then(|| Sum::constant(low as i64))
            }
            Op::Input | Op::Length => {
                let var = self.arena.set(e).iter().next()?;
                let (low, high) = (self.range)(var);
                Some(Sum {
                    parts: vec![(var, 1)],
                    constant: 0,
                    loose: (0, 0),
                    low,
                    high,
                })
            }
            Op::Add | Op::Sub => {
                let (a, b) = (self.sum(term.a, depth)?, self.sum(term.b, depth)?);
                a.plus(&b, if term.op == Op::Add { 1 } else { -1 })
            }
            Op::Mul => {
                let (a, b) = (self.sum(term.a, depth)?, self.sum(term.b, depth)?);
                match (a.is_constant(), b.is_constant()) {
                    (_, true) => a.times(b.constant),
                    (true, _) => b.times(a.constant),
                    _ => None,
                }
            }
            Op::Shl => {
                let by = self.arena.small(term.b).filter(|by| *by < 62)?;
                self.sum(term.a, depth)?.times(1 << by)
            }
            Op::ZExt => {
                let inner = self.arena.width(term.a);
                self.sum(term.a, depth)?.unsigned(inner)
            }
            Op::SExt => {
                let inner = self.arena.width(term.a);
                self.sum(term.a, depth)?.signed(inner)
            }
            // The low part of a number is congruent to it.
            Op::Extract if term.imm == 0 => Some((*self.sum(term.a, depth)?).clone()),
            Op::Concat => {
                let low_width = self.arena.width(term.b);
                let high = self.sum(term.a, depth)?;
                let low = self.sum(term.b, depth)?.unsigned(low_width)?;
                let factor = 1i64.checked_shl(low_width).filter(|factor| *factor > 0)?;
                high.times(factor)?.plus(&low, 1)
            }
            // Nothing is carried where no bit is on both sides.
            Op::Or | Op::Xor => {
                let possible = |e: Expr| self.arena.facts(e).possible(width);
                if possible(term.a) & possible(term.b) != 0 {
                    return None;
                }
                let (a, b) = (self.sum(term.a, depth)?, self.sum(term.b, depth)?);
                a.unsigned(width)?.plus(&b.unsigned(width)?, 1)
            }
            Op::And => {
                let (mask, other) = match (self.arena.small(term.a), self.arena.small(term.b)) {
                    (Some(mask), None) => (mask, term.b),
                    (None, Some(mask)) => (mask, term.a),
                    _ => return None,
                };
                let sum = self.sum(other, depth)?.unsigned(width)?;
                let low_bits = mask & mask.wrapping_add(1) == 0;
                let fits = u64::try_from(sum.high).is_ok_and(|high| high <= mask);
                (low_bits && fits).then_some(sum)
            }
            _ => None,
        }
    }
}

impl Linear<'_> {
    /// What is known of an expression that is no sum, from what it is computed from.
    fn bounds(&mut self, e: Expr, depth: u32) -> Option<Sum> {
        let term = *self.arena.term(e);
        let width = u32::from(term.width);
        match term.op {
            Op::Mul => {
                let (a, b) = (self.sum(term.a, depth)?, self.sum(term.b, depth)?);
                let ends = [
                    (a.low, b.low),
                    (a.low, b.high),
                    (a.high, b.low),
                    (a.high, b.high),
                ];
                let ends = ends.map(|(a, b)| a.checked_mul(b));
                let ends: Vec<i64> = ends.into_iter().collect::<Option<_>>()?;
                Some(Sum::between(*ends.iter().min()?, *ends.iter().max()?))
            }
            // The quotient is never further from 0 than the dividend, or 1 or -1 for division by 0.
            Op::SDiv => {
                let a = self.sum(term.a, depth)?.signed(width)?;
                let most = a.high.max(a.low.checked_neg()?).max(1);
                Some(Sum::between(-most, most))
            }
            Op::SRem => {
                let a = self.sum(term.a, depth)?.signed(width)?;
                Some(Sum::between(a.low.min(0), a.high.max(0)))
            }
            Op::UDiv => {
                let a = self.sum(term.a, depth)?.unsigned(width)?;
                let b = self.sum(term.b, depth)?.unsigned(width)?;
                (b.low > 0).then(|| Sum::between(a.low / b.high, a.high / b.low))
            }
            Op::URem => {
                let a = self.sum(term.a, depth)?.unsigned(width)?;
                let b = self.sum(term.b, depth)?.unsigned(width)?;
                let most = if b.low > 0 {
                    a.high.min(b.high - 1)
                } else {
                    a.high
                };
                Some(Sum::between(0, most))
            }
            Op::Ite => {
                let (a, b) = (self.sum(term.b, depth)?, self.sum(term.c, depth)?);
                Some(Sum::between(a.low.min(b.low), a.high.max(b.high)))
            }
            Op::Read => self.entries(e, depth),
            // The sign, or what else is left of a number when its end is cut off.
            Op::Extract => {
                let inner = self.arena.width(term.a);
                let whole = self.sum(term.a, depth)?;
                if term.imm + 1 == u64::from(inner) {
                    let whole = whole.signed(inner)?;
                    return Some(Sum::between(
                        (whole.high < 0).into(),
                        (whole.low < 0).into(),
                    ));
                }
                let whole = whole.unsigned(inner)?;
                let cut = |end: i64| end >> term.imm.min(63);
                Some(Sum::between(cut(whole.low), cut(whole.high)))
            }
            _ => None,
        }
    }

    /// What is known of the places of a table that an index can lead to.
    fn entries(&mut self, read: Expr, depth: u32) -> Option<Sum> {
        let term = *self.arena.term(read);
        let length = self.arena.tables[term.b.index()].bytes.len() as i64;
        let size = i64::from(term.width) / 8;
        let index = self.sum(term.a, depth)?.unsigned(64)?;
        let mut bounds: Option<(i64, i64)> = None;
        for place in self.places(term.a, &index)? {
            let (low, high) = if place > length - size {
                // Nothing is there.
                (0, 0)
            } else {
                let number = self.reads.number(read, place as u64)?;
                let sum = self.sum(number, depth)?;
                (sum.low, sum.high)
            };
            let (least, most) = bounds.unwrap_or((low, high));
            bounds = Some((least.min(low), most.max(high)));
        }
        bounds.map(|(low, high)| Sum::between(low, high))
    }

    /// All values of an index, and perhaps others; `None` if there are many.
    fn places(&self, e: Expr, index: &Sum) -> Option<impl Iterator<Item = i64> + use<>> {
        let (first, last, step) = match index.parts[..] {
            [(var, factor)] if index.loose == (0, 0) => {
                let (low, high) = (self.range)(var);
                let ends = [low, high].map(|value| index.constant + factor * value);
                (ends[0].min(ends[1]), ends[0].max(ends[1]), factor.abs())
            }
            _ => {
                let step = 1i64 << trailing(*self.arena.facts(e)).min(16);
                let first = index.low.checked_add(step - 1)? / step * step;
                (first, index.high, step)
            }
        };
        let few = last.checked_sub(first)? / step < MOST_PLACES;
        few.then(|| (first..=last).step_by(step as usize))
    }

    fn anything(&self, e: Expr) -> Option<Sum> {
        let facts = self.arena.facts(e);
        let (low, high) = (facts.low.try_into().ok()?, facts.high.try_into().ok()?);
        Some(Sum::between(low, high))
    }
}

impl Sum {
    fn between(low: i64, high: i64) -> Sum {
        Sum {
            parts: Vec::new(),
            constant: 0,
            loose: (low, high),
            low,
            high,
        }
    }

    fn is_constant(&self) -> bool {
        self.parts.is_empty() && self.loose == (0, 0)
    }

    fn constant(value: i64) -> Sum {
        Sum {
            parts: Vec::new(),
            constant: value,
            loose: (0, 0),
            low: value,
            high: value,
        }
    }

    fn times(&self, factor: i64) -> Option<Sum> {
        if factor == 0 {
            return Some(Sum::constant(0));
        }
        let parts = self.parts.iter();
        let parts = parts.map(|&(var, by)| Some((var, by.checked_mul(factor)?)));
        let (a, b) = (
            self.low.checked_mul(factor)?,
            self.high.checked_mul(factor)?,
        );
        let (c, d) = (
            self.loose.0.checked_mul(factor)?,
            self.loose.1.checked_mul(factor)?,
        );
        Some(Sum {
            parts: parts.collect::<Option<_>>()?,
            constant: self.constant.checked_mul(factor)?,
            loose: (c.min(d), c.max(d)),
            low: a.min(b),
            high: a.max(b),
        })
    }

    /// The sum of this and `factor` times another, 1 or -1.
    fn plus(&self, other: &Sum, factor: i64) -> Option<Sum> {
        let other = other.times(factor)?;
        let mut parts = Vec::with_capacity(self.parts.len() + other.parts.len());
        let (mut left, mut right) = (&self.parts[..], &other.parts[..]);
        loop {
            match (left.first(), right.first()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let by = a.1.checked_add(b.1)?;
                    if by != 0 {
                        parts.push((a.0, by));
                    }
                    (left, right) = (&left[1..], &right[1..]);
                }
                (Some(a), b) if b.is_none_or(|b| a.0 < b.0) => {
                    parts.push(*a);
                    left = &left[1..];
                }
                (_, Some(b)) => {
                    parts.push(*b);
                    right = &right[1..];
                }
                (_, None) => break,
            }
        }
        if parts.len() > MOST_PARTS {
            return None;
        }
        Some(Sum {
            parts,
            constant: self.constant.checked_add(other.constant)?,
            loose: (
                self.loose.0.checked_add(other.loose.0)?,
                self.loose.1.checked_add(other.loose.1)?,
            ),
            low: self.low.checked_add(other.low)?,
            high: self.high.checked_add(other.high)?,
        })
    }

    /// As the unsigned number that the expression is; `None` if it may wrap around.
    fn unsigned(&self, width: u32) -> Option<Sum> {
        self.within(width, 0)
    }

    fn signed(&self, width: u32) -> Option<Sum> {
        self.within(width, -(1i128 << (width - 1)))
    }

    /// Moved by a multiple of 2^width so that all of it is between `least` and `least` + 2^width.
    fn within(&self, width: u32, least: i128) -> Option<Sum> {
        let turn = 1i128 << width;
        let turns = (i128::from(self.low) - least).div_euclid(turn);
        if (i128::from(self.high) - least).div_euclid(turn) != turns {
            return None;
        }
        let move_by = i64::try_from(turns * turn).ok()?;
        Some(Sum {
            parts: self.parts.clone(),
            constant: self.constant.checked_sub(move_by)?,
            loose: self.loose,
            low: self.low.checked_sub(move_by)?,
            high: self.high.checked_sub(move_by)?,
        })
    }
}
