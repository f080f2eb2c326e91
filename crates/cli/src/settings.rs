//! Settings of a run: the command line first, then `changeling.toml`, then what
//! is usual.

use crate::config::{self, ConfigFile, Said};
use crate::exit::Code;
use crate::failure::Failure;
use crate::inputs::InputOptions;
use crate::source::SourceOptions;
use changeling_explore::budget::Budget;
use changeling_explore::guides::{Choice, ChoiceError};
use changeling_explore::normalise::UserRule;
use changeling_report::files::make_directory;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a search, as given.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SearchOptions {
    /// A file, case or directory with inputs to start from; may be given several times
    #[arg(long = "seed", value_name = "PATH", help_heading = "Search")]
    pub seeds: Vec<PathBuf>,
    /// Time for the search, such as 30s, 10m, 2h [default: 60s]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    pub time: Option<String>,
    /// Most inputs to run
    #[arg(long, value_name = "N", value_parser = number::<u64>, allow_negative_numbers = true, help_heading = "Search")]
    pub runs: Option<u64>,
    /// Workers [default: one per processor]
    #[arg(long, value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    pub jobs: Option<usize>,
    /// Most memory of the search, such as 4G
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    pub memory: Option<String>,
    /// Stop once N groups of differences are known
    #[arg(long, value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    pub differences: Option<usize>,
    /// Guides of the search, separated by commas: all (usual), none, reach, subgoals, prune, csg, incremental, correlation, values
    #[arg(long, value_name = "LIST", help_heading = "Search")]
    pub guide: Option<String>,
    /// An SMT-LIB solver instead of the embedded one: z3, bitwuzla, cvc5 or a path
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub solver: Option<String>,
    /// Write every query of the solver into this directory
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    pub record_queries: Option<PathBuf>,
    /// Number that random choices start from [default: 0]
    #[arg(long, value_name = "N", value_parser = number::<u64>, allow_negative_numbers = true, help_heading = "Search")]
    pub random_seed: Option<u64>,
    /// Time for one run of a program [default: 1s]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Runs"
    )]
    pub run_time: Option<String>,
    /// Memory for one run of a program [default: 1G]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Runs"
    )]
    pub run_memory: Option<String>,
    /// Count a sanitizer finding in one version only as a difference: address,undefined
    #[arg(long, value_name = "LIST", help_heading = "Runs")]
    pub sanitize: Option<String>,
    /// A regular expression; what it matches in outputs is not compared
    #[arg(
        long = "normalise",
        visible_alias = "normalize",
        value_name = "REGEX",
        help_heading = "Runs"
    )]
    pub normalise: Vec<String>,
    /// The output directory [default: .changeling/out]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// The file with settings [default: changeling.toml, if there is one]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub config: Option<PathBuf>,
}

impl SearchOptions {
    /// A mistake in a setting that the command line does not have is one of the file.
    fn or_of_file(&self, failure: Failure, path: &Path, keys: &[String]) -> Failure {
        let option = failure.what.strip_prefix("--").unwrap_or_default();
        let name = option.split([' ', ':']).next().unwrap_or_default();
        let is_given = match name {
            "time" => self.time.is_some(),
            "memory" => self.memory.is_some(),
            "run-time" => self.run_time.is_some(),
            "run-memory" => self.run_memory.is_some(),
            "runs" => self.runs.is_some(),
            "jobs" => self.jobs.is_some(),
            "differences" => self.differences.is_some(),
            "guide" => self.guide.is_some(),
            "solver" => self.solver.is_some(),
            "record-queries" => self.record_queries.is_some(),
            "sanitize" => self.sanitize.is_some(),
            _ => return failure,
        };
        if is_given || !keys.iter().any(|key| key == name) {
            return failure;
        }
        let rest = &option[name.len()..];
        Failure {
            what: format!("{}: `{name}`{rest}", path.display()),
            ..failure
        }
    }
}

/// All that was decided.
#[derive(Clone, Debug)]
pub struct Settings {
    pub input: InputOptions,
    pub source: SourceOptions,
    pub seeds: Vec<PathBuf>,
    pub budget: Budget,
    pub jobs: usize,
    pub random_seed: u64,
    pub run_time: Duration,
    pub run_memory: u64,
    pub sanitize: bool,
    pub guide: Choice,
    pub normalise: Vec<UserRule>,
    pub solver: changeling_solver::Settings,
    pub out: PathBuf,
    /// What the file says about the versions and the display.
    pub said: Said,
    /// For the report.
    pub listed: BTreeMap<String, Value>,
}

/// Standard input of programs of which nothing else is said.
const USUAL_STDIN: &str = "32";
const USUAL_TIME: Duration = Duration::from_secs(60);
/// Each is several processes.
const MOST_JOBS: usize = 256;
const USUAL_RUN_TIME: Duration = Duration::from_secs(1);
const USUAL_RUN_MEMORY: u64 = 1 << 30;
const LEAST_RUN_MEMORY: u64 = 16 << 20;

impl Settings {
    pub fn resolve(
        mut options: SearchOptions,
        mut input: InputOptions,
        mut source: SourceOptions,
    ) -> Result<Settings, Failure> {
        let mut rules: Vec<UserRule> = options.normalise.iter().map(|p| rule(p, "")).collect();
        let mut said = Said::default();
        let given = options.clone();
        let mut of_file = None;
        if let Some((path, table)) = config::read(options.config.as_deref())? {
            let mut file = ConfigFile::new(&path);
            let keys: Vec<String> = table.keys().cloned().collect();
            file.apply(table, &mut options, &mut source)?;
            of_file = Some((path.clone(), keys));
            rules.extend(file.rules);
            said = file.said;
            if input.is_empty() {
                input = file.input;
            }
        }
        if input.is_empty() {
            input.push("stdin", USUAL_STDIN);
        }
        let decided = Settings::decide(options, input, source, rules, said);
        decided.map_err(|failure| match of_file {
            Some((path, keys)) => given.or_of_file(failure, &path, &keys),
            None => failure,
        })
    }

    fn decide(
        options: SearchOptions,
        input: InputOptions,
        source: SourceOptions,
        rules: Vec<UserRule>,
        said: Said,
    ) -> Result<Settings, Failure> {
        let text = |text: &Option<String>| text.clone();
        let time = match text(&options.time) {
            Some(text) => Some(duration("--time", &text)?),
            // A bound on the runs is a bound already.
            None if options.runs.is_some() => None,
            None => Some(USUAL_TIME),
        };
        let memory = text(&options.memory).map(|text| size("--memory", &text));
        let run_time = text(&options.run_time).map(|text| duration("--run-time", &text));
        let run_memory = text(&options.run_memory).map(|text| size("--run-memory", &text));
        let run_memory = run_memory.transpose()?;
        if run_memory.is_some_and(|bytes| bytes < LEAST_RUN_MEMORY) {
            return Err(usage(
                "--run-memory: with less than 16M hardly any program can start",
            ));
        }
        let budget = Budget {
            time,
            runs: options.runs,
            memory: memory.transpose()?,
            groups: options.differences,
        };
        if options.jobs == Some(0) {
            return Err(usage("--jobs 0: at least one worker is needed"));
        }
        if let Some(jobs) = options.jobs.filter(|jobs| *jobs > MOST_JOBS) {
            return Err(usage(&format!(
                "--jobs {jobs}: at most {MOST_JOBS} workers; more than there are processors do not help"
            )));
        }
        if options.runs == Some(0) {
            return Err(usage("--runs 0: at least one run is needed"));
        }
        if options.differences == Some(0) {
            return Err(usage(
                "--differences 0: the search stops before it begins; give at least 1",
            ));
        }
        let usual_jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let sanitize = sanitizers(options.sanitize.as_deref())?;
        let guide = guides(options.guide.as_deref())?;
        // Sanitizers tell of more than what the versions do, such as reads whose results nobody uses.
        let guide = match sanitize {
            true => guide.unpruned(),
            false => guide,
        };
        let mut settings = Settings {
            input,
            source,
            seeds: options.seeds,
            budget,
            jobs: options.jobs.unwrap_or(usual_jobs).min(256),
            random_seed: options.random_seed.unwrap_or(0),
            run_time: run_time.transpose()?.unwrap_or(USUAL_RUN_TIME),
            run_memory: run_memory.unwrap_or(USUAL_RUN_MEMORY),
            sanitize,
            guide,
            normalise: rules,
            solver: solver(options.solver.as_deref(), options.record_queries)?,
            out: options.out.unwrap_or_else(|| config::USUAL_OUT.into()),
            said,
            listed: BTreeMap::new(),
        };
        settings.listed = settings.list(options.solver.as_deref().unwrap_or("embedded"));
        Ok(settings)
    }

    fn list(&self, solver: &str) -> BTreeMap<String, Value> {
        let budget = &self.budget;
        let seeds: Vec<String> = self.seeds.iter().map(|p| p.display().to_string()).collect();
        let patterns: Vec<&str> = self.normalise.iter().map(|r| r.pattern.as_str()).collect();
        let entries = [
            ("time", json!(budget.time.map(|time| time.as_secs_f64()))),
            ("runs", json!(budget.runs)),
            ("memory", json!(budget.memory)),
            ("differences", json!(budget.groups)),
            ("jobs", json!(self.jobs)),
            ("random-seed", json!(self.random_seed)),
            ("run-time", json!(self.run_time.as_secs_f64())),
            ("run-memory", json!(self.run_memory)),
            ("sanitize", json!(self.sanitize)),
            ("normalise", json!(patterns)),
            ("seed", json!(seeds)),
            ("solver", json!(solver)),
            ("guide", json!(self.guide.to_string())),
        ];
        entries.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

pub fn rule(pattern: &str, replacement: &str) -> UserRule {
    UserRule {
        pattern: pattern.into(),
        replacement: replacement.into(),
    }
}

pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .min()?;
    (near.0 <= 1 + word.len() / 3).then_some(near.1)
}

/// Letters to add, remove or change.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let wanted = "expected a whole number that is not negative, such as 4";
    text.parse().map_err(|_| wanted.to_owned())
}

/// `30s`, `10m`, `2h`, `500ms`; a bare number is seconds.
pub fn duration(option: &str, text: &str) -> Result<Duration, Failure> {
    let (number, factor) = match split_unit(text) {
        (number, "ms") => (number, 0.001),
        (number, "" | "s") => (number, 1.0),
        (number, "m" | "min") => (number, 60.0),
        (number, "h") => (number, 3600.0),
        _ => (None, 0.0),
    };
    let seconds = number
        .map(|number| number * factor)
        .filter(|s| *s > 0.0 && *s < 1e9);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        usage(&format!(
            "{option} {text}: expected a time such as 500ms, 30s, 10m or 2h"
        ))
    })
}

/// `512M`, `4G`; a bare number is bytes.
fn size(option: &str, text: &str) -> Result<u64, Failure> {
    let (number, factor) = match split_unit(text) {
        (number, "" | "B") => (number, 1.0),
        (number, "K" | "k" | "KiB") => (number, 1024.0),
        (number, "M" | "MiB") => (number, 1024.0 * 1024.0),
        (number, "G" | "GiB") => (number, 1024.0 * 1024.0 * 1024.0),
        _ => (None, 0.0),
    };
    let bytes = number
        .map(|number| number * factor)
        .filter(|b| *b >= 1.0 && *b < 1e18);
    bytes.map(|bytes| bytes as u64).ok_or_else(|| {
        usage(&format!(
            "{option} {text}: expected a size such as 512M or 4G"
        ))
    })
}

fn split_unit(text: &str) -> (Option<f64>, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (text[..end].parse().ok(), text[end..].trim())
}

fn guides(list: Option<&str>) -> Result<Choice, Failure> {
    let Some(list) = list else {
        return Ok(Choice::default());
    };
    let known = Choice::names();
    Choice::parse(list).map_err(|error| Failure {
        help: Some(match &error {
            ChoiceError::Unknown(name) => match nearest(name, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("guides are {}", known.join(", ")),
            },
            ChoiceError::Contradiction(..) => "leave one of them out".into(),
            ChoiceError::Empty => format!("guides are {}", known.join(", ")),
        }),
        ..usage(&format!("--guide {list}: {error}"))
    })
}

fn sanitizers(list: Option<&str>) -> Result<bool, Failure> {
    let Some(list) = list else { return Ok(false) };
    for name in list.split(',').map(str::trim) {
        if !["address", "undefined"].contains(&name) {
            return Err(usage(&format!(
                "--sanitize {name}: known sanitizers are address and undefined"
            )));
        }
    }
    Ok(true)
}

fn solver(
    name: Option<&str>,
    record: Option<PathBuf>,
) -> Result<changeling_solver::Settings, Failure> {
    let mut settings = changeling_solver::Settings::default();
    if let Some(directory) = record {
        make_directory(&directory).map_err(|error| usage(&format!("--record-queries: {error}")))?;
        settings.record = Some(directory);
    }
    match name {
        None | Some("embedded") => {}
        Some(name) => {
            let external = changeling_solver::External::find(name)
                .map_err(|error| usage(&format!("--solver {name}: {error}")))?;
            settings.external = Some(external);
            settings.layers.embedded = false;
        }
    }
    Ok(settings)
}

pub fn usage(what: &str) -> Failure {
    Failure {
        code: Code::USAGE,
        what: what.into(),
        place: None,
        help: Some("`changeling help run` lists all options".into()),
        output: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units() {
        let time = |text| duration("--time", text).ok();
        assert_eq!(time("30s"), Some(Duration::from_secs(30)));
        assert_eq!(time("1.5m"), Some(Duration::from_secs(90)));
        assert_eq!(time("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(time("7"), Some(Duration::from_secs(7)));
        for wrong in ["", "s", "-3s", "0", "3 parsecs", "1e99h"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(size("--memory", "2K").ok(), Some(2048));
        assert!(size("--memory", "2X").is_err());
    }
}
