//! How many goals are left until one can be reached.

use super::plan::{Effect, Goal, GoalId, Need, Plan, UNPLANNED, Values};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// What a definition counts for from which nobody knows what will come.
const DOUBTFUL: u32 = 2;
/// Nothing is waited for that has to happen more often.
const MOST_TIMES: u32 = 256;

/// Further than anything.
const NEVER: u32 = u32::MAX;

/// Values for which the costs are remembered; all are forgotten once there are more.
const MOST_KNOWN: usize = 1 << 13;

/// What was worked out already, by values: all targets of a version ask about the same.
pub type Known = RefCell<FxHashMap<Values, Arc<[u32]>>>;

/// What it takes to reach a goal once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again {
    cost: u32,
    /// A path has been there, and it is known how things were then.
    seen: bool,
}

/// One or two goals that meet a need, each with how often it must be reached.
#[derive(Clone, Copy, Debug)]
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

/// A goal, and how often it must be reached.
type Way = (GoalId, u32);

/// A need that is not met.
struct Lack {
    ways: Vec<Way>,
    /// What is set to a wrong value may be counted on from there.
    set: Vec<(GoalId, Vec<Way>)>,
}

impl Lack {
    /// What meets it soonest.
    fn remedy(&self, left: &[u32]) -> Remedy {
        let nearest = |ways: &[Way]| {
            let ways = ways
                .iter()
                .map(|(goal, count)| Remedy::of(*goal, *count, left));
            ways.min_by_key(|remedy| remedy.cost)
                .unwrap_or(Remedy::NONE)
        };
        let set = self.set.iter();
        let set = set.map(|(goal, ways)| Remedy::of(*goal, 1, left).and(nearest(ways)));
        let set = set.min_by_key(|remedy| remedy.cost).unwrap_or(Remedy::NONE);
        std::cmp::min_by_key(nearest(&self.ways), set, |remedy| remedy.cost)
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
        self.known.borrow_mut().clear();
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
            self.known.borrow_mut().clear();
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

    /// How often a definition has to run, roughly, until what is needed of a variable holds that now has
    /// `value`. `None` if that does not help.
    fn times(effect: Effect, need: &Need, value: u64) -> Option<u32> {
        match effect {
            Effect::Add { .. } => {
                let next = |value: &u64| effect.on(Some(*value));
                let values = std::iter::successors(next(&value), next);
                let mut counted = (1..=MOST_TIMES).zip(values);
                let (times, _) = counted.find(|(_, value)| need.test.holds(*value))?;
                Some(times)
            }
            Effect::Set(value) => need.test.holds(value).then_some(1),
            // As a goal, a choice is the side of it that is wanted.
            Effect::Unknown | Effect::Choose(_) => Some(DOUBTFUL),
        }
    }

    /// What would meet a need that is not met; nothing if it is met or may be.
    fn lack(&self, need: &Need, values: &Values) -> Option<Lack> {
        let value = values[need.web.0 as usize]?;
        if need.test.holds(value) {
            return None;
        }
        let set = need.by.iter().filter_map(|&(goal, effect)| match effect {
            Effect::Set(set) if !need.test.holds(set) => Some((goal, self.ways(need, set))),
            _ => None,
        });
        Some(Lack {
            ways: self.ways(need, value),
            set: set.collect(),
        })
    }

    /// What would bring what is needed of a variable that has `value`.
    fn ways(&self, need: &Need, value: u64) -> Vec<Way> {
        let ways = need.by.iter().filter_map(|&(goal, effect)| {
            let times = Plan::times(effect, need, value)?;
            let again = self.again.get(goal.0 as usize);
            let again = again.map_or(0, |again| again.cost);
            let repeated = match effect {
                Effect::Add { .. } => (times - 1).saturating_mul(again.min(UNPLANNED) + 1),
                _ => 0,
            };
            Some((goal, times.saturating_add(repeated)))
        });
        ways.collect()
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
            let lacks = goal.needs.iter().filter_map(|need| self.lack(need, values));
            for lack in lacks {
                for (next, count) in lack.remedy(&left).goals() {
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

    /// For each goal: how many other goals have to be reached before it can be, with what several need
    /// counted several times.
    pub fn costs(&self, values: &Values) -> Arc<[u32]> {
        if let Some(known) = self.known.borrow().get(values) {
            return known.clone();
        }
        let costs: Arc<[u32]> = self.worked_out(values).into();
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(values.clone(), costs.clone());
        costs
    }

    fn worked_out(&self, values: &Values) -> Vec<u32> {
        let mut left = vec![NEVER; self.goals.len()];
        // What the values say is worked out once, not each time that less turns out to be left.
        let mut waiting: Vec<(usize, &Goal, Vec<Lack>)> = Vec::new();
        for (at, goal) in self.goals.iter().enumerate() {
            let lacks = goal.needs.iter().filter_map(|need| self.lack(need, values));
            let lacks: Vec<Lack> = lacks.collect();
            if lacks.is_empty() && goal.callers.is_empty() {
                left[at] = 0;
            } else {
                waiting.push((at, goal, lacks));
            }
        }
        loop {
            let mut changed = false;
            for (at, goal, lacks) in &waiting {
                let mut now = 0u32;
                for lack in lacks {
                    now = now.saturating_add(lack.remedy(&left).cost);
                }
                if !goal.callers.is_empty() {
                    let callers = goal.callers.iter().map(|id| left[id.0 as usize]);
                    now = now.saturating_add(callers.min().unwrap_or(NEVER));
                }
                if now < left[*at] {
                    left[*at] = now;
                    changed = true;
                }
            }
            if !changed {
                return left;
            }
        }
    }
}
