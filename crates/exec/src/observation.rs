//! What a run let the world see.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// Everything observed of one run. Bytes beyond [`crate::Limits::capture`] are left out and `truncated` is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Observation {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub end: End,
    /// Files of the working directory that were written or changed, by ascending relative path. A name that ends in
    /// `/` is a new directory, in `@` a symbolic link (contents: its target), in `|` a pipe, socket or device.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files of the input that are no longer there.
    pub removed: Vec<String>,
    /// Values passed to `observe`, in order.
    pub observed: Vec<(String, String)>,
    pub truncated: bool,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit code {code}"),
            End::Signal(number) => write!(f, "signal {number} ({})", signal_name(*number)),
            End::TimedOut => write!(f, "timed out"),
        }
    }
}

fn signal_name(number: i32) -> &'static str {
    match number {
        libc::SIGHUP => "hang-up",
        libc::SIGINT => "interrupt",
        libc::SIGQUIT => "quit",
        libc::SIGILL => "illegal instruction",
        libc::SIGTRAP => "trap",
        libc::SIGABRT => "abort",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "arithmetic exception",
        libc::SIGKILL => "killed",
        libc::SIGSEGV => "segmentation fault",
        libc::SIGPIPE => "broken pipe",
        libc::SIGALRM => "alarm",
        libc::SIGTERM => "terminated",
        libc::SIGXCPU => "CPU time exceeded",
        libc::SIGXFSZ => "file too large",
        libc::SIGSYS => "bad system call",
        _ => "signal",
    }
}

/// Lines `name=value` as `observe` writes them. A line without `=` is a name without a value.
pub(crate) fn parse_observed(bytes: &[u8]) -> Vec<(String, String)> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(|line| {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            (name.to_string(), value.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observed_lines_keep_their_order_and_later_equal_signs() {
        let observed = parse_observed(b"b=1\na=x=y\nbare\n");
        let expected = [("b", "1"), ("a", "x=y"), ("bare", "")];
        assert_eq!(
            observed,
            expected.map(|(n, v)| (n.to_string(), v.to_string()))
        );
    }

    #[test]
    fn ends_are_readable() {
        assert_eq!(
            End::Signal(11).to_string(),
            "signal 11 (segmentation fault)"
        );
        assert_eq!(End::Exit(3).to_string(), "exit code 3");
    }
}
