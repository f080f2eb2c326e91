//! Inputs made from parts that stand for something.
//!
//! What a call of a function has read of the input is a part of it: a number, a line, a term in
//! parentheses. What one call has read can stand where another call of the same function read, and
//! where such parts follow each other there can be more or fewer of them. So `(0-1)` comes to stand for
//! the `2` of `2^3` at once, while byte for byte it would take many inputs that mean something else.

mod lines;

use self::lines::{Look, lines};
use crate::edits::Read;
use crate::frontier::Random;
use crate::guide::Passage;
use crate::path::{Mark, Path, Test};
use crate::state::State;
use crate::tree::RunId;
use changeling_trace::input::Input;
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// What a call has read of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    function: u32,
    stream: u32,
    from: u32,
    to: u32,
    /// The part that it was read in, by number; its own if there is none.
    around: u32,
    /// Which sides of branches the call itself took and which functions it called, as a set of bits: the same for
    /// parts of a kind. What was decided in these functions are parts of their own.
    kind: u128,
    /// The same with all that happened in these functions.
    inside: u64,
}

/// The last of parts that follow each other, with what lies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub function: u32,
    pub stream: u32,
    pub from: u32,
    pub to: u32,
}

/// How parts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// In place of another one.
    Instead,
    /// With what lies between it and the next of its row, in front of one.
    Before,
    /// With what lies between it and the one before, behind one.
    Behind,
}

/// Parts by what read them.
#[derive(Default)]
pub struct Shelves {
    shelves: BTreeMap<(u32, Use), Shelf>,
    /// What lay between parts that follow each other.
    between: Vec<Box<[u8]>>,
}

#[derive(Default)]
struct Shelf {
    /// Of runs that ended well, and of others.
    kinds: [Vec<Pieces>; 2],
}

/// Parts of a kind.
struct Pieces {
    kind: u128,
    /// Each with what else tells it from others.
    pieces: Vec<(u64, Box<[u8]>)>,
}

/// Deeper calls are not told apart, and no more calls of a run.
const DEEPEST: usize = 48;
const MOST_PARTS: usize = 512;
/// Longer parts are hardly ever put together with others.
const LONGEST: usize = 64;
/// Parts of a kind, and kinds, that a shelf has room for.
const MOST_OF_A_KIND: usize = 24;
const MOST_KINDS: usize = 256;
/// What lies between parts is short, and there is not much of it.
const LONGEST_BETWEEN: usize = 4;
const MOST_BETWEEN: usize = 16;
/// Parts of an input that are changed at once.
const MOST_CHANGES: usize = 3;

impl Shelves {
    fn put(&mut self, part: &Part, usage: Use, well: bool, bytes: &[u8]) {
        if bytes.is_empty() || bytes.len() > LONGEST {
            return;
        }
        let shelf = self.shelves.entry((part.function, usage)).or_default();
        let kinds = &mut shelf.kinds[usize::from(!well)];
        let at = match kinds.iter().position(|known| known.kind == part.kind) {
            Some(at) => at,
            None if kinds.len() >= MOST_KINDS => return,
            None => {
                kinds.push(Pieces {
                    kind: part.kind,
                    pieces: Vec::new(),
                });
                kinds.len() - 1
            }
        };
        let pieces = &mut kinds[at].pieces;
        // Long ones of the same sort count for themselves: there may be a limit.
        let inside = match usage {
            Use::Instead => part.inside ^ u64::from(bytes.len().ilog2()),
            Use::Before | Use::Behind => part.inside,
        };
        match pieces.iter().position(|(known, _)| *known == inside) {
            Some(at) if pieces[at].1.len() > bytes.len() => pieces[at].1 = bytes.into(),
            None if pieces.len() < MOST_OF_A_KIND => pieces.push((inside, bytes.into())),
            _ => {}
        }
    }

    fn put_between(&mut self, bytes: &[u8]) {
        let known = self.between.iter().any(|known| **known == *bytes);
        if !known && bytes.len() <= LONGEST_BETWEEN && self.between.len() < MOST_BETWEEN {
            self.between.push(bytes.into());
        }
    }

    /// What may stand between two parts.
    pub fn choose_between(&self, random: &mut Random) -> &[u8] {
        let nth = random.below(self.between.len());
        self.between.get(nth).map_or(&[], |bytes| bytes)
    }

    /// Mostly what stood in runs that ended well: there are many ways to be wrong.
    fn choose(&self, function: u32, usage: Use, random: &mut Random) -> Option<&[u8]> {
        let [well, others] = &self.shelves.get(&(function, usage))?.kinds;
        let kinds = match random.below(3) {
            0 if !others.is_empty() => others,
            _ if well.is_empty() => others,
            _ => well,
        };
        let mut draw = || {
            let pieces = &kinds[random.below(kinds.len())].pieces;
            &pieces[random.below(pieces.len())].1
        };
        let (first, second) = (draw(), draw());
        // There is little room.
        let shorter = random.below(4) > 0 && second.len() < first.len();
        Some(if shorter { second } else { first })
    }
}

/// A call that is under way or was.
struct Call {
    function: u32,
    around: usize,
    /// Stream, first and last byte.
    read: Option<(u32, u32, u32)>,
    kind: u128,
    inside: u64,
    /// The last byte was only looked at: it is what comes behind.
    ahead: bool,
}

impl State {
    /// What the calls of a run of head have read, and the lines of its input.
    pub fn parts(&self, run: RunId, path: &Path) -> Vec<Part> {
        let passage = |mark: &Mark| self.guide.passage(mark.block);
        let (mut parts, looks) = read_parts(path, passage, |test| self.last_read(test.subject));
        let lines = lines(&self.corpus[run.0 as usize].input, &parts, &looks);
        parts.extend(lines);
        parts
    }

    /// Parts of a run are kept to make others from.
    pub fn keep_parts(&mut self, run: RunId, parts: &[Part]) {
        let well = self.corpus[run.0 as usize].well;
        let input = self.corpus[run.0 as usize].input.clone();
        for (at, part) in parts.iter().enumerate() {
            let Some(bytes) = input.streams.get(part.stream as usize).map(|s| &s.bytes) else {
                continue;
            };
            let mut put = |part: &Part, usage: Use, from: u32, to: u32| {
                if let Some(piece) = bytes.get(from as usize..to as usize) {
                    self.shelves.put(part, usage, well, piece);
                }
            };
            put(part, Use::Instead, part.from, part.to);
            if let Some(next) = next_of_row(parts, at) {
                put(part, Use::Before, part.from, next.from);
                put(&next, Use::Behind, part.to, next.to);
                if let Some(between) = bytes.get(part.to as usize..next.from as usize) {
                    self.shelves.put_between(between);
                }
            }
        }
    }

    /// Where parts of a run follow each other: a part with what lies before it, from the end of the one before.
    pub fn rows(&self, run: RunId) -> Vec<Row> {
        let parts = &self.corpus[run.0 as usize].parts;
        let mut rows = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let Some(next) = next_of_row(parts, at) else {
                continue;
            };
            let row = Row {
                function: part.function,
                stream: part.stream,
                from: part.to,
                to: next.to,
            };
            // The last of a row will do.
            let same = |known: &Row| known.to == row.from && known.function == row.function;
            match rows.iter_mut().find(|known| same(known)) {
                Some(known) => *known = row,
                None => rows.push(row),
            }
        }
        rows
    }

    /// The input of a run with some of its parts replaced, with more of them or with fewer.
    pub fn put_together(&mut self, run: RunId) -> Option<Input> {
        let parts = self.corpus[run.0 as usize].parts.clone();
        // Several calls may have read the same, one inside the other.
        let mut spans: Vec<(u32, u32, u32)> = parts.iter().map(Part::span).collect();
        spans.sort_unstable();
        spans.dedup();
        if spans.is_empty() {
            return None;
        }
        let random = &mut self.pool.random;
        let mut chosen: Vec<(u32, u32, u32)> = Vec::new();
        for _ in 0..=random.below(MOST_CHANGES) {
            chosen.push(spans[random.below(spans.len())]);
        }
        // From the end on, so that what comes before stays where it is.
        chosen.sort_unstable_by(|left, right| right.cmp(left));
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let mut any = false;
        let mut done: Option<(u32, u32)> = None;
        for (stream, from, to) in chosen {
            if done.is_some_and(|(last, before)| last == stream && to > before) {
                continue;
            }
            let alike: Vec<usize> = (0..parts.len())
                .filter(|at| parts[*at].span() == (stream, from, to))
                .collect();
            let edit = self.replacement(&parts, &alike);
            let Some((from, to, piece)) = edit.filter(|(_, to, _)| {
                done.is_none_or(|(last, before)| last != stream || *to <= before)
            }) else {
                continue;
            };
            let own = input.streams.get_mut(stream as usize)?;
            let range = from as usize..to as usize;
            let room = own.capacity + range.len();
            if range.end > own.bytes.len() || own.bytes.len() + piece.len() > room {
                continue;
            }
            // Where one more has room, there may be many more.
            let room = room - own.bytes.len() - piece.len();
            let again = match range.len() {
                0 if self.pool.random.below(3) == 0 => {
                    self.pool.random.below(room / piece.len() + 1)
                }
                _ => 0,
            };
            own.bytes.splice(range, piece.repeat(1 + again));
            done = Some((stream, from));
            any = true;
        }
        input.normalise();
        any.then_some(input)
    }

    /// What to put in place of a range of the stream, at one of the parts that have read the same.
    fn replacement(&mut self, parts: &[Part], alike: &[usize]) -> Option<(u32, u32, Vec<u8>)> {
        let at = alike[self.pool.random.below(alike.len())];
        let part = parts[at];
        let usage = match self.pool.random.below(6) {
            0..3 => Use::Instead,
            3 => Use::Before,
            4 => Use::Behind,
            _ => {
                let next = next_of_row(parts, at)?;
                return Some((part.from, next.from, Vec::new()));
            }
        };
        let piece = match self.pool.random.below(3) {
            0 => self.piece_of_another(part.function, usage),
            _ => None,
        };
        let piece = piece.or_else(|| {
            let random = &mut self.pool.random;
            let piece = self.shelves.choose(part.function, usage, random)?;
            Some(piece.to_vec())
        })?;
        let (from, to) = match usage {
            Use::Instead => (part.from, part.to),
            Use::Before => (part.from, part.from),
            Use::Behind => (part.to, part.to),
        };
        Some((from, to, piece))
    }

    /// A part that a function has read in one of the runs that promise most.
    fn piece_of_another(&mut self, function: u32, usage: Use) -> Option<Vec<u8>> {
        let run = self.pool.choose()?;
        let ran = &self.corpus[run.0 as usize];
        let own = (0..ran.parts.len()).filter(|at| ran.parts[*at].function == function);
        let pieces = own.filter_map(|at| {
            let part = ran.parts[at];
            let (from, to) = match usage {
                Use::Instead => (part.from, part.to),
                Use::Before => (part.from, next_of_row(&ran.parts, at)?.from),
                Use::Behind => (part.to, next_of_row(&ran.parts, at)?.to),
            };
            let bytes = &ran.input.streams.get(part.stream as usize)?.bytes;
            bytes
                .get(from as usize..to as usize)
                .filter(|piece| !piece.is_empty())
        });
        let pieces: Vec<&[u8]> = pieces.collect();
        let nth = self.pool.random.below(pieces.len());
        pieces.get(nth).map(|piece| piece.to_vec())
    }
}

/// What the calls on a path have read: from the first byte that was looked at to the last one, unless that was looked
/// at again right after the call. And what they looked at.
fn read_parts(
    path: &Path,
    passage: impl Fn(&Mark) -> Option<Passage>,
    read_by: impl Fn(&Test) -> Option<Read>,
) -> (Vec<Part>, Vec<Look>) {
    let mut looks = Vec::new();
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut ended: Vec<usize> = Vec::new();
    let mut marks = path.marks.iter().peekable();
    for (at, test) in (0u32..).zip(&path.tests) {
        while let Some(mark) = marks.next_if(|mark| mark.after <= at) {
            match passage(mark) {
                Some(Passage::Into(function))
                    if open.len() < DEEPEST && calls.len() < MOST_PARTS =>
                {
                    let caller = open.last().copied();
                    if let Some(caller) = caller {
                        calls[caller].kind |= bit(&function);
                    }
                    open.push(calls.len());
                    calls.push(Call {
                        function,
                        around: caller.unwrap_or(calls.len()),
                        read: None,
                        kind: 0,
                        inside: 0,
                        ahead: false,
                    });
                }
                Some(Passage::OutOf(function)) => {
                    // Calls that were left by an exception end with the one that caught it.
                    let own = |call: &usize| calls[*call].function == function;
                    if let Some(own) = open.iter().rposition(own) {
                        ended.extend(open.drain(own..));
                    }
                }
                _ => {}
            }
        }
        // What a test is about takes long to find out, and without calls nobody asks.
        if open.is_empty() && ended.is_empty() {
            continue;
        }
        let Some(read) = read_by(test) else {
            continue;
        };
        looks.push(Look {
            read,
            site: test.site,
            outcome: test.outcome,
        });
        for call in ended.drain(..) {
            let call = &mut calls[call];
            let last = call.read.map(|(stream, _, last)| (stream, last));
            call.ahead = last == Some((read.stream, read.offset));
        }
        let side = bit(&(test.site, test.outcome));
        if let Some(&call) = open.last() {
            calls[call].kind |= side;
        }
        for &call in &open {
            let call = &mut calls[call];
            call.inside |= (side | side >> 64) as u64;
            call.read = match call.read {
                None => Some((read.stream, read.offset, read.offset)),
                Some((stream, from, to)) if stream == read.stream => {
                    Some((stream, from.min(read.offset), to.max(read.offset)))
                }
                other => other,
            };
        }
    }
    let parts = calls.iter().filter_map(|call| {
        let (stream, from, last) = call.read?;
        Some(Part {
            function: call.function,
            stream,
            from,
            to: last + u32::from(!call.ahead),
            around: call.around as u32,
            kind: call.kind,
            inside: call.inside,
        })
    });
    let parts = parts.filter(|part| part.from < part.to).collect();
    (parts, looks)
}

impl Part {
    fn span(&self) -> (u32, u32, u32) {
        (self.stream, self.from, self.to)
    }
}

fn bit(fact: &impl Hash) -> u128 {
    let mut hasher = FxHasher::default();
    fact.hash(&mut hasher);
    1 << (hasher.finish() >> 57)
}

/// The next part that the same function has read in the same part around.
fn next_of_row(parts: &[Part], at: usize) -> Option<Part> {
    let part = parts[at];
    let own = |next: &&Part| {
        let same = next.function == part.function && next.stream == part.stream;
        same && next.around == part.around && next.from >= part.to
    };
    parts[at + 1..].iter().find(own).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use crate::path::TestKind;
    use changeling_solver::Arena;

    const SUM: u32 = 1;
    const NUMBER: u32 = 2;

    /// A mark is `Err`: into or out of a function; a test is `Ok`: the byte that it is about.
    fn path(steps: &[Result<u32, Passage>]) -> (Path, Vec<Passage>, Vec<u32>) {
        let mut arena = Arena::new();
        let nothing = arena.length(0);
        let (mut marks, mut tests) = (Vec::new(), Vec::new());
        let (mut passages, mut reads) = (Vec::new(), Vec::new());
        for step in steps {
            match *step {
                Ok(byte) => {
                    reads.push(byte);
                    tests.push(Test {
                        kind: TestKind::Branch,
                        site: 1 + tests.len() as u32,
                        caller: 0,
                        within: 0,
                        subject: nothing,
                        outcome: 0,
                        held: nothing,
                    });
                }
                Err(passage) => {
                    marks.push(Mark {
                        after: tests.len() as u32,
                        block: passages.len() as u32,
                    });
                    passages.push(passage);
                }
            }
        }
        let path = Path {
            tests,
            output: Output::default(),
            gaps: Vec::new(),
            losses: Vec::new(),
            marks,
            probes: Vec::new(),
            gauged: Vec::new(),
            marks_cut: false,
            concretizations: 0,
        };
        (path, passages, reads)
    }

    fn parts(steps: &[Result<u32, Passage>]) -> Vec<(u32, u32, u32)> {
        let (path, passages, reads) = path(steps);
        let passage = |mark: &Mark| Some(passages[mark.block as usize]);
        let read = |test: &Test| {
            let offset = reads[test.site as usize - 1];
            Some(Read { stream: 0, offset })
        };
        let (parts, _) = read_parts(&path, passage, read);
        parts
            .iter()
            .map(|part| (part.function, part.from, part.to))
            .collect()
    }

    #[test]
    fn what_was_only_looked_at_belongs_to_what_follows() {
        // `12+3`: the number ends where the sum finds its sign.
        let steps = [
            Err(Passage::Into(SUM)),
            Err(Passage::Into(NUMBER)),
            Ok(0),
            Ok(1),
            Ok(2),
            Err(Passage::OutOf(NUMBER)),
            Ok(2),
            Err(Passage::Into(NUMBER)),
            Ok(3),
            Err(Passage::OutOf(NUMBER)),
            Err(Passage::OutOf(SUM)),
        ];
        assert_eq!(parts(&steps), [(SUM, 0, 4), (NUMBER, 0, 2), (NUMBER, 3, 4)]);
    }

    #[test]
    fn calls_that_are_left_together_end_together() {
        let steps = [
            Err(Passage::Into(SUM)),
            Err(Passage::Into(NUMBER)),
            Ok(0),
            Err(Passage::OutOf(SUM)),
            Ok(1),
            Err(Passage::OutOf(NUMBER)),
        ];
        assert_eq!(parts(&steps), [(SUM, 0, 1), (NUMBER, 0, 1)]);
    }

    fn part(function: u32, from: u32, to: u32, around: u32) -> Part {
        Part {
            function,
            stream: 0,
            from,
            to,
            around,
            kind: 1,
            inside: 1,
        }
    }

    #[test]
    fn a_row_is_of_the_same_function_in_the_same_call() {
        let parts = [
            part(SUM, 0, 6, 0),
            part(NUMBER, 0, 1, 0),
            part(NUMBER, 2, 3, 9),
            part(NUMBER, 5, 6, 0),
        ];
        assert_eq!(next_of_row(&parts, 1), Some(parts[3]));
        assert_eq!(next_of_row(&parts, 2), None);
        assert_eq!(next_of_row(&parts, 0), None);
    }

    #[test]
    fn the_shorter_of_two_alike_is_kept() {
        let mut shelves = Shelves::default();
        let one = part(NUMBER, 0, 3, 0);
        shelves.put(&one, Use::Before, true, b"12,");
        shelves.put(&one, Use::Before, true, b"1,");
        shelves.put(&one, Use::Before, true, b"123,");
        let mut random = Random::new(0);
        for _ in 0..8 {
            let piece = shelves.choose(NUMBER, Use::Before, &mut random);
            assert_eq!(piece, Some(&b"1,"[..]));
        }
        assert_eq!(shelves.choose(SUM, Use::Before, &mut random), None);
        assert_eq!(shelves.choose(NUMBER, Use::Behind, &mut random), None);
    }
}
