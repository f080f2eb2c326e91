//! Where functions of the program begin and end.
//!
//! What a call reads of the input is a piece that stands for something: a number, a line, a term in
//! parentheses. Such pieces can be put in each other's place.

use super::facts::Facts;
use super::modified::Pair;
use crate::guide::Passage;
use changeling_analysis::Graphs;
use changeling_program::{BlockId, FunctionId, Operation, Program};
use std::collections::{HashMap, HashSet, VecDeque};

/// Every call leaves marks in the trace, so there must not be too many of them.
const MOST_FUNCTIONS: usize = 160;

/// The blocks of head with which its own functions begin and end, by their numbers: those functions that are
/// nearest to what was changed, over calls in either direction.
pub fn passages(facts: &Facts<'_>, pair: &Pair<'_>) -> HashMap<u32, Passage> {
    let program = facts.program;
    let library: HashSet<FunctionId> = pair.changes.library[1].iter().copied().collect();
    let mut passages = HashMap::new();
    let all = near(facts, pair).into_iter();
    let of_program = |f: &FunctionId| !library.contains(f) && program.function(*f).place.is_some();
    for function in all.filter(of_program).take(MOST_FUNCTIONS) {
        let own = program.function(function);
        let ends: Vec<_> = own
            .blocks()
            .filter(|block| returns(program, *block))
            .collect();
        let Some(entry) = own.entry().filter(|entry| !ends.contains(entry)) else {
            // Nothing is decided between its beginning and its end, or nobody sees where it ends.
            continue;
        };
        let number = function.index() as u32;
        let begins = facts
            .number(entry)
            .map(|block| (block, Passage::Into(number)));
        let ends = ends.into_iter().filter_map(|block| facts.number(block));
        passages.extend(begins);
        passages.extend(ends.map(|block| (block, Passage::OutOf(number))));
    }
    passages
}

fn returns(program: &Program, block: BlockId) -> bool {
    let end = program.instruction(program.terminator(block));
    matches!(end.operation, Operation::Return)
}

/// All functions with a body, those nearest to changes first.
fn near(facts: &Facts<'_>, pair: &Pair<'_>) -> Vec<FunctionId> {
    let program = facts.program;
    let mut next: HashMap<FunctionId, Vec<FunctionId>> = HashMap::new();
    for &(site, callee) in facts.graphs.calls.edges() {
        let caller = program.function_of(site);
        next.entry(caller).or_default().push(callee);
        next.entry(callee).or_default().push(caller);
    }
    let changes = pair.changes.changes.iter();
    let mut found: Vec<FunctionId> = changes.filter_map(|change| change.head.function).collect();
    found.extend(Graphs::starts(program));
    found.sort_unstable();
    found.dedup();
    let mut known: HashSet<FunctionId> = found.iter().copied().collect();
    let mut work: VecDeque<FunctionId> = found.iter().copied().collect();
    while let Some(function) = work.pop_front() {
        for &other in next.get(&function).into_iter().flatten() {
            if program.function(other).is_defined() && known.insert(other) {
                found.push(other);
                work.push_back(other);
            }
        }
    }
    found
}
