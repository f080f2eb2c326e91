//! Both versions as the search runs them. Builds that only a difference needs
//! (filled memory, sanitizers) are made when the first one turns up.

use crate::progress::{Display, Mode};
use crate::version::Version;
use crate::view::{branches, traced_run};
use changeling_build::{BuildOptions, Built, Source, Variant as BuildVariant, build};
use changeling_exec::{Capacities, ExecError, Limits, Observation, Options, Plain, Traced};
use changeling_explore::runner::{PairRunner, RunError, Side, TracedRun, Variant};
use changeling_trace::input::Input;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// How much longer than usual a program may take to prove that it does not hang.
const PATIENCE: u32 = 10;
/// Branches are counted in one of so many runs, because that takes time.
const COUNTED_EVERY: u64 = 16;

/// What all workers share.
pub struct Pair {
    /// Base and head.
    pub versions: [Version; 2],
    pub sources: [Source; 2],
    pub build: BuildOptions,
    pub limits: Limits,
    pub capacities: Capacities,
    /// Make and run builds with sanitizers.
    pub sanitize: bool,
    mode: Mode,
    filled: OnceLock<[Builds; 2]>,
    sanitized: OnceLock<[Builds; 2]>,
    /// How long these builds took.
    seconds: Mutex<f64>,
    /// What could not be built, for the report.
    pub notes: Mutex<Vec<String>>,
}

/// Binaries of one version, by variant.
#[derive(Clone, Debug, Default)]
struct Builds(Vec<(BuildVariant, PathBuf)>);

impl Pair {
    pub fn new(
        versions: [Version; 2],
        sources: [Source; 2],
        build: BuildOptions,
        limits: Limits,
        sanitize: bool,
        mode: Mode,
    ) -> Pair {
        Pair {
            versions,
            sources,
            build,
            limits,
            capacities: Capacities::default(),
            sanitize,
            mode,
            filled: OnceLock::new(),
            sanitized: OnceLock::new(),
            seconds: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    pub fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// Seconds of the search that went into builds.
    pub fn build_seconds(&self) -> f64 {
        *self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The build with sanitizers, if they are wanted: what a finding is seen with.
    pub fn sanitized_binary(&self, side: Side) -> Option<PathBuf> {
        match self.sanitize {
            true => self.binary(side, BuildVariant::Sanitized),
            false => None,
        }
    }

    /// The binary of a variant; made by the first who asks, the others wait.
    fn binary(&self, side: Side, variant: BuildVariant) -> Option<PathBuf> {
        let (place, wanted, what) = match variant {
            BuildVariant::Sanitized => (
                &self.sanitized,
                vec![BuildVariant::Sanitized],
                "building both versions with sanitizers",
            ),
            _ => (
                &self.filled,
                vec![BuildVariant::AutoZero, BuildVariant::AutoPattern],
                "building both versions with filled memory, to tell undefined behaviour apart",
            ),
        };
        let builds = place.get_or_init(|| self.make_both(&wanted, what));
        builds[side.index()]
            .0
            .iter()
            .find(|(made, _)| *made == variant)
            .map(|(_, path)| path.clone())
    }

    /// Of both versions, since a difference needs both. The search waits for it.
    fn make_both(&self, variants: &[BuildVariant], what: &str) -> [Builds; 2] {
        Display::new(self.mode).announce(what);
        let start = Instant::now();
        let builds = std::thread::scope(|scope| {
            let base = scope.spawn(|| self.make(Side::Base, variants.to_vec()));
            let head = self.make(Side::Head, variants.to_vec());
            [base.join().unwrap_or_default(), head]
        });
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        *seconds += start.elapsed().as_secs_f64();
        builds
    }

    fn make(&self, side: Side, variants: Vec<BuildVariant>) -> Builds {
        let name = variants[0].name();
        let options = BuildOptions {
            variants,
            ..self.build.clone()
        };
        let result: Result<Built, _> = build(&self.sources[side.index()], &options);
        let built = match result {
            Ok(built) => built,
            Err(error) => {
                self.note(format!("no {name} build of {}: {error}", side_name(side)));
                return Builds::default();
            }
        };
        for (variant, reason) in &built.unavailable {
            self.note(format!(
                "no {} build of {}: {reason}",
                variant.name(),
                side_name(side)
            ));
        }
        let made = built.variants.into_iter();
        Builds(made.map(|binary| (binary.variant, binary.path)).collect())
    }
}

pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::Base => "base",
        Side::Head => "head",
    }
}

/// Is told of every run of the pair: which blocks it executed.
pub trait Watcher: Send + Sync {
    fn ran(&self, input: &Input, runs: &[TracedRun<'_>; 2], occasion: Occasion);

    /// Numbers of the parts of changes that an input entered, if that was remembered.
    fn entered(&self, _input: &Input) -> Vec<u32> {
        Vec::new()
    }

    /// Numbers of the changes, if that was remembered.
    fn changes(&self, _input: &Input) -> Option<Vec<u32>> {
        None
    }
}

/// Why a pair is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    Search,
    /// An input is made smaller: no run that a report counts.
    Trial,
}

/// One worker's processes.
pub struct Runner {
    pair: Arc<Pair>,
    watcher: Arc<dyn Watcher>,
    traced: [Traced; 2],
    /// Sites of the branches, by version.
    branches: [HashSet<u32>; 2],
    plain: [Plain; 2],
    zeroed: [Option<Plain>; 2],
    patterned: [Option<Plain>; 2],
    sanitized: [Option<Plain>; 2],
}

impl Runner {
    pub fn start(
        pair: Arc<Pair>,
        watcher: Arc<dyn Watcher>,
        shape: &Input,
    ) -> Result<Runner, ExecError> {
        let traced = |version: &Version| {
            let mut traced =
                Traced::start(&version.traced, shape, pair.limits.clone(), pair.capacities)?;
            let blocks: Vec<u32> = version.sites.branches().map(|(block, _)| block).collect();
            traced.count(&blocks, COUNTED_EVERY);
            Ok::<Traced, ExecError>(traced)
        };
        let sites_of = |version: &Version| version.sites.branches().map(|(_, site)| site).collect();
        let plain = |version: &Version| Plain::new(&version.built.plain, pair.limits.clone());
        let [base, head] = &pair.versions;
        Ok(Runner {
            traced: [traced(base)?, traced(head)?],
            branches: [sites_of(base), sites_of(head)],
            plain: [plain(base)?, plain(head)?],
            zeroed: [None, None],
            patterned: [None, None],
            sanitized: [None, None],
            pair,
            watcher,
        })
    }

    /// From the next run on, the beginnings of these blocks are marked.
    pub fn watch(&mut self, blocks: &[Vec<u32>; 2]) {
        for (traced, blocks) in self.traced.iter_mut().zip(blocks) {
            traced.watch(blocks);
        }
    }

    fn both(&mut self, input: &Input, occasion: Occasion) -> Result<[TracedRun<'_>; 2], RunError> {
        let runs = Traced::run_both(self.traced.each_mut(), input)?;
        let [base, head] = &runs;
        let counts = [
            branches(&base.1, &self.branches[0]),
            branches(&head.1, &self.branches[1]),
        ];
        let mut runs = runs.map(|(observation, trace)| traced_run(observation, trace));
        for (run, branches) in runs.iter_mut().zip(counts) {
            run.trace.branches = branches;
        }
        self.watcher.ran(input, &runs, occasion);
        Ok(runs)
    }

    fn patient(&mut self, side: Side, input: &Input) -> Result<Observation, ExecError> {
        let plain = &mut self.plain[side.index()];
        let limits = self.pair.limits.clone();
        plain.set_limits(Limits {
            time: limits.time * PATIENCE,
            ..limits.clone()
        });
        let seen = plain.run(input);
        plain.set_limits(limits);
        seen
    }

    /// With automatic variables and the heap filled. A version that cannot be
    /// built so still gets its heap filled.
    fn filled(&mut self, side: Side, fill: Fill, input: &Input) -> Result<Observation, ExecError> {
        let slots = match fill {
            Fill::Zeros => &mut self.zeroed,
            Fill::Pattern => &mut self.patterned,
        };
        let slot = &mut slots[side.index()];
        let plain = match slot {
            Some(plain) => plain,
            None => {
                let version = &self.pair.versions[side.index()];
                let binary = self.pair.binary(side, fill.variant());
                let binary = binary.unwrap_or_else(|| version.built.plain.clone());
                let options = Options {
                    variables: vec![("GLIBC_TUNABLES".into(), fill.tunables())],
                    ..Options::default()
                };
                slot.insert(Plain::with_options(
                    &binary,
                    self.pair.limits.clone(),
                    options,
                )?)
            }
        };
        plain.run(input)
    }

    fn sanitized(&mut self, side: Side, input: &Input) -> Result<Option<Observation>, ExecError> {
        if !self.pair.sanitize {
            return Ok(None);
        }
        let slot = &mut self.sanitized[side.index()];
        if slot.is_none() {
            let Some(binary) = self.pair.binary(side, BuildVariant::Sanitized) else {
                return Ok(None);
            };
            let limits = self.pair.limits.clone().with_sanitizers();
            *slot = Some(Plain::new(&binary, limits)?);
        }
        match slot {
            Some(plain) => plain.run(input).map(Some),
            None => Ok(None),
        }
    }
}

#[derive(Clone, Copy)]
enum Fill {
    Zeros,
    Pattern,
}

impl Fill {
    fn variant(self) -> BuildVariant {
        match self {
            Fill::Zeros => BuildVariant::AutoZero,
            Fill::Pattern => BuildVariant::AutoPattern,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Fill::Zeros => 0,
            Fill::Pattern => 0xaa,
        }
    }

    /// Settings of the C library for a heap that is filled so.
    fn tunables(self) -> String {
        // New memory is filled with the complement of this; what comes back from a thread's own store of
        // freed memory is not, so there must be none.
        let perturb = !self.byte();
        format!("glibc.malloc.perturb={perturb}:glibc.malloc.tcache_count=0")
    }
}

impl PairRunner for Runner {
    fn pair(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError> {
        self.both(input, Occasion::Search)
    }

    fn trial(&mut self, input: &Input) -> Result<[TracedRun<'_>; 2], RunError> {
        self.both(input, Occasion::Trial)
    }

    fn entered(&self, input: &Input) -> Vec<u32> {
        self.watcher.entered(input)
    }

    fn changes(&self, input: &Input) -> Option<Vec<u32>> {
        self.watcher.changes(input)
    }

    fn replay(
        &mut self,
        side: Side,
        variant: Variant,
        input: &Input,
    ) -> Result<Option<Observation>, RunError> {
        let seen = match variant {
            Variant::Plain => self.plain[side.index()].run(input)?,
            Variant::Patient => self.patient(side, input)?,
            Variant::Zeroed => self.filled(side, Fill::Zeros, input)?,
            Variant::Patterned => self.filled(side, Fill::Pattern, input)?,
            Variant::Sanitized => return Ok(self.sanitized(side, input)?),
        };
        Ok(Some(seen))
    }
}
