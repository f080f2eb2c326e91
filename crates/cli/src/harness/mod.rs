//! Harnesses: source that turns bytes into one call of a function.

mod c;
mod names;
mod observations;
mod plan;
mod records;
mod rust;

use changeling_program::{Signature, SourceLanguage};

/// Why there can be no harness for a function.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The function itself is of a kind that cannot be called.
    Function(String),
    /// Each parameter that cannot be made, with the reason.
    Parameters(Vec<String>),
}

/// What a harness is written for.
pub struct Subject<'a> {
    pub signature: &'a Signature,
    /// Where the function is, for people.
    pub place: String,
    /// The file that the harness goes to, if it is known.
    pub file: Option<String>,
}

/// The text of a harness.
pub fn write(subject: &Subject) -> Result<String, Refusal> {
    match subject.signature.language {
        SourceLanguage::C | SourceLanguage::Cpp => c::write(subject),
        SourceLanguage::Rust => rust::write(subject),
    }
}
