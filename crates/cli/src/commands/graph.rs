//! `changeling graph`: a graph of a function, or the order in which runs come
//! by the changes, as DOT and SVG.

use crate::comparison::{Compared, file_name, load};
use crate::exit::Code;
use crate::failure::Failure;
use crate::functions::find;
use crate::source::SourceOptions;
use crate::versions::VersionOptions;
use changeling_analysis::drawing::Drawing;
use changeling_analysis::{Graphs, Memory, dot};
use changeling_build::{Lines, Source};
use changeling_changes::{ChangeSequences, Version};
use changeling_program::{Place, Program};
use changeling_report::files::{FileError, is_free, read_text, write_atomically};
use changeling_report::wording;
use clap::builder::NonEmptyStringValueParser;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// VERSION FUNCTION, or with --csg OLD NEW
    #[arg(num_args = 0..=2, value_name = "VERSION FUNCTION")]
    targets: Vec<String>,
    /// The version is this revision of the git repository here
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// The older version is this revision (for --csg)
    #[arg(long, value_name = "REV", conflicts_with = "revision")]
    base: Option<String>,
    /// The newer version is this revision; without it, the work tree (for --csg)
    #[arg(long, value_name = "REV", requires = "base")]
    head: Option<String>,
    #[command(flatten)]
    kind: Kind,
    /// With --csg: draw the older version's graph instead of the newer one's
    #[arg(long, requires = "csg")]
    older: bool,
    /// Write to NAME.dot and NAME.svg; with `-` the DOT text goes to standard output
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    out: Option<String>,
    #[command(flatten)]
    source: SourceOptions,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Kind {
    /// Control flow
    #[arg(long)]
    cfg: bool,
    /// Control dependence: which branches decide what runs
    #[arg(long)]
    cdg: bool,
    /// Program dependence: control, and what flows through variables
    #[arg(long)]
    pdg: bool,
    /// Change sequences: in which orders runs come by the changes
    #[arg(long)]
    csg: bool,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    suits(arguments)?;
    let (drawing, name) = match arguments.kind.csg {
        true => changes(arguments)?,
        false => function(arguments)?,
    };
    let dot = drawing.dot();
    if arguments.out.as_deref() == Some("-") {
        print!("{dot}");
        return Ok(Code::OK);
    }
    let name = arguments.out.clone().unwrap_or(name);
    if name.ends_with('/') || Path::new(&name).is_dir() {
        return Err(Failure {
            help: Some(
                "--out NAME writes NAME.dot and NAME.svg: give a name in the directory".into(),
            ),
            ..usage(&format!("--out {name}: that is a directory"))
        });
    }
    let size = format!(
        "{}, {}",
        wording::plural(drawing.boxes.len() as u64, "box", "boxes"),
        wording::plural(drawing.arrows.len() as u64, "arrow", "arrows")
    );
    let svg = drawing.svg();
    let texts = [("dot", Some(&dot)), ("svg", svg.as_ref())];
    let texts = texts.map(|(kind, text)| (PathBuf::from(format!("{name}.{kind}")), text));
    let ours = read_text(&texts[0].0).is_ok_and(|text| Drawing::made(&text));
    for (path, text) in &texts {
        let bytes = text.map_or(&[][..], |text| text.as_bytes());
        if text.is_some() {
            is_free(path, bytes, ours).map_err(cannot_write)?;
        }
    }
    for (path, text) in &texts {
        if let Some(text) = text {
            write_atomically(path, text.as_bytes()).map_err(cannot_write)?;
        }
    }
    match svg {
        Some(_) => println!("{name}.dot and {name}.svg: {size}"),
        None => println!("{name}.dot: {size}; too large to be drawn, so there is no {name}.svg"),
    }
    Ok(Code::OK)
}

fn cannot_write(error: FileError) -> Failure {
    Failure {
        code: Code::UNWRITTEN,
        what: error.to_string(),
        place: None,
        help: Some("choose another name with --out".into()),
        output: None,
    }
}

/// Options for graphs of another kind would be passed over in silence.
fn suits(arguments: &Arguments) -> Result<(), Failure> {
    let kind = &arguments.kind;
    let stray = [
        ("--revision", kind.csg && arguments.revision.is_some()),
        ("--base", !kind.csg && arguments.base.is_some()),
        ("--older", !kind.csg && arguments.older),
    ];
    match stray.into_iter().find(|(_, given)| *given) {
        Some((name, _)) if kind.csg => Err(usage(&format!("{name} does not go with --csg"))),
        Some((name, _)) => Err(usage(&format!("{name} goes with --csg only"))),
        None => Ok(()),
    }
}

/// A graph of one function, and the name for its files.
fn function(arguments: &Arguments) -> Result<(Drawing, String), Failure> {
    let options = &arguments.source;
    let (source, name): (Source, &str) = match (&arguments.revision, &arguments.targets[..]) {
        (Some(revision), [name]) => (options.revision(".".into(), revision.clone()), name),
        (None, [version, name]) => (options.source(&[PathBuf::from(version)]), name),
        _ => return Err(usage("a version and a function are needed")),
    };
    let mut build = options.build_options();
    // Statements are drawn, also those of which the search needs nothing.
    build.cache = build.cache.join("drawn");
    build.lines = Lines::Drawn;
    let (program, texts) = load(&source, &build)?;
    let id = find(&program, name)?;
    let text = text_of(&program, &texts);
    let graphs = Graphs::new(&program);
    let (drawing, kind) = if arguments.kind.cfg {
        (dot::cfg(&program, &graphs, id, &text), "cfg")
    } else if arguments.kind.cdg {
        (dot::cdg(&program, &graphs, id, &text), "cdg")
    } else {
        let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
        (dot::pdg(&program, &graphs, &memory, id, &text), "pdg")
    };
    let name = format!("{}.{kind}", file_safe(&program.function(id).name));
    Ok((drawing, name))
}

fn changes(arguments: &Arguments) -> Result<(Drawing, String), Failure> {
    let path = |at: usize| arguments.targets.get(at).map(PathBuf::from);
    let versions = VersionOptions {
        old: path(0),
        new: path(1),
        base: arguments.base.clone(),
        head: arguments.head.clone(),
        base_dir: None,
        head_dir: None,
    };
    if versions.old.is_some() != versions.new.is_some() {
        return Err(usage("a change-sequence graph needs two versions"));
    }
    if versions.old.is_some() && versions.base.is_some() {
        return Err(usage("give OLD and NEW, or --base and --head, not both"));
    }
    let sides = versions.sides(&arguments.source)?;
    let compared = Compared::new(&sides, &arguments.source.build_options())?;
    if compared.set.changes.is_empty() {
        eprintln!("note: nothing changed, so there is no change to come by");
    }
    let (side, version) = match arguments.older {
        true => (0, Version::Base),
        false => (1, Version::Head),
    };
    let program = &compared.programs[side];
    let graphs = Graphs::new(program);
    let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
    let found = ChangeSequences::new(program, &graphs, &memory, &compared.set, version);
    let text = text_of(program, &compared.texts[side]);
    let number = |change: u32| (change + 1).to_string();
    let drawing = dot::csg(program, &found.graph, &number, &text);
    for point in &found.graph.unreachable {
        let place = program.place(point.site);
        let place = place.map_or("an unknown place".into(), |place| {
            format!("{}:{}", file_name(program, place), place.line)
        });
        let list: Vec<String> = point.changes.iter().map(|&n| number(n)).collect();
        eprintln!(
            "note: no run can come to {place} (change {})",
            list.join(", ")
        );
    }
    Ok((drawing, "changes.csg".into()))
}

fn text_of<'a>(
    program: &'a Program,
    texts: &'a BTreeMap<String, String>,
) -> impl Fn(Place) -> Option<String> + 'a {
    let lines: BTreeMap<&str, Vec<&str>> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.lines().collect()))
        .collect();
    move |place| {
        let lines = lines.get(file_name(program, place).as_str())?;
        let line = lines.get(place.line.checked_sub(1)? as usize)?;
        Some((*line).to_owned())
    }
}

fn file_safe(name: &str) -> String {
    let bare = name.split('(').next().unwrap_or(name);
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = bare
        .chars()
        .map(|c| if safe(c) { c } else { '_' })
        .collect();
    let short: String = name.chars().take(80).collect();
    match Path::new(&short).file_name() {
        Some(_) => short,
        None => "function".into(),
    }
}

fn usage(what: &str) -> Failure {
    Failure {
        code: Code::USAGE,
        what: what.into(),
        place: None,
        help: Some(
            "changeling graph VERSION FUNCTION --cfg|--cdg|--pdg, or changeling graph OLD NEW --csg".into(),
        ),
        output: None,
    }
}
