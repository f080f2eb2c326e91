//! An input as a reader sees it.

use super::Bytes;
use changeling_trace::input::{Argument, Input, Stream, StreamKind};
use serde::{Deserialize, Serialize};

/// The whole input of a run: complete enough to make the input again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputView {
    pub streams: Vec<StreamView>,
    /// The whole command line, without the program's name.
    pub arguments: Vec<ArgumentView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamView {
    /// `stdin`, `arg1`, `env NAME`, `file NAME`, `harness`. `arg1` is the first
    /// argument of the command line, counting those that are fixed.
    pub label: String,
    pub kind: StreamKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub capacity: usize,
    #[serde(flatten)]
    pub bytes: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentView {
    #[serde(flatten)]
    pub bytes: Bytes,
    /// Number of the stream it comes from; none if it is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<usize>,
}

impl From<&Input> for InputView {
    fn from(input: &Input) -> InputView {
        let streams = input
            .streams
            .iter()
            .enumerate()
            .map(|(number, stream)| StreamView {
                label: label(input, number),
                kind: stream.kind,
                name: stream.name.clone(),
                capacity: stream.capacity,
                bytes: Bytes(stream.bytes.clone()),
            })
            .collect();
        let arguments = input
            .arguments
            .iter()
            .zip(input.argument_texts())
            .map(|(argument, text)| ArgumentView {
                bytes: text.into(),
                stream: match argument {
                    Argument::Fixed(_) => None,
                    Argument::Symbolic(stream) => Some(*stream),
                },
            })
            .collect();
        InputView { streams, arguments }
    }
}

impl InputView {
    /// The input to run.
    pub fn to_input(&self) -> Input {
        let streams = self
            .streams
            .iter()
            .map(|stream| Stream {
                kind: stream.kind,
                name: stream.name.clone(),
                capacity: stream.capacity,
                bytes: stream.bytes.0.clone(),
            })
            .collect();
        let arguments = self
            .arguments
            .iter()
            .map(|argument| match argument.stream {
                Some(stream) if stream < self.streams.len() => Argument::Symbolic(stream),
                _ => Argument::Fixed(argument.bytes.0.clone()),
            })
            .collect();
        Input { streams, arguments }
    }
}

/// What a stream of this input is called wherever people read.
pub fn label(input: &Input, number: usize) -> String {
    let stream = &input.streams[number];
    match stream.kind {
        StreamKind::Stdin => "stdin".into(),
        StreamKind::Harness => "harness".into(),
        StreamKind::File => format!("file {}", stream.name),
        StreamKind::Environment => format!("env {}", stream.name),
        StreamKind::Argument => format!("arg{}", argument_position(input, number)),
    }
}

/// Place on the command line, counted from 1 like `argv`.
pub(crate) fn argument_position(input: &Input, number: usize) -> usize {
    let at = input
        .arguments
        .iter()
        .position(|argument| *argument == Argument::Symbolic(number));
    // A stream that no argument names still needs a name of its own.
    at.unwrap_or(input.arguments.len() + number) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_as_on_the_command_line() {
        let stream = |kind, name: &str, bytes: &[u8]| Stream {
            kind,
            name: name.into(),
            capacity: 4,
            bytes: bytes.to_vec(),
        };
        let input = Input {
            streams: vec![
                stream(StreamKind::Stdin, "", b"\xff\0"),
                stream(StreamKind::Argument, "", b"ab"),
                stream(StreamKind::File, "a.txt", b""),
            ],
            arguments: vec![Argument::Fixed(b"-v".to_vec()), Argument::Symbolic(1)],
        };
        let view = InputView::from(&input);
        let labels: Vec<_> = view
            .streams
            .iter()
            .map(|stream| stream.label.as_str())
            .collect();
        assert_eq!(labels, ["stdin", "arg2", "file a.txt"]);
        assert_eq!(view.to_input(), input);
        let json = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<InputView>(&json).unwrap(), view);
    }
}
