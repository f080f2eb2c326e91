//! Texts of numbers: memory that holds a printed number as a whole.
//!
//! A model that prints a symbolic number puts it into memory as a text. If the
//! bytes reach the output together, they are one event with the number and its
//! format. Only when the program looks at one of them, the length of the text is
//! decided by branches and its digits become expressions, and then nothing is
//! lost either. Where a text ends decides where what follows is; that is *moved*:
//! the same holds for it.
//!
//! Cells of such bytes hold a label from [`FIRST`] on. No node has one: they never
//! get into the trace.

use crate::simplify::{self, mask};
use crate::{events, libc, lock, outputs, shadow, state, table};
use core::ffi::c_char;
use trace::event::LossReason;
use trace::node::{B_CONST, Label, Op};

/// Labels of nodes are less.
pub const FIRST: Label = 1 << 28;

/// The longest text, and how many moved bytes are kept together.
const LONGEST: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 6;
const ENTRIES: usize = 1 << 16;

/// A label is `FIRST`, the number of the entry, and which byte of it.
#[allow(clippy::large_enum_variant)] // there is no heap to put one into
enum Entry {
    Number(Number),
    Moved(Moved),
}

struct Number {
    /// As it is printed, and in as many bits as its format has.
    label: Label,
    narrow: Label,
    value: u64,
    /// Of the length of the text, as an expression.
    length: Label,
    /// Its place among the strings.
    format: u32,
    signed: bool,
    base: u64,
    size: u8,
    /// Where the digits of the value are.
    first: u8,
    digits: u8,
    settled: bool,
    bytes: [u8; LONGEST],
}

struct Moved {
    /// What decides where the bytes are.
    position: Label,
    value: u64,
    settled: bool,
    /// What the bytes would be at a fixed place.
    cells: [u32; LONGEST],
    bytes: [u8; LONGEST],
}

static mut TABLE: *mut Entry = core::ptr::null_mut();
static mut COUNT: usize = 0;
/// How many calls deep the program is in code that passes text on.
static mut PASSING: u32 = 0;

#[inline(always)]
pub fn is_text(cell: u32) -> bool {
    shadow::label_of(cell) >= FIRST
}

/// Are there any texts?
#[inline(always)]
pub fn exist() -> bool {
    unsafe { COUNT != 0 }
}

/// The output streams of Rust's library look for the ends of lines and how much is in
/// their buffers. No text of a number has an end of line, and where a buffer is
/// emptied is not seen in what is written.
fn passing() -> bool {
    unsafe { PASSING != 0 && !lock::is_threaded() }
}

/// The cell of a byte as a load is to see it.
#[inline(always)]
pub fn cell(address: u64) -> u32 {
    let cell = shadow::get(address);
    if is_text(cell) { fixed(cell) } else { cell }
}

/// Before bytes are used: they are settled. Code that only passes text on
/// sees constants and leaves the memory as it is.
#[cold]
pub fn look(address: u64, bytes: u64, site: u32) {
    if !passing() {
        settle(address, bytes, site);
    }
}

/// Bytes become what they are at this length, whoever wants them.
pub fn settle(address: u64, bytes: u64, site: u32) {
    for at in address..address + bytes {
        let cell = shadow::get(at);
        if is_text(cell) {
            let byte = unsafe { *(at as *const u8) };
            let known = reveal(cell, byte, site);
            shadow::put(at, known);
        }
    }
}

pub fn any(address: u64, bytes: u64) -> bool {
    exist() && (address..address + bytes).any(|at| is_text(shadow::get(at)))
}

/// The label of what a cell depends on.
pub fn source(cell: u32) -> Label {
    if !is_text(cell) {
        return shadow::label_of(cell);
    }
    match entry(cell) {
        Entry::Number(number) => number.label,
        Entry::Moved(moved) => moved.position,
    }
}

/// Is this a byte of a number, wherever it is?
pub fn is_cut(cell: u32) -> bool {
    is_text(innermost(cell))
}

/// If a whole text begins here: its size and the event of its output.
pub fn output(address: u64, bytes: u64) -> Option<(u64, outputs::Printed)> {
    let (number, size) = whole(address, bytes)?;
    let printed = outputs::Printed {
        label: number.label,
        value: number.value,
        format: number.format,
    };
    Some((size, printed))
}

fn entry(cell: u32) -> &'static mut Entry {
    let number = (shadow::label_of(cell) - FIRST) >> INDEX_BITS;
    unsafe { &mut *TABLE.add(number as usize) }
}

fn index(cell: u32) -> usize {
    cell as usize & (LONGEST - 1)
}

/// The cell without what it owes to texts.
fn fixed(cell: u32) -> u32 {
    match innermost(cell) {
        inner if is_text(inner) => 0,
        inner => inner,
    }
}

/// The cell without what decides where it is.
fn innermost(mut cell: u32) -> u32 {
    while is_text(cell)
        && let Entry::Moved(moved) = entry(cell)
    {
        cell = moved.cells[index(cell)];
    }
    cell
}

fn whole(address: u64, bytes: u64) -> Option<(&'static Number, u64)> {
    let first = innermost(shadow::get(address));
    if !is_text(first) || index(first) != 0 {
        return None;
    }
    let Entry::Number(number) = entry(first) else {
        return None;
    };
    let size = number.size as u64;
    let fits = size <= bytes
        && (0..size).all(|byte| {
            let at = address + byte;
            innermost(shadow::get(at)) == first + byte as u32
                && unsafe { *(at as *const u8) } == number.bytes[byte as usize]
        });
    fits.then_some((number, size))
}

/// What a byte is once the texts before it have the length they have in this run.
fn reveal(cell: u32, byte: u8, site: u32) -> u32 {
    match entry(cell) {
        Entry::Number(number) => number.reveal(index(cell), byte, site),
        Entry::Moved(moved) => moved.reveal(index(cell), byte, site),
    }
}

fn decide(site: u32, test: Label, held: bool) {
    unsafe { events::__chg_rt_branch(site, test, held as u32, 0) };
}

impl Number {
    fn reveal(&mut self, index: usize, byte: u8, site: u32) -> u32 {
        if self.bytes[index] != byte {
            events::loss(site, self.label, LossReason::Overwritten);
            return 0;
        }
        self.settle(site);
        let (size, value) = self.magnitude();
        let first = self.first as usize;
        if index < first || index >= first + self.digits as usize {
            return 0;
        }
        self.digit(size, value, first + self.digits as usize - 1 - index, byte)
    }

    fn width(&self) -> u32 {
        table::width(self.narrow)
    }

    fn is_negative(&self) -> bool {
        self.signed && self.value >> (self.width() - 1) & 1 == 1
    }

    /// The value without its sign, which is as it is in this run.
    fn magnitude(&self) -> (Label, u64) {
        if !self.is_negative() {
            return (self.narrow, self.value);
        }
        let value = self.value.wrapping_neg() & mask(self.width());
        let label = simplify::binary(Op::Sub, self.width(), 0, self.narrow, 0, self.value, value);
        (label, value)
    }

    /// Branches on the sign and on the number of digits: whether there is one more, so
    /// that runs with another number ask the same until it differs.
    fn settle(&mut self, site: u32) {
        if self.settled {
            return;
        }
        self.settled = true;
        let (size, value) = self.magnitude();
        let width = self.width();
        let compare = |label, a, b, held: bool, op| {
            simplify::comparison(op, width, label, 0, a, b, held as u64)
        };
        if self.signed {
            let negative = self.is_negative();
            let test = compare(self.narrow, self.value, 0, negative, Op::Slt);
            decide(site, test, negative);
        }
        let mut power = 1u64;
        while let Some(next) = power.checked_mul(self.base)
            && next <= mask(width)
        {
            let is_last = value < next;
            decide(site, compare(size, value, next, is_last, Op::Ult), is_last);
            if is_last {
                break;
            }
            power = next;
        }
    }

    /// The digit that stands for this power of the base.
    fn digit(&self, size: Label, value: u64, power: usize, byte: u8) -> u32 {
        let width = self.width();
        let mut divisor = 1u64;
        for _ in 0..power {
            divisor = divisor.wrapping_mul(self.base);
        }
        let quotient = value / divisor;
        let part = simplify::binary(Op::UDiv, width, size, 0, value, divisor, quotient);
        let digit = quotient % self.base;
        let part = simplify::binary(Op::URem, width, part, 0, quotient, self.base, digit);
        if part == 0 {
            return 0;
        }
        let part = simplify::extract(part, 0, 8, digit);
        let plain = digit + b'0' as u64;
        if self.base <= 10 {
            return simplify::binary(Op::Add, 8, part, 0, digit, b'0' as u64, plain);
        }
        // A letter follows the digits at a distance.
        let letter = if byte.is_ascii_uppercase() || self.is_upper() {
            b'A' - 10
        } else {
            b'a' - 10
        } as u64;
        let small = digit < 10;
        let test = simplify::comparison(Op::Ult, 8, part, 0, digit, 10, small as u64);
        let as_digit = simplify::Piece {
            label: simplify::binary(Op::Add, 8, part, 0, digit, b'0' as u64, plain & 0xff),
            value: plain & 0xff,
            width: 8,
        };
        let far = (digit + letter) & 0xff;
        let as_letter = simplify::Piece {
            label: simplify::binary(Op::Add, 8, part, 0, digit, letter, far),
            value: far,
            width: 8,
        };
        simplify::choice(test, as_digit, as_letter, byte as u64)
    }

    fn is_upper(&self) -> bool {
        outputs::string_at(self.format).last() == Some(&b'X')
    }
}

impl Moved {
    /// The texts that decide the position get the length they have, each in its turn.
    /// If it is something else that decides it, it is what it is in this run.
    fn settle(&self, site: u32) {
        if settle_value(self.position, site) {
            return;
        }
        let width = table::width(self.position);
        let here = simplify::comparison(Op::Eq, width, self.position, 0, self.value, self.value, 1);
        decide(site, here, true);
    }

    fn reveal(&mut self, index: usize, byte: u8, site: u32) -> u32 {
        if self.bytes[index] != byte {
            events::loss(site, self.position, LossReason::Overwritten);
            return 0;
        }
        if !self.settled {
            self.settled = true;
            self.settle(site);
        }
        let inner = self.cells[index];
        if is_text(inner) {
            reveal(inner, byte, site)
        } else {
            inner
        }
    }
}

/// A value that depends on nothing but the lengths of texts is fixed by branches on
/// these, so nothing is lost. False if it depends on anything else.
pub fn settle_value(label: Label, site: u32) -> bool {
    exist() && settle_lengths(label, site, &mut { MOST_PARTS })
}

/// What was written first is on the left side of a sum.
fn settle_lengths(label: Label, site: u32, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    if let Some(number) = by_length(label) {
        number.settle(site);
        return true;
    }
    let node = *table::node(label);
    match Op::from_u8(node.op) {
        Some(Op::Const) => true,
        None | Some(Op::Input | Op::Length | Op::Read) => false,
        Some(op) => [node.a, node.b, node.c][..op.arity()]
            .iter()
            .all(|&part| part == 0 || settle_lengths(part, site, left)),
    }
}

/// The text of which this is the length.
fn by_length(label: Label) -> Option<&'static mut Number> {
    (0..unsafe { COUNT }).find_map(|number| match unsafe { &mut *TABLE.add(number) } {
        Entry::Number(number) if number.length == label => Some(number),
        _ => None,
    })
}

/// The next free entry, and its first label; none if there is no room.
fn allocate() -> Option<(&'static mut core::mem::MaybeUninit<Entry>, Label)> {
    unsafe {
        if TABLE.is_null() {
            TABLE = libc::zeroed(ENTRIES * size_of::<Entry>()) as *mut Entry;
        }
        if TABLE.is_null() || COUNT == ENTRIES {
            return None;
        }
        let number = COUNT;
        COUNT += 1;
        let place = &mut *(TABLE.add(number) as *mut core::mem::MaybeUninit<Entry>);
        Some((place, FIRST + ((number as Label) << INDEX_BITS)))
    }
}

/// Memory holds the text of a number: `digits` digits from byte `first` on, which are
/// all that depends on the value but the length and the sign. 0 if it cannot
/// be kept as a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text(
    address: u64,
    size: u64,
    first: u64,
    digits: u64,
    label: Label,
    value: u64,
    bits: u32,
    length: Label,
    conversion: *const c_char,
) -> u32 {
    let fits = size as usize <= LONGEST && first + digits <= size && digits != 0;
    if !fits || label == 0 || !state::tracing() || lock::is_threaded() {
        return 0;
    }
    let format = unsafe { outputs::text(conversion) };
    let letter = outputs::string_at(format).last().copied();
    let base = match letter {
        Some(b'd' | b'u') => 10,
        Some(b'x' | b'X') => 16,
        Some(b'o') => 8,
        _ => return 0,
    };
    let value = value & mask(bits);
    let narrow = simplify::extract(label, 0, bits, value);
    if narrow == 0 {
        return 0;
    }
    let Some((place, text)) = allocate() else {
        return 0;
    };
    let mut bytes = [0; LONGEST];
    unsafe {
        core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size as usize);
    }
    place.write(Entry::Number(Number {
        label,
        narrow,
        value,
        length,
        format,
        signed: letter == Some(b'd'),
        base,
        size: size as u8,
        first: first as u8,
        digits: digits as u8,
        settled: false,
        bytes,
    }));
    for byte in 0..size {
        shadow::put(address + byte, text + byte as u32);
    }
    1
}

/// Where these bytes are depends on `position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text_moved(
    address: u64,
    bytes: u64,
    position: Label,
    value: u64,
) {
    if position == 0 || !state::tracing() {
        return;
    }
    let mut at = address;
    while at < address + bytes {
        let size = (address + bytes - at).min(LONGEST as u64);
        let Some((place, label)) = allocate().filter(|_| !lock::is_threaded()) else {
            // Then the position is what it is from here on.
            let site = state::call_site();
            unsafe {
                events::__chg_rt_concretize(site, position, value, LossReason::Formatted as u32);
            }
            return;
        };
        let mut moved = Moved {
            position,
            value,
            settled: false,
            cells: [0; LONGEST],
            bytes: [0; LONGEST],
        };
        for byte in 0..size {
            moved.cells[byte as usize] = shadow::get(at + byte);
            moved.bytes[byte as usize] = unsafe { *((at + byte) as *const u8) };
            shadow::put(at + byte, label + byte as u32);
        }
        place.write(Entry::Moved(moved));
        at += size;
    }
}

/// Texts in one piece of memory, by the labels of their lengths.
const TEXTS: usize = 64;
/// How deep sums of their lengths are followed.
const DEEPEST: usize = 256;
/// How many parts of a value are looked at for lengths of texts.
const MOST_PARTS: usize = 256;

/// Is `length` nothing but the number of these bytes: constants and whole texts?
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text_covers(address: u64, bytes: u64, length: Label) -> u32 {
    if length == 0 || !exist() {
        return 0;
    }
    let mut lengths = [0; TEXTS];
    let mut count = 0;
    let mut constant = 0;
    let mut at = 0;
    while at < bytes {
        if let Some((number, size)) = whole(address + at, bytes - at) {
            if number.length == 0 {
                constant += size;
            } else if count < TEXTS {
                lengths[count] = number.length;
                count += 1;
            } else {
                return 0;
            }
            at += size;
        } else if is_text(innermost(shadow::get(address + at))) {
            return 0;
        } else {
            constant += 1;
            at += 1;
        }
    }
    let mut rest = &mut lengths[..count];
    (take(length, &mut rest, &mut constant, DEEPEST) && rest.is_empty() && constant == 0) as u32
}

/// Takes the parts of a sum away; false if there is one that is not there.
fn take(label: Label, lengths: &mut &mut [Label], constant: &mut u64, depth: usize) -> bool {
    if let Some(place) = lengths.iter().position(|length| *length == label) {
        let last = lengths.len() - 1;
        lengths.swap(place, last);
        let all = core::mem::take(lengths);
        *lengths = &mut all[..last];
        return true;
    }
    let node = *table::node(label);
    if node.op != Op::Add as u8 || depth == 0 {
        return false;
    }
    if node.flags == B_CONST {
        *constant = constant.wrapping_sub(node.imm);
        return take(node.a, lengths, constant, depth - 1);
    }
    node.flags == 0
        && take(node.a, lengths, constant, depth - 1)
        && take(node.b, lengths, constant, depth - 1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text_enter() {
    unsafe { PASSING += 1 };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text_leave() {
    unsafe { PASSING = PASSING.saturating_sub(1) };
}

/// An exception has arrived somewhere: nobody knows what it has left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_text_reset() {
    unsafe { PASSING = 0 };
}
