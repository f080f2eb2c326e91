//! Values that somebody asks for by name: what they are, and what they depend on, each time that they are
//! about to be used.
//!
//! They are placed on the program as it was numbered, so that a copy of an instruction in place of a call
//! has its probe too. A program without probes is as it always was.

use crate::ir::{Cursor, Ir, Value};
use std::collections::HashMap;

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Probe {
    pub site: u32,
    /// Of a call: the argument.
    pub operand: u32,
    /// What events say ([`changeling_trace::event::probe`]).
    pub code: u32,
}

impl Probe {
    /// No operand: only that the instruction is come to.
    pub const NOTHING: u32 = u32::MAX;
}

/// Part of the tracer; see the glue.
const PROBE: &str = "__chg_probe";

pub fn place(ir: Ir, functions: &[Value], probes: &[Probe]) {
    if probes.is_empty() {
        return;
    }
    let mut wanted: HashMap<u32, Vec<&Probe>> = HashMap::new();
    for probe in probes {
        wanted.entry(probe.site).or_default().push(probe);
    }
    let function = ir.add_function(PROBE, ir.void(), &[ir.int(32), ir.int(64)]);
    ir.attribute(function, "nounwind");
    ir.touches_nothing_known(function);
    let cursor = Cursor::new(ir);
    let blocks = functions.iter().flat_map(|function| function.blocks());
    for instruction in blocks.flat_map(|block| block.instructions()) {
        let number = ir.number(instruction);
        for probe in number
            .and_then(|number| wanted.get(&number))
            .into_iter()
            .flatten()
        {
            cursor.before(instruction);
            let value = match probe.operand {
                Probe::NOTHING => ir.constant(64, 0),
                operand => cursor.as_int(instruction.operand(operand), 64),
            };
            cursor.call(function, &[ir.constant(32, probe.code.into()), value]);
        }
    }
}
