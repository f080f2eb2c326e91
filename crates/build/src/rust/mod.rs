//! Rust programs: a cargo package, or a single file.
//!
//! The plain binary is built with the user's profile. The bitcode is built with
//! the same profile (so `debug_assertions`, overflow checks and the way of
//! panicking are the same) but for the optimisation: all crates, with the standard
//! library, come as one module that LLVM has not yet worked on.

mod backtraces;
mod file;
mod harness;
mod layout;
mod package;

pub use backtraces::drop_backtraces;
pub use file::build_file;
pub use layout::{Layout, seal};
pub use package::{Shared, add_harness, build_in, build_package, library, library_in};

use crate::cache::{ENTRY, Work};
use crate::error::{BuildError, READ, WRITE};
use crate::process::run;
use crate::stand_in::arguments::split_words;
use crate::tools::{LLVM, RustcVersion, Tool, rustc_version};
use crate::version::{MissingObject, Variant};
use std::path::Path;

/// Options for bitcode that cargo's profiles do not know. Together with opt-level 0 (which compiles
/// the unwanted native code fastest) and the user's checks set explicitly, LLVM's passes are left out altogether.
const UNOPTIMISED: &str = "-Cno-prepopulate-passes";

fn checked_rustc(directory: &Path) -> Result<RustcVersion, BuildError> {
    let version = rustc_version(directory)?;
    match version.llvm {
        Some(found) if found > LLVM => Err(BuildError::RustVersion { found }),
        _ => Ok(version),
    }
}

/// Why there are no variants of Rust programs. Those with filled variables are not missed: Rust has no variables without a
/// value.
pub fn unavailable(variants: &[Variant]) -> Vec<(Variant, String)> {
    let missed = variants.iter().filter(|v| **v == Variant::Sanitized);
    let reason = "rustc has sanitizers only in the nightly toolchain";
    missed.map(|&variant| (variant, reason.into())).collect()
}

/// What the traced binary is linked with, from the linker call that rustc
/// printed: libraries, and archives of crates that hold native code. Archives
/// from the build are kept in the entry.
fn link_of(
    arguments: &Path,
    target_directory: &Path,
    work: &Work,
) -> Result<(Vec<String>, Vec<MissingObject>), BuildError> {
    let text = std::fs::read(arguments).map_err(|e| BuildError::io(READ, arguments, e))?;
    let words = split_words(&text);
    let mut link = Vec::new();
    let mut missing = Vec::new();
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let path = Path::new(&word);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if word == "-L" {
            // Only directories that outlive the build.
            if let Some(directory) = words
                .next()
                .filter(|d| !Path::new(d).starts_with(target_directory))
            {
                link.extend([word, directory]);
            }
        } else if word.starts_with("-l") || word == "-Wl,-Bstatic" || word == "-Wl,-Bdynamic" {
            link.push(word);
        } else if [".rlib", ".a", ".so"]
            .iter()
            .any(|suffix| word.ends_with(suffix))
        {
            if path.starts_with(target_directory) {
                keep_archive(path, &work.entry().join(&name))?;
                link.push(format!("{ENTRY}/{name}"));
                missing.push(MissingObject {
                    object: name,
                    reason: "native code of a crate".into(),
                });
            } else {
                link.push(word);
            }
        }
    }
    Ok((link, missing))
}

/// Copies the native code of a crate. With link-time optimisation rustc links a copy of the
/// crate without its Rust objects, which is gone afterwards; then the same is made from the
/// crate itself, which lies beside the folder of that copy.
fn keep_archive(path: &Path, kept: &Path) -> Result<(), BuildError> {
    let failed = |e| BuildError::io(WRITE, kept, e);
    if path.is_file() {
        return std::fs::copy(path, kept).map(|_| ()).map_err(failed);
    }
    let name = path.file_name().unwrap_or_default();
    let folder = path.ancestors().nth(2).unwrap_or(Path::new("/"));
    let original = folder.join(name);
    std::fs::copy(&original, kept).map_err(|e| BuildError::io(READ, &original, e))?;
    let members = run(Tool::Archiver.command()?.arg("t").arg(kept))?.stdout_text();
    let rust: Vec<&str> = members
        .lines()
        .filter(|member| member.ends_with(".rcgu.o") || *member == "lib.rmeta")
        .collect();
    if rust.is_empty() {
        return Ok(());
    }
    let finished = run(Tool::Archiver.command()?.arg("d").arg(kept).args(rust))?;
    match finished.succeeded() {
        true => Ok(()),
        false => Err(BuildError::Link {
            place: original.display().to_string(),
            output: finished.output,
        }),
    }
}
