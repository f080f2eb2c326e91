//! The output directory of a run. Every file in it is whole at every moment, so
//! that it can be read while the search goes on and after it was killed.

use crate::case::{Case, CaseError};
use crate::files::{
    FileError, TEMPORARY, attempt, content_name, replace_directory, unnamed, write_atomically,
};
use crate::log::Log;
use crate::results::Results;
use crate::terminal::{self, Style};
use crate::{escape, html, junit, markdown, sarif, streams};
use changeling_trace::input::Input;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longer streams and files are cut in `results.json`; cases have them whole.
pub const CLIP: usize = 64 * 1024;

/// A file of this name says that a directory is ours to replace. Whoever writes in the directory
/// has it locked.
const MARKER: &str = ".changeling-out";

#[derive(Clone, Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    _lock: Arc<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Case(#[from] CaseError),
    #[error(
        "{} is not an output directory of changeling, so it is left alone; \
         give --out a new or empty directory", .0.display()
    )]
    Foreign(PathBuf),
    #[error(
        "{} is a link to {}, which is not there; make that directory, or remove the link", .0.display(), .1.display()
    )]
    Dangling(PathBuf, PathBuf),
    #[error("another run of changeling is writing in {}", .0.display())]
    Busy(PathBuf),
}

impl OutputDirectory {
    /// A fresh directory. An earlier run's is kept beside it as `NAME.old`. What is not ours stays where it is.
    pub fn create(path: &Path) -> Result<OutputDirectory, DirectoryError> {
        let path = &followed(path)?;
        let mut kept = None;
        if is_used(path)? {
            if !path.join(MARKER).is_file() {
                return Err(DirectoryError::Foreign(path.to_owned()));
            }
            let _lock = lock(path)?;
            let old = old_path(path);
            if is_used(&old)? {
                if !old.join(MARKER).is_file() {
                    return Err(DirectoryError::Foreign(old));
                }
                // Of a run that was killed before it took them back.
                take_foreign(&old, path)?;
                remove(&old)?;
            }
            attempt("rename", path, std::fs::rename(path, &old))?;
            kept = Some(old);
        }
        let fresh = OutputDirectory::open(path)?;
        if let Some(old) = kept {
            take_foreign(&old, path)?;
        }
        Ok(fresh)
    }

    /// The directory of an earlier run, to go on in (or a fresh one).
    pub fn open(path: &Path) -> Result<OutputDirectory, DirectoryError> {
        let path = &followed(path)?;
        if is_used(path)? && !path.join(MARKER).is_file() {
            return Err(DirectoryError::Foreign(path.to_owned()));
        }
        attempt("make", path, std::fs::create_dir_all(path))?;
        let lock = lock(path)?;
        for part in ["cases", "corpus"] {
            let part = path.join(part);
            attempt("make", &part, std::fs::create_dir_all(&part))?;
        }
        for part in ["", "cases", "corpus", "inputs"] {
            sweep(&path.join(part));
        }
        Ok(OutputDirectory {
            path: path.to_owned(),
            _lock: Arc::new(lock),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn log(&self) -> Result<Log, DirectoryError> {
        Ok(Log::open(&self.path.join("log.jsonl"))?)
    }

    /// While the search runs: `results.json` and `summary.txt`.
    pub fn write_snapshot(&self, results: &Results) -> Result<(), DirectoryError> {
        let mut clipped = results.clone();
        for difference in &mut clipped.differences {
            difference.base.clip(CLIP);
            difference.head.clip(CLIP);
        }
        self.put("results.json", &clipped.to_json())?;
        let shown = self.path.display().to_string();
        self.put(
            "summary.txt",
            &terminal::summary(results, &shown, Style::plain(100)),
        )
    }

    /// All reports.
    pub fn write_reports(&self, results: &Results) -> Result<(), DirectoryError> {
        self.write_snapshot(results)?;
        self.put("report.html", &html::page(results))?;
        self.put("report.md", &markdown::document(results))?;
        self.put("results.sarif", &sarif::log(results))?;
        self.put("junit.xml", &junit::document(results))
    }

    /// Saves a case; gives its folder as it goes into `results.json`.
    pub fn add_case(&self, case: &Case) -> Result<String, DirectoryError> {
        case.write(&self.path.join("cases"))?;
        Ok(format!("cases/{}", case.folder_name()))
    }

    /// Folders of cases with this id, as in `results.json`. A run that was killed while it gave a case
    /// another name leaves both.
    pub fn folders_of(&self, id: &str) -> Vec<String> {
        let start = format!("{}-", escape::file_name(id));
        let Ok(entries) = std::fs::read_dir(self.path.join("cases")) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| Some(format!("cases/{}", name.to_str()?)))
            .filter(|name| name["cases/".len()..].starts_with(&start))
            .collect()
    }

    /// Removes a case's folder, so that at every moment it is whole or gone.
    pub fn remove_case(&self, folder: &str) {
        let path = self.path.join(folder);
        let hidden = path.with_file_name(format!("{TEMPORARY}{}", std::process::id()));
        if std::fs::rename(&path, &hidden).is_ok() {
            // What remains of it is swept by the next run.
            let _ = std::fs::remove_dir_all(hidden);
        }
    }

    /// The cases saved so far, by id.
    pub fn cases(&self) -> Result<Vec<Case>, DirectoryError> {
        let folder = self.path.join("cases");
        let mut cases = Vec::new();
        for entry in attempt("read", &folder, std::fs::read_dir(&folder))? {
            let entry = attempt("read", &folder, entry)?;
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                cases.push(Case::read(&entry.path())?);
            }
        }
        cases.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(cases)
    }

    /// Saves an input, once. `corpus/` has one raw file for each: the bytes of its
    /// main stream, as fuzzers take them. An input of several streams is kept
    /// whole in `inputs/` under the same name.
    pub fn add_input(&self, input: &Input) -> Result<(), DirectoryError> {
        let name = content_name(input.streams.iter().map(|stream| stream.bytes.as_slice()));
        if let Some(main) = streams::primary(input) {
            let path = self.path.join("corpus").join(&name);
            if !path.exists() {
                write_atomically(&path, &input.streams[main].bytes)?;
            }
        }
        let folder = self.path.join("inputs").join(&name);
        if input.streams.len() < 2 || folder.exists() {
            return Ok(());
        }
        let parent = self.path.join("inputs");
        attempt("make", &parent, std::fs::create_dir_all(&parent))?;
        let builder = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(&parent);
        let fresh = attempt("write in", &parent, builder.map_err(unnamed))?;
        for (number, stream) in input.streams.iter().enumerate() {
            let path = fresh.path().join(streams::file_name(input, number));
            attempt("write", &path, std::fs::write(&path, &stream.bytes))?;
        }
        replace_directory(fresh.path(), &folder)?;
        let _ = fresh.keep();
        Ok(())
    }

    fn put(&self, name: &str, text: &str) -> Result<(), DirectoryError> {
        Ok(write_atomically(&self.path.join(name), text.as_bytes())?)
    }
}

/// What a killed run was writing. We have the lock: nobody else is at it.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            continue;
        }
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // It harms nobody if it stays.
        let _ = match is_directory {
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
    }
}

/// Where the run before the last is kept.
pub fn old_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
}

/// The lock of a directory; it ends with the process, however that ends.
fn lock(path: &Path) -> Result<File, DirectoryError> {
    let marker = path.join(MARKER);
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&marker);
    let mut file = attempt("write", &marker, opened)?;
    // Where files cannot be locked nobody is kept out.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(DirectoryError::Busy(path.to_owned()));
    }
    attempt("write", &marker, file.write_all(b"format = 1\n"))?;
    Ok(file)
}

/// Where a link leads: it is written through, not replaced.
fn followed(path: &Path) -> Result<PathBuf, DirectoryError> {
    let Ok(target) = std::fs::read_link(path) else {
        return Ok(path.to_owned());
    };
    path.canonicalize()
        .map_err(|_| DirectoryError::Dangling(path.to_owned(), target))
}

/// All that a run writes into its directory.
const OURS: [&str; 12] = [
    MARKER,
    "cases",
    "corpus",
    "inputs",
    "log.jsonl",
    "search.jsonl",
    "results.json",
    "summary.txt",
    "report.html",
    "report.md",
    "results.sarif",
    "junit.xml",
];

/// Moves what somebody else put into a directory of ours to another one.
fn take_foreign(from: &Path, to: &Path) -> Result<(), FileError> {
    for entry in attempt("read", from, std::fs::read_dir(from))? {
        let entry = attempt("read", from, entry)?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if OURS.contains(&&*text) || text.starts_with(TEMPORARY) {
            continue;
        }
        let mut target = to.join(&name);
        for number in 1.. {
            if target.symlink_metadata().is_err() {
                break;
            }
            target = to.join(format!("{text}.{number}"));
        }
        attempt("move", &target, std::fs::rename(entry.path(), &target))?;
    }
    Ok(())
}

/// Removes a directory of ours. What remains if this is stopped is still known to be ours.
fn remove(path: &Path) -> Result<(), FileError> {
    for entry in attempt("read", path, std::fs::read_dir(path))? {
        let entry = attempt("read", path, entry)?;
        if entry.file_name() == MARKER {
            continue;
        }
        let inner = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = match is_directory {
            true => std::fs::remove_dir_all(&inner),
            false => std::fs::remove_file(&inner),
        };
        attempt("delete", &inner, removed)?;
    }
    attempt("delete", path, std::fs::remove_dir_all(path))
}

fn is_used(path: &Path) -> Result<bool, FileError> {
    match std::fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        // By something that is not ours.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(true),
        Err(error) => attempt("read", path, Err(error)),
    }
}
