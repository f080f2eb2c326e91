//! `search.jsonl`: what `--resume` needs, written while the search runs, and the
//! raw files of `corpus/`.
//!
//! The first line says what was searched, every other line is an input or a
//! difference. A killed run leaves at most its last line cut short.

use changeling_explore::outcome::{Difference, SAVED_FORMAT, Saved};
use changeling_report::directory::{DirectoryError, OutputDirectory};
use changeling_report::files::attempt;
use changeling_trace::input::Input;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

pub const FILE: &str = "search.jsonl";
const FORMAT: u32 = 2;
/// Enough for any fuzzer; beyond it directories become slow.
const MOST_FILES: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Search {
        format: u32,
        keys: [String; 2],
        shape: Input,
    },
    /// Bytes of each stream, in hexadecimal.
    Input(Vec<String>),
    Difference(Box<Difference>),
}

/// Takes what a search tells. Lines are written at once, so that nothing is shown to anybody that a
/// killed run would forget; the files of `corpus/` by a thread of their own.
pub struct Store {
    path: PathBuf,
    file: File,
    /// What was written last may end within a line.
    torn: bool,
    sender: Option<Sender<Input>>,
    writer: Option<JoinHandle<Result<(), DirectoryError>>>,
}

impl Store {
    /// Goes on with the file that is there, or begins a new one.
    pub fn open(
        out: &OutputDirectory,
        shape: &Input,
        keys: [String; 2],
    ) -> Result<Store, DirectoryError> {
        let path = out.path().join(FILE);
        let opened = File::options().create(true).append(true).open(&path);
        let file = attempt("open", &path, opened)?;
        let length = attempt("read", &path, file.metadata())?.len();
        let first = Line::Search {
            format: FORMAT,
            keys,
            shape: shape.clone(),
        };
        let out = out.clone();
        let (sender, receiver) = channel::<Input>();
        let writer = std::thread::spawn(move || {
            let mut result = Ok(());
            // What nobody takes is dropped.
            for input in receiver.iter().take(MOST_FILES) {
                result = result.and(out.add_input(&input));
            }
            result
        });
        let mut store = Store {
            path,
            file,
            // A line that was cut short must not swallow the next one.
            torn: length > 0,
            sender: Some(sender),
            writer: Some(writer),
        };
        store.append(&first)?;
        Ok(store)
    }

    pub fn input(&mut self, input: &Input) -> Result<(), DirectoryError> {
        let streams = input.streams.iter().map(|stream| hex(&stream.bytes));
        self.append(&Line::Input(streams.collect()))?;
        if let Some(sender) = &self.sender {
            // The writer ends early only if there are files enough.
            let _ = sender.send(input.clone());
        }
        Ok(())
    }

    pub fn difference(&mut self, difference: &Difference) -> Result<(), DirectoryError> {
        self.append(&Line::Difference(Box::new(difference.clone())))
    }

    /// Inputs that are in the file already: a killed run may have left some of their files unwritten.
    pub fn complete(&mut self, inputs: &[Input]) {
        if let Some(sender) = &self.sender {
            for input in inputs {
                let _ = sender.send(input.clone());
            }
        }
    }

    /// Waits until everything is written.
    pub fn finish(&mut self) -> Result<(), DirectoryError> {
        self.sender = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), DirectoryError> {
        let lead = if self.torn { "\n" } else { "" };
        let text = format!("{lead}{}\n", text(line));
        let written = self.file.write_all(text.as_bytes());
        self.torn = written.is_err();
        Ok(attempt("write", &self.path, written)?)
    }
}

/// What an earlier run left.
#[derive(Debug)]
pub struct Earlier {
    pub saved: Saved,
    pub about: About,
    /// Lines that say nothing; the last one may have been cut short when the run was killed.
    pub damaged: usize,
}

/// Which versions an earlier run was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Same,
    /// They have changed since.
    Others,
    /// The line that says so is damaged.
    Unknown,
}

/// Reads the file of an earlier run; `None` if there is none.
pub fn read(out: &Path, shape: &Input, keys: &[String; 2]) -> Result<Option<Earlier>, String> {
    let path: PathBuf = out.join(FILE);
    let file = match changeling_report::files::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    let mut inputs = Vec::new();
    let mut about = About::Unknown;
    let mut damaged = 0;
    // By number; later lines are better versions of the same.
    // Undefined ones have numbers of their own.
    let mut found: BTreeMap<(bool, u32), Difference> = BTreeMap::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        match serde_json::from_slice(&line) {
            Ok(Line::Search {
                format,
                keys: earlier,
                shape: old,
            }) => {
                if format != FORMAT {
                    return Err(format!(
                        "{} has format {format}, but this version reads format {FORMAT}; \
                         run without --resume",
                        path.display()
                    ));
                }
                if !alike(&old, shape) {
                    return Err(format!(
                        "{} is about other inputs; give the same input options as before, \
                         or run without --resume",
                        path.display()
                    ));
                }
                about = match earlier == *keys {
                    true => About::Same,
                    false => About::Others,
                };
                if about == About::Others {
                    found.clear();
                }
            }
            Ok(Line::Input(streams)) => match input(shape, &streams) {
                Some(input) => inputs.push(input),
                None => damaged += 1,
            },
            Ok(Line::Difference(difference)) => {
                if about != About::Others {
                    found.insert((difference.reason.is_some(), difference.id), *difference);
                }
            }
            // Each run that goes on begins with one.
            Err(_) if line.is_empty() => {}
            Err(_) => damaged += 1,
        }
    }
    if about == About::Unknown {
        found.clear();
    }
    let (undefined, differences) = found
        .into_values()
        .partition(|difference| difference.reason.is_some());
    let saved = Saved {
        format: SAVED_FORMAT,
        shape: shape.clone(),
        inputs,
        differences,
        undefined,
    };
    Ok(Some(Earlier {
        saved,
        about,
        damaged,
    }))
}

/// The same streams and arguments; bounds may have been moved.
fn alike(a: &Input, b: &Input) -> bool {
    let streams = |input: &Input| -> Vec<_> {
        input
            .streams
            .iter()
            .map(|stream| (stream.kind, stream.name.clone()))
            .collect()
    };
    streams(a) == streams(b) && a.arguments == b.arguments
}

fn input(shape: &Input, streams: &[String]) -> Option<Input> {
    let mut input = shape.clone();
    if streams.len() != input.streams.len() {
        return None;
    }
    for (stream, text) in input.streams.iter_mut().zip(streams) {
        stream.bytes = unhex(text)?;
    }
    Some(input)
}

fn text(line: &Line) -> String {
    serde_json::to_string(line).expect("lines have string keys only")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};

    fn shape(capacity: usize) -> Input {
        let stream = Stream {
            kind: StreamKind::Stdin,
            name: String::new(),
            capacity,
            bytes: Vec::new(),
        };
        Input {
            streams: vec![stream],
            arguments: Vec::new(),
        }
    }

    #[test]
    fn inputs_survive_a_line_that_was_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let out = OutputDirectory::create(&path).unwrap();
        let keys = ["a".to_string(), "b".to_string()];
        let mut one = shape(4);
        one.streams[0].bytes = vec![0, 0xff];
        let mut store = Store::open(&out, &shape(4), keys.clone()).unwrap();
        store.input(&one).unwrap();
        // Killed here, it would be known.
        let early = read(&path, &shape(4), &keys).unwrap().unwrap();
        assert_eq!(early.saved.inputs, std::slice::from_ref(&one));
        store.finish().unwrap();
        let mut file = File::options().append(true).open(path.join(FILE)).unwrap();
        file.write_all(b"{\"input\":[\"0").unwrap();
        let mut store = Store::open(&out, &shape(4), keys.clone()).unwrap();
        store.input(&shape(4)).unwrap();
        store.finish().unwrap();
        let earlier = read(&path, &shape(4), &keys).unwrap().unwrap();
        assert_eq!(earlier.saved.inputs, [one, shape(4)]);
        assert_eq!((earlier.about, earlier.damaged), (About::Same, 1));
        let other = ["a".to_string(), "c".to_string()];
        let about = |keys| read(&path, &shape(4), keys).unwrap().unwrap().about;
        assert_eq!(about(&other), About::Others);
        let mut renamed = shape(4);
        renamed.streams[0].kind = StreamKind::Harness;
        assert!(
            read(&path, &renamed, &keys)
                .unwrap_err()
                .contains("other inputs")
        );
        assert!(read(folder.path(), &shape(4), &keys).unwrap().is_none());
        // Without its first line it does not tell which versions it is about.
        std::fs::write(path.join(FILE), "{\"search\n{\"input\":[\"ff\"]}\n").unwrap();
        let earlier = read(&path, &shape(4), &keys).unwrap().unwrap();
        assert_eq!((earlier.about, earlier.damaged), (About::Unknown, 1));
        assert_eq!(earlier.saved.inputs.len(), 1);
    }
}
