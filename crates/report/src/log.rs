//! `log.jsonl`: what was tried, when, and why it was given up. One JSON object
//! per line; a line is written with one call, so a killed run leaves at most
//! its last line cut short.

use crate::files::{FileError, attempt};
use serde::Serialize;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Version of the log's entries, written as its first line.
pub const FORMAT: u32 = 1;

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens the log for appending; a new one gets its format line.
    pub fn open(path: &Path) -> Result<Log, FileError> {
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(path);
        let file = attempt("open", path, file)?;
        let length = attempt("read", path, file.metadata())?.len();
        let mut log = Log {
            path: path.to_owned(),
            file,
        };
        if length == 0 {
            log.append(&serde_json::json!({ "format": FORMAT }))?;
            return Ok(log);
        }
        let mut last = [0];
        attempt("read", path, log.file.read_exact_at(&mut last, length - 1))?;
        if last != *b"\n" {
            // A killed run may have left half a line; the next must not join it.
            attempt("write", path, log.file.write_all(b"\n"))?;
        }
        Ok(log)
    }

    pub fn append(&mut self, entry: &impl Serialize) -> Result<(), FileError> {
        let text = serde_json::to_string(entry).map_err(std::io::Error::other);
        let mut line = attempt("write", &self.path, text)?;
        line.push('\n');
        attempt("write", &self.path, self.file.write_all(line.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_a_cut_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        Log::open(&path)
            .unwrap()
            .append(&serde_json::json!({"a": "x\ny"}))
            .unwrap();
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"b\":")
            .unwrap();
        Log::open(&path)
            .unwrap()
            .append(&serde_json::json!({"c": 1}))
            .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "{\"format\":1}",
                "{\"a\":\"x\\ny\"}",
                "{\"b\":",
                "{\"c\":1}"
            ]
        );
    }
}
