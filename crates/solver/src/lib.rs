//! From path conditions to inputs.
//!
//! [`Arena`] holds hash-consed expressions over input bytes; a [`Query`] asks
//! for an input that satisfies a prefix of a path and one more condition, close
//! to the input that the path came from; [`Solver`] answers it through a chain
//! of layers. See `docs/solver.md`.
//!
//! Absent on purpose: programs, sites and versions. A question is nothing but expressions; who asks and why is not told.

mod arena;
mod assignment;
mod blast;
mod cadical;
mod cdcl;
mod check;
mod clauses;
mod display;
mod evaluate;
mod external;
mod facts;
mod float;
mod gates;
mod import;
mod layers;
mod machine;
mod operators;
mod path;
mod query;
mod record;
mod settings;
mod shape;
mod simplify;
mod smtlib;
mod solver;
mod statistics;
mod task;
mod trial;
mod value;
mod variables;

pub use arena::{Arena, Expr, MAX_WIDTH, Table, TableId};
pub use assignment::{Assignment, Bounds};
pub use changeling_trace::Op;
pub use external::{External, ExternalError};
pub use import::{ImportError, ImportMap, ImportProblem};
pub use operators::TypeError;
pub use query::{Answer, Query, Reason};
pub use record::{ReplayError, read_recorded};
pub use settings::{Layers, Settings};
pub use smtlib::{Inexpressible, ReadError, RecordedQuery};
pub use solver::Solver;
pub use statistics::{Share, Statistics};
pub use value::Value;
pub use variables::Var;
