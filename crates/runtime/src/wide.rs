//! Values of more than 64 bits, and operations made of several nodes.
//!
//! Here values are computed again beside their labels, so that each of the
//! nodes in between knows its value.

use crate::simplify::{self, Piece};
use crate::{events, memory, shadow, table};
use trace::event::{GuardReason, LossReason};
use trace::node::{Label, Op};

#[derive(Clone, Copy)]
struct Value {
    label: Label,
    bits: u128,
    width: u32,
}

fn wide_mask(width: u32) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

impl Value {
    fn new(label: Label, bits: u128, width: u32) -> Value {
        Value {
            label,
            bits: bits & wide_mask(width),
            width,
        }
    }

    fn constant(bits: u128, width: u32) -> Value {
        Value::new(0, bits, width)
    }

    fn low(self) -> u64 {
        self.bits as u64
    }

    fn signed(self) -> i128 {
        let shift = 128 - self.width;
        (self.bits << shift) as i128 >> shift
    }

    /// A label even for a constant: operands over 64 bits cannot be immediate.
    fn operand(self) -> Label {
        if self.label != 0 || self.width <= 64 {
            return self.label;
        }
        let low = table::constant(64, self.bits as u64);
        let high = table::constant(self.width - 64, (self.bits >> 64) as u64);
        if low == 0 || high == 0 {
            return 0;
        }
        table::binary(Op::Concat, self.width, high, low, 0, 0, self.low())
    }

    fn binary(self, op: Op, other: Value) -> Value {
        let bits = compute(op, self, other);
        let result = Value::constant(bits, self.width);
        if self.label | other.label == 0 {
            return result;
        }
        let (la, lb) = (self.operand(), other.operand());
        if self.width > 64 && (la == 0 || lb == 0) {
            return result;
        }
        let label = simplify::binary(
            op,
            self.width,
            la,
            lb,
            self.low(),
            other.low(),
            result.low(),
        );
        Value { label, ..result }
    }

    fn compare(self, op: Op, other: Value) -> Value {
        let holds = match op {
            Op::Eq => self.bits == other.bits,
            Op::Ne => self.bits != other.bits,
            Op::Ult => self.bits < other.bits,
            Op::Ule => self.bits <= other.bits,
            Op::Slt => self.signed() < other.signed(),
            _ => self.signed() <= other.signed(),
        };
        let result = Value::constant(holds as u128, 1);
        if self.label | other.label == 0 {
            return result;
        }
        let (la, lb) = (self.operand(), other.operand());
        if self.width > 64 && (la == 0 || lb == 0) {
            return result;
        }
        let label = simplify::comparison(
            op,
            self.width,
            la,
            lb,
            self.low(),
            other.low(),
            holds as u64,
        );
        Value { label, ..result }
    }

    fn extend(self, op: Op, width: u32) -> Value {
        let bits = if op == Op::SExt {
            self.signed() as u128
        } else {
            self.bits
        };
        let result = Value::constant(bits, width);
        if self.label == 0 {
            return result;
        }
        Value {
            label: simplify::extension(op, width, self.label, result.low()),
            ..result
        }
    }

    fn extract(self, low: u32, width: u32) -> Value {
        let result = Value::constant(self.bits >> low, width);
        if self.label == 0 {
            return result;
        }
        Value {
            label: simplify::extract(self.label, low, width, result.low()),
            ..result
        }
    }

    /// This value above `low`. Constant parts over 64 bits are cut in two.
    fn above(self, low: Value) -> Value {
        let result = Value::constant(self.bits << low.width | low.bits, self.width + low.width);
        if self.label | low.label == 0 {
            return result;
        }
        let (a, b) = (self.operand(), low.operand());
        let piece = |label, value: Value| Piece {
            label,
            value: value.low(),
            width: value.width,
        };
        let label = simplify::concat(piece(a, self), piece(b, low), result.low());
        Value { label, ..result }
    }

    fn choose(self, then: Value, otherwise: Value) -> Value {
        let chosen = if self.bits == 1 { then } else { otherwise };
        if self.label == 0 {
            return chosen;
        }
        let (b, c) = (then.operand(), otherwise.operand());
        let piece = |label, value: Value| Piece {
            label,
            value: value.low(),
            width: value.width,
        };
        let label = simplify::choice(
            self.label,
            piece(b, then),
            piece(c, otherwise),
            chosen.low(),
        );
        Value { label, ..chosen }
    }
}

fn compute(op: Op, a: Value, b: Value) -> u128 {
    let width = a.width;
    match op {
        Op::Add => a.bits.wrapping_add(b.bits),
        Op::Sub => a.bits.wrapping_sub(b.bits),
        Op::Mul => a.bits.wrapping_mul(b.bits),
        Op::And => a.bits & b.bits,
        Op::Or => a.bits | b.bits,
        Op::Xor => a.bits ^ b.bits,
        Op::Shl if b.bits < width as u128 => a.bits << b.bits,
        Op::LShr if b.bits < width as u128 => a.bits >> b.bits,
        Op::AShr => (a.signed() >> b.bits.min(width as u128 - 1)) as u128,
        Op::UDiv => a.bits.checked_div(b.bits).unwrap_or(u128::MAX),
        Op::URem => a.bits.checked_rem(b.bits).unwrap_or(a.bits),
        Op::SDiv if b.bits != 0 => a.signed().wrapping_div(b.signed()) as u128,
        Op::SRem if b.bits != 0 => a.signed().wrapping_rem(b.signed()) as u128,
        _ => 0,
    }
}

fn unpack(meta: u32) -> (Op, u32) {
    (Op::from_u8(meta as u8).unwrap_or(Op::Add), meta >> 8)
}

/// Any binary operator or comparison on 65 to 128 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_wide(
    meta: u32,
    la: Label,
    lb: Label,
    site: u32,
    a: u128,
    b: u128,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let (op, width) = unpack(meta);
    let (x, y) = (Value::new(la, a, width), Value::new(lb, b, width));
    if op.is_comparison() {
        return x.compare(op, y).label;
    }
    let zero = Value::constant(0, width);
    match op {
        Op::UDiv | Op::SDiv | Op::URem | Op::SRem if lb != 0 => {
            events::guard(site, y.compare(Op::Ne, zero).label, GuardReason::Divisor);
        }
        Op::Shl | Op::LShr | Op::AShr => {
            if b >= width as u128 {
                events::concretize(site, la, a as u64, LossReason::Undefined);
                events::concretize(site, lb, b as u64, LossReason::Undefined);
                return 0;
            }
            let limit = Value::constant(width as u128, width);
            events::guard(site, y.compare(Op::Ult, limit).label, GuardReason::Shift);
        }
        _ => {}
    }
    x.binary(op, y).label
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_wide_choice(
    width: u32,
    condition: Label,
    then: Label,
    otherwise: Label,
    then_value: u128,
    else_value: u128,
    taken: u32,
) -> Label {
    Value::new(condition, (taken & 1) as u128, 1)
        .choose(
            Value::new(then, then_value, width),
            Value::new(otherwise, else_value, width),
        )
        .label
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_wide_load(
    address: u64,
    bits: u32,
    site: u32,
    value: u128,
) -> Label {
    let low = unsafe { memory::__chg_rt_load(address, 64, value as u64, site) };
    let rest = bits - 64;
    let high = unsafe { memory::__chg_rt_load(address + 8, rest, (value >> 64) as u64, site) };
    if low | high == 0 {
        return 0;
    }
    simplify::concat(
        Piece {
            label: high,
            value: (value >> 64) as u64,
            width: rest,
        },
        Piece {
            label: low,
            value: value as u64,
            width: 64,
        },
        value as u64,
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_wide_store(address: u64, bits: u32, label: Label, value: u128) {
    if label == 0 {
        shadow::clear(address, bits.div_ceil(8) as u64);
        return;
    }
    let whole = Value::new(label, value, bits);
    unsafe {
        memory::__chg_rt_store(address, 64, whole.extract(0, 64).label);
        memory::__chg_rt_store(address + 8, bits - 64, whole.extract(64, bits - 64).label);
    }
}

/// Intrinsics made of several operators. Numbers are shared with the pass.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Composite {
    UMin = 0,
    UMax = 1,
    SMin = 2,
    SMax = 3,
    Abs = 4,
    UAddOverflow = 5,
    USubOverflow = 6,
    UMulOverflow = 7,
    SAddOverflow = 8,
    SSubOverflow = 9,
    SMulOverflow = 10,
    UAddSat = 11,
    USubSat = 12,
    SAddSat = 13,
    SSubSat = 14,
    UCmp = 15,
    SCmp = 16,
}

const COMPOSITES: [Composite; 17] = {
    use Composite::*;
    [
        UMin,
        UMax,
        SMin,
        SMax,
        Abs,
        UAddOverflow,
        USubOverflow,
        UMulOverflow,
        SAddOverflow,
        SSubOverflow,
        SMulOverflow,
        UAddSat,
        USubSat,
        SAddSat,
        SSubSat,
        UCmp,
        SCmp,
    ]
};

/// `result_width` matters for the three-way comparisons only. For the overflow
/// intrinsics this is the overflow bit; the result itself is a plain operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_composite(
    number: u32,
    width: u32,
    la: Label,
    lb: Label,
    result_width: u32,
    a: u128,
    b: u128,
) -> Label {
    if la | lb == 0 {
        return 0;
    }
    let Some(&composite) = COMPOSITES.get(number as usize) else {
        return 0;
    };
    let (x, y) = (Value::new(la, a, width), Value::new(lb, b, width));
    evaluate(composite, x, y, result_width).label
}

fn evaluate(composite: Composite, x: Value, y: Value, result_width: u32) -> Value {
    use Composite::*;
    let width = x.width;
    let zero = Value::constant(0, width);
    let largest = Value::constant(wide_mask(width - 1), width);
    let smallest = Value::constant(1 << (width - 1), width);
    match composite {
        UMin => x.compare(Op::Ult, y).choose(x, y),
        UMax => x.compare(Op::Ult, y).choose(y, x),
        SMin => x.compare(Op::Slt, y).choose(x, y),
        SMax => x.compare(Op::Slt, y).choose(y, x),
        Abs => x.compare(Op::Slt, zero).choose(zero.binary(Op::Sub, x), x),
        UAddOverflow => x.binary(Op::Add, y).compare(Op::Ult, x),
        USubOverflow => x.compare(Op::Ult, y),
        SAddOverflow => {
            let sum = x.binary(Op::Add, y);
            let turned = x
                .binary(Op::Xor, sum)
                .binary(Op::And, y.binary(Op::Xor, sum));
            turned.compare(Op::Slt, zero)
        }
        SSubOverflow => {
            let difference = x.binary(Op::Sub, y);
            let turned = x
                .binary(Op::Xor, y)
                .binary(Op::And, x.binary(Op::Xor, difference));
            turned.compare(Op::Slt, zero)
        }
        UMulOverflow => product_overflow(Op::ZExt, x, y),
        SMulOverflow => product_overflow(Op::SExt, x, y),
        UAddSat => {
            let ones = Value::constant(wide_mask(width), width);
            evaluate(UAddOverflow, x, y, 1).choose(ones, x.binary(Op::Add, y))
        }
        USubSat => evaluate(USubOverflow, x, y, 1).choose(zero, x.binary(Op::Sub, y)),
        SAddSat | SSubSat => {
            let (overflow, op) = if composite == SAddSat {
                (SAddOverflow, Op::Add)
            } else {
                (SSubOverflow, Op::Sub)
            };
            // The first operand's sign is the sign of what did not fit.
            let limit = x.compare(Op::Slt, zero).choose(smallest, largest);
            evaluate(overflow, x, y, 1).choose(limit, x.binary(op, y))
        }
        UCmp | SCmp => {
            let less = if composite == UCmp { Op::Ult } else { Op::Slt };
            let constant = |bits: u128| Value::constant(bits, result_width);
            let greater = y.compare(less, x).choose(constant(1), constant(0));
            x.compare(less, y).choose(constant(u128::MAX), greater)
        }
    }
}

/// Multiplies in twice the width. Over 64 bits that does not fit a value here;
/// the pass concretizes those.
fn product_overflow(extension: Op, x: Value, y: Value) -> Value {
    let double = x.width * 2;
    let product = x
        .extend(extension, double)
        .binary(Op::Mul, y.extend(extension, double));
    let back = product.extract(0, x.width).extend(extension, double);
    product.compare(Op::Ne, back)
}

/// `fshl` and `fshr`: `high` above `low`, shifted, the upper or lower half kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_funnel(
    left_width: u32,
    high: Label,
    low: Label,
    amount: Label,
    high_value: u64,
    low_value: u64,
    amount_value: u64,
) -> Label {
    if high | low | amount == 0 {
        return 0;
    }
    let (left, width) = (left_width >> 16 == 1, left_width & 0xffff);
    let (h, l) = (
        Value::new(high, high_value as u128, width),
        Value::new(low, low_value as u128, width),
    );
    let s = Value::new(amount, amount_value as u128, width);
    let mut joined = h.above(l);
    // The amount alone may be symbolic.
    joined.label = joined.operand();
    let modulus = Value::constant(width as u128, width);
    let distance = s.binary(Op::URem, modulus).extend(Op::ZExt, width * 2);
    if distance.label == 0 {
        // A constant distance selects bits; no shift is left.
        let start = if left {
            width - distance.bits as u32
        } else {
            distance.bits as u32
        };
        return joined.extract(start, width).label;
    }
    if left {
        joined.binary(Op::Shl, distance).extract(width, width).label
    } else {
        joined.binary(Op::LShr, distance).extract(0, width).label
    }
}

/// A vector, as the bits of its elements, with one element replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_insert(
    whole: Label,
    element: Label,
    width: u32,
    place: u32,
    element_value: u64,
    whole_value: u128,
) -> Label {
    if whole | element == 0 {
        return 0;
    }
    let (low, size) = (place & 0xffff, place >> 16);
    let vector = Value::new(whole, whole_value, width);
    let mut result = Value::new(element, element_value as u128, size);
    if low > 0 {
        result = result.above(vector.extract(0, low));
    }
    if low + size < width {
        result = vector.extract(low + size, width - low - size).above(result);
    }
    result.label
}

/// One step of address arithmetic: `base + index * scale`, all of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_index(
    base: Label,
    index: Label,
    base_value: u64,
    index_value: u64,
    scale: u64,
) -> Label {
    if base | index == 0 {
        return 0;
    }
    Value::new(base, base_value as u128, 64)
        .binary(
            Op::Add,
            Value::new(index, index_value as u128, 64)
                .binary(Op::Mul, Value::constant(scale as u128, 64)),
        )
        .label
}

/// The value an atomic read-modify-write leaves in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_atomic(meta: u32, la: Label, lb: Label, a: u64, b: u64) -> Label {
    let (op, width) = unpack(meta);
    Value::new(la, a as u128, width)
        .binary(op, Value::new(lb, b as u128, width))
        .label
}
