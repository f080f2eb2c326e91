//! What waits to be tried, as the guide advises.

use crate::decision::{Decision, WayState};
use crate::frontier::{Bucket, Task};
use crate::gap::Gap;
use crate::guide::{Advice, Flip, Rule};
use crate::merge::Owner;
use crate::path::TestKind;
use crate::runner::Side;
use crate::state::State;
use crate::tree::{NodeId, RunId};
use changeling_solver::{Assignment, Var};
use rustc_hash::FxHashSet;

/// Rank of what is tried with the bytes of a run that entered a change.
const CARRIED: u32 = 4;

impl State {
    /// Asks the guide about everything that waits once more.
    pub fn rank_again(&mut self) {
        let seed = self.frontier.fork();
        let old = std::mem::replace(&mut self.frontier, seed);
        let mut offered = FxHashSet::default();
        for (bucket, rank, task) in old.into_tasks() {
            match task {
                // What was put off is as hard as before, whatever the guide thinks of it.
                Task::Flip { node, way } if bucket != Bucket::Hard => {
                    if offered.insert((node, way)) {
                        self.offer(node, way as usize, Some(bucket));
                    }
                }
                task => self.frontier.push(bucket, rank, 0, task),
            }
        }
    }

    /// The guide was wrong: what it has discarded waits again.
    pub fn take_back(&mut self) {
        for (node, way) in self.tree.discarded() {
            if let Some(decision) = self.tree.decision_mut(node) {
                decision.ways[way].state = WayState::Open;
                self.offer(node, way, None);
            }
        }
        self.stats.discarded = 0;
        self.stats.by_rule.clear();
    }

    /// Puts the sides not taken of a new decision on the frontier.
    pub fn enqueue(&mut self, node: NodeId) {
        let Some(decision) = self.tree.decision(node) else {
            return;
        };
        if let TestKind::Fixed(_) = decision.kind {
            self.frontier
                .push(Bucket::Displaced, 0, 0, Task::Another { node });
            return;
        }
        let ways: Vec<(usize, WayState)> = decision
            .ways
            .iter()
            .enumerate()
            .map(|(at, way)| (at, way.state))
            .collect();
        for (at, state) in ways {
            match state {
                WayState::Open => self.offer(node, at, None),
                WayState::Impossible => self.stats.avoided += 1,
                _ => {}
            }
        }
    }

    /// What was held back waits like everything else.
    pub fn release(&mut self, held: Vec<(NodeId, usize)>) {
        for (node, at) in held {
            self.offer(node, at, Some(Bucket::Diverge));
        }
    }

    /// A run saw something new: what others did at the decisions on its way is worth doing
    /// with its bytes as well.
    pub fn carry_over(&mut self, run: RunId) {
        let mut offers = Vec::new();
        for (node, decision, taken) in self.tree.way_to(self.corpus[run.0 as usize].end) {
            let ways = decision.ways.iter().enumerate();
            let others =
                ways.filter(|(at, way)| *at != taken && matches!(way.state, WayState::Taken(_)));
            offers.extend(others.map(|(at, _)| (node, at as u32)));
        }
        // Not before what comes of differences in the same bucket.
        let (bucket, rank) = if self.entered_change(run) {
            (Bucket::Use, CARRIED)
        } else {
            (Bucket::Explore, 0)
        };
        for (node, way) in offers.into_iter().rev() {
            let task = Task::Carry { node, way, run };
            let novelty = self.novelty(bucket, &task);
            self.frontier.push(bucket, rank, novelty, task);
        }
    }

    pub fn entered_change(&self, run: RunId) -> bool {
        let contexts = self.corpus[run.0 as usize].contexts;
        let mut sides = Side::BOTH.into_iter().zip(contexts);
        sides.any(|(side, context)| !self.guide.sequence(side, context).is_empty())
    }

    /// Puts a side not taken on the frontier, as the guide advises. `from` is the bucket
    /// that it waited in before.
    pub fn offer(&mut self, node: NodeId, at: usize, from: Option<Bucket>) {
        let Some(decision) = self.tree.decision(node) else {
            return;
        };
        if decision.ways[at].state != WayState::Open {
            return;
        }
        let after_difference = self.tree.difference_before(node).is_some();
        let usual = match decision.owner {
            // It has been found not to part the versions.
            Owner::One(_) if from == Some(Bucket::Explore) => Bucket::Explore,
            Owner::One(_) => Bucket::Diverge,
            Owner::Both if after_difference => Bucket::Use,
            Owner::Both => Bucket::Explore,
        };
        let Some(mut flip) = self.flip_at(node, at) else {
            return;
        };
        if from.is_none() && self.guide.joins(&flip) {
            self.held.push((node, at));
            return;
        }
        self.settle_sameness(node, &mut flip);
        if let Some(rule) = self.guide.doubts(&flip) {
            self.doubt(node, at, rule);
        }
        let (state, rule) = match self.guide.advise(&flip) {
            Advice::Try { rank, bucket } => {
                let task = Task::Flip {
                    node,
                    way: at as u32,
                };
                if bucket == Some(Bucket::Reach) {
                    self.nearest = self.nearest.min(rank);
                    if from.is_none() && !self.guide.only_flips() {
                        self.put_in_later(node, at, rank);
                    }
                }
                let bucket = bucket.unwrap_or(usual);
                let novelty = self.novelty(bucket, &task);
                self.frontier.push(bucket, rank, novelty, task);
                // Whichever comes first takes it.
                if let Some((other, rank)) = self.guide.also(&flip).filter(|(b, _)| *b != bucket) {
                    self.nearest = self.nearest.min(rank);
                    let novelty = self.novelty(other, &task);
                    self.frontier.push(other, rank, novelty, task);
                }
                return;
            }
            Advice::Discard(rule) => (WayState::Discarded, rule),
            Advice::LeaveOut(rule) => {
                self.note(Gap::LeftOut);
                (WayState::LeftOut, rule)
            }
        };
        self.stats.discarded += 1;
        *self.stats.by_rule.entry(rule).or_default() += 1;
        if let Some(decision) = self.tree.decision_mut(node) {
            decision.ways[at].state = state;
        }
    }

    /// A side would be given up by a rule: what comes of it is counted.
    fn doubt(&mut self, node: NodeId, at: usize, rule: Rule) {
        self.stats.audited.get_or_insert_default();
        if let Some(decision) = self.tree.decision_mut(node)
            && !std::mem::replace(&mut decision.ways[at].doubted, true)
        {
            *self.stats.by_rule.entry(rule).or_default() += 1;
        }
    }

    /// The run that came furthest of all, if its bytes are as good as any for other lengths at a node:
    /// nothing but lengths was decided before it.
    pub fn extended(&self, node: NodeId) -> Option<RunId> {
        let furthest = self.tree.furthest()?;
        let mut before = self.tree.way_to(node);
        let only_lengths = before.all(|(node, _, taken)| self.only_resizes(node, taken));
        only_lengths.then_some(furthest)
    }

    /// How much of the room for bytes lies before the first that a way is about, in 256ths.
    fn used(&self, node: NodeId, at: usize) -> u32 {
        let Some(decision) = self.tree.decision(node) else {
            return 0;
        };
        let input = &self.corpus[self.tree.run(node).0 as usize].input;
        let variables = self.arena.variables(decision.ways[at].held);
        let before = variables.iter().filter_map(|variable| {
            let (stream, before) = match *variable {
                Var::Byte { stream, offset } => (stream, offset as usize),
                Var::Length { stream } => {
                    let stream_of = input.streams.get(stream as usize)?;
                    (stream, stream_of.bytes.len())
                }
            };
            let room = input.streams.get(stream as usize)?.capacity.max(1);
            Some((before.min(room) * 256 / room) as u32)
        });
        before.min().unwrap_or(0)
    }

    /// Whether a way can be taken by streams that are as long as they may be.
    fn allows_longest(&self, node: NodeId, at: usize) -> bool {
        let held = self
            .tree
            .decision(node)
            .map(|decision| decision.ways[at].held);
        let mut longest = self.subject.shape.clone();
        for stream in &mut longest.streams {
            stream.bytes.resize(stream.capacity, 0);
        }
        let longest = Assignment::from_input(&longest);
        held.is_some_and(|held| self.arena.holds(held, &longest))
    }

    /// What the other version decides right beside a decision that only one takes: its site, and how it went if it
    /// always went the same way.
    fn opposite(&self, node: NodeId) -> Option<(u32, u64)> {
        let decision = self.tree.decision(node)?;
        let Owner::One(side) = decision.owner else {
            return None;
        };
        let other = side.other();
        let taken = |decision: &Decision| {
            let ways = decision.ways.iter().enumerate();
            let mut taken = ways.filter(|(_, way)| matches!(way.state, WayState::Taken(_)));
            let first = taken.next();
            first.filter(|_| taken.next().is_none()).map(|(at, _)| at)
        };
        // Base's decision comes first.
        let (beside, way) = match side {
            Side::Head => self.tree.before(node)?,
            Side::Base => {
                let way = taken(decision)?;
                let WayState::Taken(child) = decision.ways[way].state else {
                    return None;
                };
                (child, taken(self.tree.decision(child)?)?)
            }
        };
        let beside = self.tree.decision(beside)?;
        let outcome = beside.ways[way].outcome;
        (beside.owner == Owner::One(other)).then_some((beside.sites[other.index()], outcome))
    }

    /// A side not taken, as guides see it.
    pub fn flip_at(&self, node: NodeId, at: usize) -> Option<Flip> {
        let decision = self.tree.decision(node)?;
        let mut contexts = decision.contexts;
        let resizes = self.only_resizes(node, at);
        if let Some(run) = self.extended(node)
            && resizes
        {
            // What the bytes do stays as it is: the next one may be added to it.
            contexts = self.corpus[run.0 as usize].furthest;
        }
        let ran = &self.corpus[self.tree.run(node).0 as usize];
        Some(Flip {
            owner: decision.owner,
            kind: decision.kind,
            sites: decision.sites,
            caller: decision.caller,
            within: decision.within,
            outcome: decision.ways[at].outcome,
            opposite: self.opposite(node),
            after_difference: self.tree.difference_before(node).is_some(),
            sameness: decision.sameness,
            contexts,
            ends: ran.contexts,
            depth: decision.depth,
            novelty: self.novelty_of(node, at),
            used: self.used(node, at),
            shortens: resizes && !self.allows_longest(node, at),
            infected: ran.parting.is_some() || ran.seen[0] != ran.seen[1],
            masked: ran.mask.is_some_and(|last| decision.depth > last),
        })
    }
}
