//! Bitcode inside objects.
//!
//! Every object that the stand-in makes carries a section [`SECTION`] with one record: the
//! bitcode of its source, or the reason why there is none. Archives keep
//! objects whole and linkers put sections of the same name one after the
//! other, so an executable ends up with the records of exactly those objects
//! that were linked. The section is not loaded when the program runs.

use crate::error::{BuildError, READ, WRITE};
use crate::process::run;
use crate::tools::Tool;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use serde::{Deserialize, Serialize};
use std::path::Path;

pub const SECTION: &str = ".chg_bc";
const MAGIC: &[u8] = b"CHGBC1 ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub source: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Bitcode(Vec<u8>),
    Missing(String),
}

#[derive(Serialize, Deserialize)]
struct Header {
    source: String,
    length: usize,
    missing: Option<String>,
}

impl Record {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (body, missing): (&[u8], _) = match &self.content {
            Content::Bitcode(body) => (body, None),
            Content::Missing(reason) => (&[], Some(reason.clone())),
        };
        let header = Header {
            source: self.source.clone(),
            length: body.len(),
            missing,
        };
        bytes.extend_from_slice(MAGIC);
        bytes.extend(serde_json::to_vec(&header).unwrap_or_default());
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
    }
}

/// Reads the records of a section, however many; padding between them is passed over.
pub fn parse(mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    loop {
        let padding = bytes
            .iter()
            .position(|&byte| byte != 0)
            .unwrap_or(bytes.len());
        let Some(rest) = bytes[padding..].strip_prefix(MAGIC) else {
            return records;
        };
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return records;
        };
        let Ok(header) = serde_json::from_slice::<Header>(&rest[..end]) else {
            return records;
        };
        let Some(body) = rest[end + 1..].get(..header.length) else {
            return records;
        };
        let content = match header.missing {
            Some(reason) => Content::Missing(reason),
            None => Content::Bitcode(body.to_vec()),
        };
        records.push(Record {
            source: header.source,
            content,
        });
        bytes = &rest[end + 1 + header.length..];
    }
}

/// The records of an object, a shared library or an executable.
pub fn of_object(bytes: &[u8]) -> Vec<Record> {
    section(bytes, SECTION).map_or(Vec::new(), |section| parse(&section))
}

/// The records of each member of an archive, with the member's name.
pub fn of_archive(bytes: &[u8]) -> Vec<(String, Vec<Record>)> {
    let Ok(archive) = ArchiveFile::parse(bytes) else {
        return Vec::new();
    };
    archive
        .members()
        .flatten()
        .map(|member| {
            let name = String::from_utf8_lossy(member.name()).into_owned();
            let records = member.data(bytes).map_or(Vec::new(), of_object);
            (name, records)
        })
        .collect()
}

/// The contents of a section of an ELF file.
pub fn section(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
    let file = object::File::parse(bytes).ok()?;
    let section = file.section_by_name(name)?;
    section.data().ok().map(<[u8]>::to_vec)
}

/// Adds records to those that an object has.
pub fn append(object: &Path, records: &[Record]) -> Result<(), BuildError> {
    let bytes = std::fs::read(object).map_err(|e| BuildError::io(READ, object, e))?;
    let mut contents = section(&bytes, SECTION).unwrap_or_default();
    records
        .iter()
        .for_each(|record| record.write(&mut contents));
    set_section(object, SECTION, &contents, &[SECTION])
}

/// Removes sections and then adds one.
pub fn set_section(
    object: &Path,
    name: &str,
    contents: &[u8],
    remove: &[&str],
) -> Result<(), BuildError> {
    let failed = |e| BuildError::io(WRITE, object, e);
    let file = tempfile::NamedTempFile::new().map_err(failed)?;
    std::fs::write(file.path(), contents).map_err(failed)?;
    let mut command = Tool::Objcopy.command()?;
    for section in remove {
        command.arg(format!("--remove-section={section}"));
    }
    command
        .arg(format!("--add-section={name}={}", file.path().display()))
        .arg(object);
    let finished = run(&mut command)?;
    if finished.succeeded() {
        return Ok(());
    }
    Err(BuildError::Link {
        place: object.display().to_string(),
        output: finished.output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_being_put_together() {
        let records = [
            Record {
                source: "a b.c".into(),
                content: Content::Bitcode(b"BC\n\0CHGBC1 x".to_vec()),
            },
            Record {
                source: "b.s".into(),
                content: Content::Missing("assembler source".into()),
            },
            Record {
                source: "c.c".into(),
                content: Content::Bitcode(Vec::new()),
            },
        ];
        let mut bytes = Vec::new();
        for record in &records {
            record.write(&mut bytes);
            bytes.extend([0, 0, 0]);
        }
        assert_eq!(parse(&bytes), records);
    }

    #[test]
    fn objects_may_lie_anywhere() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let text = section(&own, ".text").unwrap();
        for shift in 1..8 {
            let moved = [&vec![0; shift], own.as_slice()].concat();
            assert!(section(&moved[shift..], ".text").unwrap() == text);
        }
    }

    #[test]
    fn damaged_sections_give_what_is_whole() {
        let mut bytes = Vec::new();
        let record = Record {
            source: "a.c".into(),
            content: Content::Bitcode(vec![1, 2, 3]),
        };
        record.write(&mut bytes);
        record.write(&mut bytes);
        bytes.truncate(bytes.len() - 1);
        assert_eq!(parse(&bytes), [record]);
        assert_eq!(parse(b"something else"), []);
    }
}
