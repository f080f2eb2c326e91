//! Targets take turns until they have run.

/// Runs that a target gets before the next one has its turn.
const TURN: u32 = 32;
/// Runs after which a target is not aimed at for as many.
const PATIENCE: u32 = 1024;
/// Runs after which a side of a changed branch, which may be impossible to take, is not aimed at any more.
const PATIENCE_WITH_SIDES: u32 = 96;

/// Targets by number.
#[derive(Debug)]
pub struct Turns {
    /// Changes that no run has entered; the first has its turn.
    pub missing: Vec<usize>,
    /// Those of them that were aimed at for long, and are not for a while.
    given_up: Vec<usize>,
    /// Sides of changed branches, which come after all changes.
    pub sides: Vec<usize>,
    /// Runs in which each target had its turn.
    spent: Vec<u32>,
    turn: u32,
}

impl Turns {
    pub fn new(missing: Vec<usize>, sides: Vec<usize>) -> Turns {
        let count = missing
            .iter()
            .chain(&sides)
            .max()
            .map_or(0, |last| last + 1);
        Turns {
            missing,
            given_up: Vec::new(),
            sides,
            spent: vec![0; count],
            turn: 0,
        }
    }

    /// The target whose turn it is.
    pub fn current(&self) -> Option<usize> {
        let first = self.missing.first().or(self.sides.first());
        first.copied()
    }

    /// What is worth being come near to, also if nothing aims there for a while.
    pub fn wanted(&self) -> impl Iterator<Item = usize> {
        let wanted = [&self.missing, &self.given_up, &self.sides];
        wanted.into_iter().flatten().copied()
    }

    /// What has run need not be aimed at any more. Whether anything has.
    pub fn retire(&mut self, ran: impl Fn(usize) -> bool) -> bool {
        let before = self.wanted().count();
        for list in [&mut self.missing, &mut self.given_up, &mut self.sides] {
            list.retain(|target| !ran(*target));
        }
        let retired = self.wanted().count() != before;
        if retired {
            self.turn = 0;
        }
        retired
    }

    /// A run has ended. Whether another target has its turn now.
    pub fn pass(&mut self) -> bool {
        self.turn += 1;
        let of_changes = !self.missing.is_empty();
        let (list, patience) = if of_changes {
            (&mut self.missing, PATIENCE)
        } else {
            (&mut self.sides, PATIENCE_WITH_SIDES)
        };
        let Some(&first) = list.first() else {
            return self.try_again();
        };
        self.spent[first] += 1;
        let spent = self.spent[first];
        if spent >= patience {
            list.remove(0);
            if of_changes {
                self.given_up.push(first);
            }
        } else if list.len() > 1 && self.turn >= TURN.max(spent / 4) {
            list.rotate_left(1);
        } else {
            return false;
        }
        self.turn = 0;
        true
    }

    /// What was done without an aim may have led where targets that were given up are nearer.
    fn try_again(&mut self) -> bool {
        if self.given_up.is_empty() || self.turn < PATIENCE {
            return false;
        }
        self.missing = std::mem::take(&mut self.given_up);
        for target in &self.missing {
            self.spent[*target] = 0;
        }
        self.turn = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(turns: &mut Turns, runs: u32) {
        for _ in 0..runs {
            turns.pass();
        }
    }

    #[test]
    fn targets_alternate() {
        let mut turns = Turns::new(vec![0, 1], vec![2]);
        pass(&mut turns, TURN - 1);
        assert_eq!(turns.current(), Some(0));
        assert!(turns.pass());
        assert_eq!(turns.current(), Some(1));
        assert!(turns.retire(|target| target == 1));
        assert!(!turns.retire(|target| target == 1));
        assert_eq!(turns.current(), Some(0));
        assert!(turns.retire(|target| target == 0));
        assert_eq!(turns.current(), Some(2));
    }

    #[test]
    fn a_change_that_was_given_up_is_aimed_at_again() {
        let mut turns = Turns::new(vec![3], Vec::new());
        pass(&mut turns, PATIENCE);
        assert_eq!(turns.current(), None);
        // What comes near to it is still noted.
        assert_eq!(turns.wanted().collect::<Vec<_>>(), [3]);
        pass(&mut turns, PATIENCE - 1);
        assert_eq!(turns.current(), None);
        assert!(turns.pass());
        assert_eq!(turns.current(), Some(3));
        pass(&mut turns, PATIENCE);
        assert_eq!(turns.current(), None);
        assert!(turns.retire(|target| target == 3));
        pass(&mut turns, 2 * PATIENCE);
        assert_eq!((turns.current(), turns.wanted().count()), (None, 0));
    }

    #[test]
    fn a_side_is_given_up_for_good() {
        let mut turns = Turns::new(Vec::new(), vec![0]);
        pass(&mut turns, PATIENCE_WITH_SIDES);
        assert_eq!((turns.current(), turns.wanted().count()), (None, 0));
        pass(&mut turns, 2 * PATIENCE);
        assert_eq!(turns.current(), None);
    }
}
