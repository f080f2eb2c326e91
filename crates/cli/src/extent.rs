//! The part of a textual difference that belongs to a change: several changes may share one.

use crate::comparison::file_name;
use changeling_changes::{Change, ChangeSet, Lines, Subject};
use changeling_program::{FunctionId, Place, Program};
use std::collections::BTreeMap;

/// Lines of base and head that a change is shown by.
pub struct Extent {
    pub lines: [Option<Lines>; 2],
    /// They are lines of the change's own function.
    pub inside: bool,
}

impl Extent {
    pub fn of(
        change: &Change,
        set: &ChangeSet,
        programs: [&Program; 2],
        texts: &[BTreeMap<String, String>; 2],
    ) -> Extent {
        let sides = [&change.base, &change.head];
        let hunk = change.hunk.map(|hunk| set.hunk(hunk));
        let lines = [
            hunk.map(|hunk| hunk.base).or(change.base.lines),
            hunk.map(|hunk| hunk.head).or(change.head.lines),
        ];
        let inside = [0, 1].map(|side| {
            let extent = of_function(programs[side], sides[side].function?)?;
            lines[side].and_then(|lines| clipped(lines, extent))
        });
        if inside.iter().flatten().any(|lines| lines.count > 0) {
            return Extent {
                lines: inside,
                inside: true,
            };
        }
        if let Subject::Global { base, head, .. } = &change.subject {
            let ids = [base, head];
            let declared = [0, 1].map(|side| {
                let place = programs[side].globals[ids[side].index()].place?;
                declaration(programs[side], &texts[side], lines[side]?, place)
            });
            if declared.iter().all(Option::is_some) {
                return Extent {
                    lines: declared,
                    inside: false,
                };
            }
        }
        if lines.iter().all(Option::is_none) {
            // Nothing was written there: a type or a constant has become another one.
            let acting = [0, 1].map(|side| {
                let mut modified = sides[side].modified.iter();
                let place = modified.find_map(|site| programs[side].place(*site));
                let function = programs[side].function(sides[side].function?);
                Some(line(place.or(function.place)?))
            });
            return Extent {
                lines: acting,
                inside: true,
            };
        }
        Extent {
            lines,
            inside: false,
        }
    }
}

fn line(place: Place) -> Lines {
    Lines {
        file: place.file,
        first: place.line,
        count: 1,
    }
}

/// The line that declares a variable, if it is one of the lines, and all there is of the declaration.
fn declaration(
    program: &Program,
    texts: &BTreeMap<String, String>,
    lines: Lines,
    place: Place,
) -> Option<Lines> {
    let name = file_name(program, place);
    let start = Place {
        file: lines.file,
        line: lines.first,
    };
    if !lines.contains(place.line) || name != file_name(program, start) {
        return None;
    }
    let text = texts.get(&name)?.lines().nth(place.line as usize - 1)?;
    text.trim_end().ends_with(';').then(|| Lines {
        file: lines.file,
        ..line(place)
    })
}

/// The lines of a function, as far as its instructions tell.
pub fn of_function(program: &Program, id: FunctionId) -> Option<Lines> {
    let function = program.function(id);
    let start = function.place?;
    let own = function.sites().filter_map(|site| program.location(site));
    let own = own.filter(|at| at.scope == function.symbol || at.scope == function.name);
    let file = file_name(program, start);
    let last = own
        .filter(|at| {
            let place = Place {
                file: at.file,
                line: at.line,
            };
            file_name(program, place) == file
        })
        .map(|at| at.line)
        .max();
    let last = last.unwrap_or(start.line).max(start.line);
    Some(Lines {
        file: start.file,
        first: start.line,
        count: last - start.line + 1,
    })
}

/// The common part; nothing if they do not meet.
fn clipped(lines: Lines, extent: Lines) -> Option<Lines> {
    let first = lines.first.max(extent.first);
    let end = (lines.first + lines.count).min(extent.first + extent.count);
    let empty = lines.count == 0 && lines.first > extent.first && lines.first <= extent.last() + 1;
    if empty {
        return Some(lines);
    }
    (first < end).then(|| Lines {
        file: lines.file,
        first,
        count: end - first,
    })
}
