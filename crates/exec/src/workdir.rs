//! The working directory of a run: filled from the input, observed afterwards, emptied again.
//!
//! Everything goes through the directory's descriptor and never follows a link, because the directory may be in another
//! mount namespace and because what is in it was made by a hostile program.

use crate::{ExecError, Limits, system};
use changeling_trace::input::Input;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Files of an input are as old as the fixed clock says it is.
pub const EPOCH_SECONDS: i64 = 1_700_000_000;
const MAX_DEPTH: usize = 32;
const MAX_ENTRIES: usize = 1024;

#[derive(Debug)]
pub struct Workdir {
    directory: OwnedFd,
    /// Who the program is, if that is not us.
    owner: Option<(u32, u32)>,
    /// Nothing was in it after the last run, and there was none since.
    is_empty: bool,
}

/// What is in the directory after a run, compared with what was there before.
#[derive(Debug, Default)]
pub struct Contents {
    pub files: Vec<(String, Vec<u8>)>,
    pub removed: Vec<String>,
    pub truncated: bool,
}

impl Workdir {
    pub fn new(directory: OwnedFd, user: u32, group: u32) -> Workdir {
        // SAFETY: asks for a number.
        let own = unsafe { libc::geteuid() };
        Workdir {
            directory,
            owner: (own != user).then_some((user, group)),
            is_empty: false,
        }
    }

    /// Makes the directory the program's own.
    pub fn adopt(&self) -> io::Result<()> {
        self.hand_over(self.directory.as_fd())
    }

    /// Removes everything. However deep a tree is, only two levels are open at a time: what lies deeper is moved up.
    pub fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_empty) {
            return Ok(());
        }
        let root = self.directory.as_fd();
        system::change_mode(root, 0o755)?;
        let mut moved = 0u64;
        loop {
            let names = system::names(root)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                if system::remove_at(root, &name, 0).is_ok()
                    || system::remove_at(root, &name, libc::AT_REMOVEDIR).is_ok()
                {
                    continue;
                }
                let directory = open_by_force(root, &name)?;
                for inner in system::names(directory.as_fd())? {
                    if system::remove_at(directory.as_fd(), &inner, 0).is_ok() {
                        continue;
                    }
                    // Moving a directory needs the right to write to it.
                    drop(open_by_force(directory.as_fd(), &inner)?);
                    moved += 1;
                    let new = CString::new(format!(".changeling-moved-{moved}"))?;
                    system::rename_at(directory.as_fd(), &inner, root, &new)?;
                }
                system::remove_at(root, &name, libc::AT_REMOVEDIR)?;
            }
        }
    }

    /// Creates the input's files.
    pub fn fill(&self, input: &Input) -> Result<(), ExecError> {
        for (name, bytes) in input.files() {
            let parts = path_parts(name)?;
            self.create(&parts, bytes)
                .map_err(|source| match source.raw_os_error() {
                    Some(libc::ENOSPC | libc::EFBIG) => ExecError::DiskFull {
                        what: format!("the input file `{name}`"),
                    },
                    _ => ExecError::Input {
                        what: format!("file `{name}` cannot be created: {source}"),
                    },
                })?;
        }
        Ok(())
    }

    pub fn observe(&mut self, input: &Input, limits: &Limits) -> io::Result<Contents> {
        system::change_mode(self.directory.as_fd(), 0o755)?;
        let before: BTreeMap<&str, &[u8]> = input.files().collect();
        let mut walk = Walk {
            before,
            limits,
            contents: Contents::default(),
            room: limits.capture.saturating_mul(4),
            seen: Vec::new(),
            entries: 0,
        };
        walk.directory(self.directory.as_fd(), "", 0)?;
        let Walk {
            before,
            mut contents,
            seen,
            entries,
            ..
        } = walk;
        self.is_empty = entries == 0;
        contents.removed = before
            .keys()
            .filter(|name| !seen.iter().any(|s| s == *name))
            .map(|name| name.to_string())
            .collect();
        if contents.truncated {
            // Not everything was looked at, so nothing can be said to be missing.
            contents.removed.clear();
        }
        contents.files.sort();
        Ok(contents)
    }

    fn create(&self, parts: &[CString], bytes: &[u8]) -> io::Result<()> {
        let (name, above) = parts
            .split_last()
            .expect("a checked path has at least one part");
        let mut directory = self.directory.try_clone()?;
        for part in above {
            match system::make_directory_at(directory.as_fd(), part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
            directory = system::open_at(directory.as_fd(), part, flags, 0)?;
            self.hand_over(directory.as_fd())?;
        }
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
        let mut file = File::from(system::open_at(directory.as_fd(), name, flags, 0o644)?);
        file.write_all(bytes)?;
        self.hand_over(file.as_fd())?;
        system::change_times(file.as_fd(), EPOCH_SECONDS)
    }

    fn hand_over(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        match self.owner {
            Some((user, group)) => system::change_owner(fd, user, group),
            None => Ok(()),
        }
    }
}

/// Parts of a relative path that stays below its start.
fn path_parts(name: &str) -> Result<Vec<CString>, ExecError> {
    let wrong = |why: &str| ExecError::Input {
        what: format!("file name `{}` {why}", name.escape_default()),
    };
    if name.starts_with('/') {
        return Err(wrong("must be relative to the working directory"));
    }
    let mut parts = Vec::new();
    for part in name
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        if part == ".." {
            return Err(wrong("must not leave the working directory"));
        }
        parts.push(CString::new(part).map_err(|_| wrong("contains a NUL byte"))?);
    }
    if parts.is_empty() || name.ends_with('/') {
        return Err(wrong("does not name a file"));
    }
    Ok(parts)
}

/// Opens a directory, making it accessible first if the program has locked it.
fn open_by_force(above: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let handle = system::open_at(
        above,
        name,
        libc::O_PATH | libc::O_NOFOLLOW | libc::O_DIRECTORY,
        0,
    )?;
    // By way of the handle: a name could have become a link to somewhere else meanwhile.
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    system::open_at(
        above,
        name,
        libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW,
        0,
    )
}

struct Walk<'a> {
    before: BTreeMap<&'a str, &'a [u8]>,
    limits: &'a Limits,
    contents: Contents,
    room: usize,
    seen: Vec<String>,
    /// Of all directories.
    entries: usize,
}

impl Walk<'_> {
    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        prefix: &str,
        depth: usize,
    ) -> io::Result<()> {
        for name in system::names(directory)? {
            self.entries += 1;
            if self.contents.files.len() >= MAX_ENTRIES || depth > MAX_DEPTH {
                self.contents.truncated = true;
                return Ok(());
            }
            let path = format!("{prefix}{}", readable(name.as_bytes()));
            let kind = system::mode_at(directory, &name)? & libc::S_IFMT;
            match kind {
                libc::S_IFREG => self.file(directory, &name, path)?,
                libc::S_IFDIR => {
                    let inner = open_by_force(directory, &name)?;
                    let path = format!("{path}/");
                    if !self.before.keys().any(|file| file.starts_with(&path)) {
                        self.contents.files.push((path.clone(), Vec::new()));
                    }
                    self.directory(inner.as_fd(), &path, depth + 1)?;
                }
                libc::S_IFLNK => {
                    let target = system::link_target_at(directory, &name)?;
                    self.contents.files.push((format!("{path}@"), target));
                }
                _ => self.contents.files.push((format!("{path}|"), Vec::new())),
            }
        }
        Ok(())
    }

    fn file(&mut self, directory: BorrowedFd<'_>, name: &CStr, path: String) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let handle = system::open_at(directory, name, libc::O_PATH | libc::O_NOFOLLOW, 0)?;
        let by_handle = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let file = File::open(&by_handle).or_else(|_| {
            std::fs::set_permissions(
                &by_handle,
                std::os::unix::fs::PermissionsExt::from_mode(0o600),
            )?;
            File::open(&by_handle)
        })?;
        let old = self.before.get(path.as_str()).copied();
        let wanted = self
            .limits
            .capture
            .min(self.room)
            .max(old.map_or(0, <[u8]>::len));
        let mut bytes = Vec::new();
        file.take(wanted as u64 + 1).read_to_end(&mut bytes)?;
        if old.is_some() {
            self.seen.push(path.clone());
        }
        if old == Some(bytes.as_slice()) {
            return Ok(());
        }
        let kept = self.limits.capture.min(self.room);
        if bytes.len() > kept {
            bytes.truncate(kept);
            self.contents.truncated = true;
        }
        self.room -= bytes.len();
        self.contents.files.push((path, bytes));
        Ok(())
    }
}

/// A file name as text; bytes that are not UTF-8 are written `\xNN`.
fn readable(name: &[u8]) -> String {
    name.utf8_chunks()
        .map(|chunk| {
            chunk
                .invalid()
                .iter()
                .fold(chunk.valid().to_string(), |text, byte| {
                    format!("{text}\\x{byte:02x}")
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        assert!(
            path_parts("../x").is_err() && path_parts("/x").is_err() && path_parts("").is_err()
        );
        assert!(
            path_parts("a/../b").is_err()
                && path_parts("a/").is_err()
                && path_parts("a\0b").is_err()
        );
        assert_eq!(
            path_parts("a/./b").unwrap(),
            [c"a".to_owned(), c"b".to_owned()]
        );
    }

    #[test]
    fn names_that_are_not_text_are_escaped() {
        assert_eq!(readable(b"a\xffb"), "a\\xffb");
    }
}
