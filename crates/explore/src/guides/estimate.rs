//! How many goals are left until one can be reached.

use super::conditions::Test;
use super::plan::{Alternative, Effect, Goal, GoalId, Need, Plan, UNPLANNED, Values};

/// What a definition counts for from which nobody knows what will come, and one that would bring
/// something else as things are.
const DOUBTFUL: u32 = 2;
const UNLIKELY: u32 = 4;
/// Nothing is waited for that has to happen more often.
const MOST_TIMES: u32 = 256;

/// Further than anything.
const NEVER: u32 = u32::MAX;

/// What it takes to reach a goal once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again {
    cost: u32,
    /// A path has been there, and it is known how things were then.
    seen: bool,
}

/// One or two goals that meet a need, each with how often it must be reached.
#[derive(Clone, Copy, Debug, Default)]
struct Remedy {
    goals: [Option<(GoalId, u32)>; 2],
    /// With all before them.
    cost: u32,
}

impl Remedy {
    const NONE: Remedy = Remedy {
        goals: [None; 2],
        cost: NEVER,
    };

    fn of(goal: GoalId, count: u32, left: &[u32]) -> Remedy {
        Remedy {
            goals: [Some((goal, count)), None],
            cost: left[goal.0 as usize].saturating_add(count),
        }
    }

    fn and(self, next: Remedy) -> Remedy {
        Remedy {
            goals: [self.goals[0], next.goals[0]],
            cost: self.cost.saturating_add(next.cost),
        }
    }

    fn goals(self) -> impl Iterator<Item = (GoalId, u32)> {
        self.goals.into_iter().flatten()
    }
}

impl Plan {
    /// All goals are known: what it takes to reach them can be worked out.
    pub fn finish(mut self) -> Plan {
        let goals = (0..self.goals.len() as u32).map(GoalId);
        let again = goals.map(|goal| {
            let cost = self.estimate(goal, &self.initial).unwrap_or(0);
            // As much as from the start, and what was done has to be undone.
            let cost = cost.saturating_mul(2);
            Again { cost, seen: false }
        });
        self.again = again.collect();
        self
    }

    /// A path has reached a goal, and variables are such before its next decision. Whether more is known
    /// now.
    pub fn came_by(&mut self, goal: GoalId, values: &Values) -> bool {
        let Some(cost) = self.estimate(goal, values) else {
            return false;
        };
        let now = Again { cost, seen: true };
        let known = &mut self.again[goal.0 as usize];
        let better = !known.seen || cost < known.cost;
        if better {
            *known = now;
        }
        better
    }

    /// Goals that count something and are reached by entering a block.
    pub fn counters(&self, block: u32) -> Vec<GoalId> {
        let needs = self.goals.iter().flat_map(|goal| &goal.needs);
        let by = needs.flat_map(|need| &need.by);
        let counting = by.filter(|(_, effect)| matches!(effect, Effect::Add { .. }));
        let mut goals: Vec<GoalId> = counting.map(|(goal, _)| *goal).collect();
        goals.retain(|goal| self.goals[goal.0 as usize].block == Some(block));
        goals.sort_unstable();
        goals.dedup();
        goals
    }

    /// Whether a definition could bring a value for which a test holds.
    fn may_bring(&self, effect: Effect, test: &Test) -> bool {
        match effect {
            Effect::Unknown => true,
            Effect::Set(value) => test.holds(value),
            Effect::Add { .. } => false,
            Effect::Choose(number) => {
                let Alternative { yes, no, .. } = &self.alternatives[number as usize];
                self.may_bring(*yes, test) || self.may_bring(*no, test)
            }
        }
    }

    /// How often a definition has to run, roughly, until what is needed of a variable holds that now has
    /// `value`. `None` if that does not help.
    fn times(&self, effect: Effect, need: &Need, value: u64, values: &Values) -> Option<u32> {
        match effect {
            Effect::Add { .. } => {
                let next = |value: &u64| effect.on(Some(*value));
                let values = std::iter::successors(next(&value), next);
                let mut counted = (1..=MOST_TIMES).zip(values);
                let (times, _) = counted.find(|(_, value)| need.test.holds(*value))?;
                Some(times)
            }
            Effect::Set(_) | Effect::Unknown | Effect::Choose(_) => {
                if !self.may_bring(effect, &need.test) {
                    return None;
                }
                match self.outcome(effect, need.web, values) {
                    Some(value) if need.test.holds(value) => Some(1),
                    Some(_) => Some(UNLIKELY),
                    None => Some(DOUBTFUL),
                }
            }
        }
    }

    /// What meets a need soonest: goals, each with how often it must be reached, and how many goals that
    /// is with all before them, each counted for itself. Nothing if it is met or may be.
    fn remedy(&self, need: &Need, values: &Values, left: &[u32]) -> Remedy {
        let Some(value) = values[need.web.0 as usize] else {
            return Remedy::default();
        };
        let counted = |value: u64| {
            let ways = need.by.iter().filter_map(|&(goal, effect)| {
                let times = self.times(effect, need, value, values)?;
                let again = self.again.get(goal.0 as usize);
                let again = again.map_or(0, |again| again.cost);
                let repeated = match effect {
                    Effect::Add { .. } => (times - 1).saturating_mul(again.min(UNPLANNED) + 1),
                    _ => 0,
                };
                Some(Remedy::of(goal, times.saturating_add(repeated), left))
            });
            ways.min_by_key(|remedy| remedy.cost)
                .unwrap_or(Remedy::NONE)
        };
        // What is set to a wrong value may be counted on from there.
        let set = need.by.iter().filter_map(|&(goal, effect)| match effect {
            Effect::Set(set) if !need.test.holds(set) => {
                Some(Remedy::of(goal, 1, left).and(counted(set)))
            }
            _ => None,
        });
        let set = set.min_by_key(|remedy| remedy.cost).unwrap_or(Remedy::NONE);
        std::cmp::min_by_key(counted(value), set, |remedy| remedy.cost)
    }

    /// How many goals have to be reached before one can be. What several need is counted once.
    pub fn estimate(&self, goal: GoalId, values: &Values) -> Option<u32> {
        let left = self.costs(values);
        if left[goal.0 as usize] == NEVER {
            return None;
        }
        let mut seen = vec![false; self.goals.len()];
        let mut counts = vec![0u32; self.goals.len()];
        let mut work = vec![goal];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            let goal = &self.goals[id.0 as usize];
            for need in goal.needs.iter().filter(|need| !need.holds(values)) {
                for (next, count) in self.remedy(need, values, &left).goals() {
                    let counted = &mut counts[next.0 as usize];
                    *counted = count.max(*counted);
                    work.push(next);
                }
            }
            work.extend(goal.callers.iter().min_by_key(|id| left[id.0 as usize]));
        }
        let sum = counts.into_iter().fold(0u32, u32::saturating_add);
        Some(sum)
    }

    /// For each goal: how many other goals have to be reached before it can be. `None`
    /// if no order of goals leads to it.
    pub fn left(&self, values: &Values) -> Vec<Option<u32>> {
        let known = |left: u32| (left != NEVER).then_some(left);
        self.costs(values).into_iter().map(known).collect()
    }

    /// The same, with what several goals need counted several times.
    pub fn costs(&self, values: &Values) -> Vec<u32> {
        let mut left = vec![NEVER; self.goals.len()];
        loop {
            let mut changed = false;
            for (at, goal) in self.goals.iter().enumerate() {
                let now = self.left_for(goal, values, &left);
                if now < left[at] {
                    left[at] = now;
                    changed = true;
                }
            }
            if !changed {
                return left;
            }
        }
    }

    fn left_for(&self, goal: &Goal, values: &Values, left: &[u32]) -> u32 {
        let nearest = |list: &[GoalId]| {
            let list = list.iter().map(|id| left[id.0 as usize]);
            list.min().unwrap_or(NEVER)
        };
        let mut sum = 0u32;
        for need in goal.needs.iter().filter(|need| !need.holds(values)) {
            sum = sum.saturating_add(self.remedy(need, values, left).cost);
        }
        if !goal.callers.is_empty() {
            sum = sum.saturating_add(nearest(&goal.callers));
        }
        sum
    }
}
