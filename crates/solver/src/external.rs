//! SMT-LIB solvers as processes.

use std::path::PathBuf;

/// A solver found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    pub program: PathBuf,
}
