//! Rewrites that keep the table small. Only what generated code and memory
//! round trips produce all the time; the solver does the rest.

use crate::table::{self, node, width};
use trace::node::{A_CONST, B_CONST, C_CONST, Label, Node, Op};

pub const fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// A binary operation whose result may be an operand or concrete (0).
#[inline]
pub fn binary(op: Op, width: u32, la: Label, lb: Label, a: u64, b: u64, value: u64) -> Label {
    if la == lb {
        match op {
            Op::And | Op::Or => return la,
            Op::Sub | Op::Xor => return 0,
            _ => {}
        }
    } else if lb == 0 && width <= 64 {
        match (op, b) {
            (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::LShr | Op::AShr, 0) => return la,
            (Op::Mul | Op::UDiv | Op::SDiv, 1) => return la,
            (Op::And | Op::Mul, 0) | (Op::URem, 1) => return 0,
            (Op::And, b) if b == mask(width) => return la,
            (Op::Or, b) if b == mask(width) => return 0,
            (Op::Xor, 1) if width == 1 => return negation(la, value),
            _ => {}
        }
    } else if la == 0 && width <= 64 {
        match (op, a) {
            (Op::Add | Op::Or | Op::Xor, 0) | (Op::Mul, 1) => return lb,
            (Op::And | Op::Mul | Op::Shl | Op::LShr | Op::AShr | Op::UDiv | Op::URem, 0) => {
                return 0;
            }
            (Op::And, a) if a == mask(width) => return lb,
            (Op::Or, a) if a == mask(width) => return 0,
            (Op::Xor, 1) if width == 1 => return negation(lb, value),
            _ => {}
        }
        // Constants stand on the right of commutative operators.
        if matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor) {
            return table::binary(op, width, lb, 0, b, a, value);
        }
    }
    table::binary(op, width, la, lb, a, b, value)
}

/// A comparison of operands of width `bits`.
#[inline]
pub fn comparison(op: Op, bits: u32, la: Label, lb: Label, a: u64, b: u64, value: u64) -> Label {
    if la == lb {
        return 0;
    }
    if la == 0 {
        if matches!(op, Op::Eq | Op::Ne) {
            return comparison(op, bits, lb, 0, b, a, value);
        }
    } else if lb == 0 && matches!(op, Op::Eq | Op::Ne) {
        let operand = node(la);
        let wanted = (op == Op::Eq) == (b == 1);
        if bits == 1 {
            return if wanted { la } else { negation(la, value) };
        }
        // A byte compared as an integer, as C does it: what the byte cannot be
        // is decided, the rest is a comparison of bytes.
        if operand.op == Op::ZExt as u8 {
            let inner = width(operand.a);
            if b > mask(inner) {
                return 0;
            }
            return comparison(op, inner, operand.a, 0, a, b, value);
        }
    }
    table::binary(op, 1, la, lb, a, b, value)
}

/// Not, of a label of width 1; `value` is the result's.
pub fn negation(label: Label, value: u64) -> Label {
    let known = *node(label);
    let inverse = match Op::from_u8(known.op) {
        Some(Op::Eq) => Some((Op::Ne, false)),
        Some(Op::Ne) => Some((Op::Eq, false)),
        Some(Op::Ult) => Some((Op::Ule, true)),
        Some(Op::Ule) => Some((Op::Ult, true)),
        Some(Op::Slt) => Some((Op::Sle, true)),
        Some(Op::Sle) => Some((Op::Slt, true)),
        Some(Op::Xor) if known.flags == B_CONST && known.imm == 1 => return known.a,
        _ => None,
    };
    let Some((op, swap)) = inverse else {
        return table::binary(Op::Xor, 1, label, 0, 0, 1, value);
    };
    let mut new = Node {
        op: op as u8,
        value,
        ..known
    };
    if swap {
        new.a = known.b;
        new.b = known.a;
        new.flags = match known.flags {
            A_CONST => B_CONST,
            B_CONST => A_CONST,
            other => other,
        };
    }
    table::intern(new)
}

/// Zero or sign extension.
#[inline]
pub fn extension(op: Op, to: u32, la: Label, value: u64) -> Label {
    let operand = node(la);
    if operand.width as u32 == to {
        return la;
    }
    if operand.op == Op::ZExt as u8 {
        // The sign bit of a zero extension is zero.
        return table::unary(Op::ZExt, to, operand.a, 0, value);
    }
    if op == Op::SExt && operand.op == Op::SExt as u8 {
        return table::unary(Op::SExt, to, operand.a, 0, value);
    }
    table::unary(op, to, la, 0, value)
}

/// Bits `low .. low + to` of a label.
pub fn extract(la: Label, low: u32, to: u32, value: u64) -> Label {
    let operand = *node(la);
    let from = operand.width as u32;
    if low == 0 && to == from {
        return la;
    }
    match Op::from_u8(operand.op) {
        Some(Op::Extract) => return extract(operand.a, low + operand.imm as u32, to, value),
        Some(Op::ZExt | Op::SExt) => {
            let inner = width(operand.a);
            if low + to <= inner {
                return extract(operand.a, low, to, value);
            }
            if operand.op == Op::ZExt as u8 {
                if low >= inner {
                    return 0;
                }
                if low == 0 {
                    return table::unary(Op::ZExt, to, operand.a, 0, value);
                }
            }
        }
        Some(Op::Concat) => {
            let split = from - high_width(&operand);
            if low >= split {
                if operand.flags & A_CONST != 0 {
                    return 0;
                }
                return extract(operand.a, low - split, to, value);
            }
            if low + to <= split {
                if operand.flags & B_CONST != 0 {
                    return 0;
                }
                return extract(operand.b, low, to, value);
            }
        }
        _ => {}
    }
    table::unary(Op::Extract, to, la, low as u64, value)
}

fn high_width(concat: &Node) -> u32 {
    if concat.flags & A_CONST != 0 {
        concat.width as u32 - width(concat.b)
    } else {
        width(concat.a)
    }
}

/// One part of a value put together from pieces: a label, or a constant (label 0).
#[derive(Clone, Copy)]
pub struct Piece {
    pub label: Label,
    pub value: u64,
    pub width: u32,
}

/// `high` above `low`; at least one of them has a label. `value` is the low 64
/// bits of the result.
pub fn concat(high: Piece, low: Piece, value: u64) -> Label {
    let width_sum = high.width + low.width;
    if high.label == 0 {
        if high.value == 0 {
            return extension(Op::ZExt, width_sum, low.label, value);
        }
        let label = if high.width <= 64 {
            0
        } else {
            table::constant(high.width, high.value)
        };
        return join(width_sum, label, low.label, high.value, 0, value);
    }
    if low.label == 0 {
        return join(width_sum, high.label, 0, 0, low.value, value);
    }
    let (h, l) = (*node(high.label), *node(low.label));
    let (source, offset) = part(&l, low.label);
    if h.op == Op::Extract as u8 && h.a == source && h.imm == offset + low.width as u64 {
        return extract(source, offset as u32, width_sum, value);
    }
    join(width_sum, high.label, low.label, 0, 0, value)
}

/// A label as bits of another one.
fn part(node: &Node, label: Label) -> (Label, u64) {
    if node.op == Op::Extract as u8 {
        (node.a, node.imm)
    } else {
        (label, 0)
    }
}

fn join(width: u32, high: Label, low: Label, a: u64, b: u64, value: u64) -> Label {
    table::binary(Op::Concat, width, high, low, a, b, value)
}

/// If-then-else with a symbolic condition; arms are labels or constants.
pub fn choice(condition: Label, then: Piece, otherwise: Piece, value: u64) -> Label {
    if then.label == otherwise.label && (then.label != 0 || then.value == otherwise.value) {
        return then.label;
    }
    let width = then.width;
    if width == 1 && then.label == 0 && otherwise.label == 0 {
        return if then.value == 1 {
            condition
        } else {
            negation(condition, value)
        };
    }
    let mut b = then.label;
    let (mut flags, mut imm) = (0, 0);
    if otherwise.label == 0 {
        flags = C_CONST;
        imm = otherwise.value;
        if b == 0 {
            b = table::constant(width, then.value);
            if b == 0 {
                return 0;
            }
        }
    } else if b == 0 {
        flags = B_CONST;
        imm = then.value;
    }
    table::intern(Node {
        op: Op::Ite as u8,
        flags,
        width: width as u16,
        a: condition,
        b,
        c: otherwise.label,
        imm,
        value,
    })
}
