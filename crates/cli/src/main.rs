//! The `changeling` command.
//!
//! A subcommand is one file in `commands/`: its arguments (`Arguments`) and a
//! function `run` that gives an exit code or a [`Failure`].
//!
//! This is where crates meet and messages are worded. Absent on purpose: the work itself, which is done in the crates below.

mod arrival;
mod check;
mod commands;
mod comparison;
mod conclusion;
mod config;
mod exit;
mod extent;
mod failure;
mod functions;
mod golden;
mod guidance;
mod harness;
mod inputs;
mod parts;
mod preparation;
mod progress;
mod recorder;
mod regions;
mod results;
mod runner;
mod sameness;
mod settings;
mod share;
mod signals;
mod source;
mod store;
mod version;
mod versions;
mod view;

use clap::{Parser, Subcommand};
use exit::Code;
use failure::Failure;

#[derive(Parser)]
#[command(
    name = "changeling",
    version,
    about = "Finds the inputs on which two versions of a program behave differently"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find inputs on which two versions behave differently
    Run(Box<commands::run::Arguments>),
    /// Say what changed between two versions, and what only looks changed
    Diff(Box<commands::diff::Arguments>),
    /// Draw a graph of a function, or the order in which runs come by the changes
    Graph(Box<commands::graph::Arguments>),
    /// Run a case natively on both versions, or judge the tree here for `git bisect run`
    Replay(Box<commands::replay::Arguments>),
    /// Find an input that executes a line or a function
    Reach(Box<commands::reach::Arguments>),
    /// Write a harness for a function: bytes in, one call, results out
    Harness(Box<commands::harness::Arguments>),
    /// Mark a difference as intended: later runs stay quiet about it
    Accept(commands::accept::Arguments),
    /// Turn cases into tests, or seeds for other tools
    Export(commands::export::Arguments),
    /// Say what is installed, what is missing and how to get it
    Doctor(commands::doctor::Arguments),
    /// Stand in for the C compiler: keeps bitcode beside every object
    #[command(name = "cc", disable_help_flag = true)]
    Cc(commands::cc::Arguments),
    /// Stand in for the C++ compiler
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(commands::cc::Arguments),
    /// Run a program once and print its path condition, outputs and losses
    Trace(commands::trace::Arguments),
    #[command(name = "__build", hide = true)]
    Build(commands::build::Arguments),
}

fn main() -> std::process::ExitCode {
    failure::install_panic_hook();
    changeling_build::llvm_ends_with(Code::INTERNAL.0.into());
    let result = std::panic::catch_unwind(|| {
        // As a compiler this program must take arguments as they are.
        if let Some(code) = commands::cc::run_as_compiler() {
            return Ok(code);
        }
        match Arguments::try_parse() {
            Ok(arguments) => dispatch(arguments.command),
            Err(error) => {
                // Nobody is left to tell if this fails.
                let _ = error.print();
                Ok(Code(
                    u8::try_from(error.exit_code()).unwrap_or(Code::USAGE.0),
                ))
            }
        }
    });
    let code = match result {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.print();
            failure.code
        }
        Err(_) => Code::INTERNAL,
    };
    match is_bisecting() {
        true => code.of_a_bisection().into(),
        false => code.into(),
    }
}

fn is_bisecting() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|command| command == "replay")
        && arguments.any(|argument| argument == "--bisect")
}

fn dispatch(command: Command) -> Result<Code, Failure> {
    // Compilers that this stands in for are ended by whoever started them; a search ends in a report.
    let ends_itself = matches!(command, Command::Run(_) | Command::Cc(_) | Command::Cxx(_));
    if !ends_itself {
        signals::end_on_signals();
    }
    match command {
        Command::Run(arguments) => commands::run::run(&arguments).map_err(Failure::of_a_search),
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::Graph(arguments) => commands::graph::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Reach(arguments) => commands::reach::run(&arguments),
        Command::Harness(arguments) => commands::harness::run(&arguments),
        Command::Accept(arguments) => commands::accept::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Cc(arguments) => commands::cc::run(&arguments, false),
        Command::Cxx(arguments) => commands::cc::run(&arguments, true),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Build(arguments) => commands::build::run(&arguments),
    }
}
