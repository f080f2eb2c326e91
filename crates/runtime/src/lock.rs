//! One lock around the tables, for programs with threads.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Set once a second thread starts; before that the lock is not touched.
pub static THREADED: AtomicBool = AtomicBool::new(false);

pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Proof that this thread may append to the tables.
pub struct Guard {
    locked: bool,
}

/// None if this very thread holds the lock already: a signal handler has
/// interrupted the runtime and must not touch half-written tables.
#[inline(always)]
pub fn acquire() -> Option<Guard> {
    if !THREADED.load(Ordering::Relaxed) {
        return Some(Guard { locked: false });
    }
    contend()
}

#[cold]
fn contend() -> Option<Guard> {
    let me = thread_pointer();
    if OWNER.load(Ordering::Relaxed) == me {
        return None;
    }
    while OWNER
        .compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        core::hint::spin_loop();
    }
    Some(Guard { locked: true })
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.locked {
            OWNER.store(0, Ordering::Release);
        }
    }
}

/// The address of the thread control block: unique per living thread.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    unsafe {
        // The first word behind FS points to itself in the x86-64 ABI.
        core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}
