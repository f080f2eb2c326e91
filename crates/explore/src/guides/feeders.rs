//! What changes compute from: the blocks that put it into memory.
//!
//! How often these ran, and in which order, is most of what a change can tell apart, even where the
//! input does not show up in it: how many ticks of a clock lie between two buttons.

use super::facts::Facts;
use changeling_analysis::{Cell, access::Access};
use changeling_program::{BlockId, Operation, Site, Value};
use std::collections::{HashSet, VecDeque};

/// What is computed in more steps is not followed.
const MOST_STEPS: usize = 256;
/// Memory that more instructions write says nothing.
const MOST_WRITERS: usize = 8;
/// Loads from so many cells say nothing.
const MOST_CELLS: usize = 4;
const MOST_FEEDERS: usize = 12;

/// Blocks that store what some instructions compute from or write over, the nearest first. What was there before
/// matters where only one of the versions stores.
pub fn feeders(facts: &Facts<'_>, from: &[Site]) -> Vec<BlockId> {
    let program = facts.program;
    let mut seen: HashSet<Site> = from.iter().copied().collect();
    let mut work: VecDeque<Site> = from.iter().copied().collect();
    let mut blocks = Vec::new();
    let stores = from.iter().filter(|site| facts.is_store(**site));
    for store in stores {
        let others = writers(facts, *store, |access| &access.writes);
        let others = others.into_iter().filter(|other| other != store);
        blocks.extend(others.map(|other| program.instruction(other).block));
    }
    blocks.sort_unstable();
    blocks.dedup();
    blocks.truncate(MOST_FEEDERS / 2);
    while let Some(site) = work.pop_front() {
        if seen.len() > MOST_STEPS || blocks.len() >= MOST_FEEDERS {
            break;
        }
        let instruction = program.instruction(site);
        let writers = match instruction.operation {
            Operation::Load(_) => writers(facts, site, |access| &access.reads),
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

/// The instructions that store to the same memory as one reads or writes.
fn writers(facts: &Facts<'_>, site: Site, of: impl Fn(&Access) -> &[Cell]) -> Vec<Site> {
    let cells = facts.memory.access(site).map_or(&[][..], of);
    if cells.len() > MOST_CELLS || cells.iter().any(|cell| facts.is_text(*cell, site)) {
        return Vec::new();
    }
    let writers = cells.iter().flat_map(|cell| facts.writers.get(cell));
    let mut writers: Vec<Site> = writers.flatten().copied().collect();
    writers.retain(|site| facts.is_store(*site));
    if writers.len() > MOST_WRITERS {
        return Vec::new();
    }
    writers
}
