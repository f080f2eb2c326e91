//! The guide of a run, worked out from both programs before the search.

use crate::preparation::Probed;
use crate::regions::Compared;
use crate::settings::Settings;
use crate::version::Version;
use changeling_explore::guide::{Guide, NoGuide};
use changeling_explore::guides::{Survey, Surveyed, survey};
use changeling_program::{Function, Program};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The guide, and the blocks whose beginnings it has to be told of.
pub struct Guidance {
    pub guide: Box<dyn Guide>,
    pub watched: [Vec<u32>; 2],
    /// Changes, by number, that no input can enter.
    pub unreachable: Vec<u32>,
}

/// Part of the time of a search that looking at the programs may take.
const SHARE: f64 = 0.25;
/// So much it may always take.
const LEAST: Duration = Duration::from_secs(2);
/// And no more, if the search has no time limit.
const USUAL: Duration = Duration::from_secs(60);

/// A search goes on without a guide that cannot be made, and says so. That nothing is known of the changes was
/// said before.
pub fn prepare(
    settings: &Settings,
    versions: &[Version; 2],
    compared: Option<Compared>,
    probed: Probed,
    warnings: &mut Vec<String>,
) -> Guidance {
    let without = Guidance {
        guide: Box::new(NoGuide),
        watched: Default::default(),
        unreachable: Vec::new(),
    };
    if settings.guide.is_none() {
        return without;
    }
    let Some(compared) = compared else {
        return without;
    };
    let time = settings
        .budget
        .time
        .map_or(USUAL, |time| time.mul_f64(SHARE));
    let time = time.max(LEAST);
    match look(settings, versions, compared, probed, time) {
        Ok(surveyed) => {
            warnings.extend(surveyed.notes);
            Guidance {
                guide: Box::new(surveyed.guide),
                watched: surveyed.watched,
                unreachable: surveyed.unreachable,
            }
        }
        Err(reason) => {
            warnings.push(format!("the search goes without guides: {reason}"));
            without
        }
    }
}

/// Graphs of large programs take long. Their making stops soon after the time is over, but not at once;
/// so it happens beside, and is not waited for.
fn look(
    settings: &Settings,
    versions: &[Version; 2],
    compared: Compared,
    probed: Probed,
    time: Duration,
) -> Result<Surveyed, String> {
    let (sender, receiver) = mpsc::channel();
    let tables = versions.each_ref().map(|version| version.sites.clone());
    let (choice, seed) = (settings.guide.clone(), settings.random_seed);
    let complete = versions
        .iter()
        .all(|version| version.built.missing.is_empty())
        && versions[0].built.link == versions[1].built.link
        && versions
            .iter()
            .all(|version| version.built.exports().are_certain())
        && !shows_code(settings, &compared.programs);
    let deadline = Instant::now() + time;
    std::thread::spawn(move || {
        let made = std::panic::catch_unwind(|| {
            survey(&Survey {
                programs: compared.programs.each_ref(),
                changes: &compared.set,
                sites: tables.each_ref(),
                choice,
                complete,
                lockstep: probed.lockstep.as_ref(),
                gauges: &probed.gauges,
                aim: Vec::new(),
                seed,
                deadline: Some(deadline),
            })
        });
        let made = match made {
            Ok(Ok(surveyed)) => Ok(surveyed),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("looking at the programs failed".into()),
        };
        // Nobody may be waiting any more.
        let _ = sender.send(made);
    });
    match receiver.recv_timeout(time) {
        Ok(made) => made,
        Err(_) => Err(format!(
            "looking at the programs takes longer than the {:.0} s it may take with this --time",
            time.as_secs_f64()
        )),
    }
}

/// Variables that have Rust's library print backtraces.
const BACKTRACES: [&str; 2] = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];
/// Functions that tell names of functions, or how far into one an address is.
const TELLING: [&str; 4] = [
    "dladdr",
    "dladdr1",
    "backtrace_symbols",
    "backtrace_symbols_fd",
];
/// The same in Rust: modules of its library, and of the crate.
const CAPTURES: [&str; 2] = ["std::backtrace::", "backtrace::capture::"];

/// Whether programs may show what their functions are called and where in the source they are: then all that is no
/// change otherwise, another name or another line, can be seen.
fn shows_code(settings: &Settings, programs: &[Program; 2]) -> bool {
    let tells = |function: &Function| {
        TELLING.contains(&function.symbol.as_str())
            || CAPTURES.iter().any(|module| function.name.contains(module))
    };
    let mut variables = BACKTRACES.into_iter();
    variables.any(|name| settings.input.has_variable(name))
        || programs
            .iter()
            .any(|program| program.functions.iter().any(tells))
}
