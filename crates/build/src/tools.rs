//! The programs this crate runs, and their versions.

use crate::error::BuildError;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The one LLVM that compiles, links and reads bitcode.
pub const LLVM: u32 = 22;
/// The one architecture that programs under test may have.
pub const ARCHITECTURE: &str = "x86_64";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Clang,
    ClangPlusPlus,
    LlvmLink,
    Objcopy,
    Archiver,
    Git,
    Cargo,
    Rustc,
    Sh,
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Tool::Clang => "clang-22",
            Tool::ClangPlusPlus => "clang++-22",
            Tool::LlvmLink => "llvm-link-22",
            Tool::Objcopy => "llvm-objcopy-22",
            Tool::Archiver => "llvm-ar-22",
            Tool::Git => "git",
            Tool::Cargo => "cargo",
            Tool::Rustc => "rustc",
            Tool::Sh => "sh",
        }
    }

    /// The Debian package (or, for Rust, the installer) that brings it.
    pub fn package(self) -> &'static str {
        match self {
            Tool::Clang | Tool::ClangPlusPlus => "clang-22",
            Tool::LlvmLink | Tool::Objcopy | Tool::Archiver => "llvm-22",
            Tool::Git => "git",
            Tool::Cargo | Tool::Rustc => "the stable Rust toolchain (rustup)",
            Tool::Sh => "dash",
        }
    }

    /// Where it is on `PATH`.
    pub fn find(self) -> Option<PathBuf> {
        find_program(self.name())
    }

    pub fn path(self) -> Result<PathBuf, BuildError> {
        self.find().ok_or_else(|| BuildError::ToolMissing {
            tool: self.name().into(),
            package: self.package().into(),
        })
    }

    pub fn command(self) -> Result<Command, BuildError> {
        Ok(Command::new(self.path()?))
    }
}

/// Looks a program up on `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// One line that changes whenever another compiler is installed: part of every
/// cache key of C and C++ builds.
pub fn clang_version() -> Result<&'static str, BuildError> {
    static VERSION: OnceLock<String> = OnceLock::new();
    if let Some(version) = VERSION.get() {
        return Ok(version);
    }
    let version = version_text(Tool::Clang, &["--version"])?;
    Ok(VERSION.get_or_init(|| version))
}

/// Output of `rustc -vV` in a directory (which may choose its own toolchain).
pub fn rustc_version(directory: &std::path::Path) -> Result<RustcVersion, BuildError> {
    let output = Tool::Rustc
        .command()?
        .arg("-vV")
        .current_dir(directory)
        .output()
        .map_err(|source| BuildError::io("cannot run rustc in", directory, source))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let llvm = text
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))
        .and_then(|version| version.split('.').next()?.parse().ok());
    Ok(RustcVersion { text, llvm })
}

#[derive(Clone, Debug)]
pub struct RustcVersion {
    pub text: String,
    /// The major version of the LLVM it is built on.
    pub llvm: Option<u32>,
}

fn version_text(tool: Tool, arguments: &[&str]) -> Result<String, BuildError> {
    let path = tool.path()?;
    let output = Command::new(&path)
        .args(arguments)
        .output()
        .map_err(|source| BuildError::io("cannot run", &path, source))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
