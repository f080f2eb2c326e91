//! IEEE 754 operators on bit patterns of 32 or 64 bits, computed by the host's
//! own arithmetic (round to nearest even). The bit pattern of a NaN result is
//! the host's. A conversion to an integer that does not fit is undefined in the
//! source languages; here it saturates, and NaN gives zero.

use crate::machine::mask;
use changeling_trace::Op;

pub(crate) fn is_float(op: Op) -> bool {
    op as u8 >= Op::FAdd as u8
}

/// See [`crate::machine::apply`].
pub(crate) fn apply(op: Op, width: u32, operand: u32, args: [u64; 3]) -> u64 {
    match op {
        Op::UToF => from_u64(width, args[0]),
        Op::SToF => from_i64(width, crate::machine::signed(operand, args[0])),
        _ if operand == 32 => single(op, width, args.map(|bits| f32::from_bits(bits as u32))),
        _ => double(op, width, args.map(f64::from_bits)),
    }
}

fn from_u64(width: u32, n: u64) -> u64 {
    if width == 32 {
        (n as f32).to_bits().into()
    } else {
        (n as f64).to_bits()
    }
}

fn from_i64(width: u32, n: i64) -> u64 {
    if width == 32 {
        (n as f32).to_bits().into()
    } else {
        (n as f64).to_bits()
    }
}

fn single(op: Op, width: u32, [a, b, c]: [f32; 3]) -> u64 {
    let bits = |x: f32| u64::from(x.to_bits());
    match op {
        Op::FAdd => bits(a + b),
        Op::FSub => bits(a - b),
        Op::FMul => bits(a * b),
        Op::FDiv => bits(a / b),
        Op::FRem => bits(a % b),
        Op::FSqrt => bits(a.sqrt()),
        Op::FFma => bits(a.mul_add(b, c)),
        Op::FNeg => bits(a) ^ 1 << 31,
        Op::FAbs => bits(a) & mask(31),
        Op::FEq => (a == b).into(),
        Op::FLt => (a < b).into(),
        Op::FLe => (a <= b).into(),
        Op::FUnordered => (a.is_nan() || b.is_nan()).into(),
        Op::FToF if width == 64 => f64::from(a).to_bits(),
        Op::FToF => bits(a),
        Op::FToU => to_unsigned(width, f64::from(a)),
        Op::FToS => to_signed(width, f64::from(a)),
        _ => unreachable!("not a floating-point operator: {op:?}"),
    }
}

fn double(op: Op, width: u32, [a, b, c]: [f64; 3]) -> u64 {
    match op {
        Op::FAdd => (a + b).to_bits(),
        Op::FSub => (a - b).to_bits(),
        Op::FMul => (a * b).to_bits(),
        Op::FDiv => (a / b).to_bits(),
        Op::FRem => (a % b).to_bits(),
        Op::FSqrt => a.sqrt().to_bits(),
        Op::FFma => a.mul_add(b, c).to_bits(),
        Op::FNeg => a.to_bits() ^ 1 << 63,
        Op::FAbs => a.to_bits() & mask(63),
        Op::FEq => (a == b).into(),
        Op::FLt => (a < b).into(),
        Op::FLe => (a <= b).into(),
        Op::FUnordered => (a.is_nan() || b.is_nan()).into(),
        Op::FToF if width == 32 => u64::from((a as f32).to_bits()),
        Op::FToF => a.to_bits(),
        Op::FToU => to_unsigned(width, a),
        Op::FToS => to_signed(width, a),
        _ => unreachable!("not a floating-point operator: {op:?}"),
    }
}

fn to_unsigned(width: u32, x: f64) -> u64 {
    (x as u64).min(mask(width))
}

fn to_signed(width: u32, x: f64) -> u64 {
    let max = (mask(width) >> 1) as i64;
    (x as i64).clamp(-max - 1, max) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(x: f64) -> u64 {
        x.to_bits()
    }

    #[test]
    fn rounds_once() {
        // 1 + 2^-53 is a tie and goes to even; a fused operation keeps the low part.
        let tiny = 2f64.powi(-53);
        assert_eq!(apply(Op::FAdd, 64, 64, [f(1.0), f(tiny), 0]), f(1.0));
        let e = 1.0 + 2f64.powi(-30);
        let fused = apply(Op::FFma, 64, 64, [f(e), f(e), f(-1.0)]);
        assert_eq!(f64::from_bits(fused), 2f64.powi(-29) + 2f64.powi(-60));
    }

    #[test]
    fn comparisons_are_ordered() {
        let nan = f(f64::NAN);
        assert_eq!(apply(Op::FEq, 1, 64, [nan, nan, 0]), 0);
        assert_eq!(apply(Op::FLe, 1, 64, [f(-0.0), f(0.0), 0]), 1);
        assert_eq!(apply(Op::FUnordered, 1, 64, [f(1.0), nan, 0]), 1);
        assert_eq!(
            apply(
                Op::FLt,
                1,
                32,
                [1f32.to_bits().into(), 2f32.to_bits().into(), 0]
            ),
            1
        );
    }

    #[test]
    fn conversions_truncate_and_saturate() {
        assert_eq!(apply(Op::FToS, 32, 64, [f(-3.99), 0, 0]) as u32 as i32, -3);
        assert_eq!(apply(Op::FToS, 8, 64, [f(1e9), 0, 0]), 127);
        assert_eq!(apply(Op::FToU, 8, 64, [f(-1.0), 0, 0]), 0);
        assert_eq!(apply(Op::SToF, 64, 8, [0xff, 0, 0]), f(-1.0));
        assert_eq!(
            apply(Op::UToF, 32, 8, [0xff, 0, 0]),
            u64::from(255f32.to_bits())
        );
        assert_eq!(
            apply(Op::FToF, 32, 64, [f(0.1), 0, 0]),
            u64::from(0.1f32.to_bits())
        );
        assert_eq!(apply(Op::FRem, 64, 64, [f(-7.5), f(2.0), 0]), f(-1.5));
    }
}
