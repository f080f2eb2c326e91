//! Renders a `results.json` again: `render results.json [html|md|sarif|junit|text]`.

use changeling_report::results::Results;
use changeling_report::terminal::{self, Style};
use changeling_report::{html, junit, markdown, sarif};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: render results.json [html|md|sarif|junit|text]");
        return ExitCode::from(2);
    };
    let results = std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| Results::from_json(&text).map_err(|error| error.to_string()));
    let results = match results {
        Ok(results) => results,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let text = match arguments.next().as_deref() {
        Some("md") => markdown::document(&results),
        Some("sarif") => sarif::log(&results),
        Some("junit") => junit::document(&results),
        Some("text") => terminal::summary(&results, ".", Style::detect()),
        _ => html::page(&results),
    };
    print!("{text}");
    ExitCode::SUCCESS
}
