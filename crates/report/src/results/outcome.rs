//! What one version did on an input.

use super::Bytes;
use serde::{Deserialize, Serialize};

/// In JSON: `stdout`, `stderr`, and `exit` or `signal` or `timed_out`. Streams
/// that are not UTF-8 have their exact bytes in `stdout_base64`,
/// `stderr_base64`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Outcome {
    pub stdout: Bytes,
    pub stderr: Bytes,
    pub end: End,
    pub files: Vec<FileWritten>,
    pub observed: Vec<Observed>,
    /// A sanitizer's finding, in one line.
    pub finding: Option<String>,
    /// The program wrote more than was kept.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

impl Default for End {
    fn default() -> End {
        End::Exit(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWritten {
    /// Relative to the working directory.
    pub name: String,
    #[serde(flatten)]
    pub bytes: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    pub name: String,
    pub value: String,
}

impl End {
    /// `exit 1`, `killed by SIGSEGV (11)`, `timed out`.
    pub fn text(self) -> String {
        match self {
            End::Exit(code) => format!("exit {code}"),
            End::Signal(number) => match signal_name(number) {
                Some(name) => format!("killed by {name} ({number})"),
                None => format!("killed by signal {number}"),
            },
            End::TimedOut => "did not end in time".into(),
        }
    }
}

impl Outcome {
    /// Cuts long streams and files, for places where whole ones would not be read.
    pub fn clip(&mut self, limit: usize) {
        let streams = [&mut self.stdout, &mut self.stderr];
        let files = self.files.iter_mut().map(|file| &mut file.bytes);
        for bytes in streams.into_iter().chain(files) {
            if bytes.len() > limit {
                bytes.0.truncate(limit);
                self.truncated = true;
            }
        }
    }
}

/// Name of a signal on Linux.
pub fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    stdout: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout_base64: Option<String>,
    stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal_name: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    timed_out: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileWritten>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    observed: Vec<Observed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<Outcome> for Wire {
    fn from(outcome: Outcome) -> Wire {
        let (stdout, stdout_base64) = outcome.stdout.encode();
        let (stderr, stderr_base64) = outcome.stderr.encode();
        let (exit, signal, timed_out) = match outcome.end {
            End::Exit(code) => (Some(code), None, false),
            End::Signal(number) => (None, Some(number), false),
            End::TimedOut => (None, None, true),
        };
        Wire {
            stdout,
            stdout_base64,
            stderr,
            stderr_base64,
            exit,
            signal,
            signal_name: signal.and_then(signal_name).map(str::to_owned),
            timed_out,
            files: outcome.files,
            observed: outcome.observed,
            finding: outcome.finding,
            truncated: outcome.truncated,
        }
    }
}

impl TryFrom<Wire> for Outcome {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Outcome, String> {
        let end = match (wire.exit, wire.signal, wire.timed_out) {
            (Some(code), None, false) => End::Exit(code),
            (None, Some(number), false) => End::Signal(number),
            (None, None, true) => End::TimedOut,
            _ => return Err("an outcome has exactly one of exit, signal, timed_out".into()),
        };
        let decode = |text, code, name: &str| {
            Bytes::decode(text, code).map_err(|error| format!("{name}_base64: {error}"))
        };
        Ok(Outcome {
            stdout: decode(wire.stdout, wire.stdout_base64, "stdout")?,
            stderr: decode(wire.stderr, wire.stderr_base64, "stderr")?,
            end,
            files: wire.files,
            observed: wire.observed,
            finding: wire.finding,
            truncated: wire.truncated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_names_scripts_rely_on() {
        let outcome = Outcome {
            stdout: Bytes::from("3\n"),
            stderr: Bytes(vec![0xff]),
            end: End::Signal(11),
            ..Outcome::default()
        };
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["stdout"], "3\n");
        assert_eq!(json["stderr_base64"], "/w==");
        assert_eq!(json["signal"], 11);
        assert_eq!(json["signal_name"], "SIGSEGV");
        assert!(json.get("exit").is_none());
        assert_eq!(serde_json::from_value::<Outcome>(json).unwrap(), outcome);
    }

    #[test]
    fn an_outcome_ends_in_one_way() {
        let twice = r#"{"stdout":"","stderr":"","exit":0,"signal":6}"#;
        let error = serde_json::from_str::<Outcome>(twice).unwrap_err();
        assert!(error.to_string().contains("exactly one"));
    }
}
