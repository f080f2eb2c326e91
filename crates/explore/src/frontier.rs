//! What to try next.
//!
//! Tasks wait in buckets, one per kind of question. Buckets are served in turn,
//! by weights that grow with success, so that none starves the others; inside a
//! bucket a guide's rank and how well known a place is are added up, then the
//! order of arrival decides.

use crate::novelty::NEWS;
use crate::tree::{NodeId, RunId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kinds of questions, most promising first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Bucket {
    /// Same two paths, different outputs.
    Out,
    /// Keep one version's path, flip a decision that only the other takes.
    Diverge,
    /// Flip a common decision behind a place where the versions differ.
    Use,
    /// The next change of a sequence (guides only).
    Sequence,
    /// Nearer to a target (guides only).
    Reach,
    /// Other values where one was fixed.
    Displaced,
    Explore,
    /// What hides the effect of a change taken away, or a byte put in (guides only).
    Mend,
    /// The input of a run that came to a change with a little more or less in it (guides only).
    Edit,
    /// Pieces of inputs put together.
    Vary,
    /// Questions that turned out to be hard.
    Hard,
}

const BUCKETS: usize = 11;

impl Bucket {
    pub const ALL: [Bucket; BUCKETS] = [
        Bucket::Out,
        Bucket::Diverge,
        Bucket::Use,
        Bucket::Sequence,
        Bucket::Reach,
        Bucket::Displaced,
        Bucket::Explore,
        Bucket::Mend,
        Bucket::Edit,
        Bucket::Vary,
        Bucket::Hard,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Bucket::Out => "out",
            Bucket::Diverge => "diverge",
            Bucket::Use => "use",
            Bucket::Sequence => "sequence",
            Bucket::Reach => "reach",
            Bucket::Displaced => "displaced",
            Bucket::Explore => "explore",
            Bucket::Mend => "mend",
            Bucket::Edit => "edit",
            Bucket::Vary => "vary",
            Bucket::Hard => "hard",
        }
    }

    /// Whether it is the solver that is asked.
    const fn asks(self) -> bool {
        !matches!(self, Bucket::Vary | Bucket::Mend | Bucket::Edit)
    }

    const fn weight(self) -> f64 {
        match self {
            Bucket::Out => 12.0,
            Bucket::Diverge => 8.0,
            Bucket::Use => 7.0,
            Bucket::Sequence => 6.0,
            Bucket::Reach => 5.0,
            Bucket::Explore => 4.0,
            Bucket::Mend => 5.0,
            Bucket::Edit => 5.0,
            Bucket::Vary => 6.0,
            Bucket::Displaced => 1.0,
            Bucket::Hard => 0.3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Make the outputs of a pair of paths differ.
    Out { end: NodeId },
    /// Take a side not taken.
    Flip { node: NodeId, way: u32 },
    /// Another value for one that was fixed.
    Another { node: NodeId },
    /// Take a side that was taken before, now with the other bytes of a run that came
    /// this way and saw something new.
    Carry { node: NodeId, way: u32, run: RunId },
    /// Make a decision of a run go another way, whether or not it was ever taken.
    Mend { node: NodeId, way: u32, mend: Mend },
    /// The input of a run with a little more or less in it.
    Edit { run: RunId, edit: Edit },
    /// Put pieces of inputs together. There is no end of this, so it never waits by itself.
    Vary,
    /// Make what changes leave behind differ, on the way to a node.
    Infect { node: NodeId },
    /// Bring compared values nearer to an outcome; by the number of the wish.
    Approach { wish: u32 },
}

/// How a decision of a run is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mend {
    pub run: RunId,
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// By another byte in place of the one that it rests on.
    Instead,
    /// By one that is put in front of it.
    Before,
    /// By two or three of those.
    Twice,
    Thrice,
    /// By one that is put in behind it.
    Behind,
}

/// How an input is changed, whatever was decided about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    /// A piece is said so many times more, right behind it.
    Again {
        stream: u32,
        from: u32,
        to: u32,
        times: u32,
        /// The same for pieces that led to the same place in runs with the same history.
        like: u32,
    },
    /// A byte is put in.
    Insert { stream: u32, at: u32, byte: u8 },
    /// A piece is left out.
    Without { stream: u32, from: u32, to: u32 },
}

impl Edit {
    pub fn stream(self) -> u32 {
        match self {
            Edit::Again { stream, .. }
            | Edit::Insert { stream, .. }
            | Edit::Without { stream, .. } => stream,
        }
    }
}

/// What a task cost. It is counted, not measured: the same search must choose the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub queries: u64,
    /// What the SAT solver did.
    pub work: u64,
    pub runs: u64,
}

/// What a SAT solver does in about the time of a run.
const WORK_OF_A_RUN: f64 = 30_000.0;

impl Cost {
    /// In runs.
    fn price(self) -> f64 {
        self.queries as f64 * 0.02 + self.work as f64 / WORK_OF_A_RUN + self.runs as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// The rank, once what is tried again and again has lost its place to what lies further.
    order: u32,
    rank: u32,
    novelty: u32,
    arrival: u64,
    task: Task,
}

pub struct Frontier {
    buckets: [BinaryHeap<Reverse<Waiting>>; BUCKETS],
    credit: [f64; BUCKETS],
    /// Success of late, 0 to 1.
    success: [f64; BUCKETS],
    /// How many of the runs of late brought anything at all, or how many of the questions that were
    /// not easy, 0 to 1.
    fresh: [f64; BUCKETS],
    arrivals: u64,
    runs: u64,
    random: Random,
    /// There is something to vary.
    pub varies: bool,
}

impl Frontier {
    pub fn new(seed: u64) -> Frontier {
        Frontier {
            buckets: Default::default(),
            credit: Bucket::ALL.map(start),
            success: [0.0; BUCKETS],
            fresh: [1.0; BUCKETS],
            arrivals: 0,
            runs: 0,
            random: Random::new(seed),
            varies: false,
        }
    }

    pub fn push(&mut self, bucket: Bucket, rank: u32, novelty: u32, task: Task) {
        let waiting = Waiting {
            order: order(rank, novelty),
            rank,
            novelty,
            arrival: self.arrivals,
            task,
        };
        self.arrivals += 1;
        self.buckets[bucket as usize].push(Reverse(waiting));
    }

    /// An empty frontier that goes on as this one would.
    pub fn fork(&self) -> Frontier {
        Frontier {
            buckets: Default::default(),
            credit: self.credit,
            success: self.success,
            fresh: self.fresh,
            arrivals: self.arrivals,
            runs: self.runs,
            random: self.random.clone(),
            varies: self.varies,
        }
    }

    /// Everything that waits, with its rank, in the order of arrival.
    pub fn into_tasks(self) -> Vec<(Bucket, u32, Task)> {
        let mut tasks: Vec<(u64, Bucket, u32, Task)> = Vec::with_capacity(self.len());
        for (bucket, heap) in Bucket::ALL.into_iter().zip(self.buckets) {
            tasks.extend(
                heap.into_iter()
                    .map(|Reverse(waiting)| (waiting.arrival, bucket, waiting.rank, waiting.task)),
            );
        }
        tasks.sort_unstable();
        tasks
            .into_iter()
            .map(|(_, bucket, rank, task)| (bucket, rank, task))
            .collect()
    }

    pub fn len(&self) -> usize {
        self.buckets.iter().map(BinaryHeap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn tasks(&self) -> impl Iterator<Item = (Bucket, Task)> + '_ {
        Bucket::ALL.into_iter().flat_map(|bucket| {
            let waiting = self.buckets[bucket as usize].iter();
            waiting.map(move |Reverse(waiting)| (bucket, waiting.task))
        })
    }

    /// The next task. `novelty` is asked again, since what was new when the task
    /// came may be old by now.
    pub fn pop(&mut self, novelty: impl Fn(Bucket, &Task) -> u32) -> Option<(Bucket, Task)> {
        let bucket = self.choose()?;
        if bucket == Bucket::Vary {
            return Some((bucket, Task::Vary));
        }
        let heap = &mut self.buckets[bucket as usize];
        loop {
            let Reverse(mut first) = heap.pop()?;
            let now = novelty(bucket, &first.task);
            if now <= first.novelty {
                return Some((bucket, first.task));
            }
            first.novelty = now;
            first.order = order(first.rank, now);
            heap.push(Reverse(first));
        }
    }

    /// Books what the last task of a bucket cost and whether it was worth it.
    pub fn charge(&mut self, bucket: Bucket, cost: Cost, reward: f64) {
        if cost == Cost::default() {
            return;
        }
        let price = cost.price();
        self.runs += cost.runs;
        let i = bucket as usize;
        self.success[i] = self.success[i] * 0.9 + reward.clamp(0.0, 1.0) * 0.1;
        let brought = f64::from(u8::from(reward > 0.0));
        // A run that brings nothing is a run lost; a question that has no answer is as bad as it was dear.
        let weight = match bucket.asks() {
            true => price.min(1.0).max(brought),
            false => f64::from(u8::from(cost.runs > 0)),
        };
        self.fresh[i] += (brought - self.fresh[i]) * weight * 0.1;
        let total: f64 = self.waiting().map(|bucket| self.weight(bucket)).sum();
        if total <= 0.0 {
            return;
        }
        for bucket in Bucket::ALL {
            let i = bucket as usize;
            if !self.has(bucket) {
                self.credit[i] = start(bucket);
            } else {
                self.credit[i] += price * self.weight(bucket) / total;
            }
        }
        self.credit[i] -= price;
    }

    fn choose(&mut self) -> Option<Bucket> {
        let waiting: Vec<Bucket> = self.waiting().collect();
        // One run in ten goes where the weights would not: greed has traps.
        if self.runs % 10 == 9 {
            let cheap = waiting.iter().filter(|bucket| **bucket != Bucket::Hard);
            let cheap: Vec<Bucket> = cheap.copied().collect();
            if !cheap.is_empty() {
                return Some(cheap[self.random.below(cheap.len())]);
            }
        }
        let due = |bucket: &Bucket| {
            self.credit[*bucket as usize] + self.weight(*bucket) / Bucket::Out.weight()
        };
        waiting
            .into_iter()
            .reduce(|best, next| if due(&next) > due(&best) { next } else { best })
    }

    fn waiting(&self) -> impl Iterator<Item = Bucket> + '_ {
        Bucket::ALL.into_iter().filter(|bucket| self.has(*bucket))
    }

    fn has(&self, bucket: Bucket) -> bool {
        match bucket {
            Bucket::Vary => self.varies && self.runs >= FLIPS_FIRST && !self.has_only_mends(),
            Bucket::Mend | Bucket::Edit => {
                let waiting = !self.buckets[bucket as usize].is_empty();
                waiting && (self.runs >= FLIPS_ALONE || self.has_only_mends())
            }
            _ => !self.buckets[bucket as usize].is_empty(),
        }
    }

    pub fn waiting_in(&self, bucket: Bucket) -> usize {
        self.buckets[bucket as usize].len()
    }

    /// Nothing waits but what should be mended, if anything does.
    pub fn has_only_mends(&self) -> bool {
        self.len() == self.waiting_in(Bucket::Mend) + self.waiting_in(Bucket::Edit)
    }

    /// What should be mended is given up.
    pub fn forget_mends(&mut self) {
        self.buckets[Bucket::Mend as usize].clear();
        self.buckets[Bucket::Edit as usize].clear();
    }

    fn weight(&self, bucket: Bucket) -> f64 {
        let least = match bucket {
            Bucket::Out => 0.5,
            _ => 0.2,
        };
        // What leads nowhere should not go on as before.
        let fresh = (self.fresh[bucket as usize] / ENOUGH).clamp(0.1, 1.0);
        bucket.weight() * fresh * (least + self.success[bucket as usize] * 2.0)
    }
}

/// If so many of the runs of a bucket bring something, it is worth its weight.
const ENOUGH: f64 = 0.3;

/// Runs before anything is put together at random: what few flips can show they should.
pub const FLIPS_FIRST: u64 = 24;

/// Runs before anything is mended.
const FLIPS_ALONE: u64 = 12;

/// Hard questions take as long as hundreds of runs: they have to wait for the others.
fn start(bucket: Bucket) -> f64 {
    match bucket {
        Bucket::Hard => -20.0,
        _ => 0.0,
    }
}

/// A rank is no wall: what lies a little further comes before what was done twice as often.
fn order(rank: u32, novelty: u32) -> u32 {
    rank.saturating_add(4 * (novelty / NEWS))
}

/// A small generator of random numbers: same seed, same numbers, everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub fn draw(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % end.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_the_order_of_arrival() {
        let mut frontier = Frontier::new(0);
        let task = |wish| Task::Approach { wish };
        for (rank, wish) in [(4, 0), (2, 1), (4, 2), (2, 3), (2, 4), (4, 5)] {
            frontier.push(Bucket::Reach, rank, 0, task(wish));
        }
        let popped = std::iter::from_fn(|| frontier.pop(|_, _| 0));
        let expected = [1, 3, 4, 0, 2, 5].map(|wish| (Bucket::Reach, task(wish)));
        assert_eq!(popped.collect::<Vec<_>>(), expected);
    }
}
