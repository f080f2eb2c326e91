//! Which orders of changes were run, and which of them shows differences: the *critical
//! sequence* of changes that only differ together.

use changeling_trace::input::Input;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Of what a loop repeats, sequences of so many changes are kept, whatever they are.
const TOLD: usize = 5;
/// Longer ones are cut. Two changes that take turns make 10, three in all orders 55.
const LONGEST: usize = 64;

/// The changes that a run enters, one after the other: the same one twice in a row is once, and what makes no new sequence
/// of [`TOLD`] changes or fewer is left out. A loop would fill all room otherwise, and hide what comes behind it.
pub fn entered(changes: impl Iterator<Item = u32>) -> Vec<u32> {
    // Each with the length of the shortest sequence that is new with it.
    let mut kept: Vec<(u32, usize)> = Vec::new();
    let mut last = None;
    for change in changes {
        if last.replace(change) == Some(change) || kept.len() >= LONGEST {
            continue;
        }
        // What ends with it and was not there before must go on from what came since it was last entered.
        let before = kept.iter().rposition(|(known, _)| *known == change);
        let since = before.map(|at| kept[at..].iter().map(|(_, shortest)| *shortest));
        let shortest = 1 + since.and_then(Iterator::min).unwrap_or(0);
        if shortest <= TOLD {
            kept.push((change, shortest));
        }
    }
    kept.into_iter().map(|(change, _)| change).collect()
}

/// A complete sequence of changes that head entered, and the runs that did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exercised {
    /// Numbers of changes, as [`entered`] has them.
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
    /// The numbers of the differences that it counts with; none if nothing was confirmed.
    pub shows: Vec<u32>,
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

/// The sequence that all differing runs have in common, if it says that changes act
/// together: at least two of them can be left out by some run.
pub fn critical(exercised: &[Exercised]) -> Option<Critical> {
    let sequence = in_common(exercised)?;
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

/// What all differing runs have in common: of all sequences that cannot be longer the one that the fewest runs enter, since
/// it leaves out most of those that do not differ. If there are too many to look at, one of the longest.
fn in_common(exercised: &[Exercised]) -> Option<Vec<u32>> {
    let differing = exercised.iter().filter(|entry| entry.differing > 0);
    let differing: Vec<&[u32]> = differing.map(|entry| entry.sequence.as_slice()).collect();
    // Of sequences that are as long, one must not be chosen that the next run lacks.
    let in_all = |change: &u32| differing.iter().all(|sequence| sequence.contains(change));
    let shared = differing.first()?.iter().copied().filter(in_all);
    let shared: BTreeSet<u32> = shared.collect();
    let restricted = differing.iter().map(|sequence| {
        let own = sequence.iter().copied();
        let mut own: Vec<u32> = own.filter(|change| shared.contains(change)).collect();
        own.dedup();
        own
    });
    let mut restricted: Vec<Vec<u32>> = restricted.collect();
    restricted.sort_by_key(Vec::len);
    restricted.dedup();
    let mut found = Found {
        within: &restricted,
        changes: shared.into_iter().collect(),
        steps: 0,
        sequences: Vec::new(),
    };
    if found.extend(&mut Vec::new(), &vec![0; restricted.len()]) {
        let runs = |sequence: &Vec<u32>| -> u64 {
            let entered = exercised
                .iter()
                .filter(|e| is_within(sequence, &e.sequence));
            entered.map(|entry| entry.runs).sum()
        };
        let sequences = found.sequences.into_iter();
        return sequences.min_by_key(|sequence| (runs(sequence), Reverse(sequence.len())));
    }
    let mut restricted = restricted.into_iter();
    let first = restricted.next()?;
    let mut common = restricted.fold(first, |common, next| longest_common(&common, &next));
    common.dedup();
    Some(common)
}

/// So much is looked at.
const MOST_STEPS: usize = 1 << 19;
const MOST_FOUND: usize = 64;

/// Sequences that all of some have in common and that cannot go on.
struct Found<'a> {
    within: &'a [Vec<u32>],
    changes: Vec<u32>,
    steps: usize,
    sequences: Vec<Vec<u32>>,
}

impl Found<'_> {
    /// Goes on from a sequence that ends at these places; false if there is too much to look at.
    fn extend(&mut self, sequence: &mut Vec<u32>, ends: &[usize]) -> bool {
        let mut goes_on = false;
        for change in self.changes.clone() {
            self.steps += self.within.len();
            if self.steps > MOST_STEPS || self.sequences.len() > MOST_FOUND {
                return false;
            }
            if sequence.last() == Some(&change) {
                continue;
            }
            let next = self.within.iter().zip(ends).map(|(whole, &end)| {
                let place = whole[end..].iter().position(|known| *known == change)?;
                Some(end + place + 1)
            });
            let Some(next) = next.collect::<Option<Vec<usize>>>() else {
                continue;
            };
            goes_on = true;
            sequence.push(change);
            let looked = self.extend(sequence, &next);
            sequence.pop();
            if !looked {
                return false;
            }
        }
        if !goes_on {
            self.sequences.push(sequence.clone());
        }
        true
    }
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

    /// All sequences of no more than `most` changes that a run comes by.
    fn told(sequence: &[u32], most: usize) -> BTreeSet<Vec<u32>> {
        let mut all = BTreeSet::from([Vec::new()]);
        for change in sequence {
            let longer: Vec<Vec<u32>> = all
                .iter()
                .filter(|known| known.len() < most)
                .map(|known| [known.as_slice(), &[*change]].concat())
                .collect();
            all.extend(longer);
        }
        all
    }

    #[test]
    fn what_a_loop_repeats_hides_nothing_behind_it() {
        let turns = [1, 2].repeat(500).into_iter().chain([3]);
        assert_eq!(entered(turns), [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3]);
        assert_eq!(entered([4, 4, 4, 5, 5, 4].into_iter()), [4, 5, 4]);
        let mut state = 7u32;
        for length in 0..120 {
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 30
            };
            let mut whole: Vec<u32> = (0..length).map(next).filter(|change| *change < 3).collect();
            whole.dedup();
            let kept = entered(whole.iter().copied());
            assert!(kept.len() <= 55, "{kept:?}");
            assert_eq!(told(&kept, TOLD), told(&whole, TOLD));
        }
    }

    /// Another change that some differing runs entered in between is no part of it, in whichever order they come.
    #[test]
    fn what_some_lack_is_not_chosen() {
        let runs = [
            (vec![1, 2, 3], true),
            (vec![2, 1, 3], true),
            (vec![4, 1, 3], true),
            (vec![3, 1], false),
            (vec![1], false),
            (vec![3], false),
        ];
        let critical = critical(&count(runs.into_iter())).unwrap();
        assert_eq!(critical.sequence, [1, 3]);
        assert_eq!((critical.differing, critical.others), (3, 3));
    }

    /// Both runs that differ enter 2, 1, 2, 1 and 2, 1, 2, 3; who enters only the first does not differ.
    #[test]
    fn what_fewer_runs_enter_says_more() {
        let runs = [
            (vec![2, 1, 3, 2, 3, 2, 1], true),
            (vec![1, 2, 1, 2, 1, 2, 1, 3], true),
            (vec![2, 1, 2, 1, 2, 1], false),
            (vec![1, 3], false),
            (vec![2, 3], false),
        ];
        let critical = critical(&count(runs.into_iter())).unwrap();
        assert_eq!(critical.sequence, [2, 1, 2, 3]);
        assert_eq!((critical.runs, critical.differing), (2, 2));
    }

    /// What has too many sequences in common to look at all of them has one all the same.
    #[test]
    fn long_sequences_have_something_in_common() {
        let long: Vec<u32> = (0..LONGEST as u32).map(|at| at * 7 % 11).collect();
        let turned: Vec<u32> = long.iter().rev().copied().collect();
        let runs = [(long, true), (turned, true), (vec![], false)];
        let critical = critical(&count(runs.into_iter())).unwrap();
        assert!(critical.sequence.len() > 2);
        assert_eq!((critical.runs, critical.others), (2, 1));
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
