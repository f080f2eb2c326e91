//! Where the parts of a cargo package are, and a copy of them to build in.

use crate::digest::copy_tree;
use crate::error::{BuildError, NO_DEPENDENCY, READ, WRITE};
use crate::process::run;
use crate::tools::Tool;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A binary or example of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoTarget {
    pub package: String,
    pub name: String,
    /// `--bin`, `--example` or `--lib`.
    pub option: &'static str,
}

/// The directories a package is made of.
#[derive(Clone, Debug)]
pub struct Layout {
    pub workspace: PathBuf,
    /// The workspace, and packages outside of it that it uses by path.
    pub roots: Vec<PathBuf>,
    pub package: PathBuf,
    pub targets: Vec<CargoTarget>,
    default_run: Option<String>,
    target_directory: PathBuf,
    /// The package that has a library which examples can use.
    library: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
    default_run: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
}

impl Layout {
    pub fn read(package: &Path) -> Result<Layout, BuildError> {
        let manifest = package.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(BuildError::NotFound(manifest));
        }
        let package = package
            .canonicalize()
            .map_err(|e| BuildError::io(READ, package, e))?;
        let metadata = metadata(&package)?;
        let here = package.join("Cargo.toml");
        let own: Vec<&Package> = metadata
            .packages
            .iter()
            .filter(|p| p.manifest_path == here)
            .collect();
        // The root of a workspace may be no package; then all members count.
        let chosen: Vec<&Package> = if own.is_empty() {
            metadata.packages.iter().collect()
        } else {
            own
        };
        let targets = chosen.iter().flat_map(|package| targets(package)).collect();
        let default_run = chosen
            .iter()
            .find_map(|package| package.default_run.clone());
        let library = metadata
            .packages
            .iter()
            .find(|p| p.manifest_path == here && has_library(p))
            .map(|package| package.name.clone());
        let mut layout = Layout {
            library,
            roots: vec![metadata.workspace_root.clone()],
            workspace: metadata.workspace_root,
            package,
            targets,
            default_run,
            target_directory: metadata.target_directory,
        };
        layout.add_outside(&metadata.packages)?;
        Ok(layout)
    }

    pub fn choose(&self, name: Option<&str>) -> Result<&CargoTarget, BuildError> {
        let failed = |reason: String| BuildError::CargoTarget {
            place: self.package.clone(),
            reason,
            targets: self
                .targets
                .iter()
                .map(|target| target.name.clone())
                .collect(),
        };
        if let Some(name) = name.or(self.default_run.as_deref()) {
            return self
                .targets
                .iter()
                .find(|target| target.name == name)
                .ok_or_else(|| failed(format!("no binary or example is named `{name}`")));
        }
        let mut binaries = self
            .targets
            .iter()
            .filter(|target| target.option == "--bin");
        match (binaries.next(), binaries.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => match self.targets.as_slice() {
                [only] => Ok(only),
                [] => Err(failed("it has neither a binary nor an example".into())),
                _ => Err(failed("it has several examples and no binary".into())),
            },
            (Some(_), Some(_)) => Err(failed("it has several binaries".into())),
        }
    }

    /// The library of the package itself.
    pub fn library(&self) -> Result<CargoTarget, BuildError> {
        let package = self
            .library
            .clone()
            .ok_or_else(|| BuildError::CargoTarget {
                place: self.package.clone(),
                reason: "it has no library, so nothing outside can call its functions".into(),
                targets: Vec::new(),
            })?;
        Ok(CargoTarget {
            name: package.clone(),
            package,
            option: "--lib",
        })
    }

    /// The example that a harness becomes.
    pub fn example(&self, harness: &Path) -> Result<CargoTarget, BuildError> {
        let stem = harness.file_stem().unwrap_or_default().to_string_lossy();
        // Names of crates are made of less than names of files.
        let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-';
        Ok(CargoTarget {
            name: stem.replace(|c| !is_fit(c), "_"),
            option: "--example",
            ..self.library()?
        })
    }

    /// Copies all roots below `to`, in the same places relative to one another.
    /// Gives the place of the package in the copy.
    pub fn copy(&self, to: &Path, cache: &Path) -> Result<PathBuf, BuildError> {
        let top = self.top();
        for root in &self.roots {
            let skip = [
                self.target_directory.clone(),
                root.join("target"),
                cache.to_path_buf(),
            ];
            copy_tree(
                root,
                &to.join(root.strip_prefix(&top).unwrap_or(root)),
                &skip,
            )?;
        }
        let place = |path: &Path| to.join(path.strip_prefix(&top).unwrap_or(path));
        let package = place(&self.package);
        seal(to, &package)?;
        Ok(package)
    }

    /// The deepest directory that holds all roots.
    pub fn top(&self) -> PathBuf {
        let mut top = self.workspace.clone();
        while !self.roots.iter().all(|root| root.starts_with(&top)) {
            if !top.pop() {
                break;
            }
        }
        top
    }

    fn add_outside(&mut self, packages: &[Package]) -> Result<(), BuildError> {
        for path in packages
            .iter()
            .flat_map(|package| &package.dependencies)
            .filter_map(|d| d.path.as_ref())
        {
            if self.roots.iter().any(|root| path.starts_with(root)) {
                continue;
            }
            if !path.is_dir() {
                return Err(BuildError::Cargo {
                    place: self.package.clone(),
                    output: format!("the package {NO_DEPENDENCY}: {}", path.display()),
                });
            }
            let other = metadata(path)?;
            self.roots.push(other.workspace_root);
            self.add_outside(&other.packages)?;
        }
        Ok(())
    }
}

/// Makes sure that a package in a copy below `top` belongs to no workspace outside of it.
pub fn seal(top: &Path, package: &Path) -> Result<(), BuildError> {
    let is_root = |directory: &Path| {
        let text = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default();
        text.lines()
            .any(|line| line.trim_start().starts_with("[workspace"))
    };
    if package
        .ancestors()
        .take_while(|directory| directory.starts_with(top))
        .any(is_root)
    {
        return Ok(());
    }
    let manifest = package.join("Cargo.toml");
    let failed = |e| BuildError::io(WRITE, &manifest, e);
    let text = std::fs::read_to_string(&manifest).map_err(failed)?;
    std::fs::write(&manifest, format!("{text}\n[workspace]\n")).map_err(failed)
}

fn has_library(package: &Package) -> bool {
    let kinds = package.targets.iter().flat_map(|target| &target.kind);
    kinds
        .into_iter()
        .any(|kind| ["lib", "rlib", "dylib"].contains(&kind.as_str()))
}

fn targets(package: &Package) -> Vec<CargoTarget> {
    let target = |target: &Target| {
        let option = match target.kind.first().map(String::as_str) {
            Some("bin") => "--bin",
            Some("example") => "--example",
            _ => return None,
        };
        Some(CargoTarget {
            package: package.name.clone(),
            name: target.name.clone(),
            option,
        })
    };
    package.targets.iter().filter_map(target).collect()
}

/// `--no-deps`: nothing is resolved, so no lock file is written into the user's tree.
fn metadata(package: &Path) -> Result<Metadata, BuildError> {
    let mut command = Tool::Cargo.command()?;
    command
        .args(["metadata", "--no-deps", "--format-version=1"])
        .current_dir(package);
    let finished = run(&mut command)?;
    let failed = |output| BuildError::Cargo {
        place: package.to_path_buf(),
        output,
    };
    if !finished.succeeded() {
        return Err(failed(finished.output));
    }
    serde_json::from_slice(&finished.stdout).map_err(|e| failed(format!("cargo metadata: {e}")))
}
