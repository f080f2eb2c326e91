//! Things of the same name in two outcomes.

use crate::results::Outcome;
use crate::wording;
use std::collections::{BTreeMap, BTreeSet};

/// The first few of those that differ, and a line about the rest: a program may write thousands of files.
pub fn few<T>(mut all: Vec<T>, most: usize, noun: &str) -> (Vec<T>, Option<String>) {
    let more = all.len().saturating_sub(most);
    all.truncate(most);
    let verb = if more == 1 { "differs" } else { "differ" };
    let more_nouns = wording::count(more as u64, &format!("more {noun}"));
    (all, (more > 0).then(|| format!("… {more_nouns} {verb}")))
}

/// Files that differ; a file that one version did not write is empty there.
pub fn files<'a>(base: &'a Outcome, head: &'a Outcome) -> Vec<(&'a str, &'a [u8], &'a [u8])> {
    let names: BTreeSet<&str> = base
        .files
        .iter()
        .chain(&head.files)
        .map(|file| file.name.as_str())
        .collect();
    let by_name = |outcome: &'a Outcome| -> BTreeMap<&'a str, &'a [u8]> {
        let files = outcome.files.iter();
        files
            .map(|file| (file.name.as_str(), &file.bytes[..]))
            .collect()
    };
    let (base, head) = (by_name(base), by_name(head));
    let find = |files: &BTreeMap<&str, &'a [u8]>, name| files.get(name).copied().unwrap_or(&[]);
    names
        .into_iter()
        .map(|name| (name, find(&base, name), find(&head, name)))
        .filter(|(_, base, head)| base != head)
        .collect()
}

/// Observed values that differ, one line for each time a name was observed.
pub fn observed<'a>(base: &'a Outcome, head: &'a Outcome) -> Vec<(&'a str, String, String)> {
    let names: BTreeSet<&str> = base
        .observed
        .iter()
        .chain(&head.observed)
        .map(|value| value.name.as_str())
        .collect();
    let values = |outcome: &Outcome, name: &str| -> String {
        let named = outcome.observed.iter().filter(|value| value.name == name);
        named.map(|value| format!("{}\n", value.value)).collect()
    };
    names
        .into_iter()
        .map(|name| (name, values(base, name), values(head, name)))
        .filter(|(_, base, head)| base != head)
        .collect()
}
