//! Marks where blocks begin.
//!
//! They are placed on the program as it was numbered, before any of its functions
//! is put in place of a call, so that a copy of a block says that the block ran.

use crate::ir::{Cursor, Ir, Value};
use crate::sites::Numbering;
use changeling_trace::layout::COVERAGE_ADDRESS;
use std::collections::HashSet;

/// A block of the program begins.
const MARK: &str = "__chg_cover";
/// A block of a model begins, which nobody waits for.
const MARK_OF_MODEL: &str = "__chg_cover_model";

pub fn mark_blocks(
    ir: Ir,
    functions: &[Value],
    models: &HashSet<Value>,
    unmarked: &HashSet<Value>,
    numbering: &Numbering,
) {
    let cursor = Cursor::new(ir);
    let marks = [MARK, MARK_OF_MODEL].map(|name| {
        let mark = ir.add_function(name, ir.void(), &[ir.ptr()]);
        ir.attribute(mark, "nounwind");
        // Loads on both sides of a mark may still be one.
        ir.touches_nothing_known(mark);
        mark
    });
    for function in functions
        .iter()
        .filter(|function| !unmarked.contains(function))
    {
        let mark = marks[usize::from(models.contains(function))];
        for block in function.blocks() {
            if let (Some(number), Some(place)) = (numbering.block(block), block.first_insertion()) {
                cursor.before(place);
                let at = ir.constant_pointer(COVERAGE_ADDRESS + number as u64);
                cursor.call(mark, &[at]);
            }
        }
    }
}

pub fn is_mark(call: Value) -> bool {
    let callee = call.callee();
    callee.is_function() && [MARK, MARK_OF_MODEL].contains(&callee.name().as_str())
}
