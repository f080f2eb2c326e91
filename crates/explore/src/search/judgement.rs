//! What the plain builds say about an input: confirmed, made small, written down.

use super::Shared;
use crate::difference::{Kind, classify};
use crate::digest::digest;
use crate::findings::{Class, Recorded};
use crate::gap::Gap;
use crate::group::{GroupKey, Spot};
use crate::merge;
use crate::path;
use crate::reduce;
use crate::runner::{PairRunner, RunError, Side, Variant};
use crate::tree::RunId;
use crate::witness::{self, Sanitized, Testimony};
use crate::{End, Observation};
use changeling_solver::Arena;
use changeling_trace::input::Input;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an input is made smaller when the time is over.
const OVERTIME: Duration = Duration::from_secs(3);

impl Shared<'_> {
    /// The traced versions differ: do the plain ones?
    pub(super) fn judge(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Input,
        traced: &[Observation; 2],
    ) -> Result<(), RunError> {
        let mut counted = Counted { runner, replays: 0 };
        let testimony = witness::hear(&mut counted, &self.subject.normaliser, input);
        self.lock().state.stats.replays += counted.replays;
        let testimony = testimony?;
        // Where uninitialised memory is read, the tracer is not to blame for what was in it.
        if let Testimony::Confirmed { seen, .. } | Testimony::Suspected { seen, .. } = &testimony {
            self.note_violations(runner, run, input, [traced, seen])?;
        }
        self.conclude(runner, run, input, testimony)
    }

    /// A finding of a sanitizer in one version only is a difference of its own kind.
    pub(super) fn judge_sanitized(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Input,
        heard: Sanitized,
    ) -> Result<(), RunError> {
        let entered = runner.entered(input);
        let (kind, recorded) = {
            let mut inner = self.lock();
            inner.state.sanitized = true;
            match heard {
                Sanitized::Alike => return Ok(()),
                Sanitized::Unstable { side, seen } => {
                    let testimony = Testimony::Unstable { side, seen };
                    inner.state.record(run, testimony, entered);
                    return Ok(());
                }
                Sanitized::OnlyOne { kind, seen } => {
                    let testimony = Testimony::Confirmed {
                        kind: kind.clone(),
                        seen,
                    };
                    (kind, inner.state.record(run, testimony, entered))
                }
            }
        };
        self.announce(runner, input, &kind, recorded)
    }

    fn conclude(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Input,
        testimony: Testimony,
    ) -> Result<(), RunError> {
        let kind = match &testimony {
            Testimony::Confirmed { kind, .. } | Testimony::Undefined { kind, .. } => {
                Some(kind.clone())
            }
            _ => None,
        };
        let entered = runner.entered(input);
        let recorded = {
            let mut inner = self.lock();
            inner.state.corpus[run.0 as usize].checked = true;
            inner.state.record(run, testimony, entered)
        };
        match kind {
            Some(kind) => self.announce(runner, input, &kind, recorded),
            None => Ok(()),
        }
    }

    /// The first of a group is shown at once, then made small. A later one takes its place if it is shorter.
    pub(super) fn announce(
        &self,
        runner: &mut dyn PairRunner,
        input: &Input,
        kind: &Kind,
        recorded: Recorded,
    ) -> Result<(), RunError> {
        let (class, at, is_first) = match recorded {
            Recorded::First { class, at } => (class, at, true),
            Recorded::Another { class, at } => (class, at, false),
            Recorded::Nothing => return Ok(()),
        };
        let shown = {
            let mut inner = self.lock();
            let difference = inner.state.one_of(class, at);
            if is_first {
                inner.listener.difference(&difference);
                inner.report(true);
            }
            difference
        };
        let normaliser = &self.subject.normaliser;
        let mut counted = Counted { runner, replays: 0 };
        let begun = Instant::now();
        let mut keeps = |candidate: &Input| {
            // Runs of a slow program can take minutes. What was found last gets some time too.
            let late = begun.elapsed() > OVERTIME && self.is_late();
            if late || self.cancel.is_cancelled() {
                return Ok(false);
            }
            let is_same_kind = witness::still(&mut counted, normaliser, candidate, kind)?;
            Ok(is_same_kind && self.parts_at(&mut counted, candidate, &shown.group)?)
        };
        // Steps that keep a difference do not lead from every input to the shortest one.
        let start = match is_first {
            true => Ok(Some(input.clone())),
            false => reduce::halve(input, &mut keeps)
                .map(|half| (reduce::size(&half) < reduce::size(&shown.input)).then_some(half)),
        };
        let small = start.and_then(|start| {
            start
                .map(|start| reduce::reduce(&start, self.settings.reduction_tries, &mut keeps))
                .transpose()
        });
        let better = match small {
            Ok(Some(small)) if small != shown.input => {
                self.confirm_small(&mut counted, small, kind, class)
            }
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        let mut inner = self.lock();
        inner.state.stats.replays += counted.replays;
        // A difference that was found stays one, whatever happens to smaller inputs.
        if let Ok(Some((small, seen))) = better {
            let difference = inner.state.improve(class, at, small, seen);
            inner.listener.difference(&difference);
        }
        Ok(())
    }

    /// Whether the paths part where those of a group do, or else enter the same changes. Differences of one kind may have
    /// many causes, and a smaller input may lead from one to another.
    fn parts_at(
        &self,
        runner: &mut dyn PairRunner,
        input: &Input,
        group: &GroupKey,
    ) -> Result<bool, RunError> {
        let runs = runner.pair(input)?;
        let sites = [&self.subject.sites[0], &self.subject.sites[1]];
        let mut arena = Arena::new();
        let mut read = |side: Side| {
            let at = side.index();
            path::read(&mut arena, side, &runs[at], sites[at])
        };
        let (Ok(base), Ok(head)) = (read(Side::Base), read(Side::Head)) else {
            return Ok(false);
        };
        let parting = merge::parting(&base, &head).map(|numbers| Spot::pair(sites, numbers));
        let is_there = parting == group.parting;
        Ok(is_there && (parting.is_some() || runner.entered(input) == group.changes))
    }

    fn confirm_small(
        &self,
        runner: &mut dyn PairRunner,
        small: Input,
        wanted: &Kind,
        class: Class,
    ) -> Result<Option<(Input, [Observation; 2])>, RunError> {
        if let Kind::Sanitizer { .. } = wanted {
            return Ok(match witness::hear_sanitizers(runner, &small)? {
                Some(Sanitized::OnlyOne { kind, seen }) if kind == *wanted => Some((small, seen)),
                _ => None,
            });
        }
        Ok(
            match (
                class,
                witness::hear(runner, &self.subject.normaliser, &small)?,
            ) {
                (Class::Behaviour, Testimony::Confirmed { kind, seen })
                | (Class::Undefined, Testimony::Undefined { kind, seen, .. })
                    if kind == *wanted =>
                {
                    Some((small, seen))
                }
                _ => None,
            },
        )
    }

    /// Before "equivalent" is said, plain builds run one input of every pair.
    pub(super) fn check(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Arc<Input>,
    ) -> Result<(), RunError> {
        self.compare_with_plain(runner, run, input, None)
    }

    pub(super) fn compare_with_plain(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Input,
        traced: Option<&[Observation; 2]>,
    ) -> Result<(), RunError> {
        let mut seen = Vec::with_capacity(2);
        for side in Side::BOTH {
            match runner.replay(side, Variant::Plain, input)? {
                Some(observation) => seen.push(observation),
                None => return Ok(()),
            }
        }
        let Ok(seen) = <[Observation; 2]>::try_from(seen) else {
            return Ok(());
        };
        let expected = {
            let mut inner = self.lock();
            inner.state.stats.replays += 2;
            let ran = &mut inner.state.corpus[run.0 as usize];
            ran.checked = true;
            ran.seen
        };
        let normaliser = &self.subject.normaliser;
        let agrees = Side::BOTH
            .into_iter()
            .all(|side| digest(normaliser, &seen[side.index()]) == expected[side.index()]);
        if agrees {
            return Ok(());
        }
        let testimony = match classify(normaliser, &seen[0], &seen[1]) {
            Some(_) => Some(witness::hear(runner, normaliser, input)?),
            None => None,
        };
        if !matches!(testimony, Some(Testimony::Undefined { .. })) {
            match traced {
                Some(traced) => self.note_violations(runner, run, input, [traced, &seen])?,
                None => {
                    // It was counted before.
                    let runs = runner.trial(input)?;
                    let traced = runs.map(|run| run.observation);
                    self.note_violations(runner, run, input, [&traced, &seen])?;
                }
            }
        }
        match testimony {
            Some(testimony) => self.conclude(runner, run, input, testimony),
            None => Ok(()),
        }
    }

    /// Traced programs should behave like the plain ones, unless they look at memory that they have not written.
    fn note_violations(
        &self,
        runner: &mut dyn PairRunner,
        run: RunId,
        input: &Input,
        [traced, plain]: [&[Observation; 2]; 2],
    ) -> Result<(), RunError> {
        let normaliser = &self.subject.normaliser;
        self.lock().state.corpus[run.0 as usize].checked = true;
        for side in Side::BOTH {
            let (traced, plain) = (&traced[side.index()], &plain[side.index()]);
            // Tracing takes time; that a run was cut off is a gap of its own.
            let is_cut_off = traced.end == End::TimedOut && plain.end != End::TimedOut;
            if is_cut_off || digest(normaliser, traced) == digest(normaliser, plain) {
                continue;
            }
            let unwritten = witness::reads_unwritten(runner, normaliser, side, input)?;
            let state = &mut self.lock().state;
            match unwritten {
                true => state.note(Gap::UndefinedBehaviour),
                false => state.violation(side, input, traced.clone(), plain.clone()),
            }
        }
        Ok(())
    }
}

/// Counts the replays of a reduction.
struct Counted<'a> {
    runner: &'a mut dyn PairRunner,
    replays: u64,
}

impl PairRunner for Counted<'_> {
    fn pair(&mut self, input: &Input) -> Result<[crate::runner::TracedRun<'_>; 2], RunError> {
        self.replays += 2;
        self.runner.trial(input)
    }

    fn entered(&self, input: &Input) -> Vec<u32> {
        self.runner.entered(input)
    }

    fn replay(
        &mut self,
        side: Side,
        variant: Variant,
        input: &Input,
    ) -> Result<Option<Observation>, RunError> {
        self.replays += 1;
        self.runner.replay(side, variant, input)
    }
}
