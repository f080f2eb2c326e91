//! What the program shows: output bytes, printed numbers, observed values.

use crate::{events, libc, memory, shadow, simplify, state, texts};
use core::ffi::c_char;
use core::sync::atomic::{AtomicU32, Ordering};
use trace::event::{EXIT_STATUS, EventKind, LossReason};
use trace::node::Label;

/// `bytes` bytes of memory were written to a descriptor's stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_output(fd: i32, address: u64, bytes: u64) {
    if !state::tracing() {
        return;
    }
    let start = advance(fd, bytes);
    if !shadow::any(address, bytes) {
        return;
    }
    let mut next = 0;
    while next < bytes {
        let index = next;
        let at = address + index;
        next += 1;
        let cell = shadow::get(at);
        if cell == 0 {
            continue;
        }
        if !texts::is_text(cell) {
            push_byte(fd, at, start + index);
        } else if let Some((size, printed)) = texts::output(at, bytes - index) {
            push_value(fd, printed, start + index, size);
            next = index + size;
        } else if texts::is_cut(cell) {
            texts::settle(at, 1, state::call_site());
            push_byte(fd, at, start + index);
        } else {
            // In a stream of output it does not matter where it is.
            shadow::put(at, texts::cell(at));
            push_byte(fd, at, start + index);
            shadow::put(at, cell);
        }
    }
}

/// The label of the last byte that went into a file.
static FILED: AtomicU32 = AtomicU32::new(0);

/// What is written may come back, and then nobody knows any more that it depends on the input: to
/// memory (there is no descriptor) or to something that can be read. Whether it is an output at all.
fn let_go(fd: i32, label: Label) -> bool {
    if (0..=2).contains(&fd) {
        return true;
    }
    FILED.store(label, Ordering::Relaxed);
    if fd < 0 || libc::is_readable(fd) {
        events::loss(state::call_site(), label, LossReason::ExternalMemory);
    }
    fd >= 0
}

/// A file is opened to be read that holds none of the input as it was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_reads_file() {
    let label = FILED.load(Ordering::Relaxed);
    if label != 0 && state::tracing() {
        events::loss(state::call_site(), label, LossReason::ExternalMemory);
    }
}

/// Memory is a file's: what is put there is an output that nobody sees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_maps_file() {
    state::raise(trace::layout::run_flags::MAPPED);
}

fn push_byte(fd: i32, at: u64, place: u64) {
    let site = state::call_site();
    let value = unsafe { *(at as *const u8) } as u64;
    let label = unsafe { memory::__chg_rt_load(at, 8, value, site) };
    if label != 0 && let_go(fd, label) {
        events::push(
            EventKind::OutputByte,
            fd as u8,
            site,
            label,
            value as u32,
            place,
        );
    }
}

/// A number was printed as `bytes` bytes in the given conversion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_output_value(
    fd: i32,
    label: Label,
    value: u64,
    conversion: *const c_char,
    bytes: u64,
) {
    if !state::tracing() {
        return;
    }
    let start = advance(fd, bytes);
    if label == 0 {
        return;
    }
    let printed = Printed {
        label,
        value,
        format: unsafe { text(conversion) },
    };
    push_value(fd, printed, start, bytes);
}

/// A number as it is printed.
pub struct Printed {
    pub label: Label,
    pub value: u64,
    /// The place of its conversion among the strings.
    pub format: u32,
}

fn push_value(fd: i32, printed: Printed, start: u64, bytes: u64) {
    let Printed {
        label,
        value,
        format,
    } = printed;
    if !let_go(fd, label) {
        return;
    }
    let site = state::call_site();
    events::push(EventKind::OutputValue, fd as u8, site, label, format, start);
    events::push(
        EventKind::OutputExtent,
        fd as u8,
        site,
        label,
        bytes as u32,
        value,
    );
}

/// The status that the program is about to exit with: the low byte is an output,
/// on a descriptor that no program has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_exit_status(label: Label, value: u64) {
    if label == 0 || !state::tracing() {
        return;
    }
    let byte = simplify::extract(label, 0, 8, value & 0xff);
    if byte != 0 {
        events::push(
            EventKind::OutputByte,
            EXIT_STATUS,
            state::call_site(),
            byte,
            value as u32 & 0xff,
            0,
        );
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_observe(name: *const c_char, label: Label, value: u64) {
    if !state::tracing() {
        return;
    }
    let name = unsafe { text(name) };
    events::push(
        EventKind::Observe,
        (label != 0) as u8,
        state::call_site(),
        label,
        name,
        value,
    );
}

/// Moves a descriptor's stream on and says where it was.
fn advance(fd: i32, bytes: u64) -> u64 {
    let totals = &mut state::header().output_totals;
    let Some(total) = totals.get_mut(fd as usize) else {
        return 0;
    };
    let start = *total;
    *total += bytes;
    start
}

/// The offset of a string in the string region; 0 (empty) if there is no room.
pub unsafe fn text(string: *const c_char) -> u32 {
    let header = state::header();
    let region = state::at::<u8>(header.strings);
    let length = unsafe { libc::strlen(string) } as u64;
    let mut at = 1;
    while at < header.string_bytes {
        let known = unsafe { region.add(at as usize) } as *const c_char;
        if unsafe { libc::strcmp(known, string) } == 0 {
            return at as u32;
        }
        at += unsafe { libc::strlen(known) } as u64 + 1;
    }
    if header.string_bytes + length + 1 > header.string_capacity {
        header.events_refused += 1;
        return 0;
    }
    let at = header.string_bytes;
    unsafe {
        core::ptr::copy_nonoverlapping(
            string as *const u8,
            region.add(at as usize),
            length as usize + 1,
        );
    }
    header.string_bytes += length + 1;
    at as u32
}

/// The string at an offset of the string region.
pub fn string_at(offset: u32) -> &'static [u8] {
    let string = unsafe { state::at::<u8>(state::header().strings).add(offset as usize) };
    unsafe { core::slice::from_raw_parts(string, libc::strlen(string as *const c_char)) }
}
