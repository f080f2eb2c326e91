//! Branches on which the versions may part because a change computed something else.
//!
//! After a change has run, a variable may be otherwise in one version than in the other: a count, a
//! state. That shows at a branch that tests the variable once one version satisfies it and the other
//! does not. How many goals each version has left to take a side of such a branch is known from its
//! plan; where the numbers are not the same, the version that has fewer is helped to get there first.

use super::conditions::Test;
use super::guided::{BEHIND, COVERED, Guided, plain};
use super::plan::{UNPLANNED, Web};
use crate::frontier::Bucket;
use crate::guide::{Advice, Context, Flip};
use crate::merge::Owner;
use crate::path::TestKind;
use crate::runner::Side;
use std::sync::Arc;

/// A side of a branch that both versions have, in one of them.
#[derive(Clone, Debug)]
pub struct Parting {
    /// Number of the target.
    pub target: usize,
    /// The variable that the branch tests, and what is asked of it.
    pub tested: Option<(Web, Test)>,
}

impl Guided {
    /// Flips of what only one version decides, or behind it.
    pub(super) fn behind_difference(&self, flip: &Flip) -> Advice {
        // What parted the versions is lost where something else is all that shows.
        if !flip.masked {
            return plain(None);
        }
        let (rank, bucket) = match flip.owner {
            Owner::Both => (COVERED, Some(Bucket::Explore)),
            Owner::One(_) => (BEHIND, None),
        };
        Advice::Try { rank, bucket }
    }

    /// Whether a branch went one way in one version and the other way in the other, and a flip makes both go the same
    /// way again: what parted the versions would be gone.
    pub(super) fn rejoins(&self, flip: &Flip) -> bool {
        let Some((opposite, outcome)) = flip.opposite else {
            return false;
        };
        let [base, head] = match flip.sites {
            [0, head] => [opposite, head],
            [base, _] => [base, opposite],
        };
        let same_branch = self.tables.partners.get(base as usize) == Some(&head);
        flip.kind == TestKind::Branch && same_branch && flip.outcome == outcome
    }

    /// Sides of branches on which the versions may part, where what they test differs by now: how many
    /// goals are left for the version to take it that is nearer to it.
    pub(super) fn leads(&mut self, contexts: [Context; 2]) -> Arc<[(usize, u32)]> {
        if let Some(known) = self.leads.get(&contexts) {
            return known.clone();
        }
        let leads: Arc<[(usize, u32)]> = self.worked_out(contexts).into();
        self.leads.insert(contexts, leads.clone());
        leads
    }

    fn worked_out(&mut self, contexts: [Context; 2]) -> Vec<(usize, u32)> {
        let mut leads = Vec::new();
        if self.is_masked(contexts) {
            return leads;
        }
        for number in 0..self.tables.partings.len() {
            if !self.is_tested_otherwise(number, contexts) {
                continue;
            }
            let targets = self.tables.partings[number].each_ref().map(|p| p.target);
            let [base, head] = targets.map(|target| {
                let side = self.tables.targets[target].side;
                self.situation(target, contexts[side.index()]).left()
            });
            for (target, own, other) in [(targets[0], base, head), (targets[1], head, base)] {
                if own < other && own < UNPLANNED {
                    leads.push((target, own));
                }
            }
        }
        leads
    }

    /// Whether the versions do not ask the same of the same.
    fn is_tested_otherwise(&self, number: usize, contexts: [Context; 2]) -> bool {
        let both = &self.tables.partings[number];
        let tested = Side::BOTH.map(|side| {
            let at = side.index();
            let (web, test) = both[at].tested.as_ref()?;
            let values = &self.contexts[at].get(contexts[at]).values;
            Some((values[web.0 as usize]?, test))
        });
        matches!(tested, [Some(base), Some(head)] if base != head)
    }

    /// How good a flip is for the versions to part.
    pub(super) fn parting_rank(&mut self, flip: &Flip) -> Option<u32> {
        let leads = self.leads(flip.contexts);
        let ranks = leads
            .iter()
            .filter_map(|(target, _)| self.rank(*target, flip));
        ranks.min()
    }

    /// How near the versions are to parting.
    pub(super) fn nearest_parting(&mut self, contexts: [Context; 2]) -> u32 {
        let leads = self.leads(contexts);
        leads
            .iter()
            .map(|(_, left)| *left)
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Whether a variable is nearer to what a branch asks for in one version than in the other.
    pub(super) fn is_about_to_part(&mut self, contexts: [Context; 2]) -> bool {
        self.entered_change(contexts) && !self.leads(contexts).is_empty()
    }
}
