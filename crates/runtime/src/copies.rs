//! Copies of blocks from or to symbolic addresses: pieces that fit a register, one after the other.

use crate::memory::{__chg_rt_load_at, __chg_rt_store_at, read_value};
use crate::{pins, shadow, simplify, texts, windows};
use trace::event::LossReason;
use trace::node::{Label, Op};

/// Longer blocks are copied as they lie in this run.
const LONGEST: u64 = 64;
const PIECE: u64 = 8;

/// Called before memory changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_copy_at(
    to: u64,
    to_label: Label,
    from: u64,
    from_label: Label,
    bytes: u64,
    site: u32,
) {
    let to_label = open(to_label, site);
    let from_label = open(from_label, site);
    if to_label | from_label == 0 || bytes > LONGEST {
        for (label, address, reason) in [
            (to_label, to, LossReason::StoreAddress),
            (from_label, from, LossReason::LoadAddress),
        ] {
            windows::fix(site, label, address, reason);
        }
        shadow::copy(to, from, bytes);
        return;
    }
    // All is read before anything is written: the blocks of `memmove` may overlap.
    let mut pieces = [(0, 0); (LONGEST / PIECE) as usize];
    for (piece, (offset, length)) in pieces.iter_mut().zip(parts(bytes)) {
        let bits = length as u32 * 8;
        let value = read_value(from + offset, bits);
        let pointer = moved(from_label, from, offset);
        let label = unsafe { __chg_rt_load_at(from + offset, pointer, bits, value, site, from) };
        *piece = (label, value);
    }
    for (&(label, value), (offset, length)) in pieces.iter().zip(parts(bytes)) {
        let bits = length as u32 * 8;
        let pointer = moved(to_label, to, offset);
        unsafe { __chg_rt_store_at(to + offset, pointer, bits, label, value, site, to) };
    }
}

/// Nothing if branches have fixed the address, or do so now because it depends on lengths of
/// texts alone.
fn open(label: Label, site: u32) -> Label {
    match label {
        0 => 0,
        _ if pins::is_pinned(label) || texts::settle_value(label, site) => 0,
        _ => label,
    }
}

/// Offset and length of each piece: registers first, then halves of them.
fn parts(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut offset = 0;
    core::iter::from_fn(move || {
        let left = bytes - offset;
        let length = (1 << left.checked_ilog2()?).min(PIECE);
        offset += length;
        Some((offset - length, length))
    })
}

fn moved(pointer: Label, address: u64, offset: u64) -> Label {
    match pointer {
        0 => 0,
        _ => simplify::binary(Op::Add, 64, pointer, 0, 0, offset, address + offset),
    }
}
