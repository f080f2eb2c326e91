//! Shadow cells: four bytes for each byte of memory.

use crate::libc;
use core::ffi::c_void;
use trace::layout::{
    CELL_BYTE_SHIFT, MARKS_ADDRESS, MARKS_SIZE, PAGE, SHADOW_ADDRESS, SHADOW_MASK, SHADOW_SIZE,
};
use trace::node::{Label, MAX_LABEL};

#[inline(always)]
fn cell(address: u64) -> *mut u32 {
    (SHADOW_ADDRESS + 4 * (address & SHADOW_MASK)) as *mut u32
}

/// The cells of a stretch of memory, to be read.
pub fn cells(address: u64) -> *const u32 {
    cell(address)
}

#[inline(always)]
pub fn get(address: u64) -> u32 {
    unsafe { *cell(address) }
}

#[inline(always)]
pub fn label_of(cell: u32) -> Label {
    cell & MAX_LABEL
}

#[inline(always)]
pub fn byte_of(cell: u32) -> u32 {
    cell >> CELL_BYTE_SHIFT
}

/// Bytes of memory whose cells fill one page of the shadow.
const BYTES_PER_PAGE: u64 = PAGE / 4;

fn mark(address: u64) -> *mut u8 {
    (MARKS_ADDRESS + (address & SHADOW_MASK) / BYTES_PER_PAGE) as *mut u8
}

/// To be called before cells become anything but 0.
fn mark_all(address: u64, bytes: u64) {
    for (at, _) in pages(address, bytes) {
        unsafe { *mark(at) = 1 };
    }
}

/// The parts of a stretch of memory that lie in one page of the shadow each. A program may ask for more than there is,
/// on its way to a fault.
#[inline(always)]
fn pages(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = address.wrapping_add(bytes.min(SHADOW_MASK));
    let mut at = address;
    core::iter::from_fn(move || {
        let from = at;
        at = end.min((from & !(BYTES_PER_PAGE - 1)) + BYTES_PER_PAGE);
        (from < end).then_some((from, at - from))
    })
}

/// Those of them that may hold labels.
#[inline(always)]
fn marked(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    pages(address, bytes).filter(|&(at, _)| unsafe { *mark(at) } != 0)
}

pub fn any(address: u64, bytes: u64) -> bool {
    marked(address, bytes).any(|(at, length)| {
        let cells = unsafe { core::slice::from_raw_parts(cell(at), length as usize) };
        cells.chunks(16).any(is_labelled)
    })
}

#[inline(always)]
fn is_labelled(cells: &[u32]) -> bool {
    cells.iter().fold(0, |all, cell| all | cell) != 0
}

/// Forgets labels. Reads before it writes, so that pages that were never
/// labelled stay unbacked.
pub fn clear(address: u64, bytes: u64) {
    for (at, length) in marked(address, bytes) {
        let cells = unsafe { core::slice::from_raw_parts_mut(cell(at), length as usize) };
        for chunk in cells.chunks_mut(16) {
            if is_labelled(chunk) {
                chunk.fill(0);
            }
        }
        if length == BYTES_PER_PAGE {
            unsafe { *mark(at) = 0 };
        }
    }
}

pub fn copy(to: u64, from: u64, bytes: u64) {
    if !any(from, bytes) {
        clear(to, bytes);
        return;
    }
    mark_all(to, bytes);
    unsafe { core::ptr::copy(cell(from), cell(to), bytes as usize) };
}

/// Writes one cell.
#[inline]
pub fn put(address: u64, value: u32) {
    unsafe {
        *mark(address) = 1;
        *cell(address) = value;
    }
}

/// Writes the cells of a labelled value of `bytes` bytes.
#[inline]
pub fn set(address: u64, bytes: u32, label: Label) {
    unsafe {
        *mark(address) = 1;
        *mark(address + bytes.saturating_sub(1) as u64) = 1;
    }
    let first = cell(address);
    for byte in 0..bytes {
        unsafe { *first.add(byte as usize) = label | byte << CELL_BYTE_SHIFT };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_clear(address: u64, bytes: u64) {
    clear(address, bytes);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_copy(to: u64, from: u64, bytes: u64) {
    copy(to, from, bytes);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_any(address: u64, bytes: u64) -> u32 {
    any(address, bytes) as u32
}

/// Code in line looks at the cells of a few bytes at once, also behind the last
/// one: some functions take -1 for a pointer.
const BEHIND: u64 = PAGE;

/// Reserves the shadow before any traced code can run.
extern "C" fn reserve() {
    let reserved = map(SHADOW_ADDRESS, SHADOW_SIZE + BEHIND)
        && map(MARKS_ADDRESS, MARKS_SIZE + BEHIND)
        && map(
            trace::layout::COVERAGE_ADDRESS,
            trace::layout::COVERAGE_SIZE,
        );
    if !reserved {
        let message = b"changeling: cannot reserve address space for tracing (is the address space limited?)\n";
        unsafe {
            libc::write(2, message.as_ptr().cast(), message.len());
            libc::_exit(126);
        }
    }
}

fn map(address: u64, bytes: u64) -> bool {
    let wanted = address as *mut c_void;
    unsafe {
        let got = libc::mmap(
            wanted,
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        );
        // Huge pages would make each first label cost two megabytes.
        libc::madvise(wanted, bytes as usize, libc::MADV_NOHUGEPAGE);
        got == wanted
    }
}

#[used]
#[cfg_attr(feature = "embedded", unsafe(link_section = ".preinit_array"))]
static RESERVE: extern "C" fn() = reserve;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Every operation against cells that are kept one by one.
    #[test]
    fn cells_are_what_was_written_last() {
        reserve();
        const PLACE: u64 = 0x1234_5000 - 100;
        const SIZE: u64 = 5 * BYTES_PER_PAGE;
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for _ in 0..20_000 {
            let at = PLACE + random(SIZE);
            let most = if random(4) == 0 { SIZE } else { 24 };
            let bytes = random(most.min(PLACE + SIZE - at) + 1);
            match random(6) {
                0 => {
                    put(at, 7);
                    known.insert(at, 7);
                }
                1 | 2 => {
                    let bytes = bytes.min(8);
                    set(at, bytes as u32, 5);
                    for byte in 0..bytes {
                        known.insert(at + byte, 5 | (byte as u32) << CELL_BYTE_SHIFT);
                    }
                }
                3 => {
                    let from = PLACE + random(SIZE - bytes + 1);
                    copy(at, from, bytes);
                    let cells: Vec<_> = (0..bytes)
                        .map(|byte| known.get(&(from + byte)).copied())
                        .collect();
                    for (byte, cell) in cells.into_iter().enumerate() {
                        known.insert(at + byte as u64, cell.unwrap_or(0));
                    }
                }
                _ => {
                    clear(at, bytes);
                    known.retain(|place, _| !(at..at + bytes).contains(place));
                }
            }
            let labelled =
                (at..at + bytes).any(|place| known.get(&place).is_some_and(|cell| *cell != 0));
            assert_eq!(any(at, bytes), labelled);
        }
        for place in PLACE..PLACE + SIZE {
            assert_eq!(get(place), known.get(&place).copied().unwrap_or(0));
        }
        // More than there is takes no longer than all there is, and does no harm.
        clear(0x4000, u64::MAX);
        clear(0x4000, u64::MAX / 2);
        assert!(!any(u64::MAX - 10, u64::MAX / 2));
    }
}
