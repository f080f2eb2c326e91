//! Which functions of the two versions correspond: by name and signature, then
//! by name, then by similarity of their bodies.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use changeling_program::{Callee, FunctionId, Program};

use crate::Reason;
use crate::globals::variable_name;
use crate::keys::{Keys, Names, function_name, hash};
use crate::kinship::is_in_rust;
use crate::libraries::Libraries;
use crate::renaming::{Alone, Renaming, idents};
use crate::source::Which;

/// Bodies share this part of their instructions to count as one function renamed.
const SIMILAR: f64 = 0.6;
/// Smaller bodies are all alike; they must be equal.
const TELLING: usize = 6;
/// So many comparisons of bodies are affordable; beyond, bodies must be equal.
const COMPARISONS: usize = 200_000;

pub struct Match {
    pub base: FunctionId,
    pub head: FunctionId,
    pub reason: Reason,
}

/// Pairs that are known not to be one function, whatever they look like.
pub type Distinct = HashSet<(FunctionId, FunctionId)>;

/// Also declared functions are matched, so that calls of them correspond.
pub fn match_functions(
    base: &Program,
    head: &Program,
    libraries: &Libraries,
    distinct: &Distinct,
) -> (Vec<Match>, Renaming) {
    let programs = [base, head];
    let none = Names::default();
    let base = Version::new(Keys::new(base, &none), |id| libraries.has(Which::Base, id));
    let head = Version::new(Keys::new(head, &none), |id| libraries.has(Which::Head, id));
    let mut matcher = Matcher {
        base_free: vec![true; base.functions.len()],
        head_free: vec![true; head.functions.len()],
        matches: Vec::new(),
        types: distinct_names((programs[0], programs[1]), distinct),
        distinct,
        base,
        head,
    };
    // Of a function that is in several units there may be a copy in each, of a generic one for each
    // kind of things it is used for.
    let copies: [KeyOf; 5] = [
        |c| Some(hash(&(c.copy(), c.signature, &c.file, c.body, c.callers))),
        |c| Some(hash(&(c.copy(), c.signature, &c.file, c.body))),
        |c| Some(hash(&(c.copy(), c.signature, c.body))),
        |c| Some(hash(&(c.copy(), c.signature, &c.file))),
        |c| Some(hash(&(c.copy(), c.signature))),
    ];
    for key in copies {
        matcher.pair_by(key, Reason::Name);
    }
    matcher.pair_by(|c| Some(hash(&c.copy())), Reason::NameOnly);
    let rounds: [(KeyOf, Reason); 6] = [
        (
            |c| Some(hash(&(&c.name, c.signature, &c.file, c.body, c.callers))),
            Reason::Name,
        ),
        (
            |c| Some(hash(&(&c.name, c.signature, &c.file, c.body))),
            Reason::Name,
        ),
        (
            |c| Some(hash(&(&c.name, c.signature, c.body))),
            Reason::Name,
        ),
        // One of a library that was made for other things is another function.
        (
            |c| c.own(hash(&(&c.name, c.signature, &c.file))),
            Reason::Name,
        ),
        (|c| c.own(hash(&(&c.name, c.signature))), Reason::Name),
        (|c| c.own(hash(&c.name)), Reason::NameOnly),
    ];
    for (key, reason) in rounds {
        matcher.pair_by(key, reason);
    }
    let renaming = matcher.find_renamed_types(programs);
    matcher.pair_by(equal_bodies, Reason::Similarity);
    matcher.pair_similar();
    matcher.matches.sort_by_key(|pair| pair.base);
    (matcher.matches, renaming)
}

/// Further pairs, now that functions which correspond go by one name in both `keys`: instances of a library's function
/// for something that has another name now.
pub fn match_instances(
    (base, head): (&Keys<'_>, &Keys<'_>),
    matches: &[Match],
    libraries: &Libraries,
) -> Vec<Match> {
    let free = |keys: &Keys<'_>, which: Which, matched: HashSet<FunctionId>| {
        let mut free: BTreeMap<u64, Vec<FunctionId>> = BTreeMap::new();
        let own = keys.program.definitions();
        for id in own.filter(|&id| libraries.has(which, id) && !matched.contains(&id)) {
            let signature = keys.ty(keys.program.function(id).signature);
            let name = function_name(keys.program, id);
            let key = hash(&(name, signature, keys.body(id).shape));
            free.entry(key).or_default().push(id);
        }
        free
    };
    let left = matches.iter().map(|pair| pair.base).collect();
    let left = free(base, Which::Base, left);
    let right = matches.iter().map(|pair| pair.head).collect();
    let right = free(head, Which::Head, right);
    let groups = left
        .iter()
        .filter_map(|(key, left)| Some((left, right.get(key)?)));
    let pairs = groups.flat_map(|(left, right)| left.iter().zip(right));
    let reason = Reason::Name;
    pairs
        .map(|(&base, &head)| Match { base, head, reason })
        .collect()
}

/// A body under another name; unique among the unmatched or too large for
/// chance.
fn equal_bodies(card: &Card) -> Option<u64> {
    let key =
        (card.size >= 2).then(|| hash(&("body", card.in_rust, card.signature, card.anonymous)));
    key.and_then(|key| card.own(key))
}

/// What functions are compared by; `None` leaves one out.
type KeyOf = fn(&Card) -> Option<u64>;

/// What is known about a function without comparing it.
struct Card {
    name: String,
    /// What the function was made for.
    instance: String,
    /// Of a library that both versions know: nobody renamed it.
    of_library: bool,
    in_rust: bool,
    signature: u64,
    file: String,
    /// Hash of the body; 0 for declarations.
    body: u64,
    /// The same, with calls of the function itself made nameless.
    anonymous: u64,
    /// Hash of the names of the functions that call it.
    callers: u64,
    size: usize,
    /// Sorted keys of the instructions.
    bag: Vec<u64>,
}

impl Card {
    fn copy(&self) -> (&str, &str) {
        (&self.name, &self.instance)
    }

    /// The key, if the function is no library's.
    fn own(&self, key: u64) -> Option<u64> {
        (!self.of_library).then_some(key)
    }
}

struct Version {
    functions: Vec<Card>,
}

impl Version {
    fn new(keys: Keys<'_>, of_library: impl Fn(FunctionId) -> bool) -> Version {
        let callers = callers(keys.program);
        let functions = keys
            .program
            .function_ids()
            .zip(callers)
            .map(|(id, callers)| Card {
                of_library: of_library(id),
                ..card(&keys, id, callers)
            })
            .collect();
        Version { functions }
    }
}

/// What functions and variables are called in every build.
fn symbols(program: &Program) -> Vec<String> {
    let functions = program.function_ids().map(|id| function_name(program, id));
    let variables = program.globals.iter().map(variable_name);
    functions.chain(variables).collect()
}

/// For each function, which functions call it, by name.
fn callers(program: &Program) -> Vec<u64> {
    let mut names: Vec<BTreeSet<String>> = vec![BTreeSet::new(); program.functions.len()];
    for caller in program.definitions() {
        let name = function_name(program, caller);
        for site in program.function(caller).sites() {
            let call = program.instruction(site).call();
            if let Some(Callee::Direct(to)) = call.map(|call| &call.callee) {
                names[to.index()].insert(name.clone());
            }
        }
    }
    names.iter().map(hash).collect()
}

fn card(keys: &Keys<'_>, id: FunctionId, callers: u64) -> Card {
    let function = keys.program.function(id);
    let body = keys.body(id);
    let own = keys.function(id);
    let anonymous: Vec<u64> = function
        .sites()
        .zip(&body.shape)
        .map(|(site, &shape)| {
            let instruction = keys.program.instruction(site);
            let calls_itself = instruction.call().is_some_and(
                |call| matches!(&call.callee, Callee::Direct(to) if keys.function(*to) == own),
            );
            if calls_itself {
                hash(&("itself", instruction.operands.len()))
            } else {
                shape
            }
        })
        .collect();
    let mut bag = anonymous.clone();
    bag.sort_unstable();
    Card {
        name: function_name(keys.program, id),
        instance: function.instance.clone(),
        of_library: false,
        in_rust: is_in_rust(keys.program, function),
        signature: keys.ty(function.signature),
        file: function
            .place
            .map(|place| keys.program.file(place.file).name.clone())
            .unwrap_or_default(),
        body: if function.is_defined() {
            hash(&body.shape)
        } else {
            0
        },
        callers,
        anonymous: hash(&anonymous),
        size: body.kind.len(),
        bag,
    }
}

/// What such functions, and the types that they belong to, are called.
fn distinct_names(
    (base, head): (&Program, &Program),
    distinct: &Distinct,
) -> HashSet<(String, String)> {
    let mut names = HashSet::new();
    for &(left, right) in distinct {
        let (old, new) = (function_name(base, left), function_name(head, right));
        let both = idents(&old)
            .zip(idents(&new))
            .filter(|(old, new)| old != new);
        names.extend(both.map(|(old, new)| (old.to_owned(), new.to_owned())));
    }
    names
}

struct Matcher<'a> {
    distinct: &'a Distinct,
    types: HashSet<(String, String)>,
    base: Version,
    head: Version,
    base_free: Vec<bool>,
    head_free: Vec<bool>,
    matches: Vec<Match>,
}

impl Matcher<'_> {
    /// Pairs the unmatched with equal keys. Where several share a key they are
    /// taken in order, except by similarity, where that would be a guess.
    fn pair_by(&mut self, key: KeyOf, reason: Reason) {
        let base = grouped(&self.base, &self.base_free, key);
        let head = grouped(&self.head, &self.head_free, key);
        for (key, left) in &base {
            let Some(right) = head.get(key) else { continue };
            if reason == Reason::Similarity && (left.len() != 1 || right.len() != 1) {
                continue;
            }
            for (&left, &right) in left.iter().zip(right) {
                self.pair(left, right, reason);
            }
        }
    }

    /// Pairs what types that were renamed have in both versions.
    fn find_renamed_types(&mut self, programs: [&Program; 2]) -> Renaming {
        // What is defined elsewhere nobody renamed: one clock of a library is not another.
        let sides = [
            (&self.base_free, programs[0]),
            (&self.head_free, programs[1]),
        ];
        let free = sides.map(|(free, program)| {
            let is_defined = |n: usize| program.function(FunctionId::new(n)).is_defined();
            let free = (0..free.len()).filter(|&n| free[n] && is_defined(n));
            free.collect::<Vec<usize>>()
        });
        let known = programs.map(symbols);
        let known = known.each_ref().map(|names| {
            let parts = names.iter().flat_map(|name| idents(name));
            parts.collect::<HashSet<&str>>()
        });
        let (base, head) = (&self.base.functions, &self.head.functions);
        let alone = |program: &'_ Program, cards: &'_ [Card], free: &[usize]| {
            let alone = free.iter().map(|&n| Alone {
                name: cards[n].name.clone(),
                instance: cards[n].instance.clone(),
                shown: program.function(FunctionId::new(n)).name.clone(),
                signature: cards[n].signature,
            });
            alone.collect::<Vec<Alone>>()
        };
        let left = alone(programs[0], base, &free[0]);
        let right = alone(programs[1], head, &free[1]);
        let similarity = |l: usize, r: usize| similarity(&base[free[0][l]], &head[free[1][r]]);
        let renaming = Renaming::find([&left, &right], known.each_ref(), &self.types, similarity);
        if !renaming.is_empty() {
            for &n in &free[0] {
                let card = &mut self.base.functions[n];
                card.name = renaming.symbol(&card.name);
                card.instance = renaming.symbol(&card.instance);
            }
            let rounds: [KeyOf; 4] = [
                |c| Some(hash(&(c.copy(), c.signature, &c.file, c.anonymous))),
                |c| Some(hash(&(c.copy(), c.signature, &c.file))),
                |c| Some(hash(&(c.copy(), c.signature))),
                |c| Some(hash(&c.copy())),
            ];
            for key in rounds {
                self.pair_by(key, Reason::Renamed);
            }
        }
        renaming
    }

    fn pair(&mut self, left: usize, right: usize, reason: Reason) {
        let (base, head) = (FunctionId::new(left), FunctionId::new(right));
        if self.distinct.contains(&(base, head)) || self.are_of_two(left, right) {
            return;
        }
        self.base_free[left] = false;
        self.head_free[right] = false;
        self.matches.push(Match { base, head, reason });
    }

    /// Whether one was made for a type that is not the other's.
    fn are_of_two(&self, left: usize, right: usize) -> bool {
        let (left, right) = (&self.base.functions[left], &self.head.functions[right]);
        let pairs = [(&left.name, &right.name), (&left.instance, &right.instance)];
        let two = |(left, right): (&String, &String)| {
            let mut both = idents(left).zip(idents(right));
            both.any(|(left, right)| self.types.contains(&(left.to_owned(), right.to_owned())))
        };
        !self.types.is_empty() && pairs.into_iter().any(two)
    }

    fn pair_similar(&mut self) {
        let telling = |version: &Version, free: &[bool]| -> Vec<usize> {
            (0..free.len())
                .filter(|&n| free[n] && !version.functions[n].of_library)
                .filter(|&n| version.functions[n].size >= TELLING)
                .collect()
        };
        let left = telling(&self.base, &self.base_free);
        let right = telling(&self.head, &self.head_free);
        if left.len().saturating_mul(right.len()) > COMPARISONS {
            return;
        }
        let mut candidates = Vec::new();
        for &l in &left {
            for &r in &right {
                let score = similarity(&self.base.functions[l], &self.head.functions[r]);
                if score >= SIMILAR {
                    candidates.push((score, l, r));
                }
            }
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, l, r) in candidates {
            if self.base_free[l] && self.head_free[r] {
                self.pair(l, r, Reason::Similarity);
            }
        }
    }
}

fn grouped(version: &Version, free: &[bool], key: KeyOf) -> BTreeMap<u64, Vec<usize>> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (n, card) in version
        .functions
        .iter()
        .enumerate()
        .filter(|&(n, _)| free[n])
    {
        if let Some(key) = key(card) {
            groups.entry(key).or_default().push(n);
        }
    }
    groups
}

/// Twice the common part over both sizes: 1 for equal bags of instructions.
fn similarity(a: &Card, b: &Card) -> f64 {
    let total = a.size + b.size;
    let reachable = 2 * a.size.min(b.size);
    if a.in_rust != b.in_rust || (reachable as f64) < SIMILAR * total as f64 {
        return 0.0;
    }
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.bag.len() && j < b.bag.len() {
        match a.bag[i].cmp(&b.bag[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 1;
                i += 1;
                j += 1;
            }
        }
    }
    (2 * common) as f64 / total as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{BinaryOp, Builder, Linkage};

    /// A copy of `twice` for each caller, as inlined functions have in each unit.
    fn program(callers: &[&str]) -> Program {
        let mut builder = Builder::new();
        for (n, caller) in callers.iter().enumerate() {
            let copy = match n {
                0 => "twice".to_owned(),
                _ => format!("twice.{n}"),
            };
            let copy = builder.declare(&copy, 1);
            let mut body = builder.define(copy, 1);
            body.start(0);
            let two = body.int(2);
            let argument = body.argument(0);
            let product = body.binary(BinaryOp::Mul, argument, two);
            body.ret(Some(product));
            let caller = builder.declare(caller, 1);
            let mut body = builder.define(caller, 1);
            body.start(0);
            let argument = body.argument(0);
            let result = body.call(copy, &[argument]);
            body.ret(Some(result));
        }
        let mut program = builder.finish();
        for function in &mut program.functions {
            function.linkage = Linkage::Internal;
        }
        program
    }

    #[test]
    fn of_several_copies_those_with_the_same_callers_correspond() {
        let (base, head) = (program(&["parse", "print"]), program(&["print"]));
        let libraries = Libraries::new(&base, &head, &Default::default());
        let (matches, _) = match_functions(&base, &head, &libraries, &Distinct::new());
        let names = |program: &Program, id: FunctionId| program.function(id).symbol.clone();
        let mut pairs: Vec<(String, String)> = matches
            .iter()
            .map(|pair| (names(&base, pair.base), names(&head, pair.head)))
            .collect();
        pairs.sort();
        let expected = [("print", "print"), ("twice.1", "twice")];
        assert_eq!(pairs, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
