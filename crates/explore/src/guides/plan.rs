//! What has to happen before a target can run, as plain tables.
//!
//! The way to a target may lead over branches that the input does not decide
//! directly, such as `state == 3`. Which of the *definitions* of such a variable ran
//! last is known from the marks of a path; those that would satisfy the branch
//! are goals of their own, with needs of their own, and so on. How many goals are
//! left is what a flip is judged by first; only then comes the distance.

use super::conditions::Test;
use super::estimate::{Again, Known};
pub use super::outcomes::{Alternative, Effect};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// A variable: everything that can define one value that a branch tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Web(pub u32);

/// First and last sites of pieces of a program.
pub type Regions = Vec<(u32, u32)>;

/// Number of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GoalId(pub u32);

/// A place that is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// Its number among the coverage bytes; none if it has none.
    pub block: Option<u32>,
    /// All of these must hold.
    pub needs: Vec<Need>,
    /// By variables that say nothing once they were tested: first and last sites of what only runs once the
    /// test has come out right.
    pub behind: BTreeMap<Web, Regions>,
    /// The branches before it whose conditions come from outside of the program.
    pub guards: Vec<Guard>,
    /// One of these must run, if there are any: what calls the function around it.
    pub callers: Vec<GoalId>,
    /// It is to run for one call of its function.
    pub via: Option<Via>,
    pub distances: Distances,
}

/// A call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via {
    pub call: u32,
    /// First and last site of the function.
    pub sites: (u32, u32),
}

/// A branch that is decided by what a call of something outside of the program gave. If the
/// input does not show up in its condition, then other results of the call are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub branch: u32,
    /// The coverage byte of the branch's block.
    pub block: u32,
    /// Sites of such calls.
    pub calls: Vec<u32>,
    /// A result that would do.
    pub wanted: Option<u64>,
    /// First and last sites of what only runs once the branch has gone the right way.
    pub behind: Regions,
}

/// A variable must be such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub web: Web,
    pub test: Test,
    /// Definitions that bring such a value or may do so, alone or by running several times.
    pub by: Vec<(GoalId, Effect)>,
}

/// How many decisions lie between a place and the goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// By the site of a branch: distance, and which of its sides lead there, as bits.
    pub branches: HashMap<u32, (u32, u64)>,
    /// By the site of a call whose insides are not part of the program.
    pub calls: HashMap<u32, u32>,
}

/// One version's goals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub goals: Vec<Goal>,
    /// What the variables are at the start; `None` if that is not known.
    pub initial: Vec<Option<u64>>,
    /// What entering a block makes of variables.
    pub effects: BTreeMap<u32, Vec<(Web, Effect)>>,
    /// Variables that are computed anew whenever they are tested, so that what they were last says
    /// nothing. If one is what one of several calls of a function hands back: that call, since the marks
    /// in the function do not tell the calls apart.
    pub momentary: HashMap<Web, Option<u32>>,
    pub alternatives: Vec<Alternative>,
    /// For each goal what it takes to reach it once more, roughly.
    pub again: Vec<Again>,
    pub(super) known: Known,
}

/// What variables are on a path, as far as it is known.
pub type Values = Vec<Option<u64>>;

impl Plan {
    /// A path enters a block.
    pub fn enter(&self, values: &mut Values, block: u32) {
        self.apply(values, block, |web| !self.is_momentary(web));
    }

    /// A path is about to enter a goal.
    fn reach(&self, values: &mut Values, goal: &Goal) -> Option<()> {
        let call = goal.via.map(|via| via.call);
        self.apply(values, goal.block?, |web| match self.momentary.get(&web) {
            None | Some(None) => true,
            Some(own) => *own == call,
        });
        Some(())
    }

    fn apply(&self, values: &mut Values, block: u32, heeded: impl Fn(Web) -> bool) {
        let Some(effects) = self.effects.get(&block) else {
            return;
        };
        let known = effects.iter().filter(|(web, _)| heeded(*web));
        // All at once: none sees what the others do.
        let after: Vec<(Web, Option<u64>)> = known
            .map(|(web, effect)| (*web, self.outcome(*effect, *web, values)))
            .collect();
        for (web, value) in after {
            values[web.0 as usize] = value;
        }
    }

    pub(super) fn outcome(&self, effect: Effect, web: Web, values: &Values) -> Option<u64> {
        match effect {
            Effect::Choose(number) => {
                let Alternative {
                    web: by,
                    test,
                    yes,
                    no,
                } = &self.alternatives[number as usize];
                let holds = test.holds(values[by.0 as usize]?);
                self.outcome(if holds { *yes } else { *no }, web, values)
            }
            _ => effect.on(values[web.0 as usize]),
        }
    }

    /// Whether the variables that a goal needs are as they should be.
    pub fn is_open(&self, goal: GoalId, values: &Values) -> bool {
        let goal = &self.goals[goal.0 as usize];
        // What is still to be computed nobody has lost yet.
        let mut lasting = goal
            .needs
            .iter()
            .filter(|need| !self.is_momentary(need.web));
        lasting.all(|need| need.holds(values))
    }

    /// Whether something that a goal needs can be lost.
    pub fn can_close(&self, goal: GoalId) -> bool {
        let goal = &self.goals[goal.0 as usize];
        goal.needs.iter().any(|need| !self.is_momentary(need.web))
    }

    fn is_momentary(&self, web: Web) -> bool {
        self.momentary.contains_key(&web)
    }

    /// What reaching each goal would be good for.
    pub fn situation(&self, target: GoalId, values: &Values) -> Situation {
        let now = self.costs(values);
        let helpful = self.leading_to(target);
        let before = self.estimate(target, values);
        let after = (0u32..).zip(&self.goals).map(|(at, goal)| {
            let id = GoalId(at);
            // Something else has to come first.
            if now[at as usize] != 0 || !helpful[at as usize] {
                return None;
            }
            if id == target {
                return Some(0);
            }
            let after = self.left_after(goal, values, target)? + 1;
            before.is_none_or(|before| after <= before).then_some(after)
        });
        Situation {
            after: after.collect(),
            left: before.map_or(UNPLANNED, |before| (before + 1).min(UNPLANNED - 1)),
            values: values.clone(),
            before,
            at_once: helpful
                .iter()
                .map(|helpful| match helpful {
                    true => OnceCell::new(),
                    false => OnceCell::from(None),
                })
                .collect(),
        }
    }

    /// How many goals are left once a goal is reached that a decision leads to directly. Whoever
    /// makes that decision has come past all that guards it.
    fn after_at_once(&self, id: GoalId, target: GoalId, situation: &Situation) -> Option<u32> {
        let after = || {
            if id == target {
                return Some(0);
            }
            let goal = &self.goals[id.0 as usize];
            let mut values = situation.values.clone();
            let around = goal.callers.iter().filter(|_| goal.via.is_some());
            let around = around.map(|caller| &self.goals[caller.0 as usize]);
            let passed = around.chain([goal]).flat_map(|goal| &goal.needs);
            for need in passed.filter(|need| !need.holds(&situation.values)) {
                values[need.web.0 as usize] = need.test.example();
            }
            self.reach(&mut values, goal)?;
            let after = self.estimate(target, &values)? + 1;
            let before = situation.before;
            before.is_none_or(|before| after <= before).then_some(after)
        };
        *situation.at_once[id.0 as usize].get_or_init(after)
    }

    /// How good it is for `target` if a decision is made otherwise. Smaller is better;
    /// `None` if it has no say.
    ///
    /// `is_stuck`: a branch was tested, and its condition did not depend on the input.
    pub fn judge(
        &self,
        target: GoalId,
        place: Place,
        situation: &Situation,
        is_stuck: impl Fn(&Guard) -> bool,
    ) -> Option<Key> {
        let goals = (0u32..).zip(&self.goals).zip(&situation.after);
        let keys = goals.filter_map(|((at, goal), after)| {
            if goal.via.is_some_and(|via| via.excludes(place)) {
                return None;
            }
            let after = match after {
                Some(after) => *after,
                None if goal.distances.of(place) == Some(Distances::NEXT)
                    || goal.has_passed(place, &situation.values) =>
                {
                    self.after_at_once(GoalId(at), target, situation)?
                }
                None => return None,
            };
            let mut stuck = goal
                .guards
                .iter()
                .filter(|guard| !place.is_inside(&guard.behind) && is_stuck(guard))
                .peekable();
            if stuck.peek().is_none() {
                let (goals, distance) = (after, goal.distances.of(place)?);
                return Some(Key { goals, distance });
            }
            let call = if place.caller != 0 {
                place.caller
            } else {
                place.site
            };
            if stuck.any(|guard| guard.calls.contains(&call)) {
                let (goals, distance) = (after, 0);
                return Some(Key { goals, distance });
            }
            let (goals, distance) = (after + 1, goal.distances.of(place)?);
            Some(Key { goals, distance })
        });
        keys.min_by_key(|key| key.rank()).or_else(|| {
            // Nothing that is next, but the place may still lead there.
            let distance = self.goals[target.0 as usize].distances.of(place)?;
            let goals = situation.left;
            Some(Key { goals, distance })
        })
    }

    /// What the call at a decision's place should give so that a branch before what is next goes
    /// the right way.
    pub fn wanted(
        &self,
        place: Place,
        situation: &Situation,
        is_stuck: impl Fn(&Guard) -> bool,
    ) -> Option<u64> {
        let call = if place.caller != 0 {
            place.caller
        } else {
            place.site
        };
        let next = self.goals.iter().zip(&situation.after);
        let mut next: Vec<_> = next
            .filter_map(|(goal, after)| Some(((*after)?, goal)))
            .collect();
        next.sort_by_key(|(after, _)| *after);
        let guards = next.iter().flat_map(|(_, goal)| &goal.guards);
        let mut guards = guards.filter(|guard| is_stuck(guard) && guard.calls.contains(&call));
        guards.find_map(|guard| guard.wanted)
    }

    fn left_after(&self, goal: &Goal, values: &Values, target: GoalId) -> Option<u32> {
        let mut values = values.clone();
        self.reach(&mut values, goal)?;
        self.estimate(target, &values)
    }

    /// Whether the side of a decision leads to the target or to something it needs.
    pub fn leads(&self, target: GoalId, place: Place) -> bool {
        let helpful = self.leading_to(target);
        let mut goals = self.goals.iter().zip(helpful);
        goals.any(|(goal, helpful)| {
            let leads = |&(_, sides): &(u32, u64)| {
                place
                    .side
                    .is_some_and(|side| sides >> side.min(63) & 1 == 1)
            };
            helpful && goal.distances.branches.get(&place.site).is_some_and(leads)
        })
    }

    /// The variables that goals which lead to `target` need.
    pub fn webs_before(&self, target: GoalId) -> Vec<usize> {
        let goals = self.goals.iter().zip(self.leading_to(target));
        let goals = goals.filter(|(_, leads)| *leads);
        let needs = goals.flat_map(|(goal, _)| &goal.needs);
        // What is chosen by others depends on these, too.
        let chosen = self.alternatives.iter().map(|alternative| alternative.web);
        let webs = needs.map(|need| need.web).chain(chosen);
        let mut webs: Vec<usize> = webs.map(|web| web.0 as usize).collect();
        webs.sort_unstable();
        webs.dedup();
        webs
    }

    /// Goals that lead to `target`, itself included.
    pub fn leading_to(&self, target: GoalId) -> Vec<bool> {
        let mut leads = vec![false; self.goals.len()];
        let mut work = vec![target];
        leads[target.0 as usize] = true;
        while let Some(id) = work.pop() {
            let goal = &self.goals[id.0 as usize];
            let needed = goal.needs.iter().flat_map(|need| &need.by);
            let needed = needed.map(|(next, _)| next);
            for &next in needed.chain(&goal.callers) {
                if !std::mem::replace(&mut leads[next.0 as usize], true) {
                    work.push(next);
                }
            }
        }
        leads
    }
}

/// Goals that are left when no order of them is known.
pub const UNPLANNED: u32 = 500;

/// What is to be done at some values of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// For each goal that can be the next: how many are left once it is reached.
    after: Vec<Option<u32>>,
    /// How many are left now.
    left: u32,
    /// The same without the target, if it is known.
    before: Option<u32>,
    values: Values,
    /// For goals that are not next as far as is known, but may be for who is about to enter them: how many
    /// are left then. Worked out when it is asked for.
    at_once: Vec<OnceCell<Option<u32>>>,
}

impl Situation {
    /// How many goals are left, the target included.
    pub fn left(&self) -> u32 {
        self.left
    }
}

/// How good a flip is: first the goals left after it, then the decisions to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub goals: u32,
    pub distance: u32,
}

impl Key {
    /// What one more goal adds to a rank.
    pub const GOAL: u32 = 1 << 12;

    /// Goals that a side counts for which does not lead to what is next, only back to where it can be
    /// decided again.
    const ASTRAY: u32 = 3;

    pub fn rank(self) -> u32 {
        // See `Distances::of`.
        let leads = self.distance.is_multiple_of(2);
        let goals = self.goals + if leads { 0 } else { Key::ASTRAY };
        goals.min(0xffff) * Key::GOAL + self.distance.min(Key::GOAL - 1)
    }
}

/// Where a decision is made, and which side of it is to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub site: u32,
    pub caller: u32,
    /// In a function that stands in place of a call: the site of that call, else 0.
    pub within: u32,
    /// Position among the branch's sides, if it is known.
    pub side: Option<u32>,
}

impl Place {
    fn is_inside(self, regions: &Regions) -> bool {
        let sites = [self.within, self.caller, self.site];
        let mut regions = regions.iter();
        regions.any(|(first, last)| sites.iter().any(|site| (first..=last).contains(&site)))
    }
}

impl Distances {
    /// One decision, and the right side of it.
    const NEXT: u32 = 2;

    /// Twice the number of decisions; a side that does not lead there itself comes
    /// after one that does.
    pub fn of(&self, place: Place) -> Option<u32> {
        if place.caller != 0 {
            return self.calls.get(&place.caller).map(|distance| 2 * distance);
        }
        match self.branches.get(&place.site) {
            Some(&(distance, sides)) => {
                let leads = place.side.is_none_or(|side| sides >> side.min(63) & 1 == 1);
                Some(2 * distance + u32::from(!leads))
            }
            None => self.calls.get(&place.site).map(|distance| 2 * distance),
        }
    }

    /// Without looking at sides.
    pub fn of_branch(&self, place: Place) -> Option<u32> {
        let site = if place.caller != 0 {
            place.caller
        } else {
            place.site
        };
        let branch = self.branches.get(&site).map(|(distance, _)| *distance);
        branch.or_else(|| self.calls.get(&site).copied())
    }
}

impl Goal {
    /// Whether who is at a place has come past all that was still missing.
    fn has_passed(&self, place: Place, values: &Values) -> bool {
        let missing = self.needs.iter().filter(|need| !need.holds(values));
        let mut missing = missing.map(|need| self.behind.get(&need.web)).peekable();
        missing.peek().is_some()
            && missing.all(|regions| regions.is_some_and(|regions| place.is_inside(regions)))
    }
}

impl Via {
    /// Whether a place is in the function, but in another call of it.
    fn excludes(self, place: Place) -> bool {
        let (first, last) = self.sites;
        let inside = (first..=last).contains(&place.site);
        inside && place.caller == 0 && place.within != 0 && place.within != self.call
    }
}

impl Need {
    /// A value that is not known may be the right one.
    pub fn holds(&self, values: &Values) -> bool {
        values[self.web.0 as usize].is_none_or(|value| self.test.holds(value))
    }
}

#[cfg(test)]
mod tests;
