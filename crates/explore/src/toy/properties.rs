//! The search against enumeration, on random pairs of programs.

use super::random::{Source, sites};
use super::*;
use crate::budget::{Budget, Stopped};
use crate::frontier::Random;
use crate::outcome::{Outcome, Verdict};
use crate::search::Settings;
use crate::tree::RunId;
use std::collections::BTreeSet;

/// Programs see only the low nibbles of two bytes: these inputs stand for all.
pub fn inputs() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    all.extend((0..16u8).map(|a| vec![a]));
    all.extend((0..16u8).flat_map(|a| (0..16u8).map(move |b| vec![a, b])));
    all
}

/// What identifies a pair of paths without expressions.
pub type Signature = Vec<(u32, u8, u64)>;

pub struct Seen {
    pub different: bool,
    pub pair: Signature,
}

pub fn see(base: &Program, head: &Program, input: &[u8]) -> Seen {
    let mut pair = Vec::new();
    let [b, h] = [base, head].map(|program| {
        let mut machine = Machine::new(&stdin(2, input));
        let end = program(&mut machine);
        let run = machine.traced(end);
        pair.push((0, 0, 0));
        pair.extend(
            run.trace
                .events
                .iter()
                .filter(|event| event.kind <= 4)
                .map(|event| {
                    let outcome = match event.kind {
                        2 => match event.value {
                            1 | 2 => 1,
                            5 => 2,
                            _ => 3,
                        },
                        _ => event.value,
                    };
                    (event.site, event.kind << 4 | event.flags, outcome)
                }),
        );
        run.observation
    });
    let different = b != h;
    Seen { different, pair }
}

fn explored(base: &Program, head: &Program, workers: usize) -> (BTreeSet<Vec<u8>>, Outcome) {
    let runner = ToyRunner::new(base.clone(), head.clone());
    let log = runner.log.clone();
    let runners = (0..workers).map(|_| runner.clone()).collect();
    let budget = Budget {
        runs: Some(3000),
        ..Budget::default()
    };
    let settings = Settings {
        budget,
        fixed_values: 300,
        ..Settings::default()
    };
    let (outcome, _) = explore(
        runners,
        subject(stdin(2, b""), sites()),
        Vec::new(),
        settings,
    );
    let inputs = log.lock().unwrap().iter().cloned().collect();
    (inputs, outcome)
}

/// Checks one pair; whether it differs.
fn agrees_with_enumeration(base: &Source, head: &Source, exact: bool, workers: usize) -> bool {
    let context = format!("base {base:?}\nhead {head:?}");
    let (base, head) = (base.program(), head.program());
    let mut expected: BTreeSet<Signature> = BTreeSet::new();
    for input in inputs() {
        let seen = see(&base, &head, &input);
        if seen.different {
            expected.insert(seen.pair);
        }
    }
    let (ran, outcome) = explored(&base, &head, workers);
    assert_eq!(outcome.stopped, Stopped::Exhausted, "{context}");
    assert!(
        outcome.violations.is_empty() && outcome.suspected.is_empty(),
        "{context}"
    );
    let found: BTreeSet<Signature> = ran
        .iter()
        .map(|input| see(&base, &head, input))
        .filter(|seen| seen.different)
        .map(|seen| seen.pair)
        .collect();
    assert_eq!(found, expected, "{context}");
    for difference in &outcome.differences {
        let bytes = &difference.input.streams[0].bytes;
        assert!(see(&base, &head, bytes).different, "{context}");
    }
    let verdict = match (expected.is_empty(), exact) {
        (false, _) => Verdict::Differences,
        (true, true) => Verdict::Equivalent,
        // A fixed value is not always one of several.
        (true, false) if outcome.gaps.is_empty() => Verdict::Equivalent,
        (true, false) => Verdict::NoneFound,
    };
    assert_eq!(
        outcome.verdict, verdict,
        "gaps {:?}\n{context}",
        outcome.gaps
    );
    !expected.is_empty()
}

#[test]
fn changed_programs_are_told_apart_exactly_where_they_differ() {
    let mut random = Random::new(1);
    let mut different = 0;
    for _ in 0..PAIRS {
        let base = Source::random(&mut random, false);
        let head = base.changed(&mut random);
        different += u32::from(agrees_with_enumeration(&base, &head, true, 1));
    }
    assert!(different > PAIRS / 4 && different < PAIRS);
}

#[test]
fn rewritten_programs_are_equivalent() {
    let mut random = Random::new(2);
    for _ in 0..PAIRS {
        let base = Source::random(&mut random, false);
        let head = base.rewritten(&mut random);
        assert!(!agrees_with_enumeration(&base, &head, true, 1));
    }
}

#[test]
fn fixed_values_never_make_a_wrong_verdict() {
    let mut random = Random::new(3);
    for _ in 0..PAIRS {
        let base = Source::random(&mut random, true);
        let head = base.changed(&mut random);
        agrees_with_enumeration(&base, &head, false, 1);
    }
}

#[test]
fn several_workers_find_the_same_differences() {
    let mut random = Random::new(4);
    for _ in 0..PAIRS / 4 {
        let base = Source::random(&mut random, false);
        let head = base.changed(&mut random);
        agrees_with_enumeration(&base, &head, true, 3);
    }
}

#[test]
fn one_worker_does_the_same_twice() {
    let mut random = Random::new(5);
    for _ in 0..8 {
        let base = Source::random(&mut random, true);
        let head = base.changed(&mut random);
        let logs = [0, 1].map(|_| {
            let runner = ToyRunner::new(base.program(), head.program());
            let log = runner.log.clone();
            let settings = Settings {
                seed: 7,
                ..Settings::default()
            };
            let subject = subject(stdin(2, b""), sites());
            let (outcome, saved) = explore(vec![runner], subject, Vec::new(), settings);
            let differences: Vec<RunId> = outcome
                .differences
                .iter()
                .map(|difference| difference.run)
                .collect();
            let log = log.lock().unwrap().clone();
            (log, differences, saved.inputs, outcome.stats.queries)
        });
        assert_eq!(logs[0], logs[1]);
    }
}

const PAIRS: u32 = 60;
