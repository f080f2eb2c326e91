//! Runs a program once in the sandbox, or only tells what the sandbox consists of.
//! usage: once [PROGRAM [RUNS]]   (standard input: none)

use changeling_exec::{Limits, Plain, capabilities};
use changeling_trace::input::Input;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(program) = arguments.first() else {
        for capability in capabilities()? {
            let mark = if capability.in_force { "yes" } else { "no " };
            println!("{mark} {}: {}", capability.name, capability.detail);
        }
        return Ok(());
    };
    let runs: u32 = arguments.get(1).map_or(Ok(1), |text| text.parse())?;
    let mut plain = Plain::new(Path::new(program), Limits::default())?;
    let input = Input::default();
    let observation = plain.run(&input)?;
    println!("{}", String::from_utf8_lossy(&observation.stdout));
    eprintln!("{}", String::from_utf8_lossy(&observation.stderr));
    println!(
        "{}, {} files, observed {:?}",
        observation.end,
        observation.files.len(),
        observation.observed
    );
    let start = Instant::now();
    for _ in 1..runs {
        plain.run(&input)?;
    }
    if runs > 1 {
        println!("{:?} per run", start.elapsed() / (runs - 1));
    }
    Ok(())
}
