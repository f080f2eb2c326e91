//! Labels whose address is taken, as for `goto *`. They correspond as the blocks do which they lead to: a block has
//! another number as soon as one is added before it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use changeling_program::{BlockId, Constant, FunctionId, Program, Value};

use crate::alignment::align_blocks;
use crate::functions::Match;
use crate::globals::GlobalPair;
use crate::keys::Keys;
use crate::source::Text;

/// How deep the contents of variables are looked through.
const DEPTH: u32 = 4;

type Label = (FunctionId, BlockId);

/// Names of the labels of matched functions, for each version: the same for two that correspond, and for the others
/// one that the other version does not have. In `keys` all labels of a function must go by one name.
pub fn labels(
    (base, head): (&Keys<'_>, &Keys<'_>),
    (matches, globals): (&[Match], &[GlobalPair]),
    text: &Text,
) -> (HashMap<BlockId, String>, HashMap<BlockId, String>) {
    let (left, right) = (taken(base.program), taken(head.program));
    let mut names = (HashMap::new(), HashMap::new());
    if left.is_empty() || right.is_empty() {
        return names;
    }
    let entries = entries(base.program, head.program, globals);
    for pair in matches {
        let (Some(left), Some(right)) = (left.get(&pair.base), right.get(&pair.head)) else {
            continue;
        };
        let name = |version: &str, block: BlockId| format!("{version} {}", block.0);
        names
            .0
            .extend(left.iter().map(|&own| (own, name("base", own))));
        names
            .1
            .extend(right.iter().map(|&own| (own, name("head", own))));
        let own = |((from, _), (to, _)): &&(Label, Label)| (*from, *to) == (pair.base, pair.head);
        let candidates = entries.iter().filter(own);
        let candidates: Vec<_> = candidates.map(|(left, right)| (left.1, right.1)).collect();
        let (mut named, mut given) = (HashSet::new(), HashSet::new());
        for (from, to) in align_blocks((base, head), (pair.base, pair.head), &candidates, text) {
            let known = left.contains(&from) && right.contains(&to);
            let free = known && !named.contains(&from) && !given.contains(&to);
            if free {
                named.insert(from);
                given.insert(to);
                names.1.insert(to, names.0[&from].clone());
            }
        }
    }
    names
}

/// The blocks of each function whose address is taken.
fn taken(program: &Program) -> BTreeMap<FunctionId, BTreeSet<BlockId>> {
    let mut taken: BTreeMap<FunctionId, BTreeSet<BlockId>> = BTreeMap::new();
    for constant in &program.constants {
        if let &Constant::BlockAddress { function, block } = constant {
            taken.entry(function).or_default().insert(block);
        }
    }
    taken
}

/// Labels that take the same place in a table of both versions.
fn entries(base: &Program, head: &Program, globals: &[GlobalPair]) -> Vec<(Label, Label)> {
    let mut entries = Vec::new();
    for &(left, right) in globals {
        let within = |program: &Program, initialiser: Option<Value>| {
            let mut found = Vec::new();
            if let Some(value) = initialiser {
                collect(program, value, DEPTH, &mut found);
            }
            found
        };
        let left = within(base, base.global(left).initialiser);
        let right = within(head, head.global(right).initialiser);
        if left.len() == right.len() {
            entries.extend(left.into_iter().zip(right));
        }
    }
    entries
}

fn collect(program: &Program, value: Value, depth: u32, found: &mut Vec<Label>) {
    let Value::Constant(id) = value else { return };
    match program.constant(id) {
        &Constant::BlockAddress { function, block } => found.push((function, block)),
        Constant::Aggregate { elements, .. } if depth > 0 => {
            for &element in elements {
                collect(program, element, depth - 1, found);
            }
        }
        _ => {}
    }
}
