//! Variables whose initial contents changed, and the code that refers to them.

use std::collections::{BTreeMap, HashMap, HashSet};

use changeling_program::{
    Constant, ConstantId, GlobalId, Linkage, Program, Site, Value, stable_name,
};

use crate::keys::{Keys, is_nameless};

pub struct GlobalChange {
    pub base: GlobalId,
    pub head: GlobalId,
    pub name: String,
    /// Sites that refer to the variable.
    pub base_sites: Vec<Site>,
    pub head_sites: Vec<Site>,
}

pub fn changed_globals(base: &Keys<'_>, head: &Keys<'_>) -> Vec<GlobalChange> {
    let heads = by_name(head.program);
    let mut changed = Vec::new();
    for (name, left) in by_name(base.program) {
        let Some(right) = heads.get(&name) else {
            continue;
        };
        // Several of one name are told apart by their contents.
        let known: HashSet<u64> = right
            .iter()
            .map(|&id| head.initial_key(head.program.global(id)))
            .collect();
        let old: HashSet<u64> = left
            .iter()
            .map(|&id| base.initial_key(base.program.global(id)))
            .collect();
        let left: Vec<_> = left
            .into_iter()
            .filter(|&id| !known.contains(&base.initial_key(base.program.global(id))))
            .collect();
        let right: Vec<_> = right
            .iter()
            .copied()
            .filter(|&id| !old.contains(&head.initial_key(head.program.global(id))))
            .collect();
        for (left, right) in left.into_iter().zip(right) {
            changed.push((name.clone(), left, right));
        }
    }
    let base_uses = uses(base.program, changed.iter().map(|(_, id, _)| *id).collect());
    let head_uses = uses(head.program, changed.iter().map(|(_, _, id)| *id).collect());
    let of = |uses: &HashMap<GlobalId, Vec<Site>>, id| uses.get(&id).cloned().unwrap_or_default();
    changed
        .into_iter()
        .map(|(name, left, right)| GlobalChange {
            base: left,
            head: right,
            name,
            base_sites: of(&base_uses, left),
            head_sites: of(&head_uses, right),
        })
        .collect()
}

/// Variables that have contents and a name.
pub fn by_name(program: &Program) -> BTreeMap<String, Vec<GlobalId>> {
    let mut names: BTreeMap<String, Vec<GlobalId>> = BTreeMap::new();
    for (index, global) in program.globals.iter().enumerate() {
        if is_nameless(global) || global.initialiser.is_none() {
            continue;
        }
        let name = stable_name(&global.symbol, global.linkage == Linkage::Internal);
        names.entry(name).or_default().push(GlobalId::new(index));
    }
    names
}

/// Sites with an operand that is, or contains, the address of one of the globals.
fn uses(program: &Program, wanted: HashSet<GlobalId>) -> HashMap<GlobalId, Vec<Site>> {
    let mut found: HashMap<GlobalId, Vec<Site>> = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    let mut inside: HashMap<ConstantId, Vec<GlobalId>> = HashMap::new();
    for site in program.sites() {
        for value in program.instruction(site).uses() {
            let mentioned = match value {
                Value::Global(id) => vec![id],
                Value::Constant(id) => inside
                    .entry(id)
                    .or_insert_with(|| mentioned(program, id))
                    .clone(),
                _ => continue,
            };
            for id in mentioned.into_iter().filter(|id| wanted.contains(id)) {
                let sites = found.entry(id).or_default();
                if sites.last() != Some(&site) {
                    sites.push(site);
                }
            }
        }
    }
    found
}

fn mentioned(program: &Program, id: ConstantId) -> Vec<GlobalId> {
    let mut globals = Vec::new();
    let mut work = vec![id];
    let mut seen = HashSet::from([id]);
    while let Some(id) = work.pop() {
        let parts: &[Value] = match program.constant(id) {
            Constant::Aggregate { elements, .. } => elements,
            Constant::Expression { operands, .. } => operands,
            Constant::Offset { base, .. } => std::slice::from_ref(base),
            _ => &[],
        };
        for part in parts {
            match *part {
                Value::Global(global) => globals.push(global),
                Value::Constant(inner) if seen.insert(inner) => work.push(inner),
                _ => {}
            }
        }
    }
    globals.sort_unstable();
    globals.dedup();
    globals
}
