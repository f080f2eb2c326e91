//! How many goals are left before each one, at some values of the variables.

use super::outcomes::Effect;
use super::plan::{Goal, GoalId, Need, Plan, UNPLANNED, Values};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Further than anything.
const NEVER: u32 = u32::MAX;

/// Values that are remembered; all are forgotten once there are more.
const MOST_KNOWN: usize = 1 << 13;

/// What was worked out already. All targets of a version ask about the same values.
#[derive(Default)]
pub struct Lefts {
    known: FxHashMap<Values, Arc<[Option<u32>]>>,
}

impl Lefts {
    pub fn at(&mut self, plan: &Plan, values: &Values) -> Arc<[Option<u32>]> {
        if let Some(known) = self.known.get(values) {
            return known.clone();
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let left: Arc<[Option<u32>]> = plan.left(values).into();
        self.known.insert(values.clone(), left.clone());
        left
    }
}

/// A goal, and what it counts for besides what is left before it.
type Way = (GoalId, u32);

/// A need that is not met.
struct Lack {
    ways: Vec<Way>,
    /// What is set to a wrong value may be counted on from there.
    set: Vec<(GoalId, Vec<Way>)>,
}

impl Lack {
    /// How many goals have to be reached until it is met, counting a goal as often as it must be.
    fn left(&self, left: &[u32]) -> u32 {
        let nearest = |ways: &[Way]| {
            let ways = ways.iter();
            let ways = ways.map(|(goal, count)| left[goal.0 as usize].saturating_add(*count));
            ways.min().unwrap_or(NEVER)
        };
        let set = self.set.iter().map(|(goal, ways)| {
            let before = left[goal.0 as usize].saturating_add(1);
            before.saturating_add(nearest(ways))
        });
        nearest(&self.ways).min(set.min().unwrap_or(NEVER))
    }
}

impl Plan {
    /// For each goal: how many other goals have to be reached before it can be. `None`
    /// if no order of goals leads to it.
    pub fn left(&self, values: &Values) -> Vec<Option<u32>> {
        let mut left = vec![NEVER; self.goals.len()];
        // What the values say is worked out once, not each time that less turns out to be left.
        let mut waiting: Vec<(usize, &Goal, Vec<Lack>)> = Vec::new();
        for (at, goal) in self.goals.iter().enumerate() {
            let lacks: Vec<Lack> = self.lacks(goal, values).collect();
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
                    now = now.saturating_add(lack.left(&left));
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
                let known = |left: u32| (left != NEVER).then_some(left);
                return left.into_iter().map(known).collect();
            }
        }
    }

    fn lacks(&self, goal: &Goal, values: &Values) -> impl Iterator<Item = Lack> {
        let needs = goal.needs.iter();
        needs.filter_map(|need| {
            let value = values[need.web.0 as usize]?;
            (!need.test.holds(value)).then(|| self.lack(need, value, values))
        })
    }

    fn lack(&self, need: &Need, value: u64, values: &Values) -> Lack {
        let set = need.by.iter().filter_map(|&(goal, effect)| match effect {
            Effect::Set(set) if !need.test.holds(set) => Some((goal, self.ways(need, set, values))),
            _ => None,
        });
        Lack {
            set: set.collect(),
            ways: self.ways(need, value, values),
        }
    }

    /// What would bring what is needed of a variable that has `value`.
    fn ways(&self, need: &Need, value: u64, values: &Values) -> Vec<Way> {
        let ways = need.by.iter().filter_map(|&(goal, effect)| {
            let times = self.times(effect, need, value, values)?;
            let again = self.again.get(goal.0 as usize).copied().unwrap_or(0);
            let repeated = match effect {
                Effect::Add { .. } => (times - 1).saturating_mul(2 * again.min(UNPLANNED) + 1),
                _ => 0,
            };
            Some((goal, times.saturating_add(repeated)))
        });
        ways.collect()
    }
}
