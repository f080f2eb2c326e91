//! When to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much a search may spend. `None` is no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    pub time: Option<Duration>,
    /// Runs of the pair.
    pub runs: Option<u64>,
    /// Memory of this process in bytes.
    pub memory: Option<u64>,
    /// Stop once this many groups of differences are known.
    pub groups: Option<usize>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Nothing is left to try.
    Exhausted,
    Time,
    Runs,
    Memory,
    /// As many differences as were asked for.
    Enough,
    Cancelled,
    /// The programs could not be run.
    Failed,
}

/// Asks a search to end; it finishes the run it is in and reports.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Budget {
    /// Whether it is spent, and on what.
    pub(crate) fn spent(&self, start: Instant, runs: u64, groups: usize) -> Option<Stopped> {
        if self.runs.is_some_and(|most| runs >= most) {
            return Some(Stopped::Runs);
        }
        if self.groups.is_some_and(|most| groups >= most) {
            return Some(Stopped::Enough);
        }
        if self.is_late(start) {
            return Some(Stopped::Time);
        }
        // Looking costs a system call.
        if runs.is_multiple_of(32)
            && let (Some(most), Some(used)) = (self.memory, resident())
            && used >= most
        {
            return Some(Stopped::Memory);
        }
        None
    }

    /// Whether all of the time is spent.
    pub(crate) fn is_late(&self, start: Instant) -> bool {
        self.time.is_some_and(|most| start.elapsed() >= most)
    }
}

/// Memory that this process holds, in bytes.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
