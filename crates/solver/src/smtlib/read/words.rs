//! The words of SMT-LIB and what they stand for.

use crate::arena::MAX_WIDTH;
use crate::value::Value;
use crate::variables::Var;
use changeling_trace::Op;

pub(super) fn parse_variable(name: &str) -> Option<Var> {
    if let Some(stream) = name.strip_prefix('n') {
        return Some(Var::Length {
            stream: stream.parse().ok()?,
        });
    }
    let (stream, offset) = name.strip_prefix('b')?.split_once('_')?;
    Some(Var::Byte {
        stream: stream.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

/// `#b0101` or `#x5`.
pub(crate) fn parse_literal(text: &str) -> Option<Value> {
    let (digits, radix, bits) = match (text.strip_prefix("#b"), text.strip_prefix("#x")) {
        (Some(digits), _) => (digits, 2, 1),
        (_, Some(digits)) => (digits, 16, 4),
        _ => return None,
    };
    let width = digits.len() as u32 * bits;
    if !(1..=MAX_WIDTH).contains(&width) {
        return None;
    }
    let mut limbs = vec![0u64; width.div_ceil(64) as usize];
    for (digit, place) in digits.chars().rev().zip(0u32..) {
        let at = place * bits;
        limbs[(at / 64) as usize] |= u64::from(digit.to_digit(radix)?) << (at % 64);
    }
    Some(Value::from_limbs(width, limbs))
}

pub(super) fn bit_operator(word: &str) -> Option<Op> {
    Some(match word {
        "bvadd" => Op::Add,
        "bvsub" => Op::Sub,
        "bvmul" => Op::Mul,
        "bvudiv" => Op::UDiv,
        "bvsdiv" => Op::SDiv,
        "bvurem" => Op::URem,
        "bvsrem" => Op::SRem,
        "bvand" => Op::And,
        "bvor" => Op::Or,
        "bvxor" => Op::Xor,
        "bvshl" => Op::Shl,
        "bvlshr" => Op::LShr,
        "bvashr" => Op::AShr,
        "concat" => Op::Concat,
        _ => return None,
    })
}

pub(super) fn comparison(word: &str) -> Option<Op> {
    Some(match word {
        "bvult" => Op::Ult,
        "bvule" => Op::Ule,
        "bvslt" => Op::Slt,
        "bvsle" => Op::Sle,
        _ => return None,
    })
}

/// The operator, and whether a rounding mode comes first.
pub(super) fn float_operator(word: &str) -> Option<(Op, bool)> {
    Some(match word {
        "fp.add" => (Op::FAdd, true),
        "fp.sub" => (Op::FSub, true),
        "fp.mul" => (Op::FMul, true),
        "fp.div" => (Op::FDiv, true),
        "fp.sqrt" => (Op::FSqrt, true),
        "fp.fma" => (Op::FFma, true),
        "fp.eq" => (Op::FEq, false),
        "fp.lt" => (Op::FLt, false),
        "fp.leq" => (Op::FLe, false),
        _ => return None,
    })
}
