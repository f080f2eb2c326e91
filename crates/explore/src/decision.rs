//! What the tree keeps at each place: what is decided there, or what ended there.

use crate::guide::Context;
use crate::merge::Owner;
use crate::path::TestKind;
use crate::sameness::Sameness;
use crate::tree::{NodeId, RunId};
use changeling_solver::Expr;

/// A pair of complete paths.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub run: RunId,
    /// Holds where the outputs of the two paths differ; see `output::Comparison`.
    pub differ: Option<Expr>,
    pub state: PairState,
    /// How often an input that should have differed did not.
    pub failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairState {
    /// Not yet known whether the outputs can differ.
    Open,
    /// The outputs are the same for every input that takes these paths.
    Equal,
    /// Some input that takes these paths shows a difference.
    Different,
    /// Cannot be decided.
    Unclear,
}

/// What a node's versions decide next.
#[derive(Clone, Debug)]
pub struct Decision {
    pub kind: TestKind,
    pub owner: Owner,
    pub sites: [u32; 2],
    pub caller: u32,
    pub within: [u32; 2],
    pub contexts: [Context; 2],
    /// Whether both versions are in the same state before it.
    pub sameness: Sameness,
    /// Number of decisions before it.
    pub depth: u32,
    /// How many of them were made at the same place.
    pub visits: u32,
    /// What is tested, whichever bytes it is tested of; 0 if it is too much to tell.
    pub shape: u64,
    pub subject: Expr,
    pub ways: Vec<Way>,
    /// For fixed values: how often another value was asked for.
    pub attempts: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub outcome: u64,
    pub held: Expr,
    pub state: WayState,
    /// A guide would give it up, but that is to be seen.
    pub doubted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayState {
    Open,
    Taken(NodeId),
    /// No input within the bound goes here.
    Impossible,
    /// The solver could not say.
    Unknown,
    /// There was a solution, but its run went elsewhere.
    Diverged,
    /// A guide is certain that no difference can come from there.
    Discarded,
    /// A guide thinks that it is not worth trying.
    LeftOut,
}
