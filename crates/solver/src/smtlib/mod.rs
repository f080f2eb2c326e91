//! SMT-LIB 2: queries as files, for other solvers and for keeping.
//!
//! Each expression is one `define-fun`, so that shared parts are written once.
//! An expression of width 1 has sort `Bool`. A table is a function of its index.
//! What SMT-LIB has no word for (the hint, the capacities, which assertion is
//! the goal) is in `set-info` attributes, which solvers skip.

mod read;
mod sexp;
mod write;

pub use read::{ReadError, RecordedQuery};
pub use write::Inexpressible;
pub(crate) use write::{Script, variable_name};

/// Bump when the meaning of what is written changes.
pub const FORMAT: u32 = 1;

/// The values of `names`, in that order, from the answer to `get-value`.
pub(crate) fn parse_model(text: &str, names: &[String]) -> Option<Vec<u64>> {
    let sexps = sexp::Sexps::parse(text).ok()?;
    let mut values = rustc_hash::FxHashMap::default();
    for &pair in sexps.list(*sexps.top.first()?)? {
        let [name, value] = sexps.list(pair)? else {
            return None;
        };
        let value = read::parse_literal(sexps.atom(*value)?)?;
        values.insert(sexps.atom(*name)?, value.to_u64()?);
    }
    names
        .iter()
        .map(|name| values.get(name.as_str()).copied())
        .collect()
}
