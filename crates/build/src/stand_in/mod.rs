//! Stands in for the compiler inside a user's build.

pub mod arguments;

use crate::tools::Tool;
use std::ffi::OsString;

/// Runs as the compiler if this process was called as one: `changeling cc …`.
pub fn run(arguments: &[OsString]) -> Option<u8> {
    match arguments.get(1)?.to_str()? {
        "cc" => Some(compile(&arguments[2..], false)),
        "c++" => Some(compile(&arguments[2..], true)),
        _ => None,
    }
}

/// Compiles like clang would.
pub fn compile(arguments: &[OsString], cpp: bool) -> u8 {
    let tool = if cpp { Tool::ClangPlusPlus } else { Tool::Clang };
    match tool.command().map(|mut command| command.args(arguments).status()) {
        Ok(Ok(status)) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        _ => 1,
    }
}
