//! The input of a run: the unit that is generated, saved and replayed.

pub use crate::layout::StreamKind;
use serde::{Deserialize, Serialize};

/// One named sequence of input bytes with its bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stream {
    pub kind: StreamKind,
    /// File or variable name; empty for stdin, arguments and harness buffers.
    pub name: String,
    /// The input may have up to this many bytes.
    pub capacity: usize,
    pub bytes: Vec<u8>,
}

/// One element of the command line, in the order given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Argument {
    Fixed(Vec<u8>),
    /// The number of a stream of kind `Argument`.
    Symbolic(usize),
}

/// All that a run receives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Input {
    pub streams: Vec<Stream>,
    pub arguments: Vec<Argument>,
}

impl Input {
    /// The arguments as the program sees them: a symbolic one ends at its first NUL.
    pub fn argument_texts(&self) -> Vec<&[u8]> {
        self.arguments
            .iter()
            .map(|argument| match argument {
                Argument::Fixed(text) => until_nul(text),
                Argument::Symbolic(stream) => until_nul(&self.streams[*stream].bytes),
            })
            .collect()
    }

    pub fn stdin(&self) -> Option<&[u8]> {
        self.stream_of(StreamKind::Stdin)
    }

    pub fn harness(&self) -> Option<&[u8]> {
        self.stream_of(StreamKind::Harness)
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.named(StreamKind::File)
    }

    /// Environment variables; a value ends at its first NUL.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.named(StreamKind::Environment)
            .map(|(name, value)| (name, until_nul(value)))
    }

    fn stream_of(&self, kind: StreamKind) -> Option<&[u8]> {
        self.streams
            .iter()
            .find(|stream| stream.kind == kind)
            .map(|stream| stream.bytes.as_slice())
    }

    fn named(&self, kind: StreamKind) -> impl Iterator<Item = (&str, &[u8])> {
        self.streams
            .iter()
            .filter(move |stream| stream.kind == kind)
            .map(|stream| (stream.name.as_str(), stream.bytes.as_slice()))
    }

    /// Brings every stream to a valid form: no longer than its capacity, and
    /// strings cut at their first NUL.
    pub fn normalise(&mut self) {
        for stream in &mut self.streams {
            stream.bytes.truncate(stream.capacity);
            if !stream.kind.has_length() {
                let end = until_nul(&stream.bytes).len();
                stream.bytes.truncate(end);
            }
        }
    }
}

fn until_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == 0);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(kind: StreamKind, name: &str, capacity: usize, bytes: &[u8]) -> Stream {
        Stream {
            kind,
            name: name.into(),
            capacity,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn strings_end_at_nul_and_files_do_not() {
        let input = Input {
            streams: vec![
                stream(StreamKind::Argument, "", 4, b"a\0b"),
                stream(StreamKind::File, "f", 4, b"a\0b"),
                stream(StreamKind::Environment, "V", 4, b"\0b"),
            ],
            arguments: vec![Argument::Fixed(b"-x".to_vec()), Argument::Symbolic(0)],
        };
        assert_eq!(input.argument_texts(), [b"-x".as_slice(), b"a"]);
        assert_eq!(
            input.files().collect::<Vec<_>>(),
            [("f", b"a\0b".as_slice())]
        );
        assert_eq!(
            input.variables().collect::<Vec<_>>(),
            [("V", b"".as_slice())]
        );
    }

    #[test]
    fn normalising_cuts_to_capacity_and_nul() {
        let mut input = Input {
            streams: vec![
                stream(StreamKind::Stdin, "", 2, b"a\0b"),
                stream(StreamKind::Argument, "", 2, b"a\0b"),
            ],
            arguments: vec![Argument::Symbolic(1)],
        };
        input.normalise();
        assert_eq!(input.streams[0].bytes, b"a\0");
        assert_eq!(input.streams[1].bytes, b"a");
    }
}
