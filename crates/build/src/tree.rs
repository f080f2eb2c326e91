//! Copying a source tree without what earlier builds have left in it.

use crate::digest::copy_tree;
use crate::error::{BuildError, READ};
use crate::inspect::{Contents, contents};
use crate::translation::Kind;
use object::read::archive::ArchiveFile;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Copies a tree. Objects, archives and executables that were made from sources of the tree stay
/// behind: `make` would take them for finished, and they have no bitcode. Prebuilt ones are copied.
pub fn copy_sources(root: &Path, to: &Path, cache: &Path) -> Result<(), BuildError> {
    let mut survey = Survey::default();
    survey.visit(root, cache)?;
    let mut skip = survey.leftovers();
    skip.push(cache.to_path_buf());
    copy_tree(root, to, &skip)
}

/// What is in a tree.
#[derive(Default)]
struct Survey {
    /// Names of sources without suffix.
    stems: BTreeSet<String>,
    objects: Vec<PathBuf>,
    archives: Vec<PathBuf>,
    executables: Vec<PathBuf>,
    /// Build directories and caches of CMake.
    cmake: Vec<PathBuf>,
}

impl Survey {
    fn visit(&mut self, directory: &Path, cache: &Path) -> Result<(), BuildError> {
        let failed = |e| BuildError::io(READ, directory, e);
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                if path == cache || entry.file_name() == ".git" {
                    continue;
                }
                if path.join("CMakeCache.txt").is_file() {
                    self.cmake.push(path);
                    continue;
                }
                self.visit(&path, cache)?;
            } else if kind.is_file() {
                self.note(path);
            }
        }
        Ok(())
    }

    fn note(&mut self, path: PathBuf) {
        if path
            .file_name()
            .is_some_and(|name| name == "CMakeCache.txt")
        {
            self.cmake.push(path.with_file_name("CMakeFiles"));
            self.cmake.push(path);
            return;
        }
        match Kind::of(&path) {
            Kind::Source(_) | Kind::Preprocessed(_) | Kind::Assembler | Kind::Other => {
                self.stems.extend(stem(&path));
            }
            Kind::Bitcode => {}
            Kind::Linkable => match kind_of_contents(&path) {
                Contents::Object => self.objects.push(path),
                Contents::Archive => self.archives.push(path),
                Contents::Executable => self.executables.push(path),
                Contents::Bitcode | Contents::Unknown => {}
            },
        }
    }

    fn leftovers(&self) -> Vec<PathBuf> {
        let objects = self
            .objects
            .iter()
            .filter(|path| stem(path).is_some_and(|stem| self.stems.contains(&stem)));
        let archives = self.archives.iter().filter(|path| self.is_made_here(path));
        let executables = self
            .executables
            .iter()
            .filter(|path| !is_prebuilt_library(path));
        objects
            .chain(archives)
            .chain(executables)
            .chain(&self.cmake)
            .cloned()
            .collect()
    }

    /// Whether every member of an archive has a source in the tree.
    fn is_made_here(&self, archive: &Path) -> bool {
        let Ok(bytes) = std::fs::read(archive) else {
            return false;
        };
        let Ok(members) = ArchiveFile::parse(bytes.as_slice()) else {
            return false;
        };
        let names: Vec<String> = members
            .members()
            .flatten()
            .map(|member| String::from_utf8_lossy(member.name()).into_owned())
            .collect();
        !names.is_empty()
            && names.iter().all(|name| {
                // `x.o`, or `x.c.o` as CMake calls it, or `liby_a-x.o` as automake does.
                let stem = name.split('.').next().unwrap_or_default();
                let short = stem.rsplit('-').next().unwrap_or_default();
                self.stems.contains(stem) || self.stems.contains(short)
            })
    }
}

/// A shared library without the sources beside it would be missed.
fn is_prebuilt_library(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().contains(".so"))
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.split('.').next()?.to_string())
}

fn kind_of_contents(path: &Path) -> Contents {
    let mut start = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start));
    match read {
        Ok(length)
            if start[..length].starts_with(b"\x7fELF")
                || start[..length].starts_with(b"!<arch>") =>
        {
            std::fs::read(path).map_or(Contents::Unknown, |bytes| contents(&bytes))
        }
        _ => Contents::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_stay_behind_and_prebuilt_objects_do_not() {
        let from = tempfile::tempdir().unwrap();
        let object = b"\x7fELF rest of an object";
        for (name, bytes) in [
            ("a.c", b"int a;".as_slice()),
            ("a.o", object),
            ("prebuilt.o", object),
            ("build/CMakeCache.txt", b""),
            ("build/x", b""),
            ("README", b"text"),
        ] {
            let path = from.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let to = tempfile::tempdir().unwrap();
        copy_sources(from.path(), to.path(), Path::new("/nowhere")).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(to.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["README", "a.c", "prebuilt.o"]);
    }
}
