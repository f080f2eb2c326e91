//! Arguments that count how deep a recursion has gone, as in `read(depth + 1)`.

use super::definitions::{Spot, counted};
use super::facts::Facts;
use changeling_program::{FunctionId, Site, Value};

/// Functions that an argument may be handed on through on its way around.
const MOST_FUNCTIONS: usize = 4;

/// If a call of a function gives it one of its own arguments with a constant added: the constant. Others may
/// stand in between that hand the argument on as it is.
pub fn deepened(facts: &Facts<'_>, call: Site, function: FunctionId, n: u32) -> Option<i64> {
    let program = facts.program;
    let value = *program.instruction(call).operands.get(n as usize)?;
    let around = program.function_of(call);
    counted(program, value, |value| match value {
        Value::Argument(own) => is_handed_on(facts, (around, own), (function, n), MOST_FUNCTIONS),
        _ => false,
    })
}

/// Whether an argument is always another one, as it is.
fn is_handed_on(
    facts: &Facts<'_>,
    (function, n): (FunctionId, u32),
    origin: (FunctionId, u32),
    most: usize,
) -> bool {
    if (function, n) == origin {
        return true;
    }
    let program = facts.program;
    let mut callers = facts.graphs.calls.callers(function).peekable();
    most > 0
        && callers.peek().is_some()
        && callers.all(|call| {
            let value = program.instruction(call).operands.get(n as usize);
            let around = program.function_of(call);
            matches!(value, Some(&Value::Argument(own)) if is_handed_on(facts, (around, own), origin, most - 1))
        })
}

/// Where a function returns: from there on the arguments of its caller count again.
pub fn returns(facts: &Facts<'_>, function: FunctionId) -> Vec<(Spot, Site)> {
    let flow = facts.graphs.flow.function(function);
    let ends = flow.returns.iter().map(|node| {
        let site = facts.graphs.flow.segment(flow.segment(*node)).last;
        let block = facts.program.instruction(site).block;
        (Spot { block, side: None }, site)
    });
    ends.collect()
}
