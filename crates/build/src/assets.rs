//! Files that builds need and that travel inside this crate.

use crate::cache::Cache;
use crate::error::{BuildError, WRITE};
use std::path::{Path, PathBuf};

pub const HARNESS: &str = include_str!("assets/harness.c");
pub const ENTRY: &str = include_str!("assets/entry.c");
const HEADER: &str = include_str!("../../../include/changeling.h");

/// A directory that holds `changeling.h`.
pub fn include_directory(cache: &Cache) -> Result<PathBuf, BuildError> {
    let directory = cache.root().join("include");
    write_once(&directory, "changeling.h", HEADER)?;
    Ok(directory)
}

/// Everything here that goes into programs, for cache keys.
pub fn digest_text() -> String {
    format!("{HARNESS}{HEADER}")
}

/// Writes a file unless it is there with these contents; never seen half-written.
pub fn write_once(directory: &Path, name: &str, text: &str) -> Result<PathBuf, BuildError> {
    let path = directory.join(name);
    if std::fs::read(&path).is_ok_and(|present| present == text.as_bytes()) {
        return Ok(path);
    }
    let failed = |e| BuildError::io(WRITE, &path, e);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let draft = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    std::fs::write(draft.path(), text).map_err(failed)?;
    let mut permissions = std::fs::metadata(draft.path())
        .map_err(failed)?
        .permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(draft.path(), permissions).map_err(failed)?;
    draft.persist(&path).map_err(|e| failed(e.error))?;
    Ok(path)
}
