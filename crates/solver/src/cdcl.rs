//! A small conflict-driven SAT solver for the many easy questions.
//!
//! All clauses are definitions of gates, so once the input bits of a question
//! are assigned without conflict, propagation has assigned every gate that
//! matters, and the rest of the instance need not be looked at. A general
//! solver assigns all variables it has ever seen. Questions that turn out to be
//! hard go to CaDiCaL.

mod heap;
mod literal;

use crate::clauses::ClauseSink;
use heap::Heap;
use literal::Lit;
use std::time::Instant;

pub(crate) enum Quick {
    Sat,
    Unsat,
    /// The budget of conflicts or the time is used up.
    Hard,
}

#[derive(Clone, Copy)]
struct Watch {
    clause: u32,
    /// Some other literal of the clause: if it is true the clause need not be read.
    other: Lit,
}

const NO_CLAUSE: u32 = u32::MAX;
/// Learnt clauses kept before the worse half goes.
const MAX_LEARNT: usize = 4000;
const RESTART: u64 = 64;

pub(crate) struct Cdcl {
    /// By literal: 1 true, -1 false, 0 open.
    values: Vec<i8>,
    levels: Vec<u32>,
    reasons: Vec<u32>,
    phases: Vec<bool>,
    activity: Vec<f64>,
    seen: Vec<bool>,
    /// The question for which a variable may be decided.
    candidate: Vec<u32>,
    watches: Vec<Vec<Watch>>,
    /// Clauses one after the other: size, mark, literals. Mark: 0 given,
    /// `u32::MAX` deleted, otherwise learnt with that many levels.
    store: Vec<u32>,
    learnt: Vec<u32>,
    trail: Vec<Lit>,
    limits: Vec<usize>,
    head: usize,
    heap: Heap,
    increment: f64,
    question: u32,
    /// Set when the clauses alone contradict each other.
    contradiction: bool,
    core: Vec<i32>,
    /// Assignments whose consequences were looked at, ever.
    pub work: u64,
    /// How many a question may take before it counts as hard.
    pub patience: u64,
}

impl Cdcl {
    pub fn new() -> Cdcl {
        let mut solver = Cdcl {
            values: Vec::new(),
            levels: Vec::new(),
            reasons: Vec::new(),
            phases: Vec::new(),
            activity: Vec::new(),
            seen: Vec::new(),
            candidate: Vec::new(),
            watches: Vec::new(),
            store: Vec::new(),
            learnt: Vec::new(),
            trail: Vec::new(),
            limits: Vec::new(),
            head: 0,
            heap: Heap::default(),
            increment: 1.0,
            question: 0,
            contradiction: false,
            core: Vec::new(),
            work: 0,
            patience: u64::MAX,
        };
        // Variables are numbered from 1.
        solver.new_variable();
        solver
    }

    pub fn variables(&self) -> usize {
        self.levels.len() - 1
    }

    /// Words of clause memory.
    pub fn size(&self) -> usize {
        self.store.len()
    }

    /// `inputs` are all input bits that the assumptions depend on, as literals
    /// with the value to be tried first.
    pub fn solve(
        &mut self,
        assumptions: &[i32],
        inputs: &[i32],
        conflicts: u64,
        deadline: Instant,
    ) -> Quick {
        self.backtrack(0);
        self.core.clear();
        if self.contradiction {
            return Quick::Unsat;
        }
        self.question += 1;
        self.heap.clear();
        for &n in inputs.iter().rev() {
            let lit = Lit::new(n);
            self.phases[lit.var()] = n > 0;
            self.candidate[lit.var()] = self.question;
            self.heap.insert(lit.var(), &self.activity);
        }
        let assumptions: Vec<Lit> = assumptions.iter().map(|&n| Lit::new(n)).collect();
        let (mut found, mut restart) = (0, RESTART);
        let enough = self.work.saturating_add(self.patience);
        loop {
            if let Some(conflict) = self.propagate() {
                found += 1;
                if self.limits.is_empty() {
                    self.contradiction = true;
                    return Quick::Unsat;
                }
                let (clause, level) = self.analyse(conflict);
                self.backtrack(level);
                self.learn(&clause);
                self.increment /= 0.95;
                let late = found % 64 == 0 && Instant::now() >= deadline;
                if late || found >= conflicts || self.work >= enough {
                    return Quick::Hard;
                }
                continue;
            }
            if found >= restart && self.limits.len() > assumptions.len() {
                restart = found + RESTART + found / 4;
                self.backtrack(assumptions.len() as u32);
                if self.learnt.len() > MAX_LEARNT {
                    self.reduce();
                }
                continue;
            }
            match self.next(&assumptions) {
                Next::Decide(lit) => {
                    self.limits.push(self.trail.len());
                    self.assign(lit, NO_CLAUSE);
                }
                Next::Skip => self.limits.push(self.trail.len()),
                Next::Done => return Quick::Sat,
                Next::Failed(lit) => {
                    self.explain(lit);
                    return Quick::Unsat;
                }
            }
        }
    }

    /// After `Sat`; `None` if the variable did not matter.
    pub fn value(&self, variable: i32) -> Option<bool> {
        match self.values[Lit::new(variable).0 as usize] {
            0 => None,
            value => Some(value > 0),
        }
    }

    /// After `Unsat`: the assumptions that it rests on.
    pub fn core(&self) -> &[i32] {
        &self.core
    }

    fn next(&mut self, assumptions: &[Lit]) -> Next {
        if let Some(&lit) = assumptions.get(self.limits.len()) {
            return match self.values[lit.0 as usize] {
                1 => Next::Skip,
                -1 => Next::Failed(lit),
                _ => Next::Decide(lit),
            };
        }
        while let Some(var) = self.heap.pop(&self.activity) {
            let positive = Lit((var as u32) << 1);
            if self.values[positive.0 as usize] == 0 {
                return Next::Decide(if self.phases[var] {
                    positive
                } else {
                    !positive
                });
            }
        }
        Next::Done
    }

    fn assign(&mut self, lit: Lit, reason: u32) {
        let var = lit.var();
        self.values[lit.0 as usize] = 1;
        self.values[(!lit).0 as usize] = -1;
        self.levels[var] = self.limits.len() as u32;
        self.reasons[var] = reason;
        self.trail.push(lit);
    }

    fn backtrack(&mut self, level: u32) {
        let level = level as usize;
        if self.limits.len() <= level {
            return;
        }
        let start = self.limits[level];
        for index in (start..self.trail.len()).rev() {
            let lit = self.trail[index];
            let var = lit.var();
            self.values[lit.0 as usize] = 0;
            self.values[(!lit).0 as usize] = 0;
            self.phases[var] = lit.0 & 1 == 0;
            if self.candidate[var] == self.question {
                self.heap.insert(var, &self.activity);
            }
        }
        self.trail.truncate(start);
        self.limits.truncate(level);
        self.head = self.head.min(start);
    }

    /// The clause that is violated, if one is.
    fn propagate(&mut self) -> Option<u32> {
        while self.head < self.trail.len() {
            let falsified = !self.trail[self.head];
            self.head += 1;
            self.work += 1;
            let mut list = std::mem::take(&mut self.watches[falsified.0 as usize]);
            let mut kept = 0;
            let mut conflict = None;
            let mut index = 0;
            while index < list.len() {
                let watch = list[index];
                index += 1;
                if self.values[watch.other.0 as usize] > 0 {
                    list[kept] = watch;
                    kept += 1;
                    continue;
                }
                let at = watch.clause as usize;
                if self.store[at + 1] == u32::MAX {
                    continue;
                }
                let size = self.store[at] as usize;
                let first = at + 2;
                if self.store[first] == falsified.0 {
                    self.store.swap(first, first + 1);
                }
                let other = Lit(self.store[first]);
                let watch = Watch {
                    clause: watch.clause,
                    other,
                };
                if self.values[other.0 as usize] > 0 {
                    list[kept] = watch;
                    kept += 1;
                    continue;
                }
                let open = (first + 2..first + size)
                    .find(|&place| self.values[self.store[place] as usize] >= 0);
                if let Some(place) = open {
                    self.store.swap(first + 1, place);
                    self.watches[self.store[first + 1] as usize].push(watch);
                    continue;
                }
                list[kept] = watch;
                kept += 1;
                if self.values[other.0 as usize] < 0 {
                    conflict = Some(watch.clause);
                    break;
                }
                self.assign(other, watch.clause);
            }
            list.copy_within(index.., kept);
            list.truncate(kept + list.len() - index);
            self.watches[falsified.0 as usize] = list;
            if conflict.is_some() {
                self.head = self.trail.len();
                return conflict;
            }
        }
        None
    }

    fn literals(&self, clause: u32) -> std::ops::Range<usize> {
        let at = clause as usize;
        at + 2..at + 2 + self.store[at] as usize
    }

    /// The first clause below the conflict with one literal of its level (which
    /// comes first), and the level to return to.
    fn analyse(&mut self, conflict: u32) -> (Vec<Lit>, u32) {
        let current = self.limits.len() as u32;
        let mut clause = vec![Lit(0)];
        let mut open = 0;
        let mut index = self.trail.len();
        let mut reason = conflict;
        let mut resolved: Option<Lit> = None;
        loop {
            for place in self.literals(reason) {
                let lit = Lit(self.store[place]);
                let var = lit.var();
                if Some(lit) == resolved || self.seen[var] || self.levels[var] == 0 {
                    continue;
                }
                self.seen[var] = true;
                self.bump(var);
                if self.levels[var] == current {
                    open += 1;
                } else {
                    clause.push(lit);
                }
            }
            loop {
                index -= 1;
                if self.seen[self.trail[index].var()] {
                    break;
                }
            }
            let lit = self.trail[index];
            self.seen[lit.var()] = false;
            open -= 1;
            if open == 0 {
                clause[0] = !lit;
                break;
            }
            resolved = Some(lit);
            reason = self.reasons[lit.var()];
        }
        let all = clause.clone();
        clause.retain(|&lit| lit == all[0] || !self.is_redundant(lit));
        for lit in all {
            self.seen[lit.var()] = false;
        }
        // The second literal has the highest level below.
        let second = (1..clause.len()).max_by_key(|&i| self.levels[clause[i].var()]);
        let level = match second {
            Some(at) => {
                clause.swap(1, at);
                self.levels[clause[1].var()]
            }
            None => 0,
        };
        (clause, level)
    }

    /// Whether a literal follows from others of the learnt clause.
    fn is_redundant(&self, lit: Lit) -> bool {
        let reason = self.reasons[lit.var()];
        reason != NO_CLAUSE
            && self.literals(reason).all(|place| {
                let other = Lit(self.store[place]);
                other.var() == lit.var() || self.seen[other.var()] || self.levels[other.var()] == 0
            })
    }

    fn bump(&mut self, var: usize) {
        self.activity[var] += self.increment;
        if self.activity[var] > 1e100 {
            self.activity
                .iter_mut()
                .for_each(|activity| *activity *= 1e-100);
            self.increment *= 1e-100;
        }
        // Gates inside the question become worth deciding when they conflict.
        self.candidate[var] = self.question;
        self.heap.raise(var, &self.activity);
    }

    fn learn(&mut self, clause: &[Lit]) {
        if let [unit] = clause {
            self.assign(*unit, NO_CLAUSE);
            return;
        }
        let mut levels: Vec<u32> = clause.iter().map(|lit| self.levels[lit.var()]).collect();
        levels.sort_unstable();
        levels.dedup();
        let at = self.attach(clause, levels.len() as u32);
        self.learnt.push(at);
        self.assign(clause[0], at);
    }

    fn attach(&mut self, clause: &[Lit], mark: u32) -> u32 {
        let at = self.store.len() as u32;
        self.store.extend([clause.len() as u32, mark]);
        self.store.extend(clause.iter().map(|lit| lit.0));
        self.watches[clause[0].0 as usize].push(Watch {
            clause: at,
            other: clause[1],
        });
        self.watches[clause[1].0 as usize].push(Watch {
            clause: at,
            other: clause[0],
        });
        at
    }

    /// Forgets the worse half of what was learnt.
    fn reduce(&mut self) {
        let mut learnt = std::mem::take(&mut self.learnt);
        learnt.sort_by_key(|&at| self.store[at as usize + 1]);
        for at in learnt.split_off(learnt.len() / 2) {
            let first = Lit(self.store[at as usize + 2]);
            let is_reason = self.reasons[first.var()] == at && self.values[first.0 as usize] > 0;
            if is_reason || self.store[at as usize + 1] <= 2 {
                learnt.push(at);
            } else {
                self.store[at as usize + 1] = u32::MAX;
            }
        }
        self.learnt = learnt;
    }

    /// The assumptions that imply the negation of a failed one, and itself.
    fn explain(&mut self, failed: Lit) {
        self.core.push(failed.number());
        if self.levels[failed.var()] == 0 {
            return;
        }
        self.seen[failed.var()] = true;
        for index in (self.limits[0]..self.trail.len()).rev() {
            let lit = self.trail[index];
            if !std::mem::replace(&mut self.seen[lit.var()], false) {
                continue;
            }
            match self.reasons[lit.var()] {
                // Below a failed assumption all decisions are assumptions.
                NO_CLAUSE => self.core.push(lit.number()),
                reason => {
                    for place in self.literals(reason) {
                        let var = Lit(self.store[place]).var();
                        if var != lit.var() && self.levels[var] > 0 {
                            self.seen[var] = true;
                        }
                    }
                }
            }
        }
        self.core.sort_unstable();
        self.core.dedup();
    }
}

enum Next {
    Decide(Lit),
    /// The assumption holds already.
    Skip,
    Done,
    Failed(Lit),
}

impl ClauseSink for Cdcl {
    fn new_variable(&mut self) -> i32 {
        self.values.extend([0, 0]);
        self.levels.push(0);
        self.reasons.push(NO_CLAUSE);
        self.phases.push(false);
        self.activity.push(0.0);
        self.seen.push(false);
        self.candidate.push(0);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.heap.grow();
        self.levels.len() as i32 - 1
    }

    /// Between questions.
    fn add_clause(&mut self, clause: &[i32]) {
        self.backtrack(0);
        let mut literals: Vec<Lit> = clause.iter().map(|&n| Lit::new(n)).collect();
        if literals.iter().any(|lit| self.values[lit.0 as usize] > 0) {
            return;
        }
        literals.retain(|lit| self.values[lit.0 as usize] == 0);
        literals.sort_unstable_by_key(|lit| lit.0);
        literals.dedup();
        if literals.windows(2).any(|pair| pair[0] == !pair[1]) {
            return;
        }
        match literals[..] {
            [] => self.contradiction = true,
            [unit] => self.assign(unit, NO_CLAUSE),
            _ => {
                self.attach(&literals, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Random 3-clauses over 9 variables under random assumptions, against
    /// enumeration; cores are checked too.
    #[test]
    fn agrees_with_enumeration() {
        let mut seed = 7u64;
        let mut random = move |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let (mut sat, mut unsat) = (0, 0);
        for _ in 0..300 {
            let mut solver = Cdcl::new();
            let count = 9;
            let inputs: Vec<i32> = (0..count).map(|_| solver.new_variable()).collect();
            let mut clauses: Vec<Vec<i32>> = Vec::new();
            for _ in 0..6 {
                for _ in 0..6 {
                    let clause: Vec<i32> = (0..3)
                        .map(|_| {
                            let var = 1 + random(count) as i32;
                            if random(2) == 0 { var } else { -var }
                        })
                        .collect();
                    solver.add_clause(&clause);
                    clauses.push(clause);
                }
                let assumptions: Vec<i32> = (0..random(5))
                    .map(|_| {
                        let var = 1 + random(count) as i32;
                        if random(2) == 0 { var } else { -var }
                    })
                    .collect();
                let holds = |row: u32, lit: i32| (row >> (lit.abs() - 1) & 1 == 1) == (lit > 0);
                let possible = |assumed: &[i32]| {
                    (0..1u32 << count).any(|row| {
                        assumed.iter().all(|&lit| holds(row, lit))
                            && clauses
                                .iter()
                                .all(|clause| clause.iter().any(|&lit| holds(row, lit)))
                    })
                };
                let deadline = Instant::now() + Duration::from_secs(60);
                match solver.solve(&assumptions, &inputs, u64::MAX, deadline) {
                    Quick::Sat => {
                        let row = inputs.iter().fold(0, |row, &var| {
                            row | u32::from(solver.value(var).unwrap()) << (var - 1)
                        });
                        assert!(assumptions.iter().all(|&lit| holds(row, lit)));
                        assert!(
                            clauses
                                .iter()
                                .all(|clause| clause.iter().any(|&lit| holds(row, lit)))
                        );
                        sat += 1;
                    }
                    Quick::Unsat => {
                        assert!(!possible(&assumptions));
                        let core = solver.core().to_vec();
                        assert!(
                            core.iter().all(|lit| assumptions.contains(lit)),
                            "{core:?} {assumptions:?}"
                        );
                        assert!(!possible(&core));
                        unsat += 1;
                    }
                    Quick::Hard => panic!("no limit was set"),
                }
            }
        }
        assert!(sat > 300 && unsat > 300, "{sat} {unsat}");
    }
}
