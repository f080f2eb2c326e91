//! Variables that start with something else: where that is written, and the code it acts on.

use std::collections::{BTreeSet, HashSet};

use changeling_program::{Constant, GlobalId, Place, Program, Shape, TypeId, Value};

use crate::globals::{GlobalChange, functions_in};
use crate::grouping::lines;
use crate::keys::Keys;
use crate::renaming::idents;
use crate::source::{Text, Which};
use crate::{Change, ChangeId, ChangeKind, HunkId, Lines, Side, Subject};

/// What declares a function that the table of a class has.
const VIRTUAL: [&str; 3] = ["virtual", "override", "final"];

/// How a variable changed: once for each hunk that has a say in it.
pub fn variable_changes(
    keys: (&Keys<'_>, &Keys<'_>),
    text: &Text,
    global: GlobalChange,
) -> Vec<Change> {
    let found = hunks(keys, text, &global);
    if found.is_empty() {
        return vec![change(keys, text, &global, None)];
    }
    let found = found.into_iter().map(Some);
    found
        .map(|hunk| change(keys, text, &global, hunk))
        .collect()
}

/// Those of its own declaration, and of macros that this mentions. If there are none, it is made of something that has
/// another value now, or another layout.
fn hunks(keys: (&Keys<'_>, &Keys<'_>), text: &Text, global: &GlobalChange) -> BTreeSet<HunkId> {
    let places = [
        (Which::Head, keys.1.program.global(global.head).place),
        (Which::Base, keys.0.program.global(global.base).place),
    ];
    let declared = places.map(|(which, place)| Some((which, text.declaration(which, place?))));
    let declared = declared.iter().flatten();
    let own = declared.clone();
    let mut found: BTreeSet<HunkId> = own
        .flat_map(|&(which, lines)| text.hunks_within(which, lines))
        .collect();
    let mentioning = declared.flat_map(|&(which, lines)| {
        let numbers = lines.first..lines.first + lines.count;
        let file = lines.file;
        numbers.map(move |line| (which, Place { file, line }))
    });
    let of_lines = |hunks: &dyn Fn(Which, Place) -> Vec<HunkId>| {
        let lines = mentioning.clone();
        let found = lines.flat_map(|(which, place)| hunks(which, place));
        found.collect::<BTreeSet<HunkId>>()
    };
    found.extend(of_lines(&|which, place| {
        text.hunks_behind_macros(which, place)
    }));
    if global.name.starts_with("_ZTV") {
        // Of all that a class declares its table has the virtual functions only.
        let declaring =
            idents(&global.name).flat_map(|class| text.hunks_in_record(class, &VIRTUAL));
        found.extend(declaring);
    }
    if found.is_empty() {
        found = hunks_of_entries(keys, text, global);
    }
    if found.is_empty() {
        found = of_lines(&|which, place| text.hunks_named(which, place));
    }
    if found.is_empty() {
        let records = record_names(keys, global).into_iter();
        found = records
            .flat_map(|name| text.hunks_of_record(name))
            .collect();
    }
    if found.is_empty() {
        found = of_lines(&|which, place| text.hunks_of_records_at(which, place));
    }
    if found.is_empty() {
        found.extend(text.only_outer_hunk());
    }
    found
}

/// The structures that the variable is made of, and of a table of a class this class.
fn record_names<'p>(
    (base, head): (&Keys<'p>, &Keys<'p>),
    global: &GlobalChange,
) -> BTreeSet<&'p str> {
    let mut names = BTreeSet::new();
    let sides: [(&'p Program, GlobalId); 2] =
        [(base.program, global.base), (head.program, global.head)];
    for (program, id) in sides {
        let global = program.global(id);
        let mut seen: HashSet<TypeId> = HashSet::from([global.ty]);
        let mut work = vec![global.ty];
        while let Some(ty) = work.pop() {
            let inner = match &program.ty(ty).shape {
                Shape::Array { element, .. } => std::slice::from_ref(element),
                Shape::Struct { name, fields, .. } => {
                    // As in `struct.point`, `class.shop::item.3`.
                    let name = name.as_deref().and_then(|name| name.split('.').nth(1));
                    names.extend(name.and_then(|name| name.rsplit("::").next()));
                    fields
                }
                _ => &[],
            };
            work.extend(inner.iter().copied().filter(|&inner| seen.insert(inner)));
        }
        if global.symbol.starts_with("_ZT") {
            names.extend(idents(&global.symbol));
        }
    }
    names
}

/// The hunks of functions that are in the contents of one version only, or else stand in another entry: tables of methods
/// and lists of what runs before `main` stand nowhere themselves.
fn hunks_of_entries(
    (base, head): (&Keys<'_>, &Keys<'_>),
    text: &Text,
    global: &GlobalChange,
) -> BTreeSet<HunkId> {
    let starts = |keys: &Keys<'_>, id| keys.program.global(id).initialiser;
    let left = starts(base, global.base);
    let right = starts(head, global.head);
    let sides = [
        (Which::Head, head, right, base, left),
        (Which::Base, base, left, head, right),
    ];
    let mut found = BTreeSet::new();
    for (which, keys, own, other, others) in sides {
        let others = functions_in(other.program, others).into_iter();
        let known: HashSet<u64> = others.map(|id| other.function(id)).collect();
        let alone = functions_in(keys.program, own).into_iter();
        let alone = alone.filter(|&id| !known.contains(&keys.function(id)));
        found.extend(alone.flat_map(|id| {
            let hunks = text.hunks_in(which, keys.program, id);
            hunks.into_iter().map(|(_, id)| id)
        }));
    }
    if !found.is_empty() {
        return found;
    }
    for (which, keys, own, other, others) in sides {
        let others = elements(other.program, others).iter();
        let known: HashSet<Option<u64>> = others.map(|&value| other.fixed(value)).collect();
        let own = elements(keys.program, own).iter();
        let own = own.filter(|&&value| !known.contains(&keys.fixed(value)));
        let functions = own.flat_map(|&value| functions_in(keys.program, Some(value)));
        found.extend(functions.flat_map(|id| {
            let hunks = text.hunks_in(which, keys.program, id);
            hunks.into_iter().map(|(_, id)| id)
        }));
    }
    found
}

fn elements(program: &Program, value: Option<Value>) -> &[Value] {
    match value {
        Some(Value::Constant(id)) => match program.constant(id) {
            Constant::Aggregate { elements, .. } => elements,
            _ => &[],
        },
        _ => &[],
    }
}

fn change(
    keys: (&Keys<'_>, &Keys<'_>),
    text: &Text,
    global: &GlobalChange,
    hunk: Option<HunkId>,
) -> Change {
    let (base, head) = (keys.0.program, keys.1.program);
    let line = |place: Option<Place>| {
        place.map(|place| Lines {
            file: place.file,
            first: place.line,
            count: 1,
        })
    };
    let (left, right) = (
        line(base.global(global.base).place),
        line(head.global(global.head).place),
    );
    let found = hunk.map(|hunk| &text.hunks[hunk.0 as usize]);
    Change {
        id: ChangeId(0),
        kind: ChangeKind::Modified,
        subject: Subject::Global {
            base: global.base,
            head: global.head,
            name: global.name.clone(),
        },
        hunk,
        base: Side {
            lines: found
                .map(|hunk| hunk.base)
                .or(left)
                .or_else(|| lines(base, &global.base_sites)),
            modified: global.base_sites.clone(),
            ..Side::default()
        },
        head: Side {
            lines: found
                .map(|hunk| hunk.head)
                .or(right)
                .or_else(|| lines(head, &global.head_sites)),
            modified: global.head_sites.clone(),
            ..Side::default()
        },
        incoming: Vec::new(),
        outgoing: Vec::new(),
    }
}
