//! Raw files for fuzzers.

use crate::files::{FileError, attempt, write_atomically};
use crate::streams;
use changeling_trace::input::Input;
use std::path::{Path, PathBuf};

/// Writes the main stream of each input as a file of its own, named after the
/// case. Inputs without a stream are left out.
pub fn write<'a>(
    folder: &Path,
    inputs: impl IntoIterator<Item = (&'a str, &'a Input)>,
) -> Result<Vec<PathBuf>, FileError> {
    attempt("make", folder, std::fs::create_dir_all(folder))?;
    let mut paths = Vec::new();
    for (name, input) in inputs {
        if let Some(main) = streams::primary(input) {
            let path = folder.join(crate::escape::file_name(name));
            write_atomically(&path, &input.streams[main].bytes)?;
            paths.push(path);
        }
    }
    Ok(paths)
}
