//! Terms to expressions.

use super::words::{bit_operator, comparison, float_operator, parse_literal};
use super::{ReadError, Reader, Sort, Typed};
use crate::arena::{Arena, Expr};
use crate::operators::TypeError;
use crate::smtlib::sexp::Id;
use changeling_trace::Op;

/// Nesting of terms other than tables.
const MAX_DEPTH: u32 = 1500;

impl Reader<'_> {
    pub(super) fn term(&mut self, id: Id, depth: u32) -> Result<Typed, ReadError> {
        if depth > MAX_DEPTH {
            return Err(self.error(id, "nested too deeply"));
        }
        if let Some(atom) = self.sexps.atom(id) {
            return self.atom(id, atom);
        }
        let Some((&head, arguments)) = self.sexps.list(id).and_then(<[Id]>::split_first) else {
            return Err(self.error(id, "expected a term"));
        };
        match self.sexps.atom(head) {
            Some(word) => self.application(id, word, arguments, depth + 1),
            None => self.indexed(id, head, arguments, depth + 1),
        }
    }

    pub(super) fn atom(&mut self, id: Id, atom: &str) -> Result<Typed, ReadError> {
        let boolean = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bool,
            })
        };
        match atom {
            "true" => return boolean(self.arena.bool(true)),
            "false" => return boolean(self.arena.bool(false)),
            _ => {}
        }
        if let Some(&known) = self.names.get(atom) {
            return Ok(known);
        }
        match parse_literal(atom) {
            Some(value) => {
                let expr = self.checked(id, |arena| arena.constant_wide(&value))?;
                Ok(Typed {
                    expr,
                    sort: Sort::Bits,
                })
            }
            None => Err(self.error(id, format!("`{atom}` is not defined"))),
        }
    }

    fn application(
        &mut self,
        id: Id,
        word: &str,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let bits = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bits,
            })
        };
        let truth = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bool,
            })
        };
        let number = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Float,
            })
        };
        if let Some(&(table, width)) = self.tables.get(word) {
            let [index] = self.exactly(id, arguments)?;
            let index = self.vector(index, depth)?;
            return bits(self.checked(id, |arena| arena.read(table, index, width))?);
        }
        if let Some(op) = bit_operator(word) {
            let mut whole = None;
            for &argument in arguments {
                let next = self.vector(argument, depth)?;
                whole = Some(match whole {
                    None => next,
                    Some(left) if op == Op::Concat => {
                        self.checked(id, |arena| arena.concat(left, next))?
                    }
                    Some(left) => self.checked(id, |arena| arena.binary(op, left, next))?,
                });
            }
            return match whole {
                Some(expr) if arguments.len() >= 2 => bits(expr),
                _ => Err(self.error(id, format!("`{word}` needs two operands"))),
            };
        }
        if let Some(op) = comparison(word) {
            let [a, b] = self.exactly(id, arguments)?;
            let (a, b) = (self.vector(a, depth)?, self.vector(b, depth)?);
            return truth(self.checked(id, |arena| arena.binary(op, a, b))?);
        }
        if let Some((op, rounded)) = float_operator(word) {
            let skip = usize::from(rounded);
            let mut operands = Vec::new();
            for &argument in arguments.iter().skip(skip) {
                operands.push(self.float(argument, depth)?);
            }
            let expr = match operands[..] {
                [a] => self.checked(id, |arena| arena.unary(op, a))?,
                [a, b] => self.checked(id, |arena| arena.binary(op, a, b))?,
                [a, b, c] => self.checked(id, |arena| arena.fma(a, b, c))?,
                _ => return Err(self.error(id, format!("wrong number of operands of `{word}`"))),
            };
            return if op.is_comparison() {
                truth(expr)
            } else {
                number(expr)
            };
        }
        match word {
            "not" => {
                let [a] = self.exactly(id, arguments)?;
                let a = self.boolean(a, depth)?;
                truth(self.arena.not(a))
            }
            "and" | "or" | "xor" => {
                let mut whole: Option<Expr> = None;
                for &argument in arguments {
                    let next = self.boolean(argument, depth)?;
                    whole = Some(match (whole, word) {
                        (None, _) => next,
                        (Some(left), "and") => self.arena.build(Op::And, left, next),
                        (Some(left), "or") => self.arena.build(Op::Or, left, next),
                        (Some(left), _) => self.arena.build(Op::Xor, left, next),
                    });
                }
                truth(whole.ok_or_else(|| self.error(id, format!("`{word}` of nothing")))?)
            }
            "=" | "distinct" => {
                let [a, b] = self.exactly(id, arguments)?;
                let (a, b) = (self.term(a, depth)?, self.term(b, depth)?);
                if a.sort != b.sort || a.sort == Sort::Float {
                    return Err(self.error(id, "compared operands have different sorts"));
                }
                let op = if word == "=" { Op::Eq } else { Op::Ne };
                truth(self.checked(id, |arena| arena.binary(op, a.expr, b.expr))?)
            }
            "ite" => {
                let [condition, yes, no] = self.exactly(id, arguments)?;
                let condition = self.boolean(condition, depth)?;
                let (yes, no) = (self.term(yes, depth)?, self.term(no, depth)?);
                if yes.sort != no.sort {
                    return Err(self.error(id, "the branches have different sorts"));
                }
                let expr = self.checked(id, |arena| arena.ite(condition, yes.expr, no.expr))?;
                Ok(Typed {
                    expr,
                    sort: yes.sort,
                })
            }
            "fp.isNaN" => {
                let [a] = self.exactly(id, arguments)?;
                let a = self.float(a, depth)?;
                truth(self.checked(id, |arena| arena.binary(Op::FUnordered, a, a))?)
            }
            _ => Err(self.error(id, format!("`{word}` is not defined"))),
        }
    }

    /// `((_ word n …) argument …)`
    fn indexed(
        &mut self,
        id: Id,
        head: Id,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let Some(("_", [word, numbers @ ..])) = self.sexps.form(head) else {
            return Err(self.error(head, "expected `(_ operator number)`"));
        };
        let word = self.word(*word)?;
        let mut parameters = [0u32; 2];
        for (slot, &n) in parameters.iter_mut().zip(numbers) {
            let n = self.number(n)?;
            *slot = u32::try_from(n).map_err(|_| self.error(head, "the number is too large"))?;
        }
        let [first, second] = parameters;
        let (Some(&last), sort) = (arguments.last(), Sort::Bits) else {
            return Err(self.error(id, "an operand is missing"));
        };
        if word.starts_with("to_fp") || word.starts_with("fp.to") {
            return self.conversion(id, word, first, second, arguments, depth);
        }
        let a = self.vector(last, depth)?;
        let width = self.arena.width(a);
        let expr = match word {
            "extract" if first >= second => {
                self.checked(id, |arena| arena.extract(a, second, first - second + 1))?
            }
            "zero_extend" => {
                self.checked(id, |arena| arena.zext(a, width.saturating_add(first)))?
            }
            "sign_extend" => {
                self.checked(id, |arena| arena.sext(a, width.saturating_add(first)))?
            }
            _ => return Err(self.error(head, format!("cannot read the operator `{word}`"))),
        };
        Ok(Typed { expr, sort })
    }

    fn conversion(
        &mut self,
        id: Id,
        word: &str,
        first: u32,
        second: u32,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let last = *arguments.last().expect("checked by the caller");
        let operand = self.term(last, depth)?;
        let a = operand.expr;
        if word == "fp.to_ubv" || word == "fp.to_sbv" {
            let op = if word == "fp.to_ubv" {
                Op::FToU
            } else {
                Op::FToS
            };
            if operand.sort != Sort::Float {
                return Err(self.error(last, "expected a floating-point number"));
            }
            let expr = self.checked(id, |arena| arena.convert(op, a, first))?;
            return Ok(Typed {
                expr,
                sort: Sort::Bits,
            });
        }
        let width = match (first, second) {
            (8, 24) => 32,
            (11, 53) => 64,
            _ => return Err(self.error(id, "floating point has 32 or 64 bits")),
        };
        let expr = match (word, operand.sort, arguments.len()) {
            // The bits of a number, read as that number.
            ("to_fp", Sort::Bits, 1) if self.arena.width(a) == width => a,
            ("to_fp", Sort::Bits, 2) => {
                self.checked(id, |arena| arena.convert(Op::SToF, a, width))?
            }
            ("to_fp", Sort::Float, 2) => {
                self.checked(id, |arena| arena.convert(Op::FToF, a, width))?
            }
            ("to_fp_unsigned", Sort::Bits, 2) => {
                self.checked(id, |arena| arena.convert(Op::UToF, a, width))?
            }
            _ => return Err(self.error(id, format!("cannot read this use of `{word}`"))),
        };
        Ok(Typed {
            expr,
            sort: Sort::Float,
        })
    }

    pub(super) fn boolean(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Bool, "a condition", depth)
    }

    pub(super) fn vector(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Bits, "a bit-vector", depth)
    }

    fn float(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Float, "a floating-point number", depth)
    }

    fn of_sort(
        &mut self,
        id: Id,
        sort: Sort,
        expected: &str,
        depth: u32,
    ) -> Result<Expr, ReadError> {
        let typed = self.term(id, depth)?;
        match typed.sort == sort {
            true => Ok(typed.expr),
            false => Err(self.error(id, format!("expected {expected}"))),
        }
    }

    fn exactly<const N: usize>(&self, id: Id, arguments: &[Id]) -> Result<[Id; N], ReadError> {
        let got = arguments.len();
        arguments
            .try_into()
            .map_err(|_| self.error(id, format!("expected {N} operands, got {got}")))
    }

    fn checked(
        &mut self,
        id: Id,
        build: impl FnOnce(&mut Arena) -> Result<Expr, TypeError>,
    ) -> Result<Expr, ReadError> {
        build(self.arena).map_err(|error| ReadError::new(self.sexps.line(id), error.to_string()))
    }
}
