//! Orders and rules to compare the guides with, as they were published or as everybody has
//! them. None of them is used otherwise.

use super::choice::{Order, Part};
use super::guided::{Guided, plain};
use crate::frontier::Bucket;
use crate::guide::{Advice, Flip, Rule};
use crate::runner::Side;

impl Guided {
    pub(super) fn ordered(&mut self, order: Order, flip: &Flip) -> Advice {
        self.arrivals += 1;
        let rank = match order {
            Order::DepthFirst => u32::MAX - self.arrivals,
            Order::BreadthFirst => flip.depth,
            Order::Random => self.random.draw() as u32,
            Order::Coverage => 0,
            Order::Distance => return self.by_distance(flip),
            Order::Isolation => return self.in_isolation(flip),
        };
        let bucket = Some(Bucket::Explore);
        Advice::Try { rank, bucket }
    }

    /// Nearest first, and what has no say is never tried.
    fn by_distance(&self, flip: &Flip) -> Advice {
        match self.distance(flip) {
            Some(rank) => Advice::Try {
                rank,
                bucket: Some(Bucket::Reach),
            },
            None if self.turns.missing.is_empty() => plain(None),
            None => Advice::LeaveOut(Rule::NoSay),
        }
    }

    /// A search that covers each change, in whatever order, and no more.
    fn in_isolation(&self, flip: &Flip) -> Advice {
        if self.turns.missing.is_empty() {
            return Advice::LeaveOut(Rule::Covered);
        }
        let rank = self.distance(flip).unwrap_or(u32::MAX);
        let bucket = Some(Bucket::Reach);
        Advice::Try { rank, bucket }
    }

    /// To the nearest target that is left, whichever side of the branch leads there.
    fn distance(&self, flip: &Flip) -> Option<u32> {
        let missing = self
            .turns
            .missing
            .iter()
            .map(|at| &self.tables.targets[*at]);
        let distances = missing.filter_map(|target| {
            let plan = &self.tables.sides[target.side.index()].plan;
            let place = self.place(target.side, flip)?;
            plan.goals[target.goal.0 as usize]
                .distances
                .of_branch(place)
        });
        distances.min()
    }

    /// Published rules that look at head alone, and at what one run showed: behind the last
    /// change that it entered, a run on which the versions do the same is taken for one that
    /// no input of its way can make differ.
    pub(super) fn left_out_by_one_run(&self, flip: &Flip) -> Option<Rule> {
        if !self.choice.has(Part::OneRun) {
            return None;
        }
        let at = Side::Head.index();
        let place = self.place(Side::Head, flip)?;
        let outlook = self.tables.sides[at].horizon.outlook(place, flip.kind)?;
        if outlook.after {
            return None;
        }
        if !outlook.before {
            return Some(Rule::NeverChanged);
        }
        let [here, end] = [flip.contexts, flip.ends].map(|c| self.contexts[at].get(c[at]));
        if !end.changed {
            return Some(Rule::NoLongerChanged);
        }
        let is_last = here.changed && here.sequence == end.sequence;
        (is_last && !flip.infected).then_some(Rule::NotInfected)
    }
}
