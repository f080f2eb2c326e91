//! Appending to the event log.

use crate::{libc, lock, ranges, state, texts};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use trace::event::{Event, EventKind, GuardReason, LossReason, TAKEN, probe};
use trace::node::Label;

/// Room for this many events is asked for at once; a multiple of the page size.
const STRETCH: u64 = 1 << 12;

pub fn push(kind: EventKind, flags: u8, site: u32, label: Label, aux: u32, value: u64) {
    if !state::tracing() {
        return;
    }
    let Some(_guard) = lock::acquire() else {
        return;
    };
    let header = state::header();
    let count = header.event_count;
    if count >= header.event_capacity {
        header.events_refused += 1;
        return;
    }
    let event = Event {
        kind: kind as u8,
        flags,
        thread: thread_number(),
        site,
        label,
        aux,
        value,
    };
    let place = unsafe { state::at::<Event>(header.events).add(count as usize) };
    if count.is_multiple_of(STRETCH) && count != 0 && count + STRETCH <= header.event_capacity {
        libc::populate(place.cast(), STRETCH as usize * size_of::<Event>());
    }
    unsafe { place.write(event) };
    header.event_count = count + 1;
}

pub fn guard(site: u32, label: Label, reason: GuardReason) {
    if label != 0 {
        push(
            EventKind::Guard,
            0,
            state::user_site(site),
            label,
            reason as u32,
            1,
        );
    }
}

pub fn concretize(site: u32, label: Label, value: u64, reason: LossReason) {
    if label != 0 && !texts::settle_value(label, site) {
        push(
            EventKind::Concretize,
            0,
            state::user_site(site),
            label,
            reason as u32,
            value,
        );
    }
}

pub fn loss(site: u32, label: Label, reason: LossReason) {
    push(
        EventKind::Loss,
        0,
        state::user_site(site),
        label,
        reason as u32,
        0,
    );
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_branch(site: u32, label: Label, taken: u32, within: u32) {
    if label != 0 {
        let flags = if taken != 0 { TAKEN } else { 0 };
        push(
            EventKind::Branch,
            flags,
            site,
            label,
            state::caller_of_model(site),
            within.into(),
        );
        ranges::learn(label, taken != 0);
    }
}

/// Branches on the bits of a value from `low` up to but not including `end`.
pub fn bits(site: u32, label: Label, low: u32, end: u32) {
    if label != 0 && low < end {
        let range = trace::event::bits::range(low, end);
        let caller = state::caller_of_model(site);
        push(EventKind::Bits, 0, site, label, caller, range);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_switch(site: u32, label: Label, value: u64) {
    if label != 0 {
        push(
            EventKind::Switch,
            0,
            site,
            label,
            state::caller_of_model(site),
            value,
        );
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_concretize(site: u32, label: Label, value: u64, reason: u32) {
    let Some(reason) = LossReason::from_u32(reason) else {
        return;
    };
    if label == 0 || texts::settle_value(label, site) {
        return;
    }
    if matches!(reason, LossReason::Size | LossReason::Target) && crate::table::width(label) <= 64 {
        crate::pins::pin(site, label, value);
        return;
    }
    if crate::table::width(label) > 64 {
        // The event has room for 64 bits; say that it is lost without a value.
        loss(site, label, reason);
        return;
    }
    match reason {
        LossReason::Float if crate::pins::pin_byte(site, label) => {}
        LossReason::LoadAddress | LossReason::StoreAddress => {
            crate::windows::fix(site, label, value, reason)
        }
        _ => concretize(site, label, value, reason),
    }
}

/// Between two other events so many marks are kept in full. Beyond that only the
/// last one of each block stays, so that a loop cannot fill the log.
const MARKS_IN_A_ROW: u64 = 64;

/// A watched or counted block begins; `address` is that of its coverage byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_mark(address: u64) {
    let asked = unsafe { *(address as *mut u8) };
    unsafe { *(address as *mut u8) = asked | trace::layout::EXECUTED };
    if !state::tracing() {
        return;
    }
    if asked & trace::layout::COUNTED != 0 {
        let counted = &raw mut state::header().counted;
        unsafe { AtomicU64::from_ptr(counted) }.fetch_add(1, Ordering::Relaxed);
    }
    if asked & trace::layout::WATCHED == 0 {
        return;
    }
    let block = (address - trace::layout::COVERAGE_ADDRESS) as u32;
    if !repeated(block) {
        push(EventKind::Mark, 0, 0, 0, block, 0);
    }
}

/// Whether a mark need not be appended: it is the last event, or the log has no
/// more room for marks. Takes an earlier mark of the block away if there are many.
fn repeated(block: u32) -> bool {
    let Some(_guard) = lock::acquire() else {
        return true;
    };
    let header = state::header();
    let (count, events) = (header.event_count, state::at::<Event>(header.events));
    let at = |n: u64| unsafe { &mut *events.add(n as usize) };
    let is_mark = |n: u64| at(n).kind == EventKind::Mark as u8;
    if count > 0 && is_mark(count - 1) && at(count - 1).aux == block {
        return true;
    }
    // Other events need room too.
    if count >= header.event_capacity / 2 {
        header.run_flags |= trace::layout::run_flags::MARKS_CUT;
        return true;
    }
    let mut row = 0;
    while row < count && is_mark(count - 1 - row) {
        row += 1;
        if row > MARKS_IN_A_ROW && at(count - row).aux == block {
            for n in count - row..count - 1 {
                *at(n) = *at(n + 1);
            }
            header.event_count = count - 1;
            return false;
        }
        if row > 64 * MARKS_IN_A_ROW {
            header.run_flags |= trace::layout::run_flags::MARKS_CUT;
            return true;
        }
    }
    false
}

/// So many probes of a run are kept: one in a long loop must not fill the log.
const MOST_PROBES: u64 = 1 << 12;
static PROBES: AtomicU64 = AtomicU64::new(0);
/// The same for operands of comparisons, which must not take their place.
static GAUGES: AtomicU64 = AtomicU64::new(0);

/// A value that rests on a change is about to be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_probe(code: u32, label: Label, value: u64) {
    if !state::tracing() {
        return;
    }
    if probe::gauged(code).is_some() {
        // What is left out says less, but nothing wrong.
        if GAUGES.fetch_add(1, Ordering::Relaxed) < MOST_PROBES {
            push(EventKind::Probe, 0, 0, label, code, value);
        }
        return;
    }
    match PROBES.fetch_add(1, Ordering::Relaxed) {
        count if count < MOST_PROBES => push(EventKind::Probe, 0, 0, label, code, value),
        MOST_PROBES => push(EventKind::Probe, 0, 0, 0, probe::CUT, 0),
        _ => {}
    }
}

const THREADS: usize = 256;
static KNOWN: [AtomicUsize; THREADS] = [const { AtomicUsize::new(0) }; THREADS];

/// 0 for the first thread that asks, and so on; the lock is held.
fn thread_number() -> u16 {
    if !lock::THREADED.load(Ordering::Relaxed) {
        return 0;
    }
    let me = lock::thread_pointer();
    for (number, slot) in KNOWN.iter().enumerate() {
        match slot.load(Ordering::Relaxed) {
            known if known == me => return number as u16,
            0 => {
                slot.store(me, Ordering::Relaxed);
                return number as u16;
            }
            _ => {}
        }
    }
    THREADS as u16
}

/// Called by the thread that starts the first other one, so that it gets number 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_threads() {
    if !lock::THREADED.swap(true, Ordering::Relaxed) {
        state::raise(trace::layout::run_flags::THREADS);
        thread_number();
    }
}

/// The program has forked: the child's events would mix with the parent's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_forked(pid: i32) {
    state::raise(trace::layout::run_flags::FORKED);
    if pid == 0 {
        state::set_tracing(false);
    }
}
