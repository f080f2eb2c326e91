//! SMT-LIB solvers as processes.
//!
//! Nothing they say is believed: a model is checked by the evaluator before it
//! leaves this crate, and a solver that dies, stays silent or babbles gives
//! *unknown*.

use crate::arena::{Arena, Expr};
use crate::assignment::Bounds;
use crate::layers::embedded::length_bounds;
use crate::query::Reason;
use crate::smtlib::{Script, parse_model, variable_name};
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A solver found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    program: PathBuf,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExternalError {
    #[error(
        "solver `{0}` was not found on the PATH; install it (z3, bitwuzla and cvc5 are known to work), \
         give the path of its program, or leave the option out to use the embedded solver"
    )]
    Missing(String),
    #[error("solver `{0}` is not a program that can be run")]
    NotExecutable(String),
}

impl External {
    /// A name to be looked for on the PATH, or the path of a program.
    pub fn find(name: &str) -> Result<External, ExternalError> {
        if name.contains('/') {
            let program = PathBuf::from(name);
            return match is_executable(&program) {
                true => Ok(External { program }),
                false => Err(ExternalError::NotExecutable(name.into())),
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|place| place.join(name));
        match places.find(|program| is_executable(program)) {
            Some(program) => Ok(External { program }),
            None => Err(ExternalError::Missing(name.into())),
        }
    }

    pub fn program(&self) -> &Path {
        &self.program
    }
}

fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(program);
    metadata.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// More than any model takes; a solver that goes on talking is not listened to.
const MAX_OUTPUT: u64 = 16 << 20;

/// Asks the external solver, one process per question.
pub(crate) struct ExternalLayer {
    solver: External,
}

impl ExternalLayer {
    pub fn new(solver: External) -> ExternalLayer {
        ExternalLayer { solver }
    }

    fn ask(&self, arena: &mut Arena, task: &Task) -> Result<Verdict, Reason> {
        let bounds = length_bounds(arena, task);
        let all: Vec<Expr> = task.all().chain(bounds).collect();
        let mut script = Script::new(arena);
        script.define(&all).map_err(|_| Reason::Float)?;
        script.bounds(&Bounds::new(task.bounds.capacities().to_vec()));
        for (index, &condition) in all.iter().enumerate() {
            script.assert(condition, &format!("a{index}"));
        }
        let vars: Vec<(VarId, Var)> = task
            .variables
            .iter()
            .map(|&id| (id, arena.variables.var(id)))
            .collect();
        let names: Vec<String> = vars.iter().map(|&(_, var)| variable_name(var)).collect();
        script.text.push_str("(check-sat)\n");
        script
            .text
            .push_str(&format!("(get-value ({}))\n", names.join(" ")));
        let text = script.finish();
        let output = self.run(&text, task.deadline)?;
        let (word, rest) = match output.trim_start().split_once('\n') {
            Some((word, rest)) => (word.trim(), rest),
            None => (output.trim(), ""),
        };
        match word {
            // Without a core from the solver all conditions are to blame.
            "unsat" => Ok(Verdict::Unsat((0..task.conditions.len()).collect())),
            "sat" => {
                let values = parse_model(rest, &names).ok_or_else(|| {
                    Reason::External(format!("it said sat, but not what: {}", first_line(rest)))
                })?;
                Ok(Verdict::Sat(
                    vars.iter().map(|&(id, _)| id).zip(values).collect(),
                ))
            }
            "unknown" | "timeout" => Err(Reason::External("it said unknown".into())),
            "" => Err(Reason::External("it died without an answer".into())),
            other => Err(Reason::External(format!(
                "unexpected answer: {}",
                first_line(other)
            ))),
        }
    }

    fn run(&self, text: &str, deadline: Instant) -> Result<String, Reason> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("changeling-{}-{number}.smt2", std::process::id());
        let file = TemporaryFile(std::env::temp_dir().join(name));
        std::fs::write(&file.0, text).map_err(|error| {
            Reason::External(format!("cannot write {}: {error}", file.0.display()))
        })?;
        let mut child = Command::new(&self.solver.program)
            .arg(&file.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                Reason::External(format!(
                    "cannot run {}: {error}",
                    self.solver.program.display()
                ))
            })?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut stdout = std::io::Read::take(stdout, MAX_OUTPUT);
        let (sender, receiver) = std::sync::mpsc::channel();
        // The thread ends when the process does, which is killed below.
        std::thread::spawn(move || {
            let mut output = Vec::new();
            let result = std::io::Read::read_to_end(&mut stdout, &mut output);
            let _ = sender.send(result.map(|_| output));
        });
        let left = deadline.saturating_duration_since(Instant::now());
        let output = receiver.recv_timeout(left.max(Duration::from_millis(1)));
        let _ = child.kill();
        let _ = child.wait();
        match output {
            Ok(Ok(output)) => Ok(String::from_utf8_lossy(&output).into_owned()),
            Ok(Err(error)) => Err(Reason::External(error.to_string())),
            Err(_) => Err(Reason::Time),
        }
    }
}

struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(120)
        .collect()
}

impl Layer for ExternalLayer {
    fn attempt(&mut self, arena: &mut Arena, _trial: &mut Trial, task: &Task) -> Option<Verdict> {
        Some(self.ask(arena, task).unwrap_or_else(Verdict::Unknown))
    }

    fn reset(&mut self) {}
}
