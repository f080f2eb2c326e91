//! What loops say about values: what must hold in the first round for there to be any, and what is counted
//! in a loop and handed on from there.

use super::conditions::{Demand, Test, bits, integer, mirrored};
use super::facts::Facts;
use changeling_analysis::Node;
use changeling_program::{Operation, Program, Site, Value};

/// Phis between a value and one that it may come from.
const MOST_PHIS: usize = 32;

/// `i < count`, where `i` starts with a constant: what `count` has to be for the loop to have a first round.
/// Only where every round decides the branch, and goes on by this side.
pub fn first_round(facts: &Facts<'_>, branch: Site, side: u32) -> Option<Demand> {
    let program = facts.program;
    let instruction = program.instruction(branch);
    let Operation::Branch { then, otherwise } = instruction.operation else {
        return None;
    };
    let [target, other] = match side {
        0 => [then, otherwise],
        _ => [otherwise, then],
    };
    let Value::Result(condition) = *instruction.operands.first()? else {
        return None;
    };
    let compared = program.instruction(condition);
    let (Operation::Compare(predicate), [left, right]) =
        (&compared.operation, &compared.operands[..])
    else {
        return None;
    };
    let function = program.function_of(branch);
    let dominators = facts.dominators(function);
    let first = |block| facts.node(program.block(block).first);
    let goes_on = |end: &Node| dominators.dominates(first(target), *end);
    let start = |value: Value| {
        let (start, ends) = rounds(facts, value)?;
        let each = target != other && !ends.is_empty() && ends.iter().all(goes_on);
        each.then_some(start)
    };
    let (value, constant, predicate) = match (start(*left), start(*right)) {
        (Some(start), None) => (*right, start, mirrored(*predicate)),
        (None, Some(start)) => (*left, start, *predicate),
        _ => return None,
    };
    // It may be another one in each round, and the first is over then.
    let test = Test::Compare {
        predicate,
        constant,
        bits: bits(program, function, value)?,
        outcome: side == 0,
    };
    Some(Demand { value, test })
}

/// The constant that a variable of a loop starts with, and the ends of its rounds.
fn rounds(facts: &Facts<'_>, value: Value) -> Option<(u64, Vec<Node>)> {
    let program = facts.program;
    let Value::Result(phi) = value else {
        return None;
    };
    let instruction = program.instruction(phi);
    let Operation::Phi { incoming } = &instruction.operation else {
        return None;
    };
    let (mut start, mut ends) = (None, Vec::new());
    for (&operand, &from) in instruction.operands.iter().zip(incoming) {
        if let Some(end) = facts.end_of_round(phi, from) {
            ends.push(end);
            continue;
        }
        let constant = integer(program, operand)?;
        if *start.get_or_insert(constant) != constant {
            return None;
        }
    }
    Some((start?, ends))
}

/// Whether a phi hands on, by one of several ways into its block, a variable of a loop that it is no part of.
pub fn is_taken_out(facts: &Facts<'_>, phi: Site, operand: Value) -> bool {
    let program = facts.program;
    let Value::Result(site) = operand else {
        return false;
    };
    let mut others = program.instruction(phi).operands.iter();
    others.any(|other| *other != operand)
        && facts.is_carried(site)
        && !comes_from(program, site, phi)
}

/// Whether a phi may have its value from another one.
fn comes_from(program: &Program, phi: Site, from: Site) -> bool {
    let mut seen = vec![phi];
    let mut next = 0;
    while next < seen.len() {
        if seen[next] == from || seen.len() > MOST_PHIS {
            return true;
        }
        let instruction = program.instruction(seen[next]);
        for operand in &instruction.operands {
            if let Value::Result(site) = *operand
                && !matches!(
                    program.instruction(site).operation,
                    Operation::Load(_) | Operation::Call(_)
                )
                && !seen.contains(&site)
            {
                seen.push(site);
            }
        }
        next += 1;
    }
    false
}
