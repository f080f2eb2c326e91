//! What keeps an exhausted search from being a proof.

use crate::path::Path;
use crate::runner::Side;
use crate::state::State;
use changeling_solver::{Arena, Expr, Var};
use changeling_trace::LossReason;
use std::collections::BTreeSet;

/// A program point of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub side: Side,
    pub site: u32,
}

/// How often there was a gap, and the input bytes it is about.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub count: u64,
    /// Stream and offset.
    pub bytes: BTreeSet<(u32, u32)>,
}

/// As many bytes as anybody reads about.
const TOLD: usize = 4096;

impl Account {
    /// The bytes that a lost value was made of.
    pub fn blame(&mut self, arena: &Arena, lost: Expr) {
        for variable in arena.variables(lost) {
            if let Var::Byte { stream, offset } = variable
                && self.bytes.len() < TOLD
            {
                self.bytes.insert((stream, offset));
            }
        }
    }
}

/// A reason why "no difference on what was explored" is less than "no
/// difference up to the bound".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gap {
    /// A value was fixed to what it was in a run, and others are possible.
    Concretized {
        place: Place,
        reason: LossReason,
    },
    /// Symbolic values went where they cannot be followed.
    Lost {
        place: Place,
        reason: LossReason,
    },
    /// A switch whose cases are not listed.
    UnknownSwitch {
        place: Place,
    },
    TraceFull {
        side: Side,
    },
    /// A label contradicts the run that made it.
    BrokenTrace {
        side: Side,
    },
    Threads {
        side: Side,
    },
    Forked {
        side: Side,
    },
    TimedOut {
        side: Side,
    },
    OutputTruncated {
        side: Side,
    },
    /// Output was written past the tracer.
    UntrackedOutput {
        side: Side,
    },
    /// Equal texts that were put together in ways that cannot be compared for
    /// other inputs.
    UnmatchedOutput,
    /// The solver gave up or ran out of time.
    Unknown,
    /// A solution did not take the predicted path.
    Diverged,
    /// The same decisions led to different next ones.
    Inconsistent,
    /// A random input took a pair of paths that the search had not foreseen.
    Unforeseen,
    /// Outputs can differ in ways that normalisation hides.
    HiddenByNormalisation,
    /// A difference that could not be confirmed.
    Unconfirmed,
    /// Versions that do not agree with themselves.
    Unstable,
    /// A difference that rests on undefined behaviour.
    UndefinedBehaviour,
    /// A traced program behaved otherwise than the plain one.
    NotTransparent,
    /// A guide left flips out by a rule that only reorders.
    LeftOut,
    /// An input could not be run.
    RunFailed,
    /// Sanitizers were asked about the inputs that were run. That speaks for no others.
    Sanitizers,
    /// Flips were left when the search ended.
    Unfinished,
}

impl Gap {
    /// As in the sentence "… 3 times".
    pub fn text(&self) -> String {
        let fixed = match self {
            Gap::Concretized { reason, .. } => {
                return format!("value fixed to that of one run: {}", reason.text());
            }
            Gap::Lost { reason, .. } => return format!("symbolic value lost: {}", reason.text()),
            Gap::UnknownSwitch { .. } => "switch with unknown cases",
            Gap::TraceFull { .. } => "trace table full",
            Gap::BrokenTrace { .. } => "trace contradicts its own run",
            Gap::Threads { .. } => "several threads",
            Gap::Forked { .. } => "forked processes are not followed",
            Gap::TimedOut { .. } => "run did not end in time",
            Gap::OutputTruncated { .. } => "output too long to keep",
            Gap::UntrackedOutput { .. } => "output written past the tracer",
            Gap::UnmatchedOutput => "equal outputs that cannot be compared for other inputs",
            Gap::Unknown => "solver gave up",
            Gap::Diverged => "solution did not take the predicted path",
            Gap::Inconsistent => "same decisions, different continuation",
            Gap::Unforeseen => "a random input went where the search had not been",
            Gap::HiddenByNormalisation => "output difference hidden by normalisation",
            Gap::Unconfirmed => "difference that could not be confirmed",
            Gap::Unstable => "version that disagrees with itself",
            Gap::UndefinedBehaviour => "difference that rests on undefined behaviour",
            Gap::NotTransparent => "traced program behaved otherwise than the plain one",
            Gap::LeftOut => "flip left out by a guide",
            Gap::RunFailed => "input that could not be run",
            Gap::Sanitizers => "sanitizers on other inputs that take the same paths",
            Gap::Unfinished => "flip not tried",
        };
        fixed.into()
    }

    pub fn place(&self) -> Option<Place> {
        match self {
            Gap::Concretized { place, .. }
            | Gap::Lost { place, .. }
            | Gap::UnknownSwitch { place } => Some(*place),
            _ => None,
        }
    }
}

impl State {
    pub fn note(&mut self, gap: Gap) {
        self.gaps.entry(gap).or_default().count += 1;
    }

    /// A gap that is about a value.
    pub fn note_loss(&mut self, gap: Gap, lost: Expr) {
        let account = self.gaps.entry(gap).or_default();
        account.count += 1;
        account.blame(&self.arena, lost);
    }

    /// Those of one run. Each pair of paths counts once, but its first run need not have all: what is not traced may do
    /// something else with another input.
    pub(crate) fn note_gaps(&mut self, paths: [&Path; 2], is_new: bool) {
        for path in paths {
            for gap in &path.gaps {
                if is_new || !self.gaps.contains_key(gap) {
                    self.note(*gap);
                }
            }
            for (gap, lost) in &path.losses {
                if is_new || !self.gaps.contains_key(gap) {
                    self.note_loss(*gap, *lost);
                }
            }
        }
    }
}
