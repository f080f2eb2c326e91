//! The data model of a search, finished or running. Serialised it *is*
//! `results.json`; `schemas/results.schema.json` describes it.

mod bytes;
mod golden;
mod input;
mod kind;
mod outcome;
mod source;

pub use bytes::Bytes;
pub use golden::{Class, Golden};
pub(crate) use input::argument_position;
pub use input::{ArgumentView, InputView, StreamView, label};
pub use kind::Kind;
pub use outcome::{End, FileWritten, Observed, Outcome, signal_name};
pub use source::{SourceFile, SourceLine};

use changeling_trace::input::{Input, StreamKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Version of `results.json`.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub format: u32,
    pub tool: Tool,
    pub verdict: Verdict,
    /// Set if the budget was spent before anything could be said: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<String>,
    /// Set if the verdict is `could-not-run`: what happened and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub stopped: Stopped,
    pub bound: Bound,
    pub versions: Versions,
    /// Resolved settings of the run, by name.
    pub settings: BTreeMap<String, Value>,
    pub stats: Stats,
    /// One per group, most severe first.
    pub differences: Vec<Difference>,
    /// Found by the solver or in traced runs, but not confirmed natively.
    pub suspected: Vec<Suspected>,
    /// Inputs on which one version disagrees with itself.
    pub unstable: Vec<Unstable>,
    /// Differences that rest on uninitialised memory.
    pub undefined: Vec<Undefined>,
    pub accepted: AcceptedSummary,
    /// All changes between the versions, reached or not.
    pub changes: Vec<Change>,
    /// The orders in which runs entered changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<Sequence>,
    /// Changes that only show a difference together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<CriticalSequence>,
    pub coverage: Coverage,
    pub losses: Vec<Loss>,
    pub timeline: Vec<Sample>,
    pub sources: Vec<SourceFile>,
    /// What was left when the search stopped.
    pub unexplored: Vec<Unexplored>,
    /// Things a reader should know that are not differences (objects without
    /// bitcode, a sanitizer that could not be built, …).
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Differences,
    NoneFound,
    Equivalent,
    CouldNotRun,
}

/// Why the search is not going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Still running: these results are a snapshot.
    Running,
    /// Nothing was left to explore.
    Exhausted,
    Time,
    Runs,
    Memory,
    /// Enough differences were found.
    Enough,
    /// The user pressed Ctrl-C.
    Interrupted,
    Error,
}

/// The inputs the search ranges over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// As in "equivalent for all inputs with …".
    pub text: String,
    pub streams: Vec<BoundedStream>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundedStream {
    /// `stdin`, `arg1`, `env NAME`, `file NAME`, `harness`.
    pub label: String,
    pub kind: StreamKind,
    pub capacity: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    pub base: Version,
    pub head: Version,
    /// The version that says what is right, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<Version>,
    /// How they were built, as far as anything was said of it.
    #[serde(default, skip_serializing_if = "Recipe::is_empty")]
    pub build: Recipe,
}

/// Options of a build that make another program of the same sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// As an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl Recipe {
    pub fn is_empty(&self) -> bool {
        *self == Recipe::default()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// What the user calls it: a path, a revision.
    pub label: String,
    /// The plain native binary, as an absolute path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub binary: String,
    /// Root of the sources; file names in the results are relative to it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// Where the user has these sources: relative to the directory the run was started in, if they are below it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Inputs run on the pair of versions.
    pub runs: u64,
    /// Questions put to the solver.
    pub queries: u64,
    /// Queries without an answer.
    pub unknown: u64,
    /// Distinct pairs of paths.
    pub pairs: u64,
    /// Times a symbolic value was given up.
    pub concretizations: u64,
    pub seconds: f64,
    pub runs_to_first_difference: Option<u64>,
    pub seconds_to_first_difference: Option<f64>,
    /// Distinct paths of each version.
    pub base_paths: u64,
    pub head_paths: u64,
    pub satisfiable: u64,
    pub unsatisfiable: u64,
    /// Runs that hit the time limit of a run.
    pub timeouts: u64,
    /// Runs of plain native builds.
    pub replays: u64,
    pub corpus: u64,
    pub solver_seconds: f64,
    pub execution_seconds: f64,
    /// Further numbers, by name.
    #[serde(flatten)]
    pub more: BTreeMap<String, Value>,
}

/// A further case of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also {
    pub id: String,
    /// Its folder, relative to the output directory.
    pub case: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// `0001`, `0002`, … in the order in which they were found. Numbers stay as they are; those that
    /// are missing from a list are named by `also` of another difference.
    pub id: String,
    pub kind: Kind,
    /// One line: what differs.
    pub title: String,
    /// What makes two differences the same thing; `accept` matches it.
    pub group: String,
    pub group_size: u64,
    /// The case's folder, relative to the output directory.
    pub case: String,
    /// Cases that were found as another difference and turned out to show this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    pub input: InputView,
    pub base: Outcome,
    pub head: Outcome,
    /// Changes that this input enters.
    pub changes: Vec<Change>,
    /// Where the two paths part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parting: Option<Place>,
    /// What a third version, known to be right, does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<Golden>,
    /// What all inputs of the group have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<CriticalSequence>,
    /// How the input came about: `seed`, `flip`, `output query`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found_by: String,
    /// When it was found.
    pub run: u64,
    pub seconds: f64,
}

/// A region of head that replaces a region of base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub id: u32,
    /// In head, relative to the root of the sources.
    pub file: String,
    /// In head. Where code was only deleted: the line that now stands there.
    pub lines: LineRange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_file: Option<String>,
    /// In base; none where code was only added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_lines: Option<LineRange>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The text as in a unified diff, without file header.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hunk: String,
    /// Runs that entered it, where counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// The number of the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_run: Option<u64>,
    /// Nothing calls the function it is in: no input can enter it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreachable: bool,
}

/// Changes by number, in the order in which runs of head entered them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// The same one twice in a row is once.
    pub changes: Vec<u32>,
    pub runs: u64,
    /// How many of them showed a difference.
    pub differing: u64,
    /// On how many of these head differs from the golden version, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
}

/// Changes that every differing run entered in this order; no run that left one out differed. With a golden version only
/// errors count as differing: runs on which head differs from that version, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalSequence {
    pub changes: Vec<u32>,
    /// Runs that entered them in this order.
    pub runs: u64,
    /// How many of these showed a difference.
    pub differing: u64,
    /// Runs that did not enter them in this order.
    pub others: u64,
    /// What is counted are errors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub errors: bool,
}

/// First and last line, both included, counted from 1. In JSON `[12, 14]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct LineRange {
    pub first: u32,
    pub last: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspected {
    pub kind: Kind,
    pub title: String,
    /// Why it is not among the differences.
    pub reason: String,
    pub input: InputView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Base,
    Head,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unstable {
    /// The version that disagrees with itself.
    pub version: Side,
    pub input: InputView,
    /// What changed from run to run.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undefined {
    pub title: String,
    /// Which builds agree and which do not.
    pub detail: String,
    pub input: InputView,
    pub base: Outcome,
    pub head: Outcome,
}

/// Differences found but marked as intended before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedSummary {
    pub count: u64,
    pub groups: Vec<AcceptedGroup>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedGroup {
    pub group: String,
    pub title: String,
    pub count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Executable lines of head that a change touches, and those executed.
    pub changed_lines: u64,
    pub covered_changed_lines: u64,
    /// Blocks of the user's code in each version.
    pub base_blocks: u64,
    pub base_covered_blocks: u64,
    pub head_blocks: u64,
    pub head_covered_blocks: u64,
}

/// A place where symbolic input was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// As in the sentence "lost as …".
    pub reason: String,
    /// The call to blame, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    pub version: Side,
    pub file: String,
    pub line: u32,
    pub count: u64,
    /// The input bytes that stopped being symbolic there.
    pub bytes: Vec<ByteRange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// Label of the stream, as in [`BoundedStream`].
    pub stream: String,
    /// First and last offset, both included.
    pub first: u64,
    pub last: u64,
}

/// One point of the plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub seconds: f64,
    pub runs: u64,
    /// Distinct pairs of paths.
    pub paths: u64,
    pub differences: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unexplored {
    /// As in "flip not tried, 12 times".
    pub what: String,
    pub count: u64,
}

impl Results {
    /// The empty results of a run that has just begun.
    pub fn new(bound: Bound, versions: Versions) -> Results {
        Results {
            format: FORMAT,
            tool: Tool {
                name: "changeling".into(),
                version: env!("CARGO_PKG_VERSION").into(),
            },
            verdict: Verdict::NoneFound,
            inconclusive: None,
            error: None,
            stopped: Stopped::Running,
            bound,
            versions,
            settings: BTreeMap::new(),
            stats: Stats::default(),
            differences: Vec::new(),
            suspected: Vec::new(),
            unstable: Vec::new(),
            undefined: Vec::new(),
            accepted: AcceptedSummary::default(),
            changes: Vec::new(),
            sequences: Vec::new(),
            critical: None,
            coverage: Coverage::default(),
            losses: Vec::new(),
            timeline: Vec::new(),
            sources: Vec::new(),
            unexplored: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The documented exit code of `changeling run`.
    pub fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Differences => 1,
            Verdict::CouldNotRun => 4,
            Verdict::NoneFound if self.inconclusive.is_some() => 3,
            Verdict::NoneFound | Verdict::Equivalent => 0,
        }
    }

    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("every map of the model has string keys, so it serialises");
        text.push('\n');
        text
    }

    pub fn from_json(text: &str) -> Result<Results, ResultsError> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_str(text).map_err(ResultsError::Damaged)?;
        if head.format != FORMAT {
            return Err(ResultsError::Format { found: head.format });
        }
        serde_json::from_str(text).map_err(ResultsError::Damaged)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("results.json is damaged: {0}; run the search again to write a new one")]
    Damaged(serde_json::Error),
    #[error(
        "results.json has format {found}, but this version reads format {FORMAT}; \
         run the search again to write a new one"
    )]
    Format { found: u32 },
}

impl Bound {
    /// The bound that an input's shape stands for.
    pub fn of(shape: &Input) -> Bound {
        let view = InputView::from(shape);
        let streams: Vec<BoundedStream> = view
            .streams
            .iter()
            .zip(&shape.streams)
            .map(|(view, stream)| BoundedStream {
                label: view.label.clone(),
                kind: stream.kind,
                capacity: stream.capacity,
            })
            .collect();
        let parts: Vec<String> = streams
            .iter()
            .map(|stream| {
                let unit = if stream.capacity == 1 {
                    "byte"
                } else {
                    "bytes"
                };
                format!("{} of up to {} {unit}", stream.label, stream.capacity)
            })
            .collect();
        let text = if parts.is_empty() {
            "no symbolic input".into()
        } else {
            parts.join(", ")
        };
        Bound { text, streams }
    }
}

impl LineRange {
    pub const fn new(first: u32, last: u32) -> LineRange {
        LineRange { first, last }
    }

    pub const fn contains(self, line: u32) -> bool {
        self.first <= line && line <= self.last
    }

    pub fn count(self) -> u64 {
        u64::from(self.last.saturating_sub(self.first)) + 1
    }
}

impl From<(u32, u32)> for LineRange {
    fn from((first, last): (u32, u32)) -> LineRange {
        LineRange { first, last }
    }
}

impl From<LineRange> for (u32, u32) {
    fn from(range: LineRange) -> (u32, u32) {
        (range.first, range.last)
    }
}

impl std::fmt::Display for LineRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first >= self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl Side {
    pub const fn name(self) -> &'static str {
        match self {
            Side::Base => "base",
            Side::Head => "head",
        }
    }
}
