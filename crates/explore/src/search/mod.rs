//! The loop: take the best task, solve it, run both versions, learn.

mod judgement;

use crate::budget::{Budget, Cancel, Stopped};
use crate::gap::Gap;
use crate::guide::Guide;
use crate::normalise::Normaliser;
use crate::outcome::{Listener, Outcome, Progress, Saved};
use crate::probe;
use crate::runner::{PairRunner, RunError};
use crate::solve::Attempt;
use crate::state::{Absorbed, Origin, State};
use crate::tree::RunId;
use crate::verdict;
use crate::witness;
use changeling_solver::Solver;
use changeling_trace::input::Input;
use changeling_trace::sites::SiteTable;
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is searched.
pub struct Subject {
    /// Streams, bounds and command line; its bytes are the first input.
    pub shape: Input,
    /// Of base and head.
    pub sites: [SiteTable; 2],
    pub normaliser: Normaliser,
}

/// How.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Same seed, same versions, one worker: same search.
    pub seed: u64,
    pub budget: Budget,
    pub solver: changeling_solver::Settings,
    /// Every so many runs the plain builds are asked too, whether the traced ones
    /// still behave like them. 0: only for differences and before the verdict
    /// "equivalent".
    pub check_every: u64,
    /// Candidates tried to make the input of a difference smaller.
    pub reduction_tries: usize,
    /// Values tried where a value had to be fixed.
    pub fixed_values: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 0,
            budget: Budget::default(),
            solver: changeling_solver::Settings::default(),
            check_every: 16,
            reduction_tries: 300,
            fixed_values: 8,
        }
    }
}

/// A search that is ready to go.
pub struct Search {
    pub subject: Subject,
    /// Inputs that exist already, run first.
    pub inputs: Vec<Input>,
    pub guide: Box<dyn Guide>,
    pub settings: Settings,
    pub cancel: Cancel,
    /// Where an earlier search left off.
    pub resume: Option<Saved>,
}

impl Search {
    /// Runs until nothing is left to try or the budget is spent, with one worker
    /// per runner. The listener hears of everything as it happens.
    pub fn run(
        self,
        mut runners: Vec<Box<dyn PairRunner>>,
        listener: &mut dyn Listener,
    ) -> (Outcome, Saved) {
        let subject = Arc::new(self.subject);
        let solver = Solver::new(self.settings.solver.clone());
        let seed = self.settings.seed;
        let mut state = State::new(
            subject.clone(),
            solver,
            self.guide,
            seed,
            self.settings.fixed_values,
        );
        let earlier = self.resume.map_or_else(Vec::new, |saved| {
            state.findings.restore(saved.differences, saved.undefined);
            saved.inputs
        });
        let earlier = earlier.iter().map(|input| fitted(input, &subject.shape));
        let earlier: Vec<Input> = earlier.collect();
        let given = self.inputs.into_iter().chain(earlier.iter().cloned());
        state.given.extend(first_inputs(&subject.shape, given));
        let shared = Shared {
            inner: Mutex::new(Inner {
                state,
                listener,
                in_flight: 0,
                stopped: None,
                error: None,
                checking: None,
                last_progress: None,
                failures: 0,
                probing: false,
                earlier: earlier.into_iter().collect(),
                taken_in: 0,
                begun: Instant::now(),
            }),
            changed: Condvar::new(),
            settings: self.settings,
            cancel: self.cancel,
            subject,
        };
        std::thread::scope(|scope| {
            let (first, others) = match runners.split_first_mut() {
                Some(parts) => parts,
                None => return,
            };
            for runner in others {
                let shared = &shared;
                scope.spawn(move || shared.work_safely(runner.as_mut()));
            }
            shared.work_safely(first.as_mut());
        });
        let inner = shared
            .inner
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let Inner {
            state,
            stopped,
            error,
            ..
        } = inner;
        verdict::conclude(state, stopped, error, &shared.subject)
    }
}

/// The shape's own bytes, unless inputs are given; each input once, cut to the
/// bound.
fn first_inputs(shape: &Input, given: impl Iterator<Item = Input>) -> Vec<Input> {
    let mut known = HashSet::new();
    let mut inputs: Vec<Input> = given.map(|input| fitted(&input, shape)).collect();
    inputs.retain(|input| known.insert(input.clone()));
    if inputs.is_empty() {
        inputs.push(fitted(shape, shape));
    }
    inputs
}

fn fitted(input: &Input, shape: &Input) -> Input {
    let mut fitted = shape.clone();
    for (stream, given) in fitted.streams.iter_mut().zip(&input.streams) {
        stream.bytes.clone_from(&given.bytes);
    }
    fitted.normalise();
    fitted
}

struct Shared<'a> {
    inner: Mutex<Inner<'a>>,
    changed: Condvar,
    settings: Settings,
    cancel: Cancel,
    subject: Arc<Subject>,
}

struct Inner<'a> {
    state: State,
    listener: &'a mut dyn Listener,
    /// Jobs that workers are busy with.
    in_flight: usize,
    stopped: Option<Stopped>,
    error: Option<String>,
    /// Runs that plain builds must still confirm before "equivalent" is said.
    checking: Option<Vec<RunId>>,
    last_progress: Option<Instant>,
    failures: u32,
    /// The search is exhausted and random inputs are putting it to the test.
    probing: bool,
    /// Inputs of an earlier search that were not run again yet. Nothing of the budget is spent on them.
    earlier: HashSet<Input>,
    /// Runs when there were none left,
    taken_in: u64,
    /// and the time of it.
    begun: Instant,
}

enum Job {
    Run(Arc<Input>, Option<Origin>),
    Check(RunId, Arc<Input>),
}

impl<'a> Shared<'a> {
    /// A fault of ours in one worker must not leave the others waiting for it.
    fn work_safely(&self, runner: &mut dyn PairRunner) {
        let work = AssertUnwindSafe(|| self.work(runner));
        if std::panic::catch_unwind(work).is_err() {
            let mut inner = self.lock();
            inner
                .error
                .get_or_insert_with(|| "internal error in a worker of the search".into());
            inner.stopped.get_or_insert(Stopped::Failed);
            drop(inner);
            self.changed.notify_all();
        }
    }

    fn work(&self, runner: &mut dyn PairRunner) {
        while let Some(job) = self.next() {
            let mut given = None;
            let result = match job {
                Job::Run(input, origin) => {
                    let result = self.run(runner, &input, origin);
                    given = origin.is_none().then_some(input);
                    result
                }
                Job::Check(run, input) => self.check(runner, run, &input),
            };
            let mut inner = self.lock();
            if let Some(input) = given {
                inner.took_in(&input);
            }
            match result {
                Ok(()) => inner.failures = 0,
                Err(error) => inner.fail(error),
            }
            inner.in_flight -= 1;
            drop(inner);
            self.changed.notify_all();
        }
        self.changed.notify_all();
    }

    /// The next thing to do, waiting for other workers if they may bring some.
    fn next(&self) -> Option<Job> {
        let mut inner = self.lock();
        loop {
            if inner.stopped.is_some() {
                return None;
            }
            if self.cancel.is_cancelled() {
                inner.stopped = Some(Stopped::Cancelled);
                return None;
            }
            if let Some(spent) = inner.spent(&self.settings.budget) {
                inner.stopped = Some(spent);
                return None;
            }
            if let Some(input) = inner.state.given.pop_front() {
                inner.in_flight += 1;
                return Some(Job::Run(Arc::new(input), None));
            }
            let state = &mut inner.state;
            if let Some((bucket, task)) = state.next_task() {
                match state.attempt(bucket, task) {
                    Attempt::Closed(cost) => state.frontier.charge(bucket, cost, 0.0),
                    Attempt::Run(input, origin) => {
                        inner.in_flight += 1;
                        return Some(Job::Run(Arc::new(input), Some(origin)));
                    }
                }
                inner.report(false);
                continue;
            }
            if let Some(job) = inner.next_check() {
                return Some(job);
            }
            if inner.in_flight == 0 && inner.wants_probes() {
                let seed = self.settings.seed;
                inner.start_probes(&self.subject.shape, seed);
                continue;
            }
            if inner.in_flight == 0 {
                inner.stopped = Some(Stopped::Exhausted);
                return None;
            }
            let waiting = self.changed.wait_timeout(inner, Duration::from_millis(50));
            inner = waiting.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn run(
        &self,
        runner: &mut dyn PairRunner,
        input: &Arc<Input>,
        origin: Option<Origin>,
    ) -> Result<(), RunError> {
        let start = Instant::now();
        let runs = runner.pair(input)?;
        let took = start.elapsed().as_secs_f64();
        let (absorbed, traced) = {
            let mut inner = self.lock();
            inner.state.stats.run_seconds += took;
            let absorbed = inner.state.absorb(input, &runs, origin);
            if inner.probing && absorbed.is_new_pair && !absorbed.discarded {
                inner.state.note(Gap::Unforeseen);
            }
            if !inner.earlier.contains(&**input) {
                inner.listener.input(absorbed.run, input);
            }
            inner.report(false);
            let [base, head] = runs;
            (absorbed, [base.observation, head.observation])
        };
        let Absorbed {
            run,
            candidate,
            is_new_pair,
            ..
        } = absorbed;
        if let Some(entered) = runner.changes(input) {
            self.lock().state.entered_no_more_than(run, &entered);
        }
        if candidate.is_some() {
            self.judge(runner, run, input, &traced)?;
        } else if self.settings.check_every > 0 && u64::from(run.0) % self.settings.check_every == 0
        {
            self.compare_with_plain(runner, run, input, Some(&traced))?;
        }
        if is_new_pair && let Some(heard) = witness::hear_sanitizers(runner, input)? {
            self.judge_sanitized(runner, run, input, heard)?;
        }
        Ok(())
    }

    /// Whether all of the time is spent.
    fn is_late(&self) -> bool {
        let inner = self.lock();
        inner.earlier.is_empty() && self.settings.budget.is_late(inner.begun)
    }

    fn lock(&self) -> MutexGuard<'_, Inner<'a>> {
        // A worker that panicked leaves a state that may lack its last run, no more.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner<'_> {
    fn spent(&self, budget: &Budget) -> Option<Stopped> {
        if !self.earlier.is_empty() {
            // Memory is all that counts.
            return budget.spent(Instant::now(), 0, 0);
        }
        let runs = self.state.stats.runs + self.in_flight as u64 - self.taken_in;
        let groups = self.state.findings.differences.len();
        budget.spent(self.begun, runs, groups)
    }

    /// An input that was given has been run.
    fn took_in(&mut self, input: &Input) {
        if self.earlier.remove(input) && self.earlier.is_empty() {
            self.taken_in = self.state.stats.runs;
            self.begun = Instant::now();
        }
    }

    /// Whether nothing else is left to do, and nothing was found, be it doubtful. Where something was lost, random inputs
    /// are another search, and one of flips only goes without it.
    fn wants_probes(&self) -> bool {
        if self.state.guide.only_flips() && !self.state.gaps.is_empty() {
            return false;
        }
        let findings = &self.state.findings;
        let doubts = [
            findings.suspected.len(),
            findings.unstable.len(),
            findings.violations.len(),
        ];
        !self.probing && findings.differences.is_empty() && doubts == [0; 3]
    }

    fn start_probes(&mut self, shape: &Input, seed: u64) {
        self.probing = true;
        let corpus: Vec<&Input> = self
            .state
            .corpus
            .iter()
            .map(|ran| ran.input.as_ref())
            .collect();
        // Where something was lost, luck is what is left.
        let probes = match self.state.gaps.is_empty() {
            true => probe::inputs(shape, &corpus, seed, probe::FOR_PROOF),
            false => probe::every(shape)
                .unwrap_or_else(|| probe::inputs(shape, &corpus, seed, probe::FOR_LUCK)),
        };
        let new = probes
            .into_iter()
            .filter(|input| self.state.known(input).is_none());
        let new: Vec<Input> = new.collect();
        self.state.given.extend(new);
    }

    fn fail(&mut self, error: RunError) {
        self.state.note(Gap::RunFailed);
        self.failures += 1;
        // Inputs that cannot be run are bad luck; programs that cannot, the end.
        if self.state.stats.runs == 0 || self.failures >= 20 {
            self.error.get_or_insert(error.message);
            self.stopped.get_or_insert(Stopped::Failed);
        }
    }

    /// Only a search without gaps needs the plain builds' word on every pair.
    fn next_check(&mut self) -> Option<Job> {
        if self.checking.is_none() {
            if self.in_flight > 0
                || !self.state.gaps.is_empty()
                || !self.state.findings.differences.is_empty()
            {
                return None;
            }
            let unchecked = self
                .state
                .corpus
                .iter()
                .zip(0u32..)
                .filter(|(ran, _)| !ran.checked);
            self.checking = Some(unchecked.map(|(_, run)| RunId(run)).collect());
        }
        let run = self.checking.as_mut()?.pop()?;
        self.in_flight += 1;
        Some(Job::Check(
            run,
            self.state.corpus[run.0 as usize].input.clone(),
        ))
    }

    /// Tells the listener how far the search is, a few times a second.
    fn report(&mut self, now: bool) {
        let due = self
            .last_progress
            .is_none_or(|last| last.elapsed() > PROGRESS);
        if !due && !now {
            return;
        }
        self.last_progress = Some(Instant::now());
        let sample = self.state.sample();
        self.state.series.push(sample);
        thin(&mut self.state.series);
        let seconds = sample.seconds.max(1e-9);
        self.listener.progress(&Progress {
            sample,
            paths: [self.state.stats.base_paths, self.state.stats.head_paths],
            runs_per_second: sample.runs as f64 / seconds,
            waiting: self.state.frontier.len() as u64,
            workers: self.in_flight,
        });
    }
}

const PROGRESS: Duration = Duration::from_millis(200);

/// Keeps plots small: every other point goes once there are too many.
fn thin(series: &mut Vec<crate::outcome::Sample>) {
    if series.len() >= 2000 {
        let mut keep = false;
        series.retain(|_| {
            keep = !keep;
            keep
        });
    }
}
