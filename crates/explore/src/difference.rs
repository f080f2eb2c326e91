//! When are two observations different, in what way, and how grave is it.

use crate::normalise::Normaliser;
use crate::{End, Observation, Side};
use serde::{Deserialize, Serialize};

/// What kind of difference a user would call it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Kind {
    /// One version is killed by a signal, the other is not, or by another one.
    Crash {
        side: Side,
        signal: i32,
    },
    /// A sanitizer complains about one version only.
    Sanitizer {
        side: Side,
    },
    /// One version does not end.
    Hang {
        side: Side,
    },
    /// Both end by themselves with different exit codes.
    ExitCode {
        /// The version whose code is not 0; none if both are not.
        #[serde(default)]
        failing: Option<Side>,
    },
    /// Output of one version is a beginning (or nothing) of the other's.
    MissingOutput {
        side: Side,
        channel: Channel,
    },
    ChangedOutput {
        channel: Channel,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    Stdout,
    Observed,
    Files,
    Stderr,
}

impl Channel {
    pub const fn text(self) -> &'static str {
        match self {
            Channel::Stdout => "stdout",
            Channel::Observed => "observed values",
            Channel::Files => "files",
            Channel::Stderr => "stderr",
        }
    }
}

impl Kind {
    /// Smaller is graver: crash or sanitizer finding in head only, exit code, missing output, changed text; then what is
    /// wrong with base only. Reports name kinds in this order, too.
    pub fn rank(&self) -> u32 {
        match self {
            Kind::Crash {
                side: Side::Head, ..
            } => 0,
            Kind::Sanitizer { side: Side::Head } => 1,
            Kind::Hang { side: Side::Head } => 2,
            Kind::ExitCode { .. } => 3,
            Kind::MissingOutput {
                side: Side::Head,
                channel: Channel::Stdout,
            } => 4,
            Kind::MissingOutput { channel, .. } | Kind::ChangedOutput { channel } => {
                match channel {
                    Channel::Stdout => 5,
                    Channel::Stderr => 6,
                    Channel::Files => 7,
                    Channel::Observed => 8,
                }
            }
            Kind::Crash { .. } => 9,
            Kind::Sanitizer { .. } => 10,
            Kind::Hang { .. } => 11,
        }
    }

    /// A short stable name, for file names and reports.
    pub fn slug(&self) -> String {
        let of = |side: &Side| match side {
            Side::Base => "base",
            Side::Head => "head",
        };
        match self {
            Kind::Crash { side, .. } => format!("crash-{}", of(side)),
            Kind::Sanitizer { side } => format!("sanitizer-{}", of(side)),
            Kind::Hang { side } => format!("hang-{}", of(side)),
            Kind::ExitCode { failing: None } => "exit-code".into(),
            Kind::ExitCode {
                failing: Some(side),
            } => format!("exit-code-{}", of(side)),
            Kind::MissingOutput { side, channel } => {
                format!("missing-{}-{}", channel_slug(*channel), of(side))
            }
            Kind::ChangedOutput { channel } => format!("changed-{}", channel_slug(*channel)),
        }
    }
}

fn channel_slug(channel: Channel) -> &'static str {
    match channel {
        Channel::Stdout => "stdout",
        Channel::Observed => "observed",
        Channel::Files => "files",
        Channel::Stderr => "stderr",
    }
}

/// The kind of difference between two observations of the same input, if they
/// differ after normalisation.
pub fn classify(normaliser: &Normaliser, base: &Observation, head: &Observation) -> Option<Kind> {
    if base == head {
        return None;
    }
    let base = normaliser.observation(base);
    let head = normaliser.observation(head);
    if let Some(kind) = ends(&base.end, &head.end) {
        return Some(kind);
    }
    // How far a program gets before its time is up is chance.
    if base.end == End::TimedOut {
        return None;
    }
    let texts = [
        (Channel::Stdout, &base.stdout, &head.stdout),
        (Channel::Stderr, &base.stderr, &head.stderr),
    ];
    let [stdout, stderr] = texts.map(|(channel, base, head)| text(channel, base, head));
    stdout
        .or_else(|| listed(Channel::Observed, &base.observed, &head.observed))
        .or_else(|| listed(Channel::Files, &base.files, &head.files))
        .or_else(|| listed(Channel::Files, &head.removed, &base.removed))
        .or(stderr)
}

fn ends(base: &End, head: &End) -> Option<Kind> {
    match (base, head) {
        (base, head) if base == head => None,
        (End::TimedOut, _) => Some(Kind::Hang { side: Side::Base }),
        (_, End::TimedOut) => Some(Kind::Hang { side: Side::Head }),
        (_, End::Signal(signal)) => Some(Kind::Crash {
            side: Side::Head,
            signal: *signal,
        }),
        (End::Signal(signal), _) => Some(Kind::Crash {
            side: Side::Base,
            signal: *signal,
        }),
        (End::Exit(base), End::Exit(head)) => Some(Kind::ExitCode {
            failing: match (base, head) {
                (0, _) => Some(Side::Head),
                (_, 0) => Some(Side::Base),
                _ => None,
            },
        }),
    }
}

fn text(channel: Channel, base: &[u8], head: &[u8]) -> Option<Kind> {
    if base == head {
        None
    } else if base.starts_with(head) {
        Some(Kind::MissingOutput {
            side: Side::Head,
            channel,
        })
    } else if head.starts_with(base) {
        Some(Kind::MissingOutput {
            side: Side::Base,
            channel,
        })
    } else {
        Some(Kind::ChangedOutput { channel })
    }
}

fn listed<T: PartialEq>(channel: Channel, base: &[T], head: &[T]) -> Option<Kind> {
    if base == head {
        None
    } else if head.len() < base.len() && head.iter().all(|item| base.contains(item)) {
        Some(Kind::MissingOutput {
            side: Side::Head,
            channel,
        })
    } else if base.len() < head.len() && base.iter().all(|item| head.contains(item)) {
        Some(Kind::MissingOutput {
            side: Side::Base,
            channel,
        })
    } else {
        Some(Kind::ChangedOutput { channel })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(stdout: &str, end: End) -> Observation {
        Observation {
            stdout: stdout.into(),
            end,
            ..crate::runner::nothing_seen()
        }
    }

    fn kind(base: (&str, End), head: (&str, End)) -> Option<Kind> {
        let normaliser = Normaliser::standard();
        classify(
            &normaliser,
            &observation(base.0, base.1),
            &observation(head.0, head.1),
        )
    }

    #[test]
    fn the_end_weighs_more_than_the_text() {
        let exit = End::Exit;
        assert_eq!(kind(("a", exit(0)), ("a", exit(0))), None);
        let codes = |base, head| kind(("a", exit(base)), ("b", exit(head)));
        let failing = |failing| Some(Kind::ExitCode { failing });
        assert_eq!(codes(0, 1), failing(Some(Side::Head)));
        assert_eq!(codes(1, 0), failing(Some(Side::Base)));
        assert_eq!(codes(1, 2), failing(None));
        assert_eq!(
            kind(("a", exit(0)), ("", End::Signal(6))),
            Some(Kind::Crash {
                side: Side::Head,
                signal: 6
            })
        );
        assert_eq!(
            kind(("a", End::Signal(6)), ("a", exit(0))),
            Some(Kind::Crash {
                side: Side::Base,
                signal: 6
            })
        );
        assert_eq!(
            kind(("a", End::TimedOut), ("a", End::Signal(6))),
            Some(Kind::Hang { side: Side::Base })
        );
        assert_eq!(kind(("a", End::TimedOut), ("aaa", End::TimedOut)), None);
    }

    #[test]
    fn a_lost_tail_is_missing_output() {
        let exit = End::Exit;
        let channel = Channel::Stdout;
        assert_eq!(
            kind(("ab", exit(0)), ("a", exit(0))),
            Some(Kind::MissingOutput {
                side: Side::Head,
                channel
            })
        );
        assert_eq!(
            kind(("a", exit(0)), ("ab", exit(0))),
            Some(Kind::MissingOutput {
                side: Side::Base,
                channel
            })
        );
        assert_eq!(
            kind(("a", exit(0)), ("b", exit(0))),
            Some(Kind::ChangedOutput { channel })
        );
        assert_eq!(
            kind(
                ("at 0x7ffff7dd0000", exit(0)),
                ("at 0x7ffff7dd0010", exit(0))
            ),
            None
        );
    }

    #[test]
    fn graver_kinds_come_first() {
        let kinds = [
            Kind::Crash {
                side: Side::Head,
                signal: 11,
            },
            Kind::Sanitizer { side: Side::Head },
            Kind::ExitCode { failing: None },
            Kind::MissingOutput {
                side: Side::Head,
                channel: Channel::Stdout,
            },
            Kind::ChangedOutput {
                channel: Channel::Stdout,
            },
            Kind::ChangedOutput {
                channel: Channel::Stderr,
            },
            Kind::ChangedOutput {
                channel: Channel::Files,
            },
            Kind::ChangedOutput {
                channel: Channel::Observed,
            },
            Kind::Crash {
                side: Side::Base,
                signal: 11,
            },
        ];
        assert!(kinds.windows(2).all(|pair| pair[0].rank() < pair[1].rank()));
    }
}
