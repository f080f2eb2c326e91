//! From a version of a program to a plain native binary and prepared
//! whole-program bitcode.
//!
//! [`build`] is the way in. Everything it makes is kept in a cache by content.
//! The user's files are only read: trees are built in a copy.

mod assets;
mod cache;
mod digest;
mod error;
mod files;
mod inspect;
mod parallel;
mod prepare;
mod process;
mod rust;
pub mod stand_in;
pub mod tools;
mod translation;
mod version;

pub use error::BuildError;
pub use version::{BUILT_FORMAT, BuildOptions, Built, Language, MissingObject, Source, Variant, VariantBinary};

/// Builds a version, or finds that it was built before.
pub fn build(source: &Source, options: &BuildOptions) -> Result<Built, BuildError> {
    let cache = cache::Cache::open(&options.cache)?;
    match source {
        Source::Files(files) => match files.as_slice() {
            [file] if file.extension().is_some_and(|suffix| suffix == "rs") => {
                rust::build_file(file, options, &cache)
            }
            _ => files::build_files(files, options, &cache),
        },
        Source::Cargo { manifest_dir, target } => {
            rust::build_package(manifest_dir, target.as_deref(), options, &cache)
        }
        _ => Err(BuildError::NotAProgram { path: "source".into(), reason: "not yet".into() }),
    }
}
