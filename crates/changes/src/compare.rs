//! The comparison of two programs.

use std::collections::{HashMap, HashSet};

use changeling_program::{FileId, FunctionId, GlobalId, Linkage, Program, Site};

use crate::alignment::align;
use crate::functions::{Distinct, Match, match_functions, match_instances};
use crate::globals::{
    GlobalPair, changed_globals, go_by_name, match_globals, referred, same_variables, unreferred,
};
use crate::grouping::{Pair, changes};
use crate::keys::{Keys, Names};
use crate::kinship::are_versions_of_one;
use crate::labels::labels;
use crate::libraries::{Apart, Libraries, is_closed};
use crate::places;
use crate::source::{Text, Which};
use crate::variables::variable_changes;
use crate::{Change, ChangeId, ChangeSet, FunctionMatch, HunkId, Reason, Side, SiteMap, Sources};

/// What changed from base to head. With the sources, changes know their hunks.
pub fn compare(base: &Program, head: &Program, sources: &Sources) -> ChangeSet {
    let libraries = Libraries::new(base, head, sources);
    let mut distinct = Distinct::new();
    let mut found = correspondence((base, head), sources, &libraries, &distinct);
    for _ in 0..REPLACED {
        let known = distinct.len();
        distinct.extend(found.distinct());
        if distinct.len() == known {
            break;
        }
        found = correspondence((base, head), sources, &libraries, &distinct);
    }
    changes_between((base, head), sources, &libraries, found)
}

/// So often functions are matched anew because some of them are two.
const REPLACED: usize = 4;

/// What goes with what in the two versions.
struct Correspondence<'p> {
    matches: Vec<Match>,
    globals: Vec<GlobalPair>,
    keys: (Keys<'p>, Keys<'p>),
    text: Text,
}

impl Correspondence<'_> {
    /// Functions that were taken for one with another name, but do something else, and both versions have the text of
    /// both, at other lines: one is used in place of the other.
    fn distinct(&self) -> Distinct {
        let (base, head) = (&self.keys.0, &self.keys.1);
        let none = Apart::default();
        let is_guess = |pair: &&Match| matches!(pair.reason, Reason::Renamed | Reason::Similarity);
        let guesses = self.matches.iter().filter(is_guess);
        let pairs = guesses.map(|pair| (pair.base, pair.head));
        let two = pairs.filter(|&(left, right)| {
            let both = self.text.is_in_both(Which::Base, left, base.program)
                && self.text.is_in_both(Which::Head, right, head.program);
            let places = (
                base.program.function(left).place,
                head.program.function(right).place,
            );
            let (Some(from), Some(to)) = places else {
                return false;
            };
            let to = self.text.canonical(Which::Head, to);
            let elsewhere = self.text.unchanged(from).is_some_and(|place| place != to);
            both && elsewhere
                && !align(base, head, (left, right), &none, &self.text)
                    .edits
                    .is_empty()
        });
        two.collect()
    }
}

fn correspondence<'p>(
    (base, head): (&'p Program, &'p Program),
    sources: &Sources,
    libraries: &Libraries,
    distinct: &Distinct,
) -> Correspondence<'p> {
    let (mut matches, renaming) = match_functions(base, head, libraries, distinct);
    matches.retain(|pair| !is_replaced((base, head), pair, libraries));
    let places_count = places::are_read(base) || places::are_read(head);
    let mut names = names(base, head, &matches, places_count);
    let mut keys = (Keys::new(base, &names.0), Keys::new(head, &names.1));
    for _ in 0..NESTED {
        let more = match_instances((&keys.0, &keys.1), &matches, libraries);
        if more.is_empty() {
            break;
        }
        matches.extend(more);
        names = self::names(base, head, &matches, places_count);
        keys = (keys.0.renamed(&names.0), keys.1.renamed(&names.1));
    }
    let globals = match_globals(&keys.0, &keys.1, &renaming);
    if !go_by_name((&keys.0, &keys.1), &globals) {
        name_globals(&mut names, &globals, (base, head));
        keys = (keys.0.renamed(&names.0), keys.1.renamed(&names.1));
    }
    matches.sort_by_key(|pair| pair.base);
    let text = Text::new(base, head, sources, &matches);
    (names.0.labels, names.1.labels) = labels((&keys.0, &keys.1), (&matches, &globals), &text);
    if !names.0.labels.is_empty() || !names.1.labels.is_empty() {
        keys = (keys.0.renamed(&names.0), keys.1.renamed(&names.1));
    }
    Correspondence {
        matches,
        globals,
        keys,
        text,
    }
}

fn changes_between(
    (base, head): (&Program, &Program),
    sources: &Sources,
    libraries: &Libraries,
    found: Correspondence<'_>,
) -> ChangeSet {
    let Correspondence {
        matches,
        globals,
        keys: (base_keys, head_keys),
        text,
    } = found;
    let apart = apart(
        (&base_keys, &head_keys),
        &matches,
        libraries,
        (sources, &text),
    );
    let is_closed = |pair: &Match| is_closed_pair((base, head), pair, libraries);
    let mut set = ChangeSet {
        format: ChangeSet::FORMAT,
        sites: SiteMap::new(base, head),
        variables: same_variables((&base_keys, &head_keys), &globals),
        library: libraries.functions(),
        foreign: !are_versions_of_one((base, head), sources, &matches),
        ..ChangeSet::default()
    };
    for pair in &matches {
        let functions = (pair.base, pair.head);
        let defined =
            base.function(pair.base).is_defined() && head.function(pair.head).is_defined();
        let mut unchanged = true;
        if defined {
            let alignment = align(&base_keys, &head_keys, functions, &apart, &text);
            for &(left, right) in &alignment.pairs {
                set.sites.insert(left, right);
            }
            let closed = is_closed(pair);
            unchanged = closed || alignment.edits.is_empty();
            let of_library = closed || apart.has(pair.base);
            if closed && !alignment.edits.is_empty() {
                set.assumed.push(pair.base);
            }
            let pair = Pair {
                base,
                head,
                functions,
                text: &text,
                sites: &set.sites,
            };
            if !of_library {
                set.changes.extend(changes(&pair, &alignment));
            }
        }
        let (base, head, reason) = (pair.base, pair.head, pair.reason);
        set.functions.push(FunctionMatch {
            base,
            head,
            reason,
            unchanged,
        });
    }
    let explained: HashSet<HunkId> = set.changes.iter().filter_map(|own| own.hunk).collect();
    let inside = [base, head].map(referred);
    let is_known =
        |program: &Program, global: GlobalId, sites: &[Site], inside: &HashSet<GlobalId>| {
            let external = program.global(global).linkage != Linkage::Internal;
            external || !sites.is_empty() || inside.contains(&global)
        };
    for global in changed_globals(&base_keys, &head_keys, &globals) {
        // A constant that is in the code itself by now acts by the change of the code alone.
        let used = is_known(base, global.base, &global.base_sites, &inside[0])
            || is_known(head, global.head, &global.head_sites, &inside[1]);
        let mut own = variable_changes((&base_keys, &head_keys), &text, global);
        own.retain(|change| used || !change.hunk.is_some_and(|hunk| explained.contains(&hunk)));
        set.changes.extend(own);
    }
    set.unreferred = [
        unreferred(base, globals.iter().map(|pair| pair.0)),
        unreferred(head, globals.iter().map(|pair| pair.1)),
    ];
    set.added = unmatched(head, matches.iter().map(|pair| pair.head));
    set.deleted = unmatched(base, matches.iter().map(|pair| pair.base));
    let lone = [
        (Which::Base, base, &set.deleted),
        (Which::Head, head, &set.added),
    ];
    for (which, program, functions) in lone {
        for &function in functions {
            // What is compiled only if something uses it says nothing by being there.
            let on_demand = program.function(function).linkage != Linkage::External;
            let known = libraries.has(which, function)
                || on_demand && text.is_in_both(which, function, program);
            if known {
                set.demanded[which as usize].push(function);
            }
            let hunks = text.hunks_in(which, program, function);
            set.lone.extend(hunks.into_iter().map(|(_, hunk)| hunk));
        }
    }
    set.lone.sort_unstable();
    set.lone.dedup();
    set.hunks = text.hunks;
    set.changes.sort_by_key(order);
    for (index, change) in set.changes.iter_mut().enumerate() {
        change.id = ChangeId(index as u32);
    }
    set
}

/// Functions of libraries that call others of libraries are looked through so far for something that goes by
/// another name.
const NESTED: usize = 6;

/// By place in head's source, then in its code.
fn order(change: &Change) -> (Option<(u32, u32)>, Option<Site>, Option<Site>) {
    let place = change.head.lines.map(|lines| (lines.file.0, lines.first));
    let first = |side: &Side| side.entry.or(side.modified.first().copied());
    (place, first(&change.head), first(&change.base))
}

/// Functions of libraries whose code differs, though nothing of it is in a source of the versions.
fn apart(
    (base, head): (&Keys<'_>, &Keys<'_>),
    matches: &[Match],
    libraries: &Libraries,
    (sources, text): (&Sources, &Text),
) -> Apart {
    let of_library = |id| libraries.has(Which::Base, id);
    let none = Apart::default();
    let differs = |pair: &&Match| {
        let defined = base.program.function(pair.base).is_defined()
            && head.program.function(pair.head).is_defined();
        let of_both = of_library(pair.base) && libraries.has(Which::Head, pair.head);
        let closed = is_closed_pair((base.program, head.program), pair, libraries);
        if !defined || !of_both || closed {
            return false;
        }
        let edits = align(base, head, (pair.base, pair.head), &none, text).edits;
        let own = |site: Option<Site>, program: &Program, texts: &HashMap<FileId, String>| {
            let place = site.and_then(|site| program.place(site));
            place.is_some_and(|place| texts.contains_key(&place.file))
        };
        !edits.is_empty()
            && !edits.iter().any(|(edit, _)| {
                own(edit.base(), base.program, &sources.base)
                    || own(edit.head(), head.program, &sources.head)
            })
    };
    let differing = matches.iter().filter(differs).map(|pair| pair.base);
    let open = |id| of_library(id) && !is_closed(base.program.function(id));
    Apart::new(base.program, differing.collect(), open)
}

/// Whether both are one function of a library that depends on nothing of the program.
fn is_closed_pair(programs: (&Program, &Program), pair: &Match, libraries: &Libraries) -> bool {
    let base = programs.0.function(pair.base);
    let head = programs.1.function(pair.head);
    base.instance == head.instance
        && libraries.has(Which::Base, pair.base)
        && libraries.has(Which::Head, pair.head)
        && is_closed(base)
        && is_closed(head)
}

/// Whether one version has a function of its own where the other has one of a library, which has the same name and does
/// nobody knows what.
fn is_replaced(programs: (&Program, &Program), pair: &Match, libraries: &Libraries) -> bool {
    let base = programs.0.function(pair.base).is_defined();
    let head = programs.1.function(pair.head).is_defined();
    base && !head && !libraries.has(Which::Base, pair.base)
        || head && !base && !libraries.has(Which::Head, pair.head)
}

/// Matched functions go by one name in both versions, others by none that the other version has.
fn names(base: &Program, head: &Program, matches: &[Match], places_count: bool) -> (Names, Names) {
    let alone = |program: &Program, version: &str| -> HashMap<FunctionId, String> {
        let all = program.function_ids();
        all.map(|id| (id, format!("\0{version} {}", id.index())))
            .collect()
    };
    let (mut base, mut head) = (alone(base, "base"), alone(head, "head"));
    for (n, pair) in matches.iter().enumerate() {
        base.insert(pair.base, format!("\0pair {n}"));
        head.insert(pair.head, format!("\0pair {n}"));
    }
    let of = |functions: HashMap<FunctionId, String>| Names {
        functions,
        places_count,
        ..Names::default()
    };
    (of(base), of(head))
}

/// The same for variables.
fn name_globals(
    names: &mut (Names, Names),
    pairs: &[GlobalPair],
    (base, head): (&Program, &Program),
) {
    let alone = |program: &Program, version: &str| -> HashMap<GlobalId, String> {
        let all = (0..program.globals.len()).map(GlobalId::new);
        all.map(|id| (id, format!("\0{version} {}", id.index())))
            .collect()
    };
    (names.0.globals, names.1.globals) = (alone(base, "base"), alone(head, "head"));
    for (n, &(left, right)) in pairs.iter().enumerate() {
        names.0.globals.insert(left, format!("\0pair {n}"));
        names.1.globals.insert(right, format!("\0pair {n}"));
    }
}

fn unmatched(program: &Program, matched: impl Iterator<Item = FunctionId>) -> Vec<FunctionId> {
    let mut free = vec![true; program.functions.len()];
    matched.for_each(|id| free[id.index()] = false);
    program
        .definitions()
        .filter(|id| free[id.index()])
        .collect()
}
