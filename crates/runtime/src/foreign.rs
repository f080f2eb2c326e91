//! Code that is not traced, and what it is given.

use crate::{events, objects, shadow, texts};
use trace::event::LossReason;
use trace::node::Label;

/// Functions that lose nothing, although they are not traced.
static mut HARMLESS: (*const u64, usize) = (core::ptr::null(), 0);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_harmless(functions: *const u64, count: u64) {
    unsafe { HARMLESS = (functions, count as usize) };
}

fn is_harmless(target: u64) -> bool {
    let (functions, count) = unsafe { HARMLESS };
    count > 0 && unsafe { core::slice::from_raw_parts(functions, count) }.contains(&target)
}

/// An argument of a call through a pointer that led into such code; without a label if it did not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_foreign_value(label: Label, value: u64, target: u64, site: u32) {
    if label != 0 && !is_harmless(target) {
        let reason = LossReason::ExternalCall as u32;
        unsafe { events::__chg_rt_concretize(site, label, value, reason) };
    }
}

/// Memory that such a call was given, or its own code, which may have been written from the input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_foreign_memory(
    outside: Label,
    address: u64,
    target: u64,
    site: u32,
) {
    if outside != 0 && !is_harmless(target) {
        unsafe { __chg_rt_hand_over(address, site) };
    }
}

/// Of larger objects no more is looked at.
const MOST: u64 = 1 << 16;
/// What is looked at where no object is known.
const UNKNOWN: u64 = 64;

/// Nobody knows what it reads there: all of the object counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_hand_over(address: u64, site: u32) {
    if !shadow::any(address, MOST) {
        return;
    }
    let size = match objects::find(address, address) {
        Some(object) => (object.base + object.size - address).min(MOST),
        None => UNKNOWN,
    };
    let labelled = (address..address + size).find(|&at| shadow::get(at) != 0);
    if let Some(at) = labelled {
        let source = texts::source(shadow::get(at));
        events::loss(site, source, LossReason::ExternalMemory);
    }
}
