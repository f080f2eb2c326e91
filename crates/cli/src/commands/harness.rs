//! `changeling harness`: source that turns bytes into one call of a function.

use crate::exit::Code;
use crate::failure::Failure;
use crate::functions::find_named;
use crate::harness::{Refusal, Subject, write};
use crate::settings::usage;
use crate::source::SourceOptions;
use changeling_build::{Built, Source, interface};
use changeling_program::{ReadError, Signature, SourceLanguage, function_names, signature};
use changeling_report::escape::shell_str;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The function, as the source calls it
    function: String,
    /// Files, a directory, a cargo package, bitcode, or a compilation database
    #[arg(value_name = "VERSION", required_unless_present = "revision")]
    paths: Vec<PathBuf>,
    /// The version is this revision of the git repository here
    #[arg(long, value_name = "REV", conflicts_with = "paths")]
    revision: Option<String>,
    /// Write to this file instead of standard output; it must not be there yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    source: SourceOptions,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let options = &arguments.source;
    if options.harness.is_some() {
        return Err(usage("--harness is for commands that run a version"));
    }
    let source = match &arguments.revision {
        Some(revision) => options.revision(".".into(), revision.clone()),
        None => options.source(&arguments.paths),
    };
    let bitcode = interface(&source, &options.build_options())?;
    let signature = read(&bitcode, &arguments.function)?;
    check_callable(&signature, &source)?;
    let file = arguments.out.as_ref();
    let subject = Subject {
        signature: &signature,
        place: place(&signature),
        file: file.map(|path| shell_str(&path.display().to_string())),
    };
    let text = write(&subject).map_err(|refusal| refused(&signature, refusal))?;
    match file {
        None => print!("{text}"),
        Some(path) => {
            save(path, &text)?;
            println!("{}: a harness for `{}`", path.display(), signature.name);
        }
    }
    Ok(Code::OK)
}

fn read(bitcode: &Path, name: &str) -> Result<Signature, Failure> {
    let damaged = |error: ReadError| Failure {
        code: Code::CANNOT_RUN,
        what: format!("the program cannot be read: {error}"),
        place: None,
        help: Some("remove the cache directory and try again".into()),
        output: None,
    };
    let names = function_names(bitcode).map_err(damaged)?;
    let symbol = &names[find_named(&names, name, false)?].symbol;
    let described = signature(bitcode, symbol).map_err(damaged)?;
    described.ok_or_else(|| Failure {
        code: Code::NO_HARNESS,
        what: format!("nothing is known of the parameters of `{name}`"),
        place: None,
        help: Some("build the version with debug information (-g)".into()),
        output: None,
    })
}

/// Rust functions that an example of the package cannot name.
fn check_callable(signature: &Signature, source: &Source) -> Result<(), Failure> {
    let in_library = matches!(source, Source::Cargo { .. } | Source::Revision { .. });
    if signature.language != SourceLanguage::Rust || !in_library || !signature.local {
        return Ok(());
    }
    let reason = "it is not `pub`, or not reachable from outside its crate".to_string();
    Err(refused(signature, Refusal::Function(reason)))
}

/// The file and line of the function.
fn place(signature: &Signature) -> String {
    let name = Built::source_name(&signature.directory, &signature.file);
    let file = name.map_or(signature.file.clone(), |name| name.display().to_string());
    format!("{file}:{}", signature.line)
}

fn refused(signature: &Signature, refusal: Refusal) -> Failure {
    let (reason, help) = match refusal {
        Refusal::Function(reason) => (reason, None),
        Refusal::Parameters(list) => (
            list.join("; "),
            Some(
                "write a function around it that makes these itself, and a harness for that one"
                    .into(),
            ),
        ),
    };
    Failure {
        code: Code::NO_HARNESS,
        what: format!("no harness for `{}`: {reason}", signature.name),
        place: Some(place(signature)),
        help,
        output: None,
    }
}

/// Never over a file that the user may have edited.
fn save(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure {
            code: Code::CANNOT_RUN,
            what: format!("cannot write {}: {error}", path.display()),
            place: None,
            help: Some(match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    "it is not overwritten: remove it, or choose another name with --out".into()
                }
                _ => "choose another name with --out".into(),
            }),
            output: None,
        })
}
