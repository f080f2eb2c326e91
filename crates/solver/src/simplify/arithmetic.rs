//! Rules for sums, products, quotients and shifts.

use crate::arena::{Arena, Expr};
use crate::machine::mask;
use changeling_trace::Op;

impl Arena {
    pub(crate) fn build_add(&mut self, a: Expr, b: Expr) -> Expr {
        if self.is_zero(b) {
            return a;
        }
        let (x, y) = (*self.term(a), *self.term(b));
        // Constants travel outwards and meet there.
        if x.op == Op::Add && self.is_constant(x.b) {
            if self.is_constant(b) {
                let constant = self.build(Op::Add, x.b, b);
                return self.build(Op::Add, x.a, constant);
            }
            let inner = self.build(Op::Add, x.a, b);
            return self.build(Op::Add, inner, x.b);
        }
        if y.op == Op::Add && self.is_constant(y.b) {
            let inner = self.build(Op::Add, a, y.a);
            return self.build(Op::Add, inner, y.b);
        }
        if x.op == Op::Sub && self.is_constant(x.a) && self.is_constant(b) {
            let constant = self.build(Op::Add, x.a, b);
            return self.build(Op::Sub, constant, x.b);
        }
        if x.op == Op::Sub && x.b == b {
            return x.a;
        }
        if y.op == Op::Sub && y.b == a {
            return y.a;
        }
        if a == b && self.width(a) > 1 {
            let one = self.constant_u64(self.width(a), 1);
            return self.build(Op::Shl, a, one);
        }
        if let Some(merged) = self.merge_disjoint(a, b) {
            return merged;
        }
        self.finish_binary(Op::Add, a, b)
    }

    pub(crate) fn build_sub(&mut self, a: Expr, b: Expr) -> Expr {
        let width = self.width(a);
        if a == b {
            return self.constant_u64(width, 0);
        }
        if self.is_constant(b) {
            let zero = self.constant_u64(width, 0);
            let negative = self.build(Op::Sub, zero, b);
            return self.build(Op::Add, a, negative);
        }
        let (x, y) = (*self.term(a), *self.term(b));
        if x.op == Op::Add && x.b == b {
            return x.a;
        }
        if x.op == Op::Add && x.a == b {
            return x.b;
        }
        if x.op == Op::Add && self.is_constant(x.b) {
            let inner = self.build(Op::Sub, x.a, b);
            return self.build(Op::Add, inner, x.b);
        }
        if y.op == Op::Add && self.is_constant(y.b) {
            if self.is_constant(a) {
                let constant = self.build(Op::Sub, a, y.b);
                return self.build(Op::Sub, constant, y.a);
            }
            let inner = self.build(Op::Sub, a, y.a);
            return self.build(Op::Sub, inner, y.b);
        }
        if y.op == Op::Sub && self.is_constant(a) && self.is_constant(y.a) {
            // c - (d - x) = x + (c - d)
            let constant = self.build(Op::Sub, a, y.a);
            return self.build(Op::Add, y.b, constant);
        }
        self.finish_binary(Op::Sub, a, b)
    }

    pub(crate) fn build_mul(&mut self, a: Expr, b: Expr) -> Expr {
        if let Some(c) = self.small(b) {
            let width = self.width(a);
            match c {
                0 => return b,
                1 => return a,
                c if c.is_power_of_two() => {
                    let amount = self.constant_u64(width, c.trailing_zeros().into());
                    return self.build(Op::Shl, a, amount);
                }
                _ => {}
            }
            let x = *self.term(a);
            if matches!(x.op, Op::Mul | Op::Add) && self.is_constant(x.b) {
                let constant = self.build(Op::Mul, x.b, b);
                if x.op == Op::Mul {
                    return self.build(Op::Mul, x.a, constant);
                }
                let product = self.build(Op::Mul, x.a, b);
                return self.build(Op::Add, product, constant);
            }
        }
        self.finish_binary(Op::Mul, a, b)
    }

    pub(crate) fn build_udiv(&mut self, a: Expr, b: Expr) -> Expr {
        let width = self.width(a);
        if let Some(c) = self.small(b)
            && c != 0
        {
            if c == 1 {
                return a;
            }
            if c.is_power_of_two() {
                let amount = self.constant_u64(width, c.trailing_zeros().into());
                return self.build(Op::LShr, a, amount);
            }
            if let Some((inner, divisor)) = self.narrow_division(a, c) {
                let quotient = self.build(Op::UDiv, inner, divisor);
                return self.build_zext(quotient, width);
            }
            let x = *self.term(a);
            if x.op == Op::UDiv
                && let Some(product) = self.small(x.b).and_then(|d| d.checked_mul(c))
                && product <= mask(width)
                && product != 0
            {
                let divisor = self.constant_u64(width, product);
                return self.build(Op::UDiv, x.a, divisor);
            }
        }
        self.finish_binary(Op::UDiv, a, b)
    }

    pub(crate) fn build_urem(&mut self, a: Expr, b: Expr) -> Expr {
        let width = self.width(a);
        if let Some(c) = self.small(b)
            && c != 0
        {
            if c == 1 {
                return self.constant_u64(width, 0);
            }
            if c.is_power_of_two() {
                let part = self.build_extract(a, 0, c.trailing_zeros());
                return self.build_zext(part, width);
            }
            if width <= 64 && self.facts(a).high < c {
                return a;
            }
            if let Some((inner, divisor)) = self.narrow_division(a, c) {
                let rest = self.build(Op::URem, inner, divisor);
                return self.build_zext(rest, width);
            }
        }
        self.finish_binary(Op::URem, a, b)
    }

    /// Division of an extended number by a constant happens at its own width.
    fn narrow_division(&mut self, a: Expr, divisor: u64) -> Option<(Expr, Expr)> {
        let x = *self.term(a);
        if x.op != Op::ZExt {
            return None;
        }
        let inner = self.width(x.a);
        let fits = inner >= 64 || divisor <= mask(inner);
        fits.then(|| (x.a, self.constant_u64(inner, divisor)))
    }

    pub(crate) fn build_sdiv(&mut self, a: Expr, b: Expr) -> Expr {
        if self.sign(a) == Some(false) && self.sign(b) == Some(false) && self.never_zero(b) {
            return self.build(Op::UDiv, a, b);
        }
        if self.small(b) == Some(1) && self.width(b) > 1 {
            return a;
        }
        self.finish_binary(Op::SDiv, a, b)
    }

    pub(crate) fn build_srem(&mut self, a: Expr, b: Expr) -> Expr {
        if self.sign(a) == Some(false) && self.sign(b) == Some(false) {
            return self.build(Op::URem, a, b);
        }
        if self.small(b) == Some(1) && self.width(b) > 1 {
            return self.constant_u64(self.width(a), 0);
        }
        self.finish_binary(Op::SRem, a, b)
    }

    fn never_zero(&self, e: Expr) -> bool {
        match self.width(e) {
            0..=64 => self.facts(e).low > 0,
            _ => self.is_constant(e) && !self.is_zero(e),
        }
    }

    /// A shift by a constant is a concatenation or an extension of a part.
    pub(crate) fn build_shift(&mut self, op: Op, a: Expr, b: Expr) -> Expr {
        let width = self.width(a);
        if self.is_zero(a) {
            return a;
        }
        if let Some(amount) = self.constant_value(b) {
            let amount = match amount.to_u64() {
                Some(n) if n < width.into() => n as u32,
                _ if op == Op::AShr => width - 1,
                _ => return self.constant_u64(width, 0),
            };
            if amount == 0 {
                return a;
            }
            let kept = width - amount;
            return match op {
                Op::Shl => {
                    let part = self.build_extract(a, 0, kept);
                    let zeros = self.constant_u64(amount, 0);
                    self.build_concat(part, zeros)
                }
                Op::LShr => {
                    let part = self.build_extract(a, amount, kept);
                    self.build_zext(part, width)
                }
                _ => {
                    let part = self.build_extract(a, amount, kept);
                    self.build_sext(part, width)
                }
            };
        }
        if op == Op::AShr && self.sign(a) == Some(false) {
            return self.build_shift(Op::LShr, a, b);
        }
        if op != Op::AShr && width <= 64 && self.facts(b).low >= width.into() {
            return self.constant_u64(width, 0);
        }
        self.finish_binary(op, a, b)
    }
}
