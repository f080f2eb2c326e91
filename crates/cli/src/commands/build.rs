//! `changeling __build`: builds a version and prints what came out, as JSON.

use crate::exit::Code;
use crate::failure::Failure;
use changeling_build::{BuildOptions, Source, Variant, build};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Files, a directory, a cargo package, bitcode, or a compilation database
    paths: Vec<PathBuf>,
    /// A git revision (of the repository at the path, or here)
    #[arg(long)]
    revision: Option<String>,
    /// The build command
    #[arg(long)]
    build: Option<String>,
    /// The program that the build makes, or the cargo target
    #[arg(long)]
    program: Option<String>,
    /// Where builds are kept
    #[arg(long, default_value = ".changeling/cache")]
    cache: PathBuf,
    /// A flag for the compiler; may be given several times
    #[arg(long = "flag", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// The cargo profile
    #[arg(long, default_value = "release")]
    profile: String,
    /// Also build the variants: sanitized, auto-zero, auto-pattern
    #[arg(long)]
    variants: bool,
    /// Seconds the build command may take
    #[arg(long)]
    time_limit: Option<u64>,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let options = BuildOptions {
        cache: arguments.cache.clone(),
        flags: arguments.flags.clone(),
        profile: arguments.profile.clone(),
        variants: match arguments.variants {
            true => vec![Variant::Sanitized, Variant::AutoZero, Variant::AutoPattern],
            false => Vec::new(),
        },
        time_limit: arguments.time_limit.map(Duration::from_secs),
        ..BuildOptions::default()
    };
    let source = source(arguments);
    let built = build(&source, &options)?;
    let text = serde_json::to_string_pretty(&built).unwrap_or_default();
    println!("{text}");
    Ok(Code::OK)
}

fn source(arguments: &Arguments) -> Source {
    let command = arguments.build.clone();
    match &arguments.revision {
        Some(revision) => Source::Revision {
            repo: arguments
                .paths
                .first()
                .cloned()
                .unwrap_or_else(|| ".".into()),
            revision: revision.clone(),
            command,
            program: arguments.program.clone().map(PathBuf::from),
        },
        None => Source::detect(&arguments.paths, command, arguments.program.clone()),
    }
}
