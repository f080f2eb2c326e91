//! Gates to clauses, as far as a query reaches.

use crate::gates::{Bit, Gate, Gates};

/// Where clauses go. Literals are DIMACS numbers.
pub(crate) trait ClauseSink {
    fn new_variable(&mut self) -> i32;
    fn add_clause(&mut self, clause: &[i32]);
}

/// Which gates a SAT instance already has.
#[derive(Default)]
pub(crate) struct Encoding {
    /// The instance's variable of a gate; 0 if it has none yet.
    variables: Vec<i32>,
    fresh: Vec<Bit>,
}

impl Encoding {
    /// The instance's variable of a gate's output.
    pub fn known(&self, bit: Bit) -> Option<i32> {
        self.variables
            .get(bit.gate())
            .copied()
            .filter(|&variable| variable != 0)
    }

    /// The literal of a bit that is not constant; adds the clauses of all gates
    /// below it that are not there yet.
    pub fn literal(&mut self, gates: &Gates, bit: Bit, sink: &mut impl ClauseSink) -> i32 {
        if self.variables.len() < gates.len() {
            self.variables.resize(gates.len(), 0);
        }
        let mut todo = vec![bit];
        while let Some(next) = todo.pop() {
            if next.is_constant() || self.variables[next.gate()] != 0 {
                continue;
            }
            self.variables[next.gate()] = sink.new_variable();
            self.fresh.push(next);
            match gates.gate(next.gate()) {
                Gate::False | Gate::Input(..) => {}
                Gate::And(a, b) | Gate::Xor(a, b) => todo.extend([a, b]),
                Gate::Mux(a, b, c) | Gate::Majority(a, b, c) => todo.extend([a, b, c]),
            }
        }
        for gate in std::mem::take(&mut self.fresh) {
            self.define(gates, gate, sink);
        }
        self.of(bit)
    }

    fn of(&self, bit: Bit) -> i32 {
        let variable = self.variables[bit.gate()];
        if bit.negated() { -variable } else { variable }
    }

    fn define(&self, gates: &Gates, bit: Bit, sink: &mut impl ClauseSink) {
        let o = self.variables[bit.gate()];
        match gates.gate(bit.gate()) {
            Gate::False | Gate::Input(..) => {}
            Gate::And(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                sink.add_clause(&[-o, a]);
                sink.add_clause(&[-o, b]);
                sink.add_clause(&[o, -a, -b]);
            }
            Gate::Xor(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                sink.add_clause(&[-o, a, b]);
                sink.add_clause(&[-o, -a, -b]);
                sink.add_clause(&[o, -a, b]);
                sink.add_clause(&[o, a, -b]);
            }
            Gate::Mux(c, yes, no) => self.define_mux(o, self.of(c), yes, no, sink),
            Gate::Majority(a, b, c) => {
                let (a, b, c) = (self.of(a), self.of(b), self.of(c));
                for (x, y) in [(a, b), (a, c), (b, c)] {
                    sink.add_clause(&[o, -x, -y]);
                    sink.add_clause(&[-o, x, y]);
                }
            }
        }
    }

    fn define_mux(&self, o: i32, c: i32, yes: Bit, no: Bit, sink: &mut impl ClauseSink) {
        // Constant branches were simplified away when the gate was made.
        let (yes, no) = (self.of(yes), self.of(no));
        sink.add_clause(&[-o, -c, yes]);
        sink.add_clause(&[o, -c, -yes]);
        sink.add_clause(&[-o, c, no]);
        sink.add_clause(&[o, c, -no]);
        // Implied, but they let the output be known before the condition is.
        sink.add_clause(&[-o, yes, no]);
        sink.add_clause(&[o, -yes, -no]);
    }
}
