//! Linking an executable: beside it goes the bitcode of the whole program.

use super::link_map::{Linked, linked};
use super::record::{self, Content, Record};
use super::{Call, Outcome, is_regular};
use crate::error::BuildError;
use crate::inspect::{Contents, contents};
use crate::prepare::link_modules;
use crate::process::run;
use crate::version::MissingObject;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The section of an executable that holds its [`LinkResult`] as JSON, so that it is found
/// even if the executable is moved.
pub const LINK_SECTION: &str = ".chg_link";
pub const LINK_FORMAT: u32 = 1;

/// What was learnt when an executable was linked; also written beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkResult {
    pub format: u32,
    /// Whole-program bitcode, not yet prepared.
    pub bitcode: Option<PathBuf>,
    /// Why there is none.
    pub failure: Option<String>,
    pub missing: Vec<MissingObject>,
    /// What the traced program must be linked with.
    pub link: Vec<String>,
    /// Shared libraries of the project that the executable loads.
    pub libraries: Vec<PathBuf>,
}

impl Call<'_> {
    pub(super) fn link_executable(&self) -> Outcome {
        let input = self.stdin();
        let own_map = tempfile::NamedTempFile::new().ok();
        let map = self
            .invocation
            .map
            .clone()
            .or(own_map.as_ref().map(|file| file.path().to_path_buf()));
        let mut extra: Vec<OsString> = Vec::new();
        if let (None, Some(map)) = (&self.invocation.map, &map) {
            extra.push(format!("-Wl,-Map,{}", map.display()).into());
        }
        if self.settings.root.is_some() {
            // Where `build` will put shared libraries of the project.
            extra.push("-Wl,-rpath,$ORIGIN/lib".into());
        }
        let status = match self.try_link(&extra, input.as_deref())? {
            Some(status) => status,
            // If it does not link as the user wrote it either, the messages are about that.
            None => self.run_user(&[], input.as_deref())?,
        };
        let executable = self.invocation.executable();
        if status.success() && is_regular(&executable) {
            let map = map
                .and_then(|map| std::fs::read(map).ok())
                .unwrap_or_default();
            let map = linked(&String::from_utf8_lossy(&map));
            // A program without bitcode is reported when somebody wants to trace it.
            let _ = self.leave_bitcode(&executable, &map, input.as_deref());
        }
        Ok(status)
    }

    /// Links with our additions, silently; `None` if that fails.
    fn try_link(
        &self,
        extra: &[OsString],
        input: Option<&[u8]>,
    ) -> Result<Option<std::process::ExitStatus>, BuildError> {
        if extra.is_empty() || input.is_some() {
            return Ok(None);
        }
        let finished = run(&mut self.user_command(extra)?)?;
        if !finished.succeeded() {
            return Ok(None);
        }
        let _ = std::io::stdout().write_all(&finished.stdout);
        let _ = std::io::stderr().write_all(finished.output.as_bytes());
        Ok(Some(finished.status))
    }

    fn leave_bitcode(
        &self,
        executable: &Path,
        map: &[Linked],
        input: Option<&[u8]>,
    ) -> Result<(), BuildError> {
        let failed = |e| BuildError::io(crate::error::READ, executable, e);
        let directory = std::env::current_dir().map_err(failed)?;
        let bytes = std::fs::read(executable).map_err(failed)?;
        let mut parts = Parts::default();
        parts.add(record::of_object(&bytes));
        parts.add(self.source_records(input));
        // The harness is ours, and the traced program gets another one.
        let foreign: Vec<&Linked> = map
            .iter()
            .filter(|linked| Some(&linked.file) != self.settings.harness.as_ref())
            .collect();
        parts.add_linked(&foreign, &directory);
        let executable = directory.join(executable);
        let beside = |suffix: &str| {
            let mut name = executable.file_name().unwrap_or_default().to_os_string();
            name.push(suffix);
            executable.with_file_name(name)
        };
        let bitcode = beside(".changeling.bc");
        let assembled = parts.assemble(&bitcode);
        let result = LinkResult {
            format: LINK_FORMAT,
            bitcode: assembled.is_ok().then_some(bitcode),
            failure: assembled.err(),
            link: self.traced_link(&parts, &directory),
            missing: parts.missing,
            libraries: parts.libraries,
        };
        let text = serde_json::to_vec_pretty(&result).unwrap_or_default();
        let json = beside(".changeling.json");
        std::fs::write(&json, &text).map_err(|e| BuildError::io(crate::error::WRITE, &json, e))?;
        record::set_section(
            &executable,
            LINK_SECTION,
            &text,
            &[record::SECTION, LINK_SECTION],
        )
    }

    /// The user's libraries and those objects that have no bitcode, by absolute names.
    fn traced_link(&self, parts: &Parts, directory: &Path) -> Vec<String> {
        let mut link = Vec::new();
        let words: Vec<String> = self
            .invocation
            .link
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let absolute = |name: &str| directory.join(name).display().to_string();
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                if parts.needs_native(&directory.join(&word)) {
                    link.push(absolute(&word));
                }
            } else if let Some(folder) = option_value(&word, "-L", &mut words) {
                folders.push(directory.join(&folder));
                link.push(format!("-L{}", absolute(&folder)));
            } else if let Some(library) = option_value(&word, "-l", &mut words) {
                match find_library(&library, &folders) {
                    Some(path) if !parts.needs_native(&path) => {}
                    Some(path) => link.push(path.display().to_string()),
                    None => link.push(format!("-l{library}")),
                }
            } else if word == "-Xlinker" {
                link.extend(
                    words
                        .next()
                        .filter(|value| matters(value))
                        .map(|value| format!("-Wl,{value}")),
                );
            } else if let Some(list) = word.strip_prefix("-Wl,") {
                if matters(list) {
                    link.push(word);
                }
            } else if matches!(word.as_str(), "-pthread" | "-fopenmp") || word.starts_with("-u") {
                let value = if word == "-u" { words.next() } else { None };
                link.push(word);
                link.extend(value);
            }
        }
        if self.cpp {
            link.push("-lstdc++".into());
        }
        link.push("-lm".into());
        link
    }
}

/// Linker options that change which code is called.
fn matters(option: &str) -> bool {
    [
        "--wrap",
        "-wrap",
        "--defsym",
        "-defsym",
        "--undefined",
        "--start-group",
        "--end-group",
        "--whole-archive",
        "--no-whole-archive",
    ]
    .iter()
    .any(|prefix| option.starts_with(prefix))
}

fn option_value(
    word: &str,
    option: &str,
    rest: &mut dyn Iterator<Item = String>,
) -> Option<String> {
    match word.strip_prefix(option)? {
        "" => rest.next(),
        value => Some(value.to_string()),
    }
}

fn find_library(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let candidates = |folder: &PathBuf| match name.strip_prefix(':') {
        Some(exact) => vec![folder.join(exact)],
        None => vec![
            folder.join(format!("lib{name}.so")),
            folder.join(format!("lib{name}.a")),
        ],
    };
    folders
        .iter()
        .flat_map(candidates)
        .find(|path| path.is_file() && !is_system(path))
}

/// Files of the system are run as they are and need no mention.
fn is_system(path: &Path) -> bool {
    [
        "/usr/lib",
        "/lib",
        "/usr/lib64",
        "/lib64",
        "/lib32",
        "/libx32",
    ]
    .iter()
    .any(|system| path.starts_with(system))
}

/// The parts of a program.
#[derive(Default)]
struct Parts {
    bitcode: Vec<Vec<u8>>,
    /// Of shared libraries, which may define things a second time.
    library_bitcode: Vec<Vec<u8>>,
    missing: Vec<MissingObject>,
    libraries: Vec<PathBuf>,
    /// Files that the traced program needs as they are.
    native: Vec<PathBuf>,
}

impl Parts {
    fn add(&mut self, records: Vec<Record>) {
        for record in records {
            match record.content {
                Content::Bitcode(bytes) => self.bitcode.push(bytes),
                Content::Missing(reason) => self.miss(record.source, reason),
            }
        }
    }

    fn miss(&mut self, object: String, reason: impl Into<String>) {
        let missing = MissingObject {
            object,
            reason: reason.into(),
        };
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }

    /// Looks at every file of the user that the linker used.
    fn add_linked(&mut self, map: &[&Linked], directory: &Path) {
        const FOREIGN: &str = "not compiled with `changeling cc`";
        for Linked { file, member } in map {
            let path = directory.join(file);
            if is_system(&path) || path.starts_with(std::env::temp_dir()) && !path.exists() {
                continue;
            }
            let Ok(bytes) = std::fs::read(&path) else {
                continue;
            };
            let name = file.display().to_string();
            match (contents(&bytes), member) {
                (Contents::Archive, Some(member)) => {
                    let members = record::of_archive(&bytes);
                    let of_member = members.iter().filter(|(name, _)| name == member);
                    let mut records = of_member.flat_map(|(_, records)| records);
                    if !records.any(is_bitcode) {
                        self.native.push(path);
                        if !members
                            .iter()
                            .any(|(name, records)| name == member && !records.is_empty())
                        {
                            self.miss(format!("{name}({member})"), FOREIGN);
                        }
                    }
                }
                (Contents::Bitcode, _) => self.bitcode.push(bytes),
                (Contents::Object, _) => {
                    let records = record::of_object(&bytes);
                    if !records.iter().any(is_bitcode) {
                        self.native.push(path);
                    }
                    if records.is_empty() {
                        self.miss(name, FOREIGN);
                    }
                }
                (Contents::Executable, _) => self.add_library(&path, &name, &bytes),
                (Contents::Archive | Contents::Unknown, _) => {}
            }
        }
    }

    fn add_library(&mut self, path: &Path, name: &str, bytes: &[u8]) {
        self.libraries.push(path.to_path_buf());
        let records = record::of_object(bytes);
        if !records.iter().any(is_bitcode) {
            self.native.push(path.to_path_buf());
            self.miss(
                name.to_string(),
                "a shared library not linked with `changeling cc`",
            );
            return;
        }
        for record in records {
            match record.content {
                Content::Bitcode(bytes) => self.library_bitcode.push(bytes),
                Content::Missing(reason) => self.miss(record.source, reason),
            }
        }
    }

    fn needs_native(&self, path: &Path) -> bool {
        self.native.iter().any(|native| native == path)
    }

    /// Links all bitcode into one module.
    fn assemble(&mut self, output: &Path) -> Result<(), String> {
        if self.bitcode.is_empty() {
            return Err("no object of it has bitcode".into());
        }
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        let mut modules = Vec::new();
        let all = self.bitcode.iter().chain(&self.library_bitcode);
        for (index, bytes) in all.enumerate() {
            let path = directory.path().join(format!("{index}.bc"));
            std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
            modules.push(path);
        }
        let error = match link_modules(&modules, output) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        // What a shared library defines too may be what is in the way.
        if self.library_bitcode.is_empty()
            || link_modules(&modules[..self.bitcode.len()], output).is_err()
        {
            let said = error.output().unwrap_or_default().trim().to_string();
            return Err(format!("its bitcode cannot be put together: {said}"));
        }
        for library in self.libraries.clone() {
            self.miss(
                library.display().to_string(),
                "defines what the program defines too",
            );
            self.native.push(library);
        }
        Ok(())
    }
}

fn is_bitcode(record: &Record) -> bool {
    matches!(record.content, Content::Bitcode(_))
}
