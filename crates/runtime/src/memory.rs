//! Loads, stores and block operations of labelled memory.

use crate::simplify::{self, Piece, mask};
use crate::{events, lock, objects, pins, ranges, shadow, state, table, texts, windows};
use core::sync::atomic::{AtomicU64, Ordering};
use trace::event::{GuardReason, LossReason};
use trace::layout::TableHeader;
use trace::node::{Label, Node, Op};

/// Stores through symbolic indices rewrite every element of the object, if they are not more. Otherwise branches decide which one it is.
const LARGEST_UPDATE: u64 = 512;
/// Stores may change so many elements in one run; after that their places are fixed.
const MOST_UPDATES: u64 = 1 << 19;

/// The label of `bits` bits at a concrete address that holds `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_load(address: u64, bits: u32, value: u64, site: u32) -> Label {
    let bytes = bits.div_ceil(8);
    let label = load_bytes(address, bytes, value, site);
    if label == 0 || bits == bytes * 8 {
        return label;
    }
    simplify::extract(label, 0, bits, value & mask(bits))
}

fn load_bytes(address: u64, bytes: u32, value: u64, site: u32) -> Label {
    if texts::any(address, bytes as u64) {
        texts::look(address, bytes as u64, site);
    }
    let first = texts::cell(address);
    let label = shadow::label_of(first);
    if label != 0 && shadow::byte_of(first) == 0 {
        let known = table::node(label);
        if known.width as u32 == bytes * 8
            && known.value == value
            && (1..bytes).all(|byte| texts::cell(address + byte as u64) == expected(label, byte))
        {
            return label;
        }
    }
    assemble(address, bytes, value, site)
}

#[inline(always)]
fn expected(label: Label, byte: u32) -> u32 {
    label | byte << trace::layout::CELL_BYTE_SHIFT
}

/// Puts a value together from parts of several labels.
fn assemble(address: u64, bytes: u32, value: u64, site: u32) -> Label {
    let mut whole = Piece {
        label: 0,
        value: 0,
        width: 0,
    };
    let mut byte = 0;
    while byte < bytes {
        let piece = run_at(address, byte, bytes, value, site);
        byte += piece.width / 8;
        whole = append(whole, piece);
    }
    whole.label
}

/// The longest run of bytes from `byte` on that are parts of one label, or constants.
fn run_at(address: u64, byte: u32, bytes: u32, value: u64, site: u32) -> Piece {
    let first = texts::cell(address + byte as u64);
    let mut length = 1;
    while byte + length < bytes {
        let next = texts::cell(address + (byte + length) as u64);
        let goes_on = if first == 0 {
            next == 0
        } else {
            next == first.wrapping_add(expected(0, length))
        };
        if !goes_on {
            break;
        }
        length += 1;
    }
    let width = length * 8;
    let actual = (value >> (byte * 8)) & mask(width);
    if first == 0 {
        return Piece {
            label: 0,
            value: actual,
            width,
        };
    }
    let label = shadow::label_of(first);
    let low = shadow::byte_of(first) * 8;
    if (table::node(label).value >> low) & mask(width) != actual {
        // Untraced code wrote here; the label describes what used to be.
        events::loss(site, label, LossReason::Overwritten);
        shadow::clear(address + byte as u64, length as u64);
        return Piece {
            label: 0,
            value: actual,
            width,
        };
    }
    Piece {
        label: simplify::extract(label, low, width, actual),
        value: actual,
        width,
    }
}

fn append(low: Piece, high: Piece) -> Piece {
    if low.width == 0 {
        return high;
    }
    let width = low.width + high.width;
    let value = low.value | high.value << low.width;
    let label = if low.label | high.label == 0 {
        0
    } else {
        simplify::concat(high, low, value)
    };
    Piece {
        label,
        value,
        width,
    }
}

/// Stores `label` (0 for concrete) in `bits` bits at a concrete address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_store(address: u64, bits: u32, label: Label) {
    let bytes = bits.div_ceil(8);
    if label == 0 {
        shadow::clear(address, bytes as u64);
        return;
    }
    let mut label = label;
    if bits != bytes * 8 {
        label = simplify::extension(Op::ZExt, bytes * 8, label, table::node(label).value);
    }
    shadow::set(address, bytes, label);
}

/// A load whose address is symbolic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_load_at(
    address: u64,
    pointer: Label,
    bits: u32,
    value: u64,
    site: u32,
    hint: u64,
) -> Label {
    if pointer == 0 || pins::is_pinned(pointer) {
        return unsafe { __chg_rt_load(address, bits, value, site) };
    }
    let bytes = bits.div_ceil(8);
    let window = objects::find(address, hint)
        .filter(|object| address - object.base + bytes as u64 <= object.size)
        .and_then(|object| {
            let offset = windows::offset_in(&object, address, pointer);
            (offset != 0)
                .then(|| windows::around(object, address - object.base, offset, bytes, site))?
        });
    let Some(object) = window else {
        if !pins::pin_choices(site, pointer) {
            events::concretize(site, pointer, address, LossReason::LoadAddress);
        }
        return unsafe { __chg_rt_load(address, bits, value, site) };
    };
    let offset = windows::offset_in(&object, address, pointer);
    let Some(number) = snapshot(&object, site) else {
        windows::pin_place(address - object.base, offset, site);
        return unsafe { __chg_rt_load(address, bits, value, site) };
    };
    let label = table::intern(Node {
        op: Op::Read as u8,
        width: (bytes * 8) as u16,
        a: offset,
        b: number,
        value,
        ..Node::default()
    });
    if label == 0 || bits == bytes * 8 {
        return label;
    }
    simplify::extract(label, 0, bits, value & mask(bits))
}

struct Snapshot {
    base: u64,
    size: u64,
    number: u32,
}

const SNAPSHOTS: usize = 256;
/// Objects that change between reads get this share of the room for tables; then they are read
/// at fixed places.
const CHANGING_SHARE: u64 = 3;
static mut RECENT: [Snapshot; SNAPSHOTS] = [const {
    Snapshot {
        base: 0,
        size: 0,
        number: 0,
    }
}; SNAPSHOTS];

/// The number of a table with the object's present contents; None if there is no room.
fn snapshot(object: &objects::Object, site: u32) -> Option<u32> {
    if !state::tracing() {
        return None;
    }
    if texts::any(object.base, object.size) {
        texts::settle(object.base, object.size, site);
    }
    let _guard = lock::acquire()?;
    let slot = (object.base >> 3) as usize % SNAPSHOTS;
    let recent = unsafe { &mut (*(&raw mut RECENT))[slot] };
    let known = recent.base == object.base && recent.size == object.size;
    if known && (object.constant == 1 || unchanged(object, recent.number)) {
        return Some(recent.number);
    }
    let header = state::header();
    if object.constant == 0 && header.table_bytes > header.table_capacity / CHANGING_SHARE {
        return None;
    }
    let number = append_table(object)?;
    *recent = Snapshot {
        base: object.base,
        size: object.size,
        number,
    };
    Some(number)
}

fn unchanged(object: &objects::Object, number: u32) -> bool {
    let (contents, cells) = table_at(number);
    let size = object.size as usize;
    let now = unsafe { core::slice::from_raw_parts(object.base as *const u8, size) };
    let then = unsafe { core::slice::from_raw_parts(contents, size) };
    if now != then {
        return false;
    }
    match cells {
        None => !shadow::any(object.base, object.size),
        Some(cells) => unsafe {
            core::slice::from_raw_parts(shadow::cells(object.base), size)
                == core::slice::from_raw_parts(cells, size)
        },
    }
}

/// Whether a table holds anything that depends on the input.
pub fn is_labelled(number: u32) -> bool {
    table_at(number).1.is_some()
}

fn table_at(number: u32) -> (*const u8, Option<*const u32>) {
    let start = state::at::<u8>(state::header().tables + number as u64);
    unsafe {
        let header = *(start as *const TableHeader);
        let contents = start.add(size_of::<TableHeader>());
        let cells = contents.add((header.size as usize).next_multiple_of(4)) as *const u32;
        (contents, (header.labelled == 1).then_some(cells))
    }
}

fn append_table(object: &objects::Object) -> Option<u32> {
    let header = state::header();
    let size = object.size as usize;
    let labelled = shadow::any(object.base, object.size);
    let padded = size.next_multiple_of(4);
    let bytes = size_of::<TableHeader>() + padded + if labelled { size * 4 } else { 0 };
    if header.table_bytes + bytes as u64 > header.table_capacity {
        // The caller fixes the index instead.
        return None;
    }
    let number = header.table_bytes as u32;
    let start = state::at::<u8>(header.tables + header.table_bytes);
    unsafe {
        (start as *mut TableHeader).write(TableHeader {
            size: size as u32,
            labelled: labelled as u32,
        });
        let contents = start.add(size_of::<TableHeader>());
        core::ptr::copy_nonoverlapping(object.base as *const u8, contents, size);
        if labelled {
            let cells = contents.add(padded) as *mut u32;
            core::ptr::copy_nonoverlapping(shadow::cells(object.base), cells, size);
            forget_stale(contents, cells, size);
        }
    }
    header.table_bytes += bytes as u64;
    Some(number)
}

/// A cell whose label no longer describes the byte is a constant.
unsafe fn forget_stale(contents: *const u8, cells: *mut u32, size: usize) {
    for byte in 0..size {
        unsafe {
            let cell = *cells.add(byte);
            if cell == 0 {
                continue;
            }
            let value = table::node(shadow::label_of(cell)).value >> (shadow::byte_of(cell) * 8);
            if value as u8 != *contents.add(byte) {
                *cells.add(byte) = 0;
            }
        }
    }
}

/// A store whose address is symbolic; called before memory changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_store_at(
    address: u64,
    pointer: Label,
    bits: u32,
    label: Label,
    value: u64,
    site: u32,
    hint: u64,
) {
    let bytes = bits.div_ceil(8) as u64;
    if pointer == 0 || pins::is_pinned(pointer) {
        return unsafe { __chg_rt_store(address, bits, label) };
    }
    let object = objects::find(address, hint).filter(|object| {
        object.size <= windows::LARGEST_OBJECT && address - object.base + bytes <= object.size
    });
    let Some(object) = object else {
        if !pins::pin_choices(site, pointer) {
            events::concretize(site, pointer, address, LossReason::StoreAddress);
        }
        return unsafe { __chg_rt_store(address, bits, label) };
    };
    let offset = windows::offset_in(&object, address, pointer);
    if offset == 0 {
        return unsafe { __chg_rt_store(address, bits, label) };
    }
    let reached = windows::reached(&object, offset, bytes);
    let inside = reached.is_some();
    let object = reached.unwrap_or(object);
    let offset = windows::offset_in(&object, address, pointer);
    let (known, rest) = ranges::low_bits(offset);
    let step = bytes.max(1 << known);
    let whole = bits.is_multiple_of(8) && bytes.is_power_of_two();
    let elements = object.size / step;
    if elements > LARGEST_UPDATE || !whole || !may_update(elements) {
        windows::pin_place(address - object.base, offset, site);
        return unsafe { __chg_rt_store(address, bits, label) };
    }
    if !inside {
        let last = object.size - bytes;
        windows::guard(address - object.base, offset, last, site);
    }
    let phase = match step == bytes {
        true => (address - object.base) % bytes,
        false => rest,
    };
    if 1 << known < bytes {
        alignment_guard(offset, bytes, phase, site);
    }
    let new = Piece {
        label,
        value,
        width: bits,
    };
    let mut at = object.base + phase;
    while at + bytes <= object.base + object.size {
        update(at, offset, at - object.base, new, address, bits, site);
        at += step;
    }
}

/// Whether there is room for so many more elements that a store may have changed.
fn may_update(elements: u64) -> bool {
    static UPDATED: AtomicU64 = AtomicU64::new(0);
    UPDATED.fetch_add(elements, Ordering::Relaxed) < MOST_UPDATES
}

/// Elements are rewritten whole, so the offset must be a multiple of their size.
fn alignment_guard(offset: Label, bytes: u64, phase: u64, site: u32) {
    let low = bytes.trailing_zeros();
    let rest = simplify::extract(offset, 0, low, phase);
    if rest != 0 {
        let aligned = simplify::comparison(Op::Eq, low, rest, 0, phase, phase, 1);
        events::guard(site, aligned, GuardReason::Bounds);
    }
}

fn update(at: u64, offset: Label, position: u64, new: Piece, target: u64, bits: u32, site: u32) {
    let old_value = read_value(at, bits);
    let old = Piece {
        label: load_bytes(at, bits / 8, old_value, site),
        value: old_value,
        width: bits,
    };
    let hit = at == target;
    let here = simplify::comparison(Op::Eq, 64, offset, 0, 0, position, hit as u64);
    let value = if hit { new.value } else { old.value };
    let label = if here == 0 {
        if hit { new.label } else { old.label }
    } else {
        simplify::choice(here, new, old, value)
    };
    if label == 0 {
        shadow::clear(at, bits as u64 / 8);
    } else {
        shadow::set(at, bits / 8, label);
    }
}

pub fn read_value(address: u64, bits: u32) -> u64 {
    let mut bytes = [0; 8];
    let count = (bits / 8) as usize;
    unsafe { core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), count) };
    u64::from_le_bytes(bytes)
}

/// `memset`: every byte gets the label of `value`'s low byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_fill(address: u64, label: Label, value: u64, bytes: u64) {
    if label == 0 {
        shadow::clear(address, bytes);
        return;
    }
    let byte = simplify::extract(label, 0, 8, value & 0xff);
    for at in address..address + bytes {
        shadow::put(at, byte);
    }
}

/// Memory was handed to code that is not traced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_lost_memory(address: u64, bytes: u64, reason: u32, site: u32) {
    let Some(reason) = LossReason::from_u32(reason) else {
        return;
    };
    let labelled = (address..address + bytes).find(|&at| shadow::get(at) != 0);
    if let Some(at) = labelled {
        events::loss(site, texts::source(shadow::get(at)), reason);
    }
}
