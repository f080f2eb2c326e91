//! How the search runs programs: the one place where it touches the outside.

use crate::{End, Observation};
use changeling_trace::input::Input;
use changeling_trace::{Event, Node};

/// Which of the two versions.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Base,
    Head,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Base, Side::Head];

    pub const fn other(self) -> Side {
        match self {
            Side::Base => Side::Head,
            Side::Head => Side::Base,
        }
    }

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// How a version was built for a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// As the user builds it.
    Plain,
    /// As `Plain`, with ten times the time: confirms that a hang is one.
    Patient,
    /// With sanitizers.
    Sanitized,
    /// Automatic variables and the heap start as zeros.
    Zeroed,
    /// Automatic variables and the heap start as a pattern.
    Patterned,
}

/// What a traced run recorded, borrowed from where the run left it.
#[derive(Clone, Copy, Debug)]
pub struct TraceView<'a> {
    pub nodes: &'a [Node],
    pub events: &'a [Event],
    pub tables: &'a [u8],
    pub strings: &'a [u8],
    /// One byte per block, not 0 if executed.
    pub coverage: &'a [u8],
    /// Bits of `changeling_trace::layout::run_flags`.
    pub run_flags: u32,
    /// Nodes and events for which there was no room.
    pub refused: u64,
    /// False if the program damaged what it wrote.
    pub intact: bool,
    pub output_totals: [u64; 8],
    /// Of some runs: how many branches they came by, and on how many of them the input had a say.
    pub branches: Option<Branches>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branches {
    pub executed: u64,
    pub symbolic: u64,
}

/// One version's part in a pair run.
#[derive(Debug)]
pub struct TracedRun<'a> {
    pub observation: Observation,
    pub trace: TraceView<'a>,
}

/// Why a version could not be run at all. That a program crashes or hangs is an
/// observation, not an error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    pub message: String,
}

impl From<changeling_exec::ExecError> for RunError {
    fn from(error: changeling_exec::ExecError) -> RunError {
        RunError {
            message: error.to_string(),
        }
    }
}

/// Runs both versions. Every worker of the search has its own.
pub trait PairRunner: Send {
    /// Both traced versions on the same input, base first.
    fn pair(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError>;

    /// The same for an input that is only tried to make another one smaller.
    fn trial(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError> {
        self.pair(input)
    }

    /// Numbers of the changes that an input entered in either version when the pair was run on it; `None` if that is not known.
    fn changes(&self, _input: &Input) -> Option<Vec<u32>> {
        None
    }

    /// Numbers of the parts of changes that an input entered when the pair was run on it, in order; none if that is not known.
    fn entered(&self, _input: &Input) -> Vec<u32> {
        Vec::new()
    }

    /// One version natively, without tracing. `None` if there is no such build.
    fn replay(
        &mut self,
        side: Side,
        variant: Variant,
        input: &Input,
    ) -> Result<Option<Observation>, RunError>;
}

/// The observation of a run that shows nothing and succeeds.
pub fn nothing_seen() -> Observation {
    Observation {
        stdout: Vec::new(),
        stderr: Vec::new(),
        end: End::Exit(0),
        files: Vec::new(),
        removed: Vec::new(),
        observed: Vec::new(),
        truncated: false,
    }
}
