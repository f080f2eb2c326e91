//! The few ways in which the search builds expressions itself.

use changeling_solver::{Arena, Expr, ImportError, TypeError};
use changeling_trace::Label;

/// A trace that does not fit together. Traces are written by programs that may
/// have overwritten their own memory.
#[derive(Debug, thiserror::Error)]
pub enum TermError {
    #[error("an event names label {label}, which the trace does not define")]
    UnknownLabel { label: Label },
    #[error("a trace's expressions do not fit together: {0}")]
    Type(#[from] TypeError),
    #[error("a trace cannot be read: {0}")]
    Import(#[from] ImportError),
}

/// `subject == value`.
pub fn equals(arena: &mut Arena, subject: Expr, value: u64) -> Result<Expr, TermError> {
    let value = arena.constant(arena.width(subject), value)?;
    Ok(arena.eq(subject, value)?)
}

/// Whether bit `number` of `subject` is set.
pub fn bit(arena: &mut Arena, subject: Expr, number: u32) -> Result<Expr, TermError> {
    Ok(arena.extract(subject, number, 1)?)
}

pub fn differ(arena: &mut Arena, a: Expr, b: Expr) -> Result<Expr, TermError> {
    Ok(arena.ne(a, b)?)
}

/// As [`differ`], the narrower one extended with zeros.
pub fn differ_extended(arena: &mut Arena, a: Expr, b: Expr) -> Result<Expr, TermError> {
    let width = arena.width(a).max(arena.width(b));
    let a = widen(arena, a, width, false)?;
    let b = widen(arena, b, width, false)?;
    differ(arena, a, b)
}

/// The number that the low `bits` of `value` stand for, in `width` bits.
pub fn number(
    arena: &mut Arena,
    value: Expr,
    signed: bool,
    bits: u32,
    width: u32,
) -> Result<Expr, TermError> {
    let value = if arena.width(value) > bits {
        arena.extract(value, 0, bits)?
    } else {
        value
    };
    widen(arena, value, width, signed)
}

fn widen(arena: &mut Arena, value: Expr, width: u32, signed: bool) -> Result<Expr, TermError> {
    Ok(match arena.width(value) {
        same if same >= width => value,
        _ if signed => arena.sext(value, width)?,
        _ => arena.zext(value, width)?,
    })
}
