//! Constructors that simplify. Widths have been checked by the caller
//! (`operators`), or are right by construction.
//!
//! Every rule is local: it looks at a few levels of its operands. Rules that go
//! down into operands stop at a depth, so that a chain of a hundred thousand
//! additions costs what its length costs and no stack.

mod arithmetic;
mod bitwise;
mod comparison;
mod structure;

use crate::arena::{Arena, Expr, NONE, Term};
use crate::machine;
use crate::value::Value;
use changeling_trace::Op;

/// Rules that go down into operands stop here.
const MAX_DEPTH: u32 = 12;

impl Arena {
    /// `op` of two operands, simplified.
    pub(crate) fn build(&mut self, op: Op, a: Expr, b: Expr) -> Expr {
        if let Some(folded) = self.fold(op, a, b) {
            return folded;
        }
        let (a, b) = match op {
            Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Eq if self.goes_second(a, b) => {
                (b, a)
            }
            _ => (a, b),
        };
        match op {
            Op::Add => self.build_add(a, b),
            Op::Sub => self.build_sub(a, b),
            Op::Mul => self.build_mul(a, b),
            Op::UDiv => self.build_udiv(a, b),
            Op::SDiv => self.build_sdiv(a, b),
            Op::URem => self.build_urem(a, b),
            Op::SRem => self.build_srem(a, b),
            Op::Shl | Op::LShr | Op::AShr => self.build_shift(op, a, b),
            Op::And => self.build_and(a, b),
            Op::Or => self.build_or(a, b),
            Op::Xor => self.build_xor(a, b),
            Op::Eq => self.build_eq(a, b),
            Op::Ne => {
                let equal = self.build(Op::Eq, a, b);
                self.build_not(equal)
            }
            Op::Ult => self.build_ult(a, b),
            Op::Ule => {
                let greater = self.build(Op::Ult, b, a);
                self.build_not(greater)
            }
            Op::Slt => self.build_slt(a, b),
            Op::Sle => {
                let greater = self.build(Op::Slt, b, a);
                self.build_not(greater)
            }
            Op::Concat => self.build_concat(a, b),
            _ => {
                let width = if op.is_comparison() { 1 } else { self.width(a) };
                self.finish(Term {
                    op,
                    width: width as u16,
                    a,
                    b,
                    c: NONE,
                    imm: 0,
                })
            }
        }
    }

    /// Constants go second; otherwise the smaller number goes first.
    fn goes_second(&self, a: Expr, b: Expr) -> bool {
        let is_constant = |e: Expr| self.term(e).op == Op::Const;
        match (is_constant(a), is_constant(b)) {
            (true, false) => true,
            (false, true) => false,
            _ => b < a,
        }
    }

    fn fold(&mut self, op: Op, a: Expr, b: Expr) -> Option<Expr> {
        if self.term(a).op != Op::Const || self.term(b).op != Op::Const {
            return None;
        }
        let operand = self.width(a);
        let width = match op {
            Op::Concat => operand + self.width(b),
            _ if op.is_comparison() => 1,
            _ => operand,
        };
        if let (Some(x), Some(y), true) = (self.small(a), self.small(b), width <= 64) {
            let value = machine::apply(op, width, operand, [x, y, 0], 0);
            return Some(self.constant_u64(width, value));
        }
        let (x, y) = (self.constant_value(a)?, self.constant_value(b)?);
        let value = fold_wide(op, &x, &y)?;
        Some(self.constant_of(&value))
    }

    /// Interns, unless the facts say that it is a constant.
    pub(crate) fn finish(&mut self, term: Term) -> Expr {
        let e = self.intern(term);
        if term.width > 64 || term.op == Op::Const {
            return e;
        }
        match self.facts(e).single() {
            Some(value) => self.constant_u64(term.width.into(), value),
            None => e,
        }
    }

    pub(crate) fn finish_binary(&mut self, op: Op, a: Expr, b: Expr) -> Expr {
        let width = if op.is_comparison() {
            1
        } else {
            self.term(a).width
        };
        self.finish(Term {
            op,
            width,
            a,
            b,
            c: NONE,
            imm: 0,
        })
    }

    pub(crate) fn build_not(&mut self, a: Expr) -> Expr {
        let ones = self.constant_of(&Value::ones(self.width(a)));
        self.build(Op::Xor, a, ones)
    }

    /// The operand of a complement.
    pub(crate) fn complemented(&self, e: Expr) -> Option<Expr> {
        let term = self.term(e);
        (term.op == Op::Xor && self.is_ones(term.b)).then_some(term.a)
    }

    pub(crate) fn is_zero(&self, e: Expr) -> bool {
        match self.small(e) {
            Some(n) => n == 0,
            None => self.constant_value(e).is_some_and(|value| value.is_zero()),
        }
    }

    pub(crate) fn is_ones(&self, e: Expr) -> bool {
        let width = self.width(e);
        match self.small(e) {
            Some(n) => n == machine::mask(width),
            None => self
                .constant_value(e)
                .is_some_and(|value| value == Value::ones(width)),
        }
    }

    pub(crate) fn is_constant(&self, e: Expr) -> bool {
        self.term(e).op == Op::Const
    }

    /// Runs a rule that goes down into operands, if it is not too deep already.
    fn deeper(&mut self, rule: impl FnOnce(&mut Arena) -> Option<Expr>) -> Option<Expr> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }
}

fn fold_wide(op: Op, x: &Value, y: &Value) -> Option<Value> {
    Some(match op {
        Op::Add => x.add(y),
        Op::Sub => x.sub(y),
        Op::Mul => x.mul(y),
        Op::UDiv => x.udiv(y),
        Op::SDiv => x.sdiv(y),
        Op::URem => x.urem(y),
        Op::SRem => x.srem(y),
        Op::And => x.and(y),
        Op::Or => x.or(y),
        Op::Xor => x.xor(y),
        Op::Shl => x.shl(y),
        Op::LShr => x.lshr(y),
        Op::AShr => x.ashr(y),
        Op::Eq => Value::bool(x == y),
        Op::Ne => Value::bool(x != y),
        Op::Ult => Value::bool(x.ult(y)),
        Op::Ule => Value::bool(!y.ult(x)),
        Op::Slt => Value::bool(x.slt(y)),
        Op::Sle => Value::bool(!y.slt(x)),
        Op::Concat => x.concat(y),
        _ => return None,
    })
}
