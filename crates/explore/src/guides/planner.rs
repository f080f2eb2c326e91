//! From a version's program to its goals: backward chaining from the targets over the
//! branches that guard them and the definitions that can satisfy these.

use super::conditions::{Demand, Test, demands, truth};
use super::definitions::{Choice, Definition, Definitions, Spot, definitions};
use super::distance::Surveyor;
use super::facts::{Facts, TooLong};
use super::loops::first_round;
use super::plan::{Alternative, Effect, Goal, GoalId, Guard, Need, Plan, Regions, Via, Web};
use changeling_analysis::{Graphs, Node};
use changeling_program::{BlockId, FunctionId, Site, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// More goals are not followed; what lies behind them counts as free.
const MOST_GOALS: usize = 160;
/// A function called from more places is not traced back to them.
const MOST_CALLERS: usize = 8;
/// Results of calls that nearly all inputs bring.
const FEW: u64 = 8;

/// What a goal is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    spot: Spot,
    /// In one of several calls of the function around it.
    via: Option<Site>,
    /// Conditions that must be so when it runs, for it to do what it is wanted for.
    such: Such,
}

/// Conditions, each with how it must come out.
type Such = Vec<(FunctionId, Value, bool)>;

impl Wanted {
    fn plain(spot: Spot) -> Wanted {
        Wanted {
            spot,
            via: None,
            such: Vec::new(),
        }
    }
}

pub struct Planner<'a, 'p> {
    facts: &'a Facts<'p>,
    surveyor: Surveyor<'a, 'p>,
    starts: Vec<FunctionId>,
    plan: Plan,
    known: HashMap<Wanted, GoalId>,
    webs: HashMap<Definitions, Web>,
    sources: HashMap<(FunctionId, Value), Option<Definitions>>,
    work: VecDeque<(GoalId, Wanted)>,
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
            [spot] => {
                let wanted = Wanted::plain(*spot);
                match self.known.get(&wanted) {
                    Some(&id) => id,
                    None => self.add(wanted),
                }
            }
            _ => {
                let goal = Goal {
                    distances: self.surveyor.distances(spots, None, None),
                    ..Goal::default()
                };
                self.plan.goals.push(goal);
                GoalId(self.plan.goals.len() as u32 - 1)
            }
        };
        while let Some((id, wanted)) = self.work.pop_front() {
            self.facts.check_time()?;
            let further = spots.first().copied().filter(|_| spots.len() == 1);
            let surveyor = &self.surveyor;
            let distances = surveyor.distances(&[wanted.spot], wanted.via, further);
            self.plan.goals[id.0 as usize].distances = distances;
            if self.chain {
                self.look_behind(id, &wanted);
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
        (!sources.vague).then(|| (self.web(&sources), test.clone()))
    }

    pub fn finish(self) -> Plan {
        self.plan.finish()
    }

    fn goal(&mut self, mut wanted: Wanted) -> Option<GoalId> {
        let spot = wanted.spot;
        wanted.via = wanted.via.filter(|via| self.is_one_of_many(spot, *via));
        if let Some(&id) = self.known.get(&wanted) {
            return Some(id);
        }
        (self.plan.goals.len() < MOST_GOALS).then(|| self.add(wanted))
    }

    fn add(&mut self, wanted: Wanted) -> GoalId {
        let id = GoalId(self.plan.goals.len() as u32);
        self.plan.goals.push(Goal {
            block: self.facts.number_of(wanted.spot),
            via: wanted.via.map(|call| Via {
                call: call.0,
                sites: self.extent(wanted.spot),
            }),
            ..Goal::default()
        });
        self.known.insert(wanted.clone(), id);
        self.work.push_back((id, wanted));
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

    fn look_behind(&mut self, id: GoalId, wanted: &Wanted) {
        let (spot, via) = (wanted.spot, wanted.via);
        let program = self.facts.program;
        let function = program.block(spot.block).function;
        let mut needs: BTreeMap<Web, Need> = BTreeMap::new();
        let mut guards = Vec::new();
        for &(function, condition, outcome) in &wanted.such {
            let mut demands = Vec::new();
            truth(program, function, condition, outcome, &mut demands);
            for demand in &demands {
                let need = self.need(function, demand);
                needs.extend(need.map(|need| (need.web, need)));
            }
        }
        let mut behind: BTreeMap<Web, Regions> = BTreeMap::new();
        for (sides, node) in self.facts.guards(spot) {
            let found: Vec<Demand> = match sides[..] {
                [(branch, side)] => {
                    let demands = demands(program, branch, side as usize);
                    let own = demands.iter();
                    guards.extend(
                        own.filter_map(|demand| self.guard(function, branch, node, demand)),
                    );
                    match first_round(self.facts, branch, side) {
                        Some(demand) => vec![demand],
                        None => demands,
                    }
                }
                _ => self.common(function, &sides).into_iter().collect(),
            };
            for demand in found {
                let Some(need) = self.need(function, &demand) else {
                    continue;
                };
                if let Some(node) = node
                    && self.plan.momentary.contains_key(&need.web)
                    && !needs.contains_key(&need.web)
                {
                    behind.insert(need.web, self.region(function, node));
                }
                match needs.remove(&need.web) {
                    None => needs.insert(need.web, need),
                    Some(nearer) => {
                        let both = self.both(function, &demand, &nearer);
                        needs.insert(need.web, both.unwrap_or(nearer))
                    }
                };
            }
        }
        let callers = match via {
            Some(call) => {
                let block = program.instruction(call).block;
                self.goal(Wanted::plain(Spot { block, side: None }))
                    .into_iter()
                    .collect()
            }
            None => self.callers(function),
        };
        let goal = &mut self.plan.goals[id.0 as usize];
        goal.needs = needs.into_values().collect();
        goal.behind = behind;
        goal.guards = guards;
        goal.callers = callers;
    }

    /// What several sides of branches demand, each by itself, of the same variable, as in
    /// `state == 2 || state == 3`.
    fn common(&mut self, function: FunctionId, sides: &[(Site, u32)]) -> Option<Demand> {
        let mut first = None;
        let mut tests = Vec::new();
        for &(branch, side) in sides {
            let demands = demands(self.facts.program, branch, side as usize);
            let [Demand { value, test }] = &demands[..] else {
                return None;
            };
            let own = self.sources(function, *value)?;
            let (_, sources) = first.get_or_insert_with(|| (*value, own.clone()));
            if *sources != own {
                return None;
            }
            tests.push(test.clone());
        }
        let (value, _) = first?;
        let test = Test::Any(tests);
        Some(Demand { value, test })
    }

    /// Two branches test the same variable. It may change between them, and then the nearer one counts;
    /// but if a definition satisfies both, one that does is meant.
    fn both(&mut self, function: FunctionId, further: &Demand, nearer: &Need) -> Option<Need> {
        let sources = self.sources(function, further.value)?;
        let tests = vec![nearer.test.clone(), further.test.clone()];
        let test = Test::All(tests);
        let value = further.value;
        let holds = |definition: &Definition| match definition.effect {
            Effect::Set(value) => test.holds(value),
            _ => false,
        };
        let possible =
            sources.list.iter().any(holds) || sources.initial.is_some_and(|v| test.holds(v));
        let demand = Demand {
            value,
            test: test.clone(),
        };
        possible.then(|| self.need(function, &demand)).flatten()
    }

    /// The sites of all that is come to only by way of a node.
    fn region(&self, function: FunctionId, above: Node) -> Regions {
        let graphs = self.facts.graphs;
        let flow = graphs.flow.function(function);
        let dominators = self.facts.dominators(function);
        let inside = flow
            .graph
            .nodes()
            .filter(|node| dominators.dominates(above, *node));
        let segments = inside.map(|node| graphs.flow.segment(flow.segment(node)));
        segments
            .map(|segment| (segment.first.0, segment.last.0))
            .collect()
    }

    fn sources(&mut self, function: FunctionId, value: Value) -> Option<Definitions> {
        let facts = self.facts;
        let sources = self.sources.entry((function, value));
        let sources = sources.or_insert_with(|| definitions(facts, function, value));
        sources.clone()
    }

    fn guard(
        &mut self,
        function: FunctionId,
        branch: Site,
        node: Option<Node>,
        demand: &Demand,
    ) -> Option<Guard> {
        let sources = self.sources(function, demand.value)?;
        let mut calls: Vec<u32> = sources
            .list
            .iter()
            .filter_map(|d| Some(d.call?.0))
            .collect();
        calls.sort_unstable();
        calls.dedup();
        let block = self.facts.covered_by(branch)?;
        // What any input passes that is not empty is no obstacle.
        let telling = (1..=FEW).any(|result| !demand.test.holds(result));
        (telling && !calls.is_empty()).then(|| Guard {
            branch: branch.0,
            block,
            calls,
            wanted: demand.test.example(),
            behind: node.map_or(Vec::new(), |node| self.region(function, node)),
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
        if sources.vague
            || list.iter().all(|d| d.effect == Effect::Unknown)
            || list.iter().all(holds) && sources.initial.is_none_or(|v| test.holds(v))
        {
            return None;
        }
        let web = self.web(&sources);
        let mut by: Vec<(GoalId, Effect)> = Vec::new();
        let once = self
            .starts
            .iter()
            .map(|id| self.facts.program.function(*id));
        let once: Vec<BlockId> = once.map(|start| start.first_block).collect();
        for definition in list.iter().filter(|d| counts || holds(d)) {
            // Every path has come by there and none does again. What comes from outside may be otherwise.
            if once.contains(&definition.spot.block) && definition.effect != Effect::Unknown {
                continue;
            }
            let mut outcomes = Vec::new();
            let effect = definition.effect;
            outcomes_of(effect, &sources.choices, &mut Vec::new(), &mut outcomes);
            for (effect, such) in outcomes {
                if matches!(effect, Effect::Set(value) if !such.is_empty() && !test.holds(value)) {
                    continue;
                }
                // A goal that is not followed any more would count as impossible.
                let goal = self.goal(Wanted {
                    spot: definition.aim(),
                    via: definition.via,
                    such,
                })?;
                by.push((goal, effect));
            }
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
        let call = self.handed_back(sources);
        if call.is_some() || !sources.lasting {
            self.plan.momentary.insert(web, call.map(|call| call.0));
        }
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
        // What is lost again is none.
        let first = sources.list.iter();
        let first = first.min_by_key(|d| (d.taken.is_some(), d.spot.block));
        let first = first.and_then(|d| effects.get(&self.facts.number_of(d.spot)?));
        let guess = first.and_then(|effect| effect.on(None));
        self.plan.initial[web.0 as usize] = sources.initial.or(guess);
        for (block, effect) in effects {
            let list = self.plan.effects.entry(block).or_default();
            list.push((web, effect));
        }
        web
    }

    /// The call that a variable is the result of, if it is one of several of that function.
    fn handed_back(&self, sources: &Definitions) -> Option<Site> {
        let (first, others) = sources.list.split_first()?;
        let call = first.via?;
        let same = others.iter().all(|other| other.via == Some(call));
        (same && self.is_one_of_many(first.spot, call)).then_some(call)
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
        let sources = self.sources(choice.function, *value);
        let Some(sources) = sources.filter(|sources| !sources.vague) else {
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
        let goals: Option<Vec<GoalId>> = spots.map(|spot| self.goal(Wanted::plain(spot))).collect();
        goals.unwrap_or_default()
    }
}

/// What a definition may come to, each with the conditions under which it does.
fn outcomes_of(
    effect: Effect,
    choices: &[Choice],
    such: &mut Such,
    found: &mut Vec<(Effect, Such)>,
) {
    let Effect::Choose(number) = effect else {
        return found.push((effect, such.clone()));
    };
    let choice = choices[number as usize];
    for (outcome, effect) in [(true, choice.yes), (false, choice.no)] {
        such.push((choice.function, choice.condition, outcome));
        outcomes_of(effect, choices, such, found);
        such.pop();
    }
}
