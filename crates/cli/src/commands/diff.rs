//! `changeling diff`: what changed between two versions, and what only looks
//! changed.

use crate::comparison::{Compared, Entry, Range, Report, What};
use crate::exit::Code;
use crate::failure::Failure;
use crate::source::SourceOptions;
use crate::versions::VersionOptions;
use changeling_changes::ChangeKind;
use changeling_explore::Side;
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    versions: VersionOptions,
    #[command(flatten)]
    source: SourceOptions,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Print names and places only, no source lines
    #[arg(long, conflicts_with = "json")]
    short: bool,
}

/// Lines of a hunk that are printed.
const LINES: usize = 30;
/// The versions differ.
const DIFFERENT: Code = Code(1);

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let sides = arguments.versions.sides(&arguments.source)?;
    let compared = Compared::new(&sides, &arguments.source.build_options())?;
    let report = compared.report([&sides[0].label, &sides[1].label]);
    if arguments.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        println!("{text}");
    } else {
        print!("{}", text(&report, arguments.short));
    }
    Ok(match report.changes.is_empty() {
        true => Code::OK,
        false => DIFFERENT,
    })
}

fn text(report: &Report, short: bool) -> String {
    let mut out = String::new();
    for entry in &report.changes {
        out += &heading(entry);
        if !short {
            out += &indented(&entry.hunk);
        }
        if !entry.affects.is_empty() {
            out += &affects(entry);
        }
        if !entry.reachable {
            out += "    cannot be reached: no way from the start of the program leads there\n";
        }
        if !short {
            out.push('\n');
        }
    }
    for renamed in &report.renamed {
        out += &format!("renamed, no change: {} → {}\n", renamed.base, renamed.head);
    }
    for demanded in &report.demanded {
        let version = match demanded.by {
            Side::Base => &report.base,
            Side::Head => &report.head,
        };
        out += &format!("used by {version} only, no change: {}\n", demanded.name);
    }
    for name in &report.assumed {
        out += &format!("other code in a library, taken for the same: {name}\n");
    }
    if !report.quiet.is_empty() {
        out += "no effect on the code:\n";
        for entry in &report.quiet {
            let (base, head) = (place(&entry.base), place(&entry.head));
            out += &format!("  {:<23} {base} → {head}\n", entry.reason.text());
        }
    }
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    let changes = match report.changes.len() {
        0 => "no change".to_owned(),
        1 => "1 change".to_owned(),
        many => format!("{many} changes"),
    };
    let quiet = match report.quiet.len() {
        0 => String::new(),
        1 => ", 1 textual difference without effect on the code".to_owned(),
        many => format!(", {many} textual differences without effect on the code"),
    };
    out + &format!("{changes} from {} to {}{quiet}\n", report.base, report.head)
}

fn heading(entry: &Entry) -> String {
    let kind = match entry.kind {
        ChangeKind::Added => "added",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Modified => "modified",
    };
    let subject = match entry.subject {
        What::Code => format!("in {}", entry.name),
        What::Variable => format!("variable {}", entry.name),
        What::Function => format!("function {}", entry.name),
    };
    let places = match (&entry.base, &entry.head) {
        (Some(base), Some(head)) => format!("{} → {}", place(base), place(head)),
        (Some(only), None) | (None, Some(only)) => place(only),
        (None, None) => "at an unknown place".into(),
    };
    let number = entry.id.map_or(String::new(), |id| format!("{id}. "));
    format!("{number}{kind} {subject}: {places}\n")
}

fn place(range: &Range) -> String {
    let Range { file, first, last } = range;
    match first.cmp(last) {
        std::cmp::Ordering::Less => format!("{file}:{first}-{last}"),
        std::cmp::Ordering::Equal => format!("{file}:{first}"),
        std::cmp::Ordering::Greater => format!("{file}:{first} (before it)"),
    }
}

fn indented(hunk: &str) -> String {
    let mut out = String::new();
    let count = hunk.lines().count();
    for line in hunk.lines().take(LINES) {
        out += &format!("    {line}\n");
    }
    if count > LINES {
        out += &format!("    … {} more lines\n", count - LINES);
    }
    out
}

fn affects(entry: &Entry) -> String {
    let mut functions: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for affected in &entry.affects {
        let key = (affected.function.as_str(), affected.file.as_str());
        functions.entry(key).or_default().push(affected.line);
    }
    let mut out = String::new();
    for ((function, file), lines) in functions {
        let mut lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let more = lines.len().saturating_sub(12);
        lines.truncate(12);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        out += &format!(
            "    acts on {function} ({file}:{}{more})\n",
            lines.join(", ")
        );
    }
    out
}
