//! Graphs over one program: pure functions on plain data.

pub mod access;
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
pub mod passage;
pub mod pdg;
pub mod pointers;
pub mod reach;
pub mod regions;
pub mod sequences;
pub mod slice;

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
