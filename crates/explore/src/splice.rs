//! Pieces of inputs as the program sees them.
//!
//! A program comes to the same place of its code with every command, line or operand that it
//! reads. So what lies between two bytes that were looked at there is likely to mean something by
//! itself: it can stand where another such piece stands, behind one, or be said once more.

use crate::frontier::Random;
use crate::state::State;
use crate::tree::RunId;
use changeling_solver::Var;
use changeling_trace::input::{Input, Stream};
use std::collections::{BTreeMap, BTreeSet};

/// Where in the code a byte of a stream was looked at, and perhaps with which outcome: the places at
/// which a byte was found to be a newline are the ends of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Look {
    stream: usize,
    sites: [u32; 2],
    caller: u32,
    within: [u32; 2],
    /// The outcome and what was asked.
    answer: Option<(u64, u64)>,
}

/// Offsets of the bytes that were looked at in the same place.
type Looks = BTreeMap<Look, BTreeSet<usize>>;

/// How often a piece is put in.
const MOST_TIMES: usize = 4;

impl State {
    /// A run's input with a piece of its own or of another run's input.
    pub fn splice(&mut self, run: RunId, other: RunId) -> Option<Input> {
        let random = &mut self.pool.random;
        let (exact, own) = (random.below(2) == 0, random.below(2) == 0);
        let here = self.looks(run, exact);
        let nth = self.pool.random.below(here.len());
        let (look, at) = here.iter().nth(nth)?;
        let there = match own {
            true => None,
            false => self.looks(other, exact).remove(look),
        };
        // What the other run never came to it has no piece of.
        let other = if there.is_some() { other } else { run };
        let from = there.as_ref().unwrap_or(at);
        let input = |run: RunId| &self.corpus[run.0 as usize].input;
        let bytes = &input(other).streams.get(look.stream)?.bytes;
        let random = &mut self.pool.random;
        let piece = bytes.get(piece(from, bytes.len(), random))?.to_vec();
        let mut spliced = (**input(run)).clone();
        put(&mut spliced.streams[look.stream], &piece, at, random);
        spliced.normalise();
        Some(spliced)
    }

    /// Which bytes a run looked at by themselves, by where it did.
    fn looks(&self, run: RunId, exact: bool) -> Looks {
        let mut looks = Looks::new();
        for (_, decision, taken) in self.tree.way_to(self.corpus[run.0 as usize].end) {
            let way = &decision.ways[taken];
            if self.arena.variable_count(way.held) != 1 {
                continue;
            }
            let Var::Byte { stream, offset } = self.arena.variables(way.held)[0] else {
                continue;
            };
            let look = Look {
                stream: stream as usize,
                sites: decision.sites,
                caller: decision.caller,
                within: decision.within,
                answer: exact.then_some((way.outcome, decision.shape)),
            };
            looks.entry(look).or_default().insert(offset as usize);
        }
        looks
    }
}

/// From one of some offsets to a later one, mostly the next, or to the end.
fn piece(offsets: &BTreeSet<usize>, end: usize, random: &mut Random) -> std::ops::Range<usize> {
    let offsets: Vec<usize> = offsets.iter().copied().filter(|at| *at < end).collect();
    if offsets.is_empty() {
        return 0..0;
    }
    let first = random.below(offsets.len());
    let more = match random.below(4) {
        0 => random.below(offsets.len() - first),
        _ => 0,
    };
    let last = offsets.get(first + 1 + more).copied().unwrap_or(end);
    offsets[first]..last
}

/// Puts a piece in at one of some offsets, or at the end, or in place of what stands there.
fn put(stream: &mut Stream, piece: &[u8], offsets: &BTreeSet<usize>, random: &mut Random) {
    let bytes = &mut stream.bytes;
    let mut places: Vec<usize> = offsets.iter().copied().collect();
    places.retain(|at| *at < bytes.len());
    places.push(bytes.len());
    let nth = match random.below(4) {
        0 => places.len() - 1,
        _ => random.below(places.len()),
    };
    let start = places[nth];
    let end = match random.below(4) {
        0 => places.get(nth + 1).copied().unwrap_or(start),
        _ => start,
    };
    let times = match random.below(4) {
        0 => 1 + random.below(MOST_TIMES),
        _ => 1,
    };
    bytes.splice(start..end, piece.repeat(times));
    bytes.truncate(stream.capacity);
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::layout::StreamKind;

    #[test]
    fn pieces_lie_between_offsets() {
        let offsets = BTreeSet::from([0, 3, 4]);
        let mut random = Random::new(1);
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            let piece = piece(&offsets, 6, &mut random);
            seen.insert((piece.start, piece.end));
        }
        let all = [(0, 3), (0, 4), (0, 6), (3, 4), (3, 6), (4, 6)];
        assert_eq!(seen, BTreeSet::from(all));
        assert_eq!(piece(&BTreeSet::from([7]), 6, &mut random), 0..0);
    }

    #[test]
    fn pieces_are_put_in_whole_and_fit() {
        let mut random = Random::new(2);
        let mut seen = BTreeSet::new();
        for _ in 0..400 {
            let mut stream = Stream {
                kind: StreamKind::Stdin,
                name: String::new(),
                bytes: b"n11ts".to_vec(),
                capacity: 8,
            };
            put(&mut stream, b"n19", &BTreeSet::from([0, 3, 4]), &mut random);
            assert!(stream.bytes.len() <= 8);
            seen.insert(stream.bytes);
        }
        for expected in [&b"n19n11ts"[..], b"n11tsn19", b"n19ts", b"n11n19ts"] {
            assert!(seen.contains(expected));
        }
    }
}
