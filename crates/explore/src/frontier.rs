//! What to try next.
//!
//! Tasks wait in buckets, one per kind of question. Buckets are served in turn,
//! by weights that grow with success, so that none starves the others; inside a
//! bucket sides never taken come first, then the order of arrival.

use crate::tree::NodeId;
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
}

impl Bucket {
    pub const ALL: [Bucket; 7] = [
        Bucket::Out,
        Bucket::Diverge,
        Bucket::Use,
        Bucket::Sequence,
        Bucket::Reach,
        Bucket::Displaced,
        Bucket::Explore,
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
        }
    }

    const fn weight(self) -> f64 {
        match self {
            Bucket::Out => 12.0,
            Bucket::Diverge => 8.0,
            Bucket::Use => 7.0,
            Bucket::Sequence => 6.0,
            Bucket::Reach => 5.0,
            Bucket::Explore => 4.0,
            Bucket::Displaced => 1.0,
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
}

/// What a task cost, in tenths of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    Nothing,
    Query,
    Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    rank: u32,
    novelty: u32,
    arrival: u64,
    task: Task,
}

pub struct Frontier {
    buckets: [BinaryHeap<Reverse<Waiting>>; 7],
    credit: [f64; 7],
    /// Success of late, 0 to 1.
    success: [f64; 7],
    arrivals: u64,
    runs: u64,
    random: Random,
}

impl Frontier {
    pub fn new(seed: u64) -> Frontier {
        Frontier {
            buckets: Default::default(),
            credit: [0.0; 7],
            success: [0.0; 7],
            arrivals: 0,
            runs: 0,
            random: Random::new(seed),
        }
    }

    pub fn push(&mut self, bucket: Bucket, rank: u32, novelty: u32, task: Task) {
        let waiting = Waiting {
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
            arrivals: self.arrivals,
            runs: self.runs,
            random: self.random.clone(),
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
    pub fn pop(&mut self, novelty: impl Fn(&Task) -> u32) -> Option<(Bucket, Task)> {
        let bucket = self.choose()?;
        let heap = &mut self.buckets[bucket as usize];
        loop {
            let Reverse(mut first) = heap.pop()?;
            let now = novelty(&first.task);
            if now <= first.novelty {
                return Some((bucket, first.task));
            }
            first.novelty = now;
            heap.push(Reverse(first));
        }
    }

    /// Books what the last task of a bucket cost and whether it was worth it.
    pub fn charge(&mut self, bucket: Bucket, cost: Cost, reward: f64) {
        let price = match cost {
            Cost::Nothing => return,
            Cost::Query => 0.1,
            Cost::Run => 1.0,
        };
        if cost == Cost::Run {
            self.runs += 1;
        }
        let i = bucket as usize;
        self.success[i] = self.success[i] * 0.9 + reward.clamp(0.0, 1.0) * 0.1;
        let total: f64 = self.waiting().map(|bucket| self.weight(bucket)).sum();
        if total <= 0.0 {
            return;
        }
        for bucket in Bucket::ALL {
            let i = bucket as usize;
            if self.buckets[i].is_empty() {
                self.credit[i] = 0.0;
            } else {
                self.credit[i] += price * self.weight(bucket) / total;
            }
        }
        self.credit[i] -= price;
    }

    fn choose(&mut self) -> Option<Bucket> {
        let waiting: Vec<Bucket> = self.waiting().collect();
        // One run in ten goes where the weights would not: greed has traps.
        if self.runs % 10 == 9 && !waiting.is_empty() {
            return Some(waiting[self.random.below(waiting.len())]);
        }
        let due = |bucket: &Bucket| {
            self.credit[*bucket as usize] + self.weight(*bucket) / Bucket::Out.weight()
        };
        waiting
            .into_iter()
            .reduce(|best, next| if due(&next) > due(&best) { next } else { best })
    }

    fn waiting(&self) -> impl Iterator<Item = Bucket> + '_ {
        Bucket::ALL
            .into_iter()
            .filter(|bucket| !self.buckets[*bucket as usize].is_empty())
    }

    fn weight(&self, bucket: Bucket) -> f64 {
        bucket.weight() * (0.5 + self.success[bucket as usize] * 2.0)
    }
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
