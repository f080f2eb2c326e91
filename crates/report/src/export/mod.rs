//! Cases as tests and seeds for other tools.

pub mod c;
pub mod corpus;
pub mod ktest;
pub mod rust;
pub mod shell;

use crate::case::Case;
use crate::results::{End, FileWritten, Kind, Outcome, Side};
use changeling_trace::input::StreamKind;

/// What an exported test asserts.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// The version whose behaviour is right: base for a regression test, head for
    /// a difference that is intended.
    pub side: Side,
}

impl Expectation {
    pub fn outcome(self, case: &Case) -> &Outcome {
        match self.side {
            Side::Base => &case.base,
            Side::Head => &case.head,
        }
    }
}

/// The exit code that a shell shows for an end.
fn shell_status(end: End) -> i32 {
    match end {
        End::Exit(code) => code & 0xff,
        End::Signal(number) => 128 + number,
        // As `timeout` says it.
        End::TimedOut => 124,
    }
}

/// What must be in the working directory after a run, or must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left<'a> {
    File(&'a str, &'a [u8]),
    Directory(&'a str),
    Link(&'a str, &'a [u8]),
    /// A pipe, socket or device.
    Other(&'a str),
    Nothing(&'a str),
}

/// What the expected version leaves behind, also where only the other one does something.
fn left_behind<'a>(case: &'a Case, expected: &'a Outcome) -> Vec<Left<'a>> {
    let others = [&case.base, &case.head].map(|outcome| &outcome.files);
    let mut left: Vec<Left<'_>> = expected.files.iter().map(Left::of).collect();
    for other in others.into_iter().flatten().map(Left::of) {
        if left.iter().any(|known| known.name() == other.name()) {
            continue;
        }
        let mut streams = case.input.streams.iter();
        let given = streams.find(|s| s.kind == StreamKind::File && s.name == other.name());
        left.push(match given {
            Some(stream) => Left::File(other.name(), &stream.bytes),
            None => Left::Nothing(other.name()),
        });
    }
    // Names that are not UTF-8 have `\xff` for such bytes, which are not known any more.
    left.retain(|left| !left.name().contains("\\x"));
    left
}

impl<'a> Left<'a> {
    /// The end of the name tells what it is.
    fn of(file: &'a FileWritten) -> Left<'a> {
        let name = file.name.as_str();
        if let Some(name) = name.strip_suffix(" (removed)") {
            Left::Nothing(name)
        } else if let Some(name) = name.strip_suffix('/') {
            Left::Directory(name)
        } else if let Some(name) = name.strip_suffix('@') {
            Left::Link(name, &file.bytes)
        } else if let Some(name) = name.strip_suffix('|') {
            Left::Other(name)
        } else {
            Left::File(name, &file.bytes)
        }
    }

    fn name(self) -> &'a str {
        match self {
            Left::File(name, _)
            | Left::Directory(name)
            | Left::Link(name, _)
            | Left::Other(name)
            | Left::Nothing(name) => name,
        }
    }
}

/// What a program writes that observes these values, if any version observes something else.
fn observed(case: &Case, expected: &Outcome) -> Option<Vec<u8>> {
    let lines = expected.observed.iter();
    let lines = lines.map(|observed| format!("{}={}\n", observed.name, observed.value));
    (case.base.observed != case.head.observed).then(|| lines.collect::<String>().into_bytes())
}

/// Error output is often worded for people, so it is checked only where it is
/// what differs.
fn checks_stderr(case: &Case) -> bool {
    case.kind == Kind::ErrorOutput
}

/// A name for the test, safe in every language.
fn test_name(case: &Case) -> String {
    let name: String = case
        .folder_name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("changeling_{name}")
}
