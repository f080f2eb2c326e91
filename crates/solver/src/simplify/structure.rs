//! Rules for parts and wholes: extract, concat, extensions, ite, table reads.
//!
//! Normal form: a concatenation leans to the right, neighbouring parts of one
//! expression are joined, and zeros on top are always a `ZExt`.

use crate::arena::{Arena, Expr, NONE, TableId, Term};
use crate::machine;
use crate::value::Value;
use changeling_trace::Op;

impl Arena {
    pub(crate) fn build_concat(&mut self, high: Expr, low: Expr) -> Expr {
        let width = self.width(high) + self.width(low);
        if self.is_constant(high) && self.is_constant(low) {
            let value = self.whole(high).concat(&self.whole(low));
            return self.constant_of(&value);
        }
        if self.is_zero(high) {
            return self.build_zext(low, width);
        }
        let (h, l) = (*self.term(high), *self.term(low));
        match h.op {
            Op::ZExt => {
                let inner = self.build_concat(h.a, low);
                return self.build_zext(inner, width);
            }
            Op::Concat => {
                let rest = self.build_concat(h.b, low);
                return self.build_concat(h.a, rest);
            }
            _ => {}
        }
        if let Some(joined) = self.join(high, low) {
            return joined;
        }
        if l.op == Op::Concat
            && let Some(joined) = self.join(high, l.a)
        {
            return self.build_concat(joined, l.b);
        }
        self.finish(Term {
            op: Op::Concat,
            width: width as u16,
            a: high,
            b: low,
            c: NONE,
            imm: 0,
        })
    }

    /// Two neighbouring parts of one expression, or two constants, as one.
    fn join(&mut self, high: Expr, low: Expr) -> Option<Expr> {
        let (h, l) = (*self.term(high), *self.term(low));
        if h.op == Op::Const && l.op == Op::Const {
            let value = self.whole(high).concat(&self.whole(low));
            return Some(self.constant_of(&value));
        }
        if h.op == Op::Extract && l.op == Op::Extract && h.a == l.a {
            let adjacent = h.imm == l.imm + u64::from(l.width);
            return adjacent
                .then(|| self.build_extract(h.a, l.imm as u32, u32::from(h.width + l.width)));
        }
        // Parts that went below an operator when they were taken come up again.
        if h.op == Op::Extract && l.op != Op::Const {
            let from = u32::try_from(h.imm).ok()?.checked_sub(l.width.into())?;
            let same = self.build_extract(h.a, from, l.width.into()) == low;
            return same.then(|| self.build_extract(h.a, from, u32::from(h.width + l.width)));
        }
        if h.op == Op::Ite && l.op == Op::Ite && h.a == l.a {
            let yes = self.join(h.b, l.b)?;
            let no = self.join(h.c, l.c)?;
            return Some(self.build_ite(h.a, yes, no));
        }
        None
    }

    /// Bits `low .. low + width`.
    pub(crate) fn build_extract(&mut self, e: Expr, low: u32, width: u32) -> Expr {
        let term = *self.term(e);
        if width == u32::from(term.width) {
            return e;
        }
        match term.op {
            Op::Const => {
                let value = self.whole(e).extract(low, width);
                return self.constant_of(&value);
            }
            Op::Extract => return self.build_extract(term.a, low + term.imm as u32, width),
            Op::Concat => return self.extract_concat(&term, low, width),
            Op::ZExt => {
                let inner = self.width(term.a);
                if low >= inner {
                    return self.constant_u64(width, 0);
                }
                let part = self.build_extract(term.a, low, width.min(inner - low));
                return self.build_zext(part, width);
            }
            Op::SExt => {
                let inner = self.width(term.a);
                let from = low.min(inner - 1);
                let part = self.build_extract(term.a, from, width.min(inner - from));
                return self.build_sext(part, width);
            }
            _ => {}
        }
        if let Some(pushed) = self.deeper(|arena| arena.push_extract(&term, low, width)) {
            return pushed;
        }
        let op = Op::Extract;
        self.finish(Term {
            op,
            width: width as u16,
            a: e,
            b: NONE,
            c: NONE,
            imm: low.into(),
        })
    }

    fn extract_concat(&mut self, term: &Term, low: u32, width: u32) -> Expr {
        let split = self.width(term.b);
        if low >= split {
            return self.build_extract(term.a, low - split, width);
        }
        if low + width <= split {
            return self.build_extract(term.b, low, width);
        }
        let high = self.build_extract(term.a, 0, low + width - split);
        let rest = self.build_extract(term.b, low, split - low);
        self.build_concat(high, rest)
    }

    /// Goes below an operator where that makes it smaller.
    fn push_extract(&mut self, term: &Term, low: u32, width: u32) -> Option<Expr> {
        let below = match term.op {
            Op::And | Op::Or | Op::Xor => self.is_constant(term.b),
            // Low bits of a sum depend on low bits only.
            Op::Add | Op::Sub | Op::Mul => {
                low == 0 && self.narrows(term.a, width) && self.narrows(term.b, width)
            }
            Op::Ite => self.is_constant(term.b) || self.is_constant(term.c),
            _ => false,
        };
        if !below {
            return None;
        }
        if term.op == Op::Ite {
            let yes = self.build_extract(term.b, low, width);
            let no = self.build_extract(term.c, low, width);
            return Some(self.build_ite(term.a, yes, no));
        }
        let a = self.build_extract(term.a, low, width);
        let b = self.build_extract(term.b, low, width);
        Some(self.build(term.op, a, b))
    }

    /// Whether the low `width` bits of an expression are a smaller expression.
    fn narrows(&self, e: Expr, width: u32) -> bool {
        let term = self.term(e);
        match term.op {
            Op::Const => true,
            Op::ZExt | Op::SExt => self.width(term.a) <= width,
            Op::Concat => self.width(term.b) >= width || self.is_constant(term.b),
            Op::Add | Op::Mul => {
                self.is_constant(term.b) && {
                    let inner = self.term(term.a);
                    matches!(inner.op, Op::ZExt | Op::SExt) && self.width(inner.a) <= width
                }
            }
            _ => false,
        }
    }

    pub(crate) fn build_zext(&mut self, e: Expr, width: u32) -> Expr {
        let term = *self.term(e);
        if width == u32::from(term.width) {
            return e;
        }
        match term.op {
            Op::Const => {
                let value = self.whole(e).zext(width);
                return self.constant_of(&value);
            }
            Op::ZExt => return self.build_zext(term.a, width),
            Op::Ite if self.is_constant(term.b) && self.is_constant(term.c) => {
                let yes = self.build_zext(term.b, width);
                let no = self.build_zext(term.c, width);
                return self.build_ite(term.a, yes, no);
            }
            _ => {}
        }
        self.finish(Term {
            op: Op::ZExt,
            width: width as u16,
            a: e,
            b: NONE,
            c: NONE,
            imm: 0,
        })
    }

    pub(crate) fn build_sext(&mut self, e: Expr, width: u32) -> Expr {
        let term = *self.term(e);
        if width == u32::from(term.width) {
            return e;
        }
        match term.op {
            Op::Const => {
                let value = self.whole(e).sext(width);
                return self.constant_of(&value);
            }
            Op::SExt => return self.build_sext(term.a, width),
            Op::ZExt => return self.build_zext(term.a, width),
            Op::Ite if self.is_constant(term.b) && self.is_constant(term.c) => {
                let yes = self.build_sext(term.b, width);
                let no = self.build_sext(term.c, width);
                return self.build_ite(term.a, yes, no);
            }
            _ => {}
        }
        if self.sign(e) == Some(false) {
            return self.build_zext(e, width);
        }
        self.finish(Term {
            op: Op::SExt,
            width: width as u16,
            a: e,
            b: NONE,
            c: NONE,
            imm: 0,
        })
    }

    /// The highest bit, if it is known.
    pub(crate) fn sign(&self, e: Expr) -> Option<bool> {
        let width = self.width(e);
        if width > 64 {
            return match self.term(e).op {
                Op::ZExt => Some(false),
                _ => self.constant_value(e).map(|value| value.sign()),
            };
        }
        let (facts, bit) = (self.facts(e), 1u64 << (width - 1));
        if facts.zeros & bit != 0 {
            return Some(false);
        }
        (facts.ones & bit != 0).then_some(true)
    }

    pub(crate) fn build_ite(&mut self, condition: Expr, yes: Expr, no: Expr) -> Expr {
        if let Some(truth) = self.truth(condition) {
            return if truth { yes } else { no };
        }
        if yes == no {
            return yes;
        }
        if let Some(inner) = self.complemented(condition) {
            return self.build_ite(inner, no, yes);
        }
        if self.width(yes) == 1 {
            match (self.truth(yes), self.truth(no)) {
                (Some(true), _) => return self.build(Op::Or, condition, no),
                (_, Some(false)) => return self.build(Op::And, condition, yes),
                (Some(false), _) => {
                    let not = self.build_not(condition);
                    return self.build(Op::And, not, no);
                }
                (_, Some(true)) => {
                    let not = self.build_not(condition);
                    return self.build(Op::Or, not, yes);
                }
                _ => {}
            }
        }
        // A branch that tests the same condition again has been decided.
        let (y, n) = (*self.term(yes), *self.term(no));
        if y.op == Op::Ite && y.a == condition {
            return self.build_ite(condition, y.b, no);
        }
        if n.op == Op::Ite && n.a == condition {
            return self.build_ite(condition, yes, n.c);
        }
        let width = self.term(yes).width;
        self.finish(Term {
            op: Op::Ite,
            width,
            a: condition,
            b: yes,
            c: no,
            imm: 0,
        })
    }

    /// `width / 8` bytes at a byte offset; zero if any of them is outside.
    pub(crate) fn build_read(&mut self, table: TableId, index: Expr, width: u32) -> Expr {
        let size = (width / 8) as usize;
        let at = self.facts(index).single().or(self.small(index));
        if let Some(at) = at {
            return self.read_at(table, at, size);
        }
        self.finish(Term {
            op: Op::Read,
            width: width as u16,
            a: index,
            b: Expr(table.0),
            c: NONE,
            imm: 0,
        })
    }

    /// A read whose place is known.
    pub(crate) fn read_at(&mut self, table: TableId, at: u64, size: usize) -> Expr {
        let contents = &self.tables[table.0 as usize];
        let length = contents.bytes.len();
        let Some(at) = usize::try_from(at)
            .ok()
            .filter(|at| at.saturating_add(size) <= length)
        else {
            return self.constant_u64(size as u32 * 8, 0);
        };
        let Some(cells) = &contents.cells else {
            let limbs = contents.bytes[at..at + size].chunks(8).map(|chunk| {
                chunk
                    .iter()
                    .rev()
                    .fold(0u64, |n, &byte| n << 8 | u64::from(byte))
            });
            let value = Value::from_limbs(size as u32 * 8, limbs.collect());
            return self.constant_of(&value);
        };
        let cells: Vec<Expr> = cells[at..at + size].to_vec();
        let mut whole = cells[0];
        for &cell in &cells[1..] {
            whole = self.build_concat(cell, whole);
        }
        whole
    }

    pub(crate) fn build_byte_swap(&mut self, e: Expr) -> Expr {
        let width = self.width(e);
        let mut whole = self.build_extract(e, 0, 8);
        for low in (8..width).step_by(8) {
            let byte = self.build_extract(e, low, 8);
            whole = self.build_concat(whole, byte);
        }
        whole
    }

    /// Population count and the two zero counts.
    pub(crate) fn build_count(&mut self, op: Op, e: Expr) -> Expr {
        let width = self.width(e);
        if let Some(value) = self.constant_value(e) {
            let count = match op {
                Op::Popcount => value.popcount(),
                Op::LeadingZeros => value.leading_zeros(),
                _ => value.trailing_zeros(),
            };
            return self.constant_u64(width, count.into());
        }
        self.finish(Term {
            op,
            width: width as u16,
            a: e,
            b: NONE,
            c: NONE,
            imm: 0,
        })
    }

    pub(crate) fn build_bit_reverse(&mut self, e: Expr) -> Expr {
        if let Some(value) = self.constant_value(e) {
            return self.constant_of(&value.bit_reverse());
        }
        let width = self.term(e).width;
        self.finish(Term {
            op: Op::BitReverse,
            width,
            a: e,
            b: NONE,
            c: NONE,
            imm: 0,
        })
    }

    /// A floating-point operator; `width` is that of the result.
    pub(crate) fn build_float(&mut self, op: Op, width: u32, operands: [Expr; 3]) -> Expr {
        let [a, b, c] = operands;
        let sign = 1u64 << (width.clamp(1, 64) - 1);
        match op {
            Op::FNeg => {
                let sign = self.constant_u64(width, sign);
                return self.build(Op::Xor, a, sign);
            }
            Op::FAbs => {
                let rest = self.constant_u64(width, sign - 1);
                return self.build(Op::And, a, rest);
            }
            Op::FToF if width == self.width(a) => return a,
            _ => {}
        }
        let count = op.arity();
        let values: Vec<u64> = operands[..count]
            .iter()
            .filter_map(|&e| self.small(e))
            .collect();
        if values.len() == count {
            let mut args = [0; 3];
            args[..count].copy_from_slice(&values);
            let value = machine::apply(op, width, self.width(a), args, 0);
            return self.constant_u64(width, value);
        }
        self.finish(Term {
            op,
            width: width as u16,
            a,
            b,
            c,
            imm: 0,
        })
    }

    /// The value of an expression known to be a constant.
    pub(crate) fn whole(&self, e: Expr) -> Value {
        self.constant_value(e).expect("a constant")
    }
}
