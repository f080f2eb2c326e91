//! Things of the same name in two outcomes.

use crate::results::Outcome;
use std::collections::BTreeSet;

/// Files that differ; a file that one version did not write is empty there.
pub fn files<'a>(base: &'a Outcome, head: &'a Outcome) -> Vec<(&'a str, &'a [u8], &'a [u8])> {
    let names: BTreeSet<&str> = base
        .files
        .iter()
        .chain(&head.files)
        .map(|file| file.name.as_str())
        .collect();
    let find = |outcome: &'a Outcome, name: &str| {
        outcome
            .files
            .iter()
            .find(|file| file.name == name)
            .map_or(&[][..], |file| &file.bytes)
    };
    names
        .into_iter()
        .map(|name| (name, find(base, name), find(head, name)))
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
