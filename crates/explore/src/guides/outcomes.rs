//! What becomes of a variable when one of its definitions runs.

use super::conditions::{Test, mask, signed};
use super::plan::Web;

/// What a definition makes of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Nobody knows.
    Unknown,
    Set(u64),
    /// It counts, up or down, in so many bits.
    Add {
        by: u64,
        bits: u32,
    },
    /// One of two, by the number of the alternative.
    Choose(u32),
}

/// What a variable becomes if another one is such, and if it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    pub web: Web,
    pub test: Test,
    pub yes: Effect,
    pub no: Effect,
}

/// What counts further is not followed.
pub const FURTHEST: u64 = 256;

impl Effect {
    /// Both, one after the other. The same twice may be the same one, found in two ways.
    pub fn then(self, next: Effect) -> Effect {
        match (self, next) {
            (before, next) if before == next => next,
            (_, Effect::Set(_) | Effect::Choose(_) | Effect::Unknown) => next,
            (Effect::Set(value), Effect::Add { .. }) => {
                next.on(Some(value)).map_or(Effect::Unknown, Effect::Set)
            }
            (_, Effect::Add { .. }) => Effect::Unknown,
        }
    }

    /// What becomes of a value, as far as that does not depend on others.
    pub fn on(self, value: Option<u64>) -> Option<u64> {
        match self {
            Effect::Unknown | Effect::Choose(_) => None,
            Effect::Set(value) => Some(value),
            Effect::Add { by, bits } => {
                let sum = value?.wrapping_add(by) & mask(bits);
                (signed(sum, bits).unsigned_abs() <= FURTHEST).then_some(sum)
            }
        }
    }
}
