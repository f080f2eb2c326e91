//! A saved difference: a folder with the raw input, what both versions did, and
//! a script that shows it without Changeling.

mod description;
mod reproduce;

use crate::files::{FileError, TEMPORARY, attempt, content_name, read, replace_directory, unnamed};
use crate::results::{
    Change, Difference, End, FileWritten, InputView, Kind, Outcome, Side, Versions,
};
use crate::{escape, streams};
use changeling_trace::input::Input;
use description::{CaseFile, OutcomeFile};
use std::path::{Path, PathBuf};

/// Version of `case.toml`.
pub const FORMAT: u32 = 1;
pub const DESCRIPTION: &str = "case.toml";

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub id: String,
    pub kind: Kind,
    pub title: String,
    pub group: String,
    pub group_size: u64,
    pub input: Input,
    pub base: Outcome,
    pub head: Outcome,
    pub changes: Vec<Change>,
    pub versions: Versions,
}

#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{} is not a case: it has no {DESCRIPTION}; give the folder of a case, \
         such as .changeling/out/cases/0001-…", .0.display()
    )]
    NotACase(PathBuf),
    #[error("{} is damaged: {detail}", file.display())]
    Damaged { file: PathBuf, detail: String },
    #[error(
        "{} has format {found}, but this version reads format {FORMAT}; \
         find the difference again to save it anew", file.display()
    )]
    Format { file: PathBuf, found: i64 },
}

impl Case {
    pub fn of(difference: &Difference, versions: &Versions) -> Case {
        Case {
            id: difference.id.clone(),
            kind: difference.kind,
            title: difference.title.clone(),
            group: difference.group.clone(),
            group_size: difference.group_size,
            input: difference.input.to_input(),
            base: difference.base.clone(),
            head: difference.head.clone(),
            changes: difference.changes.clone(),
            versions: versions.clone(),
        }
    }

    /// As it goes into `results.json`; `folder` is relative to the output directory.
    pub fn to_difference(&self, folder: &str) -> Difference {
        Difference {
            golden: None,
            critical: None,
            also: Vec::new(),
            id: self.id.clone(),
            kind: self.kind,
            title: self.title.clone(),
            group: self.group.clone(),
            group_size: self.group_size,
            case: folder.to_owned(),
            input: InputView::from(&self.input),
            base: self.base.clone(),
            head: self.head.clone(),
            changes: self.changes.clone(),
            parting: None,
            found_by: String::new(),
            run: 0,
            seconds: 0.0,
        }
    }

    /// `0001-head-crashes`: the number and a few words that say what it is.
    pub fn folder_name(&self) -> String {
        let mut slug = String::new();
        for c in self.title.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.ends_with('-') && !slug.is_empty() {
                slug.push('-');
            }
            if slug.len() >= 40 {
                break;
            }
        }
        let slug = slug.trim_matches('-');
        let slug = if slug.is_empty() {
            self.kind.name()
        } else {
            slug
        };
        format!("{}-{slug}", escape::file_name(&self.id))
    }

    /// Writes the folder into `parent`, all at once, and gives its path. A folder
    /// of the same name is replaced.
    pub fn write(&self, parent: &Path) -> Result<PathBuf, CaseError> {
        attempt("make", parent, std::fs::create_dir_all(parent))?;
        let target = parent.join(self.folder_name());
        let builder = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(parent);
        let fresh = attempt("write in", parent, builder.map_err(unnamed))?;
        self.write_files(fresh.path(), &target)?;
        attempt("write", fresh.path(), share(fresh.path()))?;
        replace_directory(fresh.path(), &target)?;
        // Nothing is left under the temporary name.
        let _ = fresh.keep();
        Ok(target)
    }

    /// Writes into `folder`, which is to become `target`: the name that errors speak of.
    fn write_files(&self, folder: &Path, target: &Path) -> Result<(), CaseError> {
        let put = |name: &str, contents: &[u8]| {
            let written = std::fs::write(folder.join(name), contents);
            attempt("write", &target.join(name), written)
        };
        for (number, stream) in self.input.streams.iter().enumerate() {
            put(&streams::file_name(&self.input, number), &stream.bytes)?;
        }
        for (side, outcome) in [(Side::Base, &self.base), (Side::Head, &self.head)] {
            let side = side.name();
            put(&format!("{side}.stdout"), &outcome.stdout)?;
            put(&format!("{side}.stderr"), &outcome.stderr)?;
            put(&format!("{side}.exit"), exit_text(outcome.end).as_bytes())?;
            for file in &outcome.files {
                put(&written_name(side, &file.name), &file.bytes)?;
            }
        }
        put("reproduce.sh", &reproduce::script(self))?;
        put(DESCRIPTION, CaseFile::from(self).to_toml().as_bytes())?;
        Ok(())
    }

    /// Reads a folder written by [`Case::write`].
    pub fn read(folder: &Path) -> Result<Case, CaseError> {
        let file = folder.join(DESCRIPTION);
        if !file.is_file() {
            return Err(CaseError::NotACase(folder.to_owned()));
        }
        let text = attempt("read", &file, std::fs::read_to_string(&file))?;
        let found = CaseFile::parse(&text, &file)?;
        let mut input = Input::default();
        for stream in &found.streams {
            let bytes = read_part(folder, &stream.file)?;
            if bytes.len() != stream.length {
                return Err(CaseError::Damaged {
                    file: folder.join(&stream.file),
                    detail: format!(
                        "it has {} bytes where {DESCRIPTION} says {}",
                        bytes.len(),
                        stream.length
                    ),
                });
            }
            let stream = stream.to_stream(bytes);
            let stream = stream.map_err(|detail| CaseError::Damaged {
                file: file.clone(),
                detail,
            })?;
            input.streams.push(stream);
        }
        for argument in &found.arguments {
            let argument =
                argument
                    .to_argument(&input.streams)
                    .map_err(|detail| CaseError::Damaged {
                        file: file.clone(),
                        detail,
                    })?;
            input.arguments.push(argument);
        }
        let outcome = |side: Side, outcome: &OutcomeFile| -> Result<Outcome, CaseError> {
            let end = outcome.end().map_err(|detail| CaseError::Damaged {
                file: file.clone(),
                detail: format!("[{}] {detail}", side.name()),
            })?;
            let files = outcome.files.iter().map(|written| {
                // Exported tests look there.
                if !is_inside(&written.name) {
                    return Err(CaseError::Damaged {
                        file: file.clone(),
                        detail: format!(
                            "{:?} is not a name in the working directory",
                            written.name
                        ),
                    });
                }
                let bytes = read_part(folder, &written.file)?.into();
                Ok(FileWritten {
                    name: written.name.clone(),
                    bytes,
                })
            });
            Ok(Outcome {
                stdout: read_part(folder, &outcome.stdout)?.into(),
                stderr: read_part(folder, &outcome.stderr)?.into(),
                end,
                files: files.collect::<Result<_, CaseError>>()?,
                observed: outcome.observed.clone(),
                finding: outcome.finding.clone(),
                truncated: outcome.truncated,
            })
        };
        let base = outcome(Side::Base, &found.base)?;
        let head = outcome(Side::Head, &found.head)?;
        Ok(Case {
            id: found.id,
            kind: found.kind,
            title: found.title,
            group: found.group,
            group_size: found.group_size,
            input,
            base,
            head,
            changes: found.changes,
            versions: found.versions,
        })
    }
}

fn read_part(folder: &Path, name: &str) -> Result<Vec<u8>, CaseError> {
    // A case may come from elsewhere; it must not reach outside its folder.
    if name.contains('/') || name.is_empty() || name.starts_with('.') {
        return Err(CaseError::Damaged {
            file: folder.join(DESCRIPTION),
            detail: format!("{name:?} is not a file name inside the case's folder"),
        });
    }
    let path = folder.join(name);
    Ok(attempt("read", &path, read(&path))?)
}

/// Whether a path stays in the directory that it is taken from.
fn is_inside(name: &str) -> bool {
    use std::path::Component;
    let mut parts = Path::new(name).components();
    !name.is_empty()
        && !name.contains('\0')
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Programs may use names that leave no room for more letters.
fn written_name(side: &str, name: &str) -> String {
    const ROOM: usize = 200;
    let mut escaped = escape::file_name(name);
    if escaped.len() > ROOM {
        escaped.truncate(ROOM / 2);
        escaped = format!("{escaped}-{}", content_name([name.as_bytes()]));
    }
    format!("{side}.file-{escaped}")
}

fn exit_text(end: End) -> String {
    match end {
        End::Exit(code) => format!("{code}\n"),
        End::Signal(number) => format!("signal {number}\n"),
        End::TimedOut => "timed out\n".into(),
    }
}

/// Temporary folders are private; cases are not.
fn share(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    let script = folder.join("reproduce.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))
}
