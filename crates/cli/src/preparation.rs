//! Both versions made ready to run: built, compared, traced.
//!
//! They are compared before they are traced, so that traces have the values by which changes can make a difference.

use crate::failure::Failure;
use crate::regions::{Compared, Regions, Unknown};
use crate::version::Version;
use crate::versions::Named;
use changeling_build::{BuildOptions, Built, build};
use changeling_explore::Side;
use changeling_explore::guides::{Choice, Lockstep};
use changeling_instrument::Probe;

pub struct Prepared {
    pub versions: [Version; 2],
    /// What was changed, or why that is not known.
    pub compared: Result<(Regions, Compared), Unknown>,
    /// What the traced versions have probes of, if they have.
    pub lockstep: Option<Lockstep>,
}

pub fn prepare(
    sides: &[Named; 2],
    options: &BuildOptions,
    guide: &Choice,
) -> Result<Prepared, (Side, Failure)> {
    let built = at_once(sides.each_ref(), |side| build(&side.source, options))?;
    let compared = Compared::find(built.each_ref());
    let lockstep = match &compared {
        Ok(compared) if guide.compares_states() => lockstep(compared, &built),
        _ => None,
    };
    let probed = built.map(|built| (built, Vec::new()));
    let mut probed: [(Built, Vec<Probe>); 2] = probed;
    for side in Side::BOTH {
        let known = lockstep.iter().flat_map(|known| known.probes_of(side));
        let probes = known.map(|(site, operand, code)| Probe {
            site,
            operand,
            code,
        });
        probed[side.index()].1.extend(probes);
    }
    let versions = at_once(probed, |(built, probes)| {
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
        lockstep,
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
