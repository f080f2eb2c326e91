//! `changeling run`: two versions in, replayed differences out.

use crate::conclusion::{Printing, Unbegun, print, print_end};
use crate::exit::Code;
use crate::failure::Failure;
use crate::golden::Golden;
use crate::guidance;
use crate::inputs::InputOptions;
use crate::preparation::{Prepared, prepare};
use crate::progress::Display;
use crate::recorder::Recorder;
use crate::regions::Regions;
use crate::runner::{Pair, Runner, side_name};
use crate::settings::{SearchOptions, Settings, usage};
use crate::signals::{cancel_on_signals, end_on_signals};
use crate::source::SourceOptions;
use crate::store::{self, About, Store};
use crate::version::{Version, absolute};
use crate::versions::{Named, VersionOptions, user_place};
use changeling_exec::Limits;
use changeling_explore::budget::Cancel;
use changeling_explore::normalise::{Normaliser, Places};
use changeling_explore::outcome::Saved;
use changeling_explore::runner::PairRunner;
use changeling_explore::search::{Search, Subject};
use changeling_report::accepted::Accepted;
use changeling_report::directory::{DirectoryError, OutputDirectory, old_path};
use changeling_report::files::read_text;
use changeling_report::results::{self, Bound, Results, Versions};
use changeling_report::{seeds, wording};
use changeling_trace::input::Input;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    versions: VersionOptions,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    search: SearchOptions,
    /// Go on where the last run in the output directory stopped
    #[arg(long, help_heading = "Search")]
    resume: bool,
    /// A third version that says what is right: a file or directory, or a revision; each
    /// difference is then a regression, a progression or an incomplete fix
    #[arg(long, value_name = "REV|PATH", help_heading = "Search")]
    golden: Option<String>,
    /// Say what would be explored, and explore nothing
    #[arg(long, help_heading = "Output")]
    list: bool,
    /// Print the verdict only
    #[arg(long, help_heading = "Output")]
    quiet: bool,
    /// Print what happens as JSON, one object per line
    #[arg(long, help_heading = "Output", conflicts_with = "quiet")]
    json_lines: bool,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let settings = Settings::resolve(
        arguments.search.clone(),
        arguments.input.clone(),
        arguments.source.clone(),
    )?;
    // Mistakes in the command line are told before anything is built.
    settings.input.shape(false)?;
    let said = &settings.said;
    let sides = arguments
        .versions
        .clone()
        .or(said)
        .sides(&settings.source)?;
    arguments
        .source
        .suits(&sides.each_ref().map(|side| &side.source))?;
    let places = Places::of_files(&[&sides[0].label, &sides[1].label]);
    let normaliser =
        Normaliser::new(&places, &settings.normalise).map_err(|error| usage(&error.to_string()))?;
    let printing = Printing::choose((arguments.quiet, arguments.json_lines), said);
    let mut display = Display::new(printing.mode());
    if arguments.list {
        end_on_signals();
        return list(&sides, &settings);
    }
    // They may be cases of the last run, whose directory is moved away below; and a mistake in them moves nothing.
    let seeds = [false, true].map(|harness| {
        let shape = settings.input.shape(harness)?;
        load_seeds(&settings, &shape)
    });
    let seeds = match seeds {
        [Err(failure), Err(_)] => return Err(failure),
        either => either,
    };
    let accepted =
        Accepted::read(&accepted_path(&settings.out)).map_err(|error| usage(&error.to_string()))?;
    let out = open_out(&settings.out, arguments.resume)?;
    if !out.path().join("results.json").is_file() {
        // Whenever this is stopped, there is something to read.
        let bound = Bound::of(&settings.input.shape(false)?);
        out.write_snapshot(&Results::new(bound, labels(&sides)))
            .map_err(cannot_write)?;
    }
    // A name that is wrong need not wait for builds.
    let golden = arguments.golden.as_ref().or(said.golden.as_ref());
    let golden = golden.map(|name| Golden::named(name, &settings.source));
    let golden = golden
        .transpose()
        .map_err(|failure| leave_report(&out, &sides, &settings, printing, failure))?;
    let cancel = Cancel::default();
    let mut unbegun = Results::new(Bound::of(&settings.input.shape(false)?), labels(&sides));
    unbegun.settings = settings.listed.clone();
    keep_found(&mut unbegun, &out);
    let unbegun = Unbegun::new(out.clone(), unbegun, printing);
    cancel_on_signals(&cancel, &unbegun);
    display.status("building both versions");
    let options = settings.source.build_options();
    let prepared = match prepare(&sides, &options, &settings.guide) {
        Ok(prepared) => prepared,
        Err((side, failure)) => {
            display.clear();
            let label = &sides[side.index()].label;
            let what = format!("{} ({}, {label})", failure.what, side_name(side));
            let failure = Failure { what, ..failure };
            return Err(leave_report(&out, &sides, &settings, printing, failure));
        }
    };
    let golden = match golden {
        None => None,
        Some(named) => {
            display.status("building the golden version");
            match Golden::prepare(named, &options) {
                Ok(golden) => Some(golden),
                Err(failure) => {
                    display.clear();
                    return Err(leave_report(&out, &sides, &settings, printing, failure));
                }
            }
        }
    };
    // From now on it is the search that is stopped.
    unbegun.is_over();
    let mut names: Vec<&str> = sides.iter().map(|side| side.label.as_str()).collect();
    names.extend(golden.as_ref().map(|golden| golden.label.as_str()));
    let for_golden = Normaliser::new(&Places::of_files(&names), &settings.normalise);
    let for_golden = for_golden.map_err(|error| usage(&error.to_string()))?;
    let job = Job {
        accepted,
        cancel,
        golden,
        for_golden,
        printing,
        resume: arguments.resume,
        settings: &settings,
        normaliser,
    };
    job.search(sides, prepared, out, display, seeds)
}

fn open_out(path: &Path, resume: bool) -> Result<OutputDirectory, Failure> {
    let opened = match resume {
        true => OutputDirectory::open(path),
        false => OutputDirectory::create(path),
    };
    let out = opened.map_err(|error| match error {
        DirectoryError::File(_) | DirectoryError::Case(_) => cannot_write(error),
        DirectoryError::Foreign(_) | DirectoryError::Busy(_) | DirectoryError::Dangling(..) => {
            Failure {
                code: Code::CANNOT_RUN,
                what: error.to_string(),
                place: None,
                help: Some("choose another directory with --out".into()),
                output: None,
            }
        }
    })?;
    if let Some(parent) = path
        .parent()
        .filter(|parent| parent.ends_with(".changeling"))
    {
        let ignore = parent.join(".gitignore");
        if !ignore.exists() {
            // Builds and reports do not belong into the repository, what was accepted does.
            let _ = std::fs::write(ignore, "*\n!accepted.toml\n");
        }
    }
    Ok(out)
}

/// Of versions that could not be built.
fn leave_report(
    out: &OutputDirectory,
    sides: &[Named; 2],
    settings: &Settings,
    printing: Printing,
    mut failure: Failure,
) -> Failure {
    let bound = settings
        .input
        .shape(false)
        .map(|shape| Bound::of(&shape))
        .unwrap_or_default();
    let mut results = Results::new(bound, labels(sides));
    results.settings = settings.listed.clone();
    keep_found(&mut results, out);
    results.verdict = results::Verdict::CouldNotRun;
    results.stopped = results::Stopped::Error;
    let mut error = failure.what.clone();
    for text in failure.help.iter().chain(&failure.output) {
        error.push_str(&format!("\n{text}"));
    }
    results.error = Some(error);
    if let Err(error) = out.write_reports(&results) {
        failure.what = format!("{}; and {error}", failure.what);
    }
    print_end(printing, &results, out.path());
    failure
}

/// With --resume there may be some: what was found stays found.
fn keep_found(results: &mut Results, out: &OutputDirectory) {
    let earlier = read_text(&out.path().join("results.json")).ok();
    if let Some(earlier) = earlier.and_then(|text| Results::from_json(&text).ok()) {
        results.differences = earlier.differences;
    }
}

fn labels(sides: &[Named; 2]) -> Versions {
    let version = |side: &Named| results::Version {
        label: side.label.clone(),
        commit: side.commit.clone(),
        ..results::Version::default()
    };
    Versions {
        base: version(&sides[0]),
        head: version(&sides[1]),
        ..Versions::default()
    }
}

/// What would be explored.
fn list(sides: &[Named; 2], settings: &Settings) -> Result<Code, Failure> {
    let options = settings.source.build_options();
    let prepared = prepare(sides, &options, &settings.guide).map_err(|(_, f)| f)?;
    let versions = &prepared.versions;
    let shape = settings.input.shape(versions[1].built.harness)?;
    println!("base: {}", sides[0].label);
    println!("head: {}", sides[1].label);
    println!("inputs: {}", Bound::of(&shape).text);
    let seeds = load_seeds(settings, &shape)?.0.len().max(1);
    println!("starts from: {}", wording::count(seeds as u64, "input"));
    match prepared.compared {
        Err(unknown) => println!("changes: unknown ({})", unknown.reason()),
        Ok((regions, _)) => {
            println!("changes: {}", regions.changes.len());
            for change in &regions.changes {
                println!("  {} in {}", wording::change_place(change), change.function);
            }
        }
    }
    for (name, value) in &settings.listed {
        if let Some(text) = wording::setting(name, value) {
            println!("{name}: {text}");
        }
    }
    Ok(Code::OK)
}

/// The inputs to start from, and what is to be said about them.
type Seeds = (Vec<Input>, Vec<String>);

pub fn load_seeds(settings: &Settings, shape: &Input) -> Result<Seeds, Failure> {
    let mut inputs = Vec::new();
    let mut warnings = Vec::new();
    for path in &settings.seeds {
        let found = seeds::load(path, shape).map_err(|error| Failure {
            code: Code::USAGE,
            what: format!("--seed {}: {error}", path.display()),
            place: None,
            help: None,
            output: None,
        })?;
        for seed in found {
            if seed.cut {
                let name = seed.path.display();
                warnings.push(format!(
                    "the seed {name} does not fit into the bound and was cut"
                ));
            }
            if !seed.stray.is_empty() {
                warnings.push(format!(
                    "no input of the bound belongs to {} of the seed {}, which was left out",
                    seed.stray.join(", "),
                    seed.path.display()
                ));
            }
            inputs.push(seed.input);
        }
    }
    Ok((inputs, warnings))
}

struct Job<'a> {
    accepted: Accepted,
    cancel: Cancel,
    golden: Option<Golden>,
    printing: Printing,
    resume: bool,
    settings: &'a Settings,
    normaliser: Normaliser,
    /// Knows the name of the golden version, too.
    for_golden: Normaliser,
}

impl Job<'_> {
    fn search(
        self,
        sides: [Named; 2],
        prepared: Prepared,
        out: OutputDirectory,
        mut display: Display,
        [for_program, for_harness]: [Result<Seeds, Failure>; 2],
    ) -> Result<Code, Failure> {
        let settings = self.settings;
        let Prepared {
            versions,
            compared,
            probed,
        } = prepared;
        let shape = settings.input.shape(versions[1].built.harness)?;
        let (mut inputs, mut warnings) = match versions[1].built.harness {
            true => for_harness?,
            false => for_program?,
        };
        if versions[0].built.harness != versions[1].built.harness {
            return Err(usage(
                "one version is a harness, the other a program with `main`",
            ));
        }
        if let Some(golden) = &self.golden {
            golden.fits(versions[1].built.harness)?;
        }
        display.status("looking at both versions");
        let (regions, compared) = match compared {
            Ok((regions, compared)) => (regions, Some(compared)),
            Err(unknown) => {
                warnings.push(format!(
                    "{}: both are compared by what they do, the search goes without guides, and reports name no changes",
                    unknown.reason()
                ));
                (Regions::default(), None)
            }
        };
        let regions = Arc::new(regions);
        let mut guidance = guidance::prepare(settings, &versions, compared, probed, &mut warnings);
        regions.are_unreachable(std::mem::take(&mut guidance.unreachable));
        for version in &versions {
            for missing in &version.built.missing {
                warnings.push(format!(
                    "not traced: {} ({})",
                    missing.object, missing.reason
                ));
            }
        }
        warnings.sort();
        warnings.dedup();
        let mut results = Results::new(Bound::of(&shape), described(&sides, &versions));
        results.versions.golden = self.golden.as_ref().map(Golden::described);
        results.versions.build = settings.source.recipe();
        results.settings = settings.listed.clone();
        results.changes = regions.counted();
        let keys = versions.each_ref().map(|version| version.built.key.clone());
        let (out, resume) = self.earlier(out, &shape, &keys, &mut inputs, &mut warnings)?;
        results.warnings = warnings;
        // Until the search has begun, what was found before is all there is.
        if !out.path().join("results.json").is_file() || resume.is_none() {
            out.write_snapshot(&results).map_err(cannot_write)?;
        }
        let mut store = Store::open(&out, &shape, keys).map_err(cannot_write)?;
        if let Some(saved) = &resume {
            store.complete(&saved.inputs);
        }
        let tables = versions.each_ref().map(|version| version.sites.clone());
        let limits = Limits {
            time: settings.run_time,
            memory: settings.run_memory,
            ..Limits::default()
        };
        let sources = sides.map(|side| side.source);
        let build = settings.source.build_options();
        let mode = display.mode();
        let pair = Pair::new(versions, sources, build, limits, settings.sanitize, mode);
        let pair = Arc::new(pair);
        display.status("starting both versions");
        let mut runners: Vec<Box<dyn PairRunner>> = Vec::new();
        for _ in 0..settings.jobs {
            match Runner::start(pair.clone(), regions.clone(), &shape) {
                Ok(mut runner) => {
                    runner.watch(&guidance.watched);
                    runners.push(Box::new(runner));
                }
                Err(error) if runners.is_empty() => {
                    display.clear();
                    let failure = Failure::from(error);
                    results.verdict = results::Verdict::CouldNotRun;
                    results.stopped = results::Stopped::Error;
                    results.error = Some(failure.what.clone());
                    out.write_reports(&results).map_err(cannot_write)?;
                    print_end(self.printing, &results, out.path());
                    return Err(failure);
                }
                // Fewer workers are better than none.
                Err(error) => pair.note(format!("only {} workers: {error}", runners.len())),
            }
        }
        let known = resume.as_ref().map(|saved| saved.differences.clone());
        let known = known.unwrap_or_default();
        let cancel = self.cancel.clone();
        let search = Search {
            subject: Subject {
                shape,
                sites: tables,
                normaliser: self.normaliser.clone(),
            },
            inputs,
            guide: guidance.guide,
            settings: changeling_explore::search::Settings {
                seed: settings.random_seed,
                budget: settings.budget.clone(),
                solver: settings.solver.clone(),
                ..changeling_explore::search::Settings::default()
            },
            cancel: cancel.clone(),
            resume,
        };
        let mut recorder = Recorder::new(
            out,
            results,
            regions,
            self.accepted.clone(),
            display,
            store,
            pair.clone(),
        );
        recorder.begin(cancel, &known);
        let (mut outcome, _) = search.run(runners, &mut recorder);
        if let Some(golden) = &self.golden {
            match golden.judge(&mut outcome, &pair, &self.for_golden) {
                Ok(judged) => recorder.judged = judged,
                Err(failure) => pair.note(format!("not classified: {}", failure.what)),
            }
        }
        enter_again(&pair, &recorder.regions, &outcome.differences);
        let notes = std::mem::take(&mut *pair.notes.lock().unwrap_or_else(PoisonError::into_inner));
        let built = pair.build_seconds();
        let concluded = recorder.conclude(&outcome, &pair.versions, built, notes);
        print(self.printing, &concluded);
        match concluded.unwritten {
            None => Ok(Code(concluded.results.exit_code())),
            Some(what) => Err(cannot_write(what)),
        }
    }

    /// What there is to go on with. Cases of other versions stay with the run that found them.
    fn earlier(
        &self,
        out: OutputDirectory,
        shape: &Input,
        keys: &[String; 2],
        inputs: &mut Vec<Input>,
        warnings: &mut Vec<String>,
    ) -> Result<(OutputDirectory, Option<Saved>), Failure> {
        if !self.resume {
            return Ok((out, None));
        }
        match store::read(out.path(), shape, keys).map_err(|error| usage(&error))? {
            None => {
                warnings.push("there is no earlier run to resume; this one starts anew".into());
                Ok((out, None))
            }
            Some(earlier) => {
                let used = wording::count(earlier.saved.inputs.len() as u64, "input");
                let file = out.path().join(store::FILE);
                if earlier.about == About::Same {
                    if earlier.damaged > 0 {
                        let found = earlier.saved.differences.len() as u64;
                        warnings.push(format!(
                            "{} is damaged: {} of it cannot be read (the last one may have been cut short when the \
                             earlier run was killed); what is left of it is used: {used} and {}",
                            file.display(),
                            wording::count(earlier.damaged as u64, "line"),
                            wording::count(found, "difference"),
                        ));
                    }
                    return Ok((out, Some(earlier.saved)));
                }
                let path = out.path().to_owned();
                drop(out);
                let old = old_path(&path);
                warnings.push(match earlier.about {
                    About::Unknown => format!(
                        "{} is damaged, so that nobody can tell which versions it was about; the earlier run is kept \
                         in {}, and of it only {used} can be used",
                        file.display(),
                        old.display()
                    ),
                    _ => format!(
                        "the versions have changed since the earlier run, which is kept in {}: only its inputs are used",
                        old.display()
                    ),
                });
                // They are new to these versions.
                inputs.extend(earlier.saved.inputs);
                Ok((open_out(&path, false)?, None))
            }
        }
    }
}

fn described(sides: &[Named; 2], versions: &[Version; 2]) -> Versions {
    let mut described = labels(sides);
    let places = [&mut described.base, &mut described.head].into_iter();
    let sources = sides.each_ref().map(|side| &side.source);
    for ((place, version), source) in places.zip(versions).zip(sources) {
        place.binary = absolute(&version.built.plain);
        place.root = absolute(&version.built.source_root);
        place.place = user_place(source, &version.built.source_root);
    }
    described
}

/// Small inputs were run on plain builds only; which changes they enter is seen
/// on traced ones.
fn enter_again(
    pair: &Arc<Pair>,
    regions: &Arc<Regions>,
    found: &[changeling_explore::outcome::Difference],
) {
    let mut runner = None;
    for difference in found
        .iter()
        .filter(|difference| difference.input != difference.original)
    {
        if runner.is_none() {
            runner = Runner::start(pair.clone(), regions.clone(), &difference.input).ok();
        }
        let Some(runner) = &mut runner else { return };
        // Without it, the changes of the input as it was found are shown.
        let _ = runner.trial(&difference.input);
    }
}

/// `accepted.toml` is beside the output directory.
pub fn accepted_path(out: &Path) -> PathBuf {
    let parent = out
        .parent()
        .filter(|parent| parent.ends_with(".changeling"));
    parent
        .unwrap_or(Path::new(".changeling"))
        .join("accepted.toml")
}

fn cannot_write(error: impl std::fmt::Display) -> Failure {
    Failure {
        code: Code::UNWRITTEN,
        what: error.to_string(),
        place: None,
        help: Some(
            "make room, or see to it that the directory can be written; \
             then go on with --resume, or choose another directory with --out"
                .into(),
        ),
        output: None,
    }
}
