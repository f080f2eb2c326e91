//! Compares starting a program through the sandbox with a bare fork and exec, side by side.
//! usage: overhead PROGRAM [RUNS]   (a program that was built for tracing is also run through its fork server)

use changeling_exec::{Capacities, Limits, Options, Plain, Traced};
use changeling_trace::input::Input;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = arguments.first().ok_or("usage: overhead PROGRAM [RUNS]")?;
    let runs: usize = arguments.get(1).map_or(Ok(300), |text| text.parse())?;
    let path = Path::new(program);
    let input = Input::default();

    let start = Instant::now();
    let mut plain = Plain::new(path, Limits::default())?;
    plain.run(&input)?;
    println!("first run, cage included: {:?}", start.elapsed());
    let bare = Options {
        shim: false,
        ..Options::default()
    };
    let mut without_shim = Plain::with_options(path, Limits::default(), bare)?;
    let mut traced = Traced::start(path, &input, Limits::default(), Capacities::default()).ok();

    let mut samples: [Vec<Duration>; 4] = Default::default();
    for _ in 0..runs {
        // In turn, so that other load on the machine meets all alike.
        samples[0].push(timed(|| {
            let mut command = Command::new(program);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.status().map(drop)
        })?);
        samples[1].push(timed(|| without_shim.run(&input).map(drop))?);
        samples[2].push(timed(|| plain.run(&input).map(drop))?);
        if let Some(traced) = &mut traced {
            samples[3].push(timed(|| traced.run(&input).map(drop))?);
        }
    }
    let names = [
        "fork and exec",
        "sandbox",
        "sandbox and shim",
        "fork server",
    ];
    for (name, samples) in names.iter().zip(&mut samples) {
        samples.sort();
        if let (Some(fastest), Some(median)) = (samples.first(), samples.get(samples.len() / 2)) {
            println!("{name}: median {median:?}, fastest {fastest:?}");
        }
    }
    Ok(())
}

fn timed<E>(run: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}
