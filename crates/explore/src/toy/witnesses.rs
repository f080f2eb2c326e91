//! The witness rule, saving and stopping, on toy programs.

use super::random::sites;
use super::*;
use crate::budget::{Budget, Cancel, Stopped};
use crate::difference::Kind;
use crate::guide::{Advice, Flip, Guide, NoGuide, Rule};
use crate::outcome::{Difference, Listener, Outcome, Saved, Silence, Verdict};
use crate::runner::{PairRunner, Side, Variant};
use crate::search::{Search, Settings};
use crate::tree::RunId;
use changeling_trace::Op;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn program(body: impl Fn(&mut Machine) -> Result<(), Stop> + Send + Sync + 'static) -> Program {
    Arc::new(body)
}

/// Prints one text for 'x' as the first byte and another for the rest.
fn teller(special: &'static str, usual: &'static str) -> Program {
    program(move |m| {
        let Some(byte) = m.getchar(0, 1) else {
            return Ok(());
        };
        let is_x = m.against(Op::Eq, byte, i64::from(b'x'));
        let text = if m.branch(2, is_x) { special } else { usual };
        m.print(text);
        Ok(())
    })
}

fn run(runner: ToyRunner) -> Outcome {
    let subject = subject(stdin(2, b""), sites());
    explore(vec![runner], subject, Vec::new(), Settings::default()).0
}

#[test]
fn a_difference_is_replayed_reduced_and_shown() {
    let runner = ToyRunner::new(teller("a", "b"), teller("c", "b"));
    let outcome = run(runner);
    assert_eq!(outcome.verdict, Verdict::Differences);
    let [difference] = outcome.differences.as_slice() else {
        panic!("one group")
    };
    assert_eq!(difference.input.streams[0].bytes, b"x");
    assert_eq!(difference.seen[0].stdout, b"a");
    assert_eq!(difference.seen[1].stdout, b"c");
}

/// Head shouts at '1' in the second place, in two places of the code.
#[test]
fn a_smaller_input_stays_in_its_group() {
    let teller = |shouts: bool| {
        program(move |m| {
            let (Some(first), Some(second)) = (m.getchar(0, 1), m.getchar(1, 1)) else {
                return Ok(());
            };
            let is_x = m.against(Op::Eq, first, i64::from(b'x'));
            let site = if m.branch(2, is_x) { 3 } else { 4 };
            let is_one = m.against(Op::Eq, second, i64::from(b'1'));
            let shout = shouts && m.branch(site, is_one);
            m.print(if shout { "!" } else { "." });
            Ok(())
        })
    };
    let runner = ToyRunner::new(teller(false), teller(true));
    let subject = subject(stdin(3, b""), sites());
    let inputs = vec![stdin(3, b"x1z"), stdin(3, b"b1z")];
    let outcome = explore(vec![runner], subject, inputs, Settings::default()).0;
    let small: Vec<&[u8]> = outcome
        .differences
        .iter()
        .map(|difference| difference.input.streams[0].bytes.as_slice())
        .collect();
    assert_eq!(small, [b"x1", b"01"]);
}

/// "xy" cannot be made shorter step by step: 'z' alone is no part of it.
#[test]
fn the_shortest_input_stands_for_its_group() {
    let teller = |shouts: bool| {
        program(move |m| {
            let Some(first) = m.getchar(0, 1) else {
                return Ok(());
            };
            let is_x = m.against(Op::Eq, first, i64::from(b'x'));
            let is_z = m.against(Op::Eq, first, i64::from(b'z'));
            let found = match m.branch(2, is_x) {
                true => match m.getchar(1, 1) {
                    Some(second) => {
                        let is_y = m.against(Op::Eq, second, i64::from(b'y'));
                        m.branch(3, is_y)
                    }
                    None => false,
                },
                false => m.branch(4, is_z),
            };
            m.print(if shouts && found { "!" } else { "." });
            Ok(())
        })
    };
    let runner = ToyRunner::new(teller(false), teller(true));
    let subject = subject(stdin(2, b""), sites());
    let inputs = vec![stdin(2, b"xy"), stdin(2, b"zz")];
    let outcome = explore(vec![runner], subject, inputs, Settings::default()).0;
    let [difference] = outcome.differences.as_slice() else {
        panic!("one group")
    };
    assert_eq!(difference.original.streams[0].bytes, b"xy");
    assert_eq!(difference.input.streams[0].bytes, b"z");
    assert!(difference.group_size >= 2);
}

#[test]
fn what_plain_builds_do_not_show_is_only_suspected() {
    let mut runner = ToyRunner::new(teller("a", "b"), teller("c", "b"));
    runner.plain = Some([teller("a", "b"), teller("a", "b")]);
    let outcome = run(runner);
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    assert!(outcome.differences.is_empty());
    assert_eq!(outcome.suspected.len(), 1);
    assert_eq!(outcome.violations.len(), 1);
    assert_eq!(outcome.violations[0].side, Side::Head);
    assert_eq!(outcome.stopped, Stopped::Exhausted);
}

#[test]
fn a_difference_that_only_plain_builds_show_is_found_before_equivalence_is_said() {
    let mut runner = ToyRunner::new(teller("a", "b"), teller("a", "b"));
    runner.plain = Some([teller("a", "b"), teller("c", "b")]);
    let outcome = run(runner);
    assert_eq!(outcome.verdict, Verdict::Differences);
    assert_eq!(outcome.violations.len(), 1);
}

#[test]
fn a_version_that_disagrees_with_itself_is_unstable() {
    let count = Arc::new(AtomicU64::new(0));
    let clock = program(move |m| {
        m.print(&count.fetch_add(1, Ordering::Relaxed).to_string());
        Ok(())
    });
    let runner = ToyRunner::new(teller("a", "b"), clock);
    let outcome = run(runner);
    assert!(outcome.differences.is_empty());
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    assert_eq!(outcome.unstable[0].side, Some(Side::Head));
}

#[test]
fn a_difference_that_vanishes_with_filled_memory_is_undefined_behaviour() {
    let mut runner = ToyRunner::new(teller("a", "b"), teller("c", "b"));
    runner
        .variants
        .push((Variant::Zeroed, [teller("c", "b"), teller("d", "b")]));
    runner
        .variants
        .push((Variant::Patterned, [teller("d", "b"), teller("d", "b")]));
    let outcome = run(runner);
    assert!(outcome.differences.is_empty());
    assert_eq!(outcome.undefined.len(), 1);
    assert!(
        outcome.undefined[0]
            .reason
            .as_ref()
            .unwrap()
            .contains("a pattern")
    );
    assert_eq!(outcome.verdict, Verdict::NoneFound);
}

/// What is in memory that nobody wrote is not the same in the traced program: no fault of the tracer.
#[test]
fn uninitialised_memory_is_not_held_against_the_tracer() {
    let mut runner = ToyRunner::new(teller("a", "b"), teller("traced", "b"));
    runner.plain = Some([teller("a", "b"), teller("plain", "b")]);
    runner
        .variants
        .push((Variant::Zeroed, [teller("a", "b"), teller("a", "b")]));
    let outcome = run(runner);
    assert_eq!(outcome.undefined.len(), 1);
    assert!(outcome.violations.is_empty());
}

/// The plain builds happen to find the same in it.
#[test]
fn nor_is_it_where_plain_builds_behave_alike() {
    let mut runner = ToyRunner::new(teller("a", "b"), teller("traced", "b"));
    runner.plain = Some([teller("a", "b"), teller("a", "b")]);
    for (variant, filled) in [(Variant::Zeroed, "a"), (Variant::Patterned, "z")] {
        let programs = [teller("a", "b"), teller(filled, "b")];
        runner.variants.push((variant, programs));
    }
    let outcome = run(runner);
    assert_eq!(outcome.suspected.len(), 1);
    assert!(outcome.violations.is_empty());
    assert!(
        outcome
            .gaps
            .iter()
            .any(|gap| gap.what.contains("undefined"))
    );
    assert_eq!(outcome.verdict, Verdict::NoneFound);
}

#[test]
fn a_hang_is_one_only_if_it_lasts() {
    let hangs = || program(|_| Err(Stop::TimedOut));
    let slow = || teller("a", "b");
    for (patient, expected) in [(hangs(), true), (slow(), false)] {
        let mut runner = ToyRunner::new(teller("a", "b"), hangs());
        runner
            .variants
            .push((Variant::Patient, [teller("a", "b"), patient]));
        let outcome = run(runner);
        assert_eq!(!outcome.differences.is_empty(), expected);
        if expected {
            assert_eq!(
                *outcome.differences[0].kind(),
                Kind::Hang { side: Side::Head }
            );
        } else {
            assert!(outcome.suspected[0].reason.contains("takes longer"));
        }
    }
}

/// It says nothing of equivalence, but it is no fault of the tracer either.
#[test]
fn a_traced_run_that_is_too_slow_is_no_violation() {
    let hangs = || program(|_| Err(Stop::TimedOut));
    let mut runner = ToyRunner::new(teller("a", "b"), hangs());
    runner.plain = Some([teller("a", "b"), teller("a", "b")]);
    let outcome = run(runner);
    assert!(outcome.violations.is_empty());
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    let mut gaps = outcome.gaps.iter();
    assert!(gaps.any(|gap| gap.what.contains("did not end in time")));
}

#[test]
fn a_sanitizer_finding_in_one_version_is_a_difference() {
    let mut runner = ToyRunner::new(teller("a", "a"), teller("a", "a"));
    let loud: Program = program(|m| {
        let Some(byte) = m.getchar(0, 1) else {
            return Ok(());
        };
        if byte.value == u64::from(b'x') {
            m.complain("==1==ERROR: AddressSanitizer: heap-buffer-overflow");
            return Err(Stop::Exit(1));
        }
        Ok(())
    });
    runner
        .variants
        .push((Variant::Sanitized, [teller("a", "a"), loud]));
    let outcome = run(runner);
    assert_eq!(
        *outcome.differences[0].kind(),
        Kind::Sanitizer { side: Side::Head }
    );
    assert_eq!(outcome.differences[0].input.streams[0].bytes, b"x");
}

/// A sanitizer that speaks of 'x' in every run, or in every other.
fn sanitized(now_and_then: bool) -> Program {
    let runs = AtomicU64::new(0);
    program(move |m| {
        let Some(byte) = m.getchar(0, 1) else {
            return Ok(());
        };
        if byte.value == u64::from(b'x') {
            let run = runs.fetch_add(1, Ordering::Relaxed);
            if !now_and_then || run.is_multiple_of(2) {
                m.complain("==1==ERROR: AddressSanitizer: heap-use-after-free");
            }
        }
        Ok(())
    })
}

#[test]
fn a_sanitizer_that_disagrees_with_itself_is_unstable() {
    for (now_and_then, verdict) in [(true, Verdict::NoneFound), (false, Verdict::Differences)] {
        let mut runner = ToyRunner::new(teller("a", "a"), teller("a", "a"));
        let variants = [teller("a", "a"), sanitized(now_and_then)];
        runner.variants.push((Variant::Sanitized, variants));
        let outcome = run(runner);
        assert_eq!(outcome.verdict, verdict);
        assert_eq!(!outcome.unstable.is_empty(), now_and_then);
    }
}

/// One input of each pair of paths is run, and a sanitizer may find something on another one.
#[test]
fn nothing_found_by_sanitizers_is_no_proof() {
    let mut runner = ToyRunner::new(teller("a", "a"), teller("a", "a"));
    let quiet = [teller("a", "a"), teller("a", "a")];
    runner.variants.push((Variant::Sanitized, quiet));
    let outcome = run(runner);
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    let [gap] = outcome.gaps.as_slice() else {
        panic!("{:?}", outcome.gaps)
    };
    assert!(gap.what.contains("sanitizers"));
    assert_eq!(gap.count, outcome.stats.pairs);
}

/// Remembers what it hears.
#[derive(Default)]
struct Notes {
    inputs: u64,
    differences: Vec<Difference>,
    progress: u64,
    cancel_after: Option<(u64, Cancel)>,
}

impl Listener for Notes {
    fn progress(&mut self, _: &crate::outcome::Progress) {
        self.progress += 1;
    }

    fn input(&mut self, _: RunId, _: &Input) {
        self.inputs += 1;
        if let Some((after, cancel)) = &self.cancel_after
            && self.inputs >= *after
        {
            cancel.cancel();
        }
    }

    fn difference(&mut self, difference: &Difference) {
        self.differences.push(difference.clone());
    }
}

fn chain(texts: [&'static str; 2]) -> Program {
    program(move |m| {
        for position in 0..5 {
            let Some(byte) = m.getchar(position, 1) else {
                return Ok(());
            };
            let right = m.against(Op::Eq, byte, i64::from(b"magic"[position]));
            if !m.branch(2, right) {
                m.print(texts[0]);
                return Ok(());
            }
        }
        m.print(texts[1]);
        Ok(())
    })
}

fn search(settings: Settings, cancel: Cancel, resume: Option<Saved>) -> Search {
    Search {
        subject: subject(stdin(5, b""), sites()),
        inputs: Vec::new(),
        guide: Box::new(NoGuide),
        settings,
        cancel,
        resume,
    }
}

#[test]
fn a_search_goes_on_where_it_was_stopped() {
    let runner = || -> Vec<Box<dyn PairRunner>> {
        vec![Box::new(ToyRunner::new(
            chain(["no", "yes"]),
            chain(["no", "YES"]),
        ))]
    };
    let budget = Budget {
        runs: Some(4),
        ..Budget::default()
    };
    let settings = Settings {
        budget,
        ..Settings::default()
    };
    let (stopped, saved) = search(settings, Cancel::default(), None).run(runner(), &mut Silence);
    assert_eq!(stopped.stopped, Stopped::Runs);
    assert_eq!((stopped.stats.runs, saved.inputs.len()), (4, 4));
    let text = serde_json::to_string(&saved).unwrap();
    let saved: Saved = serde_json::from_str(&text).unwrap();
    let (whole, _) =
        search(Settings::default(), Cancel::default(), None).run(runner(), &mut Silence);
    // What was run before is neither counted nor told again.
    #[derive(Default)]
    struct Told(Vec<Input>);
    impl Listener for Told {
        fn input(&mut self, _run: RunId, input: &Input) {
            self.0.push(input.clone());
        }
    }
    let budget = Budget {
        runs: Some(1),
        ..Budget::default()
    };
    let settings = Settings {
        budget,
        ..Settings::default()
    };
    let mut told = Told::default();
    let (one_more, _) =
        search(settings, Cancel::default(), Some(saved.clone())).run(runner(), &mut told);
    assert_eq!((one_more.stats.runs, told.0.len()), (5, 1));
    assert!(!saved.inputs.contains(&told.0[0]));
    let (resumed, again) =
        search(Settings::default(), Cancel::default(), Some(saved)).run(runner(), &mut Silence);
    assert_eq!(resumed.verdict, Verdict::Differences);
    assert_eq!(resumed.stats.pairs, whole.stats.pairs);
    assert_eq!(resumed.stats.runs, whole.stats.runs);
    // Once more, with the difference already known: it keeps its number and size.
    let (third, _) =
        search(Settings::default(), Cancel::default(), Some(again)).run(runner(), &mut Silence);
    assert_eq!(third.differences, resumed.differences);
}

#[test]
fn cancelling_ends_in_an_outcome_and_listeners_hear_everything() {
    let cancel = Cancel::default();
    let mut notes = Notes {
        cancel_after: Some((3, cancel.clone())),
        ..Notes::default()
    };
    let runner = ToyRunner::new(chain(["no", "yes"]), chain(["no", "yes"]));
    let (outcome, saved) =
        search(Settings::default(), cancel, None).run(vec![Box::new(runner)], &mut notes);
    assert_eq!(outcome.stopped, Stopped::Cancelled);
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    assert_eq!((saved.inputs.len(), notes.inputs), (3, 3));
    assert!(notes.progress > 0);

    let mut notes = Notes::default();
    let runner = ToyRunner::new(chain(["no", "yes"]), chain(["no", "YES"]));
    let (outcome, _) = search(Settings::default(), Cancel::default(), None)
        .run(vec![Box::new(runner)], &mut notes);
    assert_eq!(
        notes.differences.last().unwrap().input,
        outcome.differences[0].input
    );
    assert_eq!(notes.inputs, outcome.stats.runs);
}

/// Wants nothing to do with site 2.
struct Shy(Advice);

impl Guide for Shy {
    fn advise(&mut self, flip: &Flip) -> Advice {
        if flip.sites.contains(&2) {
            self.0
        } else {
            Advice::Try {
                rank: 0,
                bucket: None,
            }
        }
    }
}

#[test]
fn a_guide_that_leaves_things_out_costs_the_proof() {
    for (advice, verdict) in [
        (Advice::Discard(Rule::NoLongerChanged), Verdict::Equivalent),
        (Advice::LeaveOut(Rule::NoSay), Verdict::NoneFound),
    ] {
        let runner = ToyRunner::new(chain(["no", "yes"]), chain(["no", "yes"]));
        let mut search = search(Settings::default(), Cancel::default(), None);
        search.guide = Box::new(Shy(advice));
        let (outcome, _) = search.run(vec![Box::new(runner)], &mut Silence);
        assert_eq!(outcome.verdict, verdict);
        assert!(outcome.stats.discarded > 0);
    }
}

#[test]
fn untracked_output_and_fixed_values_cost_the_proof() {
    let untracked = program(|m| {
        m.print_untracked("a");
        Ok(())
    });
    let outcome = run(ToyRunner::new(untracked.clone(), untracked));
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    assert!(outcome.gaps[0].what.contains("past the tracer"));

    let fixed = program(|m| {
        let Some(byte) = m.getchar(0, 1) else {
            return Ok(());
        };
        let byte = m.concretize(2, byte);
        m.putchar(3, byte);
        Ok(())
    });
    let outcome = run(ToyRunner::new(fixed.clone(), fixed));
    assert_eq!(outcome.verdict, Verdict::NoneFound);
    assert!(outcome.stats.concretizations > 0);

    // Here only one value is possible: nothing is lost.
    let forced = program(|m| {
        let Some(byte) = m.getchar(0, 1) else {
            return Ok(());
        };
        let is_x = m.against(Op::Eq, byte, i64::from(b'x'));
        if m.branch(2, is_x) {
            let byte = m.concretize(3, byte);
            m.putchar(4, byte);
        }
        Ok(())
    });
    let outcome = run(ToyRunner::new(forced.clone(), forced));
    assert_eq!(outcome.verdict, Verdict::Equivalent, "{:?}", outcome.gaps);
}

#[test]
fn programs_that_cannot_run_are_said_to_be_so() {
    struct Broken;
    impl PairRunner for Broken {
        fn pair(
            &mut self,
            _: &Input,
        ) -> Result<[crate::runner::TracedRun<'_>; 2], crate::runner::RunError> {
            Err(crate::runner::RunError {
                message: "no such program".into(),
            })
        }

        fn replay(
            &mut self,
            _: Side,
            _: Variant,
            _: &Input,
        ) -> Result<Option<crate::Observation>, crate::runner::RunError> {
            Ok(None)
        }
    }
    let (outcome, _) = search(Settings::default(), Cancel::default(), None)
        .run(vec![Box::new(Broken)], &mut Silence);
    assert_eq!(outcome.verdict, Verdict::CouldNotRun);
    assert_eq!(outcome.error.as_deref(), Some("no such program"));
}
