//! What can go wrong before there is an observation. What a program does to itself is never an error.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ExecError {
    #[error("{path}: no such program; check the path, or build it first", path = .path.display())]
    Missing { path: PathBuf },
    #[error("{path}: cannot be read: {source}; check its permissions", path = .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path}: is not a regular file; give the path of the program itself", path = .path.display())]
    NotAFile { path: PathBuf },
    #[error("{path}: is not executable; `chmod +x` it if it is a program", path = .path.display())]
    NotExecutable { path: PathBuf },
    #[error("{path}: is not a native program ({found}); give an ELF executable", path = .path.display())]
    NotAProgram { path: PathBuf, found: String },
    #[error("{path}: is built for {found}, but this machine runs {expected}; build it for this machine", path = .path.display())]
    WrongArchitecture {
        path: PathBuf,
        found: String,
        expected: &'static str,
    },
    #[error("{path}: needs the dynamic loader {loader}, which is not here; install the C library it was linked with, or link it statically", path = .path.display(), loader = .loader.display())]
    LoaderMissing { path: PathBuf, loader: PathBuf },
    #[error("{path}: cannot create the scratch directory: {source}; make it writable or set TMPDIR", path = .path.display())]
    Scratch { path: PathBuf, source: io::Error },
    #[error("no space left for {what}; free some space or memory, or lower the limits")]
    DiskFull { what: String },
    #[error(
        "the sandbox could not be set up ({step}): {source}; `changeling doctor` tells what this machine offers"
    )]
    Sandbox {
        step: &'static str,
        source: io::Error,
    },
    #[error("{path}: could not be started ({step}): {source}", path = .path.display())]
    NotStarted {
        path: PathBuf,
        step: &'static str,
        source: io::Error,
    },
    #[error("{path}: ended before `main` when it was started for tracing ({how}); run it without tracing to see why, or raise the memory limit", path = .path.display())]
    NoServer { path: PathBuf, how: String },
    #[error("the sandbox of {path} ended twice during the same run; the program may be attacking it", path = .path.display())]
    SandboxLost { path: PathBuf },
    #[error("input: {what}")]
    Input { what: String },
    #[error(
        "the input's streams or arguments differ from those the traced program was started with: {what}"
    )]
    Shape { what: String },
    #[error("the traced program was built for another trace format ({found}); build it again")]
    Format { found: String },
}

impl ExecError {
    /// Wraps an error of the file system, telling a full disk from the rest.
    pub(crate) fn sandbox(step: &'static str, source: io::Error) -> ExecError {
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => ExecError::DiskFull {
                what: step.to_string(),
            },
            _ => ExecError::Sandbox { step, source },
        }
    }
}
