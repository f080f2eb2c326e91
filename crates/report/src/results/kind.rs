//! What kind of thing differs.

use super::{End, Outcome};
use serde::{Deserialize, Serialize};

/// In the order in which differences are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Head is killed by a signal, base is not (or by another).
    Crash,
    /// A sanitizer finding in head only.
    Sanitizer,
    /// Head does not end, base does.
    Hang,
    ExitCode,
    /// Head's output is a part of base's.
    MissingOutput,
    /// Other text on stdout.
    Output,
    ErrorOutput,
    Files,
    /// Values passed to `observe`.
    Observed,
    /// Base did what head no longer does.
    CrashGone,
    SanitizerGone,
    HangGone,
}

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::Crash,
        Kind::Sanitizer,
        Kind::Hang,
        Kind::ExitCode,
        Kind::MissingOutput,
        Kind::Output,
        Kind::ErrorOutput,
        Kind::Files,
        Kind::Observed,
        Kind::CrashGone,
        Kind::SanitizerGone,
        Kind::HangGone,
    ];

    /// The most severe way in which two outcomes differ; none if they are equal.
    pub fn of(base: &Outcome, head: &Outcome) -> Option<Kind> {
        use End::{Signal, TimedOut};
        match (base.end, head.end) {
            (base, head) if base == head => {}
            (_, TimedOut) => return Some(Kind::Hang),
            (TimedOut, _) => return Some(Kind::HangGone),
            (_, Signal(_)) => return Some(Kind::Crash),
            (Signal(_), _) => return Some(Kind::CrashGone),
            _ if head.finding.is_some() && base.finding.is_none() => return Some(Kind::Sanitizer),
            _ if base.finding.is_some() && head.finding.is_none() => {
                return Some(Kind::SanitizerGone);
            }
            _ => return Some(Kind::ExitCode),
        }
        match (&base.finding, &head.finding) {
            (None, Some(_)) => return Some(Kind::Sanitizer),
            (Some(_), None) => return Some(Kind::SanitizerGone),
            _ => {}
        }
        if base.stdout != head.stdout {
            let missing = base.stdout.len() > head.stdout.len()
                && (base.stdout.starts_with(&head.stdout) || base.stdout.ends_with(&head.stdout));
            return Some(if missing {
                Kind::MissingOutput
            } else {
                Kind::Output
            });
        }
        if base.files != head.files {
            return Some(Kind::Files);
        }
        if base.observed != head.observed {
            return Some(Kind::Observed);
        }
        (base.stderr != head.stderr).then_some(Kind::ErrorOutput)
    }

    /// As in `results.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Crash => "crash",
            Kind::Sanitizer => "sanitizer",
            Kind::Hang => "hang",
            Kind::ExitCode => "exit-code",
            Kind::MissingOutput => "missing-output",
            Kind::Output => "output",
            Kind::ErrorOutput => "error-output",
            Kind::Files => "files",
            Kind::Observed => "observed",
            Kind::CrashGone => "crash-gone",
            Kind::SanitizerGone => "sanitizer-gone",
            Kind::HangGone => "hang-gone",
        }
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            Kind::Crash => "head crashes",
            Kind::Sanitizer => "sanitizer finding in head",
            Kind::Hang => "head does not end",
            Kind::ExitCode => "exit code differs",
            Kind::MissingOutput => "output is missing in head",
            Kind::Output => "output differs",
            Kind::ErrorOutput => "error output differs",
            Kind::Files => "files written differ",
            Kind::Observed => "observed values differ",
            Kind::CrashGone => "base crashes, head does not",
            Kind::SanitizerGone => "sanitizer finding in base only",
            Kind::HangGone => "base does not end, head does",
        }
    }

    /// Seen with sanitizers only.
    pub fn is_finding(self) -> bool {
        matches!(self, Kind::Sanitizer | Kind::SanitizerGone)
    }

    /// Would stop a release rather than surprise a reader.
    pub const fn is_severe(self) -> bool {
        matches!(self, Kind::Crash | Kind::Sanitizer | Kind::Hang)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Bytes;

    fn outcome(stdout: &str, end: End) -> Outcome {
        Outcome {
            stdout: Bytes::from(stdout),
            end,
            ..Outcome::default()
        }
    }

    #[test]
    fn names_agree_with_json() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
    }

    #[test]
    fn the_most_severe_way_counts() {
        let exit = |code| outcome("ab", End::Exit(code));
        assert_eq!(Kind::of(&exit(0), &exit(0)), None);
        assert_eq!(Kind::of(&exit(0), &exit(1)), Some(Kind::ExitCode));
        assert_eq!(
            Kind::of(&exit(0), &outcome("", End::Signal(11))),
            Some(Kind::Crash)
        );
        assert_eq!(
            Kind::of(&outcome("", End::Signal(11)), &exit(0)),
            Some(Kind::CrashGone)
        );
        assert_eq!(
            Kind::of(&exit(0), &outcome("", End::TimedOut)),
            Some(Kind::Hang)
        );
        assert_eq!(
            Kind::of(&exit(0), &outcome("a", End::Exit(0))),
            Some(Kind::MissingOutput)
        );
        assert_eq!(
            Kind::of(&exit(0), &outcome("ac", End::Exit(0))),
            Some(Kind::Output)
        );
        let mut finding = exit(1);
        finding.finding = Some("heap-buffer-overflow".into());
        assert_eq!(Kind::of(&exit(0), &finding), Some(Kind::Sanitizer));
        assert_eq!(Kind::of(&finding, &exit(1)), Some(Kind::SanitizerGone));
    }
}
