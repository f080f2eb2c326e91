//! Entry points for arithmetic on values of at most 64 bits.
//!
//! `meta` packs an operator and a width: `op | width << 8`. Operands come as
//! label and concrete value; the concrete result comes along, because traced
//! code has computed it already.

use crate::events;
use crate::simplify::{self, Piece, mask};
use crate::table;
use trace::event::{GuardReason, LossReason};
use trace::node::{Label, Op};

#[inline(always)]
fn unpack(meta: u32) -> (Op, u32) {
    // Generated code passes only numbers of `Op`.
    (Op::from_u8(meta as u8).unwrap_or(Op::Add), meta >> 8)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_binary(
    meta: u32,
    la: Label,
    lb: Label,
    a: u64,
    b: u64,
    r: u64,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    simplify::binary(op, width, la, lb, a, b, r)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_compare(
    meta: u32,
    la: Label,
    lb: Label,
    a: u64,
    b: u64,
    r: u64,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    simplify::comparison(op, width, la, lb, a, b, r)
}

/// Zero extension, sign extension, truncation (as `Extract`) to the width in `meta`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_cast(meta: u32, la: Label, r: u64) -> Label {
    if la == 0 {
        return 0;
    }
    match unpack(meta) {
        (Op::Extract, width) => simplify::extract(la, 0, width, r),
        (op, width) => simplify::extension(op, width, la, r),
    }
}

/// Bits `low .. low + width` of a value (vector elements, structure fields).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_extract(la: Label, low: u32, width: u32, r: u64) -> Label {
    if la == 0 {
        return 0;
    }
    simplify::extract(la, low, width, r)
}

/// `high` above `low`, both at most 64 bits, the sum at most 128.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_concat(
    high: Label,
    low: Label,
    high_width: u32,
    low_width: u32,
    high_value: u64,
    low_value: u64,
) -> Label {
    if high | low == 0 {
        return 0;
    }
    let shifted = if low_width < 64 {
        high_value << low_width
    } else {
        0
    };
    simplify::concat(
        Piece {
            label: high,
            value: high_value,
            width: high_width,
        },
        Piece {
            label: low,
            value: low_value,
            width: low_width,
        },
        (low_value | shifted) & mask(high_width + low_width),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_unary(meta: u32, la: Label, r: u64) -> Label {
    if la == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    table::unary(op, width, la, 0, r)
}

/// `select`: the condition may be concrete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_choice(
    width: u32,
    condition: Label,
    then: Label,
    otherwise: Label,
    then_value: u64,
    else_value: u64,
    taken: u32,
) -> Label {
    let taken = taken & 1 == 1;
    if condition == 0 {
        return if taken { then } else { otherwise };
    }
    simplify::choice(
        condition,
        Piece {
            label: then,
            value: then_value,
            width,
        },
        Piece {
            label: otherwise,
            value: else_value,
            width,
        },
        if taken { then_value } else { else_value },
    )
}

/// Division and remainder: a guard keeps the divisor from zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_divide(
    meta: u32,
    la: Label,
    lb: Label,
    a: u64,
    b: u64,
    r: u64,
    site: u32,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    if lb != 0 {
        let nonzero = simplify::comparison(Op::Ne, width, lb, 0, b, 0, 1);
        events::guard(site, nonzero, GuardReason::Divisor);
    }
    if matches!(op, Op::SDiv | Op::SRem) {
        overflow_guard(width, la, lb, a, b, site);
    }
    simplify::binary(op, width, la, lb, a, b, r)
}

/// The smallest number divided by -1 traps.
fn overflow_guard(width: u32, la: Label, lb: Label, a: u64, b: u64, site: u32) {
    let smallest = 1 << (width - 1);
    let (a_bad, b_bad) = (a == smallest, b == mask(width));
    let left = if la == 0 {
        0
    } else {
        simplify::comparison(Op::Ne, width, la, 0, a, smallest, !a_bad as u64)
    };
    let right = if lb == 0 {
        0
    } else {
        simplify::comparison(Op::Ne, width, lb, 0, b, mask(width), !b_bad as u64)
    };
    let label = match (la, lb) {
        (0, _) if a_bad => right,
        (_, 0) if b_bad => left,
        (0, _) | (_, 0) => return,
        _ => simplify::binary(Op::Or, 1, left, right, !a_bad as u64, !b_bad as u64, 1),
    };
    events::guard(site, label, GuardReason::DivisionOverflow);
}

/// Shifts: an amount of the width or more is undefined in the source language,
/// so what the machine made of it must not become an expression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_shift(
    meta: u32,
    la: Label,
    lb: Label,
    a: u64,
    b: u64,
    r: u64,
    site: u32,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    if b >= width as u64 {
        events::concretize(site, la, a, LossReason::Undefined);
        events::concretize(site, lb, b, LossReason::Undefined);
        return 0;
    }
    if lb != 0 {
        let inside = table::binary(Op::Ult, 1, lb, 0, b, width as u64, 1);
        events::guard(site, inside, GuardReason::Shift);
    }
    simplify::binary(op, width, la, lb, a, b, r)
}
