//! From a version's program to its goals: backward chaining from the targets over the
//! branches that guard them and the definitions that can satisfy these.

use super::conditions::{Demand, Test, demands, truth};
use super::definitions::{Choice, Definition, Definitions, Spot, definitions};
use super::distance::Surveyor;
use super::facts::{Facts, TooLong};
use super::plan::{Alternative, Effect, Goal, GoalId, Guard, Need, Plan, Via, Web};
use changeling_analysis::Graphs;
use changeling_program::{FunctionId, Site, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// More goals are not followed; what lies behind them counts as free.
const MOST_GOALS: usize = 160;
/// A function called from more places is not traced back to them.
const MOST_CALLERS: usize = 8;

pub struct Planner<'a, 'p> {
    facts: &'a Facts<'p>,
    surveyor: Surveyor<'a, 'p>,
    starts: Vec<FunctionId>,
    plan: Plan,
    known: HashMap<(Spot, Option<Site>), GoalId>,
    webs: HashMap<Definitions, Web>,
    sources: HashMap<(FunctionId, Value), Option<Definitions>>,
    work: VecDeque<(GoalId, Spot, Option<Site>)>,
    /// Look for goals before the targets.
    chain: bool,
}

impl<'a, 'p> Planner<'a, 'p> {
    pub fn new(facts: &'a Facts<'p>, chain: bool) -> Planner<'a, 'p> {
        Planner {
            facts,
            surveyor: Surveyor::new(facts),
            starts: Graphs::starts(facts.program),
            plan: Plan::default(),
            known: HashMap::new(),
            webs: HashMap::new(),
            sources: HashMap::new(),
            work: VecDeque::new(),
            chain,
        }
    }

    /// A goal that is reached when one of the spots is.
    pub fn target(&mut self, spots: &[Spot]) -> Result<GoalId, TooLong> {
        let id = match spots {
            [spot] => match self.known.get(&(*spot, None)) {
                Some(&id) => id,
                None => self.add(*spot, None),
            },
            _ => {
                let goal = Goal {
                    distances: self.surveyor.distances(spots, None),
                    ..Goal::default()
                };
                self.plan.goals.push(goal);
                GoalId(self.plan.goals.len() as u32 - 1)
            }
        };
        while let Some((id, spot, via)) = self.work.pop_front() {
            self.facts.check_time()?;
            self.plan.goals[id.0 as usize].distances = self.surveyor.distances(&[spot], via);
            if self.chain {
                self.look_behind(id, spot, via);
            }
        }
        Ok(id)
    }

    /// The variable that a branch tests for one of its sides, and how.
    pub fn tested(&mut self, branch: Site, side: u32) -> Option<(Web, Test)> {
        let program = self.facts.program;
        let demands = demands(program, branch, side as usize);
        let [Demand { value, test }] = &demands[..] else {
            return None;
        };
        let sources = self.sources(program.function_of(branch), *value)?;
        Some((self.web(&sources), test.clone()))
    }

    pub fn finish(self) -> Plan {
        self.plan.finish()
    }

    fn goal(&mut self, spot: Spot, via: Option<Site>) -> Option<GoalId> {
        let via = via.filter(|via| self.is_one_of_many(spot, *via));
        if let Some(&id) = self.known.get(&(spot, via)) {
            return Some(id);
        }
        (self.plan.goals.len() < MOST_GOALS).then(|| self.add(spot, via))
    }

    fn add(&mut self, spot: Spot, via: Option<Site>) -> GoalId {
        let id = GoalId(self.plan.goals.len() as u32);
        self.plan.goals.push(Goal {
            block: self.facts.number_of(spot),
            via: via.map(|call| Via {
                call: call.0,
                sites: self.extent(spot),
            }),
            ..Goal::default()
        });
        self.known.insert((spot, via), id);
        self.work.push_back((id, spot, via));
        id
    }

    /// Whether a call is one of several of the function around a spot.
    fn is_one_of_many(&self, spot: Spot, call: Site) -> bool {
        let function = self.facts.program.block(spot.block).function;
        let callers: Vec<Site> = self.facts.graphs.calls.callers(function).collect();
        callers.len() > 1 && callers.contains(&call)
    }

    /// First and last site of the function around a spot.
    fn extent(&self, spot: Spot) -> (u32, u32) {
        let program = self.facts.program;
        let function = program.block(spot.block).function;
        // Sites are numbered function by function.
        let blocks = program.function(function).blocks();
        let ends = blocks.map(|block| (program.block(block).first.0, program.terminator(block).0));
        ends.reduce(|(first, _), (_, last)| (first, last))
            .unwrap_or_default()
    }

    fn look_behind(&mut self, id: GoalId, spot: Spot, via: Option<Site>) {
        let program = self.facts.program;
        let function = program.block(spot.block).function;
        let mut needs: BTreeMap<Web, Need> = BTreeMap::new();
        let mut guards = Vec::new();
        for (branch, side) in self.guards(spot) {
            for demand in demands(program, branch, side as usize) {
                guards.extend(self.guard(function, branch, &demand));
                if let Some(need) = self.need(function, &demand) {
                    // The variable may change between two branches: the nearer one counts.
                    needs.entry(need.web).or_insert(need);
                }
            }
        }
        let callers = match via {
            Some(call) => {
                let block = program.instruction(call).block;
                self.goal(Spot { block, side: None }, None)
                    .into_iter()
                    .collect()
            }
            None => self.callers(function),
        };
        let goal = &mut self.plan.goals[id.0 as usize];
        goal.needs = needs.into_values().collect();
        goal.guards = guards;
        goal.callers = callers;
    }

    /// The sides of branches that every way through the function to the spot takes, the
    /// nearest first.
    fn guards(&self, spot: Spot) -> Vec<(Site, u32)> {
        let facts = self.facts;
        let program = facts.program;
        let end = program.terminator(spot.block);
        let mut guards: Vec<(Site, u32)> = spot.side.map(|side| (end, side)).into_iter().collect();
        let function = program.block(spot.block).function;
        let flow = facts.graphs.flow.function(function);
        let dominators = facts.dominators(function);
        let segment = facts
            .graphs
            .flow
            .segment_of(program.block(spot.block).first);
        let mut node = flow.node(segment);
        if !dominators.is_reachable(node) {
            return guards;
        }
        loop {
            if let [before] = flow.graph.predecessors(node)[..] {
                let last = facts.graphs.flow.segment(flow.segment(before)).last;
                let targets = facts.graphs.flow.targets(program, last);
                let leads = targets.iter().position(|id| *id == flow.segment(node));
                if let Some(side) = leads.filter(|_| program.instruction(last).decides()) {
                    guards.push((last, side as u32));
                }
            }
            match dominators.immediate(node) {
                Some(above) if above != node => node = above,
                _ => return guards,
            }
        }
    }

    fn sources(&mut self, function: FunctionId, value: Value) -> Option<Definitions> {
        let facts = self.facts;
        let sources = self.sources.entry((function, value));
        let sources = sources.or_insert_with(|| definitions(facts, function, value));
        sources.clone()
    }

    fn guard(&mut self, function: FunctionId, branch: Site, demand: &Demand) -> Option<Guard> {
        let sources = self.sources(function, demand.value)?;
        let mut calls: Vec<u32> = sources
            .list
            .iter()
            .filter_map(|d| Some(d.call?.0))
            .collect();
        calls.sort_unstable();
        calls.dedup();
        let block = self.facts.covered_by(branch)?;
        (!calls.is_empty()).then_some(Guard {
            branch: branch.0,
            block,
            calls,
            wanted: demand.test.example(),
        })
    }

    fn need(&mut self, function: FunctionId, demand: &Demand) -> Option<Need> {
        let sources = self.sources(function, demand.value)?;
        let test = &demand.test;
        let holds = |definition: &Definition| match definition.effect {
            Effect::Unknown | Effect::Choose(_) => true,
            Effect::Set(value) => test.holds(value),
            Effect::Add { .. } => false,
        };
        let list = &sources.list;
        let counts = list.iter().any(|d| matches!(d.effect, Effect::Add { .. }));
        // What no definition can change, or none breaks, is not worth a goal.
        if list.iter().all(|d| d.effect == Effect::Unknown)
            || list.iter().all(holds) && sources.initial.is_none_or(|v| test.holds(v))
        {
            return None;
        }
        let web = self.web(&sources);
        let mut by: Vec<(GoalId, Effect)> = Vec::new();
        for definition in list.iter().filter(|d| counts || holds(d)) {
            // A goal that is not followed any more would count as impossible.
            let goal = self.goal(definition.spot, definition.via)?;
            by.push((goal, self.resolved(definition.effect, &sources.choices)));
        }
        by.sort_unstable();
        by.dedup();
        Some(Need {
            web,
            test: test.clone(),
            by,
        })
    }

    fn web(&mut self, sources: &Definitions) -> Web {
        if let Some(&web) = self.webs.get(sources) {
            return web;
        }
        let web = Web(self.plan.initial.len() as u32);
        self.webs.insert(sources.clone(), web);
        self.plan.initial.push(sources.initial);
        let mut list: Vec<&Definition> = sources.list.iter().collect();
        list.sort_unstable_by_key(|definition| definition.at);
        let mut effects: BTreeMap<u32, Effect> = BTreeMap::new();
        for definition in list {
            let Some(block) = self.facts.number_of(definition.spot) else {
                continue;
            };
            let own = self.resolved(definition.effect, &sources.choices);
            let effect = effects.entry(block).or_insert(own);
            *effect = effect.then(own);
        }
        // Before any definition has run, the first one is the best guess.
        let first = sources.list.iter().min_by_key(|d| d.spot.block);
        let first = first.and_then(|d| effects.get(&self.facts.number_of(d.spot)?));
        let guess = first.and_then(|effect| effect.on(None));
        self.plan.initial[web.0 as usize] = sources.initial.or(guess);
        for (block, effect) in effects {
            let list = self.plan.effects.entry(block).or_default();
            list.push((web, effect));
        }
        web
    }

    /// An effect as the plan has it: what it chooses by is a variable of the plan.
    fn resolved(&mut self, effect: Effect, choices: &[Choice]) -> Effect {
        let Effect::Choose(number) = effect else {
            return effect;
        };
        let choice = choices[number as usize];
        let mut demands = Vec::new();
        let program = self.facts.program;
        truth(
            program,
            choice.function,
            choice.condition,
            true,
            &mut demands,
        );
        let [Demand { value, test }] = &demands[..] else {
            return Effect::Unknown;
        };
        let Some(sources) = self.sources(choice.function, *value) else {
            return Effect::Unknown;
        };
        let alternative = Alternative {
            web: self.web(&sources),
            test: test.clone(),
            yes: self.resolved(choice.yes, choices),
            no: self.resolved(choice.no, choices),
        };
        let known = &mut self.plan.alternatives;
        let at = known.iter().position(|other| *other == alternative);
        let at = at.unwrap_or_else(|| {
            known.push(alternative);
            known.len() - 1
        });
        Effect::Choose(at as u32)
    }

    fn callers(&mut self, function: FunctionId) -> Vec<GoalId> {
        if self.starts.contains(&function) {
            return Vec::new();
        }
        let facts = self.facts;
        let sites: Vec<Site> = facts.graphs.calls.callers(function).collect();
        if sites.len() > MOST_CALLERS {
            return Vec::new();
        }
        let spots = sites.into_iter().map(|site| Spot {
            block: facts.program.instruction(site).block,
            side: None,
        });
        let goals: Option<Vec<GoalId>> = spots.map(|spot| self.goal(spot, None)).collect();
        goals.unwrap_or_default()
    }
}
