//! Rules for comparisons. They are pushed towards the input bytes: a test of an
//! extended, shifted or assembled byte becomes a test of the byte.

use crate::arena::{Arena, Expr};
use crate::machine::{mask, signed};
use crate::value::Value;
use changeling_trace::Op;

impl Arena {
    pub(crate) fn build_eq(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b {
            return self.bool_constant(true);
        }
        let width = self.width(a);
        if width == 1 {
            let differ = self.build(Op::Xor, a, b);
            return self.build_not(differ);
        }
        if width <= 64 {
            let (x, y) = (self.facts(a), self.facts(b));
            if x.ones & y.zeros | x.zeros & y.ones != 0 || x.high < y.low || y.high < x.low {
                return self.bool_constant(false);
            }
        }
        if let Some(decided) = self.compare_branches(Op::Eq, a, b) {
            return decided;
        }
        let rewritten = match self.is_constant(b) {
            true => self.deeper(|arena| arena.equal_constant(a, b)),
            false => self.deeper(|arena| arena.equal_parts(a, b)),
        };
        rewritten.unwrap_or_else(|| self.finish_binary(Op::Eq, a, b))
    }

    /// `a == b` for a constant `b`: undoes the outermost operator of `a`.
    fn equal_constant(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        let x = *self.term(a);
        Some(match x.op {
            Op::ZExt | Op::SExt => {
                let inner = self.width(x.a);
                let part = self.build_extract(b, 0, inner);
                let again = match x.op {
                    Op::ZExt => self.build_zext(part, x.width.into()),
                    _ => self.build_sext(part, x.width.into()),
                };
                if again != b {
                    return Some(self.bool_constant(false));
                }
                self.build(Op::Eq, x.a, part)
            }
            Op::Concat => self.equal_halves(x.a, x.b, b),
            Op::Add | Op::Xor if self.is_constant(x.b) => {
                let undo = if x.op == Op::Add { Op::Sub } else { Op::Xor };
                let target = self.build(undo, b, x.b);
                self.build(Op::Eq, x.a, target)
            }
            Op::Sub if self.is_constant(x.a) => {
                let target = self.build(Op::Sub, x.a, b);
                self.build(Op::Eq, x.b, target)
            }
            Op::Sub | Op::Xor if self.is_zero(b) => self.build(Op::Eq, x.a, x.b),
            Op::Or if self.is_zero(b) => {
                let left = self.build(Op::Eq, x.a, b);
                let right = self.build(Op::Eq, x.b, b);
                self.build(Op::And, left, right)
            }
            // The even part of a factor shifts, the odd one can be divided by. So `24 * i == 8` asks for an `i` beyond all
            // bounds, which is no use of a place in an array.
            Op::Mul => {
                let (factor, target) = (self.small(x.b)?, self.small(b)?);
                let shift = factor.trailing_zeros();
                if target.trailing_zeros() < shift {
                    return Some(self.bool_constant(false));
                }
                let width = u32::from(x.width) - shift;
                let quotient = (target >> shift).wrapping_mul(inverse(factor >> shift));
                let target = self.constant_u64(width, quotient);
                let low = self.build_extract(x.a, 0, width);
                self.build(Op::Eq, low, target)
            }
            _ => return None,
        })
    }

    /// `high:low == whole`, part by part.
    fn equal_halves(&mut self, high: Expr, low: Expr, whole: Expr) -> Expr {
        let split = self.width(low);
        let (top, bottom) = (
            self.build_extract(whole, split, self.width(high)),
            self.build_extract(whole, 0, split),
        );
        let left = self.build(Op::Eq, high, top);
        if self.truth(left) == Some(false) {
            return left;
        }
        let right = self.build(Op::Eq, low, bottom);
        self.build(Op::And, left, right)
    }

    fn equal_parts(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        let (x, y) = (*self.term(a), *self.term(b));
        match (x.op, y.op) {
            (Op::ZExt, Op::ZExt) => {
                let width = self.width(x.a).max(self.width(y.a));
                let (left, right) = (self.build_zext(x.a, width), self.build_zext(y.a, width));
                Some(self.build(Op::Eq, left, right))
            }
            (Op::SExt, Op::SExt) => {
                let width = self.width(x.a).max(self.width(y.a));
                let (left, right) = (self.build_sext(x.a, width), self.build_sext(y.a, width));
                Some(self.build(Op::Eq, left, right))
            }
            (Op::Concat, Op::Concat) if self.width(x.b) == self.width(y.b) => {
                Some(self.equal_halves(x.a, x.b, b))
            }
            (Op::Add | Op::Xor, _) if x.op == y.op && x.b == y.b => {
                Some(self.build(Op::Eq, x.a, y.a))
            }
            (Op::Add | Op::Xor, _) if x.op == y.op && x.a == y.a => {
                Some(self.build(Op::Eq, x.b, y.b))
            }
            _ => None,
        }
    }

    pub(crate) fn build_ult(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b || self.is_zero(b) || self.is_ones(a) {
            return self.bool_constant(false);
        }
        let width = self.width(a);
        if width == 1 {
            let not = self.build_not(a);
            return self.build(Op::And, not, b);
        }
        if self.is_zero(a) || self.is_ones(b) {
            return self.build(Op::Ne, a, b);
        }
        if width <= 64 {
            let (x, y) = (*self.facts(a), *self.facts(b));
            if x.high < y.low || x.low >= y.high {
                return self.bool_constant(x.high < y.low);
            }
            // Only one value is left for the side that is not constant.
            if self.is_constant(b) && x.low + 1 == y.low {
                let least = self.constant_u64(width, x.low);
                return self.build(Op::Eq, a, least);
            }
            if self.is_constant(a) && x.low + 1 == y.high {
                let most = self.constant_u64(width, y.high);
                return self.build(Op::Eq, b, most);
            }
        }
        if let Some(decided) = self.compare_branches(Op::Ult, a, b) {
            return decided;
        }
        let rewritten = self.deeper(|arena| arena.ult_parts(a, b));
        rewritten.unwrap_or_else(|| self.finish_binary(Op::Ult, a, b))
    }

    fn ult_parts(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        let (x, y) = (*self.term(a), *self.term(b));
        match (x.op, y.op) {
            (Op::ZExt, Op::ZExt) => {
                let width = self.width(x.a).max(self.width(y.a));
                let (left, right) = (self.build_zext(x.a, width), self.build_zext(y.a, width));
                Some(self.build(Op::Ult, left, right))
            }
            (Op::ZExt, Op::Const) => self.ult_narrow(x.a, b, true),
            (Op::Const, Op::ZExt) => self.ult_narrow(y.a, a, false),
            // Sign extension keeps the unsigned order too.
            (Op::SExt, Op::SExt) if self.width(x.a) == self.width(y.a) => {
                Some(self.build(Op::Ult, x.a, y.a))
            }
            (Op::Concat, Op::Const) => {
                let split = self.width(x.b);
                let low = self.build_extract(b, 0, split);
                if !self.is_zero(low) {
                    return None;
                }
                let high = self.build_extract(b, split, self.width(x.a));
                Some(self.build(Op::Ult, x.a, high))
            }
            (Op::Add, Op::Const) => self.ult_interval(x.a, x.b, b),
            (Op::Const, Op::Add) => {
                // d < x + c  is  not (x + c < d + 1); d is not all ones.
                let one = self.constant_u64(x.width.into(), 1);
                let above = self.build(Op::Add, a, one);
                let within = self.ult_interval(y.a, y.b, above)?;
                Some(self.build_not(within))
            }
            _ => None,
        }
    }

    /// Zero-extended `inner` against a constant, at `inner`'s width.
    fn ult_narrow(&mut self, inner: Expr, constant: Expr, inner_first: bool) -> Option<Expr> {
        let width = self.width(inner);
        let value = self.whole(constant);
        let part = value.extract(0, width);
        if part.zext(value.width()) != value {
            return Some(self.bool_constant(inner_first));
        }
        let part = self.constant_of(&part);
        Some(match inner_first {
            true => self.build(Op::Ult, inner, part),
            false => self.build(Op::Ult, part, inner),
        })
    }

    /// `x + c < d` for an extended `x`: an interval test of `x`, which wraps
    /// around or not.
    fn ult_interval(&mut self, x: Expr, c: Expr, d: Expr) -> Option<Expr> {
        let width = self.width(x);
        if self.term(x).op != Op::ZExt || width > 64 {
            return None;
        }
        let (c, d) = (self.small(c)?, self.small(d)?);
        let start = c.wrapping_neg() & mask(width);
        let end = start.wrapping_add(d) & mask(width);
        let (from, to) = (
            self.constant_u64(width, start),
            self.constant_u64(width, end),
        );
        let above = self.build(Op::Ule, from, x);
        let below = self.build(Op::Ult, x, to);
        Some(match start <= end {
            true => self.build(Op::And, above, below),
            false => self.build(Op::Or, above, below),
        })
    }

    pub(crate) fn build_slt(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b {
            return self.bool_constant(false);
        }
        let width = self.width(a);
        match (self.sign(a), self.sign(b)) {
            (Some(x), Some(y)) if x == y => return self.build(Op::Ult, a, b),
            (Some(x), Some(_)) => return self.bool_constant(x),
            _ => {}
        }
        if self.is_zero(b) {
            return self.build_extract(a, width - 1, 1);
        }
        if self.is_ones(a) {
            let sign = self.build_extract(b, width - 1, 1);
            return self.build_not(sign);
        }
        if let Some(decided) = self.compare_branches(Op::Slt, a, b) {
            return decided;
        }
        let rewritten = self.deeper(|arena| arena.slt_parts(a, b));
        rewritten.unwrap_or_else(|| self.finish_binary(Op::Slt, a, b))
    }

    fn slt_parts(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        let (x, y) = (*self.term(a), *self.term(b));
        let width = self.width(a);
        match (x.op, y.op) {
            (Op::SExt, Op::SExt) => {
                let width = self.width(x.a).max(self.width(y.a));
                let (left, right) = (self.build_sext(x.a, width), self.build_sext(y.a, width));
                Some(self.build(Op::Slt, left, right))
            }
            (Op::SExt, Op::Const) => self.slt_narrow(x.a, b, true),
            (Op::Const, Op::SExt) => self.slt_narrow(y.a, a, false),
            (Op::Add, Op::Const) if width <= 64 => {
                let bound = self.without_addend(x.a, x.b, b)?;
                match self.fit(width, bound) {
                    Ok(bound) => Some(self.build(Op::Slt, x.a, bound)),
                    Err(above) => Some(self.bool_constant(above)),
                }
            }
            (Op::Const, Op::Add) if width <= 64 => {
                let bound = self.without_addend(y.a, y.b, a)?;
                match self.fit(width, bound) {
                    Ok(bound) => Some(self.build(Op::Slt, bound, y.a)),
                    Err(above) => Some(self.bool_constant(!above)),
                }
            }
            _ => None,
        }
    }

    /// Sign-extended `inner` against a constant, at `inner`'s width.
    fn slt_narrow(&mut self, inner: Expr, constant: Expr, inner_first: bool) -> Option<Expr> {
        let width = self.width(inner);
        let value = self.whole(constant);
        let part = value.extract(0, width);
        if part.sext(value.width()) != value {
            // Beyond every value of `inner`, on the side of its sign.
            return Some(self.bool_constant(inner_first != value.sign()));
        }
        let part = self.constant_of(&part);
        Some(match inner_first {
            true => self.build(Op::Slt, inner, part),
            false => self.build(Op::Slt, part, inner),
        })
    }

    /// `d - c`, if `x + c` cannot overflow as a signed number, so that the
    /// addend can be moved to the other side of a signed comparison.
    fn without_addend(&self, x: Expr, c: Expr, d: Expr) -> Option<i128> {
        let width = self.width(x);
        let number = |e: Expr| self.small(e).map(|n| i128::from(signed(width, n)));
        let (c, d) = (number(c)?, number(d)?);
        let (low, high) = self.signed_range(x);
        let limit = i128::from(mask(width) >> 1);
        (low + c >= -limit - 1 && high + c <= limit).then_some(d - c)
    }

    fn signed_range(&self, e: Expr) -> (i128, i128) {
        let (term, width) = (self.term(e), self.width(e));
        let facts = self.facts(e);
        match self.sign(e) {
            Some(false) => (facts.low.into(), facts.high.into()),
            Some(true) => (
                signed(width, facts.low).into(),
                signed(width, facts.high).into(),
            ),
            None => {
                let width = if term.op == Op::SExt {
                    self.width(term.a)
                } else {
                    width
                };
                let limit = i128::from(mask(width) >> 1);
                (-limit - 1, limit)
            }
        }
    }

    /// A signed number as a constant, or whether it is above what fits.
    fn fit(&mut self, width: u32, n: i128) -> Result<Expr, bool> {
        let limit = i128::from(mask(width) >> 1);
        match n {
            n if n > limit => Err(true),
            n if n < -limit - 1 => Err(false),
            n => Ok(self.constant_of(&Value::new(width, n as u128))),
        }
    }

    /// A comparison of a constant with a choice between constants is the choice's
    /// condition.
    fn compare_branches(&mut self, op: Op, a: Expr, b: Expr) -> Option<Expr> {
        let (x, y) = (*self.term(a), *self.term(b));
        let both = |arena: &Arena, yes, no| arena.is_constant(yes) && arena.is_constant(no);
        let (condition, yes, no) = if x.op == Op::Ite && y.op == Op::Const && both(self, x.b, x.c) {
            (x.a, self.build(op, x.b, b), self.build(op, x.c, b))
        } else if y.op == Op::Ite && x.op == Op::Const && both(self, y.b, y.c) {
            (y.a, self.build(op, a, y.b), self.build(op, a, y.c))
        } else {
            return None;
        };
        Some(self.build_ite(condition, yes, no))
    }
}

/// The inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    for _ in 0..5 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
    }
    x
}
