//! Thin safe wrappers over the system calls that the standard library does not offer.

use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Where the sources of inherited descriptors are moved, out of the way of their destinations.
const HIGH: RawFd = 256;

fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Turns the result of a call that makes a descriptor into its owner.
fn own(result: i64) -> io::Result<OwnedFd> {
    let fd = check(result)? as RawFd;
    // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An anonymous file in memory. Seals can be added only if asked for.
pub fn memory_file(name: &CStr, sealable: bool) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | if sealable { libc::MFD_ALLOW_SEALING } else { 0 };
    // SAFETY: `name` is NUL-terminated.
    Ok(File::from(own(i64::from(unsafe {
        libc::memfd_create(name.as_ptr(), flags)
    }))?))
}

/// A memory file that may be executed even where that is not the default.
pub fn executable_memory_file(name: &CStr) -> io::Result<File> {
    const MFD_EXEC: u32 = 0x10;
    // SAFETY: `name` is NUL-terminated.
    match own(i64::from(unsafe {
        libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | MFD_EXEC)
    })) {
        Ok(fd) => Ok(File::from(fd)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => memory_file(name, false),
        Err(error) => Err(error),
    }
}

/// The size of the file can no longer change, so a mapping of it can always be read.
pub fn seal_size(file: &File) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: no pointers are passed.
    check(i64::from(unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals)
    }))
    .map(drop)
}

/// Gives memory of a part of the file back; it reads as zeros afterwards.
pub fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no pointers are passed.
    check(i64::from(unsafe {
        libc::fallocate(file.as_raw_fd(), mode, offset as i64, length as i64)
    }))
    .map(drop)
}

/// Two ends of a connection that keeps messages apart.
pub fn connection() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `ends` has room for two descriptors.
    check(i64::from(unsafe {
        libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())
    }))?;
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

pub fn send(fd: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of a slice.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    check(sent as i64).map(drop)
}

/// One message with at most one attached descriptor. No message: the other side is gone, or the deadline has passed.
pub fn receive(
    fd: BorrowedFd<'_>,
    deadline: Instant,
) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    if !wait_readable(fd, deadline)? {
        return Ok(None);
    }
    let mut bytes = [0u8; 256];
    let mut control = [0u64; 8];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: every buffer that `message` points to outlives the call and has the stated length.
    let length =
        check(
            unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) } as i64,
        )?;
    if length == 0 {
        return Ok(None);
    }
    // SAFETY: the kernel filled in `message`, so the header, if any, lies inside `control`; a descriptor that came
    // with SCM_RIGHTS is ours.
    let attached = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (!header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS)
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    };
    Ok(Some((bytes[..length as usize].to_vec(), attached)))
}

fn wait_readable(fd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polled = libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let milliseconds = left.as_millis().min(i32::MAX as u128 - 1) as i32 + 1;
        // SAFETY: one pollfd is passed, as stated.
        match check(i64::from(unsafe {
            libc::poll(&mut polled, 1, milliseconds)
        })) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) => continue,
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
    }
}

/// A process that we started ourselves or know to be below one that we did.
#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
    handle: Option<OwnedFd>,
}

impl Process {
    pub fn new(pid: libc::pid_t) -> Process {
        // SAFETY: no pointers are passed.
        let handle = own(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }).ok();
        Process { pid, handle }
    }

    pub fn kill(&self) {
        match &self.handle {
            // SAFETY: a null siginfo is allowed. The handle names this very process even if its number is used again.
            Some(handle) => unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    handle.as_raw_fd(),
                    libc::SIGKILL,
                    std::ptr::null::<u8>(),
                    0,
                );
            },
            // SAFETY: no pointers are passed.
            None => unsafe {
                libc::kill(self.pid, libc::SIGKILL);
            },
        }
    }

    /// Waits for our own child and takes its status away. False if it still lives at the deadline.
    pub fn reap(&self, deadline: Instant) -> bool {
        use std::os::fd::AsFd;
        if let Some(handle) = &self.handle
            && !matches!(wait_readable(handle.as_fd(), deadline), Ok(true))
        {
            return false;
        }
        loop {
            // SAFETY: a null status is allowed.
            let reaped = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
            if reaped != 0 {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Starts the program behind `executable` with an empty environment; the descriptors in `inherited` appear at the
/// stated numbers, standard streams are /dev/null. `posix_spawn` does not copy our address space, however large it is.
pub fn spawn(
    executable: &File,
    arguments: &[&CStr],
    inherited: &[(BorrowedFd<'_>, RawFd)],
) -> io::Result<Process> {
    let executable = duplicate_high(executable.as_raw_fd())?;
    let path = CString::new(format!("/proc/self/fd/{}", executable.as_raw_fd()))?;
    let moved: Vec<(OwnedFd, RawFd)> = inherited
        .iter()
        .map(|(fd, number)| Ok((duplicate_high(fd.as_raw_fd())?, *number)))
        .collect::<io::Result<_>>()?;
    let mut pointers: Vec<*mut c_char> = arguments
        .iter()
        .map(|argument| argument.as_ptr().cast_mut())
        .collect();
    pointers.push(std::ptr::null_mut());
    let environment = [std::ptr::null_mut::<c_char>()];
    let mut pid = 0;
    // SAFETY: the actions are initialised before use and destroyed after it; all strings are NUL-terminated, both
    // vectors end in a null pointer, and everything outlives the call.
    let error = unsafe {
        let mut actions = std::mem::zeroed::<libc::posix_spawn_file_actions_t>();
        let mut error = libc::posix_spawn_file_actions_init(&mut actions);
        for number in 0..3 {
            if error == 0 {
                error = libc::posix_spawn_file_actions_addopen(
                    &mut actions,
                    number,
                    c"/dev/null".as_ptr(),
                    libc::O_RDWR,
                    0,
                );
            }
        }
        for (fd, number) in &moved {
            if error == 0 {
                error =
                    libc::posix_spawn_file_actions_adddup2(&mut actions, fd.as_raw_fd(), *number);
            }
        }
        if error == 0 {
            let (arguments, environment) = (pointers.as_ptr(), environment.as_ptr());
            error = libc::posix_spawn(
                &mut pid,
                path.as_ptr(),
                &actions,
                std::ptr::null(),
                arguments,
                environment,
            );
        }
        libc::posix_spawn_file_actions_destroy(&mut actions);
        error
    };
    if error == 0 {
        Ok(Process::new(pid))
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

fn duplicate_high(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    own(i64::from(unsafe {
        libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, HIGH)
    }))
}

pub fn open_at(
    directory: BorrowedFd<'_>,
    name: &CStr,
    flags: i32,
    mode: u32,
) -> io::Result<OwnedFd> {
    // SAFETY: `name` is NUL-terminated.
    own(i64::from(unsafe {
        libc::openat(
            directory.as_raw_fd(),
            name.as_ptr(),
            flags | libc::O_CLOEXEC,
            mode,
        )
    }))
}

pub fn make_directory_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated.
    check(i64::from(unsafe {
        libc::mkdirat(directory.as_raw_fd(), name.as_ptr(), 0o755)
    }))
    .map(drop)
}

pub fn remove_at(directory: BorrowedFd<'_>, name: &CStr, flags: i32) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated.
    check(i64::from(unsafe {
        libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), flags)
    }))
    .map(drop)
}

pub fn rename_at(
    from: BorrowedFd<'_>,
    old: &CStr,
    to: BorrowedFd<'_>,
    new: &CStr,
) -> io::Result<()> {
    // SAFETY: both names are NUL-terminated.
    let result =
        unsafe { libc::renameat(from.as_raw_fd(), old.as_ptr(), to.as_raw_fd(), new.as_ptr()) };
    check(i64::from(result)).map(drop)
}

/// Type and permission bits, without following a link.
pub fn mode_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<u32> {
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut info: libc::stat = unsafe { std::mem::zeroed() };
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated and `info` has room for the result.
    check(i64::from(unsafe {
        libc::fstatat(directory.as_raw_fd(), name.as_ptr(), &mut info, flags)
    }))?;
    Ok(info.st_mode)
}

pub fn link_target_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Vec<u8>> {
    let mut target = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: `name` is NUL-terminated; pointer and length are those of the vector.
    let length = unsafe {
        libc::readlinkat(
            directory.as_raw_fd(),
            name.as_ptr(),
            target.as_mut_ptr().cast(),
            target.len(),
        )
    };
    target.truncate(check(length as i64)? as usize);
    Ok(target)
}

pub fn change_mode(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(i64::from(unsafe { libc::fchmod(fd.as_raw_fd(), mode) })).map(drop)
}

pub fn change_owner(fd: BorrowedFd<'_>, user: u32, group: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(i64::from(unsafe {
        libc::fchown(fd.as_raw_fd(), user, group)
    }))
    .map(drop)
}

/// Access and modification time in seconds.
pub fn change_times(fd: BorrowedFd<'_>, seconds: i64) -> io::Result<()> {
    let times = [libc::timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    }; 2];
    // SAFETY: two times are passed, as the call expects.
    check(i64::from(unsafe {
        libc::futimens(fd.as_raw_fd(), times.as_ptr())
    }))
    .map(drop)
}

/// Names in a directory, sorted, without `.` and `..`.
pub fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    // A descriptor of its own: the position in the directory belongs to it.
    let own = open_at(directory, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    // SAFETY: the stream takes the descriptor over only if it was made.
    let stream = unsafe { libc::fdopendir(own.as_raw_fd()) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    std::mem::forget(own);
    let mut names = Vec::new();
    loop {
        // SAFETY: the stream is open; the entry is copied before the next call; its name is NUL-terminated.
        let name = unsafe {
            let entry = libc::readdir(stream);
            if entry.is_null() {
                break;
            }
            CStr::from_ptr((*entry).d_name.as_ptr()).to_owned()
        };
        if name.as_bytes() != b"." && name.as_bytes() != b".." {
            names.push(name);
        }
    }
    // SAFETY: the stream is open and not used afterwards.
    unsafe { libc::closedir(stream) };
    names.sort();
    Ok(names)
}
