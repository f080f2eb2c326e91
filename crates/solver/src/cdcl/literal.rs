//! Literals as indices.

/// `variable << 1 | negated`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lit(pub u32);

impl Lit {
    pub fn new(n: i32) -> Lit {
        Lit((n.unsigned_abs() << 1) | u32::from(n < 0))
    }

    pub fn var(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn number(self) -> i32 {
        let n = (self.0 >> 1) as i32;
        if self.0 & 1 == 1 { -n } else { n }
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}
