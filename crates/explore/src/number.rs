//! Numbers as they are printed: when do two values under two conversions give
//! the same text.

use crate::terms::{self, TermError};
use changeling_solver::{Arena, Expr};

/// A conversion as in C's `printf`, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    Integer {
        signed: bool,
        /// Number of low bits that are printed.
        bits: u32,
        /// Flags, width, precision and letter: what the text looks like.
        look: Vec<u8>,
    },
    /// Anything else, compared as it stands.
    Other(Vec<u8>),
}

impl Format {
    pub fn parse(text: &[u8]) -> Format {
        integer(text).unwrap_or_else(|| Format::Other(text.to_vec()))
    }
}

fn integer(text: &[u8]) -> Option<Format> {
    let body = text.strip_prefix(b"%")?;
    let (&letter, body) = body.split_last()?;
    let look_end = body
        .iter()
        .position(|byte| !(byte.is_ascii_digit() || b"-+ #0.'".contains(byte)))
        .unwrap_or(body.len());
    let (look, length) = body.split_at(look_end);
    let bits = match length {
        b"hh" => 8,
        b"h" => 16,
        b"" => 32,
        b"l" | b"ll" | b"j" | b"z" | b"t" | b"q" => 64,
        _ => return None,
    };
    let (signed, letter) = match letter {
        b'd' | b'i' => (true, b'd'),
        // Decimal without a sign looks like decimal with one that is not shown.
        b'u' => (false, b'd'),
        b'x' | b'X' | b'o' => (false, letter),
        _ => return None,
    };
    let mut look = look.to_vec();
    look.push(letter);
    // `+` and space show only on signed conversions.
    if !signed {
        look.retain(|byte| !b"+ ".contains(byte));
    }
    Some(Format::Integer { signed, bits, look })
}

/// The condition under which two numbers print differently; none if their forms
/// cannot be compared.
pub fn differ(
    arena: &mut Arena,
    (f, a): (&Format, Expr),
    (g, b): (&Format, Expr),
) -> Result<Option<Expr>, TermError> {
    match (f, g) {
        (
            Format::Integer {
                signed: s,
                bits: m,
                look: l,
            },
            Format::Integer {
                signed: t,
                bits: n,
                look: k,
            },
        ) if l == k => {
            let a = terms::number(arena, a, *s, *m, WIDE)?;
            let b = terms::number(arena, b, *t, *n, WIDE)?;
            terms::differ(arena, a, b).map(Some)
        }
        (f, g) if f == g && arena.width(a) == arena.width(b) => {
            terms::differ(arena, a, b).map(Some)
        }
        _ => Ok(None),
    }
}

/// Room for every 64-bit number, with or without sign.
const WIDE: u32 = 72;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_that_look_alike_are_alike() {
        let int = |text: &[u8]| Format::parse(text);
        assert_eq!(int(b"%d"), int(b"%i"));
        assert_eq!(int(b"%ld"), int(b"%lld"));
        assert_ne!(int(b"%d"), int(b"%5d"));
        assert_ne!(int(b"%d"), int(b"%ld"));
        assert_eq!(
            int(b"%+5u"),
            Format::Integer {
                signed: false,
                bits: 32,
                look: b"5d".to_vec()
            }
        );
        assert_eq!(int(b"%f"), Format::Other(b"%f".to_vec()));
        assert_eq!(int(b""), Format::Other(Vec::new()));
        assert_eq!(int(b"%Lf"), Format::Other(b"%Lf".to_vec()));
    }
}
