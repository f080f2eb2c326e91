//! From a task to an input.

use crate::decision::{PairState, Way, WayState};
use crate::frontier::{Bucket, Cost, Task};
use crate::gap::Gap;
use crate::merge::Owner;
use crate::runner::Side;
use crate::state::{Origin, State};
use crate::terms;
use crate::tree::{NodeId, RunId};
use changeling_solver::{Answer, Assignment, Expr, Query, Reason, Var};
use changeling_trace::input::Input;
use std::time::Instant;

/// What became of a task.
pub(crate) enum Attempt {
    /// There is nothing to run.
    Closed(Cost),
    Run(Input, Origin),
}

impl State {
    pub fn attempt(&mut self, bucket: Bucket, task: Task) -> Attempt {
        self.stats.by_bucket.entry(bucket).or_default().tasks += 1;
        let before = self.spent();
        self.solver.hurry(bucket != Bucket::Hard);
        let solved = match task {
            Task::Flip { node, way } => self.flip(bucket, node, way as usize),
            Task::Out { end } => self.out(end),
            Task::Another { node } => self.another(node),
            Task::Carry { node, way, run } => self.carry(node, way as usize, run),
            Task::Mend { node, way, mend } => {
                let input = self.mended(node, way as usize, mend);
                input.map_or(Solved::Nothing, Solved::Input)
            }
            Task::Edit { run, edit } => {
                let input = self.edited(run, edit);
                input.map_or(Solved::Nothing, Solved::Input)
            }
            Task::Vary => self.variation().map_or(Solved::Nothing, Solved::Input),
            Task::Infect { node } => self.infect(node),
            Task::Approach { wish } => self.approach(wish),
        };
        let now = self.spent();
        let mut cost = Cost {
            queries: now.queries - before.queries,
            work: now.work - before.work,
            runs: 0,
        };
        let (input, displaced) = match solved {
            Solved::Model(model) => (model.to_input(&self.subject.shape), false),
            Solved::Displaced(model) => (model.to_input(&self.subject.shape), true),
            Solved::Input(input) => (input, true),
            Solved::Nothing => {
                // Looking for a new input in vain must not be free, or it would go on for ever.
                cost.queries += u64::from(task == Task::Vary);
                return Attempt::Closed(cost);
            }
        };
        if self.known(&input).is_some() {
            self.stats.repeated += 1;
            if !displaced
                && !matches!(
                    task,
                    Task::Carry { .. } | Task::Infect { .. } | Task::Approach { .. }
                )
            {
                self.broken_promise(task);
            }
            return Attempt::Closed(cost);
        }
        cost.runs = 1;
        Attempt::Run(
            input,
            Origin {
                bucket,
                task,
                displaced,
                cost,
            },
        )
    }

    /// All that was asked so far.
    fn spent(&self) -> Cost {
        Cost {
            queries: self.stats.queries,
            work: self.solver.statistics().work,
            runs: 0,
        }
    }

    /// The solution has been run before and did something else.
    fn broken_promise(&mut self, task: Task) {
        self.stats.diverged += 1;
        self.note(Gap::Diverged);
        match task {
            Task::Flip { node, way } => self.close(node, way as usize, WayState::Diverged),
            Task::Out { end } => self.settle(end, PairState::Unclear),
            Task::Another { .. }
            | Task::Carry { .. }
            | Task::Mend { .. }
            | Task::Edit { .. }
            | Task::Vary
            | Task::Infect { .. }
            | Task::Approach { .. } => {}
        }
    }

    fn flip(&mut self, bucket: Bucket, node: NodeId, way: usize) -> Solved {
        let Some(decision) = self.tree.decision(node) else {
            return Solved::Nothing;
        };
        let goal = decision.ways[way].held;
        let owner = decision.owner;
        if decision.ways[way].state != WayState::Open {
            return Solved::Nothing;
        }
        let condition = self.tree.condition(node);
        let prefix: Vec<Expr> = condition.iter().map(|(held, _)| *held).collect();
        // Another length goes with the bytes that came furthest.
        let resizes = self.only_resizes(node, way);
        let furthest = self.extended(node).filter(|_| resizes);
        let run = furthest.unwrap_or(self.tree.run(node));
        let wish = if resizes {
            self.best_length(node, way)
        } else {
            None
        };
        match self.ask_wishing(&prefix, goal, run, wish.as_slice()) {
            Answer::Sat(model) => match owner {
                Owner::One(side) if bucket == Bucket::Diverge => {
                    match self.strengthen(prefix, goal, node, side.other(), model) {
                        Some(better) => Solved::Model(better),
                        // Possible, but not as a parting of the versions here.
                        None => {
                            let task = Task::Flip {
                                node,
                                way: way as u32,
                            };
                            let novelty = self.novelty(Bucket::Explore, &task);
                            self.frontier.push(Bucket::Explore, 0, novelty, task);
                            Solved::Nothing
                        }
                    }
                }
                _ => Solved::Model(model),
            },
            Answer::Unsat(_) => {
                self.close(node, way, WayState::Impossible);
                self.count_barred(node, way);
                let free: Vec<Expr> = condition
                    .iter()
                    .filter(|(_, fixed)| !fixed)
                    .map(|(held, _)| *held)
                    .collect();
                if free.len() < prefix.len()
                    && let Answer::Sat(model) = self.ask(&free, goal, run)
                {
                    self.stats.displaced += 1;
                    return Solved::Displaced(model);
                }
                match self.another_way(node, way) {
                    Some(model) => Solved::Displaced(model),
                    None => Solved::Nothing,
                }
            }
            Answer::Unknown(Reason::Postponed) => {
                // The like will be as hard.
                self.count_taken(node, way);
                let way = way as u32;
                self.postpone(Task::Flip { node, way })
            }
            Answer::Unknown(_) => {
                self.close(node, way, WayState::Unknown);
                self.note(Gap::Unknown);
                Solved::Nothing
            }
        }
    }

    /// Where a flip contradicts what was decided before, perhaps it does not depend on that:
    /// asks again without the decisions that it contradicts, as long as the guide thinks that
    /// they have no say in it. If they have, the same may still come about when they go
    /// otherwise (a loop may end for another reason); that is tried once for each condition.
    /// Whether the run then comes to the same place is seen when it is run.
    fn another_way(&mut self, node: NodeId, way: usize) -> Option<Assignment> {
        const ROUNDS: usize = 3;
        let flip = self.flip_at(node, way)?;
        if !self.guide.wants_other_way(&flip) {
            return None;
        }
        let goal = self.tree.decision(node)?.ways[way].held;
        let before = self.tree.decisions_before(node);
        let mut kept: Vec<(Expr, bool)> = before
            .iter()
            .map(|(decision, held)| {
                let needed = self.guide.depends(&flip, decision.sites, decision.caller);
                (*held, needed)
            })
            .collect();
        let run = self.tree.run(node);
        for _ in 0..ROUNDS {
            let prefix: Vec<Expr> = kept.iter().map(|(held, _)| *held).collect();
            match self.ask(&prefix, goal, run) {
                Answer::Sat(model) => {
                    self.stats.displaced += 1;
                    return Some(model);
                }
                Answer::Unknown(_) => return None,
                Answer::Unsat(core) => {
                    let before = kept.len();
                    let mut at = 0;
                    kept.retain(|(_, needed)| {
                        at += 1;
                        *needed || !core.contains(&(at - 1))
                    });
                    if kept.len() == before {
                        if core.is_empty() || !self.forced.insert(goal) {
                            return None;
                        }
                        let mut at = 0;
                        kept.retain(|_| {
                            at += 1;
                            !core.contains(&(at - 1))
                        });
                    }
                }
            }
        }
        None
    }

    /// A decision that only one version takes is best flipped while the other
    /// version keeps its path: all of it, or else its next decision.
    fn strengthen(
        &mut self,
        prefix: Vec<Expr>,
        goal: Expr,
        node: NodeId,
        other: Side,
        model: Assignment,
    ) -> Option<Assignment> {
        let run = self.tree.run(node);
        let end = self.corpus[run.0 as usize].end;
        let kept = self.tree.continuation(node, end, other);
        for length in [kept.len(), 1.min(kept.len())] {
            let kept = &kept[..length];
            if self.solver.all_hold(&self.arena, kept, &model) {
                return Some(model);
            }
            let mut wanted = prefix.clone();
            wanted.extend(kept);
            match self.ask(&wanted, goal, run) {
                Answer::Sat(better) => return Some(better),
                Answer::Unsat(_) => {}
                // Nobody knows whether it can be kept: what is known to be possible is run.
                Answer::Unknown(_) => return Some(model),
            }
        }
        None
    }

    fn carry(&mut self, node: NodeId, way: usize, run: RunId) -> Solved {
        let Some(decision) = self.tree.decision(node) else {
            return Solved::Nothing;
        };
        let Way { held, state, .. } = decision.ways[way];
        if !matches!(state, WayState::Taken(_)) {
            return Solved::Nothing;
        }
        let prefix = self.tree.prefix(node);
        match self.ask(&prefix, held, run) {
            Answer::Sat(model) => Solved::Model(model),
            Answer::Unsat(_) | Answer::Unknown(_) => Solved::Nothing,
        }
    }

    fn out(&mut self, end: NodeId) -> Solved {
        let Some(end) = self.tree.current_end(end) else {
            return Solved::Nothing;
        };
        let Some(ended) = self.tree.ended(end).copied() else {
            return Solved::Nothing;
        };
        let (PairState::Open, Some(goal)) = (ended.state, ended.differ) else {
            return Solved::Nothing;
        };
        let prefix = self.tree.prefix(end);
        match self.ask(&prefix, goal, ended.run) {
            Answer::Sat(model) => Solved::Model(model),
            Answer::Unsat(_) => {
                self.settle(end, PairState::Equal);
                self.stats.equal_pairs += 1;
                Solved::Nothing
            }
            Answer::Unknown(Reason::Postponed) => self.postpone(Task::Out { end }),
            Answer::Unknown(_) => {
                self.settle(end, PairState::Unclear);
                self.note(Gap::Unknown);
                Solved::Nothing
            }
        }
    }

    /// An input that comes to a node with something else left behind by the changes in each version.
    fn infect(&mut self, node: NodeId) -> Solved {
        let Some(&goal) = self.asked.goals.get(&node) else {
            return Solved::Nothing;
        };
        let prefix = self.tree.prefix(node);
        self.stats.infections.asked += 1;
        match self.ask(&prefix, goal, self.tree.run(node)) {
            Answer::Sat(model) => Solved::Model(model),
            Answer::Unsat(_) => {
                self.stats.infections.impossible += 1;
                Solved::Nothing
            }
            // It proves nothing, so nothing is lost without an answer.
            Answer::Unknown(_) => Solved::Nothing,
        }
    }

    /// An input of the same path, as far as the comparison, with smaller distances there: half as large, or
    /// smaller at all.
    fn approach(&mut self, wish: u32) -> Solved {
        let Some(wish) = self.readings.take_wish(wish) else {
            return Solved::Nothing;
        };
        // What is promised is a distance, not a path.
        if let Ok(goal) = wish.halved(&mut self.arena)
            && let Answer::Sat(model) = self.ask(&wish.prefix, goal, wish.run)
        {
            return Solved::Displaced(model);
        }
        // That was too much to ask for; as near as it goes.
        let mut best = Solved::Nothing;
        for step in wish.steps() {
            let Ok(goal) = wish.nearer(&mut self.arena, step) else {
                break;
            };
            let Answer::Sat(model) = self.ask(&wish.prefix, goal, wish.run) else {
                break;
            };
            best = Solved::Displaced(model);
        }
        best
    }

    fn another(&mut self, node: NodeId) -> Solved {
        let Some(decision) = self.tree.decision(node) else {
            return Solved::Nothing;
        };
        let first = decision.attempts == 0;
        if decision.attempts >= self.fixed_values {
            return Solved::Nothing;
        }
        let known: Vec<Expr> = decision.ways.iter().map(|way| way.held).collect();
        let others: Vec<Expr> = known.into_iter().map(|held| self.arena.not(held)).collect();
        let Ok(goal) = self.arena.all(&others) else {
            return Solved::Nothing;
        };
        let prefix = self.tree.prefix(node);
        let answer = self.ask(&prefix, goal, self.tree.run(node));
        if matches!(answer, Answer::Unknown(Reason::Postponed)) {
            return self.postpone(Task::Another { node });
        }
        if first
            && !matches!(answer, Answer::Unsat(_))
            && let Some(gap) = self.fixed_gap(node)
        {
            match self.tree.decision(node).map(|decision| decision.subject) {
                Some(fixed) => self.note_loss(gap, fixed),
                None => self.note(gap),
            }
        }
        if let Some(decision) = self.tree.decision_mut(node) {
            decision.attempts += 1;
        }
        match answer {
            Answer::Sat(model) => Solved::Model(model),
            Answer::Unsat(_) => Solved::Nothing,
            Answer::Unknown(_) => {
                self.note(Gap::Unknown);
                Solved::Nothing
            }
        }
    }

    /// Hard questions come last, and may take their time.
    fn postpone(&mut self, task: Task) -> Solved {
        let novelty = self.novelty(Bucket::Hard, &task);
        self.frontier.push(Bucket::Hard, 0, novelty, task);
        Solved::Nothing
    }

    fn close(&mut self, node: NodeId, way: usize, state: WayState) {
        if let Some(decision) = self.tree.decision_mut(node) {
            decision.ways[way].state = state;
        }
    }

    pub fn settle(&mut self, end: NodeId, state: PairState) {
        if let Some(ended) = self.tree.ended_mut(end) {
            ended.state = state;
        }
    }

    /// The length that the guide would like best where one is asked for.
    fn best_length(&mut self, node: NodeId, way: usize) -> Option<Expr> {
        let flip = self.flip_at(node, way)?;
        let length = self.guide.best_length(&flip)?;
        let held = self.tree.decision(node)?.ways[way].held;
        let Var::Length { stream } = self.arena.variables(held)[0] else {
            return None;
        };
        let variable = self.arena.length(stream);
        terms::equals(&mut self.arena, variable, length).ok()
    }

    pub fn ask(&mut self, prefix: &[Expr], goal: Expr, near: RunId) -> Answer {
        self.ask_wishing(prefix, goal, near, &[])
    }

    fn ask_wishing(&mut self, prefix: &[Expr], goal: Expr, near: RunId, soft: &[Expr]) -> Answer {
        let hint = Assignment::from_input(&self.corpus[near.0 as usize].input);
        let query = Query {
            prefix,
            goal,
            hint: &hint,
            bounds: &self.bounds,
            soft,
        };
        let start = Instant::now();
        let answer = self.solver.solve(&mut self.arena, &query);
        self.stats.solve_seconds += start.elapsed().as_secs_f64();
        self.stats.queries += 1;
        match &answer {
            Answer::Sat(_) => self.stats.satisfiable += 1,
            Answer::Unsat(_) => self.stats.unsatisfiable += 1,
            // It still waits, and is counted once it is asked for good.
            Answer::Unknown(Reason::Postponed) => {}
            Answer::Unknown(_) => self.stats.unknown += 1,
        }
        answer
    }
}

enum Solved {
    Model(Assignment),
    Displaced(Assignment),
    Input(Input),
    Nothing,
}
