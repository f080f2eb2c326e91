//! What can go wrong while a version is built, each with its own exit code.

use std::path::{Path, PathBuf};

/// A reason why a version could not be built. `Display` says what happened;
/// [`place`](BuildError::place), [`help`](BuildError::help) and
/// [`output`](BuildError::output) say where, what to do, and what the tool that failed said.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("there is no file or directory {}", .0.display())]
    NotFound(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the name of {} is not UTF-8", .0.display())]
    NotUnicode(PathBuf),
    #[error("the name {:?} has a line break in it", .0)]
    LineBreak(PathBuf),
    #[error("{} is not a program: {reason}", path.display())]
    NotAProgram { path: PathBuf, reason: String },
    #[error("the program has neither `main` nor `LLVMFuzzerTestOneInput`")]
    NoEntry { place: String },
    #[error("{} does not compile", file.display())]
    Compile { file: PathBuf, output: String },
    #[error("the program does not link")]
    Link { place: String, output: String },
    #[error("{} is for {found}, not for {}", path.display(), crate::tools::ARCHITECTURE)]
    Architecture { path: PathBuf, found: String },
    #[error("`{revision}` is not a revision of {}", repo.display())]
    UnknownRevision {
        repo: PathBuf,
        revision: String,
        near: Vec<String>,
        history: History,
    },
    #[error("{} is not in a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("`{revision}` uses submodules whose files are not in the repository")]
    Submodules {
        repo: PathBuf,
        revision: String,
        paths: Vec<String>,
    },
    #[error("git failed: {action}")]
    Git {
        repo: PathBuf,
        action: String,
        output: String,
    },
    #[error("the build command failed ({status})")]
    Command {
        command: String,
        place: PathBuf,
        status: String,
        output: String,
    },
    #[error("the build command did not end within {seconds} s")]
    Timeout {
        command: String,
        place: PathBuf,
        seconds: u64,
        /// What it has said so far.
        output: String,
    },
    #[error("{} was not built within {seconds} s", what.display())]
    Slow { what: PathBuf, seconds: u64 },
    #[error("no build file found in {}", .0.display())]
    NoBuildCommand(PathBuf),
    #[error("the build produced no program with bitcode")]
    NoProgram { place: PathBuf, reason: String },
    #[error("the build produced several programs")]
    SeveralPrograms {
        place: PathBuf,
        programs: Vec<String>,
    },
    #[error("the cargo package has no target to choose: {reason}")]
    CargoTarget {
        place: PathBuf,
        reason: String,
        targets: Vec<String>,
    },
    #[error("the cargo package does not build")]
    Cargo { place: PathBuf, output: String },
    #[error("{} cannot be read as bitcode", path.display())]
    Bitcode { path: PathBuf, output: String },
    #[error(
        "rustc is built on LLVM {found}; its bitcode cannot be read by LLVM {}",
        crate::tools::LLVM
    )]
    RustVersion { found: u32 },
    #[error("the disk is full")]
    DiskFull { place: PathBuf },
    #[error("`{tool}` is not installed")]
    ToolMissing { tool: String, package: String },
    #[error("{action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not a compilation database: {reason}", path.display())]
    CompileCommands { path: PathBuf, reason: String },
    #[error("the harness {} does not fit: {reason}", file.display())]
    Harness { file: PathBuf, reason: String },
}

/// How much of its past a repository holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    Whole,
    Shallow,
    /// No commit yet.
    Empty,
}

impl BuildError {
    /// The exit code of the command line; `docs/exit-codes.md` lists them all.
    pub fn code(&self) -> u8 {
        match self {
            BuildError::NotFound(_)
            | BuildError::Unreadable { .. }
            | BuildError::NotUnicode(_)
            | BuildError::LineBreak(_) => 10,
            BuildError::NotAProgram { .. } => 11,
            BuildError::NoEntry { .. } => 12,
            BuildError::Compile { .. } => 13,
            BuildError::Link { .. } => 14,
            BuildError::Architecture { .. } => 15,
            BuildError::UnknownRevision { .. } => 16,
            BuildError::NotARepository(_)
            | BuildError::Submodules { .. }
            | BuildError::Git { .. } => 17,
            BuildError::Command { .. } => 18,
            BuildError::NoBuildCommand(_) => 19,
            BuildError::NoProgram { .. } | BuildError::SeveralPrograms { .. } => 20,
            BuildError::DiskFull { .. } => 21,
            BuildError::ToolMissing { .. } | BuildError::RustVersion { .. } => 22,
            BuildError::CargoTarget { .. } => 23,
            BuildError::Cargo { .. } => 24,
            BuildError::Bitcode { .. } => 25,
            BuildError::Timeout { .. } | BuildError::Slow { .. } => 26,
            BuildError::CompileCommands { .. } => 27,
            BuildError::Io { .. } => 28,
            BuildError::Harness { .. } => 29,
        }
    }

    /// Where it happened, if the message does not say so itself.
    pub fn place(&self) -> Option<String> {
        match self {
            BuildError::NoEntry { place } | BuildError::Link { place, .. } => Some(place.clone()),
            BuildError::UnknownRevision { repo, .. }
            | BuildError::Submodules { repo, .. }
            | BuildError::Git { repo, .. } => Some(repo.display().to_string()),
            BuildError::Command { place, command, .. }
            | BuildError::Timeout { place, command, .. } => {
                Some(format!("`{command}` in a copy of {}", place.display()))
            }
            BuildError::NoProgram { place, .. }
            | BuildError::SeveralPrograms { place, .. }
            | BuildError::CargoTarget { place, .. }
            | BuildError::Cargo { place, .. }
            | BuildError::DiskFull { place } => Some(place.display().to_string()),
            _ => None,
        }
    }

    /// What the compiler or build command printed.
    pub fn output(&self) -> Option<&str> {
        match self {
            BuildError::Compile { output, .. }
            | BuildError::Link { output, .. }
            | BuildError::Git { output, .. }
            | BuildError::Command { output, .. }
            | BuildError::Timeout { output, .. }
            | BuildError::Cargo { output, .. }
            | BuildError::Bitcode { output, .. } => Some(output)
                .filter(|text| !text.is_empty())
                .map(String::as_str),
            _ => None,
        }
    }

    /// What the user can do.
    pub fn help(&self) -> String {
        match self {
            BuildError::NotFound(_) => "check the path; it is taken from the current directory".into(),
            BuildError::Unreadable { .. } => "check its permissions".into(),
            BuildError::NotUnicode(_) | BuildError::LineBreak(_) => "rename it, or copy it to another place".into(),
            BuildError::NotAProgram { .. } => {
                "give C or C++ files, one Rust file, a directory, a git revision, a cargo package, bitcode, or an executable built with `changeling cc`".into()
            }
            BuildError::NoEntry { .. } => {
                "add a `main`, or a harness `int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)`, or name the file that holds it too".into()
            }
            BuildError::Compile { output, file } if file.extension().is_some_and(|suffix| suffix == "rs") => missing_part_help(output)
                .unwrap_or("mend the source; a file that needs other crates goes into a cargo package")
                .into(),
            BuildError::Compile { output, .. } => missing_part_help(output)
                .unwrap_or("mend the source, or add the flags it needs (--flag -I…, --flag -D…, --flag -std=…)")
                .into(),
            BuildError::Link { output, .. } => missing_part_help(output)
                .unwrap_or("name all source files, or add the libraries it needs (--flag -l…, --flag -L…)")
                .into(),
            BuildError::Architecture { .. } => {
                format!("build it for {} (no -m32, no cross compiler)", crate::tools::ARCHITECTURE)
            }
            BuildError::UnknownRevision { near, history, .. } => unknown_revision_help(near, *history),
            BuildError::NotARepository(_) => "go into the repository, or name files or directories instead of revisions".into(),
            BuildError::Submodules { paths, .. } => format!(
                "a revision is read without its submodules ({}); check it out with them in a directory and give that directory",
                paths.join(", ")
            ),
            BuildError::Git { .. } => "see git's message above".into(),
            BuildError::Command { output, .. } => missing_part_help(output)
                .unwrap_or("run the command by hand in a clean copy of the tree to see it fail; give another with --build")
                .into(),
            BuildError::Timeout { .. } => "give it more time with --build-time, or another command with --build".into(),
            BuildError::Slow { .. } => "give it more time with --build-time".into(),
            BuildError::NoBuildCommand(_) => {
                "looked for Cargo.toml, configure, Makefile, CMakeLists.txt, configure.ac, meson.build, compile_commands.json; give the command with --build".into()
            }
            BuildError::NoProgram { reason, .. } => reason.clone(),
            BuildError::SeveralPrograms { programs, .. } => {
                format!("choose one with --program: {}", programs.join(", "))
            }
            BuildError::CargoTarget { targets, .. } if targets.is_empty() => {
                "add a binary or an example to the package, or compare single functions with --harness (`changeling harness` writes one)".into()
            }
            BuildError::CargoTarget { targets, .. } => format!("choose one of: {}", targets.join(", ")),
            BuildError::Cargo { output, .. } => cargo_help(output)
                .unwrap_or("run `cargo build --release` by hand to see it fail")
                .into(),
            BuildError::Bitcode { .. } => format!(
                "make it, or make it anew if it was cut or damaged, with clang or rustc on LLVM {} or older",
                crate::tools::LLVM
            ),
            BuildError::RustVersion { .. } => "choose an older stable toolchain with rust-toolchain.toml".into(),
            BuildError::DiskFull { .. } => "free some space, or put the cache elsewhere with --cache".into(),
            BuildError::ToolMissing { package, .. } => format!("install it: {package}; `changeling doctor` lists all that is needed"),
            BuildError::CompileCommands { .. } => {
                "it must be a JSON list of {directory, file, command or arguments}".into()
            }
            BuildError::Harness { .. } => {
                "`changeling harness FUNCTION VERSION` writes one for a version; functions that nothing calls may not be in a program at all".into()
            }
            BuildError::Io { .. } => "check permissions and free space".into(),
        }
    }

    /// Wraps an I/O error, telling a full disk apart from everything else.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> BuildError {
        let path = path.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                BuildError::DiskFull { place: path }
            }
            std::io::ErrorKind::NotFound if action == READ => BuildError::NotFound(path),
            _ if action == READ => BuildError::Unreadable { path, source },
            _ => BuildError::Io {
                action,
                path,
                source,
            },
        }
    }

    /// The same error, with the directory `inside` called by the name that the user knows it by.
    pub(crate) fn with_name(mut self, inside: &Path, name: &Path) -> BuildError {
        let place = match &mut self {
            BuildError::NotFound(path)
            | BuildError::NotUnicode(path)
            | BuildError::LineBreak(path)
            | BuildError::NoBuildCommand(path)
            | BuildError::Unreadable { path, .. }
            | BuildError::NotAProgram { path, .. }
            | BuildError::CompileCommands { path, .. } => path,
            BuildError::Command { place, .. }
            | BuildError::Timeout { place, .. }
            | BuildError::NoProgram { place, .. }
            | BuildError::SeveralPrograms { place, .. }
            | BuildError::CargoTarget { place, .. }
            | BuildError::Cargo { place, .. } => place,
            BuildError::Compile { file, .. } => file,
            BuildError::Slow { what, .. } => what,
            _ => return self,
        };
        if let Ok(rest) = place.strip_prefix(inside) {
            *place = match rest.as_os_str().is_empty() {
                true => name.to_path_buf(),
                false => format!("{} in {}", rest.display(), name.display()).into(),
            };
        } else if inside.starts_with(&*place) {
            // The workspace that the package is a part of.
            *place = name.to_path_buf();
        }
        self
    }

    /// A tool's own message may be about a full disk; then that is what we say.
    pub(crate) fn or_disk_full(self, place: &Path) -> BuildError {
        match self.output() {
            Some(output) if output.contains("No space left on device") => BuildError::DiskFull {
                place: place.to_path_buf(),
            },
            _ => self,
        }
    }
}

pub(crate) const READ: &str = "cannot read";
pub(crate) const WRITE: &str = "cannot write";

/// What is missing on this machine, if that is what compilers and linkers have said.
fn missing_part_help(output: &str) -> Option<&'static str> {
    let says = |text: &str| output.contains(text);
    if says("file not found") && says("fatal error") {
        Some(
            "install the package that has the header (often NAME-dev), or say where it is with --flag -I…",
        )
    } else if says("cannot find -l") || says("unable to find library -l") {
        Some(
            "install the package that has the library (often libNAME-dev), or say where it is with --flag -L…",
        )
    } else if says("Could not resolve host") || says("Temporary failure in name resolution") {
        Some("the build asks the network; fetch what it needs first, so that it builds without")
    } else if says("Could not find a package configuration file")
        || says("Could NOT find ")
        || says("Package requirements (")
        || says("No package '")
    {
        Some("install the package that the build looks for, with its headers (often libNAME-dev)")
    } else if says("configure: error:") {
        Some(
            "configure misses something, which it names above: install it (often libNAME-dev), or go without: --build './configure --without-NAME && make'",
        )
    } else if says("command not found") || says(": not found") || says("Error 127") {
        Some(
            "the build calls a program that is not installed: the output above names it; `changeling doctor` lists what Changeling itself needs",
        )
    } else {
        None
    }
}

/// What a message of cargo asks for.
fn cargo_help(output: &str) -> Option<&'static str> {
    let unfetched = [
        "you're using offline mode",
        "failed to download",
        "failed to get `",
        "Could not resolve host",
        "failed to query replaced source",
        "spurious network error",
    ];
    let says = |text: &str| output.contains(text);
    if unfetched.into_iter().any(says) {
        Some(
            "dependencies are not here: `cargo fetch` (or `cargo vendor`) gets them while there is a network",
        )
    } else if says(NO_DEPENDENCY) {
        Some("put the directory there, or mend the path in Cargo.toml")
    } else if says("no matching package named") {
        Some("there is no crate of that name: mend Cargo.toml")
    } else if says("error: profile `") && says("` is not defined") {
        Some("name a profile of Cargo.toml with --profile, or `release` or `dev`")
    } else if says("failed to run custom build command") {
        Some(
            "a build script failed, and says above why: perhaps a library or program is to be installed first",
        )
    } else {
        None
    }
}

/// Said of a dependency given by its path.
pub(crate) const NO_DEPENDENCY: &str = "depends on a directory that is not there";

fn unknown_revision_help(near: &[String], history: History) -> String {
    if history == History::Empty {
        return "nothing is committed in this repository yet; commit a version first, or name \
                files or directories instead of revisions"
            .into();
    }
    let mut help = if near.is_empty() {
        "list the names with `git branch -a` and `git tag`".to_string()
    } else {
        format!("near names: {}", near.join(", "))
    };
    if history == History::Shallow {
        help += "; this is a shallow clone: `git fetch --unshallow` gets the older history";
    }
    help
}
