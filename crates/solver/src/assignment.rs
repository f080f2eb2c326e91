//! Values of the input variables, and their bounds.

use crate::variables::Var;
use changeling_trace::input::Input;

/// A value for every input variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assignment {
    streams: Vec<StreamValue>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct StreamValue {
    /// Bytes that were given; those beyond are zero.
    bytes: Vec<u8>,
    length: u64,
}

impl Assignment {
    pub fn new() -> Assignment {
        Assignment::default()
    }

    pub fn from_input(input: &Input) -> Assignment {
        let streams = input.streams.iter();
        let streams = streams.map(|stream| StreamValue {
            bytes: stream.bytes.clone(),
            length: stream.bytes.len() as u64,
        });
        Assignment {
            streams: streams.collect(),
        }
    }

    /// The input with these bytes; names, kinds, capacities and the command line
    /// are those of `shape`. A stream with a length has exactly that many bytes;
    /// a string ends at its first NUL.
    pub fn to_input(&self, shape: &Input) -> Input {
        let mut input = shape.clone();
        for (stream, number) in input.streams.iter_mut().zip(0..) {
            let Some(value) = self.streams.get(number as usize) else {
                continue;
            };
            stream.bytes.clone_from(&value.bytes);
            let length = match stream.kind.has_length() {
                true => value.length.min(stream.capacity as u64) as usize,
                false => stream.capacity,
            };
            stream.bytes.resize(length, 0);
        }
        input.normalise();
        input
    }

    pub fn byte(&self, stream: u32, offset: u32) -> u8 {
        let byte = self.bytes(stream).get(offset as usize);
        byte.copied().unwrap_or(0)
    }

    /// The bytes of a stream that were given; those beyond are zero.
    pub(crate) fn bytes(&self, stream: u32) -> &[u8] {
        let stream = self.streams.get(stream as usize);
        stream.map_or(&[], |stream| &stream.bytes)
    }

    pub fn length(&self, stream: u32) -> u64 {
        self.streams
            .get(stream as usize)
            .map_or(0, |stream| stream.length)
    }

    /// Bytes and length of streams 0, 1, …
    pub(crate) fn contents(&self) -> impl Iterator<Item = (&[u8], u64)> + '_ {
        self.streams
            .iter()
            .map(|stream| (stream.bytes.as_slice(), stream.length))
    }

    pub fn get(&self, var: Var) -> u64 {
        match var {
            Var::Byte { stream, offset } => self.byte(stream, offset).into(),
            Var::Length { stream } => self.length(stream),
        }
    }

    pub fn set(&mut self, var: Var, value: u64) {
        match var {
            Var::Byte { stream, offset } => self.set_byte(stream, offset, value as u8),
            Var::Length { stream } => self.stream(stream).length = value,
        }
    }

    pub fn set_byte(&mut self, stream: u32, offset: u32, value: u8) {
        let bytes = &mut self.stream(stream).bytes;
        let at = offset as usize;
        if bytes.len() <= at {
            if value == 0 {
                return;
            }
            bytes.resize(at + 1, 0);
        }
        bytes[at] = value;
    }

    fn stream(&mut self, number: u32) -> &mut StreamValue {
        let at = number as usize;
        if self.streams.len() <= at {
            self.streams.resize(at + 1, StreamValue::default());
        }
        &mut self.streams[at]
    }
}

/// How long each stream may become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    capacities: Vec<u64>,
}

impl Bounds {
    pub fn from_input(input: &Input) -> Bounds {
        Bounds {
            capacities: input
                .streams
                .iter()
                .map(|stream| stream.capacity as u64)
                .collect(),
        }
    }

    /// Capacities of streams 0, 1, …
    pub fn new(capacities: Vec<u64>) -> Bounds {
        Bounds { capacities }
    }

    pub fn capacities(&self) -> &[u64] {
        &self.capacities
    }

    /// A stream that is not listed cannot have bytes.
    pub fn capacity(&self, stream: u32) -> u64 {
        self.capacities.get(stream as usize).copied().unwrap_or(0)
    }

    /// The largest value of a variable.
    pub fn maximum(&self, var: Var) -> u64 {
        match var {
            Var::Byte { .. } => 255,
            Var::Length { stream } => self.capacity(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};

    fn input(kind: StreamKind, bytes: &[u8]) -> Input {
        let stream = Stream {
            kind,
            name: String::new(),
            capacity: 6,
            bytes: bytes.to_vec(),
        };
        Input {
            streams: vec![stream],
            arguments: vec![],
        }
    }

    #[test]
    fn lengths_decide_for_files_and_nul_for_strings() {
        let shape = input(StreamKind::Stdin, b"abc");
        let mut values = Assignment::from_input(&shape);
        values.set_byte(0, 4, b'e');
        assert_eq!(values.to_input(&shape).streams[0].bytes, b"abc");
        values.set(Var::Length { stream: 0 }, 5);
        assert_eq!(values.to_input(&shape).streams[0].bytes, b"abc\0e");

        let shape = input(StreamKind::Argument, b"abc");
        let mut values = Assignment::from_input(&shape);
        values.set_byte(0, 3, b'd');
        assert_eq!(values.to_input(&shape).streams[0].bytes, b"abcd");
        values.set_byte(0, 1, 0);
        assert_eq!(values.to_input(&shape).streams[0].bytes, b"a");
    }
}
