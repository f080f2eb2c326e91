//! Which changes each instruction may depend on, and where changes meet.
//!
//! Two changes may disturb one another where something depends on both, where
//! one overwrites what the other wrote, and where one decides whether the other
//! runs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use changeling_program::{Program, Site};
use serde::{Deserialize, Serialize};

use crate::flow::SegmentId;
use crate::graphs::Graphs;
use crate::slice::Slicer;

/// A change, as far as this analysis cares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Modified instructions: its effects start from these.
    pub modified: Vec<Site>,
    /// All code of the changed statements. Nothing of it is a meeting place, and
    /// what depends on it directly may be one.
    pub own: Vec<Site>,
}

/// A place where changes meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Meeting {
    pub site: Site,
    pub kind: MeetingKind,
    /// Numbers of the changes; at least two, ascending.
    pub changes: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeetingKind {
    /// Depends on all of them, and is the first to do so.
    Depends,
    /// Depends on some and overwrites what others wrote.
    Overwrites,
    /// Depends on some and decides whether others run.
    Decides,
}

/// Dependence on changes.
pub struct Interactions {
    /// By site: position in `sets`.
    influence: Vec<u32>,
    /// Ascending numbers of changes; the first set is empty.
    sets: Vec<Vec<u32>>,
    /// The places that matter, by site: a place that merely depends on another
    /// one of the same changes is left out.
    pub meetings: Vec<Meeting>,
}

/// So many starting points are looked for among places that depend on one
/// another in a circle.
const CIRCLES: usize = 64;

impl Interactions {
    /// Takes one slice per change, and a few more per set of changes that meet.
    pub fn new(
        program: &Program,
        graphs: &Graphs,
        slicer: &Slicer<'_>,
        changes: &[Changed],
    ) -> Interactions {
        let mut found = Interactions {
            influence: vec![0; program.instructions.len()],
            sets: vec![Vec::new()],
            meetings: Vec::new(),
        };
        let kills = found.slice(slicer, changes);
        let own: HashSet<Site> = changes
            .iter()
            .flat_map(|change| change.modified.iter().chain(&change.own).copied())
            .collect();
        let mut meetings = found.first_dependents(program, graphs, slicer, &own);
        meetings.extend(found.overwriting(&kills, &own));
        meetings.extend(found.deciding(program, graphs, changes, &own));
        let mut known = BTreeSet::new();
        meetings.sort();
        meetings.retain(|meeting| known.insert(meeting.site));
        found.meetings = meetings;
        found
    }

    /// Changes that the site may depend on, or belongs to. Ascending.
    pub fn of(&self, site: Site) -> &[u32] {
        &self.sets[self.influence[site.index()] as usize]
    }

    /// Fills the influence. Returns what each change's effects are overwritten by.
    fn slice(&mut self, slicer: &Slicer<'_>, changes: &[Changed]) -> Vec<Vec<Site>> {
        let mut known: HashMap<Vec<u32>, u32> = HashMap::from([(Vec::new(), 0)]);
        let mut kills = Vec::with_capacity(changes.len());
        for (number, change) in (0..).zip(changes) {
            let slice = slicer.slice(&change.modified);
            // Changes come in ascending order, so sets only grow at their end.
            let mut grown: HashMap<u32, u32> = HashMap::new();
            for site in slice.sites {
                let set = &mut self.influence[site.index()];
                *set = *grown.entry(*set).or_insert_with_key(|&set| {
                    let mut larger = self.sets[set as usize].clone();
                    larger.push(number);
                    let next = self.sets.len() as u32;
                    *known.entry(larger).or_insert_with_key(|larger| {
                        self.sets.push(larger.clone());
                        next
                    })
                });
            }
            kills.push(slice.kills);
        }
        kills
    }

    /// Of the places with the same changes, those that depend on no other of
    /// them; one for each stretch of code.
    fn first_dependents(
        &self,
        program: &Program,
        graphs: &Graphs,
        slicer: &Slicer<'_>,
        own: &HashSet<Site>,
    ) -> Vec<Meeting> {
        let mut places: BTreeMap<u32, Vec<Site>> = BTreeMap::new();
        for site in program.sites() {
            let set = self.influence[site.index()];
            // What a call of a defined function depends on, its body shows.
            let meets = self.sets[set as usize].len() > 1
                && !own.contains(&site)
                && !slicer.calls_defined(site);
            if meets {
                places.entry(set).or_default().push(site);
            }
        }
        let mut meetings = Vec::new();
        for (set, sites) in places {
            let mut segments: HashSet<SegmentId> = HashSet::new();
            for site in first_of(slicer, &sites) {
                if segments.insert(graphs.flow.segment_of(site)) {
                    meetings.push(Meeting {
                        site,
                        kind: MeetingKind::Depends,
                        changes: self.sets[set as usize].clone(),
                    });
                }
            }
        }
        meetings
    }

    fn overwriting(&self, kills: &[Vec<Site>], own: &HashSet<Site>) -> Vec<Meeting> {
        let mut by_site: BTreeMap<Site, BTreeSet<u32>> = BTreeMap::new();
        for (number, sites) in (0..).zip(kills) {
            for &site in sites.iter().filter(|site| !own.contains(site)) {
                if !self.of(site).is_empty() {
                    by_site.entry(site).or_default().insert(number);
                }
            }
        }
        let meeting = |(site, mut changes): (Site, BTreeSet<u32>)| {
            let killed = changes.iter().any(|change| !self.of(site).contains(change));
            changes.extend(self.of(site));
            killed.then(|| Meeting {
                site,
                kind: MeetingKind::Overwrites,
                changes: changes.into_iter().collect(),
            })
        };
        by_site.into_iter().filter_map(meeting).collect()
    }

    /// Branches that depend on one change and decide whether another runs.
    fn deciding(
        &self,
        program: &Program,
        graphs: &Graphs,
        changes: &[Changed],
        own: &HashSet<Site>,
    ) -> Vec<Meeting> {
        let mut by_site: BTreeMap<Site, BTreeSet<u32>> = BTreeMap::new();
        for (number, change) in (0..).zip(changes) {
            for branch in deciders(program, graphs, &change.modified) {
                let others = self.of(branch).iter().any(|&other| other != number);
                if others && !own.contains(&branch) {
                    by_site.entry(branch).or_default().insert(number);
                }
            }
        }
        let meeting = |(site, mut changes): (Site, BTreeSet<u32>)| {
            changes.extend(self.of(site));
            Meeting {
                site,
                kind: MeetingKind::Decides,
                changes: changes.into_iter().collect(),
            }
        };
        by_site.into_iter().map(meeting).collect()
    }
}

/// Of sites that depend on the same changes, those that depend on no other of
/// them. Of sites that depend on one another in a circle, the first of the code.
fn first_of(slicer: &Slicer<'_>, sites: &[Site]) -> Vec<Site> {
    let dependent: HashSet<Site> = slicer.slice(sites).dependent.into_iter().collect();
    let mut first: Vec<Site> = sites
        .iter()
        .copied()
        .filter(|site| !dependent.contains(site))
        .collect();
    let mut left: Vec<Site> = sites.to_vec();
    let covered = slicer.forward(&first);
    left.retain(|site| !covered.contains(site));
    for _ in 0..CIRCLES {
        let Some(&next) = left.first() else { break };
        first.push(next);
        let covered = slicer.forward(&[next]);
        left.retain(|site| !covered.contains(site));
    }
    first.sort_unstable();
    first
}

/// Branches that directly decide whether the sites run, also from outside the
/// function if nothing inside decides.
fn deciders(program: &Program, graphs: &Graphs, sites: &[Site]) -> BTreeSet<Site> {
    let mut found = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut work: Vec<SegmentId> = sites
        .iter()
        .map(|&site| graphs.flow.segment_of(site))
        .collect();
    while let Some(segment) = work.pop() {
        if !seen.insert(segment) {
            continue;
        }
        let function = graphs.flow.segment(segment).function;
        let flow = graphs.flow.function(function);
        let control = graphs.control(function);
        for decision in control.controllers(flow.node(segment)) {
            let last = graphs.flow.segment(flow.segment(decision.from)).last;
            if program.instruction(last).decides() {
                found.insert(last);
            }
        }
        if control.is_unconditional(flow.node(segment)) {
            let callers = graphs.calls.callers(function);
            work.extend(callers.map(|call| graphs.flow.segment_of(call)));
        }
    }
    found
}
