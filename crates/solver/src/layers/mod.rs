//! The layers, from the cheapest to the most powerful.

pub(crate) mod embedded;
pub(crate) mod reuse;
pub(crate) mod values;
