//! `changeling accept`: a difference is intended.

use super::run::accepted_path;
use crate::config::after_a_run;
use crate::exit::Code;
use crate::failure::Failure;
use crate::results::groups;
use crate::source::SourceOptions;
use changeling_report::accepted::{Accepted, Entry};
use changeling_report::case::{Case, DESCRIPTION};
use changeling_report::results::InputView;
use changeling_report::{view, wording};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of cases, or their numbers in the output directory
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// Why the difference is intended
    #[arg(long, default_value = "")]
    reason: String,
    /// The output directory that numbers refer to [default: .changeling/out]
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let (out, _) = after_a_run(arguments.out.as_deref(), &mut SourceOptions::default())?;
    let path = accepted_path(&out);
    let mut accepted = Accepted::read(&path).map_err(wrong)?;
    let mut lines = Vec::new();
    for case in &arguments.cases {
        let case = read_case(case, &out)?;
        let title = case.title.clone();
        let places = case.changes.iter();
        let places = places.map(|change| match change.function.as_str() {
            "" => wording::change_place(change),
            function => format!("{} in {function}", wording::change_place(change)),
        });
        let changes: Vec<String> = places.collect();
        let input = InputView::from(&case.input);
        let streams = input.streams.iter();
        let streams =
            streams.map(|stream| format!("{} \"{}\"", stream.label, view::line(&stream.bytes, 60)));
        let input: Vec<String> = streams.collect();
        let mut is_new = false;
        for group in groups(&case.group) {
            let (group, title) = (group.to_owned(), case.title.clone());
            is_new |= accepted.add(Entry {
                group,
                title,
                reason: arguments.reason.clone(),
                changes: changes.clone(),
                input: input.clone(),
            });
        }
        lines.push(match is_new {
            true => format!("accepted: {title}"),
            false if !arguments.reason.is_empty() => {
                format!("accepted before, now with this reason: {title}")
            }
            false => format!("accepted before: {title}"),
        });
    }
    accepted.write(&path).map_err(|error| Failure {
        code: Code::UNWRITTEN,
        ..wrong(error)
    })?;
    for line in lines {
        println!("{line}");
    }
    println!("later runs stay quiet about it; commit {}", path.display());
    Ok(Code::OK)
}

/// A case by its folder, or by its number in the output directory.
pub fn read_case(given: &Path, out: &Path) -> Result<Case, Failure> {
    Case::read(&case_folder(given, out)?).map_err(wrong)
}

pub fn case_folder(given: &Path, out: &Path) -> Result<PathBuf, Failure> {
    let folder = match given.exists() {
        true => Some(given.to_owned()),
        false => numbered(given, out),
    };
    folder.ok_or_else(|| Failure {
        code: Code::USAGE,
        what: format!("there is no case {}", given.display()),
        place: None,
        help: Some(format!(
            "cases are the folders in {}",
            out.join("cases").display()
        )),
        output: None,
    })
}

fn numbered(given: &Path, out: &Path) -> Option<PathBuf> {
    let name = given.to_str()?;
    let named = out.join("cases").join(name);
    // `..` is no case.
    if given.components().count() == 1 && named.join(DESCRIPTION).is_file() {
        return Some(named);
    }
    let number: u32 = name.parse().ok()?;
    let start = format!("{number:04}-");
    let entries = std::fs::read_dir(out.join("cases")).ok()?;
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    names.find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&start))
    })
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure {
        code: Code::USAGE,
        what: error.to_string(),
        place: None,
        help: None,
        output: None,
    }
}
