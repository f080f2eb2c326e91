//! The guides of a search: what they know is worked out before it from the two
//! programs and kept in plain tables; what they say is an order of flips, and which of
//! them cannot bring anything.

mod branches;
mod chains;
pub mod choice;
mod conditions;
mod contents;
mod context;
mod continuation;
mod definitions;
mod distance;
mod effects;
mod estimate;
mod facts;
mod feeders;
mod gauges;
mod guided;
mod literal;
mod lockstep;
mod log;
mod loops;
mod modified;
mod outcomes;
mod partings;
mod passages;
mod plan;
mod planner;
mod prune;
mod recursion;
mod repeats;
mod situations;
mod survey;
mod target;
mod turns;
mod users;
mod uses;

pub use choice::{Choice, ChoiceError, Order, Part};
pub use gauges::{Compared, Gauge};
pub use guided::Guided;
pub use lockstep::{Lockstep, Probe};
pub use log::{Log, Step};
pub use modified::Pair;
pub(crate) use plan::Key;
pub use survey::{Survey, Surveyed, survey};
