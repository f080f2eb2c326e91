//! Which variables of the two versions correspond, those whose initial contents changed, and the code that refers to
//! them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use changeling_program::{
    Constant, ConstantId, FunctionId, Global, GlobalId, Linkage, Program, Site, Value, stable_name,
};

use crate::VariableMap;
use crate::contents::is_nameless;
use crate::keys::{Keys, hash};
use crate::renaming::Renaming;
use crate::typenames;

pub struct GlobalChange {
    pub base: GlobalId,
    pub head: GlobalId,
    pub name: String,
    /// Sites that refer to the variable.
    pub base_sites: Vec<Site>,
    pub head_sites: Vec<Site>,
}

pub type GlobalPair = (GlobalId, GlobalId);

/// Variables that correspond. Static ones of several files may have the same name: first those that the same
/// functions refer to, then those of the same file. What is left and has another name now was renamed if it starts
/// with the same and the same code refers to it. In `keys` functions that correspond must go by one name.
pub fn match_globals(base: &Keys<'_>, head: &Keys<'_>, renaming: &Renaming) -> Vec<GlobalPair> {
    let mut left = cards(base);
    // What a library has nobody renamed.
    for card in left.iter_mut().filter(|card| card.defined) {
        card.name = renaming.symbol(&card.name);
    }
    let mut right = cards(head);
    let mut pairs = Vec::new();
    let rounds: [(KeyOf, bool); 10] = [
        (|c| c.outer(), false),
        (|c| c.used(hash(&(&c.name, c.initial, c.users))), false),
        (|c| c.used(hash(&(&c.name, c.users))), false),
        (|c| Some(hash(&(&c.name, &c.file, c.initial))), false),
        (|c| Some(hash(&(&c.name, &c.file))), false),
        (|c| Some(hash(&(&c.name, c.initial))), false),
        (|c| Some(hash(&c.name)), false),
        (|c| c.used(hash(&("renamed", c.initial, c.uses))), false),
        (
            |c| c.used(hash(&("renamed", c.initial, &c.file, c.users))),
            true,
        ),
        (|c| c.used(hash(&("renamed", c.initial, c.users))), true),
    ];
    for (key, alone) in rounds {
        pair_by((&mut left, &mut right), key, alone, &mut pairs);
    }
    // A variable of a library and one of the program's own are two, whatever they are called. What the compiler makes for
    // classes may come along with the program or not.
    let replaced = |&(left, right): &GlobalPair| {
        let (left, right) = (base.program.global(left), head.program.global(right));
        left.initialiser.is_some() != right.initialiser.is_some() && !left.symbol.starts_with("_ZT")
    };
    pairs.retain(|pair| !replaced(pair));
    pairs.sort_unstable();
    pairs
}

/// What variables are compared by; `None` leaves one out.
type KeyOf = fn(&Card) -> Option<u64>;

struct Card {
    id: GlobalId,
    name: String,
    /// Known outside of its file.
    external: bool,
    defined: bool,
    file: String,
    /// What it starts with.
    initial: u64,
    /// The functions that refer to it; none if that is 0.
    users: u64,
    /// The places in them.
    uses: u64,
}

impl Card {
    /// What is known everywhere is the only one of its name.
    fn outer(&self) -> Option<u64> {
        self.external.then(|| hash(&self.name))
    }

    fn used(&self, key: u64) -> Option<u64> {
        (self.defined && self.users != 0).then_some(key)
    }
}

fn cards(keys: &Keys<'_>) -> Vec<Card> {
    let program = keys.program;
    let ids = (0..program.globals.len()).map(GlobalId::new);
    let named: Vec<GlobalId> = ids.filter(|&id| !is_nameless(program.global(id))).collect();
    let sites = uses(program, named.iter().copied().collect());
    let card = |id: GlobalId| {
        let global = program.global(id);
        let sites = sites.get(&id).map_or(&[][..], Vec::as_slice);
        let within = |site: &Site| {
            let function = program.function_of(*site);
            let first = program.function(function).first_site;
            (keys.function(function), site.0 - first.0)
        };
        let mut uses: Vec<(u64, u32)> = sites.iter().map(within).collect();
        uses.sort_unstable();
        let users: BTreeSet<u64> = uses.iter().map(|&(function, _)| function).collect();
        let file = |place: changeling_program::Place| program.file(place.file).name.clone();
        Card {
            id,
            name: variable_name(global),
            external: global.linkage != Linkage::Internal,
            defined: global.initialiser.is_some(),
            file: global.place.map(file).unwrap_or_default(),
            initial: keys.initial_key(global),
            users: if users.is_empty() { 0 } else { hash(&users) },
            uses: hash(&uses),
        }
    };
    named.into_iter().map(card).collect()
}

/// Pairs those with equal keys, in their order; `alone` only if there is one of each.
fn pair_by(
    (left, right): (&mut Vec<Card>, &mut Vec<Card>),
    key: KeyOf,
    alone: bool,
    pairs: &mut Vec<GlobalPair>,
) {
    let grouped = |cards: &[Card]| {
        let mut groups: BTreeMap<u64, Vec<GlobalId>> = BTreeMap::new();
        for card in cards {
            if let Some(key) = key(card) {
                groups.entry(key).or_default().push(card.id);
            }
        }
        groups
    };
    let (own, other) = (grouped(left), grouped(right));
    let known = pairs.len();
    for (key, own) in &own {
        let Some(other) = other.get(key) else {
            continue;
        };
        if !alone || own.len() == 1 && other.len() == 1 {
            pairs.extend(own.iter().copied().zip(other.iter().copied()));
        }
    }
    let new = &pairs[known..];
    let gone: HashSet<GlobalId> = new.iter().map(|pair| pair.0).collect();
    left.retain(|card| !gone.contains(&card.id));
    let gone: HashSet<GlobalId> = new.iter().map(|pair| pair.1).collect();
    right.retain(|card| !gone.contains(&card.id));
}

/// Whether variables correspond just as their names do, so that none has to go by another one.
pub fn go_by_name((base, head): (&Keys<'_>, &Keys<'_>), pairs: &[GlobalPair]) -> bool {
    let named = |keys: &Keys<'_>| {
        let ids = (0..keys.program.globals.len()).map(GlobalId::new);
        let named = ids.filter(|&id| !is_nameless(keys.program.global(id)));
        let names = named.map(|id| keys.global(id));
        names.collect::<Vec<u64>>()
    };
    let (left, right) = (named(base), named(head));
    let (own, other): (HashSet<u64>, HashSet<u64>) = (
        left.iter().copied().collect(),
        right.iter().copied().collect(),
    );
    let mut both = pairs.iter();
    own.len() == left.len()
        && other.len() == right.len()
        && own.intersection(&other).count() == pairs.len()
        && both.all(|&(left, right)| base.global(left) == head.global(right))
}

/// Which variables are the same. In `keys` those that correspond must go by one name.
pub fn same_variables((base, head): (&Keys<'_>, &Keys<'_>), pairs: &[GlobalPair]) -> VariableMap {
    let numbers = |keys: &Keys<'_>| -> Vec<u64> {
        let ids = (0..keys.program.globals.len()).map(GlobalId::new);
        ids.map(|id| keys.global(id)).collect()
    };
    let (mut left, mut right) = (numbers(base), numbers(head));
    for &(own, other) in pairs {
        if starts_otherwise((base, head), (own, other)) {
            left[own.index()] = hash(&("base", own));
            right[other.index()] = hash(&("head", other));
        }
    }
    VariableMap::new([left, right])
}

fn starts_otherwise((base, head): (&Keys<'_>, &Keys<'_>), pair: GlobalPair) -> bool {
    let globals = (base.program.global(pair.0), head.program.global(pair.1));
    base.initial_key(globals.0) != head.initial_key(globals.1)
}

pub fn changed_globals(
    base: &Keys<'_>,
    head: &Keys<'_>,
    pairs: &[GlobalPair],
) -> Vec<GlobalChange> {
    let changed = pairs.iter().filter(|pair| {
        let globals = (base.program.global(pair.0), head.program.global(pair.1));
        let defined = globals.0.initialiser.is_some() && globals.1.initialiser.is_some();
        let is_name = || typenames::are_unread((base.program, head.program), **pair);
        defined && starts_otherwise((base, head), **pair) && !is_name()
    });
    let changed: Vec<GlobalPair> = changed.copied().collect();
    let base_uses = uses(base.program, changed.iter().map(|pair| pair.0).collect());
    let head_uses = uses(head.program, changed.iter().map(|pair| pair.1).collect());
    let of = |uses: &HashMap<GlobalId, Vec<Site>>, id| uses.get(&id).cloned().unwrap_or_default();
    let change = |(left, right): GlobalPair| GlobalChange {
        base: left,
        head: right,
        name: variable_name(head.program.global(right)),
        base_sites: of(&base_uses, left),
        head_sites: of(&head_uses, right),
    };
    let mut changes: Vec<GlobalChange> = changed.into_iter().map(change).collect();
    changes.sort_by(|a, b| (&a.name, a.base).cmp(&(&b.name, b.base)));
    changes
}

/// Variables that are defined and not among the matched ones, and that neither code nor another variable refers to.
pub fn unreferred(program: &Program, matched: impl Iterator<Item = GlobalId>) -> Vec<GlobalId> {
    let matched: HashSet<GlobalId> = matched.collect();
    let ids = (0..program.globals.len()).map(GlobalId::new);
    let alone = ids.filter(|id| {
        let global = program.global(*id);
        // These keep the linker from leaving something out, and are not read.
        let kept = global.symbol == "llvm.used" || global.symbol == "llvm.compiler.used";
        global.initialiser.is_some() && !kept && !is_nameless(global) && !matched.contains(id)
    });
    let alone: HashSet<GlobalId> = alone.collect();
    let mut found = alone.clone();
    for id in uses(program, alone).into_keys() {
        found.remove(&id);
    }
    let referred = referred(program);
    found.retain(|id| !referred.contains(id));
    let mut found: Vec<GlobalId> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Variables whose address is in what others start with. Lists for the linker do not count.
pub fn referred(program: &Program) -> HashSet<GlobalId> {
    let ids = (0..program.globals.len()).map(GlobalId::new);
    let others = ids.filter(|&id| !program.global(id).symbol.starts_with("llvm."));
    let inside = others.flat_map(|own| {
        let inside = match program.global(own).initialiser {
            Some(Value::Constant(id)) => mentioned(program, id),
            Some(Value::Global(other)) => vec![other],
            _ => Vec::new(),
        };
        inside.into_iter().filter(move |&other| other != own)
    });
    inside.collect()
}

pub fn variable_name(global: &Global) -> String {
    stable_name(&global.symbol, global.linkage == Linkage::Internal)
}

/// Sites with an operand that is, or contains, the address of one of the globals.
pub fn uses(program: &Program, wanted: HashSet<GlobalId>) -> HashMap<GlobalId, Vec<Site>> {
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

/// Functions whose address is in what a variable starts with, or in a part of that.
pub fn functions_in(program: &Program, value: Option<Value>) -> Vec<FunctionId> {
    let values: Vec<Value> = match value {
        Some(Value::Constant(id)) => parts_of(program, id),
        other => other.into_iter().collect(),
    };
    let functions = values.into_iter().filter_map(|value| match value {
        Value::Function(id) => Some(id),
        _ => None,
    });
    functions.collect()
}

fn mentioned(program: &Program, id: ConstantId) -> Vec<GlobalId> {
    let globals = parts_of(program, id)
        .into_iter()
        .filter_map(|value| match value {
            Value::Global(global) => Some(global),
            _ => None,
        });
    let mut globals: Vec<GlobalId> = globals.collect();
    globals.sort_unstable();
    globals.dedup();
    globals
}

/// What a constant is made of in the end.
fn parts_of(program: &Program, id: ConstantId) -> Vec<Value> {
    let mut found = Vec::new();
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
                Value::Constant(inner) if seen.insert(inner) => work.push(inner),
                Value::Constant(_) => {}
                other => found.push(other),
            }
        }
    }
    found
}
