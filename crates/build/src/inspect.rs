//! What kind of thing a file is, by its contents.

use crate::error::{BuildError, READ};
use crate::tools::ARCHITECTURE;
use crate::translation::Kind;
use object::{Architecture, Object, ObjectKind};
use std::path::{Path, PathBuf};

/// Refuses what a compiler would wait for, or read without end.
pub fn check_file(path: &Path) -> Result<(), BuildError> {
    let is_special = |data: std::fs::Metadata| !data.is_file() && !data.is_dir();
    match path.metadata().is_ok_and(is_special) {
        true => Err(BuildError::NotAProgram {
            path: path.to_path_buf(),
            reason: "it is a device, a pipe or a socket".into(),
        }),
        false => Ok(()),
    }
}

/// Refuses files that can be no part of a program, before a tool says so less clearly.
pub fn check_input(path: &Path, kind: Kind) -> Result<(), BuildError> {
    let not_a_program = |reason: &str| {
        Err(BuildError::NotAProgram {
            path: path.to_path_buf(),
            reason: reason.into(),
        })
    };
    if path.is_dir() {
        return not_a_program("it is a directory");
    }
    check_file(path)?;
    match kind {
        Kind::Other => not_a_program("a file of this kind is not compiled by itself"),
        Kind::Linkable => {
            let bytes = std::fs::read(path).map_err(|e| BuildError::io(READ, path, e))?;
            match contents(&bytes) {
                Contents::Object | Contents::Archive | Contents::Executable => {
                    check_architecture(path, &bytes)
                }
                Contents::Bitcode => not_a_program("bitcode must be named .bc"),
                Contents::Unknown => not_a_program(
                    "neither its name nor its contents are those of a source or an object",
                ),
            }
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    Object,
    Archive,
    /// Executables and shared libraries.
    Executable,
    Bitcode,
    Unknown,
}

pub fn contents(bytes: &[u8]) -> Contents {
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        return Contents::Archive;
    }
    if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(b"\xde\xc0\x17\x0b") {
        return Contents::Bitcode;
    }
    match object::File::parse(bytes).map(|file| file.kind()) {
        Ok(ObjectKind::Relocatable) => Contents::Object,
        Ok(ObjectKind::Executable | ObjectKind::Dynamic) => Contents::Executable,
        // Other machines may be unknown to the reader; the magic number tells enough.
        _ if bytes.starts_with(b"\x7fELF") => Contents::Object,
        _ => Contents::Unknown,
    }
}

/// Objects for another machine are refused by name.
pub fn check_architecture(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(());
    }
    let found = match object::File::parse(bytes) {
        Ok(file) if file.architecture() == Architecture::X86_64 && file.is_64() => return Ok(()),
        Ok(file) => format!("{:?}", file.architecture()).to_lowercase(),
        Err(_) => format!("something other than {ARCHITECTURE}"),
    };
    Err(BuildError::Architecture {
        path: path.to_path_buf(),
        found,
    })
}

/// The name of a file as users see it: relative to a root if it is below.
pub fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .map(PathBuf::from)
        .unwrap_or_else(|_| path.to_path_buf())
        .display()
        .to_string()
}
