//! Raw files for fuzzers.

use crate::files::{FileError, make_directory, write_fresh};
use crate::streams;
use changeling_trace::input::Input;
use std::path::{Path, PathBuf};

/// Writes the main stream of each input as a file of its own, named after the
/// case. Inputs without a stream are left out. Other files of these names are overwritten by `force` only.
pub fn write<'a>(
    folder: &Path,
    inputs: impl IntoIterator<Item = (&'a str, &'a Input)>,
    force: bool,
) -> Result<Vec<PathBuf>, FileError> {
    make_directory(folder)?;
    let mut paths = Vec::new();
    for (name, input) in inputs {
        if let Some(main) = streams::primary(input) {
            let path = folder.join(crate::escape::file_name(name));
            write_fresh(&path, &input.streams[main].bytes, force)?;
            paths.push(path);
        }
    }
    Ok(paths)
}
