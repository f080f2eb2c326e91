//! `changeling trace`: one run, and what it says about its input.

use crate::check::{Check, quote};
use crate::exit::Code;
use crate::failure::Failure;
use crate::inputs::InputOptions;
use crate::share::Share;
use crate::source::SourceOptions;
use crate::version::Version;
use crate::view::traced_run;
use changeling_exec::{Capacities, Limits, Plain, Traced};
use changeling_explore::Side;
use changeling_explore::path::{self, Path, Test, TestKind};
use changeling_explore::runner::TracedRun;
use changeling_solver::{Arena, Assignment, Bounds, Expr, ImportMap, Query, Var};
use changeling_trace::input::{Input, StreamKind};
use changeling_trace::sites::SiteTable;
use changeling_trace::{Event, EventKind, LossReason};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Files, a directory, a cargo package, bitcode, or a compilation database
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    source: SourceOptions,
    /// Print the path condition as an SMT-LIB 2 script
    #[arg(long, conflicts_with = "json")]
    smt2: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Also compare with the plain run, evaluate every expression and follow every flip
    #[arg(long)]
    check: bool,
    /// Follow at most this many flips
    #[arg(long, default_value_t = 200)]
    flips: usize,
    /// Seconds that the run may take
    #[arg(long, default_value_t = 5.0)]
    run_time: f64,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let version = Version::prepare(
        &arguments.source.source(&arguments.paths),
        &arguments.source.build_options(),
    )?;
    let input = arguments.input.input(version.built.harness)?;
    let limits = Limits {
        time: Duration::from_secs_f64(arguments.run_time.clamp(0.01, 86_400.0)),
        ..Limits::default()
    };
    let mut traced = Traced::start(
        &version.traced,
        &input,
        limits.clone(),
        Capacities::default(),
    )?;
    let mut arena = Arena::new();
    let mut check = Check::default();
    let start = Instant::now();
    let (observation, trace) = traced.run(&input)?;
    let seconds = start.elapsed().as_secs_f64();
    let run = traced_run(observation, trace);
    let path = path::read(&mut arena, Side::Head, &run, &version.sites).map_err(unreadable)?;
    let sites = &version.sites;
    if arguments.check {
        check.evaluate(&mut arena, &path, &run.trace, &input);
    }
    let roots: Vec<_> = run
        .trace
        .events
        .iter()
        .map(|event| event.label)
        .filter(|label| *label != 0)
        .collect();
    let map = arena
        .import(run.trace.nodes, run.trace.tables, &roots)
        .map_err(unreadable)?;
    let always = arena.bool(true);
    let report = Report {
        arena: &arena,
        map: &map,
        always,
        path: &path,
        run: &run,
        sites,
        input: &input,
        version: &version,
        seconds,
    };
    if arguments.smt2 {
        print!("{}", report.smt2()?);
    } else if !arguments.json {
        report.print();
    }
    let mut document = report.json();
    let observation = run.observation.clone();
    if arguments.check {
        let mut plain = Plain::new(&version.built.plain, limits)?;
        check.compare(&mut plain, &input, &observation)?;
        check.flip(
            &mut arena,
            &path,
            &mut traced,
            sites,
            &input,
            arguments.flips,
        )?;
        document["check"] = json!(check);
        if !arguments.json && !arguments.smt2 {
            print_check(&check);
        }
    }
    if arguments.json {
        println!("{document:#}");
    }
    Ok(if check.passed() {
        Code::OK
    } else {
        Code::UNTRUE
    })
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure {
        code: Code::UNTRUE,
        what: format!("the trace cannot be read: {error}"),
        place: None,
        help: Some("the program may have overwritten its own memory; try a sanitizer".into()),
        output: None,
    }
}

struct Report<'a> {
    arena: &'a Arena,
    /// All expressions that events name.
    map: &'a ImportMap,
    /// The condition that always holds.
    always: Expr,
    path: &'a Path,
    run: &'a TracedRun<'a>,
    sites: &'a SiteTable,
    input: &'a Input,
    version: &'a Version,
    /// How long the run took.
    seconds: f64,
}

/// What was given up at one place.
struct Loss {
    place: String,
    callee: String,
    reason: LossReason,
    times: usize,
    bytes: Vec<Var>,
}

impl Report<'_> {
    fn print(&self) {
        let observation = &self.run.observation;
        println!("ended with {}", observation.end);
        println!("stdout {}", quote(&observation.stdout));
        if !observation.stderr.is_empty() {
            println!("stderr {}", quote(&observation.stderr));
        }
        println!("\npath condition ({} tests)", self.path.tests.len());
        for test in &self.path.tests {
            println!(
                "  {}  {}  {}",
                self.place(test),
                self.text(test.held),
                self.way(test)
            );
        }
        let outputs = self.outputs();
        println!("\nsymbolic output ({})", outputs.len());
        for output in &outputs {
            let [stream, offset, format, expression] =
                ["stream", "offset", "format", "expression"].map(|key| &output[key]);
            let text = |value: &Value| value.as_str().map_or(value.to_string(), String::from);
            println!(
                "  {} at {}: {} of {}",
                text(stream),
                text(offset),
                text(format),
                text(expression)
            );
        }
        let losses = self.losses();
        println!("\nlost ({})", losses.len());
        for loss in &losses {
            let call = if loss.callee.is_empty() {
                String::new()
            } else {
                format!(" in the call of {}", loss.callee)
            };
            let bytes: Vec<String> = loss.bytes.iter().map(|var| self.variable(*var)).collect();
            println!(
                "  {}: {}{call}, {} times; depends on {}",
                loss.place,
                loss.reason.text(),
                loss.times,
                shortened(&bytes)
            );
        }
        for missing in &self.version.built.missing {
            println!("  not traced: {} ({})", missing.object, missing.reason);
        }
        let share = self.share();
        println!(
            "\n{} of {} input bytes followed to a branch or the output, {} of them to the end",
            share.followed, share.bytes, share.kept
        );
        println!(
            "{} nodes, {} events, {} of {} blocks executed",
            self.run.trace.nodes.len().saturating_sub(1),
            self.run.trace.events.len(),
            self.run
                .trace
                .coverage
                .iter()
                .filter(|byte| **byte != 0)
                .count(),
            self.sites.blocks.len()
        );
    }

    fn place(&self, test: &Test) -> String {
        self.sites.place(if test.caller != 0 {
            test.caller
        } else {
            test.site
        })
    }

    fn way(&self, test: &Test) -> String {
        match test.kind {
            TestKind::Branch if test.outcome == 1 => "[taken]".into(),
            TestKind::Branch => "[not taken]".into(),
            TestKind::Switch => "[case]".into(),
            TestKind::Guard(reason) => format!("[{}]", reason.text()),
            TestKind::Fixed(reason) => format!("[fixed: {}]", reason.text()),
        }
    }

    fn text(&self, expr: Expr) -> String {
        self.arena
            .display_with(expr, &|stream| self.stream_name(stream))
    }

    fn stream_name(&self, number: u32) -> String {
        let Some(stream) = self.input.streams.get(number as usize) else {
            return format!("stream{number}");
        };
        match stream.kind {
            StreamKind::Stdin => "stdin".into(),
            StreamKind::Harness => "data".into(),
            StreamKind::File | StreamKind::Environment => stream.name.clone(),
            StreamKind::Argument => {
                let place = self.input.arguments.iter().position(|argument| {
                    *argument == changeling_trace::input::Argument::Symbolic(number as usize)
                });
                format!("arg{}", place.map_or(0, |place| place + 1))
            }
        }
    }

    fn variable(&self, var: Var) -> String {
        match var {
            Var::Byte { stream, offset } => format!("{}[{offset}]", self.stream_name(stream)),
            Var::Length { stream } => format!("len({})", self.stream_name(stream)),
        }
    }

    fn share(&self) -> Share {
        let lengths: Vec<usize> = (self.input.streams.iter())
            .map(|stream| stream.bytes.len())
            .collect();
        let outputs = self
            .output_events()
            .filter_map(|event| self.map.get(event.label));
        let lost = self.losses().into_iter().flat_map(|loss| loss.bytes);
        Share::of(self.arena, self.path, outputs, lost, &lengths)
    }

    fn output_events(&self) -> impl Iterator<Item = &Event> {
        self.run.trace.events.iter().filter(|event| {
            matches!(
                EventKind::from_u8(event.kind),
                Some(EventKind::OutputByte | EventKind::OutputValue)
            ) || (event.kind == EventKind::Observe as u8 && event.label != 0)
        })
    }

    fn outputs(&self) -> Vec<Value> {
        let trace = &self.run.trace;
        self.output_events()
            .filter_map(|event| {
                let expression = self.text(self.map.get(event.label)?);
                let string = |at: u32| {
                    let rest = trace.strings.get(at as usize..).unwrap_or_default();
                    let end = rest
                        .iter()
                        .position(|byte| *byte == 0)
                        .unwrap_or(rest.len());
                    String::from_utf8_lossy(&rest[..end]).into_owned()
                };
                let (format, stream) = match EventKind::from_u8(event.kind)? {
                    EventKind::OutputByte => ("byte".to_string(), event.flags),
                    EventKind::Observe => (format!("observe {}", string(event.aux)), 0),
                    _ => (string(event.aux), event.flags),
                };
                let stream = match (stream, event.kind == EventKind::Observe as u8) {
                    (_, true) => "observed".to_string(),
                    (1, _) => "stdout".to_string(),
                    (2, _) => "stderr".to_string(),
                    (changeling_trace::event::EXIT_STATUS, _) => "exit status".to_string(),
                    (other, _) => format!("descriptor {other}"),
                };
                Some(json!({
                    "stream": stream,
                    "offset": event.value,
                    "format": format,
                    "expression": expression,
                    "place": self.sites.place(event.site),
                }))
            })
            .collect()
    }

    fn losses(&self) -> Vec<Loss> {
        let mut found: BTreeMap<(u32, u32), Loss> = BTreeMap::new();
        for event in self.run.trace.events {
            let kind = EventKind::from_u8(event.kind);
            if !matches!(kind, Some(EventKind::Concretize | EventKind::Loss)) {
                continue;
            }
            let Some(reason) = LossReason::from_u32(event.aux) else {
                continue;
            };
            let loss = found
                .entry((event.site, event.aux))
                .or_insert_with(|| Loss {
                    place: self.sites.place(event.site),
                    callee: self
                        .sites
                        .site(event.site)
                        .map(|site| site.callee.clone())
                        .unwrap_or_default(),
                    reason,
                    times: 0,
                    bytes: Vec::new(),
                });
            loss.times += 1;
            if let Some(expr) = self.map.get(event.label) {
                loss.bytes.extend(self.arena.variables(expr));
                loss.bytes.sort_unstable();
                loss.bytes.dedup();
            }
        }
        found.into_values().collect()
    }

    fn json(&self) -> Value {
        let observation = &self.run.observation;
        let tests: Vec<Value> = self
            .path
            .tests
            .iter()
            .map(|test| {
                json!({
                    "place": self.place(test),
                    "site": test.site,
                    "condition": self.text(test.held),
                    "kind": match test.kind {
                        TestKind::Branch => "branch",
                        TestKind::Switch => "switch",
                        TestKind::Guard(_) => "guard",
                        TestKind::Fixed(_) => "fixed",
                    },
                    "outcome": test.outcome,
                })
            })
            .collect();
        let losses: Vec<Value> = self
            .losses()
            .iter()
            .map(|loss| {
                json!({
                    "place": loss.place,
                    "call": loss.callee,
                    "reason": loss.reason.text(),
                    "times": loss.times,
                    "input": loss.bytes.iter().map(|var| self.variable(*var)).collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({
            "format": 1,
            "end": observation.end.to_string(),
            "stdout": observation.stdout.escape_ascii().to_string(),
            "stderr": observation.stderr.escape_ascii().to_string(),
            "bound": InputOptions::describe(self.input),
            "tests": tests,
            "outputs": self.outputs(),
            "losses": losses,
            "input": self.share(),
            "seconds": self.seconds,
            "nodes": self.run.trace.nodes.len().saturating_sub(1),
            "events": self.run.trace.events.len(),
            "missing": self.version.built.missing.iter().map(|missing| format!("{}: {}", missing.object, missing.reason)).collect::<Vec<_>>(),
        })
    }

    fn smt2(&self) -> Result<String, Failure> {
        let prefix: Vec<Expr> = self.path.tests.iter().map(|test| test.held).collect();
        let goal = self.always;
        let hint = Assignment::from_input(self.input);
        let bounds = Bounds::from_input(self.input);
        let query = Query {
            prefix: &prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        self.arena.smt2(&query).map_err(|error| Failure {
            code: Code::CANNOT_RUN,
            what: format!("the path condition cannot be written as SMT-LIB: {error:?}"),
            place: None,
            help: None,
            output: None,
        })
    }
}

fn shortened(names: &[String]) -> String {
    const MOST: usize = 12;
    match names.len() {
        0 => "no input".into(),
        n if n <= MOST => names.join(" "),
        n => format!("{} … ({n} in all)", names[..MOST].join(" ")),
    }
}

fn print_check(check: &Check) {
    println!("\ncheck");
    println!("  {} expressions evaluated", check.nodes);
    println!(
        "  {} flips: {} followed, {} impossible, {} unknown, {} strayed",
        check.flips,
        check.followed,
        check.unsatisfiable,
        check.unknown,
        check.strayed.len()
    );
    for problem in check
        .transparency
        .iter()
        .chain(&check.untrue)
        .chain(&check.strayed)
        .take(20)
    {
        println!("  WRONG: {problem}");
    }
    if check.passed() {
        println!("  the trace agrees with the plain run and with itself");
    }
}
