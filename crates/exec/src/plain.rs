//! Runs of a plain native binary.

use crate::cage::Cage;
use crate::environment::{Options, Strings};
use crate::protocol::{Command, Layers};
use crate::{Binary, ExecError, Limits, Observation};
use changeling_trace::input::Input;
use std::path::Path;
use std::time::Duration;

/// How often a run is tried if its cage is lost.
const ATTEMPTS: usize = 2;

/// A native binary, run again and again in the same cage; each run finds it as new.
#[derive(Debug)]
pub struct Plain {
    binary: Binary,
    limits: Limits,
    options: Options,
    cage: Option<Cage>,
    elapsed: Duration,
}

impl Plain {
    /// Checks the binary. The cage is built by the first run.
    pub fn new(binary: &Path, limits: Limits) -> Result<Plain, ExecError> {
        Plain::with_options(binary, limits, Options::default())
    }

    pub fn with_options(
        binary: &Path,
        limits: Limits,
        options: Options,
    ) -> Result<Plain, ExecError> {
        Ok(Plain {
            binary: Binary::check(binary)?,
            limits,
            options,
            cage: None,
            elapsed: Duration::ZERO,
        })
    }

    /// Runs the program. Whatever it does is an observation; an error means that it could not be run at all.
    pub fn run(&mut self, input: &Input) -> Result<Observation, ExecError> {
        for _ in 0..ATTEMPTS {
            let mut cage = match self.cage.take() {
                Some(cage) => cage,
                None => Cage::start(Some(&self.binary), &self.limits, &self.options, None)?,
            };
            if cage.prepare(input)?.is_err() {
                continue;
            }
            let strings = Strings::plain(&self.options, &cage, input)?;
            // The supervisor is one of the counted processes if it runs under the same user.
            cage.write_request(&strings, self.limits.memory, &self.limits, 1)?;
            let Ok(reply) = cage.command(Command::Plain, self.limits.time) else {
                continue;
            };
            self.elapsed = Duration::from_nanos(reply.elapsed_ns);
            let observation = cage.observe(&reply, input, &self.limits)?;
            if reply.unclean == 0 {
                self.cage = Some(cage);
            }
            return Ok(observation);
        }
        Err(ExecError::SandboxLost {
            path: self.binary.path.clone(),
        })
    }

    /// From the start of the last run's process to its end.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub fn binary(&self) -> &Binary {
        &self.binary
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// For the runs to come, for instance to tell a slow program from one that hangs.
    pub fn set_limits(&mut self, limits: Limits) {
        if limits.disk != self.limits.disk {
            self.cage = None;
        }
        self.limits = limits;
    }

    /// What protects the current cage, if there is one yet.
    pub fn in_force(&self) -> Option<Layers> {
        self.cage.as_ref().map(Cage::in_force)
    }
}
