//! What can go wrong between bitcode and traced binary.

use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum InstrumentError {
    #[error("{path} is not LLVM bitcode that can be read: {reason}")]
    Unreadable { path: PathBuf, reason: String },
    #[error("{path} has neither `main` nor `LLVMFuzzerTestOneInput`")]
    NoEntry { path: PathBuf },
    #[error("{path} is for {triple}; only x86_64 Linux programs can be traced")]
    Architecture { path: PathBuf, triple: String },
    #[error("the code for tracing {path} is not valid: {reason}")]
    Invalid { path: PathBuf, reason: String },
    #[error("LLVM could not {what}: {reason}")]
    Llvm { what: &'static str, reason: String },
    #[error("linking the traced program failed:\n{output}")]
    Link { output: String },
    #[error("{path} cannot be written: {source}")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{tool} could not be started: {source}; run `changeling doctor`")]
    Tool {
        tool: &'static str,
        source: std::io::Error,
    },
}
