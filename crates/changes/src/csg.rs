//! The change-sequence graph of a pair of versions: where a run of one version
//! comes by the changes, and in which orders it can.

use std::collections::HashMap;

use changeling_analysis::interactions::{Changed, Meeting};
use changeling_analysis::sequences::{MarkKind, Point, Sequences};
use changeling_analysis::{Graphs, Interactions, Memory, Slicer, library};
use changeling_program::{Callee, Operation, Program, Site};

use crate::{Change, ChangeSet, Side};

/// Which of the two versions is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    Base,
    Head,
}

/// The orders in which one version's runs can come by the changes. Numbers of
/// changes are those of the [`ChangeSet`]; so the graphs of both versions are
/// linked by them, and by its site map.
pub struct ChangeSequences {
    pub graph: Sequences,
    /// Where changes meet; each is a mark of the graph unless it cannot run.
    pub meetings: Vec<Meeting>,
    /// Dependence of every instruction on changes.
    pub interactions: Interactions,
}

impl ChangeSequences {
    /// `program` is the version that is meant; `graphs` and `memory` are its.
    ///
    /// Marks are the statements of the changes (what the other version has and
    /// this one has not is marked where it was), the places where changes meet,
    /// and the outputs that depend on a change.
    pub fn new(
        program: &Program,
        graphs: &Graphs,
        memory: &Memory,
        set: &ChangeSet,
        version: Version,
    ) -> ChangeSequences {
        let slicer = Slicer::new(program, graphs, memory);
        let sides: Vec<&Side> = set
            .changes
            .iter()
            .map(|change| side(change, version))
            .collect();
        let changed: Vec<Changed> = sides
            .iter()
            .map(|side| Changed {
                modified: side.modified.clone(),
                own: statements(program, side),
            })
            .collect();
        let interactions = Interactions::new(program, graphs, &slicer, &changed);
        let mut points: Vec<Point> = Vec::new();
        for (number, side) in (0..).zip(&sides) {
            let kind = match side.modified.is_empty() {
                true => MarkKind::Anchor,
                false => MarkKind::Changed,
            };
            points.extend(side.marked().into_iter().map(|site| Point {
                site,
                kind,
                changes: vec![number],
            }));
        }
        points.extend(interactions.meetings.iter().map(|meeting| Point {
            site: meeting.site,
            kind: MarkKind::Meeting,
            changes: meeting.changes.clone(),
        }));
        points.extend(outputs(program).filter_map(|site| {
            let changes = interactions.of(site).to_vec();
            (!changes.is_empty()).then_some(Point {
                site,
                kind: MarkKind::Output,
                changes,
            })
        }));
        ChangeSequences {
            graph: Sequences::new(program, graphs, &points),
            meetings: interactions.meetings.clone(),
            interactions,
        }
    }
}

pub(crate) fn side(change: &Change, version: Version) -> &Side {
    match version {
        Version::Base => &change.base,
        Version::Head => &change.head,
    }
}

/// All code of the lines of a change.
fn statements(program: &Program, side: &Side) -> Vec<Site> {
    let (Some(function), Some(lines)) = (side.function, side.lines) else {
        return Vec::new();
    };
    let own = |site: &Site| {
        let place = program.place(*site);
        place.is_some_and(|at| at.file == lines.file && lines.contains(at.line))
    };
    program.function(function).sites().filter(own).collect()
}

/// Calls whose effect the world can see.
fn outputs(program: &Program) -> impl Iterator<Item = Site> + '_ {
    let mut known: HashMap<u32, bool> = HashMap::new();
    program.sites().filter(move |&site| {
        let Operation::Call(call) = &program.instruction(site).operation else {
            return false;
        };
        let Callee::Direct(callee) = call.callee else {
            return false;
        };
        *known.entry(callee.0).or_insert_with(|| {
            let function = program.function(callee);
            !function.is_defined() && library::is_output(&function.symbol)
        })
    })
}
