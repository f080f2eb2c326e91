//! Writing files so that a reader never sees half of one, and reading nothing that is no file.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// How names begin that are there for a moment only.
pub(crate) const TEMPORARY: &str = ".tmp-";

#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Adds the path and what was attempted to an error.
pub fn attempt<T>(
    action: &'static str,
    path: &Path,
    result: std::io::Result<T>,
) -> Result<T, FileError> {
    result.map_err(|source| FileError {
        action,
        path: path.to_owned(),
        source,
    })
}

/// A directory to write in, which may be there.
pub fn make_directory(path: &Path) -> Result<(), FileError> {
    let made = match path.metadata() {
        Ok(kind) if !kind.is_dir() => Err(std::io::Error::other(
            "there is a file of this name, not a directory",
        )),
        _ => std::fs::create_dir_all(path),
    };
    attempt("make the directory", path, made)
}

/// An error about a file that is there for a moment only: nobody is helped by its name.
pub(crate) fn unnamed(error: std::io::Error) -> std::io::Error {
    error.kind().into()
}

/// Opens a file that somebody named. A pipe would keep us waiting, and a device may have no end.
pub fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = std::fs::metadata(path)?.file_type();
    let other = match kind {
        kind if kind.is_file() => return File::open(path),
        kind if kind.is_dir() => "directory",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        _ => "device",
    };
    let message = format!("it is a {other}, not a file");
    Err(std::io::Error::new(
        std::io::ErrorKind::InvalidInput,
        message,
    ))
}

/// All that is in a file.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same of a file of text.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Writes beside the target, then renames: the file is the old one or the new one.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let mut file = attempt(
        "write in",
        parent,
        tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(parent)
            .map_err(unnamed),
    )?;
    attempt("write", path, file.write_all(contents))?;
    attempt("write", path, make_readable(file.path()))?;
    attempt(
        "write",
        path,
        file.persist(path).map(drop).map_err(|error| error.error),
    )
}

/// The same where nothing of somebody else's may be overwritten: a file of the name must have these contents already.
pub fn write_fresh(path: &Path, contents: &[u8], force: bool) -> Result<(), FileError> {
    is_free(path, contents, force)?;
    write_atomically(path, contents)
}

/// Whether that would be allowed.
pub fn is_free(path: &Path, contents: &[u8], force: bool) -> Result<(), FileError> {
    let free = force
        || path.symlink_metadata().is_err()
        || read(path).is_ok_and(|there| there == contents);
    let there = "there is another file of this name, which is not overwritten";
    let free = free
        .then_some(())
        .ok_or_else(|| std::io::Error::other(there));
    attempt("write", path, free)
}

/// Temporary files are private; reports are not.
fn make_readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

/// Makes `target` the new directory `fresh`; what was there goes away. There is a
/// whole directory at `target` at every moment, if there was one before.
pub(crate) fn replace_directory(fresh: &Path, target: &Path) -> Result<(), FileError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    if target.symlink_metadata().is_err() {
        return attempt("write", target, std::fs::rename(fresh, target));
    }
    let exchanged = renameat_with(CWD, fresh, CWD, target, RenameFlags::EXCHANGE);
    if exchanged.is_err() {
        // Some file systems cannot exchange.
        attempt("replace", target, std::fs::remove_dir_all(target))?;
        return attempt("replace", target, std::fs::rename(fresh, target));
    }
    attempt("delete", fresh, std::fs::remove_dir_all(fresh))
}

/// 128-bit FNV-1a: names that depend on the contents alone.
pub fn content_name<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    const PRIME: u128 = 0x0000000001000000000000000000013b;
    let mut hash: u128 = 0x6c62272e07bb014262b821756295c58d;
    for part in parts {
        // The length keeps "ab","c" apart from "a","bc".
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, b"1").unwrap();
        write_atomically(&path, b"2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = folder.path().join("no/such/file");
        let error = write_atomically(&missing, b"").unwrap_err();
        assert!(error.to_string().starts_with("cannot write in"), "{error}");
    }

    #[test]
    fn only_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path).unwrap(), "text");
        assert_eq!(read(&path).unwrap(), b"text");
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        for (path, what) in [
            (folder.path().to_owned(), "directory"),
            (folder.path().join("s"), "socket"),
            ("/dev/zero".into(), "device"),
        ] {
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn names_depend_on_where_parts_end() {
        let name = |parts: &[&str]| content_name(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_eq!(name(&["ab"]), name(&["ab"]));
        assert_eq!(name(&[]).len(), 32);
    }
}
