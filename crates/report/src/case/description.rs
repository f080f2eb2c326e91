//! `case.toml`.

use super::{Case, CaseError, FORMAT, is_inside, written_name};
use crate::results::{Bytes, Change, End, Kind, Observed, Outcome, Side, Versions};
use crate::streams;
use changeling_trace::input::{Argument, Stream, StreamKind};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
pub(super) struct CaseFile {
    format: u32,
    pub id: String,
    pub kind: Kind,
    pub title: String,
    pub group: String,
    pub group_size: u64,
    #[serde(default)]
    pub streams: Vec<StreamFile>,
    #[serde(default)]
    pub arguments: Vec<ArgumentFile>,
    pub base: OutcomeFile,
    pub head: OutcomeFile,
    #[serde(default)]
    pub changes: Vec<Change>,
    pub versions: Versions,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StreamFile {
    kind: StreamKind,
    #[serde(default)]
    name: String,
    capacity: usize,
    pub file: String,
    pub length: usize,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ArgumentFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<Bytes>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct OutcomeFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default)]
    timed_out: bool,
    pub stdout: String,
    pub stderr: String,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    #[serde(default)]
    pub files: Vec<WrittenFile>,
    #[serde(default)]
    pub observed: Vec<Observed>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WrittenFile {
    /// As the program called it.
    pub name: String,
    /// In the case's folder.
    pub file: String,
}

impl From<&Case> for CaseFile {
    fn from(case: &Case) -> CaseFile {
        let streams = case
            .input
            .streams
            .iter()
            .enumerate()
            .map(|(number, stream)| StreamFile {
                kind: stream.kind,
                name: stream.name.clone(),
                capacity: stream.capacity,
                file: streams::file_name(&case.input, number),
                length: stream.bytes.len(),
            });
        let arguments = case.input.arguments.iter().map(|argument| match argument {
            Argument::Fixed(text) => ArgumentFile {
                stream: None,
                fixed: Some(text.clone().into()),
            },
            Argument::Symbolic(stream) => ArgumentFile {
                stream: Some(*stream),
                fixed: None,
            },
        });
        CaseFile {
            format: FORMAT,
            id: case.id.clone(),
            kind: case.kind,
            title: case.title.clone(),
            group: case.group.clone(),
            group_size: case.group_size,
            streams: streams.collect(),
            arguments: arguments.collect(),
            base: OutcomeFile::of(Side::Base, &case.base),
            head: OutcomeFile::of(Side::Head, &case.head),
            changes: case.changes.clone(),
            versions: case.versions.clone(),
        }
    }
}

impl CaseFile {
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(self).expect("the description has no maps with odd keys");
        format!("# A saved input on which the two versions differ. See reproduce.sh.\n{text}")
    }

    pub fn parse(text: &str, file: &Path) -> Result<CaseFile, CaseError> {
        let damaged = |error: toml::de::Error| CaseError::Damaged {
            file: file.to_owned(),
            detail: error.to_string().trim_end().to_owned(),
        };
        let table: toml::Table = text.parse().map_err(damaged)?;
        match table.get("format").and_then(toml::Value::as_integer) {
            Some(found) if found == i64::from(FORMAT) => {}
            Some(found) => {
                return Err(CaseError::Format {
                    file: file.to_owned(),
                    found,
                });
            }
            None => {
                return Err(CaseError::Damaged {
                    file: file.to_owned(),
                    detail: "there is no `format = …`".into(),
                });
            }
        }
        toml::from_str(text).map_err(damaged)
    }
}

impl StreamFile {
    /// A case may come from elsewhere: scripts and exported tests write files under these names.
    pub fn to_stream(&self, bytes: Vec<u8>) -> Result<Stream, String> {
        let is_right = match self.kind {
            StreamKind::File => is_inside(&self.name),
            StreamKind::Environment => !self.name.is_empty() && !self.name.contains(['=', '\0']),
            _ => true,
        };
        if !is_right {
            return Err(format!("{:?} is not the name of an input", self.name));
        }
        Ok(Stream {
            kind: self.kind,
            name: self.name.clone(),
            capacity: self.capacity,
            bytes,
        })
    }
}

impl ArgumentFile {
    pub fn to_argument(&self, streams: &[Stream]) -> Result<Argument, String> {
        match (&self.fixed, self.stream) {
            (Some(text), None) => Ok(Argument::Fixed(text.0.clone())),
            (None, Some(number)) => match streams.get(number) {
                Some(stream) if stream.kind == StreamKind::Argument => {
                    Ok(Argument::Symbolic(number))
                }
                _ => Err(format!(
                    "stream {number} of [[arguments]] is not an argument's stream"
                )),
            },
            _ => Err("each of [[arguments]] has either `fixed` or `stream`".into()),
        }
    }
}

impl OutcomeFile {
    fn of(side: Side, outcome: &Outcome) -> OutcomeFile {
        let side = side.name();
        let (exit, signal) = match outcome.end {
            End::Exit(code) => (Some(code), None),
            End::Signal(number) => (None, Some(number)),
            End::TimedOut => (None, None),
        };
        let files = outcome.files.iter().map(|file| WrittenFile {
            name: file.name.clone(),
            file: written_name(side, &file.name),
        });
        OutcomeFile {
            exit,
            signal,
            timed_out: outcome.end == End::TimedOut,
            stdout: format!("{side}.stdout"),
            stderr: format!("{side}.stderr"),
            truncated: outcome.truncated,
            finding: outcome.finding.clone(),
            files: files.collect(),
            observed: outcome.observed.clone(),
        }
    }

    pub fn end(&self) -> Result<End, String> {
        match (self.exit, self.signal, self.timed_out) {
            (Some(code), None, false) => Ok(End::Exit(code)),
            (None, Some(number), false) => Ok(End::Signal(number)),
            (None, None, true) => Ok(End::TimedOut),
            _ => Err("needs exactly one of exit, signal, timed_out = true".into()),
        }
    }
}
