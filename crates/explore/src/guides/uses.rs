//! Branches that test what changes compute.

use super::facts::Facts;
use changeling_analysis::Cell;
use changeling_program::{Callee, FunctionId, Operation, Site, Value};
use std::collections::{HashMap, HashSet, VecDeque};

/// What is computed from something else in more steps is not followed.
const MOST_STEPS: usize = 4_096;
/// Cells that more instructions read say nothing.
const MOST_READERS: usize = 64;

/// Branches whose conditions are computed from what some instructions compute or store, the nearest
/// first.
pub fn testing_branches(facts: &Facts<'_>, from: &[Site]) -> Vec<Site> {
    let program = facts.program;
    let users = Users::new(facts);
    let mut seen: HashSet<Site> = from.iter().copied().collect();
    let mut work: VecDeque<Site> = from.iter().copied().collect();
    let mut branches = Vec::new();
    while let Some(site) = work.pop_front() {
        if seen.len() > MOST_STEPS {
            break;
        }
        let instruction = program.instruction(site);
        if instruction.decides() {
            branches.push(site);
        }
        let mut next: Vec<Site> = users.results.get(&site).cloned().unwrap_or_default();
        if let Operation::Store(_) = instruction.operation {
            for cell in facts.memory.access(site).map_or(&[][..], |a| &a.writes) {
                let readers = users.readers.get(cell).map_or(&[][..], Vec::as_slice);
                next.extend(readers.iter().filter(|_| readers.len() <= MOST_READERS));
            }
        }
        if let Operation::Return = instruction.operation {
            let function = program.function_of(site);
            let callers = facts.graphs.calls.callers(function);
            next.extend(callers.flat_map(|call| users.results.get(&call)).flatten());
        }
        for user in next {
            if let Some(call) = program.instruction(user).call() {
                let Callee::Direct(callee) = call.callee else {
                    continue;
                };
                let operands = (0u32..).zip(&program.instruction(user).operands);
                let handed = operands.filter(|(_, value)| **value == Value::Result(site));
                let inside = handed.filter_map(|(n, _)| users.arguments.get(&(callee, n)));
                work.extend(inside.flatten().filter(|site| seen.insert(**site)));
            } else if seen.insert(user) {
                work.push_back(user);
            }
        }
    }
    branches
}

/// Who uses what.
struct Users {
    results: HashMap<Site, Vec<Site>>,
    arguments: HashMap<(FunctionId, u32), Vec<Site>>,
    /// Loads only.
    readers: HashMap<Cell, Vec<Site>>,
}

impl Users {
    fn new(facts: &Facts<'_>) -> Users {
        let program = facts.program;
        let mut arguments: HashMap<(FunctionId, u32), Vec<Site>> = HashMap::new();
        let mut readers: HashMap<Cell, Vec<Site>> = HashMap::new();
        for site in program.sites() {
            let instruction = program.instruction(site);
            for value in instruction.uses() {
                if let Value::Argument(n) = value {
                    let key = (program.function_of(site), n);
                    arguments.entry(key).or_default().push(site);
                }
            }
            if let Operation::Load(_) = instruction.operation {
                for &cell in facts.memory.access(site).map_or(&[][..], |a| &a.reads) {
                    readers.entry(cell).or_default().push(site);
                }
            }
        }
        Users {
            results: facts.users(),
            arguments,
            readers,
        }
    }
}
