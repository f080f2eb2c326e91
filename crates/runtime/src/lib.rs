//! The library inside a traced program.
//!
//! Traced code enters it only when something is symbolic. It appends nodes and
//! events to the shared mapping described in `changeling_trace::layout`, keeps
//! the shadow of memory, and runs the fork server in front of `main`.
//!
//! It shares a process with a program that may do anything, and is linked into
//! Rust programs too, so it uses no standard library and exports nothing but
//! `__chg_*` names.
//!
//! Absent on purpose: solving, deciding what is worth a question, and memory from the program's own allocator.
#![cfg_attr(feature = "embedded", no_std)]
#![allow(clippy::deref_addrof)] // a raw reference is the way to name a mutable static
#![allow(clippy::missing_safety_doc)] // every entry point is called by generated code only

extern crate changeling_trace as trace;

mod arith;
mod copies;
mod events;
mod foreign;
mod inputs;
mod libc;
mod lock;
mod memory;
mod objects;
mod outputs;
mod pins;
mod ranges;
mod server;
mod shadow;
mod simplify;
mod state;
mod table;
mod texts;
mod wide;
mod windows;

#[cfg(feature = "embedded")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // A fault of ours inside somebody's program: end it visibly.
    unsafe { libc::abort() }
}

/// The precompiled `core` refers to it although nothing unwinds here.
#[cfg(feature = "embedded")]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
