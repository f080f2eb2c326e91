//! How to solve.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Settings {
    pub layers: Layers,
    /// Per query.
    pub time_limit: Duration,
    /// Variables of the SAT problem of one query; bounds memory.
    pub size_limit: usize,
    /// New bytes of an input that grows, unless they are constrained.
    pub filler: u8,
    /// An SMT-LIB solver that decides what the embedded one cannot, or everything.
    pub external: Option<crate::external::External>,
    /// Every query is written to a file in this directory.
    pub record: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            layers: Layers::default(),
            time_limit: Duration::from_secs(5),
            size_limit: 8_000_000,
            filler: b'A',
            external: None,
            record: None,
        }
    }
}

/// Which layers work. Simplification happens when expressions are built; here
/// it means answers that follow from the expressions alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    pub simplification: bool,
    pub independence: bool,
    pub reuse: bool,
    pub values: bool,
    pub embedded: bool,
}

impl Default for Layers {
    fn default() -> Self {
        Layers {
            simplification: true,
            independence: true,
            reuse: true,
            values: true,
            embedded: true,
        }
    }
}
