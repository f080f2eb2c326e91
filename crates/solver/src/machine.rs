//! Operators on values of at most 64 bits, as machine numbers: the fast way for
//! constant folding and for trying inputs.

use crate::float;
use changeling_trace::Op;

pub(crate) fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

pub(crate) fn signed(width: u32, value: u64) -> i64 {
    let shift = 64 - width;
    ((value << shift) as i64) >> shift
}

/// What `op` computes. `width` is that of the result, `operand` that of the
/// first operand; all are at most 64. `imm` as in the expression (bit offset of
/// an extraction). Not for leaves and reads.
pub(crate) fn apply(op: Op, width: u32, operand: u32, args: [u64; 3], imm: u64) -> u64 {
    let [a, b, c] = args;
    let result = match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::URem => a.checked_rem(b).unwrap_or(a),
        Op::SDiv => match (signed(width, a), signed(width, b)) {
            (x, 0) => {
                if x < 0 {
                    1
                } else {
                    u64::MAX
                }
            }
            (x, y) => x.wrapping_div(y) as u64,
        },
        Op::SRem => match (signed(width, a), signed(width, b)) {
            (_, 0) => a,
            (x, y) => x.wrapping_rem(y) as u64,
        },
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if b >= u64::from(width) {
                0
            } else {
                a << b
            }
        }
        Op::LShr => {
            if b >= u64::from(width) {
                0
            } else {
                a >> b
            }
        }
        Op::AShr => (signed(width, a) >> b.min(63).min(u64::from(width) - 1)) as u64,
        Op::Eq => u64::from(a == b),
        Op::Ne => u64::from(a != b),
        Op::Ult => u64::from(a < b),
        Op::Ule => u64::from(a <= b),
        Op::Slt => u64::from(signed(operand, a) < signed(operand, b)),
        Op::Sle => u64::from(signed(operand, a) <= signed(operand, b)),
        Op::ZExt => a,
        Op::SExt => signed(operand, a) as u64,
        Op::Extract => a >> imm,
        // The low part's width is what the high part leaves of the whole.
        Op::Concat => a << (width - operand) | b,
        Op::Ite => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        Op::Popcount => u64::from(a.count_ones()),
        Op::LeadingZeros => u64::from(a.leading_zeros() - (64 - operand)),
        Op::TrailingZeros => u64::from(a.trailing_zeros().min(operand)),
        Op::ByteSwap => a.swap_bytes() >> (64 - width),
        Op::BitReverse => a.reverse_bits() >> (64 - width),
        _ => float::apply(op, width, operand, args),
    };
    result & mask(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Arena, Term, leaf};
    use crate::assignment::Assignment;

    /// The same operator by the reference evaluator, which is written independently.
    fn reference(op: Op, result: u32, width: u32, args: [u64; 2]) -> u64 {
        let mut arena = Arena::new();
        let [a, b] = args.map(|value| arena.constant_u64(width, value));
        // Interned as it is: building it would fold it with the code under test.
        let term = Term {
            a,
            b,
            ..leaf(op, result)
        };
        let e = arena.intern(term);
        arena.evaluate(e, &Assignment::new()).low_u64()
    }

    #[test]
    fn agrees_with_the_reference_arithmetic() {
        let known = (0..=u8::MAX).filter_map(Op::from_u8);
        let same_width = |op: &Op| {
            let other = [Op::ZExt, Op::SExt, Op::Extract, Op::Concat, Op::ByteSwap];
            let leaf = [Op::Const, Op::Input, Op::Length, Op::Read, Op::Ite];
            !float::is_float(*op) && !other.contains(op) && !leaf.contains(op)
        };
        let ops: Vec<Op> = known.filter(same_width).collect();
        assert_eq!(ops.len(), 23);
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            seed ^ seed >> 29
        };
        for width in [1, 3, 8, 16, 31, 32, 63, 64] {
            for &op in &ops {
                for round in 0..200 {
                    let small = if round % 2 == 0 { u64::MAX } else { 7 };
                    let (a, b) = (next() & mask(width), next() & mask(width) & small);
                    let result = if op.is_comparison() { 1 } else { width };
                    let got = apply(op, result, width, [a, b, 0], 0);
                    let expected = reference(op, result, width, [a, b]);
                    assert_eq!(got, expected, "{op:?} {width} {a} {b}");
                }
            }
        }
    }
}
