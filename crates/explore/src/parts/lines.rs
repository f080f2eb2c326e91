//! Lines as parts.
//!
//! Many programs read a line in one place and look at it in others, so that no call of their own has read it. It
//! stands for something all the same: a command, a record.

use super::{Part, bit};
use crate::edits::Read;
use changeling_trace::input::Input;

/// In place of a function's number.
const LINE: u32 = u32::MAX;
/// Of an input with more of them the first ones will do.
const MOST_LINES: usize = 64;

/// A branch that was decided by a byte.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub read: Read,
    pub site: u32,
    pub outcome: u64,
}

/// The lines of an input that were looked at, but for those at whose beginning a call began to read one.
pub fn lines(input: &Input, calls: &[Part], looks: &[Look]) -> Vec<Part> {
    let mut lines = Vec::new();
    for (stream, own) in (0u32..).zip(&input.streams) {
        if own.capacity == 0 {
            continue;
        }
        let mut to = 0u32;
        for line in own.bytes.split_inclusive(|byte| *byte == b'\n') {
            let from = to;
            to += line.len() as u32;
            let within = |part: &Part| part.stream == stream && part.from == from && part.to <= to;
            if !line.ends_with(b"\n") || calls.iter().any(within) {
                continue;
            }
            let inside =
                |look: &&Look| look.read.stream == stream && (from..to).contains(&look.read.offset);
            let looked = looks.iter().filter(inside);
            let kind = looked.fold(0, |kind, look| kind | bit(&(look.site, look.outcome)));
            if kind != 0 && lines.len() < MOST_LINES {
                lines.push(Part {
                    function: LINE,
                    stream,
                    from,
                    to,
                    around: LINE,
                    kind,
                    inside: (kind | kind >> 64) as u64,
                });
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};

    fn input(text: &[u8]) -> Input {
        let stream = Stream {
            kind: StreamKind::Stdin,
            name: String::new(),
            capacity: 32,
            bytes: text.to_vec(),
        };
        Input {
            streams: vec![stream],
            ..Input::default()
        }
    }

    fn look(offset: u32, outcome: u64) -> Look {
        let read = Read { stream: 0, offset };
        Look {
            read,
            site: 7,
            outcome,
        }
    }

    #[test]
    fn lines_that_were_looked_at_are_parts() {
        let looks = [look(0, 0), look(4, 1), look(9, 1)];
        let parts = lines(&input(b"a b\nc\nd\ne f"), &[], &looks);
        let spans: Vec<_> = parts.iter().map(|part| (part.from, part.to)).collect();
        // Nobody looked at the third, and the last has no end.
        assert_eq!(spans, [(0, 4), (4, 6)]);
        assert_ne!(parts[0].kind, parts[1].kind);
        assert_eq!(super::super::next_of_row(&parts, 0), Some(parts[1]));
    }

    #[test]
    fn what_a_call_has_read_from_its_beginning_is_no_line() {
        let looks = [look(0, 0), look(4, 1)];
        let mut call = lines(&input(b"a b\nc\n"), &[], &looks)[0];
        call.function = 1;
        // The call read the first line but for its end, and another one all of them.
        call.to = 3;
        let parts = lines(&input(b"a b\nc\n"), &[call], &looks);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].from, 4);
        call.to = 6;
        assert_eq!(lines(&input(b"a b\nc\n"), &[call], &looks).len(), 2);
    }
}
