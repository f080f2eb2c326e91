//! Options that name the two versions.

use crate::config::Said;
use crate::exit::Code;
use crate::failure::Failure;
use crate::source::SourceOptions;
use changeling_build::Source;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone, Debug)]
pub struct VersionOptions {
    /// The older version: a source file, directory, cargo package or bitcode
    #[arg(requires = "new")]
    pub old: Option<PathBuf>,
    /// The newer version
    pub new: Option<PathBuf>,
    /// The older version is this revision of the git repository here
    #[arg(long, value_name = "REV", conflicts_with_all = ["old", "base_dir"])]
    pub base: Option<String>,
    /// The newer version is this revision; without it, the work tree
    #[arg(long, value_name = "REV", conflicts_with_all = ["old", "head_dir"])]
    pub head: Option<String>,
    /// The older version is this directory
    #[arg(long, value_name = "DIR", conflicts_with = "old")]
    pub base_dir: Option<PathBuf>,
    /// The newer version is this directory
    #[arg(long, value_name = "DIR", conflicts_with = "old")]
    pub head_dir: Option<PathBuf>,
}

/// What the newer version is called if nothing is said.
pub const WORK_TREE: &str = "work tree";

/// A version as the user named it.
pub struct Named {
    pub label: String,
    pub source: Source,
    pub commit: Option<String>,
}

impl Named {
    pub fn path(path: &Path, options: &SourceOptions) -> Named {
        Named {
            label: path.display().to_string(),
            source: options.source(&[path.to_owned()]),
            commit: None,
        }
    }

    /// A revision of the repository here.
    pub fn revision(name: &str, options: &SourceOptions) -> Named {
        Named {
            label: name.to_owned(),
            source: options.revision(".".into(), name.to_owned()),
            commit: commit(name),
        }
    }

    /// A file or directory if there is one of that name, else a revision of the repository here.
    pub fn either(name: &Path, options: &SourceOptions) -> Result<Named, Failure> {
        if name.symlink_metadata().is_ok() {
            return Ok(Named::path(name, options));
        }
        match name.to_str() {
            Some(text) if commit(text).is_some() => Ok(Named::revision(text, options)),
            _ => Err(Failure {
                code: Code::UNKNOWN_REVISION,
                what: format!(
                    "{} is neither a file or directory nor a revision of the repository here",
                    name.display()
                ),
                place: None,
                help: Some("check the name; paths are taken from the current directory".into()),
                output: None,
            }),
        }
    }
}

impl VersionOptions {
    /// What the command line leaves open, the file may say.
    pub fn or(mut self, said: &Said) -> VersionOptions {
        if self.old.is_some() {
            return self;
        }
        if self.base.is_none() && self.base_dir.is_none() {
            self.base.clone_from(&said.base);
            self.base_dir.clone_from(&said.base_dir);
        }
        if self.head.is_none() && self.head_dir.is_none() {
            self.head.clone_from(&said.head);
            self.head_dir.clone_from(&said.head_dir);
        }
        self
    }

    pub fn sides(&self, options: &SourceOptions) -> Result<[Named; 2], Failure> {
        let path = |path: &Path| Named::path(path, options);
        if let (Some(old), Some(new)) = (&self.old, &self.new) {
            return Ok([path(old), path(new)]);
        }
        let revision = |name: &String| Named::revision(name, options);
        let base = match (&self.base, &self.base_dir) {
            (Some(name), _) => revision(name),
            (None, Some(directory)) => path(directory),
            (None, None) => {
                return Err(Failure {
                code: Code::USAGE,
                what: "two versions are needed".into(),
                place: None,
                help: Some(
                    "give OLD and NEW, or --base REV (and --head REV), or --base-dir and --head-dir"
                        .into(),
                ),
                output: None,
            });
            }
        };
        let head = match (&self.head, &self.head_dir) {
            (Some(name), _) => revision(name),
            (None, Some(directory)) => path(directory),
            (None, None) => Named {
                label: WORK_TREE.into(),
                ..path(Path::new("."))
            },
        };
        Ok([base, head])
    }
}

/// Where the user has the sources of a version: below the current directory, or as an absolute path.
pub fn user_place(source: &Source, root: &Path) -> String {
    let place = match source {
        // Built in a copy.
        Source::Directory { path, .. } => path.clone(),
        Source::Revision { repo, .. } => {
            let top = git(repo, &["rev-parse", "--show-toplevel"]);
            top.map_or_else(|| repo.clone(), PathBuf::from)
        }
        _ => root.to_owned(),
    };
    let place = place.canonicalize().unwrap_or(place);
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let below = here.as_ref().map_or(place.as_path(), |here| {
        place.strip_prefix(here).unwrap_or(&place)
    });
    below.display().to_string()
}

/// What git says, if it has something to say.
fn git(repo: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = std::process::Command::new("git");
    let output = command.current_dir(repo).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The full name of a revision; the build tells if there is none.
fn commit(revision: &str) -> Option<String> {
    let name = format!("{revision}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    git(Path::new("."), &[&asked[..], &[&name]].concat())
}
