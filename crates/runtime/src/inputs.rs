//! Where symbolic bytes come from.

use crate::{events, libc, shadow, state, table};
use core::ffi::{CStr, c_char};
use trace::event::LossReason;
use trace::layout::{InputHeader, StreamHeader, StreamKind, unseen};
use trace::node::{Label, Node, Op};

pub fn input_header() -> &'static InputHeader {
    unsafe { &*state::at(state::header().input) }
}

pub fn streams() -> &'static [StreamHeader] {
    if !state::tracing() {
        return &[];
    }
    let first = state::header().input + size_of::<InputHeader>() as u64;
    unsafe { core::slice::from_raw_parts(state::at(first), input_header().stream_count as usize) }
}

pub fn stream(number: i32) -> Option<&'static StreamHeader> {
    streams().get(usize::try_from(number).ok()?)
}

const STREAMS: usize = 64;

/// How far into each stream traced code has read.
static mut LABELLED: [u64; STREAMS] = [0; STREAMS];

/// At the end of a run: did code that is not traced read input past the models?
pub fn report_untraced_reads() {
    for (number, stream) in streams().iter().enumerate() {
        if stream.kind != StreamKind::Stdin as u32
            || unsafe { __chg_rt_fd_stream(0) } != number as i32
        {
            continue;
        }
        let position = unsafe { libc::lseek(0, 0, libc::SEEK_CUR) };
        let labelled = unsafe { (*(&raw const LABELLED))[number.min(STREAMS - 1)] };
        if position > 0 && position as u64 > labelled {
            untraced(number as i32);
        }
    }
}

/// Input that reaches the program through code that is not traced.
fn untraced(number: i32) {
    let has_length = stream(number).is_some_and(|stream| {
        stream.kind != StreamKind::Argument as u32 && stream.kind != StreamKind::Environment as u32
    });
    let label = if has_length {
        unsafe { __chg_rt_length_label(number) }
    } else {
        first_byte(number)
    };
    events::loss(0, label, LossReason::ExternalMemory);
}

fn first_byte(number: i32) -> Label {
    let Some(stream) = stream(number) else {
        return 0;
    };
    table::intern(Node {
        op: Op::Input as u8,
        width: 8,
        a: number as u32,
        value: unsafe { *state::at::<u8>(stream.data) } as u64,
        ..Node::default()
    })
}

/// The program may read this, bits of [`unseen`], in code that is not traced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_untraced_input(which: u32) {
    for (number, stream) in streams().iter().enumerate() {
        let is = |kind: StreamKind| stream.kind == kind as u32;
        let kinds = if is(StreamKind::File) {
            unseen::FILES
        } else if is(StreamKind::Stdin) {
            unseen::STDIN
        } else if is(StreamKind::Argument) {
            unseen::ARGUMENTS
        } else if is(StreamKind::Environment) {
            unseen::ENVIRONMENT | readers(unsafe { CStr::from_ptr(state::at(stream.name)) })
        } else {
            unseen::HARNESS
        };
        if which & kinds != 0 {
            untraced(number as i32);
        }
    }
}

/// What libraries do that look at the variable of this name.
fn readers(name: &CStr) -> u32 {
    match name.to_bytes() {
        b"HOME" => unseen::HOME,
        b"LANG" | b"LANGUAGE" | b"LOCPATH" | b"NLSPATH" => unseen::LOCALE,
        b"TMPDIR" | b"TMP" | b"TEMP" | b"TEMPDIR" => unseen::TEMPORARY,
        b"TZ" | b"TZDIR" => unseen::TIME_ZONE,
        name if name.starts_with(b"LC_") => unseen::LOCALE,
        _ => 0,
    }
}

/// A file that is no stream is opened to be read: the system shows some of the input in files of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_reads_system_file(path: *const c_char) {
    let mut resolved = [0 as c_char; 4096];
    if unsafe { libc::realpath(path, resolved.as_mut_ptr()) }.is_null() {
        return;
    }
    let name = unsafe { CStr::from_ptr(resolved.as_ptr()) }.to_bytes();
    if !name.starts_with(b"/proc/") {
        return;
    }
    let which = if name.ends_with(b"/environ") {
        unseen::ENVIRONMENT
    } else if name.ends_with(b"/cmdline") {
        unseen::ARGUMENTS
    } else if name.ends_with(b"/mem") {
        u32::MAX
    } else {
        0
    };
    unsafe { __chg_rt_untraced_input(which) };
}

const DESCRIPTORS: usize = 1024;

/// Stream behind each descriptor, plus one.
static mut BOUND: [u16; DESCRIPTORS] = [0; DESCRIPTORS];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_fd_stream(fd: i32) -> i32 {
    match usize::try_from(fd) {
        Ok(fd) if fd < DESCRIPTORS => unsafe { BOUND[fd] as i32 - 1 },
        _ => -1,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_fd_bind(fd: i32, stream: i32) {
    if let Ok(fd) = usize::try_from(fd)
        && fd < DESCRIPTORS
    {
        unsafe { BOUND[fd] = (stream + 1) as u16 };
    }
}

/// Which file standard input was at the start.
static mut STDIN: libc::Status = libc::Status::NONE;

/// Standard input is a stream.
pub fn bind_stdin(number: i32) {
    unsafe {
        __chg_rt_fd_bind(0, number);
        libc::fstat(0, &raw mut STDIN);
    }
}

/// The symbolic file that a path names, after links and dots are resolved. Standard input has names, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_path_stream(path: *const c_char) -> i32 {
    let mut resolved = [[0 as c_char; 4096]; 2];
    for (number, stream) in streams().iter().enumerate() {
        let is = |kind: StreamKind| stream.kind == kind as u32;
        let is_named = if is(StreamKind::File) {
            let name = state::at::<c_char>(stream.name);
            let [ours, theirs] = &mut resolved;
            unsafe {
                libc::strcmp(name, path) == 0
                    || !libc::realpath(path, theirs.as_mut_ptr()).is_null()
                        && !libc::realpath(name, ours.as_mut_ptr()).is_null()
                        && libc::strcmp(ours.as_ptr(), theirs.as_ptr()) == 0
            }
        } else {
            is(StreamKind::Stdin) && is_stdin(path)
        };
        if is_named {
            return number as i32;
        }
    }
    -1
}

fn is_stdin(path: *const c_char) -> bool {
    let mut found = libc::Status::NONE;
    let stdin = unsafe { STDIN };
    let is_there = unsafe { libc::stat(path, &mut found) } == 0;
    is_there && stdin.number != 0 && (found.device, found.number) == (stdin.device, stdin.number)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_length_value(number: i32) -> u64 {
    stream(number).map_or(0, |stream| stream.length)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_length_label(number: i32) -> Label {
    let Some(stream) = stream(number) else {
        return 0;
    };
    table::intern(Node {
        op: Op::Length as u8,
        width: 64,
        a: number as u32,
        value: stream.length,
        ..Node::default()
    })
}

/// Labels memory as bytes of a stream. The bytes are there already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_label_input(address: u64, bytes: u64, number: i32, offset: u64) {
    if stream(number).is_none() {
        return;
    }
    if let Some(seen) = unsafe { (*(&raw mut LABELLED)).get_mut(number as usize) } {
        *seen = (*seen).max(offset + bytes);
    }
    for index in 0..bytes {
        let at = address + index;
        let label = table::intern(Node {
            op: Op::Input as u8,
            width: 8,
            a: number as u32,
            imm: offset + index,
            value: unsafe { *(at as *const u8) } as u64,
            ..Node::default()
        });
        shadow::put(at, label);
    }
}

/// The harness buffer's stream, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_harness_stream() -> i32 {
    streams()
        .iter()
        .position(|stream| stream.kind == StreamKind::Harness as u32)
        .map_or(-1, |number| number as i32)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_stream_data(number: i32) -> *const u8 {
    stream(number).map_or(core::ptr::null(), |stream| state::at(stream.data))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_stream_capacity(number: i32) -> u64 {
    stream(number).map_or(0, |stream| stream.capacity)
}
