//! `changeling reach`: an input that executes a line or a function.

use super::run::load_seeds;
use crate::arrival::Arrival;
use crate::exit::Code;
use crate::failure::Failure;
use crate::functions::find_all;
use crate::inputs::InputOptions;
use crate::progress::Mode;
use crate::regions::{is_covered, source_name};
use crate::runner::{Occasion, Pair, Runner, Watcher};
use crate::settings::{SearchOptions, Settings, usage};
use crate::source::SourceOptions;
use crate::version::{Version, read_program};
use changeling_analysis::reach::run_before_main;
use changeling_analysis::{Graphs, Passage};
use changeling_build::{BuildOptions, Lines, Source};
use changeling_changes::{ChangeSet, Sources, compare};
use changeling_exec::Limits;
use changeling_explore::budget::{Cancel, Stopped};
use changeling_explore::guides::{Log, Survey, survey};
use changeling_explore::normalise::Normaliser;
use changeling_explore::outcome::Silence;
use changeling_explore::runner::TracedRun;
use changeling_explore::search::{Search, Subject};
use changeling_program::{FileId, Operation, Program, Site};
use changeling_report::files::{FileError, make_directory, write_atomically, write_fresh};
use changeling_report::results::InputView;
use changeling_report::{streams, view, wording};
use changeling_trace::input::Input;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(clap::Args)]
pub struct Arguments {
    /// FILE:LINE, or the name of a function
    target: String,
    /// The program: files, a directory, a cargo package or bitcode
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    search: SearchOptions,
}

/// Where the input goes if nothing is said.
const FOLDER: &str = ".changeling/reach";

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let mut options = arguments.search.clone();
    let folder = options.out.take().unwrap_or_else(|| FOLDER.into());
    let settings = Settings::resolve(options, arguments.input.clone(), arguments.source.clone())?;
    let source = settings.source.source(&arguments.paths);
    arguments.source.suits(&[&source])?;
    let mut build = settings.source.build_options();
    let mut program = program_of(&source, &build)?;
    let mut sites = target_sites(&program, &arguments.target);
    let line = line_target(&arguments.target);
    let is_line = line.is_some_and(|(file, line)| !file.is_empty() && !line.is_empty());
    if sites.is_err() && is_line {
        // Lines that merely lead on, or give a variable its value, have no code of their own, but for those who ask.
        build.cache = build.cache.join("lines");
        build.lines = Lines::Kept;
        program = program_of(&source, &build)?;
        sites = target_sites(&program, &arguments.target);
    }
    let sites = sites?;
    let prospect = Prospect::new(&program, &sites);
    if let Prospect::Never(reason) = &prospect {
        println!("not reached: {reason}, so no input can execute it");
        return Ok(NOT_REACHED);
    }
    let arrival = Arrival::new(&program, &sites);
    let version = || {
        let built = changeling_build::build(&source, &build)?;
        Version::trace(built, &build, &arrival.probes())
    };
    let versions = [version()?, version()?];
    let shape = settings.input.shape(versions[1].built.harness)?;
    let (inputs, warnings) = load_seeds(&settings, &shape)?;
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    if let Prospect::Always(reason) = &prospect {
        let input = inputs.first().unwrap_or(&shape);
        save(&folder, input)?;
        println!("reached by every input, {reason}: {}", folder.display());
        return Ok(Code::OK);
    }
    // One version is compared with itself: nothing has changed, and only the aim counts.
    let changes: ChangeSet = compare(&program, &program, &Sources::default());
    let surveyed = survey(&Survey {
        programs: [&program, &program],
        changes: &changes,
        sites: [&versions[0].sites, &versions[1].sites],
        choice: settings.guide.clone(),
        complete: false,
        lockstep: None,
        gauges: &[],
        aim: sites.clone(),
        seed: settings.random_seed,
        deadline: None,
    })
    .map_err(|error| usage(&error.to_string()))?;
    let log = surveyed.guide.log();
    let cancel = Cancel::default();
    let goal = Arc::new(Goal {
        blocks: arrival.blocks(&versions[1].sites),
        cancel: cancel.clone(),
        found: Mutex::default(),
    });
    let limits = Limits {
        time: settings.run_time,
        memory: settings.run_memory,
        ..Limits::default()
    };
    let tables = versions.each_ref().map(|version| version.sites.clone());
    let pair = Pair::new(
        versions,
        [source.clone(), source],
        build,
        limits,
        false,
        Mode::Silent,
    );
    let mut runner = Runner::start(Arc::new(pair), goal.clone(), &shape)?;
    runner.watch(&surveyed.watched);
    let search = Search {
        subject: Subject {
            shape: shape.clone(),
            sites: tables,
            normaliser: Normaliser::standard(),
        },
        inputs,
        guide: Box::new(surveyed.guide),
        settings: changeling_explore::search::Settings {
            seed: settings.random_seed,
            budget: settings.budget.clone(),
            solver: settings.solver.clone(),
            ..changeling_explore::search::Settings::default()
        },
        cancel,
        resume: None,
    };
    let (outcome, _) = search.run(vec![Box::new(runner)], &mut Silence);
    let runs = wording::plural(outcome.stats.runs, "run", "runs");
    print_log(&log);
    let found = goal.found.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(input) = &*found else {
        let reason = match outcome.stopped {
            Stopped::Exhausted if prospect == Prospect::Untold => {
                "it may run before `main`, of which no trace tells".to_owned()
            }
            Stopped::Exhausted if outcome.gaps.is_empty() => {
                "no input up to the bound executes it".to_owned()
            }
            Stopped::Exhausted => "nothing is left to try, but some values were given up".into(),
            Stopped::Failed => outcome
                .error
                .unwrap_or_else(|| "the program cannot be run".into()),
            _ => "the budget is spent".into(),
        };
        println!("not reached in {runs}: {reason}");
        return Ok(NOT_REACHED);
    };
    let saved = save(&folder, input);
    match saved {
        Ok(()) => println!("reached in {runs}: {}", folder.display()),
        Err(_) => println!("reached in {runs}"),
    }
    for stream in &InputView::from(input).streams {
        println!("  {} \"{}\"", stream.label, view::line(&stream.bytes, 60));
    }
    saved.map(|()| Code::OK)
}

/// The target was not executed.
const NOT_REACHED: Code = Code(1);

/// Ends the search when one of the blocks runs.
struct Goal {
    blocks: Vec<usize>,
    cancel: Cancel,
    found: Mutex<Option<Input>>,
}

impl Watcher for Goal {
    fn ran(&self, input: &Input, runs: &[TracedRun<'_>; 2], _: Occasion) {
        let trace = &runs[1].trace;
        let ran = |block: &usize| is_covered(trace, *block);
        if self.blocks.iter().any(ran) || Arrival::is_told(trace) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get_or_insert_with(|| input.clone());
            self.cancel.cancel();
        }
    }
}

fn print_log(log: &Log) {
    for step in log.steps() {
        let word = if step.left == 1 { "goal" } else { "goals" };
        println!("run {}: {} {word} left", step.run, step.left);
    }
}

/// In a folder that this command made; others may have files of the user.
const MARKER: &str = ".changeling-reach";

/// One file per stream, as seeds are given.
fn save(folder: &Path, input: &Input) -> Result<(), Failure> {
    let failed = |error: FileError| Failure {
        code: Code::UNWRITTEN,
        what: error.to_string(),
        place: None,
        help: Some("choose another directory with --out".into()),
        output: None,
    };
    let is_empty = std::fs::read_dir(folder).map_or(true, |mut there| there.next().is_none());
    make_directory(folder).map_err(failed)?;
    if is_empty {
        write_atomically(&folder.join(MARKER), b"format = 1\n").map_err(failed)?;
    }
    let ours = folder == Path::new(FOLDER) || folder.join(MARKER).is_file();
    for (number, stream) in input.streams.iter().enumerate() {
        let path = folder.join(streams::file_name(input, number));
        write_fresh(&path, &stream.bytes, ours).map_err(failed)?;
    }
    Ok(())
}

/// What can be said of code before anything is tried.
#[derive(Debug, PartialEq, Eq)]
enum Prospect {
    Open,
    /// It may run before `main`, where nothing is traced, or after that.
    Untold,
    Never(String),
    Always(String),
}

impl Prospect {
    fn new(program: &Program, sites: &[Site]) -> Prospect {
        let graphs = Graphs::new(program);
        let live = graphs.calls.live(program);
        let passage = Passage::new(program, &graphs);
        let of = |site: &Site| program.function_of(*site);
        let name = |site: &Site| &program.function(of(site)).name;
        if !sites.iter().any(|site| live[of(site).index()]) {
            let function = name(&sites[0]);
            return Prospect::Never(format!("{function} is never called"));
        }
        if !sites.iter().any(|site| passage.is_live(&graphs, *site)) {
            return Prospect::Never("no way leads there".into());
        }
        let before = run_before_main(program);
        let first = |site: &&Site| program.function(of(site)).first_site == **site;
        let early = sites.iter().filter(|site| before.contains(&of(site)));
        if let Some(site) = early.clone().find(first) {
            return Prospect::Always(format!("because {} runs before `main`", name(site)));
        }
        let early = graphs.calls.reachable(program, &before);
        match sites.iter().any(|site| early[of(site).index()]) {
            true => Prospect::Untold,
            false => Prospect::Open,
        }
    }
}

fn program_of(source: &Source, options: &BuildOptions) -> Result<Program, Failure> {
    let built = changeling_build::build(source, options)?;
    read_program(&built).map_err(|error| usage(&error.to_string()))
}

/// What stands where the source has it. Where values meet, one of the lines that they come from is told, wherever that is.
fn written(program: &Program) -> impl Iterator<Item = Site> {
    let meets = |site: Site| matches!(program.instruction(site).operation, Operation::Phi { .. });
    program.sites().filter(move |&site| !meets(site))
}

/// The instructions of a line, or the first ones of a function.
fn target_sites(program: &Program, target: &str) -> Result<Vec<Site>, Failure> {
    if let Some((file, number)) = line_target(target) {
        if file.is_empty() || number.is_empty() {
            let what = format!("`{target}` names no line");
            let help = Some("a line is FILE:LINE, as in main.c:12".into());
            return Err(Failure {
                help,
                ..usage(&what)
            });
        }
        // No file has more lines than that.
        let line = number.parse().unwrap_or(u32::MAX);
        let on_line = |site: &Site| {
            program.place(*site).is_some_and(|place| {
                place.line == line && is_named(&program.file(place.file).path(), file)
            })
        };
        let sites: Vec<Site> = written(program).filter(on_line).collect();
        if sites.is_empty() {
            return Err(no_line(program, target, file, line));
        }
        let own = |site: &Site| program.file(program.place(*site).expect("on a line").file);
        let names = sites.iter().map(|site| own(site).path());
        let names: BTreeSet<String> = names
            .map(|path| source_name(&path.display().to_string()))
            .collect();
        // A name may be the end of several; whole it is one.
        if names.len() > 1 && !names.contains(file) {
            let lines: Vec<String> = names.iter().map(|name| format!("{name}:{line}")).collect();
            return Err(Failure {
                help: Some(format!("give more of the path: {}", lines.join(", "))),
                ..usage(&format!("{} files are called {file}", names.len()))
            });
        }
        let whole = |site: &Site| {
            names.len() == 1 || source_name(&own(site).path().display().to_string()) == file
        };
        return Ok(sites.iter().copied().filter(whole).collect());
    }
    let ids = find_all(program, target)?;
    let first = |id| program.function(id).first_site;
    Ok(ids.into_iter().map(first).collect())
}

/// File and line of FILE:LINE. Names of functions may have colons, too, but two at a time, and do not end with a number.
fn line_target(target: &str) -> Option<(&str, &str)> {
    let (file, line) = target.rsplit_once(':')?;
    let is_number = line.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !file.ends_with(':')).then_some((file, line))
}

/// Sources are named from the root of the version, people name them from where they are.
fn is_named(source: &Path, file: &str) -> bool {
    let own = source_name(&source.display().to_string());
    source.ends_with(file) || Path::new(file).ends_with(own)
}

fn no_line(program: &Program, target: &str, file: &str, line: u32) -> Failure {
    let places = written(program).filter_map(|site| program.place(site));
    let own = places.filter(|place| is_named(&program.file(place.file).path(), file));
    let near = own
        .map(|place| place.line)
        .min_by_key(|own| own.abs_diff(line));
    match near {
        Some(near) => Failure {
            help: Some(format!("the nearest line with code is {file}:{near}")),
            ..usage(&format!("there is no code at {target}"))
        },
        None => Failure {
            help: Some(format!("files with code: {}", files(program).join(", "))),
            ..usage(&format!("no code of the program comes from {file}"))
        },
    }
}

/// Names of files that the program's code comes from; not all, if there are many.
fn files(program: &Program) -> Vec<String> {
    const MOST: usize = 8;
    let places = program.sites().filter_map(|site| program.place(site));
    let ids: BTreeSet<FileId> = places.map(|place| place.file).collect();
    let names = ids.into_iter().map(|id| program.file(id).path());
    let names = names.map(|path| source_name(&path.display().to_string()));
    let mut names: Vec<String> = names.collect::<BTreeSet<String>>().into_iter().collect();
    if names.len() > MOST {
        names.truncate(MOST);
        names.push("…".into());
    }
    names
}
