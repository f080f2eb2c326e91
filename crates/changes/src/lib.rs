//! From two programs to what changed between them.
//!
//! Functions are matched, then the instructions inside matched functions.
//! What has no partner, or a partner that does something else, is *modified*;
//! modified instructions that belong together form a [`Change`]. Comments,
//! formatting, names of local variables, line numbers and the order of
//! functions leave no trace in this comparison.
//!
//! Absent on purpose: files (texts of sources are handed in), LLVM, and what a change can do to the rest of a program, which
//! those ask who search.

mod alignment;
mod attribution;
mod bonds;
mod change;
mod compare;
mod contents;
mod csg;
mod declarations;
mod functions;
mod globals;
mod grouping;
mod hints;
mod joints;
mod keys;
mod kinship;
mod labels;
mod libraries;
mod macros;
mod places;
pub mod quiet;
mod records;
pub mod region;
mod renaming;
mod sequence;
mod source;
mod statements;
mod typenames;
mod variables;
mod versions;

pub use change::{
    Change, ChangeId, ChangeKind, ChangeSet, FunctionMatch, Hunk, HunkId, Lines, Reason, Side,
    SiteMap, Span, Subject, VariableMap,
};
pub use compare::compare;
pub use csg::{ChangeSequences, Version};
pub use globals::referred;
pub use kinship::own_functions;
pub use source::Sources;
