//! `cargo changeling`: the package here, an older revision against the work tree.
//! Hands everything to the `changeling` beside it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Subcommands that are passed on as they are; everything else is a `run`.
const OTHERS: &[&str] = &[
    "run", "diff", "graph", "replay", "reach", "harness", "accept", "export", "doctor", "cc",
    "c++", "trace", "help",
];

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    // Cargo repeats the name of the subcommand.
    if arguments.first().is_some_and(|first| first == "changeling") {
        arguments.remove(0);
    }
    let first = arguments
        .first()
        .map(|first| first.to_string_lossy().into_owned());
    let program = beside();
    let mut command = Command::new(&program);
    match first.as_deref() {
        Some("--help" | "-h") => command.args(["run", "--help"]),
        Some("--version" | "-V") => command.arg("--version"),
        Some(name) if OTHERS.contains(&name) => command.args(&arguments),
        _ => command.arg("run").args(&arguments),
    };
    let error = command.exec();
    eprintln!("error: cannot start {}: {error}", program.display());
    eprintln!("  help: install changeling and cargo-changeling into the same directory");
    ExitCode::from(4)
}

fn beside() -> PathBuf {
    let here = std::env::current_exe().ok();
    let beside = here.map(|path| path.with_file_name("changeling"));
    beside
        .filter(|path| path.is_file())
        .unwrap_or_else(|| "changeling".into())
}
