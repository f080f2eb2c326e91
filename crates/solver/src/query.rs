//! Questions and answers.

use crate::arena::Expr;
use crate::assignment::{Assignment, Bounds};
use std::fmt;

/// Is there an input that satisfies all of `prefix` and `goal`?
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Conditions, typically those of a run up to a branch.
    pub prefix: &'a [Expr],
    /// One more, typically the branch negated.
    pub goal: Expr,
    /// The input of that run; a model stays close to it.
    pub hint: &'a Assignment,
    pub bounds: &'a Bounds,
    /// Conditions that a model should satisfy if it can, in order of importance.
    pub soft: &'a [Expr],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Sat(Assignment),
    /// Positions of the prefix that contradict the goal; ascending.
    Unsat(Vec<usize>),
    Unknown(Reason),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Time,
    /// It is hard, and the solver was in a hurry.
    Postponed,
    /// The formula or the solver's memory grew beyond the limit.
    Size,
    /// Floating point, and no external solver is configured.
    Float,
    /// All layers that could have decided it are switched off.
    LayersOff,
    /// A condition is not 1 bit wide.
    NotACondition,
    /// A model was found and failed its check: a bug.
    WrongModel,
    /// The external solver failed, or what it said was wrong.
    External(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Time => write!(f, "time limit reached"),
            Reason::Postponed => write!(f, "it is hard, and has been put off"),
            Reason::Size => write!(f, "size limit reached"),
            Reason::Float => {
                write!(
                    f,
                    "floating point needs an external solver (z3, bitwuzla or cvc5)"
                )
            }
            Reason::LayersOff => write!(f, "the layers that could decide it are switched off"),
            Reason::NotACondition => write!(f, "a condition is not 1 bit wide"),
            Reason::WrongModel => write!(f, "a model was found that fails its check (a bug)"),
            Reason::External(text) => write!(f, "external solver: {text}"),
        }
    }
}
