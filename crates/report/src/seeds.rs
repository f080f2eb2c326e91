//! Inputs from elsewhere: raw files, corpus directories, cases, `.ktest` files.

use crate::case::{self, Case, CaseError};
use crate::export::ktest::{KTest, KTestError};
use crate::files::{FileError, attempt, open};
use crate::streams;
use changeling_trace::input::{Argument, Input, StreamKind};
use std::path::{Path, PathBuf};

/// An input of the wanted shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    pub path: PathBuf,
    pub input: Input,
    /// Some bytes did not fit into the bound, or had no stream to go to.
    pub cut: bool,
    /// Files beside those of streams that look like such ones and are of none.
    pub stray: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Case(#[from] CaseError),
    #[error("{}: {source}", path.display())]
    KTest { path: PathBuf, source: KTestError },
    #[error("there is no symbolic input for the seed {} to go to; add --stdin N, --sym-arg N, \
             --file NAME=N or --env NAME=N", .0.display())]
    NoStream(PathBuf),
    #[error("no seed in {}: give a file, a directory of files, a case or a .ktest file",
            .0.display())]
    Empty(PathBuf),
}

/// All seeds at `path`, in the order of their names. `shape` says which streams
/// there are and how long they may be; its bytes stand where a seed has none.
pub fn load(path: &Path, shape: &Input) -> Result<Vec<Seed>, SeedError> {
    let metadata = attempt("read", path, std::fs::metadata(path))?;
    if !metadata.is_dir() {
        return Ok(vec![load_file(path, shape)?]);
    }
    if path.join(case::DESCRIPTION).is_file() {
        let case = Case::read(path)?;
        return Ok(vec![fit_input(path, &case.input, shape)]);
    }
    if let Some(seed) = load_streams(path, shape)? {
        return Ok(vec![seed]);
    }
    let mut names = Vec::new();
    for entry in attempt("read", path, std::fs::read_dir(path))? {
        let entry = attempt("read", path, entry)?.path();
        let hidden = entry
            .file_name()
            .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        // Fuzzers keep notes beside their inputs.
        let notes = entry.file_name().is_some_and(|name| name == "README.txt");
        if !hidden && !notes {
            names.push(entry);
        }
    }
    names.sort();
    let mut seeds = Vec::new();
    for entry in names {
        if entry.is_dir() {
            match load(&entry, shape) {
                Err(SeedError::Empty(_)) => {}
                result => seeds.extend(result?),
            }
        } else if entry.is_file() {
            seeds.push(load_file(&entry, shape)?);
        }
    }
    if seeds.is_empty() {
        return Err(SeedError::Empty(path.to_owned()));
    }
    Ok(seeds)
}

fn load_file(path: &Path, shape: &Input) -> Result<Seed, SeedError> {
    let bytes = attempt("read", path, read_start(path))?;
    if path
        .extension()
        .is_some_and(|extension| extension == "ktest")
    {
        let test = KTest::read(&bytes).map_err(|source| SeedError::KTest {
            path: path.to_owned(),
            source,
        })?;
        let (input, cut) = test.to_input(shape);
        return Ok(Seed {
            path: path.to_owned(),
            input,
            cut,
            stray: Vec::new(),
        });
    }
    let main = streams::primary(shape).ok_or_else(|| SeedError::NoStream(path.to_owned()))?;
    let mut input = shape.clone();
    input.streams[main].bytes = bytes;
    Ok(finish(path, input))
}

/// What is longer than this is cut to the bound anyway.
const LONGEST: u64 = 64 << 20;

fn read_start(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A folder with `stdin.bin`, `arg1.bin`, …, as in a case or in `inputs/`.
fn load_streams(path: &Path, shape: &Input) -> Result<Option<Seed>, SeedError> {
    let mut input = shape.clone();
    let mut found = false;
    let mut known = Vec::new();
    for number in 0..input.streams.len() {
        known.push(streams::file_name(shape, number));
        let file = path.join(&known[number]);
        if file.is_file() {
            input.streams[number].bytes = attempt("read", &file, read_start(&file))?;
            found = true;
        }
    }
    if !found {
        return Ok(None);
    }
    let mut seed = finish(path, input);
    for entry in attempt("read", path, std::fs::read_dir(path))? {
        let name = attempt("read", path, entry)?.file_name();
        let name = name.to_string_lossy().into_owned();
        let is_fixed = |at: usize| matches!(shape.arguments.get(at), Some(Argument::Fixed(_)));
        let argument = name
            .strip_prefix("arg")
            .and_then(|rest| rest.strip_suffix(".bin"));
        let argument = argument.and_then(|number| number.parse::<usize>().ok());
        let looks_like_one = argument.is_some_and(|number| !is_fixed(number.wrapping_sub(1)))
            || name == "stdin.bin"
            || (name.starts_with("env-") || name.starts_with("file-")) && name.ends_with(".bin");
        if looks_like_one && !known.contains(&name) {
            seed.stray.push(name);
        }
    }
    seed.stray.sort();
    Ok(Some(seed))
}

/// Bytes go to the stream of the same kind and name; arguments by position.
fn fit_input(path: &Path, from: &Input, shape: &Input) -> Seed {
    let mut input = shape.clone();
    let mut lost = false;
    for (number, stream) in from.streams.iter().enumerate() {
        let name = streams::file_name(from, number);
        let target = (0..shape.streams.len()).find(|&n| streams::file_name(shape, n) == name);
        match target {
            Some(target) => input.streams[target].bytes = stream.bytes.clone(),
            None => lost = true,
        }
    }
    let mut seed = finish(path, input);
    seed.cut |= lost;
    seed
}

fn finish(path: &Path, mut input: Input) -> Seed {
    let before = input.clone();
    input.normalise();
    let cut = input.streams != before.streams;
    Seed {
        path: path.to_owned(),
        input,
        cut,
        stray: Vec::new(),
    }
}

/// The stream that is argument number `position`, counted from 0 over symbolic ones.
pub(crate) fn symbolic_argument(shape: &Input, position: usize) -> Option<usize> {
    shape
        .arguments
        .iter()
        .filter_map(|argument| match argument {
            Argument::Symbolic(stream) => Some(*stream),
            Argument::Fixed(_) => None,
        })
        .nth(position)
        .filter(|&stream| shape.streams[stream].kind == StreamKind::Argument)
}
