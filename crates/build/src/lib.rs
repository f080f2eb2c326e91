//! From a version of a program to a plain native binary and prepared
//! whole-program bitcode.
//!
//! [`build`] is the way in. Everything it makes is kept in a cache by content.
//! The user's files are only read: trees are built in a copy.
//!
//! Absent on purpose: tracing (that is `instrument`), and a model of what is in the bitcode (that is `program`).

mod assets;
mod bitcode;
mod cache;
mod choices;
mod command;
mod compile_commands;
mod coroutines;
mod digest;
mod directory;
mod error;
mod executable;
mod exports;
mod fatal;
mod files;
mod harness;
mod inspect;
mod lines;
mod parallel;
mod prepare;
mod process;
mod revision;
mod running;
mod rust;
pub mod stand_in;
pub mod tools;
mod translation;
mod tree;
mod version;

pub use error::BuildError;
pub use exports::{BY_NAME, Exports, Names};
pub use fatal::llvm_ends_with;
pub use running::end_builds;
pub use version::{
    BUILT_FORMAT, BuildOptions, Built, Language, Lines, MissingObject, Source, Variant,
    VariantBinary,
};

use std::path::PathBuf;

/// Builds a version, or finds that it was built before.
pub fn build(source: &Source, options: &BuildOptions) -> Result<Built, BuildError> {
    // What is written down about a version names its files.
    if let Some(path) = source.paths().iter().find(|path| path.to_str().is_none()) {
        return Err(BuildError::NotUnicode(path.clone()));
    }
    // Compilers tell by lines which files they read.
    let broken = |path: &&PathBuf| path.to_string_lossy().contains(['\n', '\r']);
    if let Some(path) = source.paths().iter().find(broken) {
        return Err(BuildError::LineBreak(path.clone()));
    }
    let mut files = source.paths().iter().chain(&options.harness);
    files.try_for_each(|path| inspect::check_file(path))?;
    let cache = cache::Cache::open(&options.cache)?;
    let file = match &options.harness {
        Some(file) if !harness::is_rust(file) => file,
        _ => return build_alone(source, options, &cache),
    };
    let with_harness = |in_bitcode| {
        let alone = BuildOptions {
            harness: None,
            library: true,
            variants: Vec::new(),
            in_bitcode,
            ..options.clone()
        };
        let version = build_version(source, &alone, &cache)?;
        harness::attach(&version, file, &alone, &cache)
    };
    let mut built = with_harness(None)?;
    for &variant in &options.variants {
        match harness::without_variants(source, &built) {
            Some(reason) => built.unavailable.push((variant, reason.into())),
            None => {
                let path = with_harness(Some(variant))?.plain;
                built.variants.push(VariantBinary { variant, path });
            }
        }
    }
    Ok(built)
}

/// Builds a version that is its own program. One in Rust has no variants: what was built without them is not built again for them.
fn build_alone(
    source: &Source,
    options: &BuildOptions,
    cache: &cache::Cache,
) -> Result<Built, BuildError> {
    if options.variants.is_empty() {
        return build_version(source, options, cache);
    }
    let without = BuildOptions {
        variants: Vec::new(),
        ..options.clone()
    };
    let mut version = build_version(source, &without, cache)?;
    if version.languages != [Language::Rust] {
        return build_version(source, options, cache);
    }
    version.unavailable = rust::unavailable(&options.variants);
    Ok(version)
}

/// Bitcode of the functions that a harness for the version can call, with their debug information.
pub fn interface(source: &Source, options: &BuildOptions) -> Result<PathBuf, BuildError> {
    let cache = cache::Cache::open(&options.cache)?;
    let package = match source {
        Source::Cargo { manifest_dir, .. } => Some(rust::library(manifest_dir, options, &cache)?),
        Source::Revision {
            repo,
            revision,
            command,
            ..
        } => revision::library(repo, revision, command.as_deref(), options, &cache)?,
        _ => None,
    };
    if let Some(library) = package {
        return Ok(library);
    }
    let options = BuildOptions {
        library: true,
        ..options.clone()
    };
    Ok(build(source, &options)?.bitcode)
}

fn build_version(
    source: &Source,
    options: &BuildOptions,
    cache: &cache::Cache,
) -> Result<Built, BuildError> {
    match source {
        Source::Files(_) | Source::Bitcode(_) | Source::CompileCommands { .. } => {
            harness::refuse_rust(options)?
        }
        Source::Cargo { .. } | Source::Directory { .. } | Source::Revision { .. } => {}
    }
    match source {
        Source::Files(files) => match files.as_slice() {
            [file] if file.extension().is_some_and(|suffix| suffix == "rs") => {
                rust::build_file(file, options, cache)
            }
            [file] if executable::is_executable(file) => {
                executable::build_executable(file, options, cache)
            }
            _ => files::build_files(files, options, cache),
        },
        Source::Cargo {
            manifest_dir,
            target,
        } => rust::build_package(manifest_dir, target.as_deref(), options, cache),
        Source::Directory {
            path,
            command,
            program,
        } => {
            directory::build_directory(path, command.as_deref(), program.as_deref(), options, cache)
        }
        Source::Revision {
            repo,
            revision,
            command,
            program,
        } => {
            let (command, program) = (command.as_deref(), program.as_deref());
            revision::build_revision(repo, revision, command, program, options, cache)
        }
        Source::Bitcode(path) => bitcode::build_bitcode(path, options, cache),
        Source::CompileCommands { database, program } => {
            compile_commands::build_database(database, program.as_deref(), options, cache)
        }
    }
}
