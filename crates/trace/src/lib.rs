//! What a traced run leaves behind, as plain memory.
//!
//! The runtime inside the traced program writes these structures into a shared
//! mapping and the parent reads them in place, so everything here is `repr(C)`
//! and free of pointers. This crate is the single definition of the format;
//! bump [`layout::VERSION`] whenever a field moves or a number changes meaning.
//!
//! Absent on purpose: code that runs programs or reads what they left, and everything that a number means for a search.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod event;
pub mod layout;
pub mod node;

#[cfg(feature = "std")]
pub mod input;
#[cfg(feature = "std")]
pub mod sites;

pub use event::{Event, EventKind, GuardReason, LossReason};
pub use layout::Header;
pub use node::{Label, Node, Op};
