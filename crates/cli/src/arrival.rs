//! How a run is seen to have come to code that is asked for.
//!
//! Traced versions tell which blocks began. What stands behind a call, or an access that may fail, has not run because its block
//! began; there the traced version gets a probe.

use crate::regions::blocks_of;
use changeling_explore::runner::TraceView;
use changeling_instrument::Probe;
use changeling_program::{Callee, Instruction, Operation, Program, Site, Value};
use changeling_trace::event::{EventKind, probe};
use changeling_trace::sites::SiteTable;
use std::collections::BTreeMap;

pub struct Arrival {
    /// Instructions that run if their block begins.
    certain: Vec<Site>,
    /// The first ones of others.
    probed: Vec<Site>,
}

impl Arrival {
    pub fn new(program: &Program, wanted: &[Site]) -> Arrival {
        let mut first: BTreeMap<_, Site> = BTreeMap::new();
        for &site in wanted {
            let instruction = program.instruction(site);
            // Nothing happens where values only meet.
            if !matches!(instruction.operation, Operation::Phi { .. }) {
                let known = first.entry(instruction.block).or_insert(site);
                *known = site.min(*known);
            }
        }
        let is_certain = |site: &Site| {
            let block = program.block(program.instruction(*site).block);
            let mut before = block.sites().take_while(|other| other < site);
            before.all(|other| goes_on(program, program.instruction(other)))
        };
        let (certain, probed) = match first.is_empty() {
            true => (wanted.to_vec(), Vec::new()),
            false => first.into_values().partition(is_certain),
        };
        Arrival { certain, probed }
    }

    /// What the traced version must tell.
    pub fn probes(&self) -> Vec<Probe> {
        let numbered = (0u32..).zip(&self.probed);
        let probe = |(number, site): (u32, &Site)| Probe {
            site: site.0,
            operand: Probe::NOTHING,
            code: probe::gauge(number, 0),
        };
        numbered.map(probe).collect()
    }

    /// The blocks whose beginning is enough.
    pub fn blocks(&self, table: &SiteTable) -> Vec<usize> {
        blocks_of(table, &self.certain)
    }

    /// Whether a run has come by one of the probes.
    pub fn is_told(trace: &TraceView<'_>) -> bool {
        let mut events = trace.events.iter();
        events
            .any(|event| event.kind == EventKind::Probe as u8 && probe::gauged(event.aux).is_some())
    }
}

/// Whether what stands behind an instruction in its block runs for certain.
fn goes_on(program: &Program, instruction: &Instruction) -> bool {
    let is_variable = |value: &Value| match value {
        Value::Global(_) => true,
        Value::Result(site) => matches!(
            program.instruction(*site).operation,
            Operation::Alloca { .. }
        ),
        _ => false,
    };
    match &instruction.operation {
        operation if operation.computes() => true,
        Operation::Load(_) => is_variable(&instruction.operands[0]),
        Operation::Store(_) => is_variable(&instruction.operands[1]),
        Operation::Call(call) => match call.callee {
            // What the compiler made up (debug information, lifetimes).
            Callee::Direct(id) => {
                let symbol = program.function(id).symbol.as_str();
                symbol.starts_with("llvm.") && !symbol.starts_with("llvm.mem")
            }
            _ => false,
        },
        Operation::Alloca { .. }
        | Operation::Address(_)
        | Operation::Fence
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. }
        | Operation::ExtractElement
        | Operation::InsertElement
        | Operation::Shuffle { .. }
        | Operation::LandingPad { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{BinaryOp, Builder};

    #[test]
    fn what_stands_behind_a_call_gets_a_probe() {
        let mut b = Builder::new();
        let (check, main) = (b.declare("check", 1), b.declare("main", 1));
        let variable = Value::Global(b.global("variable", 4, None));
        let mut f = b.define(main, 2);
        f.start(0);
        let x = f.argument(0);
        let sum = f.binary(BinaryOp::Add, x, x);
        f.store(sum, variable);
        let call = f.call(check, &[sum]);
        let behind = f.binary(BinaryOp::Mul, x, x);
        f.jump(f.block(1));
        f.start(1);
        let loaded = f.load(x);
        let quotient = f.binary(BinaryOp::SDiv, loaded, behind);
        f.ret(Some(quotient));
        let program = b.finish();
        let site = |value: Value| value.site().expect("an instruction");
        let kinds = |wanted: &[Value]| {
            let wanted: Vec<Site> = wanted.iter().map(|value| site(*value)).collect();
            let arrival = Arrival::new(&program, &wanted);
            (arrival.certain, arrival.probed)
        };
        // The call itself is come to; whether it comes back is another question.
        assert_eq!(kinds(&[call, behind]), (vec![site(call)], vec![]));
        assert_eq!(kinds(&[behind]), (vec![], vec![site(behind)]));
        assert_eq!(kinds(&[loaded, quotient]), (vec![site(loaded)], vec![]));
        assert_eq!(kinds(&[quotient]), (vec![], vec![site(quotient)]));
        let both = kinds(&[behind, loaded]);
        assert_eq!(both, (vec![site(loaded)], vec![site(behind)]));
    }
}
