//! What is remembered of the watched blocks on a path. Equal memories have one number.

use super::plan::{Plan, Values};
use crate::guide::Context;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, HashSet};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    pub values: Values,
    /// Changes (and places where they meet) in the order in which they were entered; the same one
    /// twice in a row is once.
    pub sequence: Vec<u32>,
    /// Something that was changed may have run.
    pub changed: bool,
    /// Blocks in which something was changed that have run, sorted.
    pub ran: Vec<u32>,
    /// Sides of changed branches that were taken, sorted.
    pub taken: Vec<u32>,
}

/// Longer sequences are cut.
const LONGEST: usize = 12;

#[derive(Default)]
pub struct Contexts {
    memories: Vec<Memory>,
    numbers: FxHashMap<Memory, u32>,
    steps: FxHashMap<(u32, u32), u32>,
    /// Values that variables have had.
    values: FxHashSet<(usize, u64)>,
    news: bool,
}

/// What entering a block means besides its effect on variables.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// Blocks in which something was changed.
    pub changed: HashSet<u32>,
    /// Blocks that store what changes compute from.
    pub feeders: HashSet<u32>,
    /// Blocks that show what changes may have done.
    pub shows: HashSet<u32>,
    /// Sides of branches that were changed.
    pub sides: HashSet<u32>,
    /// The nodes of sequences that begin in a block.
    pub nodes: BTreeMap<u32, Vec<u32>>,
}

impl Contexts {
    pub fn new(plan: &Plan) -> Contexts {
        let mut contexts = Contexts::default();
        contexts.number(Memory {
            values: plan.initial.clone(),
            ..Memory::default()
        });
        contexts
    }

    pub fn get(&self, context: Context) -> &Memory {
        &self.memories[context.0 as usize]
    }

    pub fn enter(&mut self, plan: &Plan, meaning: &Meaning, from: Context, block: u32) -> Context {
        if let Some(&to) = self.steps.get(&(from.0, block)) {
            return Context(to);
        }
        let mut memory = self.get(from).clone();
        plan.enter(&mut memory.values, block);
        memory.changed |= meaning.changed.contains(&block);
        for (list, all) in [
            (&mut memory.ran, &meaning.changed),
            (&mut memory.taken, &meaning.sides),
        ] {
            if all.contains(&block)
                && let Err(at) = list.binary_search(&block)
            {
                list.insert(at, block);
            }
        }
        for &node in meaning.nodes.get(&block).into_iter().flatten() {
            if memory.sequence.last() != Some(&node) && memory.sequence.len() < LONGEST {
                memory.sequence.push(node);
            }
        }
        let to = self.number(memory);
        self.steps.insert((from.0, block), to);
        Context(to)
    }

    /// Whether a variable has had a value for the first time since this was asked last.
    pub fn saw_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn number(&mut self, memory: Memory) -> u32 {
        if let Some(&number) = self.numbers.get(&memory) {
            return number;
        }
        for (web, value) in memory.values.iter().enumerate() {
            self.news |= value.is_some_and(|value| self.values.insert((web, value)));
        }
        let number = self.memories.len() as u32;
        self.memories.push(memory.clone());
        self.numbers.insert(memory, number);
        number
    }
}
