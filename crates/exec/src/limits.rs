//! How much a run may take, and how much a trace may hold.

use changeling_trace::layout::COVERAGE_SIZE;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bounds of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on a processor or waiting for anything but one: a busy machine makes it pass more slowly.
    pub time: Duration,
    /// Address space of each process in bytes; `u64::MAX` for none (sanitizers reserve terabytes).
    pub memory: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Size of any one file, standard output included, in bytes.
    pub file_size: u64,
    /// All files in the working directory together.
    pub disk: u64,
    /// How many bytes of each stream and file become part of the observation.
    pub capture: usize,
}

impl Limits {
    /// Sanitizers reserve terabytes of address space.
    pub fn with_sanitizers(self) -> Limits {
        Limits {
            memory: u64::MAX,
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(5),
            memory: 1 << 30,
            processes: 32,
            file_size: 64 << 20,
            disk: 128 << 20,
            capture: 1 << 20,
        }
    }
}

/// Room in the mapping shared with a traced program. Unused room costs no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacities {
    pub nodes: u64,
    pub events: u64,
    pub table_bytes: u64,
    pub string_bytes: u64,
    /// At most [`COVERAGE_SIZE`].
    pub blocks: u64,
}

impl Default for Capacities {
    fn default() -> Self {
        Capacities {
            nodes: 1 << 24,
            events: 1 << 24,
            // Copies of changing arrays read through symbolic indices; a run that needs more
            // is told apart by a loss, and stays below 300 MB.
            table_bytes: 96 << 20,
            string_bytes: 1 << 20,
            blocks: COVERAGE_SIZE,
        }
    }
}
