//! What a search has to say, as plain data.

use crate::Observation;
use crate::budget::Stopped;
use crate::difference::Kind;
use crate::frontier::Bucket;
use crate::group::{GroupKey, wording};
use crate::guide::Rule;
use crate::runner::{Branches, Side};
use crate::sequences::{Differing, Exercised};
use crate::tree::RunId;
use changeling_trace::input::{Input, StreamKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At least one difference was replayed on plain builds.
    Differences,
    NoneFound,
    /// No input within the bound tells the versions apart.
    Equivalent,
    CouldNotRun,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub verdict: Verdict,
    pub stopped: Stopped,
    /// For `CouldNotRun`: what happened.
    pub error: Option<String>,
    pub bound: Vec<StreamBound>,
    /// One per group, gravest first.
    pub differences: Vec<Difference>,
    pub suspected: Vec<Suspicion>,
    pub unstable: Vec<Suspicion>,
    /// Differences that rest on undefined behaviour.
    pub undefined: Vec<Difference>,
    /// Inputs on which a traced program behaved otherwise than the plain one:
    /// faults of the tracer, never hidden.
    pub violations: Vec<Violation>,
    /// Why the search is no proof of equivalence; empty if it is one.
    pub gaps: Vec<GapCount>,
    pub stats: Stats,
    pub series: Vec<Sample>,
    /// The orders in which head entered changes, if that was watched.
    #[serde(default)]
    pub sequences: Vec<Exercised>,
    /// The inputs that showed a difference, each with its order.
    #[serde(skip)]
    pub differing: Vec<Differing>,
    /// One byte per block and version: 1 executed by some run.
    pub coverage: [Vec<u8>; 2],
}

/// How many bytes a stream may have; "up to the bound" means up to these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamBound {
    pub kind: StreamKind,
    pub name: String,
    pub capacity: usize,
}

impl StreamBound {
    pub fn of(shape: &Input) -> Vec<StreamBound> {
        let streams = shape.streams.iter();
        streams
            .map(|stream| StreamBound {
                kind: stream.kind,
                name: stream.name.clone(),
                capacity: stream.capacity,
            })
            .collect()
    }
}

/// A replayed difference, the representative of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// In the order of discovery, from 1.
    pub id: u32,
    pub group: GroupKey,
    /// Made small.
    pub input: Input,
    /// As it was found.
    pub original: Input,
    /// Of `input`, on plain builds of base and head.
    pub seen: [Observation; 2],
    /// The changes that each version entered, in order.
    pub sequences: [Vec<u32>; 2],
    /// How many inputs of the group were found, this one included.
    pub group_size: u64,
    pub run: RunId,
    /// The kind of question that led here; none for inputs that were given.
    pub found_by: Option<Bucket>,
    /// For differences that rest on undefined behaviour: how that is known.
    pub reason: Option<String>,
    pub seconds: f64,
}

impl Difference {
    /// Whether a reader would take them for the same: numbers apart, the lines that differ first are the same.
    pub fn looks_like(&self, other: &Difference) -> bool {
        wording(&self.seen) == wording(&other.seen)
    }

    pub fn kind(&self) -> &Kind {
        &self.group.kind
    }
}

/// An input that may or may not show a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    pub input: Input,
    pub reason: String,
    /// What was seen: base and head, or two runs of the version that does not
    /// agree with itself.
    pub seen: [Observation; 2],
    pub side: Option<Side>,
    /// How many more there were like it that are not listed.
    pub more: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub side: Side,
    pub input: Input,
    pub traced: Observation,
    pub plain: Observation,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapCount {
    pub what: String,
    pub side: Option<Side>,
    /// 0 if no place is to blame.
    pub site: u32,
    /// `file:line:column`
    pub place: String,
    /// The call to blame, if one is.
    pub callee: String,
    pub count: u64,
    /// The input bytes it is about: stream and offset, in order.
    #[serde(default)]
    pub bytes: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Inputs run on both versions.
    pub runs: u64,
    /// Runs of single plain builds: replays, reductions, checks.
    pub replays: u64,
    pub base_paths: u64,
    pub head_paths: u64,
    /// Distinct pairs of paths.
    pub pairs: u64,
    /// Pairs whose outputs were proven equal.
    pub equal_pairs: u64,
    /// Questions put to the solver.
    pub queries: u64,
    pub satisfiable: u64,
    pub unsatisfiable: u64,
    pub unknown: u64,
    /// Flips closed without a question: the condition can never hold.
    pub avoided: u64,
    /// Branches of some of the runs, those with nothing to ask for among them.
    #[serde(default)]
    pub branches: BranchStats,
    /// Solutions that did not take the predicted path.
    pub diverged: u64,
    /// Solutions found only by forgetting that values were fixed.
    pub displaced: u64,
    pub concretizations: u64,
    /// Sides of decisions that were not taken at first and could not be excluded at once, each counted once: what was tried, what waits and
    /// what was discarded. Tasks are more than these, because sides are tried again with other bytes, and some tasks have no side.
    #[serde(default)]
    pub flips: u64,
    /// Flips that a guide discarded.
    pub discarded: u64,
    /// The same by the reason why.
    #[serde(default)]
    pub by_rule: BTreeMap<Rule, u64>,
    /// What came of flips that would be discarded, if they were tried to see that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audited: Option<Audited>,
    /// Whether what changes leave behind can differ, as the solver was asked.
    #[serde(default)]
    pub infections: Infections,
    /// Pairs whose outputs were put together in different ways.
    pub unmatched_outputs: u64,
    /// Solutions that had been run before.
    pub repeated: u64,
    /// Inputs that showed a confirmed difference.
    pub differing_inputs: u64,
    pub runs_to_first_difference: Option<u64>,
    pub seconds_to_first_difference: Option<f64>,
    pub seconds: f64,
    pub solve_seconds: f64,
    pub run_seconds: f64,
    /// Nodes of the tree of decisions, and expressions.
    pub tree_nodes: u64,
    pub expressions: u64,
    /// Tasks left when the search ended.
    pub waiting: u64,
    pub by_bucket: BTreeMap<Bucket, BucketStats>,
}

/// Branches that runs executed, counted in some of the runs of both versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStats {
    /// Single runs, of one version, that were counted.
    pub runs: u64,
    pub executed: u64,
    /// Those of them that depended on the input. Of all others nobody asks for the other side.
    pub symbolic: u64,
}

impl BranchStats {
    pub fn add(&mut self, branches: Branches) {
        self.runs += 1;
        self.executed += branches.executed;
        self.symbolic += branches.symbolic;
    }
}

/// Runs where rules would have given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    pub runs: u64,
    /// Those on which the versions differ: each is a fault of a rule.
    pub differing: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Infections {
    pub asked: u64,
    /// It cannot.
    pub impossible: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketStats {
    pub tasks: u64,
    pub runs: u64,
    pub new_pairs: u64,
    pub differences: u64,
}

/// One point of the plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub seconds: f64,
    pub runs: u64,
    pub pairs: u64,
    /// Groups of differences.
    pub differences: u64,
    pub queries: u64,
    /// Blocks executed, by version.
    pub blocks: [u64; 2],
}

/// What a live display needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub sample: Sample,
    pub paths: [u64; 2],
    pub runs_per_second: f64,
    pub waiting: u64,
    /// Solving now, with nothing new to run.
    pub workers: usize,
}

/// Is told what happens while it happens, so that nothing found is lost
/// whatever becomes of the search.
pub trait Listener: Send {
    fn progress(&mut self, _progress: &Progress) {}
    /// An input was run, and not by the search that this one resumes.
    fn input(&mut self, _run: RunId, _input: &Input) {}
    /// A group's first difference, or a smaller input for it.
    fn difference(&mut self, _difference: &Difference) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Listener for Silence {}

/// Version of [`Saved`].
pub const SAVED_FORMAT: u32 = 1;

/// Enough to go on with a search: the inputs are run again, which rebuilds the
/// tree, and everything found keeps its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    pub format: u32,
    pub shape: Input,
    pub inputs: Vec<Input>,
    pub differences: Vec<Difference>,
    pub undefined: Vec<Difference>,
}
