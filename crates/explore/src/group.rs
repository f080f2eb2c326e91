//! Which differences a user would call the same.

use crate::Observation;
use crate::difference::Kind;
use crate::runner::Side;
use changeling_trace::sites::SiteTable;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Differences with the same key are one group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKey {
    pub kind: Kind,
    /// Where the paths part, in base and head; none if they do not.
    pub parting: Option<[Spot; 2]>,
    /// Paths that do not part say nothing of the cause: then these parts of changes were entered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<u32>,
}

impl GroupKey {
    /// Whether a difference of the other group is most likely one of this: it enters all changes that are enough
    /// to show one, and more.
    pub fn explains(&self, other: &GroupKey) -> bool {
        self.kind == other.kind
            && self.parting.is_none()
            && other.parting.is_none()
            && !self.changes.is_empty()
            && self.changes != other.changes
            && self
                .changes
                .iter()
                .all(|change| other.changes.contains(change))
    }
}

/// What a group explains but looks otherwise is shown by itself, so many times.
pub const KEPT_APART: usize = 3;

/// What a difference looks like to a reader: the first line in which the versions differ, of each, whatever
/// the numbers in it are.
pub fn wording(seen: &[Observation; 2]) -> u64 {
    let [base, head] = seen;
    let texts = [(&base.stdout, &head.stdout), (&base.stderr, &head.stderr)];
    let mut hasher = DefaultHasher::new();
    if let Some((base, head)) = texts.into_iter().find(|(base, head)| base != head) {
        for line in first_difference(base, head) {
            line.map(without_numbers).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Of texts that differ: the first line in which they do, none where a text has ended.
fn first_difference<'a>(base: &'a [u8], head: &'a [u8]) -> [Option<&'a [u8]>; 2] {
    let mut lines = [base, head].map(|text| text.split(|byte| *byte == b'\n'));
    loop {
        let next = lines.each_mut().map(Iterator::next);
        if next[0] != next[1] || next[0].is_none() {
            return next;
        }
    }
}

fn without_numbers(line: &[u8]) -> Vec<u8> {
    let mut short = Vec::new();
    for byte in line {
        match byte.is_ascii_digit() {
            true if short.last() == Some(&b'#') => {}
            true => short.push(b'#'),
            false => short.push(*byte),
        }
    }
    short
}

/// A place in the source of one version. All empty: the version's path ends
/// where the other's goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spot {
    pub site: u32,
    pub function: String,
    pub file: String,
    pub line: u32,
}

impl Spot {
    pub fn of(sites: &SiteTable, number: u32) -> Spot {
        let Some(site) = sites.site(number) else {
            return Spot {
                site: number,
                ..Spot::default()
            };
        };
        let function = sites.functions.get(site.function as usize);
        let file = sites.files.get(site.file as usize);
        Spot {
            site: number,
            function: function
                .map(|function| function.name.clone())
                .unwrap_or_default(),
            file: file.cloned().unwrap_or_default(),
            line: site.line,
        }
    }

    pub fn pair(sites: [&SiteTable; 2], numbers: [u32; 2]) -> [Spot; 2] {
        Side::BOTH.map(|side| Spot::of(sites[side.index()], numbers[side.index()]))
    }
}
