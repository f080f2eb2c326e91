//! Toy programs: closures that compute on traced values and leave behind what a
//! traced native program would. With them the search is tested without a
//! compiler, on inputs that can be enumerated.

mod barred;
mod machine;
mod oracles;
mod properties;
mod pruning;
mod random;
mod runner;
mod witnesses;

pub use machine::{Machine, Stop, Word};
pub use runner::{Program, ToyRunner, explore, stdin, subject};

use crate::normalise::Normaliser;
use crate::output::{self, Comparison};
use crate::path::{self, Path};
use crate::runner::Side;
use changeling_solver::{Answer, Arena, Assignment, Bounds, Expr, Query, Settings, Solver};
use changeling_trace::input::Input;
use changeling_trace::sites::SiteTable;

/// The question whether two paths can have different outputs.
pub struct PairQuestion {
    arena: Arena,
    conditions: Vec<Expr>,
    comparison: Comparison,
}

/// The path that an input takes.
pub fn path_of(arena: &mut Arena, side: Side, program: &Program, input: &Input) -> Path {
    let mut machine = Machine::new(input);
    let end = program(&mut machine);
    path::read(arena, side, &machine.traced(end), &SiteTable::default()).unwrap()
}

/// Of the two paths that one input takes.
pub fn pair_of(base: &Program, head: &Program, input: &Input) -> PairQuestion {
    pair_across(base, input, head, input)
}

/// Of paths that belong to different inputs.
pub fn pair_across(base: &Program, b: &Input, head: &Program, h: &Input) -> PairQuestion {
    let mut arena = Arena::new();
    let base = path_of(&mut arena, Side::Base, base, b);
    let head = path_of(&mut arena, Side::Head, head, h);
    let normaliser = Normaliser::standard();
    let comparison = output::compare(&mut arena, &normaliser, &base.output, &head.output).unwrap();
    let tests = base.tests.iter().chain(&head.tests);
    PairQuestion {
        conditions: tests.map(|test| test.held).collect(),
        arena,
        comparison,
    }
}

impl PairQuestion {
    /// Whether an input is a model of the question.
    pub fn asks_for(&self, input: &Input) -> bool {
        let values = Assignment::from_input(input);
        let holds = |condition: &Expr| self.arena.holds(*condition, &values);
        self.conditions.iter().all(holds) && self.comparison.differ.as_ref().is_some_and(holds)
    }

    pub fn solve(mut self, near: &Input) -> Option<Input> {
        let goal = self.comparison.differ?;
        let hint = Assignment::from_input(near);
        let bounds = Bounds::from_input(near);
        let query = Query {
            prefix: &self.conditions,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        match Solver::new(Settings::default()).solve(&mut self.arena, &query) {
            Answer::Sat(model) => Some(model.to_input(near)),
            Answer::Unsat(_) => None,
            Answer::Unknown(reason) => panic!("{reason}"),
        }
    }
}
