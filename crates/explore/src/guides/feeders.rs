//! What changes compute from: the blocks that put it into memory.
//!
//! How often these ran, and in which order, is most of what a change can tell apart, even where the
//! input does not show up in it: how many ticks of a clock lie between two buttons.

use super::facts::Facts;
use changeling_program::{BlockId, Operation, Site, Value};
use std::collections::{HashSet, VecDeque};

/// What is computed in more steps is not followed.
const MOST_STEPS: usize = 256;
/// Memory that more instructions write says nothing.
const MOST_WRITERS: usize = 8;
/// Loads from so many cells say nothing.
const MOST_CELLS: usize = 4;
const MOST_FEEDERS: usize = 12;

/// Blocks that store what some instructions compute from, the nearest first.
pub fn feeders(facts: &Facts<'_>, from: &[Site]) -> Vec<BlockId> {
    let program = facts.program;
    let mut seen: HashSet<Site> = from.iter().copied().collect();
    let mut work: VecDeque<Site> = from.iter().copied().collect();
    let mut blocks = Vec::new();
    while let Some(site) = work.pop_front() {
        if seen.len() > MOST_STEPS || blocks.len() >= MOST_FEEDERS {
            break;
        }
        let instruction = program.instruction(site);
        let writers = match instruction.operation {
            Operation::Load(_) => writers(facts, site),
            _ => Vec::new(),
        };
        for writer in writers {
            let block = program.instruction(writer).block;
            if !blocks.contains(&block) {
                blocks.push(block);
            }
            work.extend(seen.insert(writer).then_some(writer));
        }
        // Where something lies is not what it is.
        let values: &[Value] = match instruction.operation {
            Operation::Load(_) | Operation::Call(_) => &[],
            Operation::Store(_) => &instruction.operands[..1],
            _ => &instruction.operands,
        };
        for value in values {
            if let Value::Result(before) = value
                && seen.insert(*before)
            {
                work.push_back(*before);
            }
        }
    }
    blocks.truncate(MOST_FEEDERS);
    blocks
}

/// The instructions that store what a load reads.
fn writers(facts: &Facts<'_>, load: Site) -> Vec<Site> {
    let cells = facts.memory.access(load).map_or(&[][..], |a| &a.reads);
    if cells.len() > MOST_CELLS || cells.iter().any(|cell| facts.is_text(*cell, load)) {
        return Vec::new();
    }
    let writers = cells.iter().flat_map(|cell| facts.writers.get(cell));
    let mut writers: Vec<Site> = writers.flatten().copied().collect();
    let stores = |site: &Site| {
        matches!(
            facts.program.instruction(*site).operation,
            Operation::Store(_)
        )
    };
    writers.retain(stores);
    if writers.len() > MOST_WRITERS {
        return Vec::new();
    }
    writers
}
