//! Which part of an object a symbolic index may reach: large objects are read through a window.

use crate::objects::{self, Object};
use crate::ranges::{self, Range};
use crate::{events, pins, simplify, table};
use trace::event::{GuardReason, LossReason};
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
    let Range { low, high, .. } = ranges::of(label);
    let inside = high <= last;
    // Of constants the whole is a table that all reads share.
    let cut = object.size > LARGEST_TABLE || object.constant == 0;
    if cut && inside && high - low <= LARGEST_TABLE - bytes {
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
    let (fixed, place) = unmoved(label, offset);
    // One bit more than the object needs, so that what was added cannot wrap into it.
    pins::pin_bits(site, fixed, size.ilog2(), object.size.ilog2() + 2);
    let low = place & (size - 1);
    let start = offset.saturating_sub(low);
    // The last index of the window may begin a value that ends behind it.
    let end = (offset + size + bytes - 1 - low).min(object.size);
    Some(part(&object, start, end - start))
}

/// Makes an address concrete: branches decide which place in its object it is. A loss
/// only if the object is unknown, or too large for that.
pub fn fix(site: u32, pointer: Label, address: u64, reason: LossReason) {
    if pins::pin_choices(site, pointer) {
        return;
    }
    let object = objects::find(address, address).filter(|object| object.size <= LARGEST_OBJECT);
    let Some(object) = object else {
        events::concretize(site, pointer, address, reason);
        return;
    };
    let offset = offset_in(&object, address, pointer);
    if offset != 0 {
        pin_place(address - object.base, offset, site);
    }
}

/// An index without the constant that was added to it last, so that places at a
/// constant distance share what is fixed.
fn unmoved(label: Label, offset: u64) -> (Label, u64) {
    let node = table::node(label);
    let before = offset.wrapping_sub(node.imm);
    let moved = node.op == Op::Add as u8 && node.flags == trace::node::B_CONST;
    match moved && before <= u32::MAX.into() {
        true => (node.a, before),
        false => (label, offset),
    }
}

/// The part of an object that an index reaches by what is known of it; None if it may lie
/// outside.
pub fn reached(object: &Object, label: Label, bytes: u64) -> Option<Object> {
    let Range { low, high, .. } = ranges::of(label);
    let inside = high <= object.size - bytes;
    inside.then(|| part(object, low, high - low + bytes))
}

/// Fixes an index by branches.
pub fn pin_place(offset: u64, label: Label, site: u32) {
    let (label, offset) = unmoved(label, offset);
    pins::pin(site, label, offset);
}

/// Records that an index is not behind `last`.
pub fn guard(offset: u64, label: Label, last: u64, site: u32) {
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
