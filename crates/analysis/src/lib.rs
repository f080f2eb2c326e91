//! Graphs over one program: pure functions on plain data.
//!
//! Who calls whom, what pointers can point to, what decides and what flows where, and what can follow what. What is not certain
//! is answered with "can", because searches give up what cannot.
//!
//! Absent on purpose: a second version and anything about changes, what runs have shown, LLVM, files. Some answers rest on
//! what is known of functions without a body; that is all in [`library`].

pub mod access;
mod backtraces;
mod bits;
pub mod calls;
pub mod control;
pub mod distance;
pub mod dominance;
pub mod dot;
pub mod drawing;
pub mod flow;
pub mod graph;
mod graphs;
pub mod interactions;
pub mod library;
pub mod memory;
pub mod names;
pub mod passage;
pub mod pdg;
pub mod pointers;
pub mod reach;
pub mod regions;
pub mod sequences;
pub mod slice;

pub use backtraces::without_backtraces;
pub use calls::Calls;
pub use control::Control;
pub use distance::Distances;
pub use dominance::Dominators;
pub use flow::{Flow, SegmentId};
pub use graph::{Graph, Node};
pub use graphs::Graphs;
pub use interactions::Interactions;
pub use memory::Memory;
pub use passage::Passage;
pub use pointers::{Cell, Origin, Pointers};
pub use reach::Reach;
pub use sequences::Sequences;
pub use slice::Slicer;
