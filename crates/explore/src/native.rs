//! Pairs of real programs.

use crate::Observation;
use crate::runner::{PairRunner, RunError, Side, TraceView, TracedRun, Variant};
use changeling_exec::{Capacities, ExecError, Limits, Options, Plain, Trace, Traced};
use changeling_trace::input::Input;
use std::path::{Path, PathBuf};

/// The builds of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub traced: PathBuf,
    pub plain: PathBuf,
    pub sanitized: Option<PathBuf>,
    /// With automatic variables that start as zeros; the heap is filled anyway.
    pub zeroed: Option<PathBuf>,
    /// With automatic variables that start as a pattern; likewise.
    pub patterned: Option<PathBuf>,
}

/// What both versions' runs have in common.
#[derive(Clone, Debug)]
pub struct Conditions {
    pub limits: Limits,
    pub capacities: Capacities,
    pub options: Options,
}

/// Both versions, ready to run.
pub struct NativePair {
    traced: [Traced; 2],
    plain: [Plain; 2],
    sanitized: Option<[Plain; 2]>,
    zeroed: [Plain; 2],
    patterned: [Plain; 2],
    limits: Limits,
}

/// How much longer than usual a program may take to prove that it does not hang.
const PATIENCE: u32 = 10;

impl NativePair {
    pub fn start(
        binaries: [&Binaries; 2],
        shape: &Input,
        conditions: &Conditions,
    ) -> Result<NativePair, ExecError> {
        let Conditions {
            limits,
            capacities,
            options,
        } = conditions;
        let traced = |binaries: &Binaries| {
            let (limits, options) = (limits.clone(), options.clone());
            Traced::with_options(&binaries.traced, shape, limits, *capacities, options)
        };
        let plain = |path: &Path| Plain::with_options(path, limits.clone(), options.clone());
        let filled = |path: &Path, byte: u8| {
            let mut options = options.clone();
            // The C library fills new memory with the complement of this.
            options
                .variables
                .push(("MALLOC_PERTURB_".into(), (!byte).to_string()));
            Plain::with_options(path, limits.clone(), options)
        };
        let [base, head] = binaries;
        let sanitized = match (&base.sanitized, &head.sanitized) {
            (Some(base), Some(head)) => {
                // Sanitizers reserve terabytes of address space.
                let limits = Limits {
                    memory: u64::MAX,
                    ..limits.clone()
                };
                let start =
                    |path: &Path| Plain::with_options(path, limits.clone(), options.clone());
                Some([start(base)?, start(head)?])
            }
            _ => None,
        };
        let zeroed = |b: &Binaries| filled(b.zeroed.as_ref().unwrap_or(&b.plain), 0);
        let patterned = |b: &Binaries| filled(b.patterned.as_ref().unwrap_or(&b.plain), 0xaa);
        Ok(NativePair {
            traced: [traced(base)?, traced(head)?],
            plain: [plain(&base.plain)?, plain(&head.plain)?],
            sanitized,
            zeroed: [zeroed(base)?, zeroed(head)?],
            patterned: [patterned(base)?, patterned(head)?],
            limits: limits.clone(),
        })
    }

    fn patient(&mut self, side: Side, input: &Input) -> Result<Observation, ExecError> {
        let plain = &mut self.plain[side.index()];
        plain.set_limits(Limits {
            time: self.limits.time * PATIENCE,
            ..self.limits.clone()
        });
        let seen = plain.run(input);
        plain.set_limits(self.limits.clone());
        seen
    }
}

impl PairRunner for NativePair {
    fn pair(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError> {
        let [base, head] = &mut self.traced;
        Ok([traced(base, input)?, traced(head, input)?])
    }

    fn replay(
        &mut self,
        side: Side,
        variant: Variant,
        input: &Input,
    ) -> Result<Option<Observation>, RunError> {
        let at = side.index();
        let seen = match variant {
            Variant::Plain => self.plain[at].run(input),
            Variant::Patient => self.patient(side, input),
            Variant::Zeroed => self.zeroed[at].run(input),
            Variant::Patterned => self.patterned[at].run(input),
            Variant::Sanitized => match &mut self.sanitized {
                Some(sanitized) => sanitized[at].run(input),
                None => return Ok(None),
            },
        };
        Ok(Some(seen?))
    }
}

fn traced<'a>(version: &'a mut Traced, input: &Input) -> Result<TracedRun<'a>, RunError> {
    let (observation, trace) = version.run(input)?;
    Ok(TracedRun {
        observation,
        trace: view(&trace),
    })
}

fn view<'a>(trace: &Trace<'a>) -> TraceView<'a> {
    let header = &trace.header;
    TraceView {
        nodes: trace.nodes,
        events: trace.events,
        tables: trace.tables,
        strings: trace.strings,
        coverage: trace.coverage,
        run_flags: header.run_flags,
        refused: header.nodes_refused.saturating_add(header.events_refused),
        intact: trace.intact,
        output_totals: header.output_totals,
    }
}

impl From<ExecError> for RunError {
    fn from(error: ExecError) -> RunError {
        RunError {
            message: error.to_string(),
        }
    }
}
