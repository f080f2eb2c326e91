//! `accepted.toml`: differences that are intended. Later runs stay quiet about
//! every difference of the same group. The file is committed, so it has no
//! dates and keeps its order.

use crate::files::{FileError, attempt, read_text, write_atomically};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of `accepted.toml`.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    groups: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What makes two differences the same thing.
    pub group: String,
    /// For people who read the file.
    pub title: String,
    /// The changes that it entered when it was accepted, and an input, for people as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
    /// Why it is intended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    format: u32,
    #[serde(default)]
    accepted: Vec<Entry>,
}

#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is damaged: {detail}; mend it or delete it to accept nothing", file.display())]
    Damaged { file: PathBuf, detail: String },
    #[error("{} has format {found}, but this version reads format {FORMAT}", file.display())]
    Format { file: PathBuf, found: u32 },
}

impl Accepted {
    /// Reads the file; without one nothing is accepted.
    pub fn read(path: &Path) -> Result<Accepted, AcceptedError> {
        let text = match read_text(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Accepted::default());
            }
            result => attempt("read", path, result)?,
        };
        let wire: Wire = toml::from_str(&text).map_err(|error| AcceptedError::Damaged {
            file: path.to_owned(),
            detail: error.to_string().trim_end().to_owned(),
        })?;
        if wire.format != FORMAT {
            return Err(AcceptedError::Format {
                file: path.to_owned(),
                found: wire.format,
            });
        }
        Ok(Accepted {
            groups: wire.accepted,
        })
    }

    pub fn write(&self, path: &Path) -> Result<(), AcceptedError> {
        if let Some(parent) = path.parent() {
            attempt("make", parent, std::fs::create_dir_all(parent))?;
        }
        let wire = Wire {
            format: FORMAT,
            accepted: self.groups.clone(),
        };
        let text = toml::to_string(&wire).expect("strings and a number always serialise");
        let text = format!(
            "# Differences that are intended: changeling stays quiet about them.\n\
             # Added by `changeling accept`; delete an entry to hear of it again.\n{text}"
        );
        Ok(write_atomically(path, text.as_bytes())?)
    }

    /// False if the group was accepted before; a reason is noted then, too.
    pub fn add(&mut self, entry: Entry) -> bool {
        let mut groups = self.groups.iter_mut();
        if let Some(known) = groups.find(|known| known.group == entry.group) {
            if !entry.reason.is_empty() {
                known.reason = entry.reason;
            }
            return false;
        }
        self.groups.push(entry);
        true
    }

    pub fn find(&self, group: &str) -> Option<&Entry> {
        self.groups.iter().find(|entry| entry.group == group)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(group: &str) -> Entry {
        Entry {
            group: group.into(),
            title: "x \u{1b}[31m \"y\"\n".into(),
            changes: vec!["a.c:1 in main".into()],
            ..Entry::default()
        }
    }

    #[test]
    fn what_is_accepted_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".changeling/accepted.toml");
        assert_eq!(Accepted::read(&path).unwrap(), Accepted::default());
        let mut accepted = Accepted::default();
        assert!(accepted.add(entry("a")));
        assert!(!accepted.add(entry("a")));
        assert!(accepted.add(entry("b")));
        let reason = "why".to_owned();
        assert!(!accepted.add(Entry {
            reason: reason.clone(),
            ..entry("b")
        }));
        assert!(!accepted.add(entry("b")));
        assert_eq!(accepted.find("b").unwrap().reason, reason);
        accepted.write(&path).unwrap();
        let back = Accepted::read(&path).unwrap();
        assert_eq!(back, accepted);
        assert!(back.find("b").is_some() && back.find("c").is_none());
    }

    #[test]
    fn a_damaged_file_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accepted.toml");
        std::fs::write(&path, "format = 1\n[[accepted]]\ngruop = \"a\"\n").unwrap();
        let error = Accepted::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("accepted.toml") && error.contains("line 3"),
            "{error}"
        );
        std::fs::write(&path, "format = 9\n").unwrap();
        assert!(matches!(
            Accepted::read(&path),
            Err(AcceptedError::Format { found: 9, .. })
        ));
    }
}
