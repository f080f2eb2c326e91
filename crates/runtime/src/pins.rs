//! Values that branches have made concrete: every other value is another path, so nothing is lost.

use crate::events::__chg_rt_branch;
use crate::{simplify, state, table};
use core::sync::atomic::{AtomicU32, Ordering};
use trace::node::{A_CONST, B_CONST, Label, Op};

const KNOWN: usize = 1 << 10;
/// Labels pinned in this run, by the end of their number.
static PINNED: [AtomicU32; KNOWN] = [const { AtomicU32::new(0) }; KNOWN];

/// Makes a value concrete by branches on its size and then on its bits. For
/// values of which there are few, such as lengths and the targets of a table of
/// functions.
pub fn pin(site: u32, label: Label, value: u64) {
    if is_pinned(label) {
        return;
    }
    let width = table::width(label);
    let mut bits = width;
    for rung in [6, 12, 32] {
        if rung >= width {
            break;
        }
        let small = value >> rung == 0;
        let test = table::binary(Op::Ult, 1, label, 0, value, 1 << rung, small as u64);
        unsafe { __chg_rt_branch(site, test, small as u32) };
        if small {
            bits = rung;
            break;
        }
    }
    pin_bits(site, label, value, 0, bits);
    if state::tracing() {
        slot(label).store(label, Ordering::Relaxed);
    }
}

/// Branches on the bits from `low` up to but not including `end`.
pub fn pin_bits(site: u32, label: Label, value: u64, low: u32, end: u32) {
    for bit in (low..end).rev() {
        let set = value >> bit & 1;
        let test = simplify::extract(label, bit, 1, set);
        unsafe { __chg_rt_branch(site, test, set as u32) };
    }
}

/// Whether branches that this run has taken leave the value no choice.
pub fn is_pinned(label: Label) -> bool {
    decided(label, DEPTH)
}

/// How many nodes deep a value is looked at.
const DEPTH: u32 = 4;

fn decided(label: Label, depth: u32) -> bool {
    if label == 0 || slot(label).load(Ordering::Relaxed) == label {
        return label != 0;
    }
    if depth == 0 {
        return false;
    }
    let node = table::node(label);
    let (a, b) = (node.flags & A_CONST != 0, node.flags & B_CONST != 0);
    match Op::from_u8(node.op) {
        Some(Op::ZExt | Op::SExt | Op::Extract) => decided(node.a, depth - 1),
        Some(Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Shl | Op::LShr) => {
            (a || decided(node.a, depth - 1)) && (b || decided(node.b, depth - 1))
        }
        _ => false,
    }
}

fn slot(label: Label) -> &'static AtomicU32 {
    &PINNED[label as usize % KNOWN]
}
