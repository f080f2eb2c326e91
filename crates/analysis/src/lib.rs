//! Graphs over one program: pure functions on plain data.

pub mod dominance;
pub mod graph;

pub use dominance::Dominators;
pub use graph::{Graph, Node};
