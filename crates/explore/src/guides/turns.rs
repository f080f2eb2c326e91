//! Targets take turns until they have run.

use super::guided::Guided;

/// Runs that a target gets before the next one has its turn.
const TURN: u32 = 32;
/// Runs after which a target is not aimed at any more.
const PATIENCE: u32 = 1024;
/// The same for a side of a changed branch, which may be impossible to take.
const PATIENCE_WITH_SIDES: u32 = 96;

impl Guided {
    /// The target whose turn it is.
    pub(super) fn current(&self) -> Option<usize> {
        let first = self.missing.first().or(self.sides.first());
        first.copied()
    }

    /// What has run need not be aimed at any more.
    pub(super) fn retire(&mut self, coverage: [&[u8]; 2]) {
        let targets = &self.tables.targets;
        let left = |at: &usize| {
            let target = &targets[*at];
            let coverage = coverage[target.side.index()];
            let ran = |block: &u32| coverage.get(*block as usize).is_some_and(|byte| *byte != 0);
            !target.blocks.iter().any(ran)
        };
        let before = self.missing.len() + self.sides.len();
        self.missing.retain(left);
        self.sides.retain(left);
        if self.missing.len() + self.sides.len() != before {
            self.epoch += 1;
            self.turn = 0;
        }
    }

    pub(super) fn take_turns(&mut self) {
        let (list, patience) = if self.missing.is_empty() {
            (&mut self.sides, PATIENCE_WITH_SIDES)
        } else {
            (&mut self.missing, PATIENCE)
        };
        let Some(&first) = list.first() else {
            return;
        };
        self.turn += 1;
        self.spent[first] += 1;
        let spent = self.spent[first];
        if spent >= patience {
            list.remove(0);
        } else if list.len() > 1 && self.turn >= TURN.max(spent / 4) {
            list.rotate_left(1);
        } else {
            return;
        }
        self.epoch += 1;
        self.turn = 0;
    }
}
