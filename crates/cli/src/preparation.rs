//! Both versions made ready to run: built, compared, traced.
//!
//! They are compared before they are traced, so that traces have the values by which changes can make a difference.

use crate::failure::Failure;
use crate::regions::{Compared, Regions, Unknown};
use crate::version::Version;
use crate::versions::Named;
use changeling_build::{BuildOptions, Built, build};
use changeling_explore::Side;
use changeling_explore::guides::{Choice, Gauge, Lockstep, Part};
use changeling_instrument::Probe;

pub struct Prepared {
    pub versions: [Version; 2],
    /// What was changed, or why that is not known.
    pub compared: Result<(Regions, Compared), Unknown>,
    pub probed: Probed,
}

/// What the traced versions have probes of.
#[derive(Default)]
pub struct Probed {
    pub lockstep: Option<Lockstep>,
    pub gauges: Vec<Gauge>,
}

impl Probed {
    fn new(compared: &Compared, built: &[Built; 2], guide: &Choice) -> Probed {
        let mut probed = Probed::default();
        if guide.compares_states() {
            probed.lockstep = lockstep(compared, built);
        }
        if guide.has(Part::Values) {
            let programs = compared.programs.each_ref();
            // A mistake in here costs no more than what it would have brought.
            let found = std::panic::catch_unwind(|| Gauge::find(programs, &compared.set));
            probed.gauges = found.unwrap_or_default();
        }
        probed
    }

    fn probes(&self, side: Side) -> Vec<Probe> {
        let left_behind = self.lockstep.iter();
        let left_behind = left_behind.flat_map(|known| known.probes_of(side));
        let all = left_behind.chain(Gauge::probes(&self.gauges, side));
        let probe = |(site, operand, code)| Probe {
            site,
            operand,
            code,
        };
        all.map(probe).collect()
    }
}

pub fn prepare(
    sides: &[Named; 2],
    options: &BuildOptions,
    guide: &Choice,
) -> Result<Prepared, (Side, Failure)> {
    let built = at_once(sides.each_ref(), |side| build(&side.source, options))?;
    let compared = Compared::find(built.each_ref());
    let probed = match &compared {
        Ok(compared) => Probed::new(compared, &built, guide),
        Err(_) => Probed::default(),
    };
    let [base, head] = built;
    let wanted = [(base, Side::Base), (head, Side::Head)];
    let wanted = wanted.map(|(built, side)| (built, probed.probes(side)));
    let versions = at_once(wanted, |(built, probes)| {
        Version::trace(built, options, &probes)
    })?;
    // A mistake in the comparison must not take the search with it.
    let compared = compared.and_then(|compared| {
        let regions = std::panic::catch_unwind(|| Regions::new(&compared, &versions));
        let regions = regions.map_err(|_| Unknown::failed())?;
        Ok((regions, compared))
    });
    Ok(Prepared {
        versions,
        compared,
        probed,
    })
}

/// None if nothing could be given up on its account.
fn lockstep(compared: &Compared, built: &[Built; 2]) -> Option<Lockstep> {
    let complete = built.iter().all(|built| built.missing.is_empty());
    let programs = compared.programs.each_ref();
    let found = std::panic::catch_unwind(|| Lockstep::new(programs, &compared.set));
    found.ok().flatten().filter(|_| complete)
}

/// Does the same for both versions at the same time.
fn at_once<T: Send, R: Send, E: Into<Failure> + Send>(
    both: [T; 2],
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<[R; 2], (Side, Failure)> {
    let work = &work;
    let [base, head] = std::thread::scope(|scope| {
        let threads = both.map(|one| scope.spawn(move || work(one)));
        threads.map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    let base = base.map_err(|failure| (Side::Base, failure.into()))?;
    let head = head.map_err(|failure| (Side::Head, failure.into()))?;
    Ok([base, head])
}
