//! Options that say what a program's input is; their order is kept.

use crate::exit::Code;
use crate::failure::Failure;
use changeling_report::files;
use changeling_trace::input::{Argument, Input, Stream, StreamKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::collections::BTreeMap;
use std::io::Read as _;

/// Bytes that an input starts with if only its length is given.
const FILLER: u8 = b'A';
/// Beyond this an input is surely a mistake.
const LARGEST: usize = 1 << 20;
/// So that `file-NAME.bin` is a file name, whatever has to be escaped in it.
const LONGEST_NAME: usize = 64;

/// `--stdin`, `--arg`, `--sym-arg`, `--file` and `--env`, as given.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    options: Vec<(Kind, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stdin,
    Fixed,
    Symbolic,
    File,
    Variable,
}

const OPTIONS: &[(Kind, &str, &str, &str)] = &[
    (
        Kind::Stdin,
        "stdin",
        "N|FILE",
        "Standard input of up to N bytes, or the bytes of a file",
    ),
    (
        Kind::Fixed,
        "arg",
        "TEXT",
        "The next argument of the program, as it is",
    ),
    (
        Kind::Symbolic,
        "sym-arg",
        "N|=TEXT",
        "The next argument, of up to N bytes, or starting as TEXT",
    ),
    (
        Kind::File,
        "file",
        "NAME=N|FILE",
        "A file in the working directory, of up to N bytes or like FILE",
    ),
    (
        Kind::Variable,
        "env",
        "NAME=N|=TEXT",
        "An environment variable of up to N bytes, or starting as TEXT",
    ),
];

impl InputOptions {
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// Whether an environment variable of this name is given.
    pub fn has_variable(&self, name: &str) -> bool {
        let is_it = |(kind, text): &(Kind, String)| {
            let own = text.split_once('=').map_or(text.as_str(), |(own, _)| own);
            *kind == Kind::Variable && own == name
        };
        self.options.iter().any(is_it)
    }

    /// What is symbolic, in words: the bound of an exploration.
    pub fn describe(input: &Input) -> String {
        let parts: Vec<String> = input
            .streams
            .iter()
            .map(|stream| {
                let what = match stream.kind {
                    StreamKind::Stdin => "stdin".to_string(),
                    StreamKind::File => format!("file {}", stream.name),
                    StreamKind::Argument => "one argument".to_string(),
                    StreamKind::Environment => format!("variable {}", stream.name),
                    StreamKind::Harness => "the harness buffer".to_string(),
                };
                format!("{what} up to {} bytes", stream.capacity)
            })
            .collect();
        if parts.is_empty() {
            "no symbolic input".into()
        } else {
            parts.join(", ")
        }
    }

    /// One more option, by its name on the command line. False if there is none of
    /// this name.
    pub fn push(&mut self, name: &str, value: &str) -> bool {
        let option = OPTIONS.iter().find(|(_, known, ..)| *known == name);
        if let Some((kind, ..)) = option {
            self.options.push((*kind, value.to_owned()));
        }
        option.is_some()
    }

    /// What a search ranges over: as [`InputOptions::input`], but streams of which
    /// only the bound is known start empty.
    pub fn shape(&self, harness: bool) -> Result<Input, Failure> {
        let mut input = self.input(harness)?;
        let symbolic = self.options.iter().filter(|(kind, _)| *kind != Kind::Fixed);
        for (stream, (kind, text)) in input.streams.iter_mut().zip(symbolic) {
            let bound = match kind {
                Kind::File | Kind::Variable => text.split_once('=').map_or("", |(_, value)| value),
                _ => text.as_str(),
            };
            if bound.parse::<usize>().is_ok() {
                stream.bytes.clear();
            }
        }
        Ok(input)
    }

    /// The input, filled with `A`s where only a length was given. For a harness,
    /// standard input is its buffer.
    pub fn input(&self, harness: bool) -> Result<Input, Failure> {
        let mut input = Input::default();
        for (kind, text) in &self.options {
            match kind {
                Kind::Stdin => {
                    let kind = if harness {
                        StreamKind::Harness
                    } else {
                        StreamKind::Stdin
                    };
                    if input.streams.iter().any(|stream| stream.kind == kind) {
                        return Err(wrong("--stdin", text, "standard input was given before"));
                    }
                    let bytes = length_or_file("--stdin", text)?;
                    input.streams.push(stream(kind, "", bytes));
                }
                Kind::Fixed => input
                    .arguments
                    .push(Argument::Fixed(text.clone().into_bytes())),
                Kind::Symbolic => {
                    let bytes = length_or_text("--sym-arg", text)?;
                    input
                        .arguments
                        .push(Argument::Symbolic(input.streams.len()));
                    input.streams.push(stream(StreamKind::Argument, "", bytes));
                }
                Kind::File => {
                    let (name, value) = named("--file", text)?;
                    if name.contains('/') || name == "." || name == ".." {
                        return Err(wrong(
                            "--file",
                            text,
                            "the name is a path; give a name in the working directory",
                        ));
                    }
                    if name.len() > LONGEST_NAME {
                        return Err(wrong("--file", text, "the name is too long"));
                    }
                    given_once(&input, StreamKind::File, "--file", name, text)?;
                    let bytes = length_or_file(&format!("--file {name}="), value)?;
                    input.streams.push(stream(StreamKind::File, name, bytes));
                }
                Kind::Variable => {
                    let (name, value) = named("--env", text)?;
                    if name.len() > LONGEST_NAME {
                        return Err(wrong("--env", text, "the name is too long"));
                    }
                    if name.starts_with("LD_") || name.starts_with("CHANGELING_") {
                        let why =
                            "it acts before the program begins, so it cannot be part of the input";
                        return Err(wrong("--env", text, why));
                    }
                    given_once(&input, StreamKind::Environment, "--env", name, text)?;
                    let bytes = length_or_text(&format!("--env {name}="), value)?;
                    input
                        .streams
                        .push(stream(StreamKind::Environment, name, bytes));
                }
            }
        }
        Ok(input)
    }
}

fn given_once(
    input: &Input,
    kind: StreamKind,
    option: &str,
    name: &str,
    text: &str,
) -> Result<(), Failure> {
    let is_same = |stream: &Stream| stream.kind == kind && stream.name == name;
    match input.streams.iter().any(is_same) {
        true => Err(wrong(option, text, &format!("`{name}` was given before"))),
        false => Ok(()),
    }
}

fn stream(kind: StreamKind, name: &str, bytes: Vec<u8>) -> Stream {
    Stream {
        kind,
        name: name.into(),
        capacity: bytes.len(),
        bytes,
    }
}

fn named<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(wrong(option, text, "expected NAME=N")),
    }
}

fn length(option: &str, text: &str) -> Option<Result<Vec<u8>, Failure>> {
    let count: usize = text.parse().ok()?;
    Some(if count > LARGEST {
        Err(wrong(
            option,
            text,
            &format!("at most {LARGEST} bytes can be symbolic"),
        ))
    } else {
        Ok(vec![FILLER; count])
    })
}

fn length_or_file(option: &str, text: &str) -> Result<Vec<u8>, Failure> {
    if let Some(result) = length(option, text) {
        return result;
    }
    let bytes = read_start(text).map_err(|error| {
        wrong(
            option,
            text,
            &format!("neither a number nor a file that can be read: {error}"),
        )
    })?;
    if bytes.len() > LARGEST {
        return Err(wrong(
            option,
            text,
            &format!("the file is larger than {LARGEST} bytes"),
        ));
    }
    Ok(bytes)
}

/// A little more than may be symbolic.
fn read_start(path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = files::open(std::path::Path::new(path))?;
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn length_or_text(option: &str, text: &str) -> Result<Vec<u8>, Failure> {
    if let Some(text) = text.strip_prefix('=') {
        return Ok(text.as_bytes().to_vec());
    }
    length(option, text).unwrap_or_else(|| {
        Err(wrong(
            option,
            text,
            "expected a number of bytes, or = and a text",
        ))
    })
}

fn wrong(option: &str, text: &str, why: &str) -> Failure {
    Failure {
        code: Code::USAGE,
        what: match option.ends_with('=') {
            true => format!("{option}{text}: {why}"),
            false => format!("{option} {text}: {why}"),
        },
        place: None,
        help: Some("`changeling help run` lists the input options".into()),
        output: None,
    }
}

impl clap::Args for InputOptions {
    fn augment_args(command: Command) -> Command {
        OPTIONS
            .iter()
            .fold(command, |command, (_, name, value, help)| {
                command.arg(
                    Arg::new(*name)
                        .long(*name)
                        .value_name(*value)
                        .help(*help)
                        .action(ArgAction::Append)
                        .allow_hyphen_values(true)
                        .help_heading("Input"),
                )
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for InputOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut ordered = BTreeMap::new();
        for (kind, name, ..) in OPTIONS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            ordered.extend(places.zip(values.map(|value| (*kind, value.clone()))));
        }
        Ok(InputOptions {
            options: ordered.into_values().collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
