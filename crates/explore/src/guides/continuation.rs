//! Which change, or which place where changes meet, should come next on a path.

use super::chains::Chains;
use super::choice::Part;
use super::guided::{Guided, LATER};
use super::plan::{Key, Place};
use super::target::{Aim, Target};
use crate::frontier::Bucket;
use crate::guide::{Advice, Context, Flip};
use crate::runner::Side;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// How many nodes a sequence that is known is looked beyond.
const FORESIGHT: u32 = 2;

/// Ranks of flips that continue sequences, by all that they depend on. Many flips that wait are at
/// the same place, and each new sequence has all of them ranked again.
pub(super) type Continued = FxHashMap<([Context; 2], [Option<Place>; 2], u32, bool), Option<u32>>;

impl Guided {
    /// A flip behind a change that leads to a node of the change-sequence graph which can come
    /// next and has not yet.
    pub(super) fn continues_sequence(&mut self, flip: &Flip) -> Option<Advice> {
        if !self.choice.has(Part::Sequences) {
            return None;
        }
        let places = Side::BOTH.map(|side| self.place(side, flip));
        let key = (flip.contexts, places, flip.used, flip.shortens);
        let rank = match self.continued.get(&key) {
            Some(rank) => *rank,
            None => {
                let rank = self.sequence_rank(flip);
                self.continued.insert(key, rank);
                rank
            }
        };
        Some(Advice::Try {
            rank: rank?,
            bucket: Some(Bucket::Sequence),
        })
    }

    fn sequence_rank(&mut self, flip: &Flip) -> Option<u32> {
        let at = Side::Head.index();
        let mut sequence = self.contexts[at].get(flip.contexts[at]).sequence.clone();
        let last = *sequence.last()?;
        let shown = self.sequences.get(&sequence) == Some(&true);
        let targets = 0..self.tables.targets.len();
        let next = targets.filter_map(|target| {
            let Target { node, aim, .. } = self.tables.targets[target];
            if matches!(aim, Aim::Side | Aim::Effect | Aim::Parting) {
                return None;
            }
            if node == last || !self.tables.sides[at].chains.can_follow(last, node) {
                return None;
            }
            sequence.push(node);
            let chains = &self.tables.sides[at].chains;
            let further = further(chains, &self.sequences, &mut sequence, FORESIGHT);
            sequence.pop();
            let rank = self.rank(target, flip)?;
            Some(rank.saturating_add(further?.saturating_mul(Key::GOAL)))
        });
        let rank = next.min()?;
        // What was shown to differ is not closed, since another error may share it, but it waits.
        Some(rank.min(LATER - 1) + if shown { LATER } else { 0 })
    }
}

/// How much is still to be done for a new sequence that begins with this one: nodes to come, and those
/// that would come again. Loops have sequences without end, so what goes nowhere twice is
/// first. None if all that is near was there before.
fn further(
    chains: &Chains,
    known: &HashMap<Vec<u32>, bool>,
    sequence: &mut Vec<u32>,
    foresight: u32,
) -> Option<u32> {
    if !known.contains_key(sequence) {
        let again = (0..sequence.len()).filter(|at| sequence[..*at].contains(&sequence[*at]));
        return Some(again.count() as u32);
    }
    let last = *sequence.last()?;
    let foresight = foresight.checked_sub(1)?;
    let next = chains.following(last).filter(|node| *node != last);
    let left = next.filter_map(|node| {
        sequence.push(node);
        let left = further(chains, known, sequence, foresight);
        sequence.pop();
        left
    });
    Some(left.min()?.saturating_add(1))
}
