//! What the layers did.

use serde::Serialize;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    pub queries: u64,
    pub sat: u64,
    pub unsat: u64,
    pub unknown: u64,
    pub time: Duration,
    /// Conditions that queries had, and those left after independence.
    pub conditions: u64,
    pub conditions_left: u64,
    pub simplification: Share,
    pub hint: Share,
    /// Answers nothing: it makes questions smaller.
    pub independence: Share,
    pub reuse: Share,
    pub values: Share,
    pub embedded: Share,
    /// What was done to answer, in clauses looked at, expressions computed and what gates cost to
    /// make: the same for the same questions, unlike the time.
    pub work: u64,
    pub external: Share,
    /// Checks of models by the reference evaluator.
    pub checking: Share,
    /// Models that failed a check. Anything but 0 is a bug, or an external
    /// solver's lie.
    pub wrong_models: u64,
}

/// One layer's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub asked: u64,
    pub answered: u64,
    pub time: Duration,
}

impl Share {
    /// One question more: `attempt` gives what it found and whether that decides it.
    pub(crate) fn measure<T>(&mut self, attempt: impl FnOnce() -> (T, bool)) -> T {
        let start = Instant::now();
        let (found, decides) = attempt();
        self.asked += 1;
        self.answered += u64::from(decides);
        self.time += start.elapsed();
        found
    }
}
