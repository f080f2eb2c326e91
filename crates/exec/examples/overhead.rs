//! Compares starting a program through the sandbox with a bare fork and exec, side by side.
//! usage: overhead PROGRAM [RUNS]

use changeling_exec::{Limits, Options, Plain};
use changeling_trace::input::Input;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = arguments.first().ok_or("usage: overhead PROGRAM [RUNS]")?;
    let runs: usize = arguments.get(1).map_or(Ok(300), |text| text.parse())?;
    let input = Input::default();
    let start = Instant::now();
    let mut plain = Plain::new(Path::new(program), Limits::default())?;
    plain.run(&input)?;
    println!("first run, cage included: {:?}", start.elapsed());
    let bare_options = Options {
        shim: false,
        ..Options::default()
    };
    let mut without_shim =
        Plain::with_options(Path::new(program), Limits::default(), bare_options)?;
    without_shim.run(&input)?;

    let mut samples: [Vec<Duration>; 3] = Default::default();
    for _ in 0..runs {
        // In turn, so that other load on the machine meets all alike.
        samples[0].push(timed(|| {
            Command::new(program)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .map(drop)
        })?);
        samples[1].push(timed(|| without_shim.run(&input).map(drop))?);
        samples[2].push(timed(|| plain.run(&input).map(drop))?);
    }
    for (name, samples) in ["fork and exec", "sandbox", "sandbox and shim"]
        .iter()
        .zip(&mut samples)
    {
        samples.sort();
        println!(
            "{name}: median {:?}, fastest {:?}",
            samples[runs / 2],
            samples[0]
        );
    }
    Ok(())
}

fn timed<E>(run: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}
