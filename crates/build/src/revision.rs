//! A revision of a git repository. It is read from the object store into a
//! directory of the cache: neither the work tree nor the index nor any reference is touched.

use crate::cache::Cache;
use crate::command::{Plan, plan};
use crate::digest::Key;
use crate::directory::{Tree, tree_request};
use crate::error::{BuildError, History, READ};
use crate::process::{Finished, run};
use crate::rust::{Layout, Shared, add_harness, build_in, library_in, seal};
use crate::tools::Tool;
use crate::version::{BuildOptions, Built};
use std::path::{Path, PathBuf};

pub fn build_revision(
    repo: &Path,
    revision: &str,
    command: Option<&str>,
    program: Option<&Path>,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let repository = Repository::open(repo)?;
    let commit = repository.resolve(revision)?;
    let mut request = Key::new("revision").with(&commit);
    request.add_path(&repository.path);
    request.add_path(&repository.prefix);
    // The plan is in the tree, so the whole request is known only then; this one finds it again.
    let quick = tree_request(request, command.unwrap_or("found out"), program, options)?;
    let quick = Key::new("quick")
        .with(quick)
        .with(&options.profile)
        .with(options.cargo_arguments.join(" "));
    let (quick, reads) = add_harness(quick, options);
    let quick = quick.finish();
    if let Some(built) = cache.look_up(&quick) {
        return Ok(built);
    }
    let work = cache.work()?;
    let source = work.entry().join("source");
    repository.extract(&commit, revision, &source, &work.path().join("index"))?;
    let root = source.join(&repository.prefix);
    let shown = repository.shown(revision);
    if !root.is_dir() {
        return Err(BuildError::NotFound(shown));
    }
    // Who reads a message knows the revision, not where it lies meanwhile.
    let named = |error: BuildError| error.with_name(&root, &shown);
    let relative = Path::new("source").join(&repository.prefix);
    match plan(&root, command).map_err(named)? {
        Plan::Command(command) => {
            let tree = Tree {
                root: &root,
                shown: &shown,
                command: &command,
                program,
                source_root: relative,
            };
            let built = tree.build(&work, options, cache)?;
            cache.store(&quick, Vec::new(), work, built)
        }
        Plan::Cargo => {
            seal(&source, &root)?;
            let layout = Layout::read(&root).map_err(named)?;
            let target = program.map(|program| program.to_string_lossy().into_owned());
            let top = layout
                .top()
                .strip_prefix(work.entry())
                .map(Path::to_path_buf)
                .unwrap_or(relative);
            let shared = Shared {
                name: &repository.path,
                reads,
                source_root: top,
                work,
            };
            build_in(&layout, target.as_deref(), options, cache, &quick, shared).map_err(named)
        }
        Plan::CompileCommands(_) => Err(BuildError::NoBuildCommand(shown.clone())),
    }
}

/// Bitcode of the library of a cargo package; `None` if the revision is built another way.
pub fn library(
    repo: &Path,
    revision: &str,
    command: Option<&str>,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Option<PathBuf>, BuildError> {
    let repository = Repository::open(repo)?;
    let commit = repository.resolve(revision)?;
    let manifest = format!("{commit}:{}Cargo.toml", repository.prefix.display());
    if command.is_some() || !repository.git(&["cat-file", "-e", &manifest])?.succeeded() {
        return Ok(None);
    }
    let work = cache.work()?;
    let source = work.entry().join("source");
    repository.extract(&commit, revision, &source, &work.path().join("index"))?;
    let root = source.join(&repository.prefix);
    let shown = repository.shown(revision);
    seal(&source, &root)?;
    Layout::read(&root)
        .and_then(|layout| library_in(&layout, &repository.path, options, cache))
        .map(Some)
        .map_err(|error| error.with_name(&root, &shown))
}

struct Repository {
    /// Where git commands are run.
    path: PathBuf,
    /// The directory the user named, relative to the top of the work tree.
    prefix: PathBuf,
}

impl Repository {
    fn open(path: &Path) -> Result<Repository, BuildError> {
        let path = path
            .canonicalize()
            .map_err(|e| BuildError::io(READ, path, e))?;
        let mut repository = Repository {
            path: path.clone(),
            prefix: PathBuf::new(),
        };
        if !path.is_dir() || !repository.git(&["rev-parse", "--git-dir"])?.succeeded() {
            return Err(BuildError::NotARepository(path));
        }
        let prefix = repository
            .git(&["rev-parse", "--show-prefix"])?
            .stdout_text();
        repository.prefix = PathBuf::from(prefix.trim_end_matches('\n'));
        Ok(repository)
    }

    /// The directory at a revision, in messages.
    fn shown(&self, revision: &str) -> PathBuf {
        PathBuf::from(format!("{} at {revision}", self.path.display()))
    }

    /// The full name of the commit that a revision means.
    fn resolve(&self, revision: &str) -> Result<String, BuildError> {
        let commit = format!("{revision}^{{commit}}");
        let finished = self.git(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])?;
        if finished.succeeded() && !revision.is_empty() {
            return Ok(finished.stdout_text().trim().to_string());
        }
        let history = self.history()?;
        let names = self
            .git(&["for-each-ref", "--format=%(refname:short)"])?
            .stdout_text();
        Err(BuildError::UnknownRevision {
            repo: self.path.clone(),
            revision: revision.to_string(),
            near: near_names(revision, names.lines()),
            history,
        })
    }

    fn history(&self) -> Result<History, BuildError> {
        let all = self.git(&["rev-list", "--all", "--max-count=1"])?;
        if all.stdout_text().trim().is_empty() {
            return Ok(History::Empty);
        }
        let shallow = self.git(&["rev-parse", "--is-shallow-repository"])?;
        Ok(if shallow.stdout_text().trim() == "true" {
            History::Shallow
        } else {
            History::Whole
        })
    }

    /// Writes all files of a commit below a directory, with those of submodules that are here.
    fn extract(
        &self,
        commit: &str,
        revision: &str,
        to: &Path,
        index: &Path,
    ) -> Result<(), BuildError> {
        std::fs::create_dir_all(to).map_err(|e| BuildError::io(crate::error::WRITE, to, e))?;
        // An index of our own, so that the user's is left alone. Unlike an archive,
        // a checkout has every file, whatever .gitattributes says about exports.
        let _ = std::fs::remove_file(index);
        let mut prefix = to.as_os_str().to_os_string();
        prefix.push("/");
        let mut read = self.command()?;
        read.args(["read-tree", "--end-of-options", commit])
            .env("GIT_INDEX_FILE", index);
        self.check(run(&mut read)?, format!("reading `{revision}`"))?;
        let mut write = self.command()?;
        let mut option = std::ffi::OsString::from("--prefix=");
        option.push(&prefix);
        write
            .args(["checkout-index", "--all", "--force"])
            .arg(option)
            .env("GIT_INDEX_FILE", index);
        // `checkout-index` wants a work tree even though the prefix leads elsewhere.
        write.arg("--quiet").env("GIT_WORK_TREE", to);
        self.check(run(&mut write)?, format!("extracting `{revision}`"))
            .map_err(|error| error.or_disk_full(to))?;
        self.extract_submodules(commit, revision, to, index)
    }

    fn extract_submodules(
        &self,
        commit: &str,
        revision: &str,
        to: &Path,
        index: &Path,
    ) -> Result<(), BuildError> {
        let listed = self.git(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let text = listed.stdout_text();
        let mut absent = Vec::new();
        for (submodule, path) in text.split('\0').filter_map(link_entry) {
            let top = self.git(&["rev-parse", "--show-toplevel"])?.stdout_text();
            let here = Path::new(top.trim_end_matches('\n')).join(path);
            let repository = Repository {
                path: here.clone(),
                prefix: PathBuf::new(),
            };
            // A submodule that is not checked out is an empty directory: git would answer for the outer one.
            let present = here.join(".git").exists()
                && repository
                    .git(&["cat-file", "-e", &format!("{submodule}^{{commit}}")])?
                    .succeeded();
            if present {
                repository.extract(submodule, revision, &to.join(path), index)?;
            } else {
                absent.push(path.to_string());
            }
        }
        if absent.is_empty() {
            return Ok(());
        }
        Err(BuildError::Submodules {
            repo: self.path.clone(),
            revision: revision.to_string(),
            paths: absent,
        })
    }

    fn command(&self) -> Result<std::process::Command, BuildError> {
        let mut command = Tool::Git.command()?;
        command.arg("-C").arg(&self.path);
        // A git around us (a hook, a bisection) must not decide which repository is meant.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0");
        Ok(command)
    }

    fn git(&self, arguments: &[&str]) -> Result<Finished, BuildError> {
        run(self.command()?.args(arguments))
    }

    fn check(&self, finished: Finished, action: String) -> Result<(), BuildError> {
        if finished.succeeded() {
            return Ok(());
        }
        Err(BuildError::Git {
            repo: self.path.clone(),
            action,
            output: finished.output.trim().to_string(),
        })
    }
}

/// Hash and path of a submodule in a line of `ls-tree`.
fn link_entry(line: &str) -> Option<(&str, &str)> {
    let (description, path) = line.split_once('\t')?;
    let rest = description.strip_prefix("160000 commit ")?;
    Some((rest.trim(), path))
}

/// Names that look like what was typed, nearest first.
fn near_names<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const SHOWN: usize = 5;
    let mut near: Vec<(usize, &str)> = names
        .map(|name| {
            let last = name.rsplit('/').next().unwrap_or(name);
            (distance(typed, name).min(distance(typed, last)), name)
        })
        .filter(|(distance, name)| *distance <= typed.len().max(3) / 2 || name.contains(typed))
        .collect();
    near.sort();
    near.dedup();
    near.into_iter()
        .take(SHOWN)
        .map(|(_, name)| name.to_string())
        .collect()
}

/// Number of characters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["main", "origin/main", "v1.2", "v1.20", "feature"];
        assert_eq!(near_names("v1.3", names.into_iter()), ["v1.2", "v1.20"]);
        assert_eq!(
            near_names("mian", names.into_iter()),
            ["main", "origin/main"]
        );
        assert!(near_names("0123456789", ["x"].into_iter()).is_empty());
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
