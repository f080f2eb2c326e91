//! `changeling.toml`: the settings of the command line in a file.

use crate::exit::Code;
use crate::failure::Failure;
use crate::inputs::InputOptions;
use crate::settings::{SearchOptions, nearest, rule, usage};
use crate::source::{SourceOptions, build_time};
use changeling_explore::normalise::UserRule;
use changeling_report::files::read_text;
use std::path::{Path, PathBuf};

const FILE: &str = "changeling.toml";

/// Settings of the file that are no part of a search: which versions, and what is printed.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub base: Option<String>,
    pub head: Option<String>,
    pub base_dir: Option<PathBuf>,
    pub head_dir: Option<PathBuf>,
    pub golden: Option<String>,
    pub quiet: bool,
    pub json_lines: bool,
}

/// Keys of `changeling.toml` besides those of the input.
const KEYS: &[&str] = &[
    "seed",
    "time",
    "runs",
    "jobs",
    "memory",
    "differences",
    "guide",
    "solver",
    "record-queries",
    "random-seed",
    "run-time",
    "run-memory",
    "sanitize",
    "normalise",
    "out",
    "build",
    "program",
    "flag",
    "harness",
    "profile",
    "cache",
    "build-time",
    "base",
    "head",
    "base-dir",
    "head-dir",
    "golden",
    "quiet",
    "json-lines",
    "input",
];
/// Keys of an entry of `normalise`.
const RULE_KEYS: &[&str] = &["pattern", "replacement"];
const INPUT_KEYS: &[&str] = &["stdin", "arg", "sym-arg", "file", "env"];

pub fn read(given: Option<&Path>) -> Result<Option<(PathBuf, toml::Table)>, Failure> {
    let path = given.unwrap_or(Path::new(FILE));
    let text = match read_text(path) {
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        result => {
            result.map_err(|error| usage(&format!("cannot read {}: {error}", path.display())))?
        }
    };
    let table = text.parse::<toml::Table>().map_err(|error| Failure {
        code: Code::USAGE,
        what: format!("{} is not valid TOML: {}", path.display(), error.message()),
        place: error.span().map(|span| {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("{}:{line}", path.display())
        }),
        help: Some("docs/run.md shows an example".into()),
        output: None,
    })?;
    Ok(Some((path.to_owned(), table)))
}

/// What the file says to commands that come after a run: where its output is, how versions are built, and what
/// is not compared. The command line goes first.
pub fn after_a_run(
    out: Option<&Path>,
    source: &mut SourceOptions,
) -> Result<(PathBuf, Vec<UserRule>), Failure> {
    let mut options = SearchOptions {
        out: out.map(Path::to_owned),
        ..SearchOptions::default()
    };
    let mut rules = Vec::new();
    if let Some((path, table)) = read(None)? {
        let mut file = ConfigFile::new(&path);
        file.apply(table, &mut options, source)?;
        rules = file.rules;
    }
    Ok((options.out.unwrap_or_else(|| USUAL_OUT.into()), rules))
}

/// The output directory of which nothing else is said.
pub const USUAL_OUT: &str = ".changeling/out";

pub struct ConfigFile<'a> {
    path: &'a Path,
    pub rules: Vec<UserRule>,
    pub input: InputOptions,
    pub said: Said,
}

/// What stands alone is a list of one.
fn listed(value: &toml::Value) -> &[toml::Value] {
    match value {
        toml::Value::Array(list) => list,
        value => std::slice::from_ref(value),
    }
}

impl ConfigFile<'_> {
    pub fn new(path: &Path) -> ConfigFile<'_> {
        ConfigFile {
            path,
            rules: Vec::new(),
            input: InputOptions::default(),
            said: Said::default(),
        }
    }

    /// What the command line says stays.
    pub fn apply(
        &mut self,
        table: toml::Table,
        options: &mut SearchOptions,
        source: &mut SourceOptions,
    ) -> Result<(), Failure> {
        for (key, value) in &table {
            let key = key.as_str();
            match key {
                "seed" if options.seeds.is_empty() => {
                    options.seeds = self.paths(key, value)?;
                }
                "seed" => {}
                "time" => set(&mut options.time, self.amount(key, value)?),
                "runs" => set(&mut options.runs, self.number(key, value)?),
                "jobs" => set(&mut options.jobs, self.number(key, value)? as usize),
                "memory" => set(&mut options.memory, self.amount(key, value)?),
                "differences" => set(&mut options.differences, self.number(key, value)? as usize),
                "guide" => set(&mut options.guide, self.texts(key, value)?.join(",")),
                "solver" => set(&mut options.solver, self.text(key, value)?),
                "record-queries" => {
                    set(&mut options.record_queries, self.text(key, value)?.into());
                }
                "random-seed" => set(&mut options.random_seed, self.number(key, value)?),
                "run-time" => set(&mut options.run_time, self.amount(key, value)?),
                "run-memory" => set(&mut options.run_memory, self.amount(key, value)?),
                "sanitize" => set(&mut options.sanitize, self.texts(key, value)?.join(",")),
                "normalise" | "normalize" => self.rules = self.normalise(key, value)?,
                "out" => set(&mut options.out, self.text(key, value)?.into()),
                "build" => set(&mut source.build, self.text(key, value)?),
                "program" => set(&mut source.program, self.text(key, value)?),
                "flag" if source.flags.is_empty() => source.flags = self.texts(key, value)?,
                "flag" => {}
                "harness" => set(&mut source.harness, self.text(key, value)?.into()),
                "profile" => set(&mut source.profile, self.text(key, value)?),
                "cache" => set(&mut source.cache, self.text(key, value)?.into()),
                "build-time" => {
                    let time = build_time(&self.amount(key, value)?);
                    let wanted = "a time such as 300 or \"5m\"";
                    set(
                        &mut source.build_time,
                        time.map_err(|_| self.wrong(key, wanted))?,
                    );
                }
                "base" => self.said.base = Some(self.text(key, value)?),
                "head" => self.said.head = Some(self.text(key, value)?),
                "base-dir" => self.said.base_dir = Some(self.text(key, value)?.into()),
                "head-dir" => self.said.head_dir = Some(self.text(key, value)?.into()),
                "golden" => self.said.golden = Some(self.text(key, value)?),
                "quiet" => self.said.quiet = self.flag(key, value)?,
                "json-lines" => self.said.json_lines = self.flag(key, value)?,
                "input" => self.inputs(key, value)?,
                _ if INPUT_KEYS.contains(&key) => {
                    for text in self.input_texts(key, value)? {
                        self.input.push(key, &text);
                    }
                }
                "resume" | "list" | "config" => {
                    let path = self.path.display();
                    return Err(Failure {
                        help: Some(format!("give --{key} there")),
                        ..usage(&format!("{path}: `{key}` is for the command line alone"))
                    });
                }
                _ => return Err(self.unknown(key, &[KEYS, INPUT_KEYS].concat())),
            }
        }
        let said = &self.said;
        let contradictions = [
            (
                "base",
                "base-dir",
                said.base.is_some() && said.base_dir.is_some(),
            ),
            (
                "head",
                "head-dir",
                said.head.is_some() && said.head_dir.is_some(),
            ),
            ("quiet", "json-lines", said.quiet && said.json_lines),
        ];
        for (one, other, both) in contradictions {
            if both {
                let path = self.path.display();
                return Err(usage(&format!(
                    "{path}: `{one}` and `{other}` contradict each other"
                )));
            }
        }
        Ok(())
    }

    /// `input = [{ arg = "-x" }, { sym-arg = 4 }]`: a list, because the order counts.
    fn inputs(&mut self, key: &str, value: &toml::Value) -> Result<(), Failure> {
        let wanted = "a list such as [{ arg = \"-n\" }, { sym-arg = 4 }]";
        let list = value.as_array().ok_or_else(|| self.wrong(key, wanted))?;
        for entry in list {
            let entry = entry.as_table().ok_or_else(|| self.wrong(key, wanted))?;
            // A table has no order, and the order counts.
            if entry.len() != 1 {
                return Err(self.wrong(key, wanted));
            }
            for (name, value) in entry {
                if !INPUT_KEYS.contains(&name.as_str()) {
                    return Err(self.unknown(name, INPUT_KEYS));
                }
                for text in self.input_texts(name, value)? {
                    self.input.push(name, &text);
                }
            }
        }
        Ok(())
    }

    fn normalise(&self, key: &str, value: &toml::Value) -> Result<Vec<UserRule>, Failure> {
        let wanted = "a list of patterns, or of { pattern = …, replacement = … }";
        let one = |value: &toml::Value| match value {
            toml::Value::String(pattern) => Ok(rule(pattern, "")),
            value => {
                let entry = value.as_table().ok_or_else(|| self.wrong(key, wanted))?;
                if let Some(other) = entry.keys().find(|key| !RULE_KEYS.contains(&key.as_str())) {
                    return Err(self.unknown(other, RULE_KEYS));
                }
                let rule = value.clone().try_into::<UserRule>();
                rule.map_err(|_| self.wrong(key, wanted))
            }
        };
        listed(value).iter().map(one).collect()
    }

    fn text(&self, key: &str, value: &toml::Value) -> Result<String, Failure> {
        value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.wrong(key, "a text"))
    }

    fn flag(&self, key: &str, value: &toml::Value) -> Result<bool, Failure> {
        value
            .as_bool()
            .ok_or_else(|| self.wrong(key, "true or false"))
    }

    fn number(&self, key: &str, value: &toml::Value) -> Result<u64, Failure> {
        let number = value
            .as_integer()
            .and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.wrong(key, "a number that is not negative"))
    }

    /// A number, or a text with a unit.
    fn amount(&self, key: &str, value: &toml::Value) -> Result<String, Failure> {
        match value {
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Integer(number) => Ok(number.to_string()),
            toml::Value::Float(number) => Ok(number.to_string()),
            _ => Err(self.wrong(key, "a number, or a text with a unit")),
        }
    }

    fn texts(&self, key: &str, value: &toml::Value) -> Result<Vec<String>, Failure> {
        let items = listed(value).iter();
        items.map(|item| self.amount(key, item)).collect()
    }

    /// The same for what the program reads.
    fn input_texts(&self, key: &str, value: &toml::Value) -> Result<Vec<String>, Failure> {
        let wanted = match key {
            "file" | "env" => "a text such as \"NAME=8\", or a list of them",
            "arg" => "a text, or a list of them",
            _ => "a number of bytes, or a text",
        };
        let texts = self.texts(key, value);
        texts.map_err(|_| self.wrong(key, wanted))
    }

    /// A number is none: whoever writes `seed = 1` means `random-seed`.
    fn paths(&self, key: &str, value: &toml::Value) -> Result<Vec<PathBuf>, Failure> {
        let path = |value: &toml::Value| value.as_str().map(PathBuf::from);
        let paths: Option<Vec<PathBuf>> = listed(value).iter().map(path).collect();
        let wanted = "a path or a list of paths (numbers go with `random-seed`)";
        paths.ok_or_else(|| self.wrong(key, wanted))
    }

    fn wrong(&self, key: &str, wanted: &str) -> Failure {
        Failure {
            code: Code::USAGE,
            what: format!("{}: `{key}` must be {wanted}", self.path.display()),
            place: None,
            help: Some("docs/run.md shows an example".into()),
            output: None,
        }
    }

    fn unknown(&self, key: &str, known: &[&str]) -> Failure {
        let near = nearest(key, known);
        Failure {
            code: Code::USAGE,
            what: format!("{}: there is no setting `{key}`", self.path.display()),
            place: None,
            help: Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("settings are {}", known.join(", ")),
            }),
            output: None,
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T) {
    if place.is_none() {
        *place = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_settings_get_a_suggestion() {
        assert_eq!(nearest("tiem", KEYS), Some("time"));
        assert_eq!(nearest("sanitise", KEYS), Some("sanitize"));
        assert_eq!(nearest("xyzzy", KEYS), None);
    }
}
