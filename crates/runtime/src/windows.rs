//! Which part of an object a symbolic index may reach: large objects are read through a window.

use crate::objects::Object;
use crate::simplify::{self, mask};
use crate::{events, pins, table};
use trace::event::GuardReason;
use trace::node::{Label, Op};

/// What is read through a symbolic index is at most so large.
const LARGEST_TABLE: u64 = 4096;
/// Windows into objects that change are smaller: each change makes a new table.
const CHANGING_TABLE: u64 = 1024;
/// In objects up to this size the window is chosen by branches.
pub const LARGEST_OBJECT: u64 = 1 << 16;

/// The part of `object` that `offset` reaches in this run and on all paths that
/// take the same branches; None if the object is too large for that.
pub fn around(object: Object, offset: u64, label: Label, bytes: u32, site: u32) -> Option<Object> {
    let bytes = bytes as u64;
    let last = object.size - bytes;
    let (low, high) = range(label, DEPTH);
    let inside = high <= last;
    if object.size > LARGEST_TABLE && inside && high - low <= LARGEST_TABLE - bytes {
        return Some(part(&object, low, high - low + bytes));
    }
    if object.size > LARGEST_OBJECT {
        return None;
    }
    if !inside {
        guard(offset, label, last, site);
    }
    if object.size <= LARGEST_TABLE {
        return Some(object);
    }
    let size = match object.constant {
        1 => LARGEST_TABLE,
        _ => CHANGING_TABLE,
    };
    pins::pin_bits(site, label, offset, size.ilog2(), object.size.ilog2() + 1);
    let start = offset & !(size - 1);
    // The last index of the window may begin a value that ends behind it.
    let end = (start + size + bytes - 1).min(object.size);
    Some(part(&object, start, end - start))
}

/// Fixes an index by branches: without what was added to it last, so that places
/// at a constant distance are fixed too.
pub fn pin_place(offset: u64, label: Label, site: u32) {
    let node = *table::node(label);
    let before = offset.wrapping_sub(node.imm);
    let moved = node.op == Op::Add as u8 && node.flags == trace::node::B_CONST;
    match moved && before <= u32::MAX.into() {
        true => pins::pin(site, node.a, before),
        false => pins::pin(site, label, offset),
    }
}

/// Records that an index is inside its object, unless its form tells.
pub fn bounds_guard(object: &Object, offset: u64, label: Label, bytes: u32, site: u32) {
    let last = object.size - bytes as u64;
    if label != 0 && range(label, DEPTH).1 > last {
        guard(offset, label, last, site);
    }
}

fn guard(offset: u64, label: Label, last: u64, site: u32) {
    if label != 0 {
        let inside = table::binary(Op::Ule, 1, label, 0, offset, last, 1);
        events::guard(site, inside, GuardReason::Bounds);
    }
}

/// The label of `pointer - object.base`.
pub fn offset_in(object: &Object, address: u64, pointer: Label) -> Label {
    let node = *table::node(pointer);
    let value = address - object.base;
    if node.op == Op::Add as u8 && node.flags == trace::node::B_CONST {
        let shift = node.imm.wrapping_sub(object.base);
        return simplify::binary(Op::Add, 64, node.a, 0, 0, shift, value);
    }
    let minus = object.base.wrapping_neg();
    simplify::binary(Op::Add, 64, pointer, 0, 0, minus, value)
}

fn part(object: &Object, offset: u64, size: u64) -> Object {
    Object {
        base: object.base + offset,
        size,
        constant: object.constant,
    }
}

/// How many nodes deep the form of an index is looked at.
const DEPTH: u32 = 6;

/// Least and largest value of an index, for its form alone: a zero extension of
/// few bits, scaled, masked or moved.
fn range(label: Label, depth: u32) -> (u64, u64) {
    let node = table::node(label);
    let wide = mask(node.width as u32);
    let whole = (0, wide);
    if depth == 0 || node.width > 64 {
        return (0, u64::MAX);
    }
    let constant = node.flags == trace::node::B_CONST;
    let of = |label| range(label, depth - 1);
    let both = |low: Option<u64>, high: Option<u64>| low.zip(high);
    let found = match Op::from_u8(node.op) {
        Some(Op::ZExt) => Some(of(node.a)),
        Some(Op::And) if constant => Some((0, node.imm.min(of(node.a).1))),
        Some(Op::Shl) if constant && node.imm < 64 => {
            let (low, high) = of(node.a);
            both(
                low.checked_mul(1 << node.imm),
                high.checked_mul(1 << node.imm),
            )
        }
        Some(Op::Mul) if constant => {
            let (low, high) = of(node.a);
            both(low.checked_mul(node.imm), high.checked_mul(node.imm))
        }
        Some(Op::Add) if constant => {
            let (low, high) = of(node.a);
            both(low.checked_add(node.imm), high.checked_add(node.imm))
        }
        Some(Op::LShr) if constant && node.imm < 64 => {
            let (low, high) = of(node.a);
            Some((low >> node.imm, high >> node.imm))
        }
        Some(Op::URem) if constant && node.imm > 0 => Some((0, node.imm - 1)),
        _ => None,
    };
    found.filter(|&(_, high)| high <= wide).unwrap_or(whole)
}
