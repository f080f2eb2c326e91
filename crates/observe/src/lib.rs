//! Values that a program shows to Changeling although it does not print them.
//!
//! An observed value is part of the program's observable behaviour: two
//! versions that observe different values, or in a different order, behave
//! differently. Outside of Changeling the calls do nothing.
//!
//! ```
//! changeling_observe::observe("queue length", 3);
//! changeling_observe::observe_bytes("key", b"\x01\xff");
//! ```

use std::ffi::{CStr, CString, c_char, c_longlong, c_void};
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Names the descriptor that observed values are written to.
const VARIABLE: &str = "CHANGELING_OBSERVE_FD";

/// Observes a number.
pub fn observe(name: &str, value: i64) {
    let name = terminated(name);
    // SAFETY: the name is a NUL-terminated string that lives during the call.
    unsafe { changeling_observe(name.as_ptr(), value) }
}

/// Observes bytes; they are shown as hexadecimal digits.
pub fn observe_bytes(name: &str, bytes: &[u8]) {
    let name = terminated(name);
    // SAFETY: as above, and the slice is valid for its length.
    unsafe { changeling_observe_bytes(name.as_ptr(), bytes.as_ptr().cast(), bytes.len()) }
}

/// The same function, under the same name, as in `changeling.h`: a tracer looks for it.
///
/// # Safety
/// `name` must be null or a NUL-terminated string.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn changeling_observe(name: *const c_char, value: c_longlong) {
    // SAFETY: promised by the caller.
    put(unsafe { read_name(name) }, &value.to_string());
}

/// The same function, under the same name, as in `changeling.h`.
///
/// # Safety
/// `name` must be null or a NUL-terminated string; `bytes` must be valid for `count` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn changeling_observe_bytes(
    name: *const c_char,
    bytes: *const c_void,
    count: usize,
) {
    let bytes: &[u8] = if count == 0 {
        &[]
    } else {
        // SAFETY: promised by the caller.
        unsafe { std::slice::from_raw_parts(bytes.cast(), count) }
    };
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // SAFETY: promised by the caller.
    put(unsafe { read_name(name) }, &digits);
}

fn put(name: String, value: &str) {
    let variable = std::env::var(VARIABLE).ok();
    let Some(descriptor) = variable.and_then(|text| text.parse::<u16>().ok()) else {
        return;
    };
    // SAFETY: whoever sets the variable opens this descriptor for us and for nothing else; it is not
    // closed here. If it is not open, writing fails and nothing happens.
    let file = unsafe { File::from_raw_fd(descriptor.into()) };
    // There is nobody to tell if this fails.
    let _ = ManuallyDrop::new(file).write_all(line(&name, value).as_bytes());
}

/// Characters that would break the line are replaced, and long names are cut, as in `changeling.h`.
fn line(name: &str, value: &str) -> String {
    const LONGEST_NAME: usize = 199;
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}={value}\n", name[..end].replace(['\n', '='], "_"))
}

fn terminated(name: &str) -> CString {
    let end = name.find('\0').unwrap_or(name.len());
    CString::new(&name[..end]).unwrap_or_default()
}

/// # Safety
/// `name` must be null or a NUL-terminated string.
unsafe fn read_name(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_be_broken() {
        assert_eq!(line("a=b\nc", "7"), "a_b_c=7\n");
        assert_eq!(line(&"x".repeat(300), "7").len(), 199 + 3);
    }

    #[test]
    fn names_end_at_nul() {
        assert_eq!(terminated("a\0b").as_bytes(), b"a");
    }
}
