//! What can be built, how, and what comes out.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// One version of a program, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// C and C++ files with what else the linker takes; or one Rust file; or
    /// one executable that `changeling cc` linked.
    Files(Vec<PathBuf>),
    /// A source tree with its build command (found out if not given) and the
    /// program it makes, relative to the tree (found out if there is only one).
    Directory {
        path: PathBuf,
        command: Option<String>,
        program: Option<PathBuf>,
    },
    /// The same for a revision of a git repository; the work tree is not touched.
    Revision {
        repo: PathBuf,
        revision: String,
        command: Option<String>,
        program: Option<PathBuf>,
    },
    /// A cargo package and the name of one of its binaries or examples.
    Cargo {
        manifest_dir: PathBuf,
        target: Option<String>,
    },
    /// Whole-program bitcode that someone else made.
    Bitcode(PathBuf),
    /// A `compile_commands.json`; of several `main`s the one in the file
    /// named `program` (with or without suffix) is taken.
    CompileCommands {
        database: PathBuf,
        program: Option<String>,
    },
}

impl Source {
    /// The files or the directory that it is.
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            Source::Files(paths) => paths,
            Source::Directory { path, .. }
            | Source::Revision { repo: path, .. }
            | Source::Cargo {
                manifest_dir: path, ..
            }
            | Source::Bitcode(path)
            | Source::CompileCommands { database: path, .. } => std::slice::from_ref(path),
        }
    }

    /// What is meant by paths on a command line. `program` is the executable that a
    /// build makes, or a cargo target.
    pub fn detect(paths: &[PathBuf], command: Option<String>, program: Option<String>) -> Source {
        let [path] = paths else {
            return Source::Files(paths.to_vec());
        };
        let name = path.file_name().unwrap_or_default();
        if name == "Cargo.toml" {
            let manifest_dir = path.parent().map(PathBuf::from).unwrap_or_default();
            return Source::Cargo {
                manifest_dir: non_empty(manifest_dir),
                target: program,
            };
        }
        if name == "compile_commands.json" {
            return Source::CompileCommands {
                database: path.clone(),
                program,
            };
        }
        if path.extension().is_some_and(|suffix| suffix == "bc") {
            return Source::Bitcode(path.clone());
        }
        if path.is_dir() && command.is_none() && path.join("Cargo.toml").is_file() {
            return Source::Cargo {
                manifest_dir: path.clone(),
                target: program,
            };
        }
        if path.is_dir() {
            let program = program.map(PathBuf::from);
            return Source::Directory {
                path: path.clone(),
                command,
                program,
            };
        }
        Source::Files(paths.to_vec())
    }
}

/// The parent of a bare file name is the empty path, which no command accepts.
fn non_empty(path: PathBuf) -> PathBuf {
    if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path
    }
}

/// How to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Everything this crate writes goes here.
    pub cache: PathBuf,
    /// Flags of the user for files (compiler and linker alike).
    pub flags: Vec<String>,
    /// Further native binaries to make.
    pub variants: Vec<Variant>,
    /// The cargo profile.
    pub profile: String,
    /// Arguments for cargo, such as `--features=x`.
    pub cargo_arguments: Vec<String>,
    /// A build command, or one call of a compiler, may take this long.
    pub time_limit: Option<Duration>,
    /// The program that stands in for the compiler; found out if not given.
    pub stand_in: Option<PathBuf>,
    /// A file that calls functions of the version in place of its `main`.
    pub harness: Option<PathBuf>,
    /// The version may be without a `main`: its functions are asked for.
    pub library: bool,
    /// The bitcode gets the flags of a variant. A version with a harness is compiled from it.
    pub in_bitcode: Option<Variant>,
    /// Nobody is going to run the version: sources are not compiled to a native binary, which takes the compiler
    /// minutes if they have functions of thousands of blocks. What a build command makes is there all the same.
    pub code_only: bool,
    /// Which lines have code of their own. Unless it is as usual, the cache must be one for such versions alone.
    pub lines: Lines,
}

impl BuildOptions {
    /// Flags for bitcode after those of the user.
    pub fn bitcode_flags(&self) -> &'static [&'static str] {
        match self.lines {
            // Where the lives of variables end, all ways out of their scope are put together, and a number tells later
            // where each goes on. Nothing of that is in the source.
            Lines::Drawn => &["-Xclang", "-disable-lifetime-markers"],
            _ => self.in_bitcode.map_or(&[], Variant::flags),
        }
    }
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions {
            cache: PathBuf::from(".changeling/cache"),
            flags: Vec::new(),
            variants: Vec::new(),
            profile: "release".into(),
            cargo_arguments: Vec::new(),
            time_limit: None,
            stand_in: None,
            harness: None,
            library: false,
            in_bitcode: None,
            code_only: false,
            lines: Lines::default(),
        }
    }
}

/// Which lines of the source have code of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// Those that do something.
    #[default]
    Needed,
    /// Also those that merely lead on, as `return 1;` does, or give a variable its value.
    Kept,
    /// The same, and values go from the line where a variable gets them to those where it is used. Such a version is
    /// looked at and never run.
    Drawn,
}

/// Another native binary of the same source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Address and undefined-behaviour sanitizers.
    Sanitized,
    /// Automatic variables start as zeros.
    AutoZero,
    /// Automatic variables start as a pattern.
    AutoPattern,
}

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Variant::Sanitized => "sanitized",
            Variant::AutoZero => "auto-zero",
            Variant::AutoPattern => "auto-pattern",
        }
    }

    /// Flags for clang that make it.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Variant::Sanitized => &["-fsanitize=address,undefined", "-fno-omit-frame-pointer"],
            // What malloc has just given is undefined to a compiler that knows malloc: it would not be read at all,
            // however the heap is filled.
            Variant::AutoZero => &["-ftrivial-auto-var-init=zero", "-fno-builtin"],
            Variant::AutoPattern => &["-ftrivial-auto-var-init=pattern", "-fno-builtin"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    C,
    Cpp,
    Rust,
    /// The bitcode does not say.
    Unknown,
}

/// A version, built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Version of this structure as written to disk.
    pub format: u32,
    /// Hash of all that went into the build.
    pub key: String,
    /// The native binary with the user's flags.
    pub plain: PathBuf,
    /// Prepared whole-program bitcode: SSA form, no inlining, no vectorising, debug info.
    pub bitcode: PathBuf,
    /// The program is an `LLVMFuzzerTestOneInput`; `plain` feeds it standard input.
    pub harness: bool,
    /// The languages in the bitcode, in order, each once.
    pub languages: Vec<Language>,
    /// Parts of the program that have no bitcode.
    pub missing: Vec<MissingObject>,
    /// Libraries and flags to link the traced binary with.
    pub link: Vec<String>,
    /// Where the sources are; see [`Built::source_name`].
    pub source_root: PathBuf,
    pub variants: Vec<VariantBinary>,
    /// Variants that were asked for and cannot be made, with the reason.
    pub unavailable: Vec<(Variant, String)>,
}

pub const BUILT_FORMAT: u32 = 2;

impl Built {
    /// The name of a source relative to [`Built::source_root`], given the directory and name in
    /// the debug information; `None` for sources of others (system headers, the standard library).
    pub fn source_name(directory: &str, name: &str) -> Option<PathBuf> {
        let whole = std::path::Path::new(directory).join(name);
        let below = match whole.is_absolute() {
            true => whole.strip_prefix(crate::translation::SOURCE_PREFIX).ok()?,
            false => &whole,
        };
        let mut parts = Vec::new();
        for part in below.components() {
            match part {
                std::path::Component::Normal(part) => parts.push(part),
                std::path::Component::ParentDir => drop(parts.pop()?),
                _ => {}
            }
        }
        Some(parts.iter().collect())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantBinary {
    pub variant: Variant,
    pub path: PathBuf,
}

/// An object that the traced program runs without tracing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MissingObject {
    pub object: String,
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sources_are_relative_to_the_root() {
        let name = |directory, name| {
            Built::source_name(directory, name).map(|path| path.display().to_string())
        };
        assert_eq!(name(".", "a.c").as_deref(), Some("a.c"));
        assert_eq!(
            name("/source/sub", "../inc/x.h").as_deref(),
            Some("inc/x.h")
        );
        assert_eq!(
            name("/source/build", "/source/lib/area.c").as_deref(),
            Some("lib/area.c")
        );
        assert_eq!(name("/source", "/usr/include/stdio.h"), None);
        assert_eq!(name(".", "../a.c"), None);
    }
}
