//! The few C library functions that the runtime needs.

use core::ffi::{c_char, c_int, c_long, c_void};

unsafe extern "C" {
    #[cfg(feature = "embedded")]
    pub fn abort() -> !;
    pub fn _exit(code: c_int) -> !;
    pub fn mmap(
        addr: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        off: c_long,
    ) -> *mut c_void;
    pub fn munmap(addr: *mut c_void, len: usize) -> c_int;
    pub fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int;
    pub fn read(fd: c_int, buf: *mut c_void, n: usize) -> isize;
    pub fn write(fd: c_int, buf: *const c_void, n: usize) -> isize;
    pub fn lseek(fd: c_int, off: c_long, whence: c_int) -> c_long;
    pub fn close(fd: c_int) -> c_int;
    pub fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    pub fn fork() -> c_int;
    pub fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn chdir(path: *const c_char) -> c_int;
    pub fn getenv(name: *const c_char) -> *mut c_char;
    pub fn unsetenv(name: *const c_char) -> c_int;
    pub fn putenv(text: *mut c_char) -> c_int;
    pub fn strlen(text: *const c_char) -> usize;
    pub fn strcmp(a: *const c_char, b: *const c_char) -> c_int;
    pub fn realpath(path: *const c_char, out: *mut c_char) -> *mut c_char;
    pub fn fstat(fd: c_int, out: *mut Status) -> c_int;
    pub fn stat(path: *const c_char, out: *mut Status) -> c_int;
}

/// `struct stat`, of which only the first two numbers are of use here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub device: u64,
    pub number: u64,
    rest: [u64; 16],
}

impl Status {
    pub const NONE: Status = Status {
        device: 0,
        number: 0,
        rest: [0; 16],
    };
}

const F_GETFL: c_int = 3;
const O_ACCMODE: c_int = 3;
const O_WRONLY: c_int = 1;
pub const PROT_READ: c_int = 1;
pub const PROT_WRITE: c_int = 2;
pub const MAP_SHARED: c_int = 1;
pub const MAP_PRIVATE: c_int = 2;
pub const MAP_FIXED_NOREPLACE: c_int = 0x10_0000;
pub const MAP_ANONYMOUS: c_int = 0x20;
pub const MAP_NORESERVE: c_int = 0x4000;
pub const MADV_NOHUGEPAGE: c_int = 15;
const MADV_POPULATE_WRITE: c_int = 23;
pub const SEEK_SET: c_int = 0;
pub const SEEK_CUR: c_int = 1;
pub const EINTR: c_int = 4;

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// Whether what is written to a descriptor may be read again: through a pipe, or from a file that
/// is open for both.
pub fn is_readable(fd: c_int) -> bool {
    unsafe {
        let before = errno();
        let mode = fcntl(fd, F_GETFL) & O_ACCMODE;
        let readable = mode != O_WRONLY || lseek(fd, 0, SEEK_CUR) < 0;
        *__errno_location() = before;
        readable
    }
}

pub fn errno() -> c_int {
    unsafe { *__errno_location() }
}

/// Below it nothing is in use.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let pointer: u64;
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Backs memory that will soon be written, all at once: a fault for each page
/// costs several times more. Where the kernel cannot, the faults come as usual.
#[cold]
pub fn populate(address: *mut c_void, bytes: usize) {
    unsafe {
        // The program under test must not see what became of this.
        let errno = __errno_location();
        let before = *errno;
        madvise(address, bytes, MADV_POPULATE_WRITE);
        *errno = before;
    }
}

/// Anonymous zeroed memory, or null.
pub fn zeroed(bytes: usize) -> *mut c_void {
    let memory = unsafe {
        mmap(
            core::ptr::null_mut(),
            bytes,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1,
            0,
        )
    };
    if memory as isize == -1 {
        core::ptr::null_mut()
    } else {
        memory
    }
}
