//! What is learnt from contradictions.

use super::literal::Lit;
use super::{Cdcl, NO_CLAUSE};

impl Cdcl {
    /// Goes back to where a violated clause says something, and says it. False if there is no such
    /// place.
    pub(super) fn resolve(&mut self, conflict: u32) -> bool {
        let level = |place: usize| self.levels[Lit(self.store[place]).var()];
        let top = self.literals(conflict).map(level).max().unwrap_or(0);
        if top == 0 {
            return false;
        }
        let at_top = self.literals(conflict).filter(|place| level(*place) == top);
        let at_top: Vec<usize> = at_top.collect();
        self.backtrack(top);
        if let [only] = at_top[..] {
            // It follows from the others, at a lower level.
            self.restate(conflict, only);
            return true;
        }
        let (clause, level) = self.analyse(conflict);
        self.backtrack(level);
        self.learn(&clause);
        true
    }

    /// A clause all of whose literals are false, one of them at a higher level than the others: it is
    /// turned round.
    fn restate(&mut self, clause: u32, only: usize) {
        let first = clause as usize + 2;
        let lit = Lit(self.store[only]);
        let below = self.literals(clause).filter(|place| *place != only);
        let second = below.max_by_key(|place| self.levels[Lit(self.store[*place]).var()]);
        let second = second.map(|place| self.store[place]);
        let level = second.map_or(0, |lit| self.levels[Lit(lit).var()]);
        self.backtrack(level);
        // The watches go to the literals that are the last to be taken back.
        for watched in [first, first + 1] {
            let watched = self.store[watched] as usize;
            self.watches[watched].retain(|watch| watch.clause != clause);
        }
        let size = self.store[clause as usize] as usize;
        let place_of =
            |store: &[u32], lit: u32| (first..first + size).find(|place| store[*place] == lit);
        if let Some(place) = place_of(&self.store, lit.0) {
            self.store.swap(first, place);
        }
        if let Some(place) = second.and_then(|lit| place_of(&self.store, lit)) {
            self.store.swap(first + 1, place);
        }
        self.watch(clause);
        self.assign_at(lit, clause, level);
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
                let var = self.trail[index].var();
                if self.seen[var] && self.levels[var] == current {
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

    /// The assumptions that imply the negation of a failed one, and itself.
    pub(super) fn explain(&mut self, failed: Lit) {
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
