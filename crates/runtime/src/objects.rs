//! Bounds of memory objects: globals, heap blocks and stack arrays.

use crate::{libc, lock};
use trace::layout::STACK_BATCH;

/// As generated code lays it out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Object {
    pub base: u64,
    pub size: u64,
    /// 1 if the contents never change.
    pub constant: u64,
}

static mut GLOBALS: (*const Object, usize) = (core::ptr::null(), 0);

/// Globals sorted by address, for the start-up code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_globals(objects: *mut Object, count: u64) {
    let slice = unsafe { core::slice::from_raw_parts_mut(objects, count as usize) };
    slice.sort_unstable_by_key(|object| object.base);
    unsafe { GLOBALS = (objects, count as usize) };
}

/// The object that holds `address`. `hint` is the pointer the access was made
/// from, most often the start of its object.
pub fn find(address: u64, hint: u64) -> Option<Object> {
    global(address)
        .or_else(|| heap().exact(hint, address))
        .or_else(|| stack().find(address))
        .or_else(|| heap().containing(address))
}

fn global(address: u64) -> Option<Object> {
    let (objects, count) = unsafe { GLOBALS };
    if count == 0 {
        return None;
    }
    let slice = unsafe { core::slice::from_raw_parts(objects, count) };
    let after = slice.partition_point(|object| object.base <= address);
    let object = slice.get(after.checked_sub(1)?)?;
    holds(object, address).then_some(*object)
}

fn holds(object: &Object, address: u64) -> bool {
    address.wrapping_sub(object.base) < object.size
}

/// Live heap blocks: open addressing by start address.
struct Heap {
    slots: *mut (u64, u64),
    mask: usize,
    used: usize,
    /// All blocks ever seen lie between these addresses.
    lowest: u64,
    highest: u64,
    /// Where the last search through all slots ended.
    last: usize,
}

static mut HEAP: Heap = Heap {
    slots: core::ptr::null_mut(),
    mask: 0,
    used: 0,
    lowest: u64::MAX,
    highest: 0,
    last: 0,
};

const FREED: u64 = 1;
const FIRST_SLOTS: usize = 1 << 10;

fn heap() -> &'static mut Heap {
    unsafe { &mut *(&raw mut HEAP) }
}

impl Heap {
    fn slot_of(&self, base: u64) -> usize {
        ((base >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24) as usize & self.mask
    }

    fn add(&mut self, base: u64, size: u64) {
        if self.used * 2 >= self.mask && !self.grow() {
            return;
        }
        self.lowest = self.lowest.min(base);
        self.highest = self.highest.max(base.saturating_add(size));
        let mut slot = self.slot_of(base);
        // A place that was given up is used again: a program that allocates and frees in turn would fill the table otherwise.
        let mut given_up = None;
        loop {
            let entry = unsafe { *self.slots.add(slot) };
            if entry.0 == base {
                break;
            }
            if entry.0 == 0 {
                self.used += given_up.is_none() as usize;
                slot = given_up.unwrap_or(slot);
                break;
            }
            if entry.0 == FREED {
                given_up = given_up.or(Some(slot));
            }
            slot = (slot + 1) & self.mask;
        }
        unsafe { *self.slots.add(slot) = (base, size) };
    }

    fn entry(&self, base: u64) -> Option<&'static mut (u64, u64)> {
        if self.slots.is_null() {
            return None;
        }
        let mut slot = self.slot_of(base);
        loop {
            let entry = unsafe { &mut *self.slots.add(slot) };
            match entry.0 {
                0 => return None,
                known if known == base => return Some(entry),
                _ => slot = (slot + 1) & self.mask,
            }
        }
    }

    fn exact(&self, base: u64, address: u64) -> Option<Object> {
        let &mut (base, size) = self.entry(base)?;
        let object = Object {
            base,
            size,
            constant: 0,
        };
        holds(&object, address).then_some(object)
    }

    /// For pointers into the middle of a block. Slow, unless it is the block of
    /// the last such search.
    fn containing(&mut self, address: u64) -> Option<Object> {
        if address < self.lowest || address >= self.highest {
            return None;
        }
        let last = self.last.min(self.mask);
        let found = self.holding(last, address).or_else(|| {
            let slot = (0..=self.mask).find(|&slot| self.holding(slot, address).is_some())?;
            self.last = slot;
            self.holding(slot, address)
        });
        found.map(|(base, size)| Object {
            base,
            size,
            constant: 0,
        })
    }

    fn holding(&self, slot: usize, address: u64) -> Option<(u64, u64)> {
        let (base, size) = unsafe { *self.slots.add(slot) };
        (base > FREED && address.wrapping_sub(base) < size).then_some((base, size))
    }

    fn grow(&mut self) -> bool {
        let old = (self.slots, self.mask);
        let live = if old.0.is_null() {
            0
        } else {
            (0..=old.1)
                .filter(|&slot| unsafe { (*old.0.add(slot)).0 } > FREED)
                .count()
        };
        // Mostly tombstones: same size again.
        let slots = if live * 4 < old.1 {
            old.1 + 1
        } else {
            (old.1 + 1) * 4
        }
        .max(FIRST_SLOTS);
        let fresh = libc::zeroed(slots * 16) as *mut (u64, u64);
        if fresh.is_null() {
            return false;
        }
        *self = Heap {
            slots: fresh,
            mask: slots - 1,
            used: 0,
            ..*self
        };
        if !old.0.is_null() {
            for slot in 0..=old.1 {
                let (base, size) = unsafe { *old.0.add(slot) };
                if base > FREED {
                    self.add(base, size);
                }
            }
            unsafe { libc::munmap(old.0.cast(), (old.1 + 1) * 16) };
        }
        true
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_heap_add(base: u64, size: u64) {
    if base == 0 {
        return;
    }
    // The allocator has written its own data into the block unseen.
    crate::shadow::clear(base, size);
    if let Some(_guard) = lock::acquire() {
        heap().add(base, size);
    }
}

/// A block whose bytes are labelled already.
pub fn add_labelled(base: u64, size: u64) {
    if let Some(_guard) = lock::acquire() {
        heap().add(base, size);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_heap_remove(base: u64) {
    if let Some(_guard) = lock::acquire()
        && let Some(entry) = heap().entry(base)
    {
        *entry = (FREED, 0);
    }
}

/// A block changed its size in place; labels stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_heap_resize(base: u64, size: u64) {
    add_labelled(base, size);
}

/// Size of a live heap block, 0 if it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_heap_size(base: u64) -> u64 {
    let Some(_guard) = lock::acquire() else {
        return 0;
    };
    heap().entry(base).map_or(0, |entry| entry.1)
}

const STACK_OBJECTS: usize = 1 << 12;

/// As generated code writes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Place {
    base: u64,
    size: u64,
}

#[derive(Clone, Copy)]
struct Frame {
    address: u64,
    /// Its first object.
    first: usize,
}

/// Arrays of living stack frames, innermost last.
struct Stack {
    /// Frames that have objects.
    frames: [Frame; STACK_OBJECTS],
    depth: usize,
    /// What is behind the last is for frames that have found no room.
    objects: [Place; STACK_OBJECTS + STACK_BATCH],
    count: usize,
}

static mut STACK: Stack = Stack {
    frames: [Frame {
        address: 0,
        first: 0,
    }; STACK_OBJECTS],
    depth: 0,
    objects: [Place { base: 0, size: 0 }; STACK_OBJECTS + STACK_BATCH],
    count: 0,
};

fn stack() -> &'static mut Stack {
    unsafe { &mut *(&raw mut STACK) }
}

/// What is above it on the stack was there before the program's own frames.
static mut STACK_END: u64 = 0;
/// Further down is the stack of another thread.
const STACK_ROOM: u64 = 1 << 26;

pub fn begin_stack(end: u64) {
    unsafe { STACK_END = end };
}

/// Whether an address is in a frame of the first thread that has not ended, so that there is something to be read.
pub fn is_on_stack(address: u64) -> bool {
    let (lowest, end) = (libc::stack_pointer(), unsafe { STACK_END });
    (lowest..end.saturating_sub(8)).contains(&address) && end - lowest < STACK_ROOM
}

impl Stack {
    /// Forgets the frames that have ended, which are the last.
    fn leave(&mut self, has_ended: impl Fn(u64) -> bool) {
        while let Some(last) = self.last().filter(|last| has_ended(last.address)) {
            self.depth -= 1;
            self.count = last.first;
        }
    }

    fn last(&self) -> Option<Frame> {
        Some(self.frames[self.depth.checked_sub(1)?])
    }

    /// The objects of a frame that is the last.
    fn of(&mut self, frame: u64) -> &mut [Place] {
        let last = self.last().filter(|last| last.address == frame);
        let first = last.map_or(self.count, |last| last.first);
        &mut self.objects[first..self.count]
    }

    /// Where so many objects of a frame are to be written; nowhere that counts if there is no room.
    fn room(&mut self, frame: u64, count: usize) -> *mut Place {
        let first = self.count;
        if count == 0 || first + count > STACK_OBJECTS {
            return self.nowhere();
        }
        if self.last().is_none_or(|last| last.address != frame) {
            // There are no more frames with objects than there are objects.
            self.frames[self.depth] = Frame {
                address: frame,
                first,
            };
            self.depth += 1;
        }
        self.count += count;
        &raw mut self.objects[first]
    }

    fn nowhere(&mut self) -> *mut Place {
        &raw mut self.objects[STACK_OBJECTS]
    }

    fn find(&self, address: u64) -> Option<Object> {
        self.objects[..self.count]
            .iter()
            .rev()
            .map(|&Place { base, size }| Object {
                base,
                size,
                constant: 0,
            })
            .find(|object| holds(object, address))
    }
}

/// Room for the arrays and structures of a frame: at most [`STACK_BATCH`], which the caller writes. With `is_first` the
/// frame has just been entered: nothing in it is in use yet, and frames at its address or further down are gone,
/// however they ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_stack_room(frame: u64, count: u64, is_first: u64) -> *mut u8 {
    let is_first = is_first != 0;
    if is_first {
        let lowest = libc::stack_pointer();
        crate::shadow::clear(lowest, frame.saturating_sub(lowest));
    }
    let stack = stack();
    let Some(_guard) = lock::acquire() else {
        return stack.nowhere().cast();
    };
    stack.leave(|known| known < frame || is_first && known == frame);
    stack.room(frame, count as usize).cast()
}

/// Beyond this a fresh array keeps stale labels, which loads find out; clearing
/// megabytes at each call would cost more.
const CLEARED: u64 = 4096;

/// One whose size is found out when it is made, or that may come again in the same frame, in a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_stack_object(frame: u64, base: u64, size: u64) {
    crate::shadow::clear(base, size.min(CLEARED));
    let Some(_guard) = lock::acquire() else {
        return;
    };
    let stack = stack();
    stack.leave(|known| known < frame);
    let again = stack.of(frame).iter_mut().find(|place| place.base == base);
    let place = match again {
        Some(place) => &raw mut *place,
        None => stack.room(frame, 1),
    };
    unsafe { place.write(Place { base, size }) };
}
