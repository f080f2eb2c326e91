//! Cases as tests and seeds for other tools.

pub mod c;
pub mod corpus;
pub mod ktest;
pub mod rust;
pub mod shell;

use crate::case::Case;
use crate::results::{End, Kind, Outcome, Side};

/// What an exported test asserts.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// The version whose behaviour is right: base for a regression test, head for
    /// a difference that is intended.
    pub side: Side,
}

impl Expectation {
    pub fn outcome(self, case: &Case) -> &Outcome {
        match self.side {
            Side::Base => &case.base,
            Side::Head => &case.head,
        }
    }
}

/// The exit code that a shell shows for an end.
fn shell_status(end: End) -> i32 {
    match end {
        End::Exit(code) => code & 0xff,
        End::Signal(number) => 128 + number,
        // As `timeout` says it.
        End::TimedOut => 124,
    }
}

/// Error output is often worded for people, so it is checked only where it is
/// what differs.
fn checks_stderr(case: &Case) -> bool {
    case.kind == Kind::ErrorOutput
}

/// A name for the test, safe in every language.
fn test_name(case: &Case) -> String {
    let name: String = case
        .folder_name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("changeling_{name}")
}
