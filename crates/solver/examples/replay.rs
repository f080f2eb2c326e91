//! Replays the recorded queries of one program, in order and with one solver, as
//! a search asks them, and prints what each cost, one JSON object per line.
//!
//!     cargo run --release -p changeling-solver --example replay -- DIR COUNT [--without LAYER]
//!
//! Times are CPU time of the solving thread; reading is not counted. The last
//! line is the solver's statistics. LAYER: simplification, independence, reuse,
//! values or embedded.

use changeling_solver::{Answer, Arena, Layers, Settings, Solver, read_recorded};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

const USAGE: &str = "usage: replay DIR COUNT [--without LAYER]";
/// By the clock; what takes more than a second of CPU time is not counted as solved.
const TIME_LIMIT: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Replayed<'a> {
    file: &'a str,
    answer: &'a str,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, count, layers) = match &arguments[..] {
        [directory, count] => (directory, count, Layers::default()),
        [directory, count, option, layer] if option == "--without" => {
            (directory, count, without(layer)?)
        }
        _ => return Err(USAGE.into()),
    };
    let mut arena = Arena::new();
    let mut queries = read_recorded(&mut arena, Path::new(directory))?;
    queries.truncate(count.parse()?);
    let mut solver = Solver::new(Settings {
        layers,
        time_limit: TIME_LIMIT,
        ..Settings::default()
    });
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (path, query) in &queries {
        let start = cpu_time();
        let answer = solver.solve(&mut arena, &query.query());
        let replayed = Replayed {
            file: &path.file_name().unwrap_or_default().to_string_lossy(),
            answer: match answer {
                Answer::Sat(_) => "sat",
                Answer::Unsat(_) => "unsat",
                Answer::Unknown(_) => "unknown",
            },
            seconds: cpu_time() - start,
        };
        writeln!(out, "{}", serde_json::to_string(&replayed)?)?;
    }
    writeln!(out, "{}", serde_json::to_string(solver.statistics())?)?;
    Ok(())
}

fn without(layer: &str) -> Result<Layers, String> {
    let mut layers = Layers::default();
    *match layer {
        "simplification" => &mut layers.simplification,
        "independence" => &mut layers.independence,
        "reuse" => &mut layers.reuse,
        "values" => &mut layers.values,
        "embedded" => &mut layers.embedded,
        _ => return Err(format!("there is no layer `{layer}`; {USAGE}")),
    } = false;
    Ok(layers)
}

/// Seconds that this thread has computed: other load on the machine counts little.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
