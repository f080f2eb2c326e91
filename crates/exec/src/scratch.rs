//! A directory on disk for the working directory and the shim, where the kernel gives us no file system of our own.

use crate::ExecError;
use crate::workdir::Workdir;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "changeling-scratch";
static NEXT: AtomicU32 = AtomicU32::new(0);
static SWEEP: Once = Once::new();

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    pub fn create(shim: &[u8]) -> Result<Scratch, ExecError> {
        let above = std::env::temp_dir();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let born = start_time(pid).unwrap_or(0);
        let scratch = Scratch {
            root: above.join(format!("{PREFIX}-{pid}-{born}-{number}")),
        };
        let built = fs::create_dir(&scratch.root)
            .and_then(|()| fs::create_dir(scratch.work()))
            .and_then(|()| fs::write(scratch.shim(), shim));
        match built {
            Ok(()) => Ok(scratch),
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => Err(ExecError::DiskFull {
                what: format!("the scratch directory in {}", above.display()),
            }),
            Err(source) => Err(ExecError::Scratch {
                path: above,
                source,
            }),
        }
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn shim(&self) -> PathBuf {
        self.root.join("shim.so")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing more can be done about a failure here; the next start sweeps again.
        let _ = remove(&self.root);
    }
}

/// Removes the directories of owners that were killed. Once per process.
pub fn sweep() {
    SWEEP.call_once(|| {
        let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(is_stale) {
                let _ = remove(&entry.path());
            }
        }
    });
}

fn is_stale(name: &str) -> bool {
    let Some(rest) = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix('-'))
    else {
        return false;
    };
    let mut numbers = rest.split('-').map(|part| part.parse::<u64>().ok());
    let (Some(Some(pid)), Some(Some(born))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    u32::try_from(pid).is_ok_and(|pid| start_time(pid) != Some(born))
}

/// When a process was started: its number alone may be used again.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain blanks and parentheses; the fields are counted behind its end.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

fn remove(root: &Path) -> io::Result<()> {
    let directory = OwnedFd::from(fs::File::open(root)?);
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    Workdir::new(directory, user, user).clear()?;
    fs::remove_dir(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_owners_are_stale() {
        let pid = std::process::id();
        let born = start_time(pid).unwrap();
        assert!(!is_stale(&format!("{PREFIX}-{pid}-{born}-0")));
        assert!(is_stale(&format!("{PREFIX}-{pid}-{}-0", born + 1)));
        assert!(is_stale(&format!("{PREFIX}-4194305-1-0")));
        assert!(
            !is_stale("changeling-else-1-1-0")
                && !is_stale(PREFIX)
                && !is_stale("changeling-scratch-x-y")
        );
    }

    #[test]
    fn a_deep_and_locked_tree_is_removed() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::create(b"shim").unwrap();
        let root = scratch.root.clone();
        let mut path = scratch.work();
        for _ in 0..150 {
            path.push("a-directory-with-a-long-name");
            if fs::create_dir(&path).is_err() {
                break;
            }
        }
        fs::set_permissions(
            scratch.work().join("a-directory-with-a-long-name"),
            fs::Permissions::from_mode(0o000),
        )
        .unwrap();
        drop(scratch);
        assert!(!root.exists());
    }
}
