//! Pruned searches against enumeration: one statement of a random program is changed, traces have what it leaves
//! behind, and whatever is given up behind it must not differ.

use super::oracles::t5;
use super::properties::{Seen, inputs, see};
use super::random::{Source, Statement, Value, sites};
use super::*;
use crate::budget::{Budget, Stopped};
use crate::frontier::Random;
use crate::guide::{Advice, Context, Flip, Guide, Rule};
use crate::merge::Owner;
use crate::outcome::{Outcome, Verdict};
use crate::sameness::Sameness;
use crate::search::{Search, Settings};
use changeling_trace::Op;
use std::collections::BTreeSet;

/// What marks say. The machine has room for 64 blocks.
pub const ENTERED: u32 = 60;
pub const PASSED: u32 = 61;
pub const BLIND: u32 = 62;

/// Knows where the change is, and trusts the probes.
#[derive(Default)]
struct Pruner {
    /// What the literal rule does: one run that is not infected speaks for all.
    by_one_run: bool,
}

impl Guide for Pruner {
    fn advise(&mut self, flip: &Flip) -> Advice {
        let [base, head] = flip.contexts.map(|context| context.0);
        let passed = base & head & 2 != 0;
        let entered = (base | head) & 1 != 0;
        let rule = match (entered, flip.sameness) {
            _ if flip.owner != Owner::Both || !passed => None,
            (false, _) if !flip.after_difference => Some(Rule::NoLongerChanged),
            (true, _) if self.by_one_run => (!flip.infected).then_some(Rule::NotInfected),
            (true, Sameness::Alike) => Some(Rule::DecidedAlike),
            (true, Sameness::Equal) => Some(Rule::SameState),
            _ => None,
        };
        match rule {
            Some(Rule::NotInfected) => Advice::LeaveOut(Rule::NotInfected),
            Some(rule) => Advice::Discard(rule),
            None => Advice::Try {
                rank: 0,
                bucket: None,
            },
        }
    }

    fn enter(&mut self, _side: Side, context: Context, block: u32) -> Context {
        match block {
            ENTERED => Context(context.0 | 1),
            PASSED => Context(context.0 | 2),
            _ => context,
        }
    }

    fn has_probes(&self) -> bool {
        !self.by_one_run
    }

    fn is_blind(&self, _side: Side, block: u32) -> bool {
        block == BLIND
    }

    fn needs_sameness(&self, flip: &Flip) -> bool {
        let [base, head] = flip.contexts.map(|context| context.0);
        flip.owner == Owner::Both && base & head & 2 != 0
    }

    fn only_flips(&self) -> bool {
        self.by_one_run
    }
}

fn searched(base: &Program, head: &Program, from: &[u8]) -> (BTreeSet<Vec<u8>>, Outcome) {
    let runner = ToyRunner::new(base.clone(), head.clone());
    let log = runner.log.clone();
    let budget = Budget {
        runs: Some(3000),
        ..Budget::default()
    };
    let search = Search {
        subject: subject(stdin(2, from), sites()),
        inputs: Vec::new(),
        guide: Box::new(Pruner::default()),
        settings: Settings {
            budget,
            ..Settings::default()
        },
        cancel: Default::default(),
        resume: None,
    };
    let (outcome, _) = search.run(vec![Box::new(runner)], &mut crate::outcome::Silence);
    let inputs = log.lock().unwrap().iter().cloned().collect();
    (inputs, outcome)
}

/// A program, and the same with one of its statements changed, mostly one that runs for a single value of a number. What
/// it did may show in the end, or not.
fn changed(random: &mut Random) -> Option<[Source; 2]> {
    let mut base = Source::random(random, false);
    let at = 2 + random.below(base.0.len() - 3);
    let own = base.0[at].clone();
    let other = own.changed(random)?;
    let (register, constant) = (random.below(2), random.below(16) as u8);
    let is_guarded = random.below(4) != 0;
    let shown = random.below(16) as u8;
    let last = base.0.len() - 1;
    let result = base.0[last].clone();
    base.0[last] = Statement::If(
        Op::Ule,
        Value::Register(1),
        Value::Constant(shown),
        vec![result],
        vec![Statement::Print("b")],
    );
    let with = |statement: Statement| {
        let mut source = base.clone();
        let watched = Statement::Watched(Box::new(statement));
        let (number, wanted) = (Value::Register(register), Value::Constant(constant));
        source.0[at] = match is_guarded {
            true => Statement::If(Op::Eq, number, wanted, vec![watched], Vec::new()),
            false => watched,
        };
        source.0.insert(at + 1, Statement::Passed);
        source
    };
    Some([with(own), with(other)])
}

#[test]
fn a_pruned_search_finds_what_there_is() {
    let mut random = Random::new(11);
    let (mut pairs, mut different) = (0, 0);
    let mut by_rule = std::collections::BTreeMap::<Rule, u64>::new();
    let mut impossible = 0;
    while pairs < PAIRS {
        let Some([base, head]) = changed(&mut random) else {
            continue;
        };
        pairs += 1;
        let context = format!("base {base:?}\nhead {head:?}");
        let (base, head) = (base.program(), head.program());
        let differing = |inputs: &mut dyn Iterator<Item = Vec<u8>>| {
            let seen = inputs.map(|input| see(&base, &head, &input));
            let differing = seen.filter(|seen: &Seen| seen.different);
            differing.map(|seen| seen.pair).collect::<BTreeSet<_>>()
        };
        let expected = differing(&mut inputs().into_iter());
        let (ran, outcome) = searched(&base, &head, b"");
        assert_eq!(outcome.stopped, Stopped::Exhausted, "{context}");
        assert_eq!(differing(&mut ran.into_iter()), expected, "{context}");
        let verdict = match expected.is_empty() {
            true => Verdict::Equivalent,
            false => Verdict::Differences,
        };
        assert_eq!(outcome.verdict, verdict, "{:?}\n{context}", outcome.gaps);
        let stats = &outcome.stats;
        assert_eq!(stats.by_rule.values().sum::<u64>(), stats.discarded);
        assert!(stats.discarded <= stats.flips, "{stats:?}\n{context}");
        different += u32::from(!expected.is_empty());
        impossible += outcome.stats.infections.impossible;
        for (rule, count) in outcome.stats.by_rule {
            *by_rule.entry(rule).or_default() += count;
        }
    }
    assert!(different > PAIRS / 4 && different < PAIRS, "{different}");
    let rules: Vec<Rule> = by_rule.keys().copied().collect();
    let all = [Rule::NoLongerChanged, Rule::DecidedAlike, Rule::SameState];
    assert_eq!(rules, all, "{by_rule:?}");
    assert!(impossible > 0);
}

#[test]
fn t5_is_not_pruned_because_the_state_can_differ() {
    let from = |guide: Pruner| {
        let runner = ToyRunner::new(t5(Op::Mul), t5(Op::Add));
        let log = runner.log.clone();
        let search = Search {
            subject: subject(stdin(2, b""), sites()),
            inputs: vec![stdin(2, &[2, 0])],
            guide: Box::new(guide),
            settings: Settings::default(),
            cancel: Default::default(),
            resume: None,
        };
        let (outcome, _) = search.run(vec![Box::new(runner)], &mut crate::outcome::Silence);
        (log.lock().unwrap().clone(), outcome)
    };
    let (inputs, outcome) = from(Pruner::default());
    assert_eq!(outcome.verdict, Verdict::Differences);
    assert_eq!(inputs[0], [2, 0]);
    // One of the next inputs keeps the path and makes the states differ.
    assert!(inputs.iter().any(|input| input[0] != 2 && input[1] != 7));
    let found = outcome.stats.runs_to_first_difference;
    assert!(found <= Some(4), "{found:?}");
    assert!(outcome.stats.by_rule.is_empty());
    // As published: the one flip that shows it is given up, and the first run is the last.
    let (inputs, outcome) = from(Pruner { by_one_run: true });
    assert_eq!(outcome.stats.by_rule[&Rule::NotInfected], 1);
    assert!(outcome.differences.is_empty());
    assert_eq!(inputs, [[2, 0]]);
    assert_eq!(outcome.verdict, Verdict::NoneFound);
}

/// The same where the way to it leaves no other value than 2.
#[test]
fn a_state_that_cannot_differ_is_given_up() {
    let program = |op: Op| -> Program {
        std::sync::Arc::new(move |m| {
            let (x, z) = (m.byte(0), m.byte(1));
            let two = m.against(Op::Eq, x, 2);
            if !m.branch(3, two) {
                m.mark(PASSED);
                return Ok(());
            }
            m.mark(ENTERED);
            let y = m.against(op, x, 2);
            m.probe(0, false, y);
            m.mark(PASSED);
            let seven = m.against(Op::Eq, z, 7);
            if m.branch(1, seven) {
                m.print_number(2, "%u", y);
            }
            Ok(())
        })
    };
    let (_, outcome) = searched(&program(Op::Mul), &program(Op::Add), &[0, 0]);
    assert_eq!(outcome.verdict, Verdict::Equivalent, "{:?}", outcome.gaps);
    assert_eq!(outcome.stats.by_rule[&Rule::SameState], 1);
    assert!(outcome.stats.infections.impossible > 0);
}

/// What is counted in a loop that the input has no part in: one round more in head.
#[test]
fn rounds_of_a_loop_are_counted() {
    let program = |rounds: u64| -> Program {
        std::sync::Arc::new(move |m| {
            m.mark(ENTERED);
            for round in 0..=rounds {
                let more = m.constant(1, i64::from(round < rounds));
                m.probe(0, true, more);
            }
            m.mark(PASSED);
            let letter = m.byte(0);
            let shown = m.against(Op::Eq, letter, 7);
            if m.branch(1, shown) {
                m.print(&rounds.to_string());
            }
            Ok(())
        })
    };
    let (_, outcome) = searched(&program(100), &program(101), &[0, 0]);
    assert_eq!(outcome.verdict, Verdict::Differences);
    let (_, outcome) = searched(&program(100), &program(100), &[0, 0]);
    assert_eq!(outcome.verdict, Verdict::Equivalent);
    assert_eq!(outcome.stats.by_rule[&Rule::DecidedAlike], 1);
}

const PAIRS: u32 = 100;
