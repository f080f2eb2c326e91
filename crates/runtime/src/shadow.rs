//! Shadow cells: four bytes for each byte of memory.

use crate::libc;
use core::ffi::c_void;
use trace::layout::{CELL_BYTE_SHIFT, SHADOW_ADDRESS, SHADOW_MASK, SHADOW_SIZE};
use trace::node::{Label, MAX_LABEL};

#[inline(always)]
pub fn cell(address: u64) -> *mut u32 {
    (SHADOW_ADDRESS + 4 * (address & SHADOW_MASK)) as *mut u32
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

pub fn any(address: u64, bytes: u64) -> bool {
    let first = cell(address);
    let cells = unsafe { core::slice::from_raw_parts(first, bytes as usize) };
    let mut chunks = cells.chunks_exact(16);
    for chunk in &mut chunks {
        if chunk.iter().fold(0, |all, cell| all | cell) != 0 {
            return true;
        }
    }
    chunks.remainder().iter().any(|&cell| cell != 0)
}

/// Forgets labels. Reads before it writes, so that pages that were never
/// labelled stay unbacked.
pub fn clear(address: u64, bytes: u64) {
    let cells = unsafe { core::slice::from_raw_parts_mut(cell(address), bytes as usize) };
    for chunk in cells.chunks_mut(16) {
        if chunk.iter().fold(0, |all, cell| all | cell) != 0 {
            chunk.fill(0);
        }
    }
}

pub fn copy(to: u64, from: u64, bytes: u64) {
    if !any(from, bytes) {
        clear(to, bytes);
        return;
    }
    unsafe { core::ptr::copy(cell(from), cell(to), bytes as usize) };
}

/// Writes the cells of a labelled value of `bytes` bytes.
#[inline]
pub fn set(address: u64, bytes: u32, label: Label) {
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
const BEHIND: u64 = 4096;

/// Reserves the shadow before any traced code can run.
extern "C" fn reserve() {
    let reserved = map(SHADOW_ADDRESS, SHADOW_SIZE + BEHIND)
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
