//! `changeling cc` and `changeling c++`: the compiler stand-ins.

use crate::exit::Code;
use crate::failure::Failure;
use std::ffi::OsString;

#[derive(clap::Args)]
pub struct Arguments {
    /// What would be given to the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn run(arguments: &Arguments, cpp: bool) -> Result<Code, Failure> {
    Ok(Code(changeling_build::stand_in::compile(
        &arguments.arguments,
        cpp,
    )))
}

/// Runs as a compiler if that is how this program was called: `changeling cc …`, or by a
/// link with a compiler's name.
pub fn run_as_compiler() -> Option<Code> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    changeling_build::stand_in::run(&arguments).map(Code)
}
