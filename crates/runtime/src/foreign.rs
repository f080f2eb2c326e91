//! Code that is not traced, and what it is given.

use crate::{events, objects, shadow, texts};
use trace::event::LossReason;
use trace::node::Label;

struct Harmless {
    functions: *const u64,
    count: usize,
    /// The first of them take no values either.
    quiet: usize,
}

/// Functions that look at no memory, although they are not traced.
static mut HARMLESS: Harmless = Harmless {
    functions: core::ptr::null(),
    count: 0,
    quiet: 0,
};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_harmless(functions: *const u64, count: u64, quiet: u64) {
    unsafe {
        HARMLESS = Harmless {
            functions,
            count: count as usize,
            quiet: quiet as usize,
        }
    };
}

fn harmless() -> &'static [u64] {
    let known = unsafe { &*(&raw const HARMLESS) };
    match known.count {
        0 => &[],
        count => unsafe { core::slice::from_raw_parts(known.functions, count) },
    }
}

fn takes_no_values(target: u64) -> bool {
    harmless()[..unsafe { HARMLESS.quiet }].contains(&target)
}

/// An argument of a call through a pointer that led into such code; without a label if it did not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_foreign_value(label: Label, value: u64, target: u64, site: u32) {
    if label != 0 && !takes_no_values(target) {
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
    if outside != 0 && !harmless().contains(&target) {
        unsafe { __chg_rt_hand_over(address, 0, site) };
    }
}

/// Of larger objects no more is looked at.
const MOST: u64 = 1 << 16;
/// What is looked at where no object is known.
const UNKNOWN: u64 = 64;
/// So many words of what a call was given are taken for pointers, if they can be. Most calls are given much less.
const MOST_WORDS: u32 = 1 << 10;
/// So often in a row: the vector of a message leads to its parts, and each part to its bytes.
const STEPS: u32 = 2;
/// Below and above are no pointers.
const LOWEST: u64 = 1 << 16;
const HIGHEST: u64 = 1 << 47;

/// Nobody knows what it reads there: all of the object counts. With `follows` it gets on to what pointers in the object
/// lead to as well, such as the texts of `argv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_hand_over(address: u64, follows: u32, site: u32) {
    let steps = if follows != 0 { STEPS } else { 0 };
    if let Some(cell) = labelled(address, steps, &mut { MOST_WORDS }) {
        events::loss(site, texts::source(cell), LossReason::ExternalMemory);
    }
}

/// The first cell that is not empty of what can be reached.
fn labelled(address: u64, steps: u32, words: &mut u32) -> Option<u32> {
    // Finding an object takes time, and there is mostly nothing to be found in it.
    if steps == 0 && !shadow::any(address, MOST) {
        return None;
    }
    let object = objects::find(address, address);
    let size = match &object {
        Some(object) => (object.base + object.size - address).min(MOST),
        None => UNKNOWN,
    };
    if shadow::any(address, size) {
        let mut cells = (address..address + size).map(shadow::get);
        return cells.find(|&cell| cell != 0);
    }
    if steps == 0 {
        return None;
    }
    // A variable of its own that holds a pointer is no object that is known. What else is not known may not be there.
    let end = match object {
        Some(_) => address + size,
        None if objects::is_on_stack(address) => address + 8,
        None => return None,
    };
    let mut at = address.next_multiple_of(8);
    while at + 8 <= end && *words > 0 {
        *words -= 1;
        let pointer = unsafe { (at as *const u64).read_volatile() };
        at += 8;
        if (LOWEST..HIGHEST).contains(&pointer)
            && let Some(cell) = labelled(pointer, steps - 1, words)
        {
            return Some(cell);
        }
    }
    None
}
