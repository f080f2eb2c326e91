//! What a search aims at.

use super::plan::GoalId;
use crate::runner::Side;

/// Something that should run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The change, or the place where changes meet.
    pub node: u32,
    pub side: Side,
    pub goal: GoalId,
    /// Numbers of the blocks any of which will do.
    pub blocks: Vec<u32>,
    pub aim: Aim,
}

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Something that was changed.
    Change,
    /// A side of a branch that was changed, in either version: on one of them the versions part.
    Side,
    /// A place where changes meet.
    Meeting,
    /// A place that shows something which depends on changes.
    Effect,
    /// A side of a branch that tests what a change computes.
    Parting,
}
