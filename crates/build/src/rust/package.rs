//! A cargo package.

use super::harness::Harness;
use super::layout::{CargoTarget, Layout};
use super::{UNOPTIMISED, checked_rustc, link_of};
use crate::assets::write_once;
use crate::cache::{Cache, Read, Work};
use crate::digest::Key;
use crate::error::{BuildError, READ, WRITE};
use crate::prepare::{BITCODE, Entry, PREPARATION, prepare};
use crate::process::run_within;
use crate::tools::Tool;
use crate::translation::SOURCE_PREFIX;
use crate::version::{BuildOptions, Built};
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn build_package(
    directory: &Path,
    target: Option<&str>,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let layout = Layout::read(directory)?;
    let (mut request, mut reads) = add_harness(Key::new("cargo"), options);
    request.add_path(&layout.package);
    let request = package_request(request, &layout, target, options)?;
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }
    reads.extend(layout.roots.iter().cloned().map(Read::Tree));
    let source_root = layout.top();
    let shared = Shared {
        name: &layout.workspace,
        reads,
        source_root,
        work: cache.work()?,
    };
    build_in(&layout, target, options, cache, &request, shared)
}

/// Completes the key of a build with cargo.
fn package_request(
    mut request: Key,
    layout: &Layout,
    target: Option<&str>,
    options: &BuildOptions,
) -> Result<String, BuildError> {
    request.add(PREPARATION);
    request.add(crate::assets::HARNESS);
    request.add(checked_rustc(&layout.package)?.text);
    request.add(target.unwrap_or_default());
    request.add(&options.profile);
    options
        .cargo_arguments
        .iter()
        .for_each(|argument| request.add(argument));
    request.add(std::env::var("RUSTFLAGS").unwrap_or_default());
    Ok(request.finish())
}

/// Where a package comes from.
pub struct Shared<'a> {
    /// Versions with the same name share compiled dependencies.
    pub name: &'a Path,
    pub reads: Vec<Read>,
    pub source_root: PathBuf,
    pub work: Work,
}

pub fn build_in(
    layout: &Layout,
    target: Option<&str>,
    options: &BuildOptions,
    cache: &Cache,
    request: &str,
    shared: Shared,
) -> Result<Built, BuildError> {
    let example = options.harness.as_deref().map(|file| layout.example(file));
    let example = example.transpose()?;
    let target = match &example {
        Some(example) => example,
        None => layout.choose(target)?,
    };
    checked_rustc(&layout.package)?;
    let work = shared.work;
    let room = Room::open(cache, shared.name)?;
    let place = room.fill(layout, cache)?;
    if let Some(harness) = &options.harness {
        place_harness(harness, &place, &target.name)?;
    }
    let cargo = Cargo {
        room: &room,
        harness: Harness::prepare(&room.path)?,
        place: &place,
        target,
        options,
        user: &layout.package,
    };

    let executable = cargo.plain()?;
    let plain = work.entry().join("program");
    std::fs::copy(&executable, &plain).map_err(|e| BuildError::io(WRITE, &plain, e))?;

    let module = cargo.bitcode()?;
    let name = format!("{} of {}", target.name, layout.package.display());
    let facts = prepare(std::slice::from_ref(&module), &work, &name, options)?;
    let (link, missing) = link_of(&room.link_arguments(), &room.path, &work)?;
    let built = Built {
        format: 0,
        key: String::new(),
        plain: "program".into(),
        bitcode: BITCODE.into(),
        harness: facts.entry == Entry::Harness,
        languages: facts.languages,
        missing,
        link,
        source_root: shared.source_root,
        variants: Vec::new(),
        unavailable: Vec::new(),
    };
    cache.store(request, shared.reads, work, built)
}

/// What a harness adds to a request and to what is read for it.
pub fn add_harness(mut request: Key, options: &BuildOptions) -> (Key, Vec<Read>) {
    let Some(harness) = &options.harness else {
        return (request, Vec::new());
    };
    let path = harness.canonicalize().unwrap_or_else(|_| harness.clone());
    request.add("harness");
    request.add_path(&path);
    (request, vec![Read::File(path)])
}

/// A harness is an example of the copy, whether the version has one of this name or not.
fn place_harness(harness: &Path, package: &Path, name: &str) -> Result<(), BuildError> {
    let text = std::fs::read(harness).map_err(|e| BuildError::io(READ, harness, e))?;
    let examples = package.join("examples");
    let path = examples.join(format!("{name}.rs"));
    let folder = examples.join(name);
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder).map_err(|e| BuildError::io(WRITE, &folder, e))?;
    }
    std::fs::create_dir_all(&examples)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|e| BuildError::io(WRITE, &path, e))
}

/// Bitcode of the package's library alone, with the debug information of all functions that are
/// compiled with it.
pub fn library(
    directory: &Path,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<PathBuf, BuildError> {
    let layout = Layout::read(directory)?;
    library_in(&layout, &layout.workspace, options, cache)
}

/// The same of a package whose place is known. Versions with the same name share compiled dependencies.
pub fn library_in(
    layout: &Layout,
    name: &Path,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<PathBuf, BuildError> {
    let target = layout.library()?;
    checked_rustc(&layout.package)?;
    let room = Room::open(cache, name)?;
    let place = room.fill(layout, cache)?;
    let cargo = Cargo {
        room: &room,
        harness: Harness::prepare(&room.path)?,
        place: &place,
        target: &target,
        options,
        user: &layout.package,
    };
    let module = cargo.library()?;
    // Kept under the name of its contents: the room is for the next one.
    let bytes = std::fs::read(&module).map_err(|e| BuildError::io(READ, &module, e))?;
    let kept = cache.root().join("interfaces");
    let path = kept.join(format!(
        "{}.bc",
        Key::new("interface").with(&bytes).finish()
    ));
    std::fs::create_dir_all(&kept)
        .and_then(|()| std::fs::rename(&module, &path))
        .map_err(|e| BuildError::io(WRITE, &path, e))?;
    Ok(path)
}

/// A directory where all versions of a package are built, one after the other,
/// so that dependencies are compiled once.
///
/// The copy is always at the same path and all its files are new, so cargo
/// compiles the package itself anew each time: it compares times, not contents.
struct Room {
    path: PathBuf,
    _lock: File,
}

impl Room {
    fn open(cache: &Cache, name: &Path) -> Result<Room, BuildError> {
        let mut key = Key::new("room");
        key.add_path(name);
        let path = cache.root().join("cargo").join(&key.finish()[..16]);
        let failed = |e| BuildError::io(WRITE, &path, e);
        std::fs::create_dir_all(&path).map_err(failed)?;
        let lock = File::create(path.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok(Room { path, _lock: lock })
    }

    fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    fn link_arguments(&self) -> PathBuf {
        self.path.join("link")
    }

    fn fill(&self, layout: &Layout, cache: &Cache) -> Result<PathBuf, BuildError> {
        let tree = self.tree();
        if tree.exists() {
            std::fs::remove_dir_all(&tree).map_err(|e| BuildError::io(WRITE, &tree, e))?;
        }
        let place = layout.copy(&tree, cache.root())?;
        make_new(&tree)?;
        Ok(place)
    }
}

/// Sets the time of every file to now.
fn make_new(directory: &Path) -> Result<(), BuildError> {
    let failed = |e| BuildError::io(WRITE, directory, e);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            make_new(&entry.path())?;
        } else if kind.is_file() {
            let now = std::time::SystemTime::now();
            File::open(entry.path())
                .and_then(|file| file.set_modified(now))
                .map_err(failed)?;
        }
    }
    Ok(())
}

struct Cargo<'a> {
    room: &'a Room,
    harness: Harness,
    place: &'a Path,
    target: &'a CargoTarget,
    options: &'a BuildOptions,
    /// The package where the user has it, for messages.
    user: &'a Path,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    executable: Option<PathBuf>,
}

impl Cargo<'_> {
    fn plain(&self) -> Result<PathBuf, BuildError> {
        let mut command = self.command("plain", &[])?;
        command.arg("--").arg(self.harness.link_argument());
        self.run(command)
    }

    fn bitcode(&self) -> Result<PathBuf, BuildError> {
        let mut command = self.command("bitcode", &[UNOPTIMISED])?;
        let profile = self.options.profile.to_uppercase().replace('-', "_");
        for (setting, value) in [
            ("LTO", "fat"),
            ("CODEGEN_UNITS", "1"),
            ("DEBUG", "2"),
            ("OPT_LEVEL", "0"),
        ] {
            command.env(format!("CARGO_PROFILE_{profile}_{setting}"), value);
        }
        let module = self.room.path.join("program.bc");
        let _ = std::fs::remove_file(&module);
        command
            .arg("--")
            .arg(self.harness.link_argument())
            .arg(format!("--emit=llvm-bc={}", module.display()));
        command.arg(format!(
            "--print=link-args={}",
            self.room.link_arguments().display()
        ));
        self.run(command)?;
        if !module.is_file() {
            let output = "rustc wrote no bitcode".into();
            return Err(BuildError::Cargo {
                place: self.user.to_path_buf(),
                output,
            });
        }
        Ok(module)
    }

    fn library(&self) -> Result<PathBuf, BuildError> {
        let mut command = self.command("interface", &[UNOPTIMISED])?;
        let profile = self.options.profile.to_uppercase().replace('-', "_");
        for (setting, value) in [("CODEGEN_UNITS", "1"), ("DEBUG", "2"), ("OPT_LEVEL", "0")] {
            command.env(format!("CARGO_PROFILE_{profile}_{setting}"), value);
        }
        let module = self.room.path.join("library.bc");
        let _ = std::fs::remove_file(&module);
        command
            .arg("--")
            .arg(format!("--emit=llvm-bc={}", module.display()));
        let finished = run_within(&mut command, self.options.time_limit, self.user)?;
        if finished.succeeded() && module.is_file() {
            return Ok(module);
        }
        let error = BuildError::Cargo {
            place: self.user.to_path_buf(),
            output: finished.output,
        };
        Err(error.or_disk_full(&self.room.path))
    }

    fn command(&self, kind: &str, extra: &[&str]) -> Result<Command, BuildError> {
        // A script around rustc, because flags in the environment would replace
        // those that the user has in a configuration file.
        let remap = format!(
            "--remap-path-prefix={}={SOURCE_PREFIX}",
            self.room.tree().display()
        );
        let words: Vec<String> = extra
            .iter()
            .map(|e| e.to_string())
            .chain([remap])
            .map(|w| quote(&w))
            .collect();
        let script = format!("#!/bin/sh\nexec \"$@\" {}\n", words.join(" "));
        let wrapper = write_once(&self.room.path, &format!("rustc-{kind}"), &script)?;
        let mut command = Tool::Cargo.command()?;
        command.args([
            "rustc",
            "--message-format=json-render-diagnostics",
            "--profile",
            &self.options.profile,
        ]);
        command.args(["-p", &self.target.package, self.target.option]);
        if self.target.option != "--lib" {
            command.arg(&self.target.name);
        }
        command.args(&self.options.cargo_arguments);
        command.env("CARGO_TARGET_DIR", self.room.path.join(kind));
        command
            .env("RUSTC_WRAPPER", wrapper)
            .env("CARGO_INCREMENTAL", "0");
        command
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .current_dir(self.place);
        self.harness.without_engine(&mut command);
        Ok(command)
    }

    fn run(&self, mut command: Command) -> Result<PathBuf, BuildError> {
        let finished = run_within(&mut command, self.options.time_limit, self.user)?;
        let failed = |output| BuildError::Cargo {
            place: self.user.to_path_buf(),
            output,
        };
        if !finished.succeeded() {
            return Err(failed(finished.output).or_disk_full(&self.room.path));
        }
        let text = finished.stdout_text();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Message>(line).ok()?.executable)
            .next_back()
            .ok_or_else(|| failed("cargo made no executable".into()))
    }
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
