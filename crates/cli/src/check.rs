//! Does a trace tell the truth? Compares it with the plain run, evaluates every
//! node on the input, and follows every flip.

use crate::failure::Failure;
use crate::view::traced_run;
use changeling_exec::{Observation, Plain, Traced};
use changeling_explore::Side;
use changeling_explore::path::{self, Path, Test, TestKind};
use changeling_explore::runner::TraceView;
use changeling_solver::{Answer, Arena, Assignment, Bounds, Query, Settings, Solver};
use changeling_trace::input::Input;
use changeling_trace::sites::SiteTable;

#[derive(Debug, Default, serde::Serialize)]
pub struct Check {
    /// What the traced run showed differently from the plain one.
    pub transparency: Vec<String>,
    pub nodes: usize,
    /// Nodes and conditions whose value on the input is not what the run had.
    pub untrue: Vec<String>,
    pub flips: usize,
    pub unsatisfiable: usize,
    pub unknown: usize,
    pub followed: usize,
    /// Flips whose input took another way than predicted.
    pub strayed: Vec<String>,
}

impl Check {
    pub fn passed(&self) -> bool {
        self.transparency.is_empty() && self.untrue.is_empty() && self.strayed.is_empty()
    }

    pub fn compare(
        &mut self,
        plain: &mut Plain,
        input: &Input,
        traced: &Observation,
    ) -> Result<(), Failure> {
        let expected = plain.run(input)?;
        let mut differ = |what: &str, a: String, b: String| {
            if a != b {
                self.transparency
                    .push(format!("{what}: plain {a}, traced {b}"));
            }
        };
        differ("end", expected.end.to_string(), traced.end.to_string());
        differ("stdout", quote(&expected.stdout), quote(&traced.stdout));
        differ("stderr", quote(&expected.stderr), quote(&traced.stderr));
        differ(
            "files",
            format!("{:?}", expected.files),
            format!("{:?}", traced.files),
        );
        differ(
            "removed files",
            format!("{:?}", expected.removed),
            format!("{:?}", traced.removed),
        );
        differ(
            "observed values",
            format!("{:?}", expected.observed),
            format!("{:?}", traced.observed),
        );
        Ok(())
    }

    /// Evaluates every node that an event rests on.
    pub fn evaluate(
        &mut self,
        arena: &mut Arena,
        path: &Path,
        trace: &TraceView<'_>,
        input: &Input,
    ) {
        let assignment = Assignment::from_input(input);
        let roots: Vec<_> = trace
            .events
            .iter()
            .map(|event| event.label)
            .filter(|label| *label != 0)
            .collect();
        let map = match arena.import(trace.nodes, trace.tables, &roots) {
            Ok(map) => map,
            Err(error) => {
                self.untrue.push(error.to_string());
                return;
            }
        };
        let (labels, exprs): (Vec<_>, Vec<_>) = map.iter().unzip();
        let values = arena.evaluate_all(&exprs, &assignment);
        self.nodes = labels.len();
        for (label, value) in labels.iter().zip(values) {
            let node = &trace.nodes[*label as usize];
            if value.low_u64() != node.value {
                self.untrue.push(format!(
                    "node {label} ({node:?}) is {} on the input",
                    value.low_u64()
                ));
            }
        }
        let held: Vec<_> = path.tests.iter().map(|test| test.held).collect();
        let held = arena.evaluate_all(&held, &assignment);
        for (index, (test, held)) in path.tests.iter().zip(held).enumerate() {
            if !held.is_true() {
                self.untrue
                    .push(format!("test {index} ({:?}) does not hold", test.kind));
            }
        }
    }

    /// Turns each branch the other way and sees whether the program follows.
    pub fn flip(
        &mut self,
        arena: &mut Arena,
        path: &Path,
        traced: &mut Traced,
        sites: &SiteTable,
        input: &Input,
        most: usize,
    ) -> Result<(), Failure> {
        let mut solver = Solver::new(Settings::default());
        let hint = Assignment::from_input(input);
        let bounds = Bounds::from_input(input);
        let prefix: Vec<_> = path.tests.iter().map(|test| test.held).collect();
        for (index, test) in path.tests.iter().enumerate() {
            if self.flips >= most {
                break;
            }
            if !matches!(test.kind, TestKind::Branch | TestKind::Switch) {
                continue;
            }
            self.flips += 1;
            let goal = arena.not(test.held);
            let query = Query {
                prefix: &prefix[..index],
                goal,
                hint: &hint,
                bounds: &bounds,
                soft: &[],
            };
            let model = match solver.solve(arena, &query) {
                Answer::Sat(model) => model,
                Answer::Unsat(_) => {
                    self.unsatisfiable += 1;
                    continue;
                }
                Answer::Unknown(_) => {
                    self.unknown += 1;
                    continue;
                }
            };
            let next = model.to_input(input);
            let (observation, trace) = traced.run(&next)?;
            let run = traced_run(observation, trace);
            let taken = path::read(arena, Side::Head, &run, sites)
                .map(|path| path.tests)
                .unwrap_or_default();
            if follows(&taken, &path.tests, index) {
                self.followed += 1;
            } else {
                let bytes: Vec<String> = next
                    .streams
                    .iter()
                    .map(|stream| quote(&stream.bytes))
                    .collect();
                let place = sites.place(if test.caller != 0 {
                    test.caller
                } else {
                    test.site
                });
                self.strayed.push(format!(
                    "flip {index} at {place} with input {}",
                    bytes.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// The same way up to a test, and another way there: the other side of the same
/// branch, or another test altogether where a library model asks about the input
/// in the order that suits it.
fn follows(taken: &[Test], before: &[Test], index: usize) -> bool {
    let step = |test: &Test| (test.kind, test.site, test.outcome);
    taken.len() > index
        && taken[..index]
            .iter()
            .map(step)
            .eq(before[..index].iter().map(step))
        && taken[index].site == before[index].site
        && taken[index].outcome != before[index].outcome
}

/// Bytes as a C-like string, cut if long.
pub fn quote(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let shown = &bytes[..bytes.len().min(LONGEST)];
    let dots = if bytes.len() > LONGEST { "…" } else { "" };
    format!("\"{}\"{dots}", shown.escape_ascii())
}
