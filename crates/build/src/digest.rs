//! Content hashes of files and trees.

use crate::error::{BuildError, READ};
use blake3::Hasher;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names that are never part of a source tree.
pub const EXCLUDED: [&str; 2] = [".git", ".changeling"];

/// Hash of a sequence of texts; no two different sequences look alike.
#[derive(Default)]
pub struct Key(Hasher);

impl Key {
    /// Keys are those of this crate: what another state of it has built is built again.
    pub fn new(kind: &str) -> Key {
        Key::default().with(kind).with(env!("CHANGELING_BUILDER"))
    }

    pub fn with(mut self, part: impl AsRef<[u8]>) -> Key {
        self.add(part);
        self
    }

    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub fn add_path(&mut self, path: &Path) {
        self.add(path.as_os_str().as_bytes());
    }

    pub fn finish(&self) -> String {
        self.0.finalize().to_hex()[..32].to_string()
    }
}

pub fn file_digest(path: &Path) -> Result<String, BuildError> {
    let mut hasher = Hasher::new();
    std::fs::File::open(path)
        .and_then(|file| hasher.update_reader(file).map(|_| ()))
        .map_err(|source| BuildError::io(READ, path, source))?;
    Ok(hasher.finalize().to_hex()[..32].to_string())
}

/// Hash of names, kinds, executable bits and contents of everything below a directory.
pub fn tree_digest(root: &Path, skip: &[PathBuf]) -> Result<String, BuildError> {
    let mut key = Key::new("tree");
    walk(root, skip, &mut |path, kind| {
        key.add_path(path.strip_prefix(root).unwrap_or(path));
        match kind {
            Kind::Directory => key.add("directory"),
            Kind::Link => {
                let target = std::fs::read_link(path).map_err(|e| BuildError::io(READ, path, e))?;
                key.add("link");
                key.add_path(&target);
            }
            Kind::File { executable } => {
                key.add(if executable { "program" } else { "file" });
                key.add(file_digest(path)?);
            }
        }
        Ok(())
    })?;
    Ok(key.finish())
}

/// Copies everything below a directory, with its permissions. Names in [`EXCLUDED`]
/// and the paths in `skip` are left out.
pub fn copy_tree(from: &Path, to: &Path, skip: &[PathBuf]) -> Result<(), BuildError> {
    std::fs::create_dir_all(to).map_err(|e| BuildError::io(crate::error::WRITE, to, e))?;
    walk(from, skip, &mut |path, kind| {
        let target = to.join(path.strip_prefix(from).unwrap_or(path));
        let done = match kind {
            Kind::Directory => std::fs::create_dir_all(&target),
            Kind::Link => std::fs::read_link(path)
                .and_then(|destination| std::os::unix::fs::symlink(destination, &target)),
            Kind::File { .. } => copy_file(path, &target),
        };
        done.map_err(|e| BuildError::io(crate::error::WRITE, &target, e))
    })
}

/// Copies contents, permissions and the time of the last change: `make` compares those.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let changed = std::fs::metadata(from)?.modified()?;
    let file = std::fs::File::open(to)?;
    file.set_modified(changed)
}

enum Kind {
    Directory,
    Link,
    File { executable: bool },
}

/// Visits all that is below a directory in the order of names. Sockets, pipes
/// and devices are passed over: nobody's source is in them.
fn walk(
    directory: &Path,
    skip: &[PathBuf],
    visit: &mut dyn FnMut(&Path, Kind) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let unreadable = |e| BuildError::io(READ, directory, e);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        if EXCLUDED.iter().any(|excluded| name == *excluded) || skip.contains(&path) {
            continue;
        }
        let metadata =
            std::fs::symlink_metadata(&path).map_err(|e| BuildError::io(READ, &path, e))?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            visit(&path, Kind::Directory)?;
            walk(&path, skip, visit)?;
        } else if kind.is_symlink() {
            visit(&path, Kind::Link)?;
        } else if kind.is_file() {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            visit(&path, Kind::File { executable })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_sequences_apart() {
        assert_ne!(
            Key::new("a").with("bc").finish(),
            Key::new("a").with("b").with("c").finish()
        );
        assert_eq!(
            Key::new("a").with("b").finish(),
            Key::new("a").with("b").finish()
        );
    }

    #[test]
    fn tree_digest_sees_names_contents_and_modes_but_not_git() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        std::fs::write(&file, "1").unwrap();
        let first = tree_digest(directory.path(), &[]).unwrap();
        std::fs::create_dir(directory.path().join(".git")).unwrap();
        assert_eq!(tree_digest(directory.path(), &[]).unwrap(), first);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let executable = tree_digest(directory.path(), &[]).unwrap();
        assert_ne!(executable, first);
        std::fs::rename(&file, directory.path().join("g")).unwrap();
        assert_ne!(tree_digest(directory.path(), &[]).unwrap(), executable);
    }
}
