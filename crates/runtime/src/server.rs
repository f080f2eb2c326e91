//! Start of a traced program: the fork server, then arguments and environment.

use crate::{inputs, libc, shadow, state};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering;
use trace::layout::{self, ArgumentHeader, StreamKind};

/// Called first thing in `main`. Returns once per run, in a child of the server;
/// in a program that is not being traced it returns at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_start(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    first_model_site: u32,
    blocks: u64,
) {
    state::FIRST_MODEL_SITE.store(first_model_site, Ordering::Relaxed);
    let Some(fd) = shared_descriptor() else {
        return;
    };
    if !map_shared(fd) {
        fail(b"changeling: the shared trace file cannot be mapped\n");
    }
    serve();
    state::set_tracing(true);
    let header = state::header();
    header.block_count = blocks;
    header.run_flags |= layout::run_flags::STARTED;
    unsafe {
        libc::close(fd);
        prepare_run(argc, argv);
    }
}

fn shared_descriptor() -> Option<c_int> {
    let name = c"CHANGELING_SHARED_FD".as_ptr();
    let text = unsafe { libc::getenv(name) };
    if text.is_null() {
        return None;
    }
    let mut number = 0;
    let mut at = text;
    unsafe {
        while *at != 0 {
            number = number * 10 + (*at as u8).wrapping_sub(b'0') as c_int;
            at = at.add(1);
        }
        // The program must see the environment that a plain run sees.
        libc::unsetenv(name);
    }
    Some(number)
}

fn map_shared(fd: c_int) -> bool {
    let page = layout::PAGE as usize;
    let Some(first) = map(
        layout::SHARED_ADDRESS,
        page,
        fd,
        0,
        libc::MAP_FIXED_NOREPLACE,
    ) else {
        return false;
    };
    let header = unsafe { *(first as *const layout::Header) };
    if header.magic != layout::MAGIC || header.version != layout::VERSION {
        return false;
    }
    unsafe { libc::munmap(first, page) };
    let coverage = header.coverage_capacity.min(layout::COVERAGE_SIZE) as usize;
    unsafe { libc::munmap(layout::COVERAGE_ADDRESS as *mut c_void, coverage) };
    map(
        layout::SHARED_ADDRESS,
        header.size as usize,
        fd,
        0,
        libc::MAP_FIXED_NOREPLACE,
    )
    .is_some()
        && map(
            layout::COVERAGE_ADDRESS,
            coverage,
            fd,
            header.coverage as i64,
            libc::MAP_FIXED_NOREPLACE,
        )
        .is_some()
}

fn map(address: u64, bytes: usize, fd: c_int, offset: i64, flags: c_int) -> Option<*mut c_void> {
    let wanted = address as *mut c_void;
    let got = unsafe {
        libc::mmap(
            wanted,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | flags,
            fd,
            offset,
        )
    };
    (got == wanted).then_some(got)
}

/// Waits for commands and forks. Returns in the children, and at once if there
/// is no one at the other end (a single run, started by hand).
fn serve() {
    if !send(layout::HELLO) {
        return;
    }
    loop {
        if receive() != Some(layout::COMMAND_RUN) {
            unsafe { libc::_exit(0) };
        }
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe {
                libc::close(layout::COMMAND_FD);
                libc::close(layout::REPLY_FD);
            }
            return;
        }
        send(child as u32);
        let mut status = 0;
        while child > 0
            && unsafe { libc::waitpid(child, &mut status, 0) } < 0
            && libc::errno() == libc::EINTR
        {}
        send(status as u32);
    }
}

fn send(word: u32) -> bool {
    let bytes = word.to_le_bytes();
    unsafe { libc::write(layout::REPLY_FD, bytes.as_ptr().cast(), 4) == 4 }
}

fn receive() -> Option<u32> {
    let mut bytes = [0; 4];
    loop {
        let got = unsafe { libc::read(layout::COMMAND_FD, bytes.as_mut_ptr().cast(), 4) };
        if got == 4 {
            return Some(u32::from_le_bytes(bytes));
        }
        if got >= 0 || libc::errno() != libc::EINTR {
            return None;
        }
    }
}

unsafe fn prepare_run(argc: *mut c_int, argv: *mut *mut *mut c_char) {
    let input = inputs::input_header();
    unsafe {
        libc::lseek(0, 0, libc::SEEK_SET);
        if input.directory != 0 && libc::chdir(state::at(input.directory)) != 0 {
            fail(b"changeling: the working directory cannot be entered\n");
        }
        for (number, stream) in inputs::streams().iter().enumerate() {
            if stream.kind == StreamKind::Stdin as u32 {
                inputs::bind_stdin(number as i32);
            } else if stream.kind == StreamKind::Environment as u32 {
                set_variable(number as i32, stream);
            }
        }
        set_arguments(argc, argv);
    }
}

/// `NAME=value`, where the value's bytes are symbolic up to the bound.
unsafe fn set_variable(number: i32, stream: &layout::StreamHeader) {
    unsafe {
        let name = state::at::<c_char>(stream.name);
        let length = libc::strlen(name);
        let text = memory(length + 2 + stream.capacity as usize);
        core::ptr::copy_nonoverlapping(name as *const u8, text, length);
        *text.add(length) = b'=';
        symbolic_string(number, stream, text.add(length + 1));
        libc::putenv(text.cast());
    }
}

unsafe fn set_arguments(argc: *mut c_int, argv: *mut *mut *mut c_char) {
    let input = inputs::input_header();
    let count = input.argument_count as usize;
    unsafe {
        crate::objects::begin_stack(argv as u64);
        let size = (count + 2) * 8;
        let table = memory(size) as *mut *mut c_char;
        // Where it ends is known, so that what is in it can be followed.
        crate::objects::add_labelled(table as u64, size as u64);
        *table = if input.program_name != 0 {
            copy(state::at(input.program_name))
        } else {
            **argv
        };
        for index in 0..count {
            let argument = &*state::at::<ArgumentHeader>(input.arguments).add(index);
            *table.add(index + 1) = match inputs::stream(argument.stream as i32) {
                Some(stream) => {
                    let text = memory(stream.capacity as usize + 1);
                    symbolic_string(argument.stream as i32, stream, text);
                    text.cast()
                }
                None => copy(state::at(argument.text)),
            };
        }
        *argc = count as c_int + 1;
        *argv = table;
    }
}

unsafe fn symbolic_string(number: i32, stream: &layout::StreamHeader, to: *mut u8) {
    let capacity = stream.capacity as usize;
    unsafe {
        core::ptr::copy_nonoverlapping(
            state::at::<u8>(stream.data),
            to,
            stream.length.min(stream.capacity) as usize,
        );
        *to.add(capacity) = 0;
        inputs::__chg_rt_label_input(to as u64, stream.capacity, number, 0);
        crate::objects::add_labelled(to as u64, stream.capacity + 1);
    }
}

unsafe fn copy(text: *const c_char) -> *mut c_char {
    unsafe {
        let length = libc::strlen(text) + 1;
        let to = memory(length);
        core::ptr::copy_nonoverlapping(text as *const u8, to, length);
        to.cast()
    }
}

/// Memory that is never given back: the run's arguments live as long as it does.
fn memory(bytes: usize) -> *mut u8 {
    let got = libc::zeroed(bytes.max(1)) as *mut u8;
    if got.is_null() {
        fail(b"changeling: no memory for the arguments\n");
    }
    shadow::clear(got as u64, bytes as u64);
    got
}

fn fail(message: &[u8]) -> ! {
    unsafe {
        libc::write(2, message.as_ptr().cast(), message.len());
        libc::_exit(126)
    }
}

/// The run ended in an orderly way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __chg_rt_finished() {
    inputs::report_untraced_reads();
    state::raise(layout::run_flags::FINISHED);
}
