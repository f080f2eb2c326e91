//! Turns the plain data of a search into files and text: terminal summary,
//! `results.json`, Markdown, HTML, SARIF, JUnit, cases and tests.
//!
//! Everything that comes from a program under test is hostile: it passes
//! through [`escape`] on its way into any of the formats.
//!
//! Absent on purpose: the search itself. Its results come as data of this crate's own, so that a saved run can be shown again.

pub mod accepted;
pub mod case;
pub mod compare;
pub mod directory;
pub mod escape;
pub mod export;
pub mod files;
pub mod html;
pub mod junit;
pub mod log;
pub mod markdown;
mod pairing;
pub mod results;
pub mod sarif;
pub mod seeds;
pub mod streams;
pub mod terminal;
pub mod view;
pub mod wording;
