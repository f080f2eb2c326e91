//! Runs pairs of toy programs as if they were native ones.

use super::{Machine, Stop};
use crate::Observation;
use crate::guide::NoGuide;
use crate::normalise::Normaliser;
use crate::outcome::{Outcome, Saved, Silence};
use crate::runner::{PairRunner, RunError, Side, TracedRun, Variant};
use crate::search::{Search, Settings, Subject};
use changeling_trace::input::{Input, Stream, StreamKind};
use changeling_trace::sites::SiteTable;
use std::sync::Arc;

pub type Program = Arc<dyn Fn(&mut Machine) -> Result<(), Stop> + Send + Sync>;

/// One input, in the order in which the pair ran them.
pub type Log = Arc<std::sync::Mutex<Vec<Vec<u8>>>>;

#[derive(Clone)]
pub struct ToyRunner {
    pub programs: [Program; 2],
    /// What the plain builds do, if not the same.
    pub plain: Option<[Program; 2]>,
    pub variants: Vec<(Variant, [Program; 2])>,
    pub log: Log,
    machines: Vec<(Machine, Result<(), Stop>)>,
}

impl ToyRunner {
    pub fn new(base: Program, head: Program) -> ToyRunner {
        ToyRunner {
            programs: [base, head],
            plain: None,
            variants: Vec::new(),
            log: Log::default(),
            machines: Vec::new(),
        }
    }
}

impl PairRunner for ToyRunner {
    fn pair(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError> {
        self.log
            .lock()
            .unwrap()
            .push(input.streams[0].bytes.clone());
        self.machines.clear();
        for program in &self.programs {
            let mut machine = Machine::new(input);
            let end = program(&mut machine);
            self.machines.push((machine, end));
        }
        let [base, head] = [0, 1].map(|at| {
            let (machine, end) = &self.machines[at];
            machine.traced(*end)
        });
        Ok([base, head])
    }

    fn replay(
        &mut self,
        side: Side,
        variant: Variant,
        input: &Input,
    ) -> Result<Option<Observation>, RunError> {
        let special = self.variants.iter().find(|(known, _)| *known == variant);
        let program = match (variant, special) {
            (_, Some((_, programs))) => &programs[side.index()],
            (Variant::Plain, None) => &self.plain.as_ref().unwrap_or(&self.programs)[side.index()],
            _ => return Ok(None),
        };
        let mut machine = Machine::new(input);
        let end = program(&mut machine);
        Ok(Some(machine.observation(end)))
    }
}

/// Standard input of up to `capacity` bytes.
pub fn stdin(capacity: usize, bytes: &[u8]) -> Input {
    let stream = Stream {
        kind: StreamKind::Stdin,
        name: String::new(),
        capacity,
        bytes: bytes.to_vec(),
    };
    Input {
        streams: vec![stream],
        arguments: Vec::new(),
    }
}

pub fn subject(shape: Input, sites: SiteTable) -> Subject {
    Subject {
        shape,
        sites: [sites.clone(), sites],
        normaliser: Normaliser::standard(),
    }
}

/// Searches a pair of toy programs with one worker per runner.
pub fn explore(
    runners: Vec<ToyRunner>,
    subject: Subject,
    inputs: Vec<Input>,
    settings: Settings,
) -> (Outcome, Saved) {
    let search = Search {
        subject,
        inputs,
        guide: Box::new(NoGuide),
        settings,
        cancel: Default::default(),
        resume: None,
    };
    let runners = runners
        .into_iter()
        .map(|runner| Box::new(runner) as Box<dyn PairRunner>);
    search.run(runners.collect(), &mut Silence)
}
