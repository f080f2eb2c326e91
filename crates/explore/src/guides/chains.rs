//! In which orders a run can come by the changes and the places where they meet: the
//! change-sequence graph, as far as the search looks at it.

use super::facts::{Facts, TooLong};
use super::modified::Pair;
use crate::runner::Side;
use changeling_analysis::sequences::{MarkId, MarkKind, Sequences};
use changeling_changes::{ChangeSequences, Version};
use changeling_program::Site;
use std::collections::{BTreeSet, HashMap};

/// Of more changes no graph is made.
const MOST_CHANGES: usize = 64;
/// So many places where changes meet are looked at.
const MOST_MEETINGS: usize = 32;

/// A *node* is a change, by its number, or a meeting place; these have the numbers behind
/// the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    /// Nodes from this number on are meeting places.
    changes: u32,
    /// By node: those that can come next. None if the orders are not known.
    next: Option<HashMap<u32, BTreeSet<u32>>>,
    /// Where runs come by a node, by site.
    pub places: Vec<(Site, u32)>,
}

impl Chains {
    pub fn new(facts: &Facts<'_>, pair: &Pair<'_>, side: Side) -> Result<Chains, TooLong> {
        let mut chains = Chains::unordered(pair, side);
        let count = pair.changes.changes.len();
        if !(2..=MOST_CHANGES).contains(&count) {
            return Ok(chains);
        }
        facts.check_time()?;
        let version = match side {
            Side::Base => Version::Base,
            Side::Head => Version::Head,
        };
        let made = ChangeSequences::new(
            facts.program,
            facts.graphs,
            &facts.memory,
            pair.changes,
            version,
        );
        let meetings = made.meetings.iter().take(MOST_MEETINGS);
        let meetings = meetings.zip(chains.changes..);
        let meetings: HashMap<Site, u32> = meetings.map(|(m, node)| (m.site, node)).collect();
        chains.places.extend(meetings.iter().map(|(s, n)| (*s, *n)));
        chains.places.sort_unstable();
        let node = |id: MarkId| {
            let mark = made.graph.mark(id);
            match mark.kind {
                MarkKind::Changed | MarkKind::Anchor => mark.changes.first().copied(),
                MarkKind::Meeting => meetings.get(&mark.site?).copied(),
                MarkKind::Root | MarkKind::Output | MarkKind::Out => None,
            }
        };
        chains.next = Some(following(&made.graph, node));
        Ok(chains)
    }

    /// Only where the changes are.
    pub fn unordered(pair: &Pair<'_>, side: Side) -> Chains {
        let changes = pair.changes.changes.iter();
        let places = changes.flat_map(|change| {
            let own = match side {
                Side::Base => &change.base,
                Side::Head => &change.head,
            };
            let id = change.id.0;
            own.marked().into_iter().map(move |site| (site, id))
        });
        let mut places: Vec<(Site, u32)> = places.collect();
        places.sort_unstable();
        places.dedup();
        Chains {
            changes: pair.changes.changes.len() as u32,
            next: None,
            places,
        }
    }

    /// Whether a way leads from one node to another that comes by no third.
    pub fn can_follow(&self, node: u32, next: u32) -> bool {
        let Some(known) = &self.next else {
            return true;
        };
        known.get(&node).is_some_and(|nodes| nodes.contains(&next))
    }

    /// The nodes that can come next, as far as they are known.
    pub fn following(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let known = self.next.as_ref().and_then(|next| next.get(&node));
        known.into_iter().flatten().copied()
    }

    pub fn is_change(&self, node: u32) -> bool {
        node < self.changes
    }

    /// The meeting places, each with its sites.
    pub fn meetings(&self) -> impl Iterator<Item = (u32, Site)> + '_ {
        let places = self.places.iter().filter(|(_, n)| !self.is_change(*n));
        places.map(|(site, node)| (*node, *site))
    }
}

/// For each node those that can come next. Marks that are no nodes are passed by.
fn following(
    graph: &Sequences,
    node: impl Fn(MarkId) -> Option<u32>,
) -> HashMap<u32, BTreeSet<u32>> {
    let mut next: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for start in (0..graph.marks.len() as u32).map(MarkId) {
        let Some(from) = node(start) else { continue };
        let found = next.entry(from).or_default();
        let mut seen = BTreeSet::new();
        let mut work = vec![start];
        while let Some(mark) = work.pop() {
            for edge in graph.successors(mark) {
                match node(edge.to) {
                    Some(to) => {
                        found.insert(to);
                    }
                    None if seen.insert(edge.to) => work.push(edge.to),
                    None => {}
                }
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_analysis::sequences::{Edge, Mark};

    #[test]
    fn outputs_are_passed_by() {
        let mark = |kind, site: u32, changes: &[u32]| Mark {
            kind,
            site: (site != 0).then_some(Site(site)),
            changes: changes.to_vec(),
        };
        let edge = |from, to| Edge {
            from: MarkId(from),
            to: MarkId(to),
            deciders: Vec::new(),
        };
        let graph = Sequences {
            marks: vec![
                mark(MarkKind::Root, 0, &[]),
                mark(MarkKind::Out, 0, &[]),
                mark(MarkKind::Changed, 5, &[0]),
                mark(MarkKind::Output, 6, &[0]),
                mark(MarkKind::Changed, 7, &[1]),
            ],
            edges: vec![edge(0, 2), edge(2, 3), edge(3, 1), edge(3, 3), edge(3, 4)],
            unreachable: Vec::new(),
        };
        let node = |id: MarkId| [None, None, Some(0), None, Some(1)][id.0 as usize];
        let next = following(&graph, node);
        assert_eq!(next[&0], [1].into());
        assert!(next[&1].is_empty());
    }
}
