//! Which values of input variables make sums lie where conditions want them.
//!
//! Variables get their values one after the other, those with large factors first: what the
//! rest can add at most and at least leaves few values, and for the digits of a number just one.

use super::linear::Demand;
use crate::variables::VarId;
use rustc_hash::FxHashMap;

/// Values tried for variables before the search gives up.
const MOST_STEPS: u32 = 20_000;
/// Solutions that may turn out to be none, because of conditions that are no sums.
const MOST_PROPOSALS: u32 = 24;

/// A variable and its values, in the order in which they are tried.
pub(super) struct Choice {
    pub var: VarId,
    pub values: Vec<i64>,
}

/// Whether a solution of the demands is one of everything.
type Accept<'a> = dyn FnMut(&[(VarId, u64)]) -> bool + 'a;

pub(super) enum Found {
    /// What was accepted last.
    Solution,
    /// The demands contradict each other.
    Contradiction,
    Nothing,
}

/// Looks for values that meet all demands and that `accept` takes.
pub(super) fn solve(
    demands: &[Demand],
    mut choices: Vec<Choice>,
    accept: &mut Accept<'_>,
) -> Found {
    let mut weight: FxHashMap<VarId, u64> = FxHashMap::default();
    for &(var, factor) in demands.iter().flat_map(|demand| &demand.parts) {
        let most = weight.entry(var).or_default();
        *most = factor.unsigned_abs().max(*most);
    }
    choices.sort_by_key(|choice| (std::cmp::Reverse(weight.get(&choice.var)), choice.var));
    let lines = demands.iter().map(|demand| Line::new(demand, &choices));
    let mut search = Search {
        lines: lines.collect(),
        chosen: Vec::with_capacity(choices.len()),
        choices,
        steps: 0,
        proposals: 0,
        accept,
    };
    match search.descend() {
        Some(true) => Found::Solution,
        Some(false) if search.proposals == 0 => Found::Contradiction,
        _ => Found::Nothing,
    }
}

/// A demand, with a factor for each variable in order.
struct Line {
    factors: Vec<i128>,
    /// What the variables from each one on can add, at least and at most.
    rest: Vec<(i128, i128)>,
    low: i128,
    high: i128,
    outside: bool,
}

impl Line {
    fn new(demand: &Demand, choices: &[Choice]) -> Line {
        let parts: FxHashMap<VarId, i64> = demand.parts.iter().copied().collect();
        let factor = |choice: &Choice| parts.get(&choice.var).copied().unwrap_or(0).into();
        let factors: Vec<i128> = choices.iter().map(factor).collect();
        let (low, high) = demand.loose;
        let mut rest = vec![(i128::from(low), i128::from(high))];
        for (choice, factor) in choices.iter().zip(&factors).rev() {
            let ends = [choice.values.iter().min(), choice.values.iter().max()];
            let ends = ends.map(|end| i128::from(end.copied().unwrap_or(0)) * factor);
            let (low, high) = rest[rest.len() - 1];
            rest.push((low + ends[0].min(ends[1]), high + ends[0].max(ends[1])));
        }
        rest.reverse();
        Line {
            factors,
            rest,
            low: demand.low,
            high: demand.high,
            outside: demand.outside,
        }
    }

    /// Whether the variables behind the first `count` can still bring the sum where it should be.
    fn allows(&self, sum: i128, count: usize) -> bool {
        let (low, high) = (sum + self.rest[count].0, sum + self.rest[count].1);
        if self.outside {
            low < self.low || high > self.high
        } else {
            low <= self.high && high >= self.low
        }
    }
}

struct Search<'a, 'b> {
    lines: Vec<Line>,
    choices: Vec<Choice>,
    chosen: Vec<i64>,
    steps: u32,
    proposals: u32,
    accept: &'a mut Accept<'b>,
}

impl Search<'_, '_> {
    /// `Some(true)`: `chosen` is a solution; `None`: it takes too long.
    fn descend(&mut self) -> Option<bool> {
        let sums = vec![0i128; self.lines.len()];
        let possible = self.lines.iter().all(|line| line.allows(0, 0));
        if !possible {
            return Some(false);
        }
        self.choose(&sums)
    }

    fn choose(&mut self, sums: &[i128]) -> Option<bool> {
        let at = self.chosen.len();
        if at == self.choices.len() {
            let chosen = self.chosen.iter().zip(&self.choices);
            let values: Vec<(VarId, u64)> = chosen.map(|(v, c)| (c.var, *v as u64)).collect();
            if (self.accept)(&values) {
                return Some(true);
            }
            self.proposals += 1;
            return (self.proposals < MOST_PROPOSALS).then_some(false);
        }
        for n in 0..self.choices[at].values.len() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            let value = self.choices[at].values[n];
            let lines = self.lines.iter().zip(sums);
            let next = lines.map(|(line, sum)| {
                let sum = sum + line.factors[at] * i128::from(value);
                line.allows(sum, at + 1).then_some(sum)
            });
            let Some(next) = next.collect::<Option<Vec<i128>>>() else {
                continue;
            };
            self.chosen.push(value);
            let found = self.choose(&next);
            if found != Some(false) {
                return found;
            }
            self.chosen.pop();
        }
        Some(false)
    }
}
