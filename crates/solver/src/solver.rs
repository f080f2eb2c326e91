//! The chain of layers.

use crate::arena::{Arena, Expr};
use crate::assignment::Assignment;
use crate::check::{Check, believable, confirmed, within_bounds};
use crate::external::ExternalLayer;
use crate::layers::embedded::Embedded;
use crate::layers::reuse::Reuse;
use crate::layers::values::Values;
use crate::path::{Path, Slice};
use crate::query::{Answer, Query, Reason};
use crate::record::Recorder;
use crate::settings::Settings;
use crate::statistics::{Share, Statistics};
use crate::task::{Layer, Task, Verdict};
use crate::trial::Trial;
use crate::variables::{Var, VarId};
use std::time::Instant;

/// Answers queries over one arena at a time, and remembers what helps with the next.
pub struct Solver {
    settings: Settings,
    statistics: Statistics,
    arena: u64,
    path: Path,
    trial: Trial,
    check: Check,
    reuse: Reuse,
    values: Values,
    embedded: Embedded,
    external: Option<ExternalLayer>,
    recorder: Option<Recorder>,
}

impl Solver {
    pub fn new(settings: Settings) -> Solver {
        Solver {
            statistics: Statistics::default(),
            arena: 0,
            path: Path::default(),
            trial: Trial::default(),
            check: Check::default(),
            reuse: Reuse::default(),
            values: Values::default(),
            embedded: Embedded::new(settings.size_limit),
            external: settings.external.clone().map(ExternalLayer::new),
            recorder: settings.record.clone().map(Recorder::new),
            settings,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether questions that turn out to be hard are put off, with `Reason::Postponed`, rather
    /// than worked on until the time limit.
    pub fn hurry(&mut self, hurries: bool) {
        self.embedded.hurries = hurries;
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Why queries are not being recorded although they should be.
    pub fn record_problem(&self) -> Option<&str> {
        self.recorder
            .as_ref()
            .and_then(|recorder| recorder.problem.as_deref())
    }

    /// Soft conditions are tried one after the other, in the order given: each
    /// is kept if it can hold together with those kept before it.
    pub fn solve(&mut self, arena: &mut Arena, query: &Query) -> Answer {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(arena, query);
        }
        let start = Instant::now();
        let deadline = start + self.settings.time_limit;
        self.statistics.queries += 1;
        let mut answer = self.decide(arena, query, deadline);
        if let Answer::Sat(model) = &mut answer
            && !query.soft.is_empty()
        {
            self.soften(arena, query, model, deadline);
        }
        match &answer {
            Answer::Sat(_) => self.statistics.sat += 1,
            Answer::Unsat(_) => self.statistics.unsat += 1,
            Answer::Unknown(_) => self.statistics.unknown += 1,
        }
        self.statistics.time += start.elapsed();
        answer
    }

    fn soften(
        &mut self,
        arena: &mut Arena,
        query: &Query,
        model: &mut Assignment,
        deadline: Instant,
    ) {
        let mut prefix = query.prefix.to_vec();
        prefix.push(query.goal);
        for &wish in query.soft {
            if Instant::now() >= deadline {
                return;
            }
            let next = Query {
                prefix: &prefix,
                goal: wish,
                hint: &model.clone(),
                soft: &[],
                ..*query
            };
            if let Answer::Sat(better) = self.decide(arena, &next, deadline) {
                *model = better;
                prefix.push(wish);
            }
        }
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

    /// Whether an input satisfies all conditions. Conditions of one path share most of what they
    /// consist of: asking for each alone takes time that grows with the square of the path.
    pub fn all_hold(&mut self, arena: &Arena, conditions: &[Expr], input: &Assignment) -> bool {
        self.turn_to(arena);
        self.check.all_hold(arena, conditions, input)
    }

    /// What is remembered of another arena means nothing in this one.
    fn turn_to(&mut self, arena: &Arena) {
        if self.arena != arena.identity() {
            self.arena = arena.identity();
            self.path.reset();
            self.trial.reset();
            self.check.reset();
            self.reuse.reset();
            self.values.reset();
            self.embedded.reset();
        }
    }

    fn decide(&mut self, arena: &mut Arena, query: &Query, deadline: Instant) -> Answer {
        self.turn_to(arena);
        let length = query.prefix.len();
        self.path.follow(arena, query.prefix);
        if arena.width(query.goal) != 1 || self.path.is_ill_typed(length) {
            return Answer::Unknown(Reason::NotACondition);
        }
        let path = &mut self.path;
        if self.settings.layers.simplification {
            let core = self.statistics.simplification.measure(|| {
                let core = contradiction(arena, path, query.goal, length);
                let decides = core.is_some();
                (core, decides)
            });
            if let Some(core) = core {
                return Answer::Unsat(core);
            }
        }
        let trial = &mut self.trial;
        let seeds = self.statistics.hint.measure(|| {
            let violated = path.judge(arena, trial, query.hint, length);
            let violated = violated.iter().map(|&at| query.prefix[at as usize]);
            let mut seeds: Vec<Expr> = violated.collect();
            let holds = seeds.is_empty()
                && trial.holds_on_hint(arena, query.goal)
                && within_bounds(arena, query);
            seeds.push(query.goal);
            (if holds { None } else { Some(seeds) }, holds)
        });
        let Some(seeds) = seeds else {
            return self.checked(arena, query, query.hint.clone());
        };
        let slice = match self.settings.layers.independence {
            true => {
                let slice = || (path.slice(arena, &seeds, length), false);
                self.statistics.independence.measure(slice)
            }
            false => path.everything(arena, &seeds, length),
        };
        self.statistics.conditions += length as u64;
        self.statistics.conditions_left += slice.positions.len() as u64;
        self.ask(arena, query, slice, deadline)
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
        let before = self.trial.work + self.embedded.work;
        let verdict = self.chain(arena, &task);
        self.statistics.work += self.trial.work + self.embedded.work - before;
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
                self.checked(arena, query, model)
            }
        }
    }

    /// Nothing leaves without this: the input as the caller will get it satisfies
    /// the question, by the reference evaluator.
    fn checked(&mut self, arena: &Arena, query: &Query, model: Assignment) -> Answer {
        let (path, check) = (&mut self.path, &mut self.check);
        let good = self.statistics.checking.measure(|| {
            let good = check.satisfies(arena, path, query, &model);
            (good, false)
        });
        if good {
            return Answer::Sat(model);
        }
        self.statistics.wrong_models += 1;
        Answer::Unknown(Reason::WrongModel)
    }

    /// Asks one layer after the other. A model is believed only after it was
    /// checked; one that fails is a bug of the layer, or a lie of an external
    /// solver, and the next layer is asked.
    fn chain(&mut self, arena: &mut Arena, task: &Task) -> Verdict {
        let layers = self.settings.layers;
        let (statistics, trial) = (&mut self.statistics, &mut self.trial);
        if layers.reuse {
            let verdict = timed(&mut statistics.reuse, || {
                self.reuse.attempt(arena, trial, task)
            });
            if let Some(verdict) = verdict {
                return verdict;
            }
        }
        if layers.values {
            let verdict = timed(&mut statistics.values, || {
                self.values.attempt(arena, trial, task)
            });
            if let Some(verdict) = verdict {
                if confirmed(arena, trial, task, &verdict) {
                    self.reuse.learn(arena, task, &verdict);
                    return verdict;
                }
                statistics.wrong_models += 1;
            }
        }
        let mut verdict = Verdict::Unknown(Reason::LayersOff);
        if layers.embedded {
            let answer = timed(&mut statistics.embedded, || {
                self.embedded.attempt(arena, trial, task)
            });
            verdict = answer.unwrap_or(Verdict::Unknown(Reason::Float));
            if matches!(verdict, Verdict::Unknown(Reason::Postponed)) {
                return verdict;
            }
            if let Verdict::Sat(values) = &mut verdict {
                minimise(arena, trial, task, values);
            }
            if !confirmed(arena, trial, task, &verdict) {
                statistics.wrong_models += 1;
                verdict = Verdict::Unknown(Reason::Size);
            }
        }
        if let (Verdict::Unknown(_), Some(external)) = (&verdict, &mut self.external) {
            let answer = timed(&mut statistics.external, || {
                external.attempt(arena, trial, task)
            });
            verdict = answer.unwrap_or(verdict);
            if !believable(arena, trial, task, &verdict) {
                statistics.wrong_models += 1;
                verdict = Verdict::Unknown(Reason::External("its model is wrong".into()));
            }
        }
        if layers.reuse {
            self.reuse.learn(arena, task, &verdict);
        }
        verdict
    }

    /// The hint with the values of a model. Bytes that come to be because the
    /// input grows are filler, unless the goal or the path speaks of them: values
    /// that equal the hint's are not listed, but the model needs them.
    fn compose(&self, arena: &Arena, query: &Query, values: &[(VarId, u64)]) -> Assignment {
        let mut model = query.hint.clone();
        let of_goal: Vec<VarId> = arena.set(query.goal).iter().collect();
        let needed =
            |id| self.path.mentions(id, query.prefix.len()) || of_goal.binary_search(&id).is_ok();
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
                    if !arena.variables.find(var).is_some_and(needed) {
                        model.set(var, self.settings.filler.into());
                    }
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
    share.measure(|| {
        let verdict = attempt();
        let decides = matches!(verdict, Some(Verdict::Sat(_) | Verdict::Unsat(_)));
        (verdict, decides)
    })
}

/// What follows from the expressions alone: positions that contradict the goal.
fn contradiction(arena: &mut Arena, path: &Path, goal: Expr, length: usize) -> Option<Vec<usize>> {
    if arena.truth(goal) == Some(false) {
        return Some(vec![]);
    }
    let (never, opposite) = (arena.bool(false), arena.not(goal));
    let position = path.position(never, length);
    position
        .or_else(|| path.position(opposite, length))
        .map(|position| vec![position])
}

/// Expressions that may be evaluated to bring a model closer to the hint.
const CLOSER_WORK: u64 = 20_000;

/// Gives variables their hint's value back where the model allows it, and
/// lengths one that is nearer to it.
fn minimise(arena: &Arena, trial: &mut Trial, task: &Task, values: &mut Vec<(VarId, u64)>) {
    values.retain(|&(var, value)| value != task.hint_value(arena, var));
    let limit = trial.work + CLOSER_WORK;
    let mut index = 0;
    while index < values.len() && trial.work < limit {
        let (var, value) = values[index];
        let old = task.hint_value(arena, var);
        let mut candidates = vec![old];
        if let Var::Length { .. } = arena.variables.var(var) {
            let step = |by: u64| if value > old { old + by } else { old - by };
            candidates.extend((1..value.abs_diff(old).min(16)).map(step));
        }
        let better = candidates.into_iter().find(|&candidate| {
            let changes = values.iter().copied();
            let changes =
                changes.map(|(other, value)| (other, if other == var { candidate } else { value }));
            trial.vary(arena, changes.collect::<Vec<_>>());
            task.all().all(|condition| trial.holds(arena, condition))
        });
        match better {
            Some(candidate) if candidate == old => {
                values.swap_remove(index);
            }
            Some(candidate) => {
                values[index].1 = candidate;
                index += 1;
            }
            None => index += 1,
        }
    }
}
