//! The comparison of two programs.

use std::collections::HashMap;

use changeling_program::{FunctionId, Linkage, Place, Program, Site};

use crate::alignment::align;
use crate::functions::{Match, match_functions};
use crate::globals::{GlobalChange, changed_globals};
use crate::grouping::{Pair, changes, lines};
use crate::keys::Keys;
use crate::source::{Text, Which};
use crate::{
    Change, ChangeId, ChangeKind, ChangeSet, FunctionMatch, Lines, Side, SiteMap, Sources, Subject,
};

/// What changed from base to head. With the sources, changes know their hunks.
pub fn compare(base: &Program, head: &Program, sources: &Sources) -> ChangeSet {
    let matches = match_functions(base, head);
    let text = Text::new(base, head, sources, &matches);
    let (base_names, head_names) = common_names(&matches);
    let base_keys = Keys::new(base, &base_names);
    let head_keys = Keys::new(head, &head_names);
    let mut set = ChangeSet {
        format: ChangeSet::FORMAT,
        sites: SiteMap::new(base, head),
        ..ChangeSet::default()
    };
    for pair in &matches {
        let functions = (pair.base, pair.head);
        let defined =
            base.function(pair.base).is_defined() && head.function(pair.head).is_defined();
        let mut unchanged = true;
        if defined {
            let alignment = align(&base_keys, &head_keys, functions);
            for &(left, right) in &alignment.pairs {
                set.sites.insert(left, right);
            }
            unchanged = alignment.edits.is_empty();
            let pair = Pair {
                base,
                head,
                functions,
                text: &text,
                sites: &set.sites,
            };
            set.changes.extend(changes(&pair, &alignment));
        }
        let (base, head, reason) = (pair.base, pair.head, pair.reason);
        set.functions.push(FunctionMatch {
            base,
            head,
            reason,
            unchanged,
        });
    }
    for global in changed_globals(&base_keys, &head_keys) {
        set.changes.push(global_change(base, head, &text, global));
    }
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
            if on_demand && text.is_in_both(which, [base, head], function) {
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

/// By place in head's source, then in its code.
fn order(change: &Change) -> (Option<(u32, u32)>, Option<Site>, Option<Site>) {
    let place = change.head.lines.map(|lines| (lines.file.0, lines.first));
    let first = |side: &Side| side.entry.or(side.modified.first().copied());
    (place, first(&change.head), first(&change.base))
}

/// Matched functions go by one name in both versions.
fn common_names(matches: &[Match]) -> (HashMap<FunctionId, String>, HashMap<FunctionId, String>) {
    let name = |n: usize| format!("\0pair {n}");
    let base = matches
        .iter()
        .enumerate()
        .map(|(n, pair)| (pair.base, name(n)))
        .collect();
    let head = matches
        .iter()
        .enumerate()
        .map(|(n, pair)| (pair.head, name(n)))
        .collect();
    (base, head)
}

fn unmatched(program: &Program, matched: impl Iterator<Item = FunctionId>) -> Vec<FunctionId> {
    let mut free = vec![true; program.functions.len()];
    matched.for_each(|id| free[id.index()] = false);
    program
        .definitions()
        .filter(|id| free[id.index()])
        .collect()
}

fn global_change(base: &Program, head: &Program, text: &Text, global: GlobalChange) -> Change {
    let place = |place: Option<Place>| {
        place.map(|place| Lines {
            file: place.file,
            first: place.line,
            count: 1,
        })
    };
    let (left, right) = (
        base.global(global.base).place,
        head.global(global.head).place,
    );
    // Contents may go on for many lines; the hunk that starts after the name
    // and names the variable's contents is found through the declaration.
    let hunk = right
        .and_then(|place| text.hunk_at(Which::Head, place))
        .or_else(|| left.and_then(|place| text.hunk_at(Which::Base, place)))
        .or_else(|| right.and_then(|place| text.hunk_after(Which::Head, place)))
        .or_else(|| left.and_then(|place| text.hunk_after(Which::Base, place)));
    let found = hunk.map(|hunk| text.hunks[hunk.0 as usize].clone());
    Change {
        id: ChangeId(0),
        kind: ChangeKind::Modified,
        subject: Subject::Global {
            base: global.base,
            head: global.head,
            name: global.name,
        },
        hunk,
        base: Side {
            lines: found
                .as_ref()
                .map(|hunk| hunk.base)
                .or(place(left))
                .or_else(|| lines(base, &global.base_sites)),
            modified: global.base_sites,
            ..Side::default()
        },
        head: Side {
            lines: found
                .as_ref()
                .map(|hunk| hunk.head)
                .or(place(right))
                .or_else(|| lines(head, &global.head_sites)),
            modified: global.head_sites,
            ..Side::default()
        },
        incoming: Vec::new(),
        outgoing: Vec::new(),
    }
}
