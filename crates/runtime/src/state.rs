//! The shared mapping and the few words of global state.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace::layout::{self, Header};

/// The shared file is mapped and this process writes to it.
static TRACING: AtomicBool = AtomicBool::new(false);

/// First site that belongs to a library model; written by the start-up code.
pub static FIRST_MODEL_SITE: AtomicU32 = AtomicU32::new(u32::MAX);

/// Where the user's code last called a model from. Generated code writes it.
#[unsafe(no_mangle)]
pub static mut __chg_call_site: u32 = 0;

#[inline(always)]
pub fn tracing() -> bool {
    TRACING.load(Ordering::Relaxed)
}

pub fn set_tracing(on: bool) {
    TRACING.store(on, Ordering::Relaxed);
}

/// The header of the shared mapping. Call only while [`tracing`].
#[inline(always)]
pub fn header() -> &'static mut Header {
    unsafe { &mut *(layout::SHARED_ADDRESS as *mut Header) }
}

/// Address of something at an offset in the shared mapping.
#[inline(always)]
pub fn at<T>(offset: u64) -> *mut T {
    (layout::SHARED_ADDRESS + offset) as *mut T
}

pub fn raise(flag: u32) {
    if tracing() {
        header().run_flags |= flag;
    }
}

/// The site to blame: inside a model, the user's call of it.
#[inline]
pub fn user_site(site: u32) -> u32 {
    if site >= FIRST_MODEL_SITE.load(Ordering::Relaxed) {
        call_site()
    } else {
        site
    }
}

/// For branch events in models: the user's call, else 0.
#[inline]
pub fn caller_of_model(site: u32) -> u32 {
    if site >= FIRST_MODEL_SITE.load(Ordering::Relaxed) {
        call_site()
    } else {
        0
    }
}

#[inline]
pub fn call_site() -> u32 {
    unsafe { core::ptr::read(&raw const __chg_call_site) }
}
