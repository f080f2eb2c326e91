//! Branches that test what changes compute.

use super::facts::Facts;
use super::users::Users;
use changeling_analysis::Cell;
use changeling_program::{Operation, Site};
use std::collections::{HashMap, HashSet, VecDeque};

/// What is computed from something else in more steps is not followed.
const MOST_STEPS: usize = 4_096;
/// Cells that more instructions read say nothing.
const MOST_READERS: usize = 64;

/// Branches whose conditions are computed from what some instructions compute or store, the nearest
/// first.
pub fn testing_branches(facts: &Facts<'_>, from: &[Site]) -> Vec<Site> {
    let program = facts.program;
    let (users, readers) = (Users::new(program), readers(facts));
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
        let calls = |function| facts.graphs.calls.callers(function);
        let mut next = users.next(program, site, calls);
        if let Operation::Store(_) = instruction.operation {
            for cell in facts.memory.access(site).map_or(&[][..], |a| &a.writes) {
                let readers = readers.get(cell).map_or(&[][..], Vec::as_slice);
                next.extend(readers.iter().filter(|_| readers.len() <= MOST_READERS));
            }
        }
        work.extend(next.into_iter().filter(|site| seen.insert(*site)));
    }
    branches
}

/// The loads from each cell.
fn readers(facts: &Facts<'_>) -> HashMap<Cell, Vec<Site>> {
    let program = facts.program;
    let mut readers: HashMap<Cell, Vec<Site>> = HashMap::new();
    for site in program.sites() {
        if let Operation::Load(_) = program.instruction(site).operation {
            for &cell in facts.memory.access(site).map_or(&[][..], |a| &a.reads) {
                readers.entry(cell).or_default().push(site);
            }
        }
    }
    readers
}
