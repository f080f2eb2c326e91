//! A graph of one-bit gates: what expressions become before they become clauses.
//!
//! Gates are hash-consed and simplified, and turned into clauses only when a
//! query reaches them, so one graph serves many SAT instances.

use crate::variables::VarId;
use rustc_hash::FxHashMap;

/// A gate's output or its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Bit(u32);

pub(crate) const FALSE: Bit = Bit(0);
pub(crate) const TRUE: Bit = Bit(1);

impl Bit {
    pub fn constant(truth: bool) -> Bit {
        if truth { TRUE } else { FALSE }
    }

    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn is_constant(self) -> bool {
        self.0 < 2
    }

    /// The gate's own output, and this bit's sign apart.
    fn positive(self) -> Bit {
        Bit(self.0 & !1)
    }
}

impl std::ops::Not for Bit {
    type Output = Bit;

    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Gate {
    /// Gate 0.
    False,
    /// One bit of an input variable.
    Input(VarId, u32),
    And(Bit, Bit),
    Xor(Bit, Bit),
    /// The second if the first, else the third.
    Mux(Bit, Bit, Bit),
    /// At least two of three: the carry of an adder.
    Majority(Bit, Bit, Bit),
}

pub(crate) struct Gates {
    gates: Vec<Gate>,
    interned: FxHashMap<Gate, u32>,
}

impl Gates {
    pub fn new() -> Gates {
        Gates {
            gates: vec![Gate::False],
            interned: FxHashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.gates.len()
    }

    pub fn gate(&self, index: usize) -> Gate {
        self.gates[index]
    }

    pub fn input(&mut self, var: VarId, bit: u32) -> Bit {
        self.intern(Gate::Input(var, bit))
    }

    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        if a == FALSE || a == !b {
            return FALSE;
        }
        if a == TRUE || a == b {
            return b;
        }
        self.intern(Gate::And(a, b))
    }

    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let flip = a.negated() != b.negated();
        let (a, b) = (a.positive(), b.positive());
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let bit = if a == b {
            FALSE
        } else if a == FALSE {
            b
        } else {
            self.intern(Gate::Xor(a, b))
        };
        if flip { !bit } else { bit }
    }

    pub fn mux(&mut self, condition: Bit, yes: Bit, no: Bit) -> Bit {
        if condition.negated() {
            return self.mux(!condition, no, yes);
        }
        if condition == FALSE {
            return no;
        }
        if yes == no {
            return yes;
        }
        if yes == !no {
            return self.xor(condition, no);
        }
        if yes == TRUE || yes == condition {
            return self.or(condition, no);
        }
        if yes == FALSE || yes == !condition {
            return self.and(!condition, no);
        }
        if no == FALSE || no == condition {
            return self.and(condition, yes);
        }
        if no == TRUE || no == !condition {
            return self.or(!condition, yes);
        }
        if yes.negated() {
            return !self.intern(Gate::Mux(condition, !yes, !no));
        }
        self.intern(Gate::Mux(condition, yes, no))
    }

    pub fn majority(&mut self, a: Bit, b: Bit, c: Bit) -> Bit {
        let mut bits = [a, b, c];
        bits.sort_unstable();
        let [a, b, c] = bits;
        // Constants and complements are neighbours once sorted.
        match a {
            FALSE => return self.and(b, c),
            TRUE => return self.or(b, c),
            _ => {}
        }
        if a == b || b == !c {
            return a;
        }
        if b == c {
            return b;
        }
        if a == !b {
            return c;
        }
        self.intern(Gate::Majority(a, b, c))
    }

    fn intern(&mut self, gate: Gate) -> Bit {
        let next = self.gates.len() as u32;
        let index = *self.interned.entry(gate).or_insert(next);
        if index == next {
            self.gates.push(gate);
        }
        Bit(index << 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every gate against its truth table, with constants, equal and
    /// complementary operands.
    #[test]
    fn simplification_keeps_the_meaning() {
        let mut gates = Gates::new();
        let x = gates.input(VarId(0), 0);
        let y = gates.input(VarId(1), 0);
        let z = gates.input(VarId(2), 0);
        let pool = [FALSE, TRUE, x, !x, y, !y, z, !z];
        for a in pool {
            for b in pool {
                for c in pool {
                    let (and, or, xor) = (gates.and(a, b), gates.or(a, b), gates.xor(a, b));
                    let (mux, majority) = (gates.mux(a, b, c), gates.majority(a, b, c));
                    for row in 0..8u32 {
                        let at = |bit| value(&gates, bit, row);
                        let (p, q, r) = (at(a), at(b), at(c));
                        assert_eq!(at(and), p & q);
                        assert_eq!(at(or), p | q);
                        assert_eq!(at(xor), p ^ q);
                        assert_eq!(at(mux), if p { q } else { r });
                        assert_eq!(at(majority), p & q | p & r | q & r);
                    }
                }
            }
        }
    }

    fn value(gates: &Gates, bit: Bit, row: u32) -> bool {
        let at = |bit| value(gates, bit, row);
        let output = match gates.gate(bit.gate()) {
            Gate::False => false,
            Gate::Input(var, _) => row >> var.0 & 1 == 1,
            Gate::And(a, b) => at(a) & at(b),
            Gate::Xor(a, b) => at(a) ^ at(b),
            Gate::Mux(a, b, c) => {
                if at(a) {
                    at(b)
                } else {
                    at(c)
                }
            }
            Gate::Majority(a, b, c) => at(a) as u8 + at(b) as u8 + at(c) as u8 >= 2,
        };
        output != bit.negated()
    }
}
