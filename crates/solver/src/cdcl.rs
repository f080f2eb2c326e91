//! A small conflict-driven SAT solver for the many easy questions.
//!
//! All clauses are definitions of gates, so once the input bits of a question
//! are assigned without conflict, propagation has assigned every gate that
//! matters, and the rest of the instance need not be looked at. A general
//! solver assigns all variables it has ever seen. Questions that turn out to be
//! hard go to CaDiCaL.
//!
//! Questions of a search begin alike, and what their first assumptions imply can be most of the
//! work: it stays assigned from one question to the next. Gates that come in between are
//! then evaluated late, so that the trail is not sorted by level: an assignment has the level of
//! what implies it, and survives the end of later levels.

mod analysis;
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
    /// What the first levels assume, one literal each.
    assumed: Vec<Lit>,
    head: usize,
    heap: Heap,
    increment: f64,
    question: u32,
    /// Set when the clauses alone contradict each other.
    contradiction: bool,
    core: Vec<i32>,
    /// Clauses looked at because of assignments, and these, ever.
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
            assumed: Vec::new(),
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
        self.core.clear();
        if self.contradiction {
            return Quick::Unsat;
        }
        let assumptions: Vec<Lit> = assumptions.iter().map(|&n| Lit::new(n)).collect();
        let same = self.assumed.iter().zip(&assumptions);
        let same = same.take_while(|(old, new)| old == new).count();
        self.backtrack(same as u32);
        self.assumed.clone_from(&assumptions);
        self.question += 1;
        self.heap.clear();
        for &n in inputs.iter().rev() {
            let lit = Lit::new(n);
            self.phases[lit.var()] = n > 0;
            self.candidate[lit.var()] = self.question;
            self.heap.insert(lit.var(), &self.activity);
        }
        let (mut found, mut restart) = (0, RESTART);
        let enough = self.work.saturating_add(self.patience);
        loop {
            if let Some(conflict) = self.propagate() {
                found += 1;
                if !self.resolve(conflict) {
                    self.contradiction = true;
                    return Quick::Unsat;
                }
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
            if self.work >= enough {
                return Quick::Hard;
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
        self.assign_at(lit, reason, self.limits.len() as u32);
    }

    fn assign_at(&mut self, lit: Lit, reason: u32, level: u32) {
        let var = lit.var();
        prefetch(&self.watches[(!lit).0 as usize]);
        self.values[lit.0 as usize] = 1;
        self.values[(!lit).0 as usize] = -1;
        self.levels[var] = level;
        self.reasons[var] = reason;
        self.trail.push(lit);
    }

    fn backtrack(&mut self, level: u32) {
        let level = level as usize;
        if self.limits.len() <= level {
            return;
        }
        let start = self.limits[level];
        let mut kept = Vec::new();
        for index in (start..self.trail.len()).rev() {
            let lit = self.trail[index];
            let var = lit.var();
            if self.levels[var] as usize <= level {
                kept.push(lit);
                continue;
            }
            self.values[lit.0 as usize] = 0;
            self.values[(!lit).0 as usize] = 0;
            self.phases[var] = lit.0 & 1 == 0;
            if self.candidate[var] == self.question {
                self.heap.insert(var, &self.activity);
            }
        }
        self.trail.truncate(start);
        self.limits.truncate(level);
        // What stays is looked at again: clauses that were satisfied need not be any more.
        self.head = self.head.min(start);
        self.trail.extend(kept.into_iter().rev());
    }

    /// The clause that is violated, if one is.
    fn propagate(&mut self) -> Option<u32> {
        while self.head < self.trail.len() {
            let falsified = !self.trail[self.head];
            self.head += 1;
            if let Some(next) = self.trail.get(self.head)
                && let Some(first) = self.watches[(!*next).0 as usize].first()
            {
                prefetch(first);
            }
            let mut list = std::mem::take(&mut self.watches[falsified.0 as usize]);
            let mut kept = 0;
            let mut conflict = None;
            let mut index = 0;
            for watch in list.iter().take(AHEAD) {
                prefetch(&self.values[watch.other.0 as usize]);
            }
            while index < list.len() {
                let watch = list[index];
                index += 1;
                if let Some(ahead) = list.get(index + AHEAD) {
                    prefetch(&self.values[ahead.other.0 as usize]);
                }
                if let Some(next) = list.get(index + AHEAD / 2) {
                    prefetch(&self.store[next.clause as usize]);
                }
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
                let level = self.level_below(falsified, watch.clause);
                self.assign_at(other, watch.clause, level);
            }
            // An assignment costs as much as there are clauses to look at.
            self.work += 1 + index as u64;
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

    /// The level of what the first literal of a clause follows from, of which one is known.
    fn level_below(&self, falsified: Lit, clause: u32) -> u32 {
        let current = self.limits.len() as u32;
        if self.levels[falsified.var()] == current {
            return current;
        }
        let others = self.literals(clause).skip(1);
        let levels = others.map(|place| self.levels[Lit(self.store[place]).var()]);
        levels.max().unwrap_or(0)
    }

    /// Watches the first two literals of a clause.
    fn watch(&mut self, clause: u32) {
        let first = clause as usize + 2;
        let [a, b] = [self.store[first], self.store[first + 1]];
        self.watches[a as usize].push(Watch {
            clause,
            other: Lit(b),
        });
        self.watches[b as usize].push(Watch {
            clause,
            other: Lit(a),
        });
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
        self.watch(at);
        at
    }

    /// A clause that comes while there are assignments, and may say something about them.
    fn attach_late(&mut self, mut literals: Vec<Lit>) {
        // What is false is watched last, and what is taken back first before the others.
        literals.sort_by_key(|lit| match self.values[lit.0 as usize] {
            -1 => u32::MAX - self.levels[lit.var()],
            _ => 0,
        });
        let [first, second] = [literals[0], literals[1]];
        let level = self.levels[second.var()];
        if self.values[second.0 as usize] >= 0 {
            self.attach(&literals, 0);
            return;
        }
        match self.values[first.0 as usize] {
            0 => {}
            1 if self.levels[first.var()] <= level => {
                self.attach(&literals, 0);
                return;
            }
            // Nothing has come of it yet: it is known at a lower level.
            1 if self.is_untold(first) => {
                let at = self.attach(&literals, 0);
                self.levels[first.var()] = level;
                self.reasons[first.var()] = at;
                return;
            }
            _ => self.backtrack(self.levels[first.var()] - 1),
        }
        let at = self.attach(&literals, 0);
        if self.values[second.0 as usize] < 0 {
            self.assign_at(first, at, level);
        }
    }

    /// Whether a literal was just found to follow from something.
    fn is_untold(&self, lit: Lit) -> bool {
        self.trail.last() == Some(&lit)
            && self.head < self.trail.len()
            && self.reasons[lit.var()] != NO_CLAUSE
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
        // Only what was assumed may be asked for again.
        self.backtrack(self.assumed.len() as u32);
        let mut literals: Vec<Lit> = clause.iter().map(|&n| Lit::new(n)).collect();
        let for_good = |lit: &Lit| match self.levels[lit.var()] {
            0 => self.values[lit.0 as usize],
            _ => 0,
        };
        if literals.iter().any(|lit| for_good(lit) > 0) {
            return;
        }
        literals.retain(|lit| for_good(lit) == 0);
        literals.sort_unstable_by_key(|lit| lit.0);
        literals.dedup();
        if literals.windows(2).any(|pair| pair[0] == !pair[1]) {
            return;
        }
        match literals[..] {
            [] => self.contradiction = true,
            [unit] => {
                self.backtrack(0);
                self.assign(unit, NO_CLAUSE);
            }
            _ => self.attach_late(literals),
        }
    }
}

/// How many clauses before its turn a clause is fetched.
const AHEAD: usize = 4;

/// What is said here is going to be read soon. Clauses and values lie all over the memory, and waiting
/// for them was most of the time.
#[inline(always)]
fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is read or written; any address would do.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests;
