//! Which sides of branches cannot bring a difference.
//!
//! A side may be given up if, in both versions, nothing that was changed can run after it, and
//!
//! - nothing that was changed has run before the branch, or
//! - nothing that can run after it depends on what was changed, and of what can have run before only
//!   computations do: no decision, no call out of the program, no access of memory that could fail, or
//! - both versions are in the same state, and nothing that rests on what was changed can follow (see `lockstep`):
//!   what was changed has only decided, alike in both, or what it left behind cannot differ.
//!
//! Then both versions do the same. What can run follows calls and returns in pairs
//! (`analysis::reach`), what depends on what is the forward slice (`analysis::slice`).

use super::facts::Facts;
use super::guided::Guided;
use super::plan::Place;
use crate::guide::{Flip, Rule};
use crate::merge::Owner;
use crate::path::TestKind;
use crate::runner::Side;
use crate::sameness::Sameness;
use changeling_analysis::Reach;
use changeling_program::{Callee, Instruction, Operation, Site, Value};
use std::collections::{BTreeSet, HashMap};

/// One version's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    branches: HashMap<u32, Sides>,
    /// By the site of a call or any other instruction with decisions inside.
    places: HashMap<u32, Outlook>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sides {
    /// How a trace tells which one was taken.
    kind: TestKind,
    /// A change can have run before.
    before: bool,
    after: Vec<Beyond>,
}

/// What can be said about what comes after a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beyond {
    /// A change can run.
    changed: bool,
    /// What changes did is forgotten.
    forgets: bool,
    /// Nothing that rests on a change can follow, as long as states are the same.
    settled: bool,
}

/// What can be said about a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub before: bool,
    pub after: bool,
    /// Nobody has seen what changes did before, and nobody will.
    pub forgets: bool,
    /// Nothing that rests on a change can follow, as long as states are the same.
    pub settled: bool,
}

impl Horizon {
    /// `changed`: the sites of the version that make a difference; `modified`: all that
    /// were modified; `affected`: all that depends on those, if that is known; `resting`: all that can make a difference
    /// from the same state, if that is known.
    pub fn new(
        facts: &Facts<'_>,
        changed: &[Site],
        modified: &[Site],
        affected: Option<&BTreeSet<Site>>,
        resting: Option<&[Site]>,
    ) -> Horizon {
        let (program, graphs) = (facts.program, facts.graphs);
        let reach = Reach::new(program, graphs, changed);
        let resting = resting.map(|sites| Reach::new(program, graphs, sites));
        let effects = affected.map(|affected| Effects::new(facts, modified, affected));
        let hidden_before = |site: Site| {
            let effects = effects.as_ref();
            effects.is_some_and(|effects| effects.are_hidden_before(facts, site))
        };
        let affects = |follows: &dyn Fn(&Reach) -> bool| {
            let effects = effects.as_ref();
            effects.is_none_or(|effects| follows(&effects.affected))
        };
        let mut horizon = Horizon::default();
        let own = program.definitions();
        for site in own.flat_map(|id| program.function(id).sites()) {
            let instruction = program.instruction(site);
            let before = reach.can_precede(graphs, site);
            // Where an indirect jump goes is told bit by bit: the other side of a bit may be any of its targets.
            let kind = match &instruction.operation {
                Operation::Branch { .. } => Some(TestKind::Branch),
                Operation::Switch { .. } => Some(TestKind::Switch),
                _ => None,
            };
            if let Some(kind) = kind.filter(|_| instruction.decides()) {
                let sides = 0..instruction.successors().len();
                let hidden = hidden_before(site);
                let after = sides.map(|side| {
                    let changed = reach.can_follow(program, graphs, site, side);
                    let follows = |reach: &Reach| reach.can_follow(program, graphs, site, side);
                    Beyond {
                        changed,
                        forgets: hidden && !affects(&follows),
                        settled: resting.as_ref().is_some_and(|reach| !follows(reach)),
                    }
                });
                let after = after.collect();
                let sides = Sides {
                    kind,
                    before,
                    after,
                };
                horizon.branches.insert(site.0, sides);
            } else {
                let after = reach.can_follow_site(program, graphs, site);
                if !after {
                    let follows = |reach: &Reach| reach.can_follow_site(program, graphs, site);
                    let hidden = hidden_before(site);
                    let outlook = Outlook {
                        before,
                        after,
                        forgets: hidden && !affects(&follows),
                        settled: resting.as_ref().is_some_and(|reach| !follows(reach)),
                    };
                    horizon.places.insert(site.0, outlook);
                }
            }
        }
        horizon
    }

    /// What follows a test of this kind. `None` if nothing is known.
    pub fn outlook(&self, place: Place, kind: TestKind) -> Option<Outlook> {
        if place.caller != 0 {
            return self.places.get(&place.caller).copied();
        }
        let Some(sides) = self.branches.get(&place.site) else {
            return self.places.get(&place.site).copied();
        };
        // The value that a switch selects by may have been decided bit by bit, too.
        if sides.kind != kind {
            return None;
        }
        let beyond = sides.after.get(place.side? as usize)?;
        Some(Outlook {
            before: sides.before,
            after: beyond.changed,
            forgets: beyond.forgets,
            settled: beyond.settled,
        })
    }
}

/// What depends on the changes.
struct Effects {
    affected: Reach,
    /// Those by which it could be seen or do damage.
    visible: Reach,
}

impl Effects {
    fn new(facts: &Facts<'_>, modified: &[Site], affected: &BTreeSet<Site>) -> Effects {
        let (program, graphs) = (facts.program, facts.graphs);
        let modified: BTreeSet<Site> = modified.iter().copied().collect();
        let visible: Vec<Site> = affected
            .iter()
            .copied()
            .filter(|site| {
                let depends = |value: &Value| match value {
                    Value::Result(from) => affected.contains(from),
                    // Who knows what it is called with.
                    Value::Argument(_) => true,
                    _ => false,
                };
                let instruction = program.instruction(*site);
                let stores = matches!(instruction.operation, Operation::Store(_));
                !is_hidden(instruction, modified.contains(site), depends)
                    || calls_out(facts, *site)
                    || stores && facts.memory.is_shown(*site)
            })
            .collect();
        let affected: Vec<Site> = affected.iter().copied().collect();
        Effects {
            affected: Reach::new(program, graphs, &affected),
            visible: Reach::new(program, graphs, &visible),
        }
    }

    fn are_hidden_before(&self, facts: &Facts<'_>, site: Site) -> bool {
        !self.visible.can_precede(facts.graphs, site)
    }
}

/// Whether an instruction that depends on changes only computes: it cannot fail, leads nowhere else
/// and shows nothing.
fn is_hidden(instruction: &Instruction, modified: bool, depends: impl Fn(&Value) -> bool) -> bool {
    let address = |position: usize| {
        let operand = instruction.operands.get(position);
        !modified && operand.is_some_and(|value| !depends(value))
    };
    match &instruction.operation {
        operation if operation.computes() => true,
        Operation::Address(_)
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. }
        // Where it returns to is where it was called from; what it returns is used there.
        | Operation::Return => true,
        // One that was changed leads elsewhere, as a decision would.
        Operation::Jump { .. } => !modified,
        Operation::Load(access) => !access.volatile && !access.atomic && address(0),
        Operation::Store(access) => !access.volatile && !access.atomic && address(1),
        // Its body is part of the program.
        Operation::Call(call) => !modified && matches!(call.callee, Callee::Direct(_)),
        _ => false,
    }
}

/// A call of something that is not part of the program may do anything with what it is given.
pub(super) fn calls_out(facts: &Facts<'_>, site: Site) -> bool {
    let Some(call) = facts.program.instruction(site).call() else {
        return false;
    };
    match call.callee {
        Callee::Direct(callee) => !facts.program.function(callee).is_defined(),
        _ => true,
    }
}

impl Guided {
    /// Whether no difference can come from a flip: nothing that was changed can run after it, in
    /// either version, and nothing has run before it, or at least nothing looks at what it did, or it
    /// did nothing.
    pub(super) fn irrelevant(&self, flip: &Flip) -> Option<Rule> {
        if flip.owner != Owner::Both || self.mistaken {
            return None;
        }
        let [base, head] = flip.sites;
        let partners = &self.tables.partners;
        let alike = match flip.caller {
            0 => partners.get(base as usize) == Some(&head),
            // Inside the library, as called by base; head has come here in the same way.
            _ => true,
        };
        if !alike {
            return None;
        }
        let entered = self.entered_change(flip.contexts);
        let (mut before, mut forgets, mut settled) = (false, true, true);
        for side in Side::BOTH {
            let mut place = self.place(side, flip)?;
            if side == Side::Head && flip.caller != 0 {
                let partner = *partners.get(flip.caller as usize)?;
                if partner == 0 {
                    return None;
                }
                place.caller = partner;
            }
            let outlook = self.tables.sides[side.index()]
                .horizon
                .outlook(place, flip.kind)?;
            if outlook.after {
                return None;
            }
            before |= outlook.before;
            forgets &= outlook.forgets;
            settled &= outlook.settled;
        }
        // Where only one version has decided, the versions are not alike, unless that was changed.
        match (entered, flip.after_difference) {
            (false, false) if before => Some(Rule::NoLongerChanged),
            (false, false) => Some(Rule::NeverChanged),
            _ if self.choice.prunes_prefixes_only() => None,
            (true, false) if forgets => Some(Rule::WithoutEffect),
            (true, _) if settled => match flip.sameness {
                Sameness::Alike => Some(Rule::DecidedAlike),
                Sameness::Equal => Some(Rule::SameState),
                Sameness::Unknown | Sameness::Unless(_) => None,
            },
            _ => None,
        }
    }
}
