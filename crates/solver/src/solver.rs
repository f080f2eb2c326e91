//! The chain of layers.

use crate::arena::{Arena, Expr};
use crate::assignment::Assignment;
use crate::layers::embedded::Embedded;
use crate::path::{Path, Slice};
use crate::query::{Answer, Query, Reason};
use crate::settings::Settings;
use crate::statistics::{Share, Statistics};
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use std::time::{Duration, Instant};

/// Answers queries over one arena at a time, and remembers what helps with the next.
pub struct Solver {
    settings: Settings,
    statistics: Statistics,
    arena: u64,
    path: Path,
    trial: Trial,
    embedded: Embedded,
}

impl Solver {
    pub fn new(settings: Settings) -> Solver {
        Solver {
            settings,
            statistics: Statistics::default(),
            arena: 0,
            path: Path::default(),
            trial: Trial::default(),
            embedded: Embedded::new(),
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn solve(&mut self, arena: &mut Arena, query: &Query) -> Answer {
        let start = Instant::now();
        self.statistics.queries += 1;
        let answer = self.decide(arena, query, start + self.settings.time_limit);
        match &answer {
            Answer::Sat(_) => self.statistics.sat += 1,
            Answer::Unsat(_) => self.statistics.unsat += 1,
            Answer::Unknown(_) => self.statistics.unknown += 1,
        }
        self.statistics.time += start.elapsed();
        answer
    }

    /// Up to `count` models that differ from each other in a variable of the goal.
    pub fn solutions(&mut self, arena: &mut Arena, query: &Query, count: usize) -> Vec<Assignment> {
        let variables = arena.variables(query.goal);
        let mut prefix = query.prefix.to_vec();
        let mut found = Vec::new();
        while found.len() < count {
            let next = Query {
                prefix: &prefix,
                ..*query
            };
            let Answer::Sat(model) = self.solve(arena, &next) else {
                break;
            };
            let mut differs = arena.bool(false);
            for &var in &variables {
                let other = arena.differs(var, model.get(var));
                differs = arena.build(changeling_trace::Op::Or, differs, other);
            }
            prefix.push(differs);
            found.push(model);
        }
        found
    }

    fn decide(&mut self, arena: &mut Arena, query: &Query, deadline: Instant) -> Answer {
        if self.arena != arena.identity() {
            self.arena = arena.identity();
            self.path.reset();
            self.trial.reset();
            self.embedded.reset();
        }
        if query
            .prefix
            .iter()
            .chain([&query.goal])
            .any(|&e| arena.width(e) != 1)
        {
            return Answer::Unknown(Reason::NotACondition);
        }
        let length = query.prefix.len();
        self.path.follow(arena, query.prefix);
        if let Some(core) = self.contradiction(arena, query.goal, length) {
            return Answer::Unsat(core);
        }
        let violated = self.path.judge(arena, &mut self.trial, query.hint, length);
        let violated: Vec<usize> = violated.iter().map(|&position| position as usize).collect();
        let goal_holds = self.trial.holds_on_hint(arena, query.goal);
        if violated.is_empty() && goal_holds {
            self.statistics.hint.answered += 1;
            return Answer::Sat(query.hint.clone());
        }
        let seeds: Vec<Expr> = violated
            .iter()
            .map(|&at| query.prefix[at])
            .chain([query.goal])
            .collect();
        let slice = match self.settings.layers.independence {
            true => self.path.slice(arena, &seeds, length),
            false => self.path.everything(arena, &seeds, length),
        };
        self.statistics.conditions += length as u64;
        self.statistics.conditions_left += slice.positions.len() as u64;
        self.ask(arena, query, slice, deadline)
    }

    /// What follows from the expressions alone.
    fn contradiction(
        &mut self,
        arena: &mut Arena,
        goal: Expr,
        length: usize,
    ) -> Option<Vec<usize>> {
        if arena.truth(goal) == Some(false) {
            return Some(vec![]);
        }
        let never = arena.bool(false);
        if let Some(position) = self.path.position(never, length) {
            return Some(vec![position]);
        }
        let opposite = arena.not(goal);
        self.path
            .position(opposite, length)
            .map(|position| vec![position])
    }

    fn ask(&mut self, arena: &mut Arena, query: &Query, slice: Slice, deadline: Instant) -> Answer {
        let conditions: Vec<Expr> = slice
            .positions
            .iter()
            .map(|&position| query.prefix[position as usize])
            .collect();
        let task = Task {
            goal: query.goal,
            conditions,
            variables: slice.variables,
            hint: query.hint,
            bounds: query.bounds,
            deadline,
        };
        let verdict = self.chain(arena, &task);
        match verdict {
            Verdict::Unknown(reason) => Answer::Unknown(reason),
            Verdict::Unsat(core) => {
                let mut core: Vec<usize> = core
                    .iter()
                    .map(|&index| slice.positions[index] as usize)
                    .collect();
                core.sort_unstable();
                core.dedup();
                Answer::Unsat(core)
            }
            Verdict::Sat(values) => {
                let model = self.compose(arena, query, &values);
                if !task.all().all(|condition| arena.holds(condition, &model)) {
                    self.statistics.wrong_models += 1;
                    return Answer::Unknown(Reason::External("refused a wrong model".into()));
                }
                Answer::Sat(model)
            }
        }
    }

    fn chain(&mut self, arena: &mut Arena, task: &Task) -> Verdict {
        if self.settings.layers.embedded {
            let share = &mut self.statistics.embedded;
            let verdict = timed(share, || {
                self.embedded.attempt(arena, &mut self.trial, task)
            });
            if let Some(verdict) = verdict {
                return verdict;
            }
            return Verdict::Unknown(Reason::Float);
        }
        Verdict::Unknown(Reason::LayersOff)
    }

    /// The hint with the values of a model. Bytes that come to be because the
    /// input grows are filler, unless the query or the path speaks of them.
    fn compose(&self, arena: &Arena, query: &Query, values: &[(VarId, u64)]) -> Assignment {
        let mut model = query.hint.clone();
        for &(id, value) in values {
            let Var::Length { stream } = arena.variables.var(id) else {
                continue;
            };
            let old = model.length(stream);
            if value > old {
                for offset in old..value {
                    let var = Var::Byte {
                        stream,
                        offset: offset as u32,
                    };
                    let id = arena.variables.find(var);
                    if id.is_some_and(|id| self.path.mentions(id, query.prefix.len())) {
                        continue;
                    }
                    model.set(var, self.settings.filler.into());
                }
            }
            model.set(Var::Length { stream }, value);
        }
        for &(id, value) in values {
            if let var @ Var::Byte { .. } = arena.variables.var(id) {
                model.set(var, value);
            }
        }
        model
    }
}

fn timed(share: &mut Share, attempt: impl FnOnce() -> Option<Verdict>) -> Option<Verdict> {
    let start = Instant::now();
    let verdict = attempt();
    share.asked += 1;
    share.answered += u64::from(matches!(verdict, Some(Verdict::Sat(_) | Verdict::Unsat(_))));
    share.time += start.elapsed();
    verdict
}

/// Time left is never negative.
#[allow(dead_code)]
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
