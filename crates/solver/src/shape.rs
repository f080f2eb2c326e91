//! What expressions look like, whichever bytes of the input they are about.

use crate::arena::{Arena, Expr};
use changeling_trace::Op;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

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
}
