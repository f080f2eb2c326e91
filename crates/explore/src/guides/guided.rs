//! The guide that a search asks, made of the parts that were chosen.

use super::branches::Tests;
use super::chains::Chains;
use super::choice::{Choice, Part};
use super::context::{Contexts, Meaning};
use super::continuation::Continued;
use super::gauges::Gauge;
use super::log::{Log, Step};
use super::partings::Parting;
use super::plan::{Key, Place, Plan, Situation};
use super::prune::Horizon;
use super::repeats::Repeats;
use super::situations::Situations;
use super::target::{Aim, Target};
use super::turns::Turns;
use crate::frontier::{Bucket, Random};
use crate::guide::{Advice, Context, Flip, Guide, Nearness, Passage, Rule, RunFacts, Sign};
use crate::merge::Owner;
use crate::novelty::NEWS;
use crate::path::TestKind;
use crate::runner::Side;
use rustc_hash::FxHashMap;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What is known before the search.
pub struct Tables {
    pub sides: [SideTable; 2],
    pub targets: Vec<Target>,
    /// Sides of branches on which the versions may part.
    pub partings: Vec<[Parting; 2]>,
    /// For each site of base the site of head that does the same, or 0.
    pub partners: Vec<u32>,
    /// What can be given up may be: the changes are known to be all there is.
    pub complete: bool,
    /// The traced versions tell what changes leave behind.
    pub probed: bool,
    /// Comparisons whose operands the traced versions tell.
    pub gauges: Vec<Gauge>,
    /// Blocks with which functions of head begin and end.
    pub passages: HashMap<u32, Passage>,
}

/// What is known about one version.
pub struct SideTable {
    pub plan: Plan,
    /// Which side of a switch leads to the block with a number.
    pub switches: HashMap<(u32, u64), u32>,
    pub meaning: Meaning,
    pub horizon: Horizon,
    /// The block that a side of a branch leads to, by its coverage byte.
    pub leads_to: HashMap<(u32, u32), u32>,
    /// By the site of a branch: the branches that can influence it.
    pub slices: HashMap<u32, HashSet<u32>>,
    /// Blocks whose beginnings are marked.
    pub watched: Vec<u32>,
    /// Those behind which nothing is known about what changes left behind.
    pub blind: HashSet<u32>,
    pub chains: Chains,
}

/// Ranks of flips that lead to other targets than the one whose turn it is.
pub(super) const LATER: u32 = 1 << 29;

/// Ranks of flips behind a change, and before one that was entered later. Those behind a place where
/// the versions differ have none.
pub(super) const BEHIND: u32 = 4;
const BEFORE: u32 = 8;
/// Ranks of flips by which the input ends before what was read of it.
const SHORTENED: u32 = 4 * Key::GOAL;
/// Ranks that all the room for bytes is worth.
const ROOM: u32 = 4 * Key::GOAL;
/// Ranks of flips behind something that hides effects.
const HIDDEN: u32 = 2 * Key::GOAL;
/// Ranks of flips that lead to what the inputs given have run.
pub(super) const COVERED: u32 = 8;

pub struct Guided {
    pub(super) tables: Tables,
    pub(super) choice: Choice,
    pub(super) contexts: [Contexts; 2],
    pub(super) situations: Situations,
    pub(super) repeats: Repeats,
    /// Valid until more is known about branches or sequences.
    pub(super) continued: Continued,
    /// Where the versions are about to part, by what both paths remember.
    pub(super) leads: FxHashMap<[Context; 2], Arc<[(usize, u32)]>>,
    /// What of changes has run on the same path, by version.
    pub(super) ran: HashSet<[Vec<u32>; 2]>,
    /// Whether all that an effect needs in order to be shown is as it should be.
    pub(super) open: FxHashMap<(usize, Context), bool>,
    /// Targets that no run has reached.
    pub(super) turns: Turns,
    pub(super) epoch: u64,
    pub(super) random: Random,
    pub(super) arrivals: u32,
    /// Blocks that the inputs given have run, by version.
    suite: [HashSet<u32>; 2],
    /// Sequences of changes that were entered, and their beginnings; whether one of them showed
    /// a difference.
    pub(super) sequences: HashMap<Vec<u32>, bool>,
    log: Log,
    runs: u64,
    /// What is left of the target whose turn it is, at best.
    nearest: u32,
    /// What is known about branches from runs.
    tests: [Tests; 2],
    prunes: bool,
    audits: bool,
    /// Something happened that the changes do not explain.
    pub(super) mistaken: bool,
}

impl Guided {
    /// How near the runs come, while they do.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    pub fn new(tables: Tables, choice: Choice, seed: u64) -> Guided {
        let contexts = tables
            .sides
            .each_ref()
            .map(|side| Contexts::new(&side.plan));
        let aims = choice.aims();
        let mut missing: Vec<usize> = (0..tables.targets.len()).collect();
        let aim = |at: &usize| tables.targets[*at].aim;
        let mut sides = missing.clone();
        sides.retain(|at| aims && choice.order.is_none() && aim(at) == Aim::Side);
        // The others are looked for once a change has run.
        missing.retain(|at| aims && aim(at) == Aim::Change);
        // What tidies up after exceptions comes after what may be the cause of one.
        let is_aftermath = |at: &usize| tables.targets[*at].is_aftermath;
        if choice.order.is_none() && !missing.iter().all(is_aftermath) {
            let after = missing.extract_if(.., |at| is_aftermath(at));
            sides.extend(after.collect::<Vec<usize>>());
        }
        let audits = choice.has(Part::Audit) && tables.complete;
        let prunes = choice.prunes() && tables.complete && !audits;
        let tests = tables.sides.each_ref().map(|side| Tests::new(&side.plan));
        Guided {
            repeats: Repeats::new(&tables.sides),
            tables,
            choice,
            contexts,
            situations: Situations::default(),
            continued: Continued::default(),
            leads: FxHashMap::default(),
            ran: HashSet::new(),
            open: FxHashMap::default(),
            turns: Turns::new(missing, sides),
            epoch: 0,
            random: Random::new(seed),
            arrivals: 0,
            suite: Default::default(),
            sequences: HashMap::new(),
            log: Log::default(),
            runs: 0,
            nearest: u32::MAX,
            tests,
            prunes,
            audits,
            mistaken: false,
        }
    }

    pub(super) fn place(&self, side: Side, flip: &Flip) -> Option<Place> {
        let site = flip.sites[side.index()];
        if site == 0 {
            return None;
        }
        let branch_side = match flip.kind {
            TestKind::Branch => Some(if flip.outcome == 1 { 0 } else { 1 }),
            TestKind::Switch => {
                let switches = &self.tables.sides[side.index()].switches;
                switches.get(&(site, flip.outcome)).copied()
            }
            _ => None,
        };
        Some(Place {
            site,
            caller: flip.caller,
            within: flip.within[side.index()],
            side: branch_side,
        })
    }

    /// How good a flip is for a target; smaller is better.
    pub(super) fn rank(&mut self, target: usize, flip: &Flip) -> Option<u32> {
        let Target { side, goal, .. } = self.tables.targets[target];
        let place = self.place(side, flip)?;
        let context = flip.contexts[side.index()];
        self.situation(target, context);
        let plan = &self.tables.sides[side.index()].plan;
        let situation = self.situations.known(target, context)?;
        let tests = &self.tests[side.index()];
        let key = plan.judge(goal, place, situation, |guard| tests.is_stuck(guard));
        let wanted = plan.wanted(place, situation, |guard| tests.is_stuck(guard));
        let room = match wanted {
            Some(_) => 0,
            // What is left out cannot do what is still to be done.
            None if flip.shortens => SHORTENED,
            // The more is used up, the less room there is for what is still to come.
            None => flip.used * (ROOM / 256),
        };
        key.map(|key| key.rank() + room)
    }

    /// What is to be done for a target.
    pub(super) fn situation(&mut self, target: usize, context: Context) -> &Situation {
        let number = target;
        let target = &self.tables.targets[number];
        let at = target.side.index();
        let (plan, contexts) = (&self.tables.sides[at].plan, &self.contexts[at]);
        self.situations.get(number, target, plan, contexts, context)
    }

    pub(super) fn entered_change(&self, contexts: [Context; 2]) -> bool {
        Side::BOTH.into_iter().any(|side| {
            let at = side.index();
            self.contexts[at].get(contexts[at]).changed
        })
    }

    /// How many blocks in which something was changed have not run.
    fn blocks_left(&self, contexts: [Context; 2]) -> u32 {
        let left = Side::BOTH.into_iter().map(|side| {
            let at = side.index();
            let all = self.tables.sides[at].meaning.changed.len();
            all.saturating_sub(self.contexts[at].get(contexts[at]).ran.len())
        });
        left.sum::<usize>().min(u8::MAX.into()) as u32
    }

    /// Whether the inputs given have been where a flip leads to.
    fn is_covered(&self, flip: &Flip) -> bool {
        // The same branch may have asked for something else, as in `take(text, wanted)`.
        self.choice.has(Part::Incremental)
            && flip.novelty >= NEWS
            && Side::BOTH.into_iter().all(|side| {
                let at = side.index();
                let block = self.place(side, flip).and_then(|place| {
                    let leads_to = &self.tables.sides[at].leads_to;
                    leads_to.get(&(place.site, place.side?))
                });
                block.is_some_and(|block| self.suite[at].contains(block))
            })
    }

    fn take_turns(&mut self, coverage: [&[u8]; 2]) {
        let targets = &self.tables.targets;
        let ran = |target: usize| targets[target].ran(coverage);
        if self.turns.retire(ran) {
            self.epoch += 1;
        }
        if self.turns.pass() {
            self.epoch += 1;
        }
    }

    fn towards_targets(&mut self, flip: &Flip) -> Advice {
        let missing = self.turns.missing.clone();
        if let Some(&first) = missing.first()
            && let Some(rank) = self.rank(first, flip)
        {
            let hidden = u32::from(self.is_hidden(flip.contexts)) * HIDDEN;
            return reach((rank + hidden).min(LATER - 1));
        }
        let others = missing.iter().skip(1);
        let nearest = others.filter_map(|target| self.rank(*target, flip)).min();
        if let Some(rank) = nearest {
            return reach(LATER + rank.min(LATER - 1));
        }
        // What a change did may show up behind it, and the more so the more of it ran; what was
        // decided before it may let it do something else.
        for (contexts, place) in [(flip.contexts, BEHIND), (flip.ends, BEFORE)] {
            if self.entered_change(contexts) && !flip.masked {
                return Advice::Try {
                    rank: place + self.blocks_left(contexts),
                    bucket: Some(Bucket::Use),
                };
            }
        }
        Advice::Try {
            rank: u32::from(self.is_covered(flip)) * COVERED,
            bucket: None,
        }
    }
}

/// As long as fewer sequences are known, each new one puts all flips into another order.
const REORDERED: usize = 64;

pub(super) fn plain(bucket: Option<Bucket>) -> Advice {
    Advice::Try { rank: 0, bucket }
}

fn reach(rank: u32) -> Advice {
    Advice::Try {
        rank,
        bucket: Some(Bucket::Reach),
    }
}

impl Guide for Guided {
    fn advise(&mut self, flip: &Flip) -> Advice {
        for side in Side::BOTH {
            let at = side.index();
            if self.tests[at].see(flip.sites[at]) {
                self.continued.clear();
                self.epoch += 1;
            }
        }
        if self.prunes
            && let Some(rule) = self.irrelevant(flip)
        {
            return Advice::Discard(rule);
        }
        if let Some(rule) = self.left_out_by_one_run(flip) {
            return Advice::LeaveOut(rule);
        }
        if let Some(order) = self.choice.order {
            return self.ordered(order, flip);
        }
        // Where the versions part, or have parted, the search knows best.
        if flip.owner != Owner::Both || flip.after_difference {
            return self.behind_difference(flip);
        }
        if let Some(advice) = self.continues_sequence(flip) {
            return advice;
        }
        if !self.choice.has(Part::Reach) {
            return plain(None);
        }
        self.towards_targets(flip)
    }

    fn also(&mut self, flip: &Flip) -> Option<(Bucket, u32)> {
        if flip.owner != Owner::Both || flip.after_difference || !self.turns.missing.is_empty() {
            return None;
        }
        let side = self.turns.sides.first().copied();
        let side = side.and_then(|side| self.rank(side, flip));
        let rank = side.into_iter().chain(self.parting_rank(flip)).min()?;
        Some((Bucket::Reach, rank.min(LATER - 1)))
    }

    fn joins(&self, flip: &Flip) -> bool {
        self.choice.order.is_none() && self.rejoins(flip)
    }

    fn doubts(&self, flip: &Flip) -> Option<Rule> {
        self.audits.then(|| self.irrelevant(flip)).flatten()
    }

    fn learn(&mut self, run: &RunFacts<'_>) {
        self.continued.clear();
        let entered = self.entered_change(run.contexts);
        for side in Side::BOTH {
            let at = side.index();
            if self.tests[at].cover(run.coverage[at]) {
                self.epoch += 1;
            }
        }
        self.runs += 1;
        if self.nearest != u32::MAX {
            let (run, left) = (self.runs, self.nearest);
            self.log.note(Step { run, left });
        }
        if run.given && self.choice.has(Part::Incremental) {
            for (suite, coverage) in self.suite.iter_mut().zip(run.coverage) {
                let executed = (0u32..).zip(coverage).filter(|(_, byte)| **byte != 0);
                suite.extend(executed.map(|(block, _)| block));
            }
        }
        if self.choice.has(Part::Sequences) {
            let sequence = self.contexts[1].get(run.contexts[1]).sequence.clone();
            let known = self.sequences.len();
            for end in 1..=sequence.len() {
                let shown = self.sequences.entry(sequence[..end].to_vec()).or_default();
                *shown |= run.differs && end == sequence.len();
            }
            // What leads to a sequence that was new until now has to wait.
            if self.sequences.len() > known && known < REORDERED {
                self.epoch += 1;
            }
        }
        // Marks that are missing could be those of changes.
        self.mistaken |= run.marks_cut || run.differs && (!entered || run.discarded);
        self.take_turns(run.coverage);
    }

    fn enter(&mut self, side: Side, context: Context, block: u32) -> Context {
        self.repeats.enter(side, block);
        let table = &self.tables.sides[side.index()];
        self.contexts[side.index()].enter(&table.plan, &table.meaning, context, block)
    }

    fn has_probes(&self) -> bool {
        self.tables.probed
    }

    fn gauges(&self) -> &[Gauge] {
        &self.tables.gauges
    }

    fn is_blind(&self, side: Side, block: u32) -> bool {
        self.tables.sides[side.index()].blind.contains(&block)
    }

    fn needs_sameness(&self, flip: &Flip) -> bool {
        (self.prunes || self.audits) && self.irrelevant(flip) == Some(Rule::SameState)
    }

    fn beat(&self, side: Side, block: u32) -> Option<Sign> {
        let meaning = &self.tables.sides[side.index()].meaning;
        if meaning.changed.contains(&block) {
            Some(Sign::Change)
        } else if self.repeats.counts(side, block) {
            Some(Sign::Counts)
        } else if meaning.feeders.contains(&block) {
            Some(Sign::Feeds)
        } else {
            meaning.shows.contains(&block).then_some(Sign::Shows)
        }
    }

    fn passage(&self, block: u32) -> Option<Passage> {
        self.tables.passages.get(&block).copied()
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn only_flips(&self) -> bool {
        // Published orders are taken by their word.
        self.choice.order.is_some() || self.choice.has(Part::OneRun)
    }

    fn is_mistaken(&self) -> bool {
        self.prunes && self.mistaken
    }

    fn progress(&mut self, contexts: [Context; 2]) -> u32 {
        self.note_repeats(contexts);
        let mut left = u32::MAX;
        if let Some(target) = self.turns.current() {
            let side = self.tables.targets[target].side;
            left = self.situation(target, contexts[side.index()]).left();
            self.nearest = self.nearest.min(left);
        }
        if self.turns.missing.is_empty() && self.entered_change(contexts) {
            left = left.min(self.nearest_parting(contexts));
        }
        left
    }

    fn missing(&self, contexts: [Context; 2]) -> u32 {
        self.blocks_left(contexts)
    }

    fn nearness(
        &mut self,
        contexts: [Context; 2],
        coverage: [&[u8]; 2],
    ) -> Vec<(usize, Option<Nearness>)> {
        let mut near = Vec::new();
        let wanted: Vec<usize> = self.turns.wanted().collect();
        for target in wanted {
            let side = self.tables.targets[target].side;
            let goals = self.situation(target, contexts[side.index()]).left();
            let approach = self.tables.targets[target].approach(coverage);
            let nearness = approach.map(|decisions| Nearness { decisions, goals });
            near.push((target, nearness));
        }
        if self.turns.missing.is_empty() {
            let leads = self.leads(contexts);
            for target in self.tables.partings.iter().flatten().map(|p| p.target) {
                let lead = leads.iter().find(|(leading, _)| *leading == target);
                let nearness = lead.map(|(_, goals)| Nearness {
                    decisions: 0,
                    goals: *goals,
                });
                near.push((target, nearness));
            }
        }
        near
    }

    fn likeness(&self, contexts: [Context; 2]) -> u64 {
        let number = |target: usize| {
            let at = self.tables.targets[target].side.index();
            self.situations.number(target, contexts[at])
        };
        let mut hasher = DefaultHasher::new();
        let current = self.turns.current();
        (current, current.map(number)).hash(&mut hasher);
        if self.turns.missing.is_empty() {
            for both in &self.tables.partings {
                both.each_ref()
                    .map(|parting| number(parting.target))
                    .hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    fn is_infected(&mut self, contexts: [Context; 2]) -> bool {
        self.is_about_to_part(contexts)
    }

    fn saw_news(&mut self) -> bool {
        let sides = self.contexts.iter_mut();
        sides.fold(false, |news, contexts| contexts.saw_news() | news)
    }

    fn masked(&mut self, contexts: &[[Context; 2]]) -> Option<usize> {
        self.before_mask(contexts)
    }

    fn first_ran(&mut self, contexts: &[[Context; 2]]) -> Vec<usize> {
        self.ran_first(contexts)
    }

    fn best_length(&self, flip: &Flip) -> Option<u64> {
        let target = self.turns.current()?;
        let side = self.tables.targets[target].side;
        let at = side.index();
        let situation = self.situations.known(target, flip.contexts[at])?;
        let place = self.place(side, flip)?;
        let plan = &self.tables.sides[at].plan;
        plan.wanted(place, situation, |guard| self.tests[at].is_stuck(guard))
    }

    fn wants_other_way(&mut self, flip: &Flip) -> bool {
        if !self.choice.has(Part::Correlation) || self.choice.order.is_some() {
            return false;
        }
        let sides = self.turns.sides.iter().take(1);
        let targets = self.turns.missing.iter().chain(sides);
        let targets = targets.map(|at| &self.tables.targets[*at]);
        let mut towards = targets.map(|target| {
            let plan = &self.tables.sides[target.side.index()].plan;
            let place = self.place(target.side, flip);
            place.is_some_and(|place| plan.leads(target.goal, place))
        });
        towards.any(|leads| leads)
    }

    fn depends(&self, flip: &Flip, sites: [u32; 2], caller: u32) -> bool {
        // How long the input is, and what the library looks at, is decided on the way, not for
        // its own sake.
        if caller != 0 {
            return false;
        }
        Side::BOTH.into_iter().any(|side| {
            let at = side.index();
            let slices = &self.tables.sides[at].slices;
            match slices.get(&flip.sites[at]) {
                Some(slice) => sites[at] != 0 && slice.contains(&sites[at]),
                None => sites[at] != 0 && flip.sites[at] != 0,
            }
        })
    }

    fn sequence(&self, side: Side, context: Context) -> Vec<u32> {
        let chains = &self.tables.sides[side.index()].chains;
        let memory = self.contexts[side.index()].get(context);
        let nodes = memory.sequence.iter().copied();
        let mut changes: Vec<u32> = nodes.filter(|node| chains.is_change(*node)).collect();
        changes.dedup();
        changes
    }

    fn changes(&self, side: Side, block: u32) -> Vec<u32> {
        let table = &self.tables.sides[side.index()];
        let nodes = table.meaning.nodes.get(&block).into_iter().flatten();
        let changes = nodes.filter(|node| table.chains.is_change(**node));
        changes.copied().collect()
    }
}

#[cfg(test)]
mod tests;
