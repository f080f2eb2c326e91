//! Values that branches have made concrete: every other value is another path, so nothing is lost.

use crate::events::__chg_rt_branch;
use crate::{events, memory, state, table};
use core::sync::atomic::{AtomicU64, Ordering};
use trace::node::{A_CONST, B_CONST, C_CONST, Label, Node, Op};

const KNOWN: usize = 1 << 16;
/// What this run has pinned, by the end of the label's number.
static PINNED: [AtomicU64; KNOWN] = [const { AtomicU64::new(0) }; KNOWN];

/// Makes a value concrete: by the choices it was made with, or by branches on
/// its size and then on its bits. For values of which there are few, such as
/// lengths and the targets of a table of functions.
pub fn pin(site: u32, label: Label, value: u64) {
    if !pin_choices(site, label) {
        pin_number(site, label, value);
        remember(label.into());
    }
}

/// Makes a number concrete that is no more than a byte, whatever was added to it: it has
/// few values. Whether it did.
pub fn pin_byte(site: u32, label: Label) -> bool {
    let Some(byte) = byte_in(label, DEPTH) else {
        return false;
    };
    if !is_pinned(byte) {
        pin(site, byte, table::node(byte).value);
    }
    true
}

fn byte_in(label: Label, depth: u32) -> Option<Label> {
    let node = table::node(label);
    if node.width <= 8 {
        return Some(label);
    }
    let deeper = depth.checked_sub(1)?;
    match Op::from_u8(node.op)? {
        Op::ZExt | Op::SExt => byte_in(node.a, deeper),
        Op::Add | Op::Sub if node.flags == B_CONST => byte_in(node.a, deeper),
        _ => None,
    }
}

fn pin_number(site: u32, label: Label, value: u64) {
    let width = table::width(label);
    let mut bits = width;
    for rung in [6, 12, 32] {
        if rung >= width {
            break;
        }
        let small = value >> rung == 0;
        let test = table::binary(Op::Ult, 1, label, 0, value, 1 << rung, small as u64);
        decide(site, test, small as u32);
        if small {
            bits = rung;
            break;
        }
    }
    pin_bits(site, label, 0, bits);
}

/// Branches on the bits from `low` up to but not including `end`.
pub fn pin_bits(site: u32, label: Label, low: u32, end: u32) {
    let key = u64::from(label) | u64::from(low) << 32 | u64::from(end) << 48;
    if !known(key) {
        events::bits(site, label, low, end.min(table::width(label)));
        remember(key);
    }
}

/// Makes a value concrete if it depends on the input only by way of a few choices, as
/// the place of a search by halves does that was compiled without branches.
/// Whether it did.
pub fn pin_choices(site: u32, label: Label) -> bool {
    let few = choices(label, DEPTH).is_some_and(|choices| choices <= MOST_CHOICES);
    if few {
        choose(site, label);
    }
    few
}

/// Whether branches that this run has taken leave the value no choice.
pub fn is_pinned(label: Label) -> bool {
    label != 0 && choices(label, DEPTH) == Some(0)
}

const MOST_CHOICES: u32 = 16;
/// How many nodes deep a value is looked at.
const DEPTH: u32 = 8;

/// How many conditions a value depends on that are not decided yet; None if
/// it depends on something else.
fn choices(label: Label, depth: u32) -> Option<u32> {
    if label == 0 || known(label.into()) {
        return Some(0);
    }
    let node = table::node(label);
    let deeper = depth.checked_sub(1)?;
    let operand = |label, flag| match node.flags & flag {
        0 => choices(label, deeper),
        _ => Some(0),
    };
    match Op::from_u8(node.op)? {
        Op::Const => Some(0),
        Op::ZExt | Op::SExt | Op::Extract => choices(node.a, deeper),
        Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Shl | Op::LShr => {
            Some(operand(node.a, A_CONST)? + operand(node.b, B_CONST)?)
        }
        Op::Ite => {
            let open = !known(node.a.into()) as u32;
            let (arm, flag) = chosen(node);
            Some(open + operand(arm, flag)?)
        }
        Op::Read if !memory::is_labelled(node.b) => choices(node.a, deeper),
        _ => None,
    }
}

/// Branches on the conditions that [`choices`] counts.
fn choose(site: u32, label: Label) {
    if label == 0 || known(label.into()) {
        return;
    }
    let node = table::node(label);
    match Op::from_u8(node.op) {
        Some(Op::Const) | None => {}
        Some(Op::Ite) => {
            decide(site, node.a, table::node(node.a).value as u32);
            let (arm, flag) = chosen(node);
            if node.flags & flag == 0 {
                choose(site, arm);
            }
        }
        Some(Op::ZExt | Op::SExt | Op::Extract | Op::Read) => choose(site, node.a),
        Some(_) => {
            for (operand, flag) in [(node.a, A_CONST), (node.b, B_CONST)] {
                if node.flags & flag == 0 {
                    choose(site, operand);
                }
            }
        }
    }
    remember(label.into());
}

/// The arm that this run took, and the flag that says that it is a constant.
fn chosen(node: &Node) -> (Label, u8) {
    match table::node(node.a).value & 1 {
        1 => (node.b, B_CONST),
        _ => (node.c, C_CONST),
    }
}

/// A branch on a condition, unless this run has taken it before.
fn decide(site: u32, test: Label, outcome: u32) {
    if !known(test.into()) {
        unsafe { __chg_rt_branch(site, test, outcome, 0) };
        remember(test.into());
    }
}

/// `key`: a label, or a label and which of its bits.
fn known(key: u64) -> bool {
    slot(key).load(Ordering::Relaxed) == key
}

fn remember(key: u64) {
    if state::tracing() {
        slot(key).store(key, Ordering::Relaxed);
    }
}

fn slot(key: u64) -> &'static AtomicU64 {
    &PINNED[key as usize % KNOWN]
}
