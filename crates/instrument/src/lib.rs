//! Bitcode in, traced native binary out.
//!
//! [`instrument`] links the library models into the program's prepared bitcode,
//! adds code that keeps labels beside values, and links the result with the
//! runtime. See `docs/architecture.md` for the ideas.
//!
//! Absent on purpose: the other version, and what the search wants to know; operands whose values are to be told come as a list.

mod accesses;
mod backtraces;
mod calls;
mod coverage;
mod early;
mod error;
mod frames;
mod function;
mod group;
mod intrinsics;
mod ir;
mod leaves;
mod library;
mod module;
mod named;
mod probes;
mod quiet;
mod redirect;
mod rust;
mod sites;
mod streams;
mod taint;
mod values;

pub use error::InstrumentError;
pub use probes::Probe;
pub use sites::demangled;

use changeling_trace::sites::SiteTable;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLANG: &str = "clang-22";

/// The runtime as one object file.
const RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// A program that can be run under the fork server.
#[derive(Clone, Debug)]
pub struct TracedBinary {
    pub path: PathBuf,
    /// The site table, as JSON.
    pub sites: PathBuf,
}

/// What traced binaries of this tracer are told apart from those of another by.
pub fn identity() -> &'static str {
    env!("CHANGELING_TRACER")
}

/// Makes a traced binary in `directory`. `link` are the libraries and flags that
/// the program was linked with, `probes` the values that its traces shall have.
pub fn instrument(
    bitcode: &Path,
    directory: &Path,
    link: &[String],
    probes: &[Probe],
) -> Result<TracedBinary, InstrumentError> {
    let write = |path: &Path, bytes: &[u8]| {
        std::fs::write(path, bytes).map_err(|source| InstrumentError::Write {
            path: path.into(),
            source,
        })
    };
    std::fs::create_dir_all(directory).map_err(|source| InstrumentError::Write {
        path: directory.into(),
        source,
    })?;
    let traced = directory.join("traced.bc");
    let table = module::transform(bitcode, &traced, probes)?;
    let sites = directory.join("sites.json");
    write(
        &sites,
        &serde_json::to_vec(&table).expect("a site table is plain data"),
    )?;
    let runtime = directory.join("runtime.o");
    write(&runtime, RUNTIME)?;
    let path = directory.join("traced");
    link_binary(&traced, &runtime, &path, is_huge(&table), link)?;
    for part in [&traced, &runtime] {
        std::fs::remove_file(part).map_err(|source| InstrumentError::Write {
            path: part.clone(),
            source,
        })?;
    }
    Ok(TracedBinary { path, sites })
}

/// Leaves the blocks of machine code in the order of the source, and their loops as they are: finding a better order takes
/// minutes for thousands of blocks in a loop, and following values through them takes more stack than there is.
const HUGE_LOOPS: &[&str] = &[
    "-mllvm",
    "-disable-block-placement",
    "-mllvm",
    "-disable-lsr",
];

/// Whether a function has so many blocks that this matters. Traced code has several times as many.
fn is_huge(table: &SiteTable) -> bool {
    const HUGE: u32 = 1000;
    let mut counts = HashMap::new();
    for block in &table.blocks {
        *counts.entry(block.function).or_insert(0u32) += 1;
    }
    counts.into_values().any(|count| count > HUGE)
}

/// Clang generates the code, because it alone sets up static constructors the
/// way today's C library runs them.
fn link_binary(
    traced: &Path,
    runtime: &Path,
    to: &Path,
    huge: bool,
    link: &[String],
) -> Result<(), InstrumentError> {
    let how = if huge { HUGE_LOOPS } else { &[] };
    let output = Command::new(CLANG)
        .args([
            "-O1",
            "-Xclang",
            "-disable-llvm-passes",
            "-fPIE",
            "-Wno-override-module",
            // It would leave a copy of the program in the directory for temporary files.
            "-fno-crash-diagnostics",
        ])
        .args(how)
        // Functions of libraries are looked up once, by the fork server, and not in every run.
        .args(["-fuse-ld=lld", "-pie", "-Wl,-z,now", "-o"])
        .arg(to)
        // First, so that what it does before all else comes before what the program does there.
        .arg(runtime)
        .arg(traced)
        .args(link)
        .output()
        .map_err(|source| InstrumentError::Tool {
            tool: CLANG,
            source,
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(InstrumentError::Link {
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
