//! Runs that entered a change, done over with a little more or less of the same.
//!
//! A flip writes over a byte, and what was decided about it is all that it knows. Some things need
//! more of what was there already: one more round, one more digit, one more byte where the input
//! ended too early. What a run read between two times that it came by the same place is a piece that
//! can be said again, and how often it came by tells whether that was news.

use crate::frontier::{Edit, Task};
use crate::guide::Sign;
use crate::merge::Step;
use crate::path::Path;
use crate::runner::Side;
use crate::state::State;
use crate::tree::RunId;
use changeling_solver::{Expr, Var};
use changeling_trace::input::Input;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A place that matters begins to run, once a byte of a stream was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    side: Side,
    block: u32,
    read: Option<Read>,
}

/// What matters of the beats of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    beats: Vec<Beat>,
    /// A place that shows effects ran after something that was changed.
    pub shown: bool,
    /// The same for histories that are alike.
    pub number: u64,
}

/// A byte of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    pub stream: u32,
    pub offset: u32,
}

/// Conditions on more bytes do not tell which was read last.
const MOST_READ: usize = 32;
/// What came by more often is the same.
const OFTEN: u32 = 16;
/// So much of the history is compared.
const LATELY: usize = 6;
/// So many histories are told apart.
const MOST_HISTORIES: usize = 1 << 14;
/// How often a piece is said again, the first time as often as has room, and the ranks of that.
const TIMES: [(u32, u32); 4] = [(u32::MAX, 0), (1, 0), (2, 1), (4, 2)];
/// Ranks of saying again all that led to a place.
const WHOLE: u32 = 1;
/// Bytes of its own that an input is made longer by.
const MOST_ENDINGS: usize = 4;
/// A byte that means little.
const PLAIN: u8 = b'A';
/// Longer inputs are not shortened byte by byte.
const MOST_LEFT_OUT: u32 = 24;

/// The last rounds of each version, with how often each place came in a row.
fn numbered(beats: &[Beat], shown: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    shown.hash(&mut hasher);
    for side in Side::BOTH {
        let own = beats.iter().filter(|beat| beat.side == side);
        let mut rounds: Vec<(u32, u32)> = Vec::new();
        for beat in own {
            match rounds.last_mut() {
                Some((block, times)) if *block == beat.block => {
                    *times = (*times + 1).min(OFTEN);
                }
                _ => rounds.push((beat.block, 1)),
            }
        }
        rounds.len().min(OFTEN as usize).hash(&mut hasher);
        rounds[rounds.len().saturating_sub(LATELY)..].hash(&mut hasher);
    }
    hasher.finish()
}

impl State {
    /// The places that matter on both paths, in order.
    pub fn beats(&self, steps: &[Step], paths: [&Path; 2]) -> Vec<Beat> {
        let mut beats = Vec::new();
        let mut passed = [0; 2];
        let mut read = None;
        let mut pass = |until: [usize; 2], read: Option<Read>| {
            for side in Side::BOTH {
                let at = side.index();
                for mark in &paths[at].marks[passed[at]..until[at].max(passed[at])] {
                    if self.guide.beat(side, mark.block).is_some() {
                        let block = mark.block;
                        beats.push(Beat { side, block, read });
                    }
                }
                passed[at] = passed[at].max(until[at]);
            }
        };
        for step in steps {
            pass(step.marks, read);
            read = self.last_read(step.test.subject).or(read);
        }
        pass(paths.map(|path| path.marks.len()), read);
        beats
    }

    /// The last byte that a condition is about.
    pub fn last_read(&self, condition: Expr) -> Option<Read> {
        if self.arena.variable_count(condition) > MOST_READ {
            return None;
        }
        let variables = self.arena.variables(condition).into_iter();
        let bytes = variables.filter_map(|variable| match variable {
            Var::Byte { stream, offset } => Some(Read { stream, offset }),
            Var::Length { .. } => None,
        });
        bytes.max()
    }

    /// What happened before the changes were entered last that they may have looked at, and what
    /// was counted since.
    pub fn history(&self, beats: Vec<Beat>) -> History {
        let shown = self.is_shown(&beats);
        let changed = |beat: &Beat| self.guide.beat(beat.side, beat.block) == Some(Sign::Change);
        // Before any of them was, all of it may matter.
        let last = beats.iter().rposition(changed).unwrap_or(beats.len());
        let matters = |(at, beat): &(usize, Beat)| match self.guide.beat(beat.side, beat.block) {
            Some(Sign::Feeds) => *at <= last,
            Some(Sign::Change | Sign::Counts) => true,
            Some(Sign::Shows) | None => false,
        };
        let beats = beats.into_iter().enumerate().filter(matters);
        let beats: Vec<Beat> = beats.map(|(_, beat)| beat).collect();
        let number = numbered(&beats, shown);
        History {
            beats,
            shown,
            number,
        }
    }

    /// Whether no run that entered a change has the same history.
    pub fn is_new_history(&mut self, run: RunId, history: &History) -> bool {
        self.entered_change(run)
            && self.histories.len() < MOST_HISTORIES
            && self.histories.insert(history.number)
    }

    /// Whether a place that shows effects ran after something that was changed.
    fn is_shown(&self, beats: &[Beat]) -> bool {
        let is = |beat: &Beat, sign: Sign| self.guide.beat(beat.side, beat.block) == Some(sign);
        let mut behind = beats.iter().skip_while(|beat| !is(beat, Sign::Change));
        behind.any(|beat| is(beat, Sign::Shows))
    }

    /// What a run read between two beats will be said again.
    pub fn say_again(&mut self, run: RunId, history: &History, rank: u32) {
        let mut places: BTreeMap<(usize, u32), Vec<Read>> = BTreeMap::new();
        for beat in &history.beats {
            let reads = places.entry((beat.side.index(), beat.block)).or_default();
            if let Some(read) = beat.read
                && reads.last() != Some(&read)
            {
                reads.push(read);
            }
        }
        let mut pieces: Vec<(Read, u32, u32, u32)> = Vec::new();
        for (place, reads) in places {
            let Some(&last) = reads.last() else {
                continue;
            };
            let before = reads.iter().rev().skip(1);
            let mut before = before.filter(|r| r.stream == last.stream && r.offset < last.offset);
            let like = |whole: bool| {
                let mut hasher = DefaultHasher::new();
                (place, history.number, whole).hash(&mut hasher);
                hasher.finish() as u32
            };
            match before.next() {
                Some(before) => pieces.push((last, before.offset + 1, 0, like(false))),
                None => {
                    pieces.push((last, last.offset, 0, like(false)));
                    pieces.push((last, 0, WHOLE, like(true)));
                }
            }
        }
        for row in self.rows(run) {
            let mut hasher = DefaultHasher::new();
            (row.function, history.number, "row").hash(&mut hasher);
            let last = Read {
                stream: row.stream,
                offset: row.to - 1,
            };
            pieces.push((last, row.from, 0, hasher.finish() as u32));
        }
        pieces.sort_unstable();
        pieces.dedup_by_key(|(read, from, ..)| (*read, *from));
        for (read, from, later, like) in pieces {
            for (times, more) in TIMES {
                let edit = Edit::Again {
                    stream: read.stream,
                    from,
                    to: read.offset + 1,
                    times,
                    like,
                };
                self.edit_later(run, edit, rank + later + more);
            }
        }
    }

    /// The input of a run will be made longer by a byte: one of its own, or one that means little, so
    /// that what is asked of it is seen.
    pub fn go_on(&mut self, run: RunId, stream: u32, rank: u32) {
        let input = &self.corpus[run.0 as usize].input;
        let Some(own) = input.streams.get(stream as usize) else {
            return;
        };
        let at = own.bytes.len();
        if at >= own.capacity {
            return;
        }
        let mut endings = vec![PLAIN];
        for &byte in own.bytes.iter().rev() {
            if endings.len() <= MOST_ENDINGS && !endings.contains(&byte) {
                endings.push(byte);
            }
        }
        for (later, byte) in (0u32..).zip(endings) {
            let at = at as u32;
            self.edit_later(run, Edit::Insert { stream, at, byte }, rank + later.min(2));
        }
    }

    /// Bytes of a run will be left out.
    pub fn leave_out(&mut self, run: RunId, rank: u32) {
        let input = self.corpus[run.0 as usize].input.clone();
        for (stream, own) in (0u32..).zip(&input.streams) {
            let length = own.bytes.len() as u32;
            if own.capacity == 0 || length > MOST_LEFT_OUT {
                continue;
            }
            for from in 0..length {
                for to in [from + 1, from + 2] {
                    if to <= length {
                        let edit = Edit::Without { stream, from, to };
                        self.edit_later(run, edit, rank + to - from);
                    }
                }
            }
        }
    }

    fn edit_later(&mut self, run: RunId, edit: Edit, rank: u32) {
        self.mend_later(Task::Edit { run, edit }, rank);
    }

    /// A run's input, edited.
    pub fn edited(&mut self, run: RunId, edit: Edit) -> Option<Input> {
        self.count_edited(run, edit);
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let stream = input.streams.get_mut(edit.stream() as usize)?;
        let bytes = &mut stream.bytes;
        let room = stream.capacity.saturating_sub(bytes.len());
        match edit {
            Edit::Again {
                from, to, times, ..
            } => {
                let piece = bytes.get(from as usize..to as usize)?.to_vec();
                let most = room / piece.len().max(1);
                let times = match times {
                    u32::MAX => most,
                    times => times as usize,
                };
                if times == 0 || times > most {
                    return None;
                }
                bytes.splice(to as usize..to as usize, piece.repeat(times));
            }
            Edit::Insert { at, byte, .. } => {
                if room == 0 || at as usize > bytes.len() {
                    return None;
                }
                bytes.insert(at as usize, byte);
            }
            Edit::Without { from, to, .. } => {
                bytes.get(from as usize..to as usize)?;
                bytes.drain(from as usize..to as usize);
            }
        }
        input.normalise();
        Some(input)
    }
}
