//! The current path condition, indexed by variable.
//!
//! Consecutive queries have nearly the same prefix, so the index is kept and
//! only what is new is added. A query with a shorter prefix of the same path
//! uses the index as it is and ignores later positions.

use crate::arena::{Arena, Expr};
use crate::assignment::Assignment;
use crate::trial::Trial;
use crate::variables::{Marks, VarId};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(crate) struct Path {
    conditions: Vec<Expr>,
    /// For each variable the positions of conditions that use it, ascending;
    /// only first occurrences of a condition.
    uses: Vec<Vec<u32>>,
    first: FxHashMap<Expr, u32>,
    /// Positions (ascending) that the hint violates, among the first `judged`.
    violated: Vec<u32>,
    judged: usize,
    /// Scratch: the query in which a position was last taken into a slice.
    taken: Vec<u32>,
    round: u32,
    marks: Marks,
    /// Positions of what is not 1 bit wide, ascending.
    ill_typed: Vec<u32>,
}

/// Conditions that have to do with the goal.
#[derive(Default, Clone, Debug)]
pub(crate) struct Slice {
    /// Ascending.
    pub positions: Vec<u32>,
    pub variables: Vec<VarId>,
}

impl Path {
    pub fn reset(&mut self) {
        *self = Path::default();
    }

    /// Makes `prefix` the beginning of the indexed path.
    pub fn follow(&mut self, arena: &Arena, prefix: &[Expr]) {
        let known = self.conditions.len().min(prefix.len());
        let common = match self.conditions[..known] == prefix[..known] {
            true => known,
            false => {
                let pairs = self.conditions.iter().zip(prefix);
                pairs.take_while(|(a, b)| a == b).count()
            }
        };
        if common == prefix.len() {
            return;
        }
        self.truncate(arena, common);
        for &condition in &prefix[common..] {
            self.push(arena, condition);
        }
    }

    fn push(&mut self, arena: &Arena, condition: Expr) {
        let position = self.conditions.len() as u32;
        self.conditions.push(condition);
        self.taken.push(0);
        if arena.width(condition) != 1 {
            self.ill_typed.push(position);
        }
        if self.first.contains_key(&condition) {
            return;
        }
        self.first.insert(condition, position);
        for var in arena.set(condition).iter() {
            let at = var.0 as usize;
            if self.uses.len() <= at {
                self.uses.resize(at + 1, Vec::new());
            }
            self.uses[at].push(position);
        }
    }

    fn truncate(&mut self, arena: &Arena, length: usize) {
        while self.conditions.len() > length {
            let position = self.conditions.len() as u32 - 1;
            let condition = self.conditions.pop().expect("longer than the new length");
            if self.first.get(&condition) != Some(&position) {
                continue;
            }
            self.first.remove(&condition);
            for var in arena.set(condition).iter() {
                self.uses[var.0 as usize].pop();
            }
        }
        self.taken.truncate(length);
        self.ill_typed
            .retain(|&position| (position as usize) < length);
        self.judged = self.judged.min(length);
        self.violated
            .retain(|&position| (position as usize) < length);
    }

    /// Evaluates what is new under the hint. The positions below `length` that
    /// it violates.
    pub fn judge(
        &mut self,
        arena: &Arena,
        trial: &mut Trial,
        hint: &Assignment,
        length: usize,
    ) -> &[u32] {
        if trial.set_hint(arena, hint) {
            self.judged = 0;
            self.violated.clear();
        }
        for position in self.judged..length {
            if !trial.holds_on_hint(arena, self.conditions[position]) {
                self.violated.push(position as u32);
            }
        }
        self.judged = self.judged.max(length);
        let end = self
            .violated
            .partition_point(|&position| (position as usize) < length);
        &self.violated[..end]
    }

    /// Whether something below `length` is not a condition.
    pub fn is_ill_typed(&self, length: usize) -> bool {
        self.ill_typed
            .first()
            .is_some_and(|&first| (first as usize) < length)
    }

    /// First position of a condition below `length`.
    pub fn position(&self, condition: Expr, length: usize) -> Option<usize> {
        let position = *self.first.get(&condition)? as usize;
        (position < length).then_some(position)
    }

    /// Whether any condition below `length` uses a variable.
    pub fn mentions(&self, var: VarId, length: usize) -> bool {
        let uses = self.uses.get(var.0 as usize);
        uses.and_then(|uses| uses.first())
            .is_some_and(|&first| (first as usize) < length)
    }

    /// All conditions below `length` that share variables, directly or through
    /// others, with the seeds.
    pub fn slice(&mut self, arena: &Arena, seeds: &[Expr], length: usize) -> Slice {
        self.round += 1;
        self.marks.clear();
        let mut slice = Slice::default();
        for &seed in seeds {
            arena
                .set(seed)
                .mark_new(&mut self.marks, |var| slice.variables.push(var));
        }
        let mut next = 0;
        while next < slice.variables.len() {
            let var = slice.variables[next].0 as usize;
            next += 1;
            let Some(uses) = self.uses.get(var) else {
                continue;
            };
            for &position in uses {
                if position as usize >= length {
                    break;
                }
                let taken = &mut self.taken[position as usize];
                if *taken == self.round {
                    continue;
                }
                *taken = self.round;
                slice.positions.push(position);
                let condition = self.conditions[position as usize];
                arena
                    .set(condition)
                    .mark_new(&mut self.marks, |var| slice.variables.push(var));
            }
        }
        slice.positions.sort_unstable();
        slice
    }

    /// Positions below `length` that the hint violates or that use one of the
    /// variables.
    pub fn touched(&mut self, variables: &[VarId], length: usize) -> Vec<u32> {
        self.round += 1;
        let uses = variables
            .iter()
            .filter_map(|var| self.uses.get(var.0 as usize));
        let mut touched = Vec::new();
        for &position in uses.chain([&self.violated]).flatten() {
            let taken = self.taken.get_mut(position as usize);
            if let Some(taken) = taken.filter(|taken| **taken != self.round) {
                *taken = self.round;
                touched.push(position);
            }
        }
        touched.retain(|&position| (position as usize) < length);
        touched
    }

    /// All conditions below `length`, and the seeds' variables with theirs.
    pub fn everything(&mut self, arena: &Arena, seeds: &[Expr], length: usize) -> Slice {
        self.marks.clear();
        let mut slice = Slice::default();
        for &seed in seeds.iter().chain(&self.conditions[..length]) {
            arena
                .set(seed)
                .mark_new(&mut self.marks, |var| slice.variables.push(var));
        }
        let all = 0..length as u32;
        slice
            .positions
            .extend(all.filter(|&p| self.first[&self.conditions[p as usize]] == p));
        slice
    }
}
