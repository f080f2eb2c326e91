//! CaDiCaL as an incremental solver with a deadline.

use crate::clauses::ClauseSink;
use rustsat::solvers::{ControlSignal, PhaseLit, Solve, SolveIncremental, SolverResult, Terminate};
use rustsat::types::{Cl, Lit, TernaryVal};
use rustsat_cadical::CaDiCaL;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) enum SatResult {
    Sat,
    Unsat,
    /// Out of time, or the solver gave an error; nothing is known.
    Unknown,
}

/// Literals are DIMACS numbers.
pub(crate) struct Cadical {
    solver: CaDiCaL<'static, 'static>,
    start: Instant,
    /// Microseconds after `start` when the current query must end.
    deadline: Arc<AtomicU64>,
    variables: i32,
    broken: bool,
}

impl Cadical {
    pub fn new() -> Cadical {
        let mut solver = CaDiCaL::default();
        // New variables come with every query, so the solver may not invent its
        // own; the other two are for single hard problems and cost time in
        // proportion to all clauses on each of our small ones.
        for option in ["factor", "lucky", "walk"] {
            // An option that this version does not have needs no switching off.
            let _ = solver.set_option(option, 0);
        }
        let start = Instant::now();
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let shared = Arc::clone(&deadline);
        solver.attach_terminator(move || {
            let late = start.elapsed().as_micros() as u64 > shared.load(Ordering::Relaxed);
            if late {
                ControlSignal::Terminate
            } else {
                ControlSignal::Continue
            }
        });
        Cadical {
            solver,
            start,
            deadline,
            variables: 0,
            broken: false,
        }
    }

    pub fn variables(&self) -> usize {
        self.variables as usize
    }

    /// Which value to try first.
    pub fn prefer(&mut self, literal: i32) {
        self.broken |= self.solver.phase_lit(lit(literal)).is_err();
    }

    pub fn solve(&mut self, assumptions: &[i32], deadline: Instant) -> SatResult {
        let left = deadline.saturating_duration_since(Instant::now());
        if self.broken || left.is_zero() {
            return SatResult::Unknown;
        }
        let end = self.start.elapsed() + left.min(Duration::from_secs(1 << 30));
        self.deadline
            .store(end.as_micros() as u64, Ordering::Relaxed);
        let assumptions: Vec<Lit> = assumptions.iter().map(|&n| lit(n)).collect();
        match self.solver.solve_assumps(&assumptions) {
            Ok(SolverResult::Sat) => SatResult::Sat,
            Ok(SolverResult::Unsat) => SatResult::Unsat,
            Ok(SolverResult::Interrupted) => SatResult::Unknown,
            Err(_) => {
                self.broken = true;
                SatResult::Unknown
            }
        }
    }

    /// After an error the instance answers nothing any more.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// After `Sat`.
    pub fn value(&self, variable: i32) -> Option<bool> {
        match self.solver.lit_val(lit(variable)).ok()? {
            TernaryVal::True => Some(true),
            TernaryVal::False => Some(false),
            TernaryVal::DontCare => None,
        }
    }

    /// After `Unsat`: the assumptions that it rests on.
    pub fn core(&mut self) -> Vec<i32> {
        let core = self.solver.core().unwrap_or_default();
        core.into_iter()
            .map(|literal| (!literal).to_ipasir())
            .collect()
    }
}

impl ClauseSink for Cadical {
    fn new_variable(&mut self) -> i32 {
        self.variables += 1;
        self.variables
    }

    /// Of at most 4 literals.
    fn add_clause(&mut self, clause: &[i32]) {
        let mut literals = [lit(1); 4];
        for (slot, &n) in literals.iter_mut().zip(clause) {
            *slot = lit(n);
        }
        self.broken |= self
            .solver
            .add_clause_ref(Cl::new(&literals[..clause.len()]))
            .is_err();
    }
}

fn lit(n: i32) -> Lit {
    Lit::new(n.unsigned_abs() - 1, n < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[test]
    fn learns_cores_under_assumptions() {
        let mut solver = Cadical::new();
        let [a, b, c] = [(); 3].map(|()| solver.new_variable());
        solver.add_clause(&[-a, -b]);
        assert!(matches!(solver.solve(&[a, c], soon()), SatResult::Sat));
        assert_eq!(
            (solver.value(a), solver.value(b)),
            (Some(true), Some(false))
        );
        assert!(matches!(solver.solve(&[c, a, b], soon()), SatResult::Unsat));
        let mut core = solver.core();
        core.sort_unstable();
        assert_eq!(core, [a, b]);
    }

    /// Pigeons do not fit; far too hard for any time limit here.
    #[test]
    fn stops_on_time() {
        let mut solver = Cadical::new();
        let (pigeons, holes) = (14, 13);
        let at: Vec<Vec<i32>> = (0..pigeons)
            .map(|_| (0..holes).map(|_| solver.new_variable()).collect())
            .collect();
        for row in &at {
            // A long clause as a chain of short ones.
            let mut carry = None;
            for (i, &here) in row.iter().enumerate() {
                let last = i + 1 == row.len();
                let next = (!last).then(|| solver.new_variable());
                let parts: Vec<i32> = carry
                    .map(|c: i32| -c)
                    .into_iter()
                    .chain([here])
                    .chain(next)
                    .collect();
                solver.add_clause(&parts);
                carry = next;
            }
        }
        for (one, row) in at.iter().enumerate() {
            for other in &at[..one] {
                for (here, there) in row.iter().zip(other) {
                    solver.add_clause(&[-here, -there]);
                }
            }
        }
        let result = solver.solve(&[], Instant::now() + Duration::from_millis(50));
        assert!(matches!(result, SatResult::Unknown));
    }
}
