//! Results of builds, kept by content.
//!
//! ```text
//! entries/KEY/             built.json, sizes.json, program, program.bc, …
//! requests/REQUEST/KEY.json  which inputs, with which contents, gave that entry
//! work/NAME/               a build that is going on; `lock` is held by its process
//! ```
//! A *request* is what was asked for (paths, flags, tools); a *key* is the
//! request with the contents of everything that was read. Both directories
//! and files appear by renaming, so a reader never sees half of one.

use crate::digest::{Key, file_digest, tree_digest};
use crate::error::{BuildError, READ, WRITE};
use crate::version::{BUILT_FORMAT, Built};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Stands for the directory of the entry in [`Built::link`] as written to disk.
pub const ENTRY: &str = "@entry@";
/// The file of an entry with the sizes of what was built.
const SIZES: &str = "sizes.json";
/// A work directory without a living owner is removed after this time.
const STALE: Duration = Duration::from_secs(60);

pub struct Cache {
    root: PathBuf,
}

/// Something a build has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Read {
    File(PathBuf),
    /// Everything below a directory.
    Tree(PathBuf),
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    reads: Vec<(Read, String)>,
}

/// A directory to build in; it vanishes when dropped.
pub struct Work {
    directory: tempfile::TempDir,
    _lock: File,
}

impl Work {
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What is in here becomes the cache entry.
    pub fn entry(&self) -> PathBuf {
        self.path().join("entry")
    }
}

impl Cache {
    pub fn open(root: &Path) -> Result<Cache, BuildError> {
        for part in ["entries", "requests", "work"] {
            let path = root.join(part);
            std::fs::create_dir_all(&path).map_err(|e| BuildError::io(WRITE, &path, e))?;
        }
        let root = root
            .canonicalize()
            .map_err(|e| BuildError::io(READ, root, e))?;
        let cache = Cache { root };
        cache.remove_stale_work();
        Ok(cache)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The entry of a request whose inputs still are what they were.
    pub fn look_up(&self, request: &str) -> Option<Built> {
        let manifests = std::fs::read_dir(self.root.join("requests").join(request)).ok()?;
        for manifest in manifests.flatten() {
            let path = manifest.path();
            let Some(key) = path.file_stem().and_then(|stem| stem.to_str()) else {
                continue;
            };
            if self.still_true(&path)
                && let Some(built) = self.load(key)
            {
                return Some(built);
            }
        }
        None
    }

    pub fn work(&self) -> Result<Work, BuildError> {
        let parent = self.root.join("work");
        let failed = |e| BuildError::io(WRITE, &parent, e);
        let directory = tempfile::Builder::new()
            .prefix("")
            .tempdir_in(&parent)
            .map_err(failed)?;
        let lock = File::create(directory.path().join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        std::fs::create_dir(directory.path().join("entry")).map_err(failed)?;
        Ok(Work {
            directory,
            _lock: lock,
        })
    }

    /// Makes the work's entry directory an entry of the cache. Paths in `built`
    /// are relative to it, or absolute if they lie outside.
    pub fn store(
        &self,
        request: &str,
        reads: Vec<Read>,
        work: Work,
        mut built: Built,
    ) -> Result<Built, BuildError> {
        let mut key = Key::new("entry").with(request);
        let mut digested = Vec::with_capacity(reads.len());
        for read in reads {
            let digest = self.digest(&read)?;
            key.add(&digest);
            digested.push((read, digest));
        }
        built.format = BUILT_FORMAT;
        built.key = key.finish();
        let sizes = sizes(&work.entry(), &built);
        write_json(&work.entry().join(SIZES), &sizes)?;
        write_json(&work.entry().join("built.json"), &built)?;
        let target = self.root.join("entries").join(&built.key);
        if self.load(&built.key).is_none() {
            // An entry that cannot be loaded is of an older format or damaged.
            let _ = std::fs::remove_dir_all(&target);
            if let Err(error) = std::fs::rename(work.entry(), &target) {
                // Another process may have been first; its entry is as good.
                if self.load(&built.key).is_none() {
                    return Err(BuildError::io(WRITE, &target, error));
                }
            }
        }
        let requests = self.root.join("requests").join(request);
        std::fs::create_dir_all(&requests).map_err(|e| BuildError::io(WRITE, &requests, e))?;
        let manifest = Manifest {
            format: BUILT_FORMAT,
            reads: digested,
        };
        let draft = work.path().join("manifest.json");
        write_json(&draft, &manifest)?;
        let path = requests.join(format!("{}.json", built.key));
        std::fs::rename(&draft, &path).map_err(|e| BuildError::io(WRITE, &path, e))?;
        self.load(&built.key).ok_or(BuildError::NotFound(target))
    }

    fn load(&self, key: &str) -> Option<Built> {
        let directory = self.root.join("entries").join(key);
        let text = std::fs::read(directory.join("built.json")).ok()?;
        let mut built: Built = serde_json::from_slice(&text).ok()?;
        // A machine that lost its power, or a disk that was full, may have left half of a file.
        let recorded = std::fs::read(directory.join(SIZES)).ok()?;
        let recorded: Vec<u64> = serde_json::from_slice(&recorded).ok()?;
        let whole = sizes(&directory, &built).is_some_and(|now| now == recorded);
        let entry = directory.to_str()?;
        for flag in &mut built.link {
            *flag = flag.replace(ENTRY, entry);
        }
        built.plain = directory.join(&built.plain);
        built.bitcode = directory.join(&built.bitcode);
        built.source_root = directory.join(&built.source_root);
        for variant in &mut built.variants {
            variant.path = directory.join(&variant.path);
        }
        (whole && built.format == BUILT_FORMAT).then_some(built)
    }

    fn still_true(&self, manifest: &Path) -> bool {
        let Ok(text) = std::fs::read(manifest) else {
            return false;
        };
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&text) else {
            return false;
        };
        manifest.format == BUILT_FORMAT
            && manifest
                .reads
                .iter()
                .all(|(read, digest)| self.digest(read).is_ok_and(|now| now == *digest))
    }

    fn digest(&self, read: &Read) -> Result<String, BuildError> {
        match read {
            Read::File(path) => file_digest(path),
            Read::Tree(path) => tree_digest(path, &[self.root.clone(), path.join("target")]),
        }
    }

    /// Removes what killed processes have left.
    fn remove_stale_work(&self) {
        let Ok(works) = std::fs::read_dir(self.root.join("work")) else {
            return;
        };
        for work in works.flatten() {
            let lock = work.path().join("lock");
            let age = std::fs::metadata(&lock).or_else(|_| work.metadata());
            let old = age
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE));
            let owned = File::open(&lock).is_ok_and(|file| file.try_lock().is_err());
            if old && !owned {
                let _ = std::fs::remove_dir_all(work.path());
            }
        }
    }
}

/// Sizes of all that was built; `None` if a part is missing.
fn sizes(directory: &Path, built: &Built) -> Option<Vec<u64>> {
    let variants = built.variants.iter().map(|variant| &variant.path);
    let parts = [&built.plain, &built.bitcode].into_iter().chain(variants);
    let size = |part: &PathBuf| {
        let metadata = std::fs::metadata(directory.join(part)).ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    parts.map(size).collect()
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), BuildError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|e| BuildError::io(WRITE, path, std::io::Error::other(e)))?;
    std::fs::write(path, text).map_err(|e| BuildError::io(WRITE, path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_builds_left_is_removed_and_living_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::open(directory.path()).unwrap();
        let work = directory.path().join("work");
        let long_ago = std::time::SystemTime::now() - 2 * STALE;
        let abandoned = work.join("abandoned");
        std::fs::create_dir(&abandoned).unwrap();
        let lock = File::create(abandoned.join("lock")).unwrap();
        lock.set_modified(long_ago).unwrap();
        let living = cache.work().unwrap();
        living._lock.set_modified(long_ago).unwrap();
        let starting = work.join("starting");
        std::fs::create_dir(&starting).unwrap();
        Cache::open(directory.path()).unwrap();
        assert!(!abandoned.exists());
        assert!(living.path().exists() && starting.exists());
    }
}
