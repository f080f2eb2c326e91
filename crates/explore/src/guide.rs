//! What ranks or discards flips. Guides are pure: what they know about the
//! programs is theirs, what they learn about the search they are told.

use crate::frontier::Bucket;
use crate::guides::Gauge;
use crate::merge::Owner;
use crate::path::TestKind;
use crate::runner::Side;
use crate::sameness::Sameness;

/// A side not taken, as a guide sees it.
#[derive(Clone, Copy, Debug)]
pub struct Flip {
    pub owner: Owner,
    pub kind: TestKind,
    /// Sites in base and head, 0 where the version has no part in it.
    pub sites: [u32; 2],
    /// Inside a library model: the site of the user's code that called it, else 0.
    pub caller: u32,
    /// In functions that stand in place of calls: the sites of these calls, else 0.
    pub within: [u32; 2],
    /// 0 or 1, or the target block of a switch.
    pub outcome: u64,
    /// If only one version takes the decision: what the other decides right beside it, by its site, and how that
    /// always went.
    pub opposite: Option<(u32, u64)>,
    /// A decision that only one version takes lies before it.
    pub after_difference: bool,
    /// Whether both versions are in the same state before it.
    pub sameness: Sameness,
    /// What the guide made of the marks before it, by version.
    pub contexts: [Context; 2],
    /// What it made of all marks of the run that came this way.
    pub ends: [Context; 2],
    /// Number of decisions before it.
    pub depth: u32,
    /// How well known the side is with such a condition; smaller is newer.
    pub novelty: u32,
    /// How much of the room for bytes is used up before those that it is about, in 256ths.
    pub used: u32,
    /// It asks for nothing but less input.
    pub shortens: bool,
    /// The versions decided or showed something else on the run that came this way.
    pub infected: bool,
    /// Something hides what changes did on the run that came this way, from here on.
    pub masked: bool,
}

/// How near a path has come to a target; smaller is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nearness {
    /// Decisions between the target and the nearest place that the path came by.
    pub decisions: u32,
    /// Goals that it has left in the end.
    pub goals: u32,
}

/// What a guide remembers of the blocks that a path has entered; a number of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Smaller is sooner. The bucket may be one that only guides can fill.
    Try { rank: u32, bucket: Option<Bucket> },
    /// No difference can come from there (a sound rule).
    Discard(Rule),
    /// Not worth it (not a proof): the verdict can no longer be "equivalent".
    LeaveOut(Rule),
}

/// Why a flip was discarded or left out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// No change can run before or after it.
    NeverChanged,
    /// No change has run before it, and none can any more.
    NoLongerChanged,
    /// Changes have run before it, and nothing that can run after it looks at what they did.
    WithoutEffect,
    /// Changes have run before it, but only decided, alike in both versions; none can any more.
    DecidedAlike,
    /// Changes have run before it, and what they left behind is the same in both versions; none can any more.
    SameState,
    /// It has no say in whether a change runs (not sound).
    NoSay,
    /// All changes have run (not sound).
    Covered,
    /// The versions did the same on the run before it (not sound).
    NotInfected,
}

/// What it says about a path that it enters a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Something that was changed runs.
    Change,
    /// What changes compute from is stored.
    Feeds,
    /// Something is counted that targets depend on.
    Counts,
    /// What changes may have done is shown.
    Shows,
}

/// A function begins or ends where a watched block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Number of the function.
    Into(u32),
    OutOf(u32),
}

/// What a run did, for guides that learn.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// One byte per block and version, not 0 if executed.
    pub coverage: [&'a [u8]; 2],
    /// At the end of both paths.
    pub contexts: [Context; 2],
    pub differs: bool,
    /// The input was given, not found.
    pub given: bool,
    /// Not all watched blocks that the run entered are known.
    pub marks_cut: bool,
    /// It went where the guide had said that no difference can come from.
    pub discarded: bool,
}

pub trait Guide: Send {
    fn advise(&mut self, flip: &Flip) -> Advice;

    /// Another bucket in which a flip that is worth trying should wait, too, with its rank there.
    fn also(&mut self, _flip: &Flip) -> Option<(Bucket, u32)> {
        None
    }

    /// Whether a flip takes back what parted the versions. It waits for a run, so that what lies behind the parting
    /// comes first.
    fn joins(&self, _flip: &Flip) -> bool {
        false
    }

    /// Why a flip that is tried nevertheless would be given up otherwise: to see whether it would
    /// have been right.
    fn doubts(&self, _flip: &Flip) -> Option<Rule> {
        None
    }

    fn learn(&mut self, _run: &RunFacts<'_>) {}

    /// A path enters a watched block.
    fn enter(&mut self, _side: Side, context: Context, _block: u32) -> Context {
        context
    }

    /// Whether traces have all values that changes leave behind, as long as no blind block was entered.
    fn has_probes(&self) -> bool {
        false
    }

    /// Comparisons whose operands traces have.
    fn gauges(&self) -> &[Gauge] {
        &[]
    }

    /// Whether nothing is known about states any more once a watched block was entered.
    fn is_blind(&self, _side: Side, _block: u32) -> bool {
        false
    }

    /// Whether a flip is given up only because both versions are in the same state before it.
    fn needs_sameness(&self, _flip: &Flip) -> bool {
        false
    }

    /// Why it matters how often, and in which order with others, a watched block is entered.
    fn beat(&self, _side: Side, _block: u32) -> Option<Sign> {
        None
    }

    /// Whether a function of head begins or ends with a watched block.
    fn passage(&self, _block: u32) -> Option<Passage> {
        None
    }

    /// Grows whenever earlier advice is out of date.
    fn epoch(&self) -> u64 {
        0
    }

    /// The changes that a path has entered, in order; of many only the first.
    fn sequence(&self, _side: Side, _context: Context) -> Vec<u32> {
        Vec::new()
    }

    /// The changes that a path enters with a watched block, in order.
    fn changes(&self, _side: Side, _block: u32) -> Vec<u32> {
        Vec::new()
    }

    /// How far a path came that had this context on its way; smaller is further, the largest number
    /// says nothing. The inputs of paths that came far are what others are made from.
    fn progress(&mut self, _contexts: [Context; 2]) -> u32 {
        u32::MAX
    }

    /// How many places in which something was changed a path with these contexts has not run.
    fn missing(&self, _contexts: [Context; 2]) -> u32 {
        0
    }

    /// For each target that is still looked for, by number: how near a path has come that ends with these contexts
    /// and ran these blocks, if it is on the way there at all.
    fn nearness(
        &mut self,
        _contexts: [Context; 2],
        _coverage: [&[u8]; 2],
    ) -> Vec<(usize, Option<Nearness>)> {
        Vec::new()
    }

    /// The same number for paths on which the same is still to be done for what is looked for.
    fn likeness(&self, _contexts: [Context; 2]) -> u64 {
        0
    }

    /// Whether a change left something behind in one version that may part it from the other.
    fn is_infected(&mut self, _contexts: [Context; 2]) -> bool {
        false
    }

    /// Whether paths came into a state that none was in before, since this was asked last.
    fn saw_news(&mut self) -> bool {
        false
    }

    /// What a path remembers before each of its decisions, and in the end. If something on it hides
    /// what a change did: the last decision before that.
    fn masked(&mut self, _contexts: &[[Context; 2]]) -> Option<usize> {
        None
    }

    /// What a path remembers before each of its decisions, and in the end. Where it first had run
    /// what of the changes no path had run together before.
    fn first_ran(&mut self, _contexts: &[[Context; 2]]) -> Vec<usize> {
        Vec::new()
    }

    /// If a flip asks for another length: which one would be best.
    fn best_length(&self, _flip: &Flip) -> Option<u64> {
        None
    }

    /// A flip is impossible after all that was decided before. Whether it is worth asking
    /// without those decisions that it does not depend on.
    fn wants_other_way(&mut self, _flip: &Flip) -> bool {
        false
    }

    /// Whether a flip depends on an earlier decision: by its sites, and by where the library was
    /// called if it was made there.
    fn depends(&self, _flip: &Flip, _sites: [u32; 2], _caller: u32) -> bool {
        true
    }

    /// A change set that explains everything would not allow what was seen: nothing may
    /// rest on it any more.
    fn is_mistaken(&self) -> bool {
        false
    }

    /// Whether inputs may come from flipped decisions only.
    fn only_flips(&self) -> bool {
        false
    }

    /// What is to be said about the guide in the end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The search without guidance.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuide;

impl Guide for NoGuide {
    fn advise(&mut self, _flip: &Flip) -> Advice {
        Advice::Try {
            rank: 0,
            bucket: None,
        }
    }
}
