//! Which orders of changes were run, and which of them shows differences: the *critical
//! sequence* of changes that only differ together.

use changeling_trace::input::Input;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A complete sequence of changes that head entered, and the runs that did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exercised {
    /// Numbers of changes; the same one twice in a row is once.
    pub sequence: Vec<u32>,
    pub runs: u64,
    /// How many of them showed a difference.
    pub differing: u64,
}

/// An input that showed a difference, and the changes that head entered on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing {
    pub input: Input,
    pub sequence: Vec<u32>,
    /// The number of the difference that it counts with, if it was confirmed.
    pub shows: Option<u32>,
}

/// Changes that every differing run entered, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Critical {
    pub sequence: Vec<u32>,
    /// Runs that entered them in this order.
    pub runs: u64,
    /// How many of these showed a difference.
    pub differing: u64,
    /// Runs that did not. None of them showed one.
    pub others: u64,
}

/// Counts complete sequences.
pub fn count(runs: impl Iterator<Item = (Vec<u32>, bool)>) -> Vec<Exercised> {
    let mut counts: BTreeMap<Vec<u32>, (u64, u64)> = BTreeMap::new();
    for (sequence, differs) in runs {
        let (runs, differing) = counts.entry(sequence).or_default();
        *runs += 1;
        *differing += u64::from(differs);
    }
    let counts = counts.into_iter();
    counts
        .map(|(sequence, (runs, differing))| Exercised {
            sequence,
            runs,
            differing,
        })
        .collect()
}

/// The same runs, if only these count as differing.
pub fn among<'a>(
    exercised: &[Exercised],
    differing: impl Iterator<Item = &'a Differing>,
) -> Vec<Exercised> {
    let mut counts = exercised.to_vec();
    counts.iter_mut().for_each(|entry| entry.differing = 0);
    for run in differing {
        let mut own = counts.iter_mut();
        let own = own.find(|entry| entry.sequence == run.sequence);
        own.into_iter().for_each(|entry| entry.differing += 1);
    }
    counts
}

/// The longest sequence that all differing runs have in common, if it says that changes act
/// together: at least two of them can be left out by some run.
pub fn critical(exercised: &[Exercised]) -> Option<Critical> {
    let mut differing = exercised.iter().filter(|entry| entry.differing > 0);
    let first = differing.next()?.sequence.clone();
    let sequence = differing.fold(first, |common, entry| {
        longest_common(&common, &entry.sequence)
    });
    let optional = sequence
        .iter()
        .filter(|change| exercised.iter().any(|e| !e.sequence.contains(change)));
    let mut optional: Vec<&u32> = optional.collect();
    optional.sort_unstable();
    optional.dedup();
    if optional.len() < 2 {
        return None;
    }
    let mut critical = Critical {
        runs: 0,
        differing: 0,
        others: 0,
        sequence,
    };
    for entry in exercised {
        if is_within(&critical.sequence, &entry.sequence) {
            critical.runs += entry.runs;
            critical.differing += entry.differing;
        } else {
            critical.others += entry.runs;
        }
    }
    Some(critical)
}

fn is_within(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter()
        .all(|wanted| rest.any(|change| change == wanted))
}

fn longest_common(a: &[u32], b: &[u32]) -> Vec<u32> {
    // lengths[i][j]: of a[i..] and b[j..]
    let mut lengths = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = if a[i] == b[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut common = Vec::with_capacity(lengths[0][0]);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            common.push(a[i]);
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All inputs over `0 1 2 -` of up to six bytes on the example of the change-sequence graph, with the changes that
    /// they come by, each time: change 1 always, 5 on each digit, 7 on each dash. A dash behind a digit takes over the
    /// last one, and 0 fails.
    fn example() -> Vec<(Vec<u8>, Vec<u32>, bool)> {
        let mut inputs = vec![Vec::new()];
        let mut all = Vec::new();
        for _ in 0..=6 {
            all.extend(inputs.clone());
            inputs = inputs
                .iter()
                .flat_map(|input| b"012-".map(|byte| [input.as_slice(), &[byte]].concat()))
                .collect();
        }
        assert_eq!(all.len(), 5461);
        let run = |input: Vec<u8>| {
            let (mut value, mut digits, mut start) = (0, false, 1);
            let mut sequence = vec![1];
            for &byte in &input {
                if byte == b'-' {
                    start = if digits { value } else { 1 };
                } else {
                    (value, digits) = (byte - b'0', true);
                }
                sequence.push(if byte == b'-' { 7 } else { 5 });
            }
            (input, sequence, start == 0)
        };
        all.into_iter().map(run).collect()
    }

    #[test]
    fn one_critical_sequence() {
        let runs = example().into_iter().map(|(_, mut sequence, fails)| {
            sequence.dedup();
            (sequence, fails)
        });
        let exercised = count(runs);
        let differing: u64 = exercised.iter().map(|entry| entry.differing).sum();
        assert_eq!(differing, 1275);
        let critical = critical(&exercised).unwrap();
        assert_eq!(critical.sequence, [1, 5, 7]);
        assert_eq!(critical.runs, 3825);
        assert_eq!(critical.differing, 1275);
        assert_eq!(critical.others, 1636);
    }

    /// The complete sequences that the specification lists, and how many of their inputs fail.
    #[test]
    fn complete_sequences_of_the_example() {
        let all = example();
        let sequences = count(
            all.iter()
                .map(|(_, sequence, fails)| (sequence.clone(), *fails)),
        );
        let of = |wanted: &[u32]| {
            let found = sequences.iter().find(|entry| entry.sequence == wanted);
            found.map(|entry| (entry.differing, entry.runs)).unwrap()
        };
        let harmless: [&[u32]; 6] = [&[1], &[1, 5], &[1, 7], &[1, 7, 5], &[1, 5, 5], &[1, 7, 7]];
        for sequence in harmless {
            assert_eq!(of(sequence).0, 0, "{sequence:?}");
        }
        assert_eq!(of(&[1, 5, 7]), (1, 3));
        assert_eq!(of(&[1, 5, 7, 5]), (3, 9));
        assert_eq!(of(&[1, 7, 5, 7]), (1, 3));
        assert_eq!(of(&[1, 5, 5, 7]), (3, 9));
        let mut failing: Vec<&[u8]> = all
            .iter()
            .filter_map(|(input, _, fails)| fails.then_some(input.as_slice()))
            .collect();
        failing.sort_by_key(|input| input.len());
        let mut shortest: Vec<&[u8]> = failing[..9].to_vec();
        shortest.sort_unstable();
        let expected = ["-0-", "0-", "0--", "0-0", "0-1", "0-2", "00-", "10-", "20-"];
        assert_eq!(shortest, expected.map(str::as_bytes));
        // Whoever fails has come by 5 before 7.
        let orders = all.iter().filter(|(_, _, fails)| *fails);
        assert!(
            orders
                .into_iter()
                .all(|(_, order, _)| is_within(&[5, 7], order))
        );
    }

    #[test]
    fn changes_in_isolation_show_nothing() {
        let isolated = |input: &[u32]| Exercised {
            sequence: input.to_vec(),
            runs: 1,
            differing: 0,
        };
        assert_eq!(critical(&[isolated(&[1, 5]), isolated(&[1, 7])]), None);
    }

    #[test]
    fn one_change_alone_is_no_interaction() {
        let runs = [(vec![1], false), (vec![1, 2], true), (vec![1, 2, 3], true)];
        assert_eq!(critical(&count(runs.into_iter())), None);
        let runs = [(vec![2, 3], true), (vec![3, 2], true), (vec![], false)];
        assert_eq!(critical(&count(runs.into_iter())), None);
    }
}
