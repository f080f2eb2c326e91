//! `changeling replay`: one case, natively, on both versions; or on the tree
//! here, as the command of `git bisect run`.

use super::accept::{case_folder, read_case};
use crate::config::after_a_run;
use crate::exit::Code;
use crate::failure::Failure;
use crate::results::{kind, outcome_view, title};
use crate::settings::{duration, rule, usage};
use crate::source::SourceOptions;
use crate::versions::{Named, WORK_TREE};
use changeling_build::{Source, Variant, build};
use changeling_exec::{Limits, Plain};
use changeling_explore::difference::classify;
use changeling_explore::normalise::{Normaliser, Places, UserRule};
use changeling_explore::{End, Observation, witness};
use changeling_report::case::Case;
use changeling_report::escape::{printable_str, shell_str};
use changeling_report::results::{self, InputView};
use changeling_report::terminal::{self, Style};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of a case, or its number in the output directory
    #[arg(value_name = "CASE")]
    case: PathBuf,
    /// Other versions to run it on, paths or revisions: OLD and NEW; with --bisect the one version to judge [default: .]
    #[arg(value_name = "VERSION", num_args = 0..=2)]
    versions: Vec<PathBuf>,
    /// For `git bisect run`: 0 if the tree here behaves like base, 1 if not, 125 if it cannot be built or run
    #[arg(long)]
    bisect: bool,
    #[command(flatten)]
    source: SourceOptions,
    /// Time for one run
    #[arg(
        long,
        default_value = "5s",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    run_time: String,
    /// A regular expression; what it matches in outputs is not compared
    #[arg(long = "normalise", visible_alias = "normalize", value_name = "REGEX")]
    normalise: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// The output directory that numbers refer to [default: .changeling/out]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What `git bisect run` takes for "cannot be tested".
const SKIP: Code = Code(125);
const DIFFERENT: Code = Code(1);

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let mut configured = arguments.source.clone();
    let (out, known) = match after_a_run(arguments.out.as_deref(), &mut configured) {
        // The file is of the revision that is judged, which may be an odd one.
        Err(failure) if arguments.bisect => {
            failure.print();
            return Ok(SKIP);
        }
        result => result?,
    };
    let folder = case_folder(&arguments.case, &out)?;
    let case = read_case(&folder, &out)?;
    // With what the case was found with: the file may be of another revision by now.
    let recipe = &case.versions.build;
    let source = SourceOptions {
        cache: configured.cache.clone(),
        build_time: configured.build_time,
        ..arguments.source.clone().or_recipe(recipe)
    };
    let source = match recipe.is_empty() {
        true => configured,
        false => source,
    };
    let given = arguments.normalise.iter().map(|pattern| rule(pattern, ""));
    let rules: Vec<UserRule> = given.chain(known).collect();
    let given: Vec<String> = arguments
        .versions
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let places = match given.as_slice() {
        [old, new] => Places::of_files(&[old, new]),
        _ => Places::of_files(&[&case.versions.base.label, &case.versions.head.label]),
    };
    let normaliser = Normaliser::new(&places, &rules).map_err(|error| usage(&error.to_string()))?;
    let time = duration("--run-time", &arguments.run_time)?;
    let mut limits = Limits {
        time,
        ..Limits::default()
    };
    if case.kind.is_finding() {
        limits = limits.with_sanitizers();
    }
    if arguments.bisect {
        return Ok(bisect(arguments, &source, &case, &normaliser, limits));
    }
    let build_one = |version: &Path| {
        let named = Named::either(version, &source)?;
        built(&named.source, &source, case.kind)
    };
    let binaries = match arguments.versions.as_slice() {
        [] => binaries(&case, &folder)?,
        [old, new] => [build_one(old)?, build_one(new)?],
        _ => {
            return Err(Failure {
                help: Some(
                    "with --bisect one version is enough: it is compared with what base did".into(),
                ),
                ..usage("give both versions, OLD and NEW, or none")
            });
        }
    };
    let mut seen = Vec::new();
    for path in &binaries {
        seen.push(Plain::new(path, limits.clone())?.run(&case.input)?);
    }
    let found = judged(&normaliser, case.kind, &seen[0], &seen[1]);
    if arguments.json {
        let text = serde_json::json!({
            "case": case.id,
            "differs": found.is_some(),
            "kind": found.map(results::Kind::name),
            "base": outcome_view(&seen[0]),
            "head": outcome_view(&seen[1]),
        });
        println!("{text:#}");
    } else {
        print(&case, &seen, found, &folder);
    }
    Ok(if found.is_some() { DIFFERENT } else { Code::OK })
}

fn print(case: &Case, seen: &[Observation], found: Option<results::Kind>, folder: &Path) {
    let mut shown = case.to_difference(&folder.display().to_string());
    shown.input = InputView::from(&case.input);
    shown.base = outcome_view(&seen[0]);
    shown.head = outcome_view(&seen[1]);
    match found {
        Some(kind) => {
            shown.kind = kind;
            shown.title = title(kind, &shown.base, &shown.head);
            print!("{}", terminal::difference(&shown, Style::detect()));
        }
        None => {
            println!(
                "no difference: both versions end with {}",
                shown.base.end.text()
            );
            println!("the case was: {}", case.title);
        }
    }
}

/// The tree here against what base did.
fn bisect(
    arguments: &Arguments,
    source: &SourceOptions,
    case: &Case,
    normaliser: &Normaliser,
    limits: Limits,
) -> Code {
    let here = PathBuf::from(".");
    let run = || -> Result<Observation, Failure> {
        let version = match arguments.versions.as_slice() {
            [] => Named::either(&here, source)?.source,
            [one] => Named::either(one, source)?.source,
            several => source.source(several),
        };
        let binary = built(&version, source, case.kind)?;
        Ok(Plain::new(&binary, limits)?.run(&case.input)?)
    };
    match run() {
        Err(failure) => {
            failure.print();
            SKIP
        }
        Ok(seen) => match judged(normaliser, case.kind, &recorded(&case.base), &seen) {
            None => {
                println!("like base");
                Code::OK
            }
            Some(found) => {
                println!("not like base: {}", found.text());
                DIFFERENT
            }
        },
    }
}

fn recorded(outcome: &results::Outcome) -> Observation {
    let removed = " (removed)";
    let (gone, written): (Vec<_>, Vec<_>) = outcome
        .files
        .iter()
        .partition(|file| file.name.ends_with(removed));
    Observation {
        stdout: outcome.stdout.0.clone(),
        stderr: outcome.stderr.0.clone(),
        end: match outcome.end {
            results::End::Exit(code) => End::Exit(code),
            results::End::Signal(number) => End::Signal(number),
            results::End::TimedOut => End::TimedOut,
        },
        files: written
            .into_iter()
            .map(|file| (file.name.clone(), file.bytes.0.clone()))
            .collect(),
        removed: gone
            .into_iter()
            .filter_map(|file| file.name.strip_suffix(removed).map(str::to_owned))
            .collect(),
        observed: outcome
            .observed
            .iter()
            .map(|observed| (observed.name.clone(), observed.value.clone()))
            .collect(),
        truncated: outcome.truncated,
    }
}

/// The binaries that the case was found with.
fn binaries(case: &Case, folder: &Path) -> Result<[PathBuf; 2], Failure> {
    let versions = [&case.versions.base, &case.versions.head];
    let paths = versions.map(|version| PathBuf::from(&version.binary));
    let Some(gone) = paths.iter().position(|path| !path.is_file()) else {
        return Ok(paths);
    };
    let name = |version: &results::Version| match version.label.as_str() {
        WORK_TREE => ".".to_owned(),
        label => shell_str(&printable_str(label)),
    };
    let folder = shell_str(&printable_str(&folder.display().to_string()));
    let [old, new] = versions.map(name);
    Err(Failure {
        code: Code::CANNOT_RUN,
        what: format!(
            "the build of {} is gone: {}",
            versions[gone].label, versions[gone].binary
        ),
        place: None,
        help: Some(format!(
            "build both again: changeling replay {folder} {old} {new}"
        )),
        output: None,
    })
}

/// As a case of this kind is seen: a finding with sanitizers.
fn built(
    version: &Source,
    source: &SourceOptions,
    kind: results::Kind,
) -> Result<PathBuf, Failure> {
    let mut options = source.build_options();
    if !kind.is_finding() {
        return Ok(build(version, &options)?.plain);
    }
    options.variants = vec![Variant::Sanitized];
    let built = build(version, &options)?;
    let mut made = built.variants.into_iter();
    let made = made.find(|made| made.variant == Variant::Sanitized);
    made.map(|made| made.path).ok_or_else(|| {
        let reason = built.unavailable.into_iter().next();
        Failure {
            code: Code::CANNOT_RUN,
            what:
                "the version cannot be built with sanitizers, and the case is a finding of theirs"
                    .into(),
            place: None,
            help: None,
            output: reason.map(|(_, reason)| reason),
        }
    })
}

/// What differs. Of a finding it counts who has one: addresses in its text are others in each run.
fn judged(
    normaliser: &Normaliser,
    kind_of_case: results::Kind,
    base: &Observation,
    head: &Observation,
) -> Option<results::Kind> {
    let findings = [base, head].map(|seen| witness::finding(seen).is_some());
    match findings {
        [false, true] if kind_of_case.is_finding() => Some(results::Kind::Sanitizer),
        [true, false] if kind_of_case.is_finding() => Some(results::Kind::SanitizerGone),
        [true, true] if kind_of_case.is_finding() => None,
        _ => classify(normaliser, base, head).as_ref().map(kind),
    }
}
