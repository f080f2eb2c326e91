//! Where LLVM cannot go on, it ends the process with exit code 1, which has another meaning here.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicI32, Ordering};

static CODE: AtomicI32 = AtomicI32::new(70);

/// From now on LLVM ends the process with this exit code.
pub fn llvm_ends_with(code: i32) {
    CODE.store(code, Ordering::Relaxed);
    // SAFETY: the handler takes what LLVM gives it and does not come back.
    unsafe { inkwell::support::error_handling::install_fatal_error_handler(give_up) }
}

extern "C" fn give_up(reason: *const c_char) {
    // SAFETY: LLVM hands over a text that ends with a NUL.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    eprintln!("error: LLVM could not go on: {reason}");
    std::process::exit(CODE.load(Ordering::Relaxed))
}
