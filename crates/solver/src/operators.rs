//! The public constructors: checked, then simplified.

use crate::arena::{Arena, Expr, MAX_WIDTH, Table, TableId, Term, leaf};
use crate::float;
use crate::value::Value;
use crate::variables::Var;
use changeling_trace::Op;
use thiserror::Error;

/// An expression that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TypeError {
    #[error("{op:?} needs operands of equal width, got {left} and {right} bits")]
    Widths { op: Op, left: u32, right: u32 },
    #[error("{op:?} cannot have an operand of {width} bits: {expected}")]
    Operand {
        op: Op,
        width: u32,
        expected: &'static str,
    },
    #[error("{op:?} cannot give {width} bits: {expected}")]
    Result {
        op: Op,
        width: u32,
        expected: &'static str,
    },
    #[error("bits {low}..{end} are not in an expression of {width} bits")]
    Bits { low: u32, end: u32, width: u32 },
    #[error("{op:?} is not {expected}")]
    Operator { op: Op, expected: &'static str },
    #[error("a table of {bytes} bytes needs as many cells of 8 bits, got {cells}")]
    Cells { bytes: usize, cells: usize },
}

impl Arena {
    /// The low `width` bits of `value`.
    pub fn constant(&mut self, width: u32, value: u64) -> Result<Expr, TypeError> {
        check_width(Op::Const, width)?;
        Ok(self.constant_u64(width, value))
    }

    pub fn constant_wide(&mut self, value: &Value) -> Result<Expr, TypeError> {
        check_width(Op::Const, value.width())?;
        Ok(self.constant_of(value))
    }

    pub fn bool(&mut self, truth: bool) -> Expr {
        self.bool_constant(truth)
    }

    /// Byte `offset` of a stream.
    pub fn input(&mut self, stream: u32, offset: u32) -> Expr {
        self.intern(Term {
            a: Expr(stream),
            imm: offset.into(),
            ..leaf(Op::Input, 8)
        })
    }

    /// Number of bytes of a stream, 64 bits wide.
    pub fn length(&mut self, stream: u32) -> Expr {
        self.intern(Term {
            a: Expr(stream),
            ..leaf(Op::Length, 64)
        })
    }

    /// Arithmetic, bitwise operators, shifts and comparisons (integer and
    /// floating point) of two operands of equal width.
    pub fn binary(&mut self, op: Op, a: Expr, b: Expr) -> Result<Expr, TypeError> {
        let (left, right) = (self.width(a), self.width(b));
        if op.arity() != 2 || op == Op::Concat {
            return Err(TypeError::Operator {
                op,
                expected: "an operator of two equal operands",
            });
        }
        if left != right {
            return Err(TypeError::Widths { op, left, right });
        }
        if float::is_float(op) {
            check_float(op, left)?;
            let width = if op.is_comparison() { 1 } else { left };
            return Ok(self.build_float(op, width, [a, b, crate::arena::NONE]));
        }
        Ok(self.build(op, a, b))
    }

    /// Counts, reversals and floating-point operators of one operand whose
    /// result is as wide as the operand.
    pub fn unary(&mut self, op: Op, a: Expr) -> Result<Expr, TypeError> {
        let width = self.width(a);
        match op {
            Op::Popcount | Op::LeadingZeros | Op::TrailingZeros => Ok(self.build_count(op, a)),
            Op::BitReverse => Ok(self.build_bit_reverse(a)),
            Op::ByteSwap if width.is_multiple_of(8) => Ok(self.build_byte_swap(a)),
            Op::ByteSwap => Err(TypeError::Operand {
                op,
                width,
                expected: "whole bytes",
            }),
            Op::FSqrt | Op::FNeg | Op::FAbs => {
                check_float(op, width)?;
                Ok(self.build_float(op, width, [a, crate::arena::NONE, crate::arena::NONE]))
            }
            _ => Err(TypeError::Operator {
                op,
                expected: "an operator of one operand",
            }),
        }
    }

    /// Conversions between integers and floating point; `width` is that of the result.
    pub fn convert(&mut self, op: Op, a: Expr, width: u32) -> Result<Expr, TypeError> {
        let from = self.width(a);
        let expected = "integers of up to 64 bits convert";
        match op {
            Op::UToF | Op::SToF if from > 64 => {
                return Err(TypeError::Operand {
                    op,
                    width: from,
                    expected,
                });
            }
            Op::UToF | Op::SToF => check_float_result(op, width)?,
            Op::FToU | Op::FToS => {
                check_float(op, from)?;
                if !(1..=64).contains(&width) {
                    return Err(TypeError::Result {
                        op,
                        width,
                        expected,
                    });
                }
            }
            Op::FToF => {
                check_float(op, from)?;
                check_float_result(op, width)?;
            }
            _ => {
                return Err(TypeError::Operator {
                    op,
                    expected: "a conversion",
                });
            }
        }
        Ok(self.build_float(op, width, [a, crate::arena::NONE, crate::arena::NONE]))
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Expr, b: Expr, c: Expr) -> Result<Expr, TypeError> {
        let op = Op::FFma;
        let (first, second, third) = (self.width(a), self.width(b), self.width(c));
        check_float(op, first)?;
        for right in [second, third] {
            if right != first {
                return Err(TypeError::Widths {
                    op,
                    left: first,
                    right,
                });
            }
        }
        Ok(self.build_float(op, first, [a, b, c]))
    }

    /// All bits inverted; the negation of a condition.
    pub fn not(&mut self, a: Expr) -> Expr {
        self.build_not(a)
    }

    pub fn and(&mut self, a: Expr, b: Expr) -> Result<Expr, TypeError> {
        self.binary(Op::And, a, b)
    }

    pub fn or(&mut self, a: Expr, b: Expr) -> Result<Expr, TypeError> {
        self.binary(Op::Or, a, b)
    }

    pub fn eq(&mut self, a: Expr, b: Expr) -> Result<Expr, TypeError> {
        self.binary(Op::Eq, a, b)
    }

    pub fn ne(&mut self, a: Expr, b: Expr) -> Result<Expr, TypeError> {
        self.binary(Op::Ne, a, b)
    }

    /// Of conditions; true if there are none.
    pub fn all(&mut self, conditions: &[Expr]) -> Result<Expr, TypeError> {
        let mut whole = self.bool_constant(true);
        for &condition in conditions {
            whole = self.and(whole, condition)?;
        }
        Ok(whole)
    }

    /// Of conditions; false if there are none.
    pub fn any(&mut self, conditions: &[Expr]) -> Result<Expr, TypeError> {
        let mut whole = self.bool_constant(false);
        for &condition in conditions {
            whole = self.or(whole, condition)?;
        }
        Ok(whole)
    }

    pub fn ite(&mut self, condition: Expr, yes: Expr, no: Expr) -> Result<Expr, TypeError> {
        let op = Op::Ite;
        let (width, left, right) = (self.width(condition), self.width(yes), self.width(no));
        if width != 1 {
            return Err(TypeError::Operand {
                op,
                width,
                expected: "a condition has 1 bit",
            });
        }
        if left != right {
            return Err(TypeError::Widths { op, left, right });
        }
        Ok(self.build_ite(condition, yes, no))
    }

    /// Bits `low .. low + width`.
    pub fn extract(&mut self, a: Expr, low: u32, width: u32) -> Result<Expr, TypeError> {
        let whole = self.width(a);
        let end = low.saturating_add(width);
        if width == 0 || end > whole {
            return Err(TypeError::Bits {
                low,
                end,
                width: whole,
            });
        }
        Ok(self.build_extract(a, low, width))
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Expr, low: Expr) -> Result<Expr, TypeError> {
        check_width(Op::Concat, self.width(high) + self.width(low))?;
        Ok(self.build_concat(high, low))
    }

    pub fn zext(&mut self, a: Expr, width: u32) -> Result<Expr, TypeError> {
        self.check_extension(Op::ZExt, a, width)?;
        Ok(self.build_zext(a, width))
    }

    pub fn sext(&mut self, a: Expr, width: u32) -> Result<Expr, TypeError> {
        self.check_extension(Op::SExt, a, width)?;
        Ok(self.build_sext(a, width))
    }

    /// The variable itself, as an expression.
    pub fn variable(&mut self, var: Var) -> Expr {
        match var {
            Var::Byte { stream, offset } => self.input(stream, offset),
            Var::Length { stream } => self.length(stream),
        }
    }

    /// That a variable has another value.
    pub fn differs(&mut self, var: Var, value: u64) -> Expr {
        let variable = self.variable(var);
        let value = self.constant_u64(self.width(variable), value);
        self.build(Op::Ne, variable, value)
    }

    fn check_extension(&self, op: Op, a: Expr, width: u32) -> Result<(), TypeError> {
        check_width(op, width)?;
        if width < self.width(a) {
            return Err(TypeError::Result {
                op,
                width,
                expected: "at least as wide as the operand",
            });
        }
        Ok(())
    }

    /// A table of constant bytes, or with an expression of 8 bits per byte.
    pub fn add_table(
        &mut self,
        bytes: &[u8],
        cells: Option<&[Expr]>,
    ) -> Result<TableId, TypeError> {
        let Some(cells) = cells else {
            return Ok(self.intern_table(Table {
                bytes: bytes.into(),
                cells: None,
            }));
        };
        if cells.len() != bytes.len() || cells.iter().any(|&cell| self.width(cell) != 8) {
            return Err(TypeError::Cells {
                bytes: bytes.len(),
                cells: cells.len(),
            });
        }
        let values: Vec<Option<u64>> = cells.iter().map(|&cell| self.small(cell)).collect();
        let bytes = values
            .iter()
            .map(|value| value.unwrap_or(0) as u8)
            .collect();
        let symbolic = values.iter().any(Option::is_none);
        let cells = symbolic.then(|| cells.into());
        Ok(self.intern_table(Table { bytes, cells }))
    }

    /// `width / 8` bytes, little-endian, at byte offset `index` (64 bits wide);
    /// zero if any of them is outside of the table.
    pub fn read(&mut self, table: TableId, index: Expr, width: u32) -> Result<Expr, TypeError> {
        let op = Op::Read;
        check_width(op, width)?;
        if !width.is_multiple_of(8) {
            return Err(TypeError::Result {
                op,
                width,
                expected: "whole bytes",
            });
        }
        if self.width(index) != 64 {
            let expected = "an index has 64 bits";
            return Err(TypeError::Operand {
                op,
                width: self.width(index),
                expected,
            });
        }
        Ok(self.build_read(table, index, width))
    }
}

fn check_width(op: Op, width: u32) -> Result<(), TypeError> {
    if (1..=MAX_WIDTH).contains(&width) {
        return Ok(());
    }
    Err(TypeError::Result {
        op,
        width,
        expected: "from 1 to 65535 bits",
    })
}

const FLOATS: &str = "floating point has 32 or 64 bits";

fn check_float(op: Op, width: u32) -> Result<(), TypeError> {
    match width {
        32 | 64 => Ok(()),
        _ => Err(TypeError::Operand {
            op,
            width,
            expected: FLOATS,
        }),
    }
}

fn check_float_result(op: Op, width: u32) -> Result<(), TypeError> {
    match width {
        32 | 64 => Ok(()),
        _ => Err(TypeError::Result {
            op,
            width,
            expected: FLOATS,
        }),
    }
}
