//! Replays recorded queries and prints what they cost.
//!
//!     cargo run --release -p changeling-solver --example replay -- DIR [--against z3.json] [--layers]
//!
//! DIR has one directory of recorded queries per program. `z3.json` is what
//! `bench/solver/z3_replay.py` measured on the same queries. With `--layers` every
//! layer is also switched off in turn.

use changeling_solver::{
    Answer, Arena, Layers, RecordedQuery, Settings, Solver, Statistics, read_recorded,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One query of another solver, by file name.
#[derive(Deserialize)]
struct Measured {
    answer: String,
    seconds: f64,
}

type Against = BTreeMap<String, BTreeMap<String, Measured>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(
        arguments
            .next()
            .ok_or("usage: replay DIR [--against FILE] [--layers]")?,
    );
    let mut against: Option<Against> = None;
    let mut layers = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--against" => {
                let file = arguments.next().ok_or("--against needs a file")?;
                against = Some(serde_json::from_str(&std::fs::read_to_string(file)?)?);
            }
            "--layers" => layers = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let mut programs: Vec<PathBuf> = std::fs::read_dir(&directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    programs.retain(|path| path.is_dir());
    programs.sort();
    println!(
        "{:<12} {:>7} {:>6} {:>6} {:>7} {:>10} {:>10} {:>10} {:>8} {:>8}",
        "program",
        "queries",
        "sat",
        "unsat",
        "unknown",
        "median",
        "total",
        "z3 median",
        "median×",
        "total×"
    );
    let (mut ours_all, mut theirs_all) = (Vec::new(), Vec::new());
    let mut sum = Vec::new();
    for program in &programs {
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let measured = against.as_ref().and_then(|against| against.get(&name));
        let result = replay(program, Layers::default(), measured)?;
        row(&name, &result);
        ours_all.extend(&result.ours);
        theirs_all.extend(&result.theirs);
        sum.push(result.statistics);
    }
    let all = Replayed {
        ours: ours_all,
        theirs: theirs_all,
        statistics: add(&sum),
    };
    row("all", &all);
    println!();
    for (layer, share) in all.statistics.shares() {
        println!(
            "{layer:<16} asked {:>7}  answered {:>7}  {:>12?}",
            share.asked, share.answered, share.time
        );
    }
    if layers {
        without_each(&programs)?;
    }
    Ok(())
}

struct Replayed {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    statistics: Statistics,
}

/// All queries of one program in order, with one solver, as a search asks them.
fn replay(
    directory: &Path,
    layers: Layers,
    measured: Option<&BTreeMap<String, Measured>>,
) -> Result<Replayed, Box<dyn std::error::Error>> {
    let mut arena = Arena::new();
    let queries: Vec<(PathBuf, RecordedQuery)> = read_recorded(&mut arena, directory)?;
    let time_limit = Duration::from_secs(1);
    let mut solver = Solver::new(Settings {
        layers,
        time_limit,
        ..Settings::default()
    });
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (path, query) in &queries {
        let start = Instant::now();
        let answer = solver.solve(&mut arena, &query.query());
        ours.push(start.elapsed().as_secs_f64());
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(other) = measured.and_then(|measured| measured.get(file.as_ref())) else {
            continue;
        };
        theirs.push(other.seconds);
        let said = match answer {
            Answer::Sat(_) => "sat",
            Answer::Unsat(_) => "unsat",
            Answer::Unknown(_) => continue,
        };
        if other.answer != "unknown" && other.answer != said {
            return Err(format!(
                "{}: we say {said}, z3 says {}",
                path.display(),
                other.answer
            )
            .into());
        }
    }
    Ok(Replayed {
        ours,
        theirs,
        statistics: *solver.statistics(),
    })
}

fn without_each(programs: &[PathBuf]) -> Result<(), Box<dyn std::error::Error>> {
    let all = Layers::default();
    let variants = [
        ("all layers", all),
        (
            "no simplification",
            Layers {
                simplification: false,
                ..all
            },
        ),
        (
            "no independence",
            Layers {
                independence: false,
                ..all
            },
        ),
        (
            "no reuse",
            Layers {
                reuse: false,
                ..all
            },
        ),
        (
            "no values",
            Layers {
                values: false,
                ..all
            },
        ),
    ];
    println!();
    for (name, layers) in variants {
        let mut times = Vec::new();
        for program in programs {
            times.extend(replay(program, layers, None)?.ours);
        }
        println!(
            "{name:<18} median {:>10} total {:>10}",
            text(median(&times)),
            text(times.iter().sum())
        );
    }
    Ok(())
}

fn row(name: &str, result: &Replayed) {
    let (ours, theirs) = (median(&result.ours), median(&result.theirs));
    let total: f64 = result.ours.iter().sum();
    let their_total: f64 = result.theirs.iter().sum();
    let ratio = |a: f64, b: f64| match result.theirs.is_empty() {
        true => "-".to_string(),
        false => format!("{:.1}", a / b),
    };
    println!(
        "{name:<12} {:>7} {:>6} {:>6} {:>7} {:>10} {:>10} {:>10} {:>8} {:>8}",
        result.statistics.queries,
        result.statistics.sat,
        result.statistics.unsat,
        result.statistics.unknown,
        text(ours),
        text(total),
        if result.theirs.is_empty() {
            "-".into()
        } else {
            text(theirs)
        },
        ratio(theirs, ours),
        ratio(their_total, total),
    );
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn text(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn add(all: &[Statistics]) -> Statistics {
    let mut sum = Statistics::default();
    for one in all {
        sum.add(one);
    }
    sum
}
