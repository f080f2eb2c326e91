//! Turns the plain data of a search into files and text: terminal summary,
//! `results.json`, Markdown, HTML, SARIF, JUnit, cases and tests.
//!
//! Everything that comes from a program under test is hostile: it passes
//! through [`escape`] on its way into any of the formats.

pub mod results;
