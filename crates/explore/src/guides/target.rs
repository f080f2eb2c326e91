//! What a search aims at.

use super::definitions::Spot;
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
    /// The same places in the program.
    pub spots: Vec<Spot>,
    pub aim: Aim,
    /// It runs only after an exception in its function.
    pub is_aftermath: bool,
    /// Blocks that end with a decision on the way, each with how many are left from there, the fewest first.
    pub approaches: Vec<(u32, u32)>,
}

impl Target {
    pub fn new(aim: Aim, side: Side, goal: GoalId, blocks: Vec<u32>, spots: Vec<Spot>) -> Target {
        Target {
            node: 0,
            side,
            goal,
            blocks,
            spots,
            aim,
            is_aftermath: false,
            approaches: Vec::new(),
        }
    }

    /// Whether one of its blocks was run.
    pub fn ran(&self, coverage: [&[u8]; 2]) -> bool {
        let coverage = coverage[self.side.index()];
        self.blocks.iter().any(|block| covers(coverage, *block))
    }

    /// How many decisions lie between it and the nearest place that a run came by.
    pub fn approach(&self, coverage: [&[u8]; 2]) -> Option<u32> {
        let coverage = coverage[self.side.index()];
        let approaches = self.approaches.iter();
        let mut come_by = approaches.filter(|(block, _)| covers(coverage, *block));
        come_by.next().map(|(_, left)| *left)
    }
}

fn covers(coverage: &[u8], block: u32) -> bool {
    coverage.get(block as usize).is_some_and(|byte| *byte != 0)
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
