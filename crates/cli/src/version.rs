//! A version made ready to run: built, traced, both kept in the cache.

use crate::exit::Code;
use crate::failure::Failure;
use changeling_analysis::Graphs;
use changeling_build::{BY_NAME, BuildError, BuildOptions, Built, Exports, Source, build};
use changeling_instrument::{InstrumentError, Probe, instrument};
use changeling_program::{
    Function, FunctionId, GlobalId, Linkage, Place, Program, ReadError, read,
};
use changeling_trace::sites::{self, SiteTable};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Version {
    pub built: Built,
    /// The traced binary.
    pub traced: PathBuf,
    pub sites: SiteTable,
}

impl Version {
    pub fn prepare(source: &Source, options: &BuildOptions) -> Result<Version, Failure> {
        Version::trace(build(source, options)?, options, &[])
    }

    /// What was built, traced with probes.
    pub fn trace(
        built: Built,
        options: &BuildOptions,
        probes: &[Probe],
    ) -> Result<Version, Failure> {
        let key = traced_key(&built, probes);
        let directory = options.cache.join("traced").join(key);
        let (traced, table) = (directory.join("traced"), directory.join("sites.json"));
        if !is_sealed(&directory) {
            // A machine that lost its power may have left half of a file.
            let _ = std::fs::remove_dir_all(&directory);
            // Made beside and moved into place, so that a killed run leaves no half of it.
            let work = work_directory(&options.cache.join("traced"));
            let made = instrument(&built.bitcode, &work, &built.link, probes);
            if made.is_err() {
                let _ = std::fs::remove_dir_all(&work);
            }
            made?;
            seal(&work)?;
            if std::fs::rename(&work, &directory).is_err() {
                // Another process was faster.
                let _ = std::fs::remove_dir_all(&work);
            }
        }
        let sites = read_table(&table)?;
        Ok(Version {
            built,
            traced,
            sites,
        })
    }
}

/// The program of a version, with what of it others use.
pub fn read_program(built: &Built) -> Result<Program, ReadError> {
    let mut program = read(&built.bitcode)?;
    let exports = built.exports();
    let by_name = |function: &Function| BY_NAME.contains(&function.symbol.as_str());
    let asks_by_name = program.functions.iter().any(by_name);
    let is_own = |place: Place| {
        let file = program.file(place.file);
        Built::source_name(&file.directory, &file.name).is_some()
    };
    let is_used = |symbol: &String, linkage: Linkage, place: Option<Place>| {
        // A library's own has its equal here if that is in a header of the library.
        let counts = linkage == Linkage::External || place.is_none_or(is_own);
        let used = match &exports {
            Exports::All => true,
            Exports::ByName => asks_by_name,
            Exports::Named(names) => {
                names.wanted.contains(symbol) || counts && names.replaced.contains(symbol)
            }
        };
        used && linkage != Linkage::Internal
    };
    let starts = Graphs::starts(&program);
    let functions = program.definitions().filter(|id| {
        let function = program.function(*id);
        is_used(&function.symbol, function.linkage, function.place) && !starts.contains(id)
    });
    let functions: Vec<FunctionId> = functions.collect();
    let globals = program.globals.iter().enumerate();
    // What the compiler makes for classes stands nowhere.
    let globals = globals.filter(|(_, global)| {
        let defined = global.initialiser.is_some() && global.place.is_some();
        defined && is_used(&global.symbol, global.linkage, global.place)
    });
    let variables = globals.map(|(index, _)| GlobalId::new(index)).collect();
    (program.exported, program.exported_variables) = (functions, variables);
    Ok(program)
}

/// The file with the sizes of the others.
const SEAL: &str = "sizes.json";

fn sizes(directory: &Path) -> Option<Vec<u64>> {
    let size = |name| Some(std::fs::metadata(directory.join(name)).ok()?.len());
    ["traced", "sites.json"].into_iter().map(size).collect()
}

fn seal(directory: &Path) -> Result<(), Failure> {
    let path = directory.join(SEAL);
    let text = serde_json::json!(sizes(directory)).to_string();
    let written = std::fs::write(&path, text);
    Ok(written.map_err(|error| BuildError::io("cannot write", &path, error))?)
}

fn is_sealed(directory: &Path) -> bool {
    let text = std::fs::read(directory.join(SEAL)).unwrap_or_default();
    let sealed = serde_json::from_slice::<Vec<u64>>(&text).ok();
    sealed.is_some() && sealed == sizes(directory)
}

/// A name that nobody else uses: both versions may be the same and built at once.
fn work_directory(parent: &std::path::Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("work-{}-{number}", std::process::id()))
}

/// The bitcode's key and the tracer's own identity, and which probes there are if there are any.
fn traced_key(built: &Built, probes: &[Probe]) -> String {
    let key = format!("{}-{}", built.key, changeling_instrument::identity());
    if probes.is_empty() {
        return key;
    }
    let mut hasher = DefaultHasher::new();
    probes.hash(&mut hasher);
    format!("{key}-{:016x}", hasher.finish())
}

fn read_table(path: &PathBuf) -> Result<SiteTable, Failure> {
    let damaged = |reason: String| Failure {
        code: Code::CANNOT_RUN,
        what: format!("the site table of a traced program cannot be read: {reason}"),
        place: Some(path.display().to_string()),
        help: Some("remove the cache directory and try again".into()),
        output: None,
    };
    let text = std::fs::read(path).map_err(|error| damaged(error.to_string()))?;
    let table: SiteTable =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if table.format != sites::FORMAT {
        return Err(damaged(format!(
            "format {} instead of {}",
            table.format,
            sites::FORMAT
        )));
    }
    if !is_whole(&table) {
        return Err(damaged("parts of it are missing".into()));
    }
    Ok(table)
}

/// Whether what a table speaks of is in it: readers rely on that.
fn is_whole(table: &SiteTable) -> bool {
    let has_function = |function: u32| (function as usize) < table.functions.len();
    let has_place = |site: &sites::Site| match site.line {
        0 => has_function(site.function),
        _ => (site.file as usize) < table.files.len(),
    };
    table
        .blocks
        .iter()
        .all(|block| has_function(block.function))
        && table.sites.iter().all(has_place)
        && table.sites.is_sorted_by_key(|site| site.number)
}

/// What could not be written because the disk is full.
fn full_disk(error: &InstrumentError) -> Option<PathBuf> {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    match error {
        InstrumentError::Write { path, source } => {
            let full = matches!(source.kind(), StorageFull | QuotaExceeded);
            full.then(|| path.clone())
        }
        InstrumentError::Link { output } => {
            let full = output.contains("No space left on device");
            full.then(|| "the traced program".into())
        }
        _ => None,
    }
}

impl From<InstrumentError> for Failure {
    fn from(error: InstrumentError) -> Failure {
        let help = match &error {
            InstrumentError::NoEntry { .. } => {
                "give a program with `main`, or a harness `LLVMFuzzerTestOneInput`"
            }
            InstrumentError::Architecture { .. } => "build it for x86_64 Linux",
            InstrumentError::Link { .. } => {
                "libraries that the program needs can be given with --flag=-lNAME"
            }
            InstrumentError::Unreadable { .. } => "bitcode must come from LLVM 22 or older",
            InstrumentError::Write { .. } => {
                "see whether the disk is full and the directory writable"
            }
            _ => "`changeling doctor` tells whether something is missing",
        };
        if let Some(place) = full_disk(&error) {
            return BuildError::DiskFull { place }.into();
        }
        let output = match &error {
            InstrumentError::Link { output } => Some(output.clone()),
            _ => None,
        };
        let what = match &error {
            InstrumentError::Link { .. } => "the traced program could not be linked".to_string(),
            other => other.to_string(),
        };
        Failure {
            code: Code::CANNOT_RUN,
            what,
            place: None,
            help: Some(help.into()),
            output,
        }
    }
}

impl From<changeling_exec::ExecError> for Failure {
    fn from(error: changeling_exec::ExecError) -> Failure {
        Failure {
            code: Code::CANNOT_RUN,
            what: error.to_string(),
            place: None,
            help: Some("`changeling doctor` tells whether something is missing".into()),
            output: None,
        }
    }
}

/// As it is written down for later, from wherever that is read.
pub fn absolute(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_traced_program_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["traced", "sites.json"] {
            std::fs::write(folder.path().join(name), "whole").unwrap();
        }
        assert!(!is_sealed(folder.path()));
        seal(folder.path()).unwrap();
        assert!(is_sealed(folder.path()));
        std::fs::write(folder.path().join("traced"), "wh").unwrap();
        assert!(!is_sealed(folder.path()));
        std::fs::remove_file(folder.path().join("traced")).unwrap();
        assert!(!is_sealed(folder.path()));
    }

    #[test]
    fn a_damaged_site_table_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sites.json");
        let mut table = SiteTable {
            format: sites::FORMAT,
            functions: vec![sites::FunctionName {
                symbol: "main".into(),
                name: "main".into(),
                model: false,
            }],
            blocks: vec![sites::Block {
                function: 0,
                site: 1,
                lines: Vec::new(),
                edge: None,
                branch: 1,
            }],
            ..SiteTable::default()
        };
        let write = |table: &SiteTable| {
            std::fs::write(&path, serde_json::to_vec(table).unwrap()).unwrap();
        };
        write(&table);
        assert_eq!(read_table(&path).unwrap(), table);
        table.functions.clear();
        write(&table);
        let failure = read_table(&path).unwrap_err();
        assert_eq!(failure.code, Code::CANNOT_RUN);
        assert!(failure.what.contains("parts of it are missing"));
        assert!(failure.help.unwrap().contains("remove the cache"));
    }
}
