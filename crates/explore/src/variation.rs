//! Inputs made from others by moving bytes about.
//!
//! Flipping a decision changes bytes where they stand. What it can hardly do is to put
//! something in between: `1+2` becomes `1+(2)` only by way of inputs that mean
//! something else. Pieces of inputs that showed something new are therefore also
//! put together at random; what comes of it is run and learnt from like any other.

use crate::frontier::Random;
use crate::guide::Nearness;
use crate::manners::Manner;
use crate::state::State;
use crate::tree::RunId;
use changeling_solver::Expr;
use changeling_trace::input::{Input, Stream};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Runs that are worth varying.
pub struct Pool {
    /// By promise: the versions part, or may be about to, a change was entered, the guide sees a
    /// target from here as near as ever, something else was new.
    tiers: [Tier; 5],
    /// By target: the runs that end nearest to it with the fewest bytes, and how near.
    near: BTreeMap<usize, Near>,
    /// The best rank that led to a target.
    nearest: u32,
    pub random: Random,
}

/// The runs that came nearest to a target, and how near, with how many bytes: the shorter an input, the more room there
/// is for what is still to come.
struct Near {
    nearness: Nearness,
    bytes: usize,
    runs: Vec<RunId>,
}

/// Runs of the same promise.
#[derive(Default)]
struct Tier {
    runs: Vec<RunId>,
    /// By the manner in which they end.
    alike: BTreeMap<Manner, Vec<RunId>>,
}

impl Tier {
    fn push(&mut self, run: RunId, manner: Manner) {
        self.runs.push(run);
        self.alike.entry(manner).or_default().push(run);
    }

    /// One of all, or first a manner to end, so that the rare ones have their share.
    fn choose(&self, random: &mut Random) -> RunId {
        let runs = match random.below(2) {
            0 => &self.runs,
            _ => {
                let nth = random.below(self.alike.len());
                self.alike.values().nth(nth).unwrap_or(&self.runs)
            }
        };
        let from = match random.below(2) {
            0 => runs.len().saturating_sub(LATEST),
            _ => 0,
        };
        runs[from + random.below(runs.len() - from)]
    }
}

impl Pool {
    pub fn new(seed: u64) -> Pool {
        Pool {
            tiers: Default::default(),
            near: BTreeMap::new(),
            nearest: u32::MAX,
            random: Random::new(seed),
        }
    }

    /// A run came so near to targets; those that are not among them need not be come near to. Whether it came nearer
    /// than all before.
    fn come_near(
        &mut self,
        run: RunId,
        bytes: usize,
        targets: &[(usize, Option<Nearness>)],
    ) -> bool {
        let aimed = |target: &usize| targets.iter().any(|(other, _)| other == target);
        self.near.retain(|target, _| aimed(target));
        let mut nearer = false;
        for &(target, nearness) in targets {
            let Some(nearness) = nearness else {
                continue;
            };
            let Some(near) = self.near.get_mut(&target) else {
                let runs = vec![run];
                let first = Near {
                    nearness,
                    bytes,
                    runs,
                };
                self.near.insert(target, first);
                continue;
            };
            let [now, before] = [(nearness, bytes), (near.nearness, near.bytes)];
            nearer |= now.0 < before.0;
            if now > before {
                continue;
            }
            if now < before {
                (near.nearness, near.bytes) = now;
                near.runs.clear();
            }
            if near.runs.len() == LATEST {
                near.runs.remove(0);
            }
            near.runs.push(run);
        }
        nearer
    }

    /// Mostly one of the most promising, and among these one of the latest.
    pub fn choose(&mut self) -> Option<RunId> {
        if !self.near.is_empty() && self.random.below(2) == 0 {
            let nth = self.random.below(self.near.len());
            let runs = &self.near.values().nth(nth)?.runs;
            return Some(runs[self.random.below(runs.len())]);
        }
        let waiting = self.tiers.iter().filter(|tier| !tier.runs.is_empty());
        let waiting: Vec<&Tier> = waiting.collect();
        let last = waiting.len().checked_sub(1)?;
        let tier = (0..last).find(|_| self.random.below(2) == 0);
        let tier = waiting[tier.unwrap_or(last)];
        Some(tier.choose(&mut self.random))
    }
}

const PARTED: usize = 0;
const INFECTED: usize = 1;
const ENTERED: usize = 2;
const NEAR: usize = 3;
const OTHERS: usize = 4;
/// Ranks that differ by no more than this are equally near.
const SLACK: u32 = 2;

const LATEST: usize = 16;
/// How many changes are made to an input at once.
const MOST_EDITS: usize = 4;
/// The longest piece that is moved.
const LONGEST: usize = 8;
/// How often a piece is repeated.
const MOST_TIMES: usize = 64;
/// Inputs that are not looked at twice before something else is done.
const TRIES: usize = 8;
/// So many others may be better to be rearranged.
const CHOSEN_AMONG: usize = 3;

impl State {
    /// Whether a run came nearer to a target than any before.
    pub fn come_near(&mut self, run: RunId, coverage: [&[u8]; 2]) -> bool {
        let ran = &self.corpus[run.0 as usize];
        let bytes = ran.length();
        let targets = self.guide.nearness(ran.contexts, coverage);
        self.pool.come_near(run, bytes, &targets)
    }

    /// A run is worth varying. It did something that none had done before, and came so near to
    /// a target.
    pub fn pool_run(&mut self, run: RunId, near: u32) {
        let tier = if self.corpus[run.0 as usize].parting.is_some() {
            PARTED
        } else if self.guide.is_infected(self.corpus[run.0 as usize].contexts) {
            INFECTED
        } else if self.entered_change(run) {
            ENTERED
        } else if near != u32::MAX && near <= self.pool.nearest.saturating_add(SLACK) {
            NEAR
        } else {
            OTHERS
        };
        let pool = &mut self.pool;
        if tier == NEAR && near.saturating_add(SLACK) < pool.nearest {
            let further = std::mem::take(&mut pool.tiers[NEAR]);
            for run in further.runs {
                pool.tiers[OTHERS].push(run, self.corpus[run.0 as usize].manner);
            }
        }
        pool.nearest = pool.nearest.min(near);
        pool.tiers[tier].push(run, self.corpus[run.0 as usize].manner);
    }

    /// An input that was not run before.
    pub fn variation(&mut self) -> Option<Input> {
        for _ in 0..TRIES {
            let near = match self.pool.random.below(3) {
                0 => self.readings.choose(&mut self.pool.random),
                _ => None,
            };
            let (run, varied) = match near {
                Some(run) => (run, self.neighbour(run)),
                None => {
                    let run = self.pool.choose()?;
                    let varied = match self.pool.random.below(8) {
                        0 => self.with_other_byte(run, true),
                        1 => self.preceded(run),
                        2..6 => self.rearranged(run),
                        _ => None,
                    };
                    (run, varied)
                }
            };
            let varied = varied.unwrap_or_else(|| {
                let other = RunId(self.pool.random.below(self.corpus.len()) as u32);
                let input = |run: RunId| &self.corpus[run.0 as usize].input;
                vary(input(run), input(other), &mut self.pool.random)
            });
            if self.known(&varied).is_none() {
                return Some(varied);
            }
        }
        None
    }

    /// The input of a run made from parts of others: half of the time of one that ended well, and is short.
    fn rearranged(&mut self, mut run: RunId) -> Option<Input> {
        let others = match self.pool.random.below(2) {
            0 => 0,
            _ => CHOSEN_AMONG,
        };
        for _ in 0..others {
            let other = self.pool.choose()?;
            if self.worth(other) > self.worth(run) {
                run = other;
            }
        }
        self.put_together(run)
    }

    /// The input of a run with that of another one before it: what it does may rest on what was done before.
    fn preceded(&mut self, run: RunId) -> Option<Input> {
        let mut before = self.pool.choose()?;
        for _ in 0..CHOSEN_AMONG {
            let other = RunId(self.pool.random.below(self.corpus.len()) as u32);
            if self.worth(other) > self.worth(before) && self.corpus[other.0 as usize].length() > 0
            {
                before = other;
            }
        }
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let symbolic = input.streams.iter_mut().enumerate();
        let mut symbolic: Vec<_> = symbolic.filter(|(_, s)| s.capacity > 0).collect();
        let nth = self.pool.random.below(symbolic.len());
        let (at, own) = symbolic.get_mut(nth)?;
        let before = &self.corpus[before.0 as usize].input.streams.get(*at)?.bytes;
        let between = self.shelves.choose_between(&mut self.pool.random);
        let all = [before, between, &own.bytes].concat();
        if before.is_empty() || all.len() > own.capacity {
            return None;
        }
        own.bytes = all;
        input.normalise();
        Some(input)
    }

    /// What ended well, and is short, is better to be made something from.
    fn worth(&self, run: RunId) -> (bool, Reverse<usize>) {
        let ran = &self.corpus[run.0 as usize];
        (ran.well, Reverse(ran.length()))
    }

    /// An input that differs from that of a run by little.
    fn neighbour(&mut self, run: RunId) -> Option<Input> {
        match self.pool.random.below(8) {
            0 => self.with_other_byte(run, true),
            1 => self.with_other_byte(run, false),
            2 | 3 => self.rearranged(run),
            4 | 5 => self.with_byte_twice(run),
            _ => None,
        }
    }

    /// A run's input with one more byte of a kind beside one that is there, as numbers grow by digits. Where there is no
    /// room for it another byte is left out.
    fn with_byte_twice(&mut self, run: RunId) -> Option<Input> {
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let random = &mut self.pool.random;
        let mut filled: Vec<&mut Stream> = input.streams.iter_mut().collect();
        filled.retain(|stream| stream.capacity > 0 && !stream.bytes.is_empty());
        let nth = random.below(filled.len());
        let stream = filled.get_mut(nth)?;
        let at = random.below(stream.bytes.len());
        let byte = match random.below(2) {
            0 => stream.bytes[at],
            _ => alike(stream.bytes[at], random),
        };
        stream.bytes.insert(at, byte);
        if stream.bytes.len() > stream.capacity {
            let place = random.below(stream.bytes.len());
            stream.bytes.remove(place);
        }
        input.normalise();
        Some(input)
    }

    /// A run's input with a byte that the program would have taken otherwise there: in place of the one that stands
    /// there, whatever was decided about it before, or put in before it or in front of the byte after it. What follows
    /// keeps its meaning then, while a flip would write over it.
    fn with_other_byte(&mut self, run: RunId, is_more: bool) -> Option<Input> {
        let way = self.tree.way_to(self.corpus[run.0 as usize].end);
        let others = way.flat_map(|(_, decision, taken)| {
            let ways = decision.ways.iter().enumerate();
            ways.filter(move |(at, _)| *at != taken)
        });
        let mut tests: Vec<Expr> = others.map(|(_, way)| way.held).collect();
        tests.retain(|held| self.arena.variable_count(*held) == 1);
        if tests.is_empty() {
            return None;
        }
        let goal = tests[self.pool.random.below(tests.len())];
        match is_more {
            true => {
                let behind = self.pool.random.below(2);
                self.with_byte(run, goal, behind, 1)
            }
            false => self.with_byte(run, goal, 0, 0),
        }
    }
}

fn vary(input: &Input, other: &Input, random: &mut Random) -> Input {
    let mut varied = input.clone();
    let symbolic: Vec<usize> = (0..varied.streams.len())
        .filter(|at| varied.streams[*at].capacity > 0)
        .collect();
    if symbolic.is_empty() {
        return varied;
    }
    for _ in 0..=random.below(MOST_EDITS) {
        let at = symbolic[random.below(symbolic.len())];
        // Pieces may come from another stream: names and values are often repeated.
        let from = match random.below(4) {
            0 => symbolic[random.below(symbolic.len())],
            _ => at,
        };
        edit(&mut varied.streams[at], &other.streams[from].bytes, random);
    }
    varied.normalise();
    varied
}

fn edit(stream: &mut Stream, other: &[u8], random: &mut Random) {
    let bytes = &mut stream.bytes;
    // What was done so far stays as it was if more is done after it.
    let at = match random.below(4) {
        0 => bytes.len(),
        _ => random.below(bytes.len() + 1),
    };
    match random.below(9) {
        // A piece of another input is put in,
        0..3 => {
            let piece = piece(other, random);
            bytes.splice(at..at, piece);
        }
        // or put in place of what is there,
        3 => {
            let piece = piece(other, random);
            let end = bytes.len().min(at + piece.len());
            bytes.splice(at..end, piece);
        }
        // something is said twice,
        4 => {
            let piece = piece(bytes, random);
            bytes.splice(at..at, piece);
        }
        // or again and again, as often as has room,
        8.. => {
            let piece = piece(bytes, random);
            let room = stream.capacity.saturating_sub(bytes.len()) / piece.len().max(1);
            let times = 1 + random.below(room.min(MOST_TIMES));
            bytes.splice(at..at, piece.repeat(times));
        }
        // or left out,
        5 => {
            let end = bytes.len().min(at + 1 + random.below(LONGEST / 2));
            bytes.drain(at..end);
        }
        // or is slightly other.
        6 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = match random.below(2) {
                    0 => byte.wrapping_add([1, 255, 16, 240][random.below(4)]),
                    _ => alike(*byte, random),
                };
            }
        }
        _ => {
            let byte = piece(other, random).first().copied();
            if let (Some(place), Some(byte)) = (bytes.get_mut(at), byte) {
                *place = byte;
            }
        }
    }
    bytes.truncate(stream.capacity);
}

/// Any other character of the same kind: what is a number stays one.
fn alike(byte: u8, random: &mut Random) -> u8 {
    let kinds = [b'0'..=b'9', b'a'..=b'z', b'A'..=b'Z'];
    let kind = kinds.into_iter().find(|kind| kind.contains(&byte));
    let kind = kind.unwrap_or(0..=u8::MAX);
    let number = usize::from(kind.end() - kind.start()) + 1;
    kind.start() + random.below(number) as u8
}

fn piece(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let start = random.below(bytes.len());
    // Short ones are the more useful.
    let most = 1 + random.below(LONGEST);
    let length = 1 + random.below(most);
    bytes.iter().skip(start).take(length).copied().collect()
}
