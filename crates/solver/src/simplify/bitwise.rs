//! Rules for and, or, xor.

use crate::arena::{Arena, Expr};
use crate::machine::mask;
use changeling_trace::Op;

/// Constants with more runs of ones than this stay operands.
const MAX_RUNS: usize = 4;
/// Expressions with more parts than this are not merged part by part.
const MAX_PARTS: usize = 40;

impl Arena {
    pub(crate) fn build_and(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b || self.is_ones(b) {
            return a;
        }
        if self.is_zero(b) {
            return b;
        }
        if self.complemented(a) == Some(b) || self.complemented(b) == Some(a) {
            return self.constant_u64(self.width(a), 0);
        }
        let term = *self.term(a);
        if term.op == Op::And && (term.a == b || term.b == b) {
            return a;
        }
        if let Some(c) = self.small(b) {
            if self.facts(a).possible(self.width(a)) & !c == 0 {
                return a;
            }
            if let Some(parts) = self.by_runs(a, c, |arena, part, ones| match ones {
                true => part,
                false => arena.constant_u64(arena.width(part), 0),
            }) {
                return parts;
            }
        }
        self.finish_binary(Op::And, a, b)
    }

    pub(crate) fn build_or(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b || self.is_zero(b) {
            return a;
        }
        if self.is_ones(b) {
            return b;
        }
        if self.complemented(a) == Some(b) || self.complemented(b) == Some(a) {
            let zero = self.constant_u64(self.width(a), 0);
            return self.build_not(zero);
        }
        let term = *self.term(a);
        if term.op == Op::Or && (term.a == b || term.b == b) {
            return a;
        }
        if let Some(merged) = self.merge_disjoint(a, b) {
            return merged;
        }
        if let Some(c) = self.small(b) {
            if self.facts(a).ones & c == c {
                return a;
            }
            if let Some(parts) = self.by_runs(a, c, |arena, part, ones| match ones {
                true => arena.constant_u64(arena.width(part), u64::MAX),
                false => part,
            }) {
                return parts;
            }
        }
        self.finish_binary(Op::Or, a, b)
    }

    pub(crate) fn build_xor(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b {
            return self.constant_u64(self.width(a), 0);
        }
        if self.is_zero(b) {
            return a;
        }
        let term = *self.term(a);
        if term.op == Op::Xor && self.is_constant(term.b) {
            // Constants travel outwards, so that complements meet and cancel.
            let inner = if self.is_constant(b) {
                term.a
            } else {
                self.build(Op::Xor, term.a, b)
            };
            let constant = if self.is_constant(b) {
                self.build(Op::Xor, term.b, b)
            } else {
                term.b
            };
            return self.build(Op::Xor, inner, constant);
        }
        let other = *self.term(b);
        if other.op == Op::Xor && self.is_constant(other.b) {
            let inner = self.build(Op::Xor, a, other.a);
            return self.build(Op::Xor, inner, other.b);
        }
        if term.op == Op::Xor && (term.a == b || term.b == b) {
            return if term.a == b { term.b } else { term.a };
        }
        if let Some(merged) = self.merge_disjoint(a, b) {
            return merged;
        }
        self.finish_binary(Op::Xor, a, b)
    }

    /// `a` cut at the edges of the runs of ones in `constant`, each part replaced.
    fn by_runs(
        &mut self,
        a: Expr,
        constant: u64,
        replace: impl Fn(&mut Arena, Expr, bool) -> Expr,
    ) -> Option<Expr> {
        let width = self.width(a);
        let edges = (constant ^ constant << 1) & mask(width);
        if width == 1 || edges.count_ones() as usize > 2 * MAX_RUNS {
            return None;
        }
        self.deeper(|arena| {
            let mut whole: Option<Expr> = None;
            let mut low = 0;
            while low < width {
                let rest = constant >> low;
                let ones = rest & 1 == 1;
                let run = if ones {
                    rest.trailing_ones()
                } else {
                    rest.trailing_zeros()
                };
                let run = run.min(width - low);
                let part = arena.build_extract(a, low, run);
                let part = replace(arena, part, ones);
                whole = Some(match whole {
                    Some(below) => arena.build_concat(part, below),
                    None => part,
                });
                low += run;
            }
            whole
        })
    }

    /// `a | b` where for each part one of them is zero: a concatenation. This
    /// is how programs put bytes together.
    pub(crate) fn merge_disjoint(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        let width = self.width(a);
        if width == 1 {
            return None;
        }
        if width <= 64 && self.facts(a).possible(width) & self.facts(b).possible(width) != 0 {
            return None;
        }
        let mut edges = vec![0, width];
        let cuts = self.edges(a, &mut edges) | self.edges(b, &mut edges);
        if !cuts || edges.len() > MAX_PARTS {
            return None;
        }
        edges.sort_unstable();
        edges.dedup();
        self.deeper(|arena| {
            let mut whole: Option<Expr> = None;
            for pair in edges.windows(2) {
                let (low, part) = (pair[0], pair[1] - pair[0]);
                let x = arena.build_extract(a, low, part);
                let y = arena.build_extract(b, low, part);
                let chosen = match (arena.is_zero(x), arena.is_zero(y)) {
                    (true, _) => y,
                    (_, true) => x,
                    _ => return None,
                };
                whole = Some(match whole {
                    Some(below) => arena.build_concat(chosen, below),
                    None => chosen,
                });
            }
            whole
        })
    }

    /// Where the parts of a concatenation meet. False if it is none. Parts lean
    /// to the right, so the walk goes down the low sides, which begin at bit 0.
    fn edges(&self, e: Expr, edges: &mut Vec<u32>) -> bool {
        let mut at = e;
        while edges.len() <= MAX_PARTS {
            let term = self.term(at);
            at = match term.op {
                Op::ZExt => term.a,
                Op::Concat => term.b,
                _ => break,
            };
            edges.push(self.width(at));
        }
        at != e
    }
}
