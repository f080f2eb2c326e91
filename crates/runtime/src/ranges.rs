//! What the branches of this run tell about values: least and largest ones, and low bits.
//!
//! A character that was found to be a letter makes an index that stays inside the array of 26
//! entries, although the object around it is larger. Everything here follows from the path
//! condition, so nothing has to be recorded for it.

use crate::simplify::mask;
use crate::{lock, state, table, texts};
use trace::node::{A_CONST, B_CONST, Label, Node, Op};

/// Bounds of a value as an unsigned and as a signed number.
#[derive(Clone, Copy)]
pub struct Range {
    pub low: u64,
    pub high: u64,
    least: i64,
    most: i64,
}

#[derive(Clone, Copy)]
struct Known {
    label: Label,
    range: Range,
}

const SLOTS: usize = 1 << 10;
/// By the end of the label's number.
static mut KNOWN: [Known; SLOTS] = [Known {
    label: 0,
    range: whole(0),
}; SLOTS];

/// How many nodes deep a value is looked at.
const DEPTH: u32 = 6;

/// The bounds of a value of at most 64 bits.
pub fn of(label: Label) -> Range {
    match lock::acquire() {
        Some(_guard) => bounds(label, DEPTH),
        None => whole(64),
    }
}

/// How many of a value's low bits its form tells, and what they are.
pub fn low_bits(label: Label) -> (u32, u64) {
    known_low_bits(label, DEPTH)
}

/// A branch on `label` was taken, or not.
pub fn learn(label: Label, taken: bool) {
    if state::tracing()
        && label < texts::FIRST
        && let Some(_guard) = lock::acquire()
    {
        learn_condition(label, taken, DEPTH);
    }
}

fn learn_condition(label: Label, holds: bool, depth: u32) {
    if label == 0 || depth == 0 {
        return;
    }
    let node = table::node(label);
    let Some(op) = Op::from_u8(node.op) else {
        return;
    };
    let deeper = depth - 1;
    match op {
        Op::And if holds && node.flags == 0 => {
            learn_condition(node.a, true, deeper);
            learn_condition(node.b, true, deeper);
        }
        Op::Or if !holds && node.flags == 0 => {
            learn_condition(node.a, false, deeper);
            learn_condition(node.b, false, deeper);
        }
        Op::Xor if node.flags == B_CONST && node.imm == 1 => {
            learn_condition(node.a, !holds, deeper)
        }
        Op::Extract if node.imm + 1 == table::width(node.a).into() => learn_sign(node.a, holds),
        Op::Eq | Op::Ne if node.flags == B_CONST => {
            learn_equality(node.a, node.imm, (op == Op::Eq) == holds)
        }
        Op::Ult | Op::Ule | Op::Slt | Op::Sle => learn_order(node, op, holds),
        _ => {}
    }
}

fn learn_sign(label: Label, negative: bool) {
    let mut range = whole(table::width(label));
    match negative {
        true => range.most = -1,
        false => range.least = 0,
    }
    narrow(label, range, DEPTH);
}

fn learn_equality(label: Label, value: u64, equal: bool) {
    let width = table::width(label);
    if width > 64 {
        return;
    }
    let mut range = whole(width);
    if equal {
        (range.low, range.high) = (value, value);
    } else {
        // Something is learnt only at the ends.
        range = bounds(label, DEPTH);
        if range.low < range.high {
            range.low += u64::from(range.low == value);
            range.high -= u64::from(range.high == value);
        }
    }
    narrow(label, range, DEPTH);
}

/// `constant < x` or `x < constant`, and the like.
fn learn_order(node: &Node, op: Op, holds: bool) {
    let (label, constant_first) = match node.flags {
        A_CONST => (node.b, true),
        B_CONST => (node.a, false),
        _ => return,
    };
    let width = table::width(label);
    if width > 64 {
        return;
    }
    // What does not hold is the reverse the other way round.
    let strict = matches!(op, Op::Ult | Op::Slt) == holds;
    let below = constant_first != holds;
    let mut range = whole(width);
    // An end that wraps around bounds nothing.
    let (constant, step) = (signed(node.imm, width), i64::from(strict));
    match (matches!(op, Op::Ult | Op::Ule), below) {
        (true, true) => range.high = node.imm.wrapping_sub(strict.into()),
        (true, false) => range.low = node.imm.wrapping_add(strict.into()),
        (false, true) => range.most = constant.wrapping_sub(step),
        (false, false) => range.least = constant.wrapping_add(step),
    }
    narrow(label, range, DEPTH);
}

/// Notes bounds of a value, and of what it was made from.
fn narrow(label: Label, range: Range, depth: u32) {
    let width = table::width(label);
    if label == 0 || width > 64 {
        return;
    }
    let range = range.and(remembered(label, width)).settled(width);
    if range.low > range.high || range.least > range.most {
        return;
    }
    // SAFETY: the caller holds the lock.
    unsafe { (*(&raw mut KNOWN))[label as usize % SLOTS] = Known { label, range } };
    if depth == 0 {
        return;
    }
    let node = table::node(label);
    let constant = node.flags == B_CONST;
    let inner = match Op::from_u8(node.op) {
        Some(Op::ZExt | Op::SExt) => {
            let from = table::width(node.a);
            let mut inner = whole(from);
            match node.op == Op::ZExt as u8 {
                true => (inner.low, inner.high) = (range.low, range.high.min(mask(from))),
                false => {
                    inner.least = range.least.max(inner.least);
                    inner.most = range.most.min(inner.most);
                }
            }
            Some(inner)
        }
        Some(Op::Add) if constant => range.moved(node.imm.wrapping_neg(), width),
        Some(Op::Sub) if constant => range.moved(node.imm, width),
        _ => None,
    };
    if let Some(inner) = inner {
        narrow(node.a, inner, depth - 1);
    }
}

fn remembered(label: Label, width: u32) -> Range {
    // SAFETY: the caller holds the lock.
    let known = unsafe { (*(&raw const KNOWN))[label as usize % SLOTS] };
    match known.label == label {
        true => known.range,
        false => whole(width),
    }
}

fn bounds(label: Label, depth: u32) -> Range {
    let node = table::node(label);
    let width = node.width as u32;
    if label == 0 || width > 64 {
        return whole(64);
    }
    let known = remembered(label, width);
    if depth == 0 {
        return known;
    }
    let form = by_form(node, width, depth - 1).unwrap_or(whole(width));
    form.and(known).settled(width)
}

/// Bounds by what a value was made from.
fn by_form(node: &Node, width: u32, depth: u32) -> Option<Range> {
    let constant = node.flags == B_CONST;
    let of = |label: Label| {
        let narrow = table::width(label) <= 64;
        narrow.then(|| bounds(label, depth))
    };
    let unsigned = |low: Option<u64>, high: Option<u64>| {
        let (low, high) = low.zip(high)?;
        (high <= mask(width)).then_some(Range {
            low,
            high,
            ..whole(width)
        })
    };
    match Op::from_u8(node.op)? {
        Op::Const => unsigned(Some(node.imm), Some(node.imm)),
        Op::ZExt => {
            let inner = of(node.a)?;
            unsigned(Some(inner.low), Some(inner.high))
        }
        Op::SExt => {
            let Range { least, most, .. } = of(node.a)?;
            Some(Range {
                least,
                most,
                ..whole(width)
            })
        }
        Op::Extract => {
            let inner = of(node.a)?;
            let low = node.imm as u32;
            unsigned(Some(inner.low >> low), Some(inner.high >> low))
        }
        Op::Concat if constant => {
            let inner = of(node.a)?;
            let shift = width - table::width(node.a);
            let put = |high: u64| Some(high.checked_shl(shift)? | node.imm);
            unsigned(put(inner.low), put(inner.high))
        }
        Op::Add if constant => of(node.a)?.moved(node.imm, width),
        Op::Sub if constant => of(node.a)?.moved(node.imm.wrapping_neg(), width),
        Op::And if constant => unsigned(Some(0), Some(node.imm)),
        Op::Shl if constant && node.imm < 64 => {
            let inner = of(node.a)?;
            let scale = 1 << node.imm;
            unsigned(inner.low.checked_mul(scale), inner.high.checked_mul(scale))
        }
        Op::Mul if constant => {
            let inner = of(node.a)?;
            unsigned(
                inner.low.checked_mul(node.imm),
                inner.high.checked_mul(node.imm),
            )
        }
        Op::LShr if constant && node.imm < 64 => {
            let inner = of(node.a)?;
            unsigned(Some(inner.low >> node.imm), Some(inner.high >> node.imm))
        }
        Op::URem if constant && node.imm > 0 => unsigned(Some(0), Some(node.imm - 1)),
        _ => None,
    }
}

fn known_low_bits(label: Label, depth: u32) -> (u32, u64) {
    let node = table::node(label);
    if label == 0 || depth == 0 || node.flags != B_CONST {
        return (0, 0);
    }
    let of = || known_low_bits(node.a, depth - 1);
    let (bits, value) = match Op::from_u8(node.op) {
        Some(Op::Concat) => (node.width as u32 - table::width(node.a), node.imm),
        Some(Op::Shl) if node.imm < 64 => {
            let (bits, value) = of();
            (bits + node.imm as u32, value << node.imm)
        }
        Some(Op::Mul) if node.imm != 0 => {
            let (bits, value) = of();
            let zeros = node.imm.trailing_zeros();
            (bits + zeros, value.wrapping_mul(node.imm))
        }
        Some(Op::Add) => {
            let (bits, value) = of();
            (bits, value.wrapping_add(node.imm))
        }
        Some(Op::Sub) => {
            let (bits, value) = of();
            (bits, value.wrapping_sub(node.imm))
        }
        _ => (0, 0),
    };
    let bits = bits.min(63);
    (bits, value & mask(bits))
}

const fn whole(width: u32) -> Range {
    let high = mask(width);
    let most = (high >> 1) as i64;
    Range {
        low: 0,
        high,
        least: if width == 0 { 0 } else { -most - 1 },
        most,
    }
}

fn signed(value: u64, width: u32) -> i64 {
    let shift = 64 - width;
    ((value << shift) as i64) >> shift
}

impl Range {
    fn and(self, other: Range) -> Range {
        Range {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
            least: self.least.max(other.least),
            most: self.most.min(other.most),
        }
    }

    /// What each pair of bounds says about the other one.
    fn settled(mut self, width: u32) -> Range {
        if width == 0 {
            return self;
        }
        let middle = mask(width) >> 1;
        if self.least >= 0 {
            self.low = self.low.max(self.least as u64);
            self.high = self.high.min(self.most.max(0) as u64);
        } else if self.most < 0 {
            self.low = self.low.max(self.least as u64 & mask(width));
            self.high = self.high.min(self.most as u64 & mask(width));
        }
        if self.high <= middle || self.low > middle {
            self.least = self.least.max(signed(self.low, width));
            self.most = self.most.min(signed(self.high, width));
        }
        self
    }

    /// With a constant added; None if that may wrap around.
    fn moved(self, by: u64, width: u32) -> Option<Range> {
        let by = by & mask(width);
        let (low, high) = (self.low.wrapping_add(by), self.high.wrapping_add(by));
        let wraps = |sum: u64| sum & mask(width) < by;
        let (low, high, wrapped) = (
            low & mask(width),
            high & mask(width),
            (wraps(low), wraps(high)),
        );
        let step = signed(by, width);
        let limits = whole(width);
        let fits = |end: i64| {
            let sum = end.checked_add(step)?;
            (limits.least..=limits.most).contains(&sum).then_some(sum)
        };
        let mut range = limits;
        let unsigned = wrapped.0 == wrapped.1;
        if unsigned {
            (range.low, range.high) = (low, high);
        }
        let ends = fits(self.least).zip(fits(self.most));
        if let Some((least, most)) = ends {
            (range.least, range.most) = (least, most);
        }
        (unsigned || ends.is_some()).then_some(range)
    }
}
