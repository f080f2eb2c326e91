//! Queries kept as files, to be replayed and measured.

use crate::arena::Arena;
use crate::query::Query;
use crate::smtlib::{ReadError, RecordedQuery};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Writes queries to a directory: `q000001.smt2`, `q000002.smt2`, …
pub(crate) struct Recorder {
    directory: PathBuf,
    written: u32,
    pub problem: Option<String>,
}

/// A runaway recording stops here.
const MAX_FILES: u32 = 50_000;

impl Recorder {
    pub fn new(directory: PathBuf) -> Recorder {
        let problem = std::fs::create_dir_all(&directory).err();
        let problem =
            problem.map(|error| format!("cannot create {}: {error}", directory.display()));
        Recorder {
            directory,
            written: 0,
            problem,
        }
    }

    pub fn record(&mut self, arena: &Arena, query: &Query) {
        if self.problem.is_some() || self.written >= MAX_FILES {
            return;
        }
        // What SMT-LIB cannot express cannot be replayed by others either.
        let Ok(text) = arena.smt2(query) else { return };
        self.written += 1;
        let file = self.directory.join(format!("q{:06}.smt2", self.written));
        if let Err(error) = std::fs::write(&file, text) {
            self.problem = Some(format!("cannot write {}: {error}", file.display()));
        }
    }
}

#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("cannot read {path}: {error}")]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{path}: {error}")]
    Malformed { path: PathBuf, error: ReadError },
    #[error("{0} has no recorded queries (files named *.smt2)")]
    Empty(PathBuf),
}

/// The recorded queries of a directory in the order in which they were asked,
/// over one arena, so that prefixes that were shared are shared again.
pub fn read_recorded(
    arena: &mut Arena,
    directory: &Path,
) -> Result<Vec<(PathBuf, RecordedQuery)>, ReplayError> {
    let io = |error| ReplayError::Io {
        path: directory.into(),
        error,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "smt2")
        {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(ReplayError::Empty(directory.into()));
    }
    files.sort();
    let mut queries = Vec::with_capacity(files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|error| ReplayError::Io {
            path: path.clone(),
            error,
        })?;
        let query = arena
            .read_smt2(&text)
            .map_err(|error| ReplayError::Malformed {
                path: path.clone(),
                error,
            })?;
        queries.push((path, query));
    }
    Ok(queries)
}
