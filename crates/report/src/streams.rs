//! Names of the raw files that hold an input's streams.

use crate::escape;
use crate::results::argument_position;
use changeling_trace::input::{Input, StreamKind};

/// `stdin.bin`, `arg1.bin`, `env-NAME.bin`, `file-NAME.bin`. A harness buffer is
/// `stdin.bin`, because that is how the plain binary receives it.
pub fn file_name(input: &Input, number: usize) -> String {
    let stream = &input.streams[number];
    match stream.kind {
        StreamKind::Stdin => "stdin.bin".into(),
        StreamKind::Harness => "stdin.bin".into(),
        StreamKind::Argument => format!("arg{}.bin", argument_position(input, number)),
        StreamKind::Environment => format!("env-{}.bin", escape::file_name(&stream.name)),
        StreamKind::File => format!("file-{}.bin", escape::file_name(&stream.name)),
    }
}

/// The stream that one raw file without further structure stands for.
pub fn primary(input: &Input) -> Option<usize> {
    [
        StreamKind::Stdin,
        StreamKind::Harness,
        StreamKind::File,
        StreamKind::Argument,
        StreamKind::Environment,
    ]
    .into_iter()
    .find_map(|kind| input.streams.iter().position(|stream| stream.kind == kind))
}
