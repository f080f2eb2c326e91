//! Which hunks of the source altered instructions come from.

use std::collections::HashMap;

use changeling_program::{
    Callee, Constant, DebugValue, Operation, Place, Program, Shape, Site, Value, VariableId,
};

use crate::alignment::Edit;
use crate::grouping::Pair;
use crate::source::Which;
use crate::statements::RETURN;
use crate::{HunkId, Lines};

/// The hunks of each edit: those around its lines, and those that assign what it
/// uses now or used before; one that changes a name its line mentions; that of
/// its neighbours; the closest in the function.
pub fn assign_hunks(pair: &Pair<'_>, edits: &[(Edit, u32)]) -> Vec<Vec<HunkId>> {
    let mut hunks: Vec<Vec<HunkId>> = Vec::with_capacity(edits.len());
    for &(edit, _) in edits {
        let places = places(pair, edit);
        let at = |&(which, place): &(Which, Place)| pair.text.hunk_at(which, place);
        // Code that was moved is in a hunk of base, too, which says nothing.
        let of = |which: Which| places.iter().filter(move |place| place.0 == which);
        let mut own: Vec<HunkId> = of(Which::Head).filter_map(at).collect();
        if own.is_empty() {
            own.extend(of(Which::Base).filter_map(at));
        }
        if matches!(edit, Edit::Modified(..)) || own.is_empty() {
            own.extend(statement_hunks(pair, edit, &places));
        }
        own.extend(joined_hunks(pair, edit));
        let assigned = assigned(pair, edit, own.is_empty());
        own.extend(assigned.iter().filter_map(at));
        let first = |hunks: &dyn Fn(Which, Place) -> Vec<HunkId>| {
            let found = places.iter().map(|&(which, place)| hunks(which, place));
            let mut found = found.filter(|hunks| !hunks.is_empty());
            found.next().unwrap_or_default()
        };
        if own.is_empty() && !leads_elsewhere(pair, edit) {
            own.extend(first(&|which, place| pair.text.hunks_named(which, place)));
        }
        if own.is_empty() && !leads_elsewhere(pair, edit) {
            own.extend(record_hunks(pair, edit, &places));
        }
        if own.is_empty() {
            own.extend(called_hunk(pair, edit));
        }
        if own.is_empty() && is_call(pair, edit) {
            own.extend(first(&|which, place| {
                pair.text.hunks_behind_macros(which, place)
            }));
        }
        own.sort_unstable();
        own.dedup();
        hunks.push(own);
    }
    let mut by_run: HashMap<u32, HunkId> = HashMap::new();
    for (&(_, run), hunks) in edits.iter().zip(&hunks) {
        if let Some(&hunk) = hunks.first() {
            by_run.entry(run).or_insert(hunk);
        }
    }
    let (base, head) = pair.functions;
    let base_hunks = pair.text.hunks_in(Which::Base, pair.base, base);
    let head_hunks = pair.text.hunks_in(Which::Head, pair.head, head);
    let any_known = hunks.iter().any(|own| !own.is_empty());
    for (n, &(edit, run)) in edits.iter().enumerate() {
        let placeless = || any_known && places(pair, edit).is_empty();
        if !hunks[n].is_empty() || !by_run.contains_key(&run) && placeless() {
            continue;
        }
        let near = |which: Which, line: u32| {
            let hunks = if which == Which::Base {
                &base_hunks
            } else {
                &head_hunks
            };
            hunks
                .iter()
                .map(|(lines, id)| (lines.distance(line), *id))
                .min()
        };
        let closest = || {
            let places = located(pair, edit);
            let near = places
                .iter()
                .filter_map(|&(which, place)| near(which, place.line));
            near.min().map(|(_, id)| id)
        };
        let any = || {
            base_hunks
                .iter()
                .chain(&head_hunks)
                .map(|&(_, id)| id)
                .next()
        };
        let found = by_run.get(&run).copied();
        let imported = || {
            let places = places(pair, edit).into_iter();
            let mut found =
                places.filter_map(|(which, place)| pair.text.hunk_imported(which, place));
            found.next()
        };
        let found = found.or_else(closest).or_else(any).or_else(imported);
        hunks[n].extend(found.or_else(|| pair.text.only_outer_hunk()));
    }
    assign_placeless(pair, edits, &mut hunks);
    assign_alike(pair, edits, &mut hunks);
    hunks
}

/// What stands at no line goes with the line that declares its variable: room for one that is new, one of another
/// type. The rest, such as what a function returns in the end, goes with the closest edit that has a hunk.
fn assign_placeless(pair: &Pair<'_>, edits: &[(Edit, u32)], hunks: &mut [Vec<HunkId>]) {
    let placeless = |n: &usize| places(pair, edits[*n].0).is_empty();
    let unknown = (0..edits.len()).filter(|&n| hunks[n].is_empty());
    let unknown: Vec<usize> = unknown.filter(placeless).collect();
    for &n in &unknown {
        hunks[n].extend(declaring(pair, edits[n].0));
    }
    let known: Vec<usize> = (0..edits.len()).filter(|&n| !hunks[n].is_empty()).collect();
    for n in unknown.into_iter().filter(|n| !known.contains(n)) {
        let closest = known.iter().min_by_key(|other| other.abs_diff(n));
        let hunk = closest.and_then(|&other| hunks[other].first().copied());
        hunks[n].extend(hunk);
    }
}

/// The hunk that declares the variable which an instruction is the value or the room of.
fn declaring(pair: &Pair<'_>, edit: Edit) -> Option<HunkId> {
    let sides = [(Which::Head, edit.head()), (Which::Base, edit.base())];
    sides.into_iter().find_map(|(which, site)| {
        let (program, function) = pair.side(which);
        let value = Value::Result(site?);
        let file = program.function(function).place?.file;
        let known = debug_values(program, program.function(function).sites()).iter();
        let mut own = known.filter(|known| known.value == value);
        own.find_map(|known| {
            let variable = &program.variables[known.variable.index()];
            let line = variable.line;
            let declared = (variable.function == function).then_some(Place { file, line })?;
            pair.text.hunk_at(which, declared)
        })
    })
}

/// Whether a branch was altered that both versions have. Names on its line say nothing about that: what it
/// rests on has edits of its own, and where it leads follows from what stands around it.
fn leads_elsewhere(pair: &Pair<'_>, edit: Edit) -> bool {
    let Edit::Modified(site, _) = edit else {
        return false;
    };
    let operation = &pair.base.instruction(site).operation;
    matches!(operation, Operation::Branch { .. } | Operation::Jump { .. })
}

/// Hunks that change the structure whose layout an address follows, or which the line mentions.
fn record_hunks(pair: &Pair<'_>, edit: Edit, places: &[(Which, Place)]) -> Vec<HunkId> {
    let name = |which: Which, site: Site| {
        let (program, _) = pair.side(which);
        let Operation::Address(address) = &program.instruction(site).operation else {
            return None;
        };
        let Shape::Struct { name, .. } = &program.ty(address.element).shape else {
            return None;
        };
        // As in `struct.point`, `class.std::vector.3`.
        let name = name.as_deref()?.split('.').nth(1)?;
        Some(name.rsplit("::").next().unwrap_or(name).to_owned())
    };
    let sites = [(Which::Base, edit.base()), (Which::Head, edit.head())];
    let names = sites.map(|(which, site)| name(which, site?));
    let named: Vec<HunkId> = names
        .iter()
        .flatten()
        .flat_map(|name| pair.text.hunks_of_record(name))
        .collect();
    if !named.is_empty() {
        return named;
    }
    places
        .iter()
        .flat_map(|&(which, place)| pair.text.hunks_of_records_at(which, place))
        .collect()
}

/// Lines that only one version has, with code that was taken for code of other lines (one of several
/// statements that are alike): they belong to the closest edit.
fn assign_alike(pair: &Pair<'_>, edits: &[(Edit, u32)], hunks: &mut [Vec<HunkId>]) {
    for which in [Which::Base, Which::Head] {
        let (program, function) = pair.side(which);
        let own: Vec<(Lines, HunkId)> = pair.text.hunks_in(which, program, function);
        for (lines, id) in own {
            let hunk = &pair.text.hunks[id.0 as usize];
            let other = match which {
                Which::Base => hunk.head.count,
                Which::Head => hunk.base.count,
            };
            let has_code = || {
                program.function(function).sites().any(|site| {
                    let within = |place: Place| {
                        let place = pair.text.canonical(which, place);
                        place.file == lines.file && lines.contains(place.line)
                    };
                    !program.instruction(site).is_terminator()
                        && program.place(site).is_some_and(within)
                        && is_taken_from_a_line_left(pair, which, site)
                })
            };
            if other > 0 || hunks.iter().any(|own| own.contains(&id)) || !has_code() {
                continue;
            }
            let distance = |edit: Edit| {
                let places = located(pair, edit).into_iter();
                let own = places.filter(|(side, _)| *side == which);
                own.map(|(_, place)| lines.distance(place.line)).min()
            };
            let near = (0..edits.len()).filter_map(|at| Some((distance(edits[at].0)?, at)));
            if let Some((_, at)) = near.min() {
                hunks[at].push(id);
            }
        }
    }
}

/// Whether an instruction corresponds to one of a line that both versions have.
fn is_taken_from_a_line_left(pair: &Pair<'_>, which: Which, site: Site) -> bool {
    let (other, partner) = match which {
        Which::Base => (Which::Head, pair.sites.head(site)),
        Which::Head => (Which::Base, pair.sites.base(site)),
    };
    let place = partner.and_then(|partner| pair.side(other).0.place(partner));
    place.is_some_and(|place| pair.text.hunk_at(other, place).is_none())
}

/// The hunk at the head of the function that an altered call calls: it may have other default arguments.
fn called_hunk(pair: &Pair<'_>, edit: Edit) -> Option<HunkId> {
    let Edit::Modified(left, right) = edit else {
        return None;
    };
    // What is given by default is the same for all calls: a function that merely moved has lines of its own, too.
    let fixed = |value: &Value| !matches!(value, Value::Result(_) | Value::Argument(_));
    let [given, now] = [(pair.base, left), (pair.head, right)]
        .map(|(program, site)| program.instruction(site).operands.iter().map(fixed));
    if !given.zip(now).any(|(base, head)| base && head) {
        return None;
    }
    let at = |which: Which, site: Site| {
        let program = pair.side(which).0;
        let Callee::Direct(callee) = program.instruction(site).call()?.callee else {
            return None;
        };
        pair.text.hunk_at(which, program.function(callee).place?)
    };
    at(Which::Head, right).or_else(|| at(Which::Base, left))
}

/// Whether a call was altered: what it is given may come from a macro.
fn is_call(pair: &Pair<'_>, edit: Edit) -> bool {
    let sites = [(Which::Base, edit.base()), (Which::Head, edit.head())];
    sites.into_iter().any(|(which, site)| {
        let program = pair.side(which).0;
        site.is_some_and(|site| program.instruction(site).call().is_some())
    })
}

/// Hunks in the lines of a call behind its first one: its arguments may go on
/// for many lines, and strings leave no instruction of their own.
fn statement_hunks(pair: &Pair<'_>, edit: Edit, places: &[(Which, Place)]) -> Vec<HunkId> {
    let mut hunks = Vec::new();
    for &(which, place) in places {
        let (program, _) = pair.side(which);
        let site = match which {
            Which::Base => edit.base(),
            Which::Head => edit.head(),
        };
        if site.is_some_and(|site| program.instruction(site).call().is_some()) {
            hunks.extend(pair.text.hunks_behind(which, place));
        }
    }
    hunks
}

/// Hunks that assign the variable of a phi node or selection. Where ways join, the compiler
/// drops blocks that only assigned a constant, and what is known about them.
fn joined_hunks(pair: &Pair<'_>, edit: Edit) -> Vec<HunkId> {
    let mut hunks = Vec::new();
    for (which, site) in [(Which::Base, edit.base()), (Which::Head, edit.head())] {
        let (program, function) = pair.side(which);
        let phi = site.filter(|&site| {
            let instruction = program.instruction(site);
            let constant = |value: &Value| matches!(value, Value::Constant(_));
            is_joined(&instruction.operation) && instruction.operands.iter().any(constant)
        });
        let Some(site) = phi else { continue };
        let known = debug_values(program, program.function(function).sites()).iter();
        let own = known.filter(|known| known.value == Value::Result(site));
        for known in own {
            let name = &program.variables[known.variable.index()].name;
            hunks.extend(pair.text.hunks_assigning(which, program, function, name));
        }
        if is_returned(program, site) {
            hunks.extend(pair.text.hunks_assigning(which, program, function, RETURN));
        }
    }
    hunks
}

/// Whether an instruction takes one of several values: ways that differ in a value only may be one.
fn is_joined(operation: &Operation) -> bool {
    matches!(operation, Operation::Phi { .. } | Operation::Select)
}

/// Values that are joined more often on their way out of a function are not followed.
const MOST_JOINED: usize = 16;

/// Whether the joined value is what the function returns, alone or joined with others again.
fn is_returned(program: &Program, phi: Site) -> bool {
    let function = program.function(program.function_of(phi));
    let mut values = vec![phi];
    let mut at = 0;
    while let Some(&value) = values.get(at).filter(|_| at < MOST_JOINED) {
        at += 1;
        for site in function.sites() {
            let instruction = program.instruction(site);
            if !instruction.operands.contains(&Value::Result(value)) {
                continue;
            }
            match instruction.operation {
                Operation::Return => return true,
                ref operation if is_joined(operation) && !values.contains(&site) => {
                    values.push(site);
                }
                _ => {}
            }
        }
    }
    false
}

/// Lines that assign operands which differ between the two sides of the edit.
/// Constants are taken only if nothing else explains it: the same number is
/// assigned in many places.
fn assigned(pair: &Pair<'_>, edit: Edit, unexplained: bool) -> Vec<(Which, Place)> {
    let paired = matches!(edit, Edit::Modified(..));
    if !paired && !unexplained {
        return Vec::new();
    }
    let same = |left: Value, right: Value| match (left, right) {
        (Value::Result(left), Value::Result(right)) => pair.sites.head(left) == Some(right),
        (Value::Constant(left), Value::Constant(right)) => {
            let (left, right) = (pair.base.constant(left), pair.head.constant(right));
            match (left, right) {
                (Constant::Integer { bits: left, .. }, Constant::Integer { bits: right, .. }) => {
                    left == right
                }
                _ => false,
            }
        }
        (Value::Argument(left), Value::Argument(right)) => left == right,
        _ => false,
    };
    let operands = |program: &Program, site: Option<Site>| -> Vec<Value> {
        site.map_or_else(Vec::new, |site| program.instruction(site).uses().collect())
    };
    let left = operands(pair.base, edit.base());
    let right = operands(pair.head, edit.head());
    let mut places = Vec::new();
    for &value in &left {
        if !right.iter().any(|&other| same(value, other)) {
            places.extend(assigning(
                pair,
                Which::Base,
                edit.base(),
                value,
                unexplained,
            ));
        }
    }
    for &value in &right {
        if !left.iter().any(|&other| same(other, value)) {
            places.extend(assigning(
                pair,
                Which::Head,
                edit.head(),
                value,
                unexplained,
            ));
        }
    }
    places
}

/// Lines of the function that assign the value to a variable. What another variable gets later brings nothing to
/// where the value is used; but ways that join may come from further down.
fn assigning<'a>(
    pair: &'a Pair<'_>,
    which: Which,
    user: Option<Site>,
    value: Value,
    constants: bool,
) -> impl Iterator<Item = (Which, Place)> + 'a {
    let (program, function) = pair.side(which);
    let wanted = constants || !matches!(value, Value::Constant(_));
    let joined = user.is_some_and(|site| is_joined(&program.instruction(site).operation));
    let before = user.filter(|_| !joined);
    debug_values(program, program.function(function).sites())
        .iter()
        .filter(move |known| wanted && known.value == value)
        .filter(move |known| before.is_none_or(|user| known.before <= user))
        .filter_map(move |known| pair.text.assignment(which, program, known))
        .map(move |place| (which, place))
}

/// What debug information says about the values of variables in a range of code.
pub fn debug_values(
    program: &Program,
    sites: impl ExactSizeIterator<Item = Site>,
) -> &[DebugValue] {
    let count = sites.len() as u32;
    let mut sites = sites;
    let first = sites.next().unwrap_or(Site::FIRST);
    let position = |site: Site| {
        let known = &program.debug_values;
        known.partition_point(|known| known.before < site)
    };
    &program.debug_values[position(first)..position(Site(first.0 + count))]
}

/// Lines an edit may belong to.
fn places(pair: &Pair<'_>, edit: Edit) -> Vec<(Which, Place)> {
    let mut places = Vec::new();
    if let Some(site) = edit.head() {
        places.extend(
            source_places(pair, Which::Head, site)
                .into_iter()
                .map(|place| (Which::Head, place)),
        );
    }
    if let Some(site) = edit.base() {
        places.extend(
            source_places(pair, Which::Base, site)
                .into_iter()
                .map(|place| (Which::Base, place)),
        );
    }
    places
}

/// The same, or the line of the closest instruction before that has one.
fn located(pair: &Pair<'_>, edit: Edit) -> Vec<(Which, Place)> {
    let places = places(pair, edit);
    if !places.is_empty() {
        return places;
    }
    let before = |program: &Program, site: Site| {
        let first = program.function(program.function_of(site)).first_site;
        (first.0..site.0).rev().find_map(|n| program.place(Site(n)))
    };
    let head = edit
        .head()
        .and_then(|site| before(pair.head, site))
        .map(|p| (Which::Head, p));
    let base = edit
        .base()
        .and_then(|site| before(pair.base, site))
        .map(|p| (Which::Base, p));
    head.into_iter().chain(base).collect()
}

/// Where an instruction was written. Constants that reach a phi node were
/// assigned to its variable, or in the blocks before it, as debug information
/// tells.
fn source_places(pair: &Pair<'_>, which: Which, site: Site) -> Vec<Place> {
    let (program, function) = pair.side(which);
    if let Some(place) = program.place(site) {
        return vec![place];
    }
    let instruction = program.instruction(site);
    let Operation::Phi { incoming } = &instruction.operation else {
        return Vec::new();
    };
    let all = debug_values(program, program.function(function).sites());
    let own = all
        .iter()
        .filter(|known| known.value == Value::Result(site));
    let variables: Vec<VariableId> = own.map(|known| known.variable).collect();
    let mut places = Vec::new();
    for (&block, &value) in incoming.iter().zip(&instruction.operands) {
        if !matches!(value, Value::Constant(_)) {
            continue;
        }
        let assigned: Vec<&DebugValue> = match variables.is_empty() {
            true => {
                let known = debug_values(program, program.block(block).sites());
                known.iter().filter(|known| known.value == value).collect()
            }
            false => {
                let own = |known: &&DebugValue| variables.contains(&known.variable);
                let known = all.iter().filter(|known| known.value == value);
                known.filter(own).collect()
            }
        };
        let lines = assigned.iter();
        places.extend(lines.filter_map(|known| pair.text.assignment(which, program, known)));
    }
    places
}
