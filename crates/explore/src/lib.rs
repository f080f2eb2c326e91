//! The search over pairs of paths: two traced versions and a bound on their
//! input in, replayed differences and a verdict out.
//!
//! Every input is run on both versions. Their two paths become one sequence of
//! decisions ([`merge`]), all sequences one decision tree ([`tree`]), and the
//! sides not taken wait in the [`frontier`]. When nothing waits any more and no
//! [`gap`] was left on the way, the versions are equivalent up to the bound.
//!
//! Absent on purpose: building, reading bitcode, and how results are shown. Files and processes are met through a runner only.

pub mod budget;
mod decision;
pub mod difference;
mod digest;
mod edits;
mod findings;
pub mod frontier;
pub mod gap;
pub mod group;
pub mod guide;
pub mod guides;
mod manners;
mod masks;
pub mod merge;
pub mod normalise;
mod novelty;
mod number;
mod offers;
pub mod outcome;
mod output;
mod parts;
pub mod path;
mod probe;
pub mod ran;
mod readings;
mod reduce;
pub mod runner;
pub mod sameness;
pub mod search;
pub mod sequences;
mod solve;
mod state;
pub mod terms;
pub mod tree;
mod variation;
mod verdict;
pub mod witness;

pub use changeling_exec::{End, Observation};
pub use runner::Side;

#[cfg(test)]
mod toy;
