//! What expressions look like, whichever bytes of the input they are about.

use crate::arena::{Arena, Expr};
use crate::variables::Var;
use changeling_trace::Op;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// An equality with a byte, which may have been made wider, and a constant.
const CERTAIN: usize = 4;

impl Arena {
    /// A number that is the same for expressions which differ only in the bytes of the input
    /// that they test. `None` if there are more than `most` operators and operands.
    pub fn shape(&self, e: Expr, most: usize) -> Option<u64> {
        let mut hasher = FxHasher::default();
        let mut work = vec![e];
        let mut count = 0;
        while let Some(next) = work.pop() {
            count += 1;
            if count > most {
                return None;
            }
            let term = self.term(next);
            (term.op as u32, term.width).hash(&mut hasher);
            if term.op != Op::Input {
                term.imm.hash(&mut hasher);
            }
            if term.op == Op::Read {
                term.b.index().hash(&mut hasher);
            }
            let (operands, arity) = term.operands();
            work.extend(&operands[..arity]);
        }
        Some(hasher.finish())
    }

    /// If a condition says that a byte of the input is a certain one: a number for that, whichever byte it is.
    pub fn certain_byte(&self, e: Expr) -> Option<u64> {
        let is_byte = || matches!(self.variables(e)[..], [Var::Byte { .. }]);
        let says = self.term(e).op == Op::Eq && is_byte();
        says.then(|| self.shape(e, CERTAIN)).flatten()
    }
}
