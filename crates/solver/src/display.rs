//! Expressions as a programmer would write them.

use crate::arena::{Arena, Expr, TableId, Term};
use crate::machine::{mask, signed};
use changeling_trace::Op;

/// Deeper parts are written as `…`.
const MAX_DEPTH: u32 = 24;
/// Longer texts are cut.
const MAX_LENGTH: usize = 2000;

impl Arena {
    /// With streams called `in0`, `in1`, …
    pub fn display(&self, e: Expr) -> String {
        self.display_with(e, &|stream| format!("in{stream}"))
    }

    /// With the caller's names of streams: `stdin[0] == 'a'`.
    pub fn display_with(&self, e: Expr, name: &dyn Fn(u32) -> String) -> String {
        let mut writer = Writer {
            arena: self,
            name,
            text: String::new(),
        };
        writer.expr(e, 0, 0);
        let mut text = writer.text;
        if let Some((end, _)) = text.char_indices().nth(MAX_LENGTH) {
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

struct Writer<'a> {
    arena: &'a Arena,
    name: &'a dyn Fn(u32) -> String,
    text: String,
}

impl Writer<'_> {
    /// `outer` is how tightly the surrounding operator binds.
    fn expr(&mut self, e: Expr, outer: u32, depth: u32) {
        if depth > MAX_DEPTH || self.text.len() > MAX_LENGTH * 4 {
            self.text.push('…');
            return;
        }
        let arena = self.arena;
        let term = *arena.term(e);
        let depth = depth + 1;
        match term.op {
            Op::Const => self.constant(e, None),
            Op::Input => {
                let text = format!("{}[{}]", (self.name)(term.a.0), term.imm);
                self.text.push_str(&text);
            }
            Op::Length => {
                let text = format!("length({})", (self.name)(term.a.0));
                self.text.push_str(&text);
            }
            Op::Xor if arena.is_ones(term.b) => self.complement(&term, outer, depth),
            Op::Eq | Op::Ult | Op::Slt => self.comparison(&term, false, outer, depth),
            Op::ZExt => self.expr(term.a, outer, depth),
            Op::SExt => self.prefix(&format!("(int{})", term.width), term.a, outer, depth),
            Op::Extract => {
                let (low, high) = (term.imm, term.imm + u64::from(term.width) - 1);
                self.expr(term.a, 12, depth);
                let bits = if low == high {
                    format!("{{{low}}}")
                } else {
                    format!("{{{high}:{low}}}")
                };
                self.text.push_str(&bits);
            }
            Op::Ite => self.bracketed(outer > 1, |w| {
                w.expr(term.a, 2, depth);
                w.text.push_str(" ? ");
                w.expr(term.b, 2, depth);
                w.text.push_str(" : ");
                w.expr(term.c, 1, depth);
            }),
            Op::Read => {
                let text = format!("table{}[", term.b.0);
                self.text.push_str(&text);
                self.expr(term.a, 0, depth);
                self.text.push(']');
            }
            Op::Concat => {
                self.text.push_str("concat(");
                self.expr(term.a, 0, depth);
                self.text.push_str(", ");
                self.expr(term.b, 0, depth);
                self.text.push(')');
            }
            Op::Add if self.negative(term.b).is_some() => {
                let amount = self.negative(term.b).expect("just tested");
                self.bracketed(outer > 9, |w| {
                    w.expr(term.a, 9, depth);
                    w.text.push_str(&format!(" - {amount}"));
                });
            }
            op => match infix(op, term.width) {
                Some((symbol, tightness)) => self.bracketed(outer > tightness, |w| {
                    w.expr(term.a, tightness, depth);
                    w.text.push_str(&format!(" {symbol} "));
                    w.expr(term.b, tightness + 1, depth);
                }),
                None => self.call(&term, depth),
            },
        }
    }

    fn complement(&mut self, term: &Term, outer: u32, depth: u32) {
        let inner = *self.arena.term(term.a);
        match inner.op {
            Op::Eq | Op::Ult | Op::Slt => self.comparison(&inner, true, outer, depth),
            _ => self.prefix(
                if term.width == 1 { "!" } else { "~" },
                term.a,
                outer,
                depth,
            ),
        }
    }

    fn comparison(&mut self, term: &Term, negated: bool, outer: u32, depth: u32) {
        let constant_first = self.arena.is_constant(term.a);
        let symbol = match (term.op, negated, constant_first) {
            (Op::Eq, false, _) => "==",
            (Op::Eq, true, _) => "!=",
            (_, false, false) => "<",
            (_, true, false) => ">=",
            (_, false, true) => ">",
            (_, true, true) => "<=",
        };
        let (left, right) = if constant_first {
            (term.b, term.a)
        } else {
            (term.a, term.b)
        };
        let signedness = if term.op == Op::Slt { "s" } else { "" };
        let byte = self.arena.term(left).op == Op::Input;
        self.bracketed(outer > 6, |w| {
            w.expr(left, 7, depth);
            w.text.push_str(&format!(" {symbol}{signedness} "));
            match w.arena.is_constant(right) {
                true => w.constant(right, Some((byte, term.op == Op::Slt))),
                false => w.expr(right, 7, depth),
            }
        });
    }

    /// `side`: whether it is compared with an input byte, and as signed number.
    fn constant(&mut self, e: Expr, side: Option<(bool, bool)>) {
        let value = self.arena.whole(e);
        let width = value.width();
        let text = match (value.to_u64(), side) {
            (Some(n), Some((true, _))) if (32..127).contains(&n) => {
                format!("{:?}", char::from(n as u8))
            }
            (Some(n), Some((_, true))) if width <= 64 => signed(width, n).to_string(),
            _ => value.to_string(),
        };
        self.text.push_str(&text);
    }

    /// How much is subtracted by adding a constant.
    fn negative(&self, e: Expr) -> Option<u64> {
        let (n, width) = (self.arena.small(e)?, self.arena.width(e));
        (width > 1 && signed(width, n) < 0).then(|| n.wrapping_neg() & mask(width))
    }

    fn prefix(&mut self, symbol: &str, e: Expr, outer: u32, depth: u32) {
        self.bracketed(outer > 11, |w| {
            w.text.push_str(symbol);
            w.expr(e, 11, depth);
        });
    }

    fn call(&mut self, term: &Term, depth: u32) {
        let name = format!("{:?}", term.op).to_lowercase();
        self.text.push_str(&name);
        self.text.push('(');
        let (operands, count) = term.operands();
        for (index, &operand) in operands[..count].iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.expr(operand, 0, depth);
        }
        self.text.push(')');
    }

    fn bracketed(&mut self, needed: bool, write: impl FnOnce(&mut Self)) {
        if needed {
            self.text.push('(');
        }
        write(self);
        if needed {
            self.text.push(')');
        }
    }
}

/// C's symbols and how tightly they bind. Signed division has its own, because
/// expressions have no types.
fn infix(op: Op, width: u16) -> Option<(&'static str, u32)> {
    Some(match op {
        Op::Mul => ("*", 10),
        Op::UDiv => ("/", 10),
        Op::SDiv => ("/s", 10),
        Op::URem => ("%", 10),
        Op::SRem => ("%s", 10),
        Op::Add => ("+", 9),
        Op::Sub => ("-", 9),
        Op::Shl => ("<<", 8),
        Op::LShr => (">>", 8),
        Op::AShr => (">>s", 8),
        Op::And if width == 1 => ("&&", 3),
        Op::Or if width == 1 => ("||", 2),
        Op::And => ("&", 5),
        Op::Xor => ("^", 4),
        Op::Or => ("|", 4),
        _ => return None,
    })
}

impl Arena {
    /// The bytes of a table, for showing what is read.
    pub fn table_bytes(&self, table: TableId) -> &[u8] {
        &self.table(table).bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_c() {
        let mut arena = Arena::new();
        let name = |_: u32| "stdin".to_string();
        let byte = arena.input(0, 0);
        let a = arena.constant(8, u64::from(b'a')).unwrap();
        let equal = arena.eq(byte, a).unwrap();
        assert_eq!(arena.display_with(equal, &name), "stdin[0] == 'a'");
        let differs = arena.not(equal);
        assert_eq!(arena.display_with(differs, &name), "stdin[0] != 'a'");

        let other = arena.input(0, 1);
        let (x, y) = (
            arena.sext(byte, 32).unwrap(),
            arena.zext(other, 32).unwrap(),
        );
        let ten = arena.constant(32, 10).unwrap();
        let product = arena.binary(Op::Mul, x, ten).unwrap();
        let sum = arena.binary(Op::Add, product, y).unwrap();
        let less = arena.constant(32, 48u64.wrapping_neg()).unwrap();
        let sum = arena.binary(Op::Add, sum, less).unwrap();
        assert_eq!(
            arena.display_with(sum, &name),
            "stdin[1] + (int32)stdin[0] * 10 - 48"
        );
        let limit = arena.constant(32, 1000).unwrap();
        let above = arena.binary(Op::Slt, limit, sum).unwrap();
        assert_eq!(
            arena.display_with(above, &name),
            "stdin[1] + (int32)stdin[0] * 10 - 48 >s 1000"
        );
        let length = arena.length(0);
        let three = arena.constant(64, 3).unwrap();
        let short = arena.binary(Op::Ult, length, three).unwrap();
        assert_eq!(arena.display_with(short, &name), "length(stdin) < 3");
        let both = arena.and(short, differs).unwrap();
        assert!(arena.display_with(both, &name).contains(" && "));
    }
}
