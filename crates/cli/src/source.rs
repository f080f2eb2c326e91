//! Options that say how to build a version.

use crate::failure::Failure;
use crate::settings::{duration, usage};
use crate::version::absolute;
use changeling_build::{BuildOptions, Source};
use changeling_report::results::Recipe;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args, Clone, Debug, Default)]
pub struct SourceOptions {
    /// The build command of a directory or revision
    #[arg(long, help_heading = "Build")]
    pub build: Option<String>,
    /// The program that the build makes, or the cargo target
    #[arg(long, help_heading = "Build")]
    pub program: Option<String>,
    /// A flag for the compiler and linker; may be given several times
    #[arg(long = "flag", allow_hyphen_values = true, help_heading = "Build")]
    pub flags: Vec<String>,
    /// A C, C++ or Rust file that calls functions of the version in place of its `main`
    #[arg(long, value_name = "FILE", help_heading = "Build")]
    pub harness: Option<PathBuf>,
    /// The cargo profile [default: release]
    #[arg(long, help_heading = "Build")]
    pub profile: Option<String>,
    /// Where builds are kept [default: .changeling/cache]
    #[arg(long, help_heading = "Build")]
    pub cache: Option<PathBuf>,
    /// Time that the build command, cargo, or the compiler for one file may take, such as 90s, 5m
    #[arg(long, value_name = "TIME", value_parser = build_time, allow_hyphen_values = true, help_heading = "Build")]
    pub build_time: Option<Duration>,
}

/// Whole seconds, at least one.
pub fn build_time(text: &str) -> Result<Duration, String> {
    let time = duration("--build-time", text).map_err(|failure| failure.what)?;
    Ok(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

impl SourceOptions {
    pub fn source(&self, paths: &[PathBuf]) -> Source {
        Source::detect(paths, self.build.clone(), self.program.clone())
    }

    pub fn revision(&self, repo: PathBuf, revision: String) -> Source {
        Source::Revision {
            repo,
            revision,
            command: self.build.clone(),
            program: self.program.clone().map(PathBuf::from),
        }
    }

    /// Files are compiled one by one: what is for builds is meant for something else.
    pub fn suits(&self, sources: &[&Source]) -> Result<(), Failure> {
        if !sources
            .iter()
            .all(|source| matches!(source, Source::Files(_)))
        {
            return Ok(());
        }
        let given = [
            ("--build", self.build.is_some()),
            ("--program", self.program.is_some()),
            ("--profile", self.profile.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure {
                help: Some(
                    "leave it out, or give directories or revisions instead of files".into(),
                ),
                ..usage(&format!("{option} has no effect on single files"))
            }),
        }
    }

    /// What a case needs to be built again.
    pub fn recipe(&self) -> Recipe {
        Recipe {
            command: self.build.clone(),
            program: self.program.clone(),
            flags: self.flags.clone(),
            harness: self.harness.as_deref().map(absolute),
            profile: self.profile.clone(),
        }
    }

    /// What was not given is as it was when a case was found.
    pub fn or_recipe(self, recipe: &Recipe) -> SourceOptions {
        SourceOptions {
            build: self.build.or_else(|| recipe.command.clone()),
            program: self.program.or_else(|| recipe.program.clone()),
            flags: match self.flags.is_empty() {
                true => recipe.flags.clone(),
                false => self.flags,
            },
            harness: self
                .harness
                .or_else(|| recipe.harness.clone().map(PathBuf::from)),
            profile: self.profile.or_else(|| recipe.profile.clone()),
            ..self
        }
    }

    pub fn build_options(&self) -> BuildOptions {
        let default = BuildOptions::default();
        BuildOptions {
            cache: self.cache.clone().unwrap_or(default.cache),
            flags: self.flags.clone(),
            harness: self.harness.clone(),
            profile: self.profile.clone().unwrap_or(default.profile),
            time_limit: self.build_time,
            ..BuildOptions::default()
        }
    }
}
