//! What must not count as a difference: the parts of an observation that depend
//! on where and when a program ran, not on what it does.

use crate::Observation;
use regex::bytes::Regex;
use std::borrow::Cow;

/// Replaces unstable parts of texts by fixed words, so that two observations can
/// be compared byte by byte.
#[derive(Clone, Debug)]
pub struct Normaliser {
    rules: Vec<Rule>,
    user_rules: usize,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Regex,
    replacement: Vec<u8>,
}

/// A rule of the user: matches of `pattern` are replaced by `replacement`
/// (`$1`, `$name` stand for groups).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UserRule {
    pub pattern: String,
    #[serde(default)]
    pub replacement: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the normalisation pattern `{pattern}` is not a valid regular expression: {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

/// Names that mean "this run's own place" and differ between the two versions.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Names under which the programs may speak of themselves.
    pub program_names: Vec<String>,
    /// Directories in which they ran.
    pub scratch: Vec<String>,
    /// Files that they were made from; in messages before a line number.
    pub sources: Vec<String>,
}

impl Places {
    /// Versions that are a single file each: `old.c:12` of an assertion is `new.c:14` of the same one.
    pub fn of_files(names: &[&str]) -> Places {
        let file = |name: &&str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let sources: Vec<String> = names.iter().map(file).collect();
        let is_source = |name: &String| {
            let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
            ["c", "cc", "cpp", "cxx", "c++", "C", "rs"].contains(&suffix)
        };
        let differ = sources.iter().any(|name| *name != sources[0]);
        match differ && sources.iter().all(is_source) {
            true => Places {
                sources,
                ..Places::default()
            },
            false => Places::default(),
        }
    }
}

impl Normaliser {
    pub fn new(places: &Places, user: &[UserRule]) -> Result<Normaliser, PatternError> {
        let mut rules = Vec::new();
        for rule in user {
            let pattern = Regex::new(&rule.pattern).map_err(|error| PatternError {
                pattern: rule.pattern.clone(),
                reason: error.to_string(),
            })?;
            rules.push(Rule {
                pattern,
                replacement: rule.replacement.clone().into_bytes(),
            });
        }
        // Longest first: a directory may be the beginning of another.
        let mut scratch = places.scratch.clone();
        scratch.sort_by_key(|path| std::cmp::Reverse(path.len()));
        for path in scratch.iter().filter(|path| path.len() > 1) {
            rules.push(built_in(
                &regex::escape(path.trim_end_matches('/')),
                "<scratch>",
            ));
        }
        for name in &places.sources {
            let pattern = format!(r"(?-u)(^|[^\w.-]){}(:[0-9]+)", regex::escape(name));
            rules.push(built_in(&pattern, "$1<source>$2"));
        }
        for name in places.program_names.iter().filter(|name| !name.is_empty()) {
            rules.push(program_name(name));
        }
        rules.extend(
            STABLE
                .iter()
                .map(|(pattern, replacement)| built_in(pattern, replacement)),
        );
        Ok(Normaliser {
            rules,
            user_rules: user.len(),
        })
    }

    /// Only what is always unstable: addresses, line numbers, process ids of sanitizers.
    pub fn standard() -> Normaliser {
        let rules = STABLE
            .iter()
            .map(|(pattern, replacement)| built_in(pattern, replacement));
        Normaliser {
            rules: rules.collect(),
            user_rules: 0,
        }
    }

    /// Whether the user added rules: what they hide is not ours to judge.
    pub fn has_user_rules(&self) -> bool {
        self.user_rules > 0
    }

    pub fn text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut current = Cow::Borrowed(text);
        for rule in &self.rules {
            if let Cow::Owned(changed) = rule
                .pattern
                .replace_all(&current, rule.replacement.as_slice())
            {
                current = Cow::Owned(changed);
            }
        }
        current
    }

    pub fn observation(&self, observation: &Observation) -> Observation {
        Observation {
            stdout: self.text(&observation.stdout).into_owned(),
            stderr: self.text(&observation.stderr).into_owned(),
            end: observation.end,
            removed: observation.removed.clone(),
            files: observation
                .files
                .iter()
                .map(|(name, contents)| (name.clone(), self.text(contents).into_owned()))
                .collect(),
            observed: observation
                .observed
                .iter()
                .map(|(name, value)| {
                    let value = self.text(value.as_bytes());
                    (name.clone(), String::from_utf8_lossy(&value).into_owned())
                })
                .collect(),
            truncated: observation.truncated,
        }
    }
}

/// In bytes mode; `(?-u)` keeps classes to ASCII so that any output can be read.
const STABLE: &[(&str, &str)] = &[
    // `prog: file.c:12: function: Assertion `x' failed.` A function may move to another file.
    (
        r"(?m-u)^((?:.*?\s)?)[^\s:]+:[0-9]+(: .*\bAssertion `.*' failed\.)",
        "$1<source>:<line>$2",
    ),
    (
        r"(?-u)(\bpanicked at )[^\n:]+:[0-9]+:[0-9]+",
        "$1<source>:<line>",
    ),
    (
        r"(?m-u)^([^\s:]+):[0-9]+:[0-9]+(: runtime error:)",
        "$1:<line>$2",
    ),
    // `thread 'main' (1234) panicked at`
    (r"(?-u)(thread '[^'\n]*') \([0-9]+\)( panicked)", "$1$2"),
    // Stack, library and mapped addresses, and those of a position-independent program and its heap: always twelve
    // digits. What has fewer is a number that the program computed, such as the largest `int`.
    (r"(?-u)\b0x0*(?:7f|55|56)[0-9a-fA-F]{10}\b", "<address>"),
    // `==1234==ERROR: AddressSanitizer`, `==1234==ABORTING`. Where a program says its own number it is the same in
    // every run; where it says another, that may be what was changed.
    (
        r"(?m-u)^==[0-9]+==(ABORTING|Hint|HINT|Register values|[A-Z]+: [A-Z][A-Za-z]+Sanitizer)",
        "==<pid>==$1",
    ),
];

fn built_in(pattern: &str, replacement: &str) -> Rule {
    let pattern = Regex::new(pattern).expect("built-in patterns are valid");
    Rule {
        pattern,
        replacement: replacement.as_bytes().to_vec(),
    }
}

/// A program speaks of itself at the start of a line (`prog: message`), in its
/// usage line and in quotes; elsewhere the same letters are ordinary text.
fn program_name(name: &str) -> Rule {
    let name = regex::escape(name);
    built_in(
        &format!(r"(?m-u)(^|(?i:usage: *)|['`\x22])(?:[\w./+-]*/)?{name}(:|'|\x22|\s|$)"),
        "$1<program>$2",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normaliser() -> Normaliser {
        let places = Places {
            program_names: vec!["cut.v1".into(), "cut.v2".into()],
            scratch: vec!["/tmp/work".into(), "/tmp/work/base".into()],
            ..Places::default()
        };
        Normaliser::new(&places, &[]).unwrap()
    }

    fn text(normaliser: &Normaliser, text: &str) -> String {
        String::from_utf8(normaliser.text(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn program_names_are_replaced_where_a_program_speaks_of_itself() {
        let n = normaliser();
        assert_eq!(
            text(&n, "cut.v1: bad list\n"),
            text(&n, "/bin/cut.v2: bad list\n")
        );
        assert_eq!(text(&n, "Usage: cut.v1 -f"), text(&n, "Usage: ./cut.v2 -f"));
        assert_eq!(text(&n, "the word cut.v1x stays"), "the word cut.v1x stays");
    }

    #[test]
    fn scratch_paths_addresses_and_pids_of_sanitizers_are_replaced() {
        let n = normaliser();
        assert_eq!(text(&n, "open /tmp/work/base/x"), "open <scratch>/x");
        assert_eq!(
            text(&n, "at 0x7ffff7dd0000 and 0x555555554000"),
            "at <address> and <address>"
        );
        assert_eq!(
            text(&n, "==4711==ERROR: AddressSanitizer: heap-use-after-free"),
            "==<pid>==ERROR: AddressSanitizer: heap-use-after-free"
        );
        assert_eq!(text(&n, "==4711==ABORTING"), "==<pid>==ABORTING");
    }

    #[test]
    fn numbers_that_a_program_computed_stay() {
        let n = normaliser();
        for ordinary in [
            "value 0x7f",
            "limit 0x7fffffff",
            "0x7fffffffff",
            "0x7fffffffffffffff",
            "pid 17, pid=18",
            "==1==",
            "==1== Results ==2==",
            "notes.txt:3: the word Assertion",
        ] {
            assert_eq!(text(&n, ordinary), ordinary);
        }
    }

    #[test]
    fn files_of_the_versions_are_the_same_before_a_line() {
        let n = Normaliser::new(&Places::of_files(&["a/old.c", "new.c"]), &[]).unwrap();
        assert_eq!(
            text(&n, "p: old.c:12: main: Assertion `x' failed."),
            text(&n, "p: new.c:19: main: Assertion `x' failed.")
        );
        assert_eq!(text(&n, "reading old.c"), "reading old.c");
        assert_eq!(text(&n, "very-old.c:1"), "very-old.c:1");
        let revisions = Places::of_files(&["v1.2", "HEAD"]);
        assert!(revisions.sources.is_empty());
    }

    #[test]
    fn lines_of_assertions_and_panics_are_replaced() {
        let n = normaliser();
        assert_eq!(
            text(&n, "cut.v1: a/cut.c:12: main: Assertion `init!=0' failed."),
            text(&n, "cut.v2: b/cut.h:19: main: Assertion `init!=0' failed.")
        );
        assert_ne!(
            text(&n, "cut.v1: cut.c:12: main: Assertion `init!=0' failed."),
            text(&n, "cut.v2: cut.c:12: init: Assertion `init!=0' failed.")
        );
        assert_eq!(
            text(&n, "thread 'main' (12) panicked at src/main.rs:3:5:\nboom"),
            text(
                &n,
                "thread 'main' (15) panicked at src/parts.rs:30:15:\nboom"
            )
        );
        for ordinary in [
            "12:30:00",
            "error in line 3",
            "a.c:3: syntax error",
            "a[3]: 5",
        ] {
            assert_eq!(text(&n, ordinary), ordinary);
        }
    }

    #[test]
    fn user_rules_come_first_and_bad_ones_are_named() {
        let rule = |p: &str, r: &str| UserRule {
            pattern: p.into(),
            replacement: r.into(),
        };
        let n = Normaliser::new(&Places::default(), &[rule(r"took \d+ ms", "took T")]).unwrap();
        assert_eq!(text(&n, "took 17 ms"), "took T");
        let error = Normaliser::new(&Places::default(), &[rule("(", "")]).unwrap_err();
        assert!(error.to_string().contains("`(`"));
    }
}
