//! Changes that only decide.
//!
//! If nothing but branches rests on what was changed (`x < 10` has become `x <= 10`), a run can tell
//! the versions apart only by the sides that these branches take. As long as both versions have
//! taken the same ones in the same order, they are in the same state, for every input that takes
//! this pair of paths: what was changed has had no effect, and has none any more once no such branch
//! can follow. Whichever other path base may take while head keeps its own is another pair, which
//! is looked at for itself.

use super::facts::Facts;
use super::modified::Pair;
use crate::runner::Side;
use changeling_program::{BlockId, Operation, Program, Site};
use std::collections::{BTreeSet, HashMap};

pub struct Agreement {
    /// By version, the numbers of blocks that stand for sides of such branches: which side of which
    /// branch it is, the same in both versions.
    pub sides: [HashMap<u32, u32>; 2],
    /// By version: all that rests on the changes.
    pub sites: [Vec<Site>; 2],
}

impl Agreement {
    /// None if more than branches rests on the changes.
    pub fn new(facts: &[Facts<'_>; 2], pair: &Pair<'_>) -> Option<Agreement> {
        let [base, head] =
            Side::BOTH.map(|side| resting(&facts[side.index()], pair.all_modified(side)));
        let resting = [base?, head?];
        let [left, right] = [0, 1].map(|at| {
            let sites = resting[at].iter().copied();
            let branches = sites.filter(|site| facts[at].program.instruction(*site).decides());
            branches.collect::<BTreeSet<Site>>()
        });
        if left.is_empty() || left.len() != right.len() {
            return None;
        }
        let mut sides: [HashMap<u32, u32>; 2] = Default::default();
        for (number, branch) in (0u32..).zip(left) {
            let partner = pair.changes.sites.head(branch)?;
            if !right.contains(&partner) {
                return None;
            }
            let both = [branch, partner];
            for side in 0..2u32 {
                if !lead_alike(pair, both, side, &resting) {
                    return None;
                }
                for at in 0..2 {
                    let block = facts[at].number_of(facts[at].side_of(both[at], side))?;
                    if sides[at].insert(block, 2 * number + side).is_some() {
                        return None;
                    }
                }
            }
        }
        let sites = resting.map(|sites| sites.into_iter().collect());
        Some(Agreement { sides, sites })
    }
}

/// All instructions that use what was changed, directly or through others, and the changed ones. None
/// if one of them does more than to compute or to choose a side.
fn resting(facts: &Facts<'_>, modified: Vec<Site>) -> Option<BTreeSet<Site>> {
    let users = facts.users();
    let mut found = BTreeSet::new();
    let mut work = modified;
    while let Some(site) = work.pop() {
        if !found.insert(site) {
            continue;
        }
        let silent = match &facts.program.instruction(site).operation {
            Operation::Branch { then, otherwise } => then != otherwise,
            operation => operation.computes(),
        };
        if !silent {
            return None;
        }
        work.extend(users.get(&site).into_iter().flatten());
    }
    Some(found)
}

/// Whether a side of a branch leads to the same code in both versions, with the same values.
fn lead_alike(
    pair: &Pair<'_>,
    branches: [Site; 2],
    side: u32,
    resting: &[BTreeSet<Site>; 2],
) -> bool {
    let from = [0, 1].map(|at| pair.programs[at].instruction(branches[at]).block);
    let to = [0, 1].map(|at| pair.programs[at].successors(from[at])[side as usize]);
    // What rests on the changes may differ: nobody else sees it.
    let [left, right] = [0, 1].map(|at| {
        let block = pair.programs[at].block(to[at]);
        let own = block.sites().filter(|site| {
            let ends = pair.programs[at].instruction(*site).is_terminator();
            ends || !resting[at].contains(site)
        });
        own.collect::<Vec<Site>>()
    });
    left.len() == right.len()
        && left.iter().zip(&right).all(|(base, head)| {
            let partners = pair.changes.sites.head(*base) == Some(*head);
            partners && brings_alike(pair, [*base, *head], from)
        })
}

/// Whether two phis get the same from two blocks; anything else does.
fn brings_alike(pair: &Pair<'_>, sites: [Site; 2], from: [BlockId; 2]) -> bool {
    let brought = |program: &Program, site: Site, from: BlockId| {
        let instruction = program.instruction(site);
        let Operation::Phi { incoming } = &instruction.operation else {
            return None;
        };
        let mut edges = incoming.iter().zip(&instruction.operands);
        edges
            .find(|(block, _)| **block == from)
            .map(|(_, value)| *value)
    };
    let values = [0, 1].map(|at| brought(pair.programs[at], sites[at], from[at]));
    match values {
        [None, None] => true,
        [Some(base), Some(head)] => pair.same_value(Side::Base, base, head),
        _ => false,
    }
}
