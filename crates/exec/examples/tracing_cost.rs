//! The part of `bench/overhead` that runs traced binaries.
//!
//! usage: tracing_cost run BINARY STDIN RUNS ARGUMENT all of STDIN symbolic; prints one JSON object
//!        tracing_cost start BINARY NATIVE RUNS       what it costs to start an empty run

use changeling_exec::{Capacities, End, Limits, Traced};
use changeling_trace::input::{Argument, Input, Stream, StreamKind};
use std::collections::HashMap;
use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: tracing_cost run BINARY STDIN RUNS ARGUMENT | start BINARY NATIVE RUNS";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run", binary, stdin, runs, argument] => symbolic(
            Path::new(binary),
            &std::fs::read(stdin)?,
            runs.parse()?,
            argument,
        ),
        ["start", binary, native, runs] => {
            starts(Path::new(binary), Path::new(native), runs.parse()?)
        }
        _ => Err(USAGE.into()),
    }
}

fn symbolic(binary: &Path, stdin: &[u8], runs: u32, argument: &str) -> Result<(), Box<dyn Error>> {
    let input = input_of(stdin, argument);
    let limits = Limits {
        time: Duration::from_secs(120),
        ..Limits::default()
    };
    let mut least = Duration::MAX;
    let mut counts = (0, 0, 0);
    let mut traced = Traced::start(binary, &input, limits, Capacities::default())?;
    let server = processes_of(binary)?;
    let watch = Watch::over(binary, server.clone());
    let before = spent_by_children(&server);
    for _ in 0..runs {
        let (observation, trace) = traced.run(&input)?;
        if observation.end != End::Exit(0) {
            return Err(format!("{} ended with {}", binary.display(), observation.end).into());
        }
        let header = &trace.header;
        if header.nodes_refused + header.events_refused != 0 {
            return Err(format!("{} has no room for its trace", binary.display()).into());
        }
        counts = (
            trace.nodes.len() - 1,
            trace.events.len(),
            header.nodes_requested,
        );
        least = least.min(traced.elapsed());
    }
    // Processes of the sandbox may have gone since; what they spent was none of the runs'.
    let after = spent_by_children(&server);
    let spent: f64 = after
        .iter()
        .map(|(pid, now)| now - before.get(pid).unwrap_or(&0.0))
        .sum();
    let spent = spent / f64::from(runs);
    let memory = watch.most();
    let (nodes, events, requested) = counts;
    println!(
        r#"{{"cpu": {spent}, "elapsed": {}, "memory": {memory}, "nodes": {nodes}, "requested": {requested}, "events": {events}}}"#,
        least.as_secs_f64()
    );
    Ok(())
}

/// Samples the memory of the runs while they go on.
struct Watch {
    done: Arc<AtomicBool>,
    sampler: JoinHandle<u64>,
}

impl Watch {
    fn over(binary: &Path, server: Vec<u32>) -> Watch {
        let done = Arc::new(AtomicBool::new(false));
        let (stop, binary) = (done.clone(), binary.to_owned());
        let sampler = std::thread::spawn(move || {
            let mut most = 0;
            while !stop.load(Ordering::Relaxed) {
                let runs = processes_of(&binary).unwrap_or_default();
                for pid in runs.iter().filter(|pid| !server.contains(pid)) {
                    // A run that has just ended has no memory any more.
                    while let Some(now) = high_water(*pid) {
                        most = most.max(now);
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            most
        });
        Watch { done, sampler }
    }

    fn most(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.sampler.join().unwrap_or(0)
    }
}

/// Processes that execute this file, by whatever name the sandbox shows it.
fn processes_of(binary: &Path) -> std::io::Result<Vec<u32>> {
    let wanted = std::fs::metadata(binary)?;
    let entries = std::fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let same = |pid: &u32| {
        std::fs::metadata(format!("/proc/{pid}/exe"))
            .is_ok_and(|file| (file.dev(), file.ino()) == (wanted.dev(), wanted.ino()))
    };
    Ok(numbers.filter(same).collect())
}

/// User and system time, in seconds, of the children that each of these processes has waited for.
fn spent_by_children(pids: &[u32]) -> HashMap<u32, f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    let spent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold blanks; the two times are the 14th and 15th field after it.
        let rest = stat.rsplit(')').next()?;
        let fields = rest.split_whitespace().skip(13).take(2);
        let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
        Some((pid, ticks / TICKS_A_SECOND))
    };
    pids.iter().filter_map(|&pid| spent(pid)).collect()
}

fn high_water(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Wall-clock time from deciding to run until the end is known.
fn starts(binary: &Path, native: &Path, runs: u32) -> Result<(), Box<dyn Error>> {
    let input = input_of(b"", "0");
    let mut traced = Traced::start(binary, &input, Limits::default(), Capacities::default())?;
    let (mut bare, mut server) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        // In turn, so that other load on the machine meets both alike.
        let start = Instant::now();
        Command::new(native)
            .arg("0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        bare.push(start.elapsed());
        let start = Instant::now();
        traced.run(&input)?;
        server.push(start.elapsed());
    }
    bare.sort();
    server.sort();
    let figures = |samples: &[Duration]| {
        let [fastest, median] = [0, samples.len() / 2].map(|at| samples[at].as_secs_f64());
        format!(r#"{{"fastest": {fastest}, "median": {median}}}"#)
    };
    println!(
        r#"{{"fork_exec": {}, "fork_server": {}}}"#,
        figures(&bare),
        figures(&server)
    );
    Ok(())
}

fn input_of(stdin: &[u8], argument: &str) -> Input {
    Input {
        streams: vec![Stream {
            kind: StreamKind::Stdin,
            name: String::new(),
            capacity: stdin.len(),
            bytes: stdin.to_vec(),
        }],
        arguments: vec![Argument::Fixed(argument.as_bytes().to_vec())],
    }
}
