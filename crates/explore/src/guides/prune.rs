//! Which sides of branches cannot bring a difference.
//!
//! A side may be given up if, in both versions, nothing that was changed has run before the
//! branch and nothing that was changed can run after it: then both versions do the same.
//! What can run after it follows calls and returns in pairs (`analysis::reach`).

use super::facts::Facts;
use super::plan::Place;
use changeling_analysis::Reach;
use changeling_program::Site;
use std::collections::HashMap;

/// One version's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    branches: HashMap<u32, Sides>,
    /// By the site of a call or any other instruction with decisions inside.
    places: HashMap<u32, Seen>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sides {
    /// A change can have run before.
    before: bool,
    /// For each side: a change can run after it.
    after: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    before: bool,
    after: bool,
}

/// What can be said about a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub before: bool,
    pub after: bool,
}

impl Horizon {
    /// `changed`: the sites of the version that make a difference.
    pub fn new(facts: &Facts<'_>, changed: &[Site]) -> Horizon {
        let (program, graphs) = (facts.program, facts.graphs);
        let reach = Reach::new(program, graphs, changed);
        let mut horizon = Horizon::default();
        for site in program.sites() {
            let instruction = program.instruction(site);
            let before = reach.can_precede(graphs, site);
            if instruction.decides() {
                let sides = 0..instruction.successors().len();
                let after = sides.map(|side| reach.can_follow(program, graphs, site, side));
                let after = after.collect();
                horizon.branches.insert(site.0, Sides { before, after });
            } else {
                let after = reach.can_follow_site(program, graphs, site);
                if !after {
                    horizon.places.insert(site.0, Seen { before, after });
                }
            }
        }
        horizon
    }

    /// `None` if nothing is known.
    pub fn outlook(&self, place: Place) -> Option<Outlook> {
        let seen = |site: u32| {
            let seen = self.places.get(&site)?;
            Some(Outlook {
                before: seen.before,
                after: seen.after,
            })
        };
        if place.caller != 0 {
            return seen(place.caller);
        }
        let Some(sides) = self.branches.get(&place.site) else {
            return seen(place.site);
        };
        Some(Outlook {
            before: sides.before,
            after: *sides.after.get(place.side? as usize)?,
        })
    }
}
