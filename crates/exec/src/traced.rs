//! Runs of a traced binary through its fork server.

use crate::cage::Cage;
use crate::environment::{Options, Strings};
use crate::protocol::{Command, Layers, Reply, outcome};
use crate::shared::Shared;
use crate::view::Trace;
use crate::{Binary, Capacities, End, ExecError, Limits, Observation};
use changeling_trace::input::Input;
use changeling_trace::layout::{MARKS_SIZE, SHADOW_SIZE};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a run is tried if its server or cage is lost: a hostile run may take the server down with it.
const ATTEMPTS: usize = 3;
/// Address space for the tracer's own tables.
const SLACK: u64 = 512 << 20;
/// Starting up may take longer than a run is allowed to.
const START_TIME: Duration = Duration::from_secs(20);

/// A traced binary with its fork server. All inputs of its runs have the same shape.
#[derive(Debug)]
pub struct Traced {
    binary: Binary,
    limits: Limits,
    options: Options,
    shared: Shared,
    cage: Option<Cage>,
    elapsed: Duration,
    served: bool,
    /// A run was begun whose end must be heard of until then.
    awaited: Option<Instant>,
    runs: u64,
    /// Of so many runs one counts; none does if it is 0.
    counted_every: u64,
}

impl Traced {
    pub fn start(
        binary: &Path,
        shape: &Input,
        limits: Limits,
        capacities: Capacities,
    ) -> Result<Traced, ExecError> {
        Traced::with_options(binary, shape, limits, capacities, Options::default())
    }

    /// Starts the server, so that a program that cannot be traced is noticed here.
    pub fn with_options(
        binary: &Path,
        shape: &Input,
        limits: Limits,
        capacities: Capacities,
        options: Options,
    ) -> Result<Traced, ExecError> {
        let binary = Binary::check(binary)?;
        let shared = Shared::create(shape, &capacities)?;
        let mut traced = Traced {
            binary,
            limits,
            options,
            shared,
            cage: None,
            elapsed: Duration::ZERO,
            served: false,
            awaited: None,
            runs: 0,
            counted_every: 0,
        };
        let mut cage = traced.new_cage()?;
        traced.serve(&mut cage, shape)?;
        traced.cage = Some(cage);
        Ok(traced)
    }

    pub fn run(&mut self, input: &Input) -> Result<(Observation, Trace<'_>), ExecError> {
        self.choose_to_count();
        self.begin(input)?;
        self.finish(input)
    }

    /// Whether the next run counts.
    fn choose_to_count(&mut self) {
        let counting = self.counted_every != 0 && self.runs.is_multiple_of(self.counted_every);
        self.shared.set_counting(counting);
        self.runs += 1;
    }

    /// Runs two programs at the same time, on the same input.
    pub fn run_both<'a>(
        [first, second]: [&'a mut Traced; 2],
        input: &Input,
    ) -> Result<[(Observation, Trace<'a>); 2], ExecError> {
        first.choose_to_count();
        second.choose_to_count();
        first.begin(input)?;
        let begun = second.begin(input);
        // Also if the other one failed: what was begun has to end.
        let first = first.finish(input);
        let second = begun.and_then(|()| second.finish(input));
        Ok([first?, second?])
    }

    /// Gives the command to run, if it can be given at the first attempt.
    fn begin(&mut self, input: &Input) -> Result<(), ExecError> {
        // Its reply would be taken for that of the next run.
        if self.awaited.take().is_some() {
            self.cage = None;
        }
        let mut cage = match self.cage.take() {
            Some(cage) => cage,
            None => self.new_cage()?,
        };
        if !self.served && !self.serve(&mut cage, input)? {
            return Ok(());
        }
        if cage.prepare(input)?.is_err() {
            self.served = false;
            return Ok(());
        }
        self.shared.reset(
            input,
            &self.options.name,
            &cage.work_path().to_string_lossy(),
        )?;
        match cage.send(Command::Traced, self.limits.time) {
            Ok(deadline) => {
                self.awaited = Some(deadline);
                self.cage = Some(cage);
            }
            Err(_) => self.served = false,
        }
        Ok(())
    }

    /// The end of a run that was begun; it is begun again if server or cage were lost.
    fn finish(&mut self, input: &Input) -> Result<(Observation, Trace<'_>), ExecError> {
        for attempt in 1..=ATTEMPTS {
            if let Some(observation) = self.end(input)? {
                return Ok((observation, self.shared.trace()));
            }
            if attempt < ATTEMPTS {
                self.begin(input)?;
            }
        }
        Err(ExecError::SandboxLost {
            path: self.binary.path.clone(),
        })
    }

    fn end(&mut self, input: &Input) -> Result<Option<Observation>, ExecError> {
        let (Some(deadline), Some(mut cage)) = (self.awaited.take(), self.cage.take()) else {
            return Ok(None);
        };
        let Ok(reply) = cage.reply(deadline) else {
            self.served = false;
            return Ok(None);
        };
        if reply.outcome == outcome::NO_SERVER {
            self.served = false;
            if reply.unclean == 0 {
                self.cage = Some(cage);
            }
            return Ok(None);
        }
        self.elapsed = Duration::from_nanos(reply.elapsed_ns);
        let observation = cage.observe(&reply, input, &self.limits)?;
        self.shared.unwatch()?;
        if reply.unclean == 0 {
            self.cage = Some(cage);
        } else {
            self.served = false;
        }
        Ok(Some(observation))
    }

    /// From the next run on, the trace has a mark whenever one of these blocks
    /// (numbers of coverage bytes) begins.
    pub fn watch(&mut self, blocks: &[u32]) {
        self.shared.watch(blocks);
    }

    /// The next run, and then one of `every`, counts how often these blocks begin. Such a run is
    /// slower than others.
    pub fn count(&mut self, blocks: &[u32], every: u64) {
        self.shared.count(blocks);
        (self.counted_every, self.runs) = (every, 0);
    }

    /// From the command to the end of the last run's process.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub fn binary(&self) -> &Binary {
        &self.binary
    }

    pub fn in_force(&self) -> Option<Layers> {
        self.cage.as_ref().map(Cage::in_force)
    }

    fn new_cage(&mut self) -> Result<Cage, ExecError> {
        self.served = false;
        Cage::start(
            Some(&self.binary),
            &self.limits,
            &self.options,
            Some(self.shared.file()),
        )
    }

    /// Starts the fork server. False if the cage was lost on the way.
    fn serve(&mut self, cage: &mut Cage, input: &Input) -> Result<bool, ExecError> {
        if cage.prepare(input)?.is_err() {
            return Ok(false);
        }
        self.shared.reset(
            input,
            &self.options.name,
            &cage.work_path().to_string_lossy(),
        )?;
        let strings = Strings::server(&self.options, cage);
        let space = self
            .limits
            .memory
            .saturating_add(SHADOW_SIZE + MARKS_SIZE + self.shared.size() + SLACK);
        // Server and supervisor are counted too if they run under the same user.
        cage.write_request(&strings, space, &self.limits, 2)?;
        let Ok(reply) = cage.command(Command::Serve, self.limits.time.max(START_TIME)) else {
            return Ok(false);
        };
        if reply.outcome != outcome::READY {
            return Err(self.no_server(cage, &reply));
        }
        self.served = true;
        Ok(true)
    }

    fn no_server(&self, cage: &mut Cage, reply: &Reply) -> ExecError {
        let how = match reply.outcome {
            outcome::EXIT => End::Exit(reply.value).to_string(),
            outcome::SIGNAL => End::Signal(reply.value).to_string(),
            outcome::TIMED_OUT => "it did not come up in time".to_string(),
            _ if reply.error == libc::EPROTO => {
                "it does not speak the fork server's protocol".to_string()
            }
            _ => return cage.not_started(reply),
        };
        let said = cage.complaint();
        let how = if said.is_empty() {
            how
        } else {
            format!("{how}, saying: {said}")
        };
        ExecError::NoServer {
            path: self.binary.path.clone(),
            how,
        }
    }
}
