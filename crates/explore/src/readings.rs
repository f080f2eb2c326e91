//! How near the compared values of runs come to outcomes that nobody has seen.
//!
//! What a comparison near a change has on both sides is known for each time that a run came by it
//! ([`crate::guides::Gauge`]). An outcome that no run had yet, or one on which the versions do not agree, is something
//! to come nearer to, whether or not the input shows up in it: of two inputs the one with the smaller distance is the
//! better one to go on with. Where the input does show up, the solver is asked for one that is nearer still.

use crate::frontier::{Bucket, Random, Task};
use crate::guides::{Compared, Gauge};
use crate::path::{Path, Probed};
use crate::runner::Side;
use crate::state::State;
use crate::terms::TermError;
use crate::tree::RunId;
use changeling_solver::{Arena, Expr};
use changeling_trace::event::probe;
use std::collections::{BTreeMap, BTreeSet};

/// Something that a comparison may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hope {
    /// On a run that entered a change: there is more to come of it.
    entered: bool,
    gauge: usize,
    what: What,
}

/// What is promised, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// The versions part behind a change.
    Parting,
    /// Something new happens on a run that entered one.
    Entered,
    Other,
}

impl Hope {
    fn class(&self) -> Class {
        match self.what {
            What::Parting { .. } if self.entered => Class::Parting,
            _ if self.entered => Class::Entered,
            _ => Class::Other,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A version has this outcome for the first time.
    Outcome { side: usize, outcome: bool },
    /// Base has this outcome and head the other, where both had the same so far. Values on both sides of zero come
    /// nearer on their own: `abs(x) > 9` is reached from either, and the one that got ahead may be the wrong one.
    Parting {
        base: bool,
        so_far: bool,
        negative: [bool; 2],
    },
}

impl What {
    /// The outcomes that it takes, by version.
    fn outcomes(self) -> [Option<bool>; 2] {
        match self {
            What::Outcome { side: 0, outcome } => [Some(outcome), None],
            What::Outcome { outcome, .. } => [None, Some(outcome)],
            What::Parting { base, .. } => [Some(base), Some(!base)],
        }
    }
}

/// The runs that came nearest.
#[derive(Clone, Debug)]
struct Nearest {
    distance: u64,
    /// Each with its length.
    runs: Vec<(usize, RunId)>,
    /// So many inputs were made from these since.
    tries: u32,
    /// It became less so often.
    steps: u32,
}

/// An input that is asked for, on a path.
pub struct Wish {
    pub run: RunId,
    pub prefix: Vec<Expr>,
    sides: Vec<Away>,
}

/// How far a version is from an outcome.
struct Away {
    compared: Compared,
    values: [Expr; 2],
    outcome: bool,
    distance: u64,
}

impl Wish {
    /// Half as far away.
    pub fn halved(&self, arena: &mut Arena) -> Result<Expr, TermError> {
        self.within(arena, |distance| distance / 2)
    }

    /// Steps that are less than half of the way, ever larger.
    pub fn steps(&self) -> impl Iterator<Item = u64> + use<> {
        let most = self.sides.iter().map(|away| away.distance).max();
        let most = (most.unwrap_or(0) / 2).max(1);
        let steps = (0..u64::BITS).map(|bit| 1 << bit);
        steps.take_while(move |step| *step <= most)
    }

    /// Nearer by a step.
    pub fn nearer(&self, arena: &mut Arena, step: u64) -> Result<Expr, TermError> {
        self.within(arena, |distance| distance.saturating_sub(step))
    }

    fn within(&self, arena: &mut Arena, limit: impl Fn(u64) -> u64) -> Result<Expr, TermError> {
        let goals = self.sides.iter().map(|away| {
            let limit = limit(away.distance);
            away.compared
                .within(arena, away.values, away.outcome, limit)
        });
        let goals = goals.collect::<Result<Vec<Expr>, TermError>>()?;
        Ok(arena.all(&goals)?)
    }
}

#[derive(Default)]
pub struct Readings {
    open: BTreeMap<Hope, Nearest>,
    fulfilled: BTreeSet<Hope>,
    wishes: BTreeMap<u32, Wish>,
    wished: u32,
}

/// So many runs that came as near as any are kept.
const LATEST: usize = 16;
/// What comes nearer and nearer in small steps is no news for ever.
const MOST_STEPS: u32 = 48;
/// Distances that are halved: the last step is what flips ask for.
const FAR: u64 = 2;

/// One time that a version came by a comparison.
#[derive(Clone, Copy)]
struct Time {
    operands: [u64; 2],
    values: [Expr; 2],
    /// How many of the path's tests came before.
    after: u32,
}

/// All times, by gauge.
type Times = BTreeMap<usize, Vec<Time>>;

fn times(arena: &mut Arena, gauges: &[Gauge], path: &Path, side: Side) -> Result<Times, TermError> {
    let mut all = Times::new();
    let mut first: BTreeMap<usize, Probed> = BTreeMap::new();
    for &gauged in &path.gauged {
        let Some((number, operand)) = probe::gauged(gauged.code) else {
            continue;
        };
        let number = number as usize;
        let compared = gauges.get(number).and_then(|g| g.compared[side.index()]);
        let Some(Compared { constants, .. }) = compared else {
            continue;
        };
        let own = (gauged.concrete, gauged.value);
        let mut fixed = |constant: u64| -> Result<(u64, Expr), TermError> {
            Ok((constant, arena.constant(64, constant)?))
        };
        let [a, b] = match (operand, constants) {
            (0, [None, Some(constant)]) => [own, fixed(constant)?],
            (1, [Some(constant), None]) => [fixed(constant)?, own],
            (0, [None, None]) => {
                first.insert(number, gauged);
                continue;
            }
            (1, [None, None]) => match first.remove(&number) {
                Some(first) => [(first.concrete, first.value), own],
                None => continue,
            },
            _ => continue,
        };
        all.entry(number).or_default().push(Time {
            operands: [a.0, b.0],
            values: [a.1, b.1],
            after: gauged.after,
        });
    }
    Ok(all)
}

/// How near a run came, and when.
#[derive(Clone, Copy)]
struct Found {
    distance: u64,
    /// The so manieth time.
    time: usize,
}

/// How near a run came to what may be hoped for at one comparison.
fn distances(gauge: &Gauge, [base, head]: [&[Time]; 2]) -> BTreeMap<What, Found> {
    let mut found: BTreeMap<What, Found> = BTreeMap::new();
    let mut note = |what: What, distance: u64, time: usize| {
        let now = Found { distance, time };
        let least = found.entry(what).or_insert(now);
        if distance < least.distance {
            *least = now;
        }
    };
    for (side, times) in [base, head].into_iter().enumerate() {
        let Some(compared) = gauge.compared[side] else {
            continue;
        };
        for (nth, time) in times.iter().enumerate() {
            for outcome in [false, true] {
                let distance = compared.distance(time.operands, outcome);
                note(What::Outcome { side, outcome }, distance, nth);
            }
        }
    }
    let [Some(in_base), Some(in_head)] = gauge.compared else {
        return found;
    };
    let alike = in_base.predicate == in_head.predicate;
    // Both come by in the same order until they part.
    for (nth, (own, other)) in base.iter().zip(head).enumerate() {
        // Nothing has come of the changes here.
        if alike && own.values == other.values {
            continue;
        }
        let both = [(in_base, own), (in_head, other)];
        let [so_far, in_other] =
            both.map(|(compared, time)| compared.distance(time.operands, true) == 0);
        let negative = both.map(|(compared, time)| compared.is_negative(time.operands));
        for base in [false, true] {
            let away = [
                in_base.distance(own.operands, base),
                in_head.distance(other.operands, !base),
            ];
            let distance = away.into_iter().fold(0, u64::saturating_add);
            let mut part = |so_far, negative| {
                let what = What::Parting {
                    base,
                    so_far,
                    negative,
                };
                note(what, distance, nth);
            };
            if distance == 0 {
                for number in 0..8 {
                    let [so_far, a, b] = [1, 2, 4].map(|bit| number & bit != 0);
                    part(so_far, [a, b]);
                }
            } else if so_far == in_other {
                part(so_far, negative);
            }
        }
    }
    found
}

impl Readings {
    /// Takes in how near a run came to something, for the first time or nearer than before. Whether it did.
    fn note(&mut self, hope: Hope, run: RunId, bytes: usize, distance: u64) -> Noted {
        if self.fulfilled.contains(&hope) {
            return Noted::Nothing;
        }
        if distance == 0 {
            self.fulfilled.insert(hope);
            return match self.open.remove(&hope) {
                Some(_) => Noted::Nearer,
                None => Noted::Nothing,
            };
        }
        let Some(nearest) = self.open.get_mut(&hope) else {
            let first = Nearest {
                distance,
                runs: vec![(bytes, run)],
                tries: 0,
                steps: 0,
            };
            self.open.insert(hope, first);
            return Noted::First;
        };
        let nearer = distance < nearest.distance;
        if nearer {
            nearest.steps += 1;
            nearest.tries = 0;
            nearest.distance = distance;
            nearest.runs.clear();
        }
        if distance == nearest.distance {
            // The shorter, the more room there is for what is still to come.
            nearest.runs.retain(|(other, _)| *other <= bytes);
            if nearest.runs.len() == LATEST {
                nearest.runs.remove(0);
            }
            nearest.runs.push((bytes, run));
        }
        match nearer && nearest.steps <= MOST_STEPS {
            true => Noted::Nearer,
            false => Noted::Nothing,
        }
    }

    /// A run that came nearest to something: what was tried in vain so often comes later.
    pub fn choose(&mut self, random: &mut Random) -> Option<RunId> {
        let mut classes: Vec<Class> = self.open.keys().map(|hope| hope.class()).collect();
        classes.sort_unstable();
        classes.dedup();
        let last = classes.len().checked_sub(1)?;
        let class = (0..last).find(|_| random.below(2) == 0);
        let class = classes[class.unwrap_or(last)];
        let order = |nearest: &Nearest| (nearest.tries + 1).ilog2();
        let own = self.open.iter_mut();
        let own = own.filter(|(hope, _)| hope.class() == class);
        let mut first: Vec<&mut Nearest> = own.map(|(_, nearest)| nearest).collect();
        let least = first.iter().map(|nearest| order(nearest)).min()?;
        first.retain(|nearest| order(nearest) == least);
        let nth = random.below(first.len());
        let nearest = &mut first[nth];
        nearest.tries += 1;
        // There is more room in short ones.
        let mut draw = || nearest.runs[random.below(nearest.runs.len())];
        let (_, run) = draw().min(draw());
        Some(run)
    }

    /// What was wished for, once.
    pub fn take_wish(&mut self, number: u32) -> Option<Wish> {
        self.wishes.remove(&number)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Noted {
    Nothing,
    First,
    Nearer,
}

impl State {
    /// What a run's comparisons had on both sides is looked at. Whether any of them came nearer to what is hoped for
    /// than all before.
    pub fn read_gauges(&mut self, run: RunId, paths: [&Path; 2]) -> Result<bool, TermError> {
        let gauges = self.guide.gauges();
        if gauges.is_empty() {
            return Ok(false);
        }
        let bytes = self.corpus[run.0 as usize].length();
        let entered = self.entered_change(run);
        let base = times(&mut self.arena, gauges, paths[0], Side::Base)?;
        let head = times(&mut self.arena, gauges, paths[1], Side::Head)?;
        let mut nearer = false;
        let mut wanted = Vec::new();
        for (number, gauge) in gauges.iter().enumerate() {
            let both = [&base, &head].map(|all| all.get(&number).map_or(&[][..], Vec::as_slice));
            for (what, found) in distances(gauge, both) {
                let hope = Hope {
                    entered,
                    gauge: number,
                    what,
                };
                let noted = self.readings.note(hope, run, bytes, found.distance);
                nearer |= noted == Noted::Nearer;
                if !entered || noted == Noted::Nothing || found.distance < FAR {
                    continue;
                }
                let times = both.map(|times| times.get(found.time).copied());
                if let Some(wish) = wish(&mut self.arena, gauge, what, times, paths, run)? {
                    wanted.push(wish);
                }
            }
        }
        for wish in wanted {
            let number = self.readings.wished;
            self.readings.wished += 1;
            self.readings.wishes.insert(number, wish);
            let task = Task::Approach { wish: number };
            self.frontier.push(Bucket::Out, 1, 0, task);
        }
        Ok(nearer)
    }
}

/// An input of the same paths up to a comparison that comes nearer to an outcome. None if several bytes of the input have no
/// say in it.
fn wish(
    arena: &mut Arena,
    gauge: &Gauge,
    what: What,
    times: [Option<Time>; 2],
    paths: [&Path; 2],
    run: RunId,
) -> Result<Option<Wish>, TermError> {
    let mut prefix = Vec::new();
    let mut sides = Vec::new();
    let mut has_say = false;
    for (at, outcome) in what.outcomes().into_iter().enumerate() {
        let Some(outcome) = outcome else {
            continue;
        };
        let (Some(compared), Some(time)) = (gauge.compared[at], times[at]) else {
            return Ok(None);
        };
        let tests = paths[at].tests.iter().take(time.after as usize);
        prefix.extend(tests.map(|test| test.held));
        let distance = compared.distance(time.operands, outcome);
        // What a single byte decides a flip asks for.
        let mut values = time.values.into_iter();
        has_say |= distance > 0 && values.any(|value| arena.variable_count(value) > 1);
        sides.push(Away {
            compared,
            values: time.values,
            outcome,
            distance,
        });
    }
    Ok(has_say.then_some(Wish { run, prefix, sides }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{Predicate, Site};

    /// `value >= limit` in base, `value > limit` in head.
    fn gauge() -> Gauge {
        let compared = |predicate| {
            Some(Compared {
                site: Site(1),
                predicate,
                bits: 32,
                constants: [None, Some(4)],
            })
        };
        Gauge {
            compared: [compared(Predicate::Sge), compared(Predicate::Sgt)],
        }
    }

    fn time(arena: &mut Arena, value: u64) -> Time {
        let values = [value, 4].map(|value| arena.constant(64, value).unwrap());
        Time {
            operands: [value, 4],
            values,
            after: 0,
        }
    }

    fn near(values: &[u64]) -> BTreeMap<What, u64> {
        let mut arena = Arena::new();
        let times: Vec<Time> = values.iter().map(|v| time(&mut arena, *v)).collect();
        let found = distances(&gauge(), [&times, &times]);
        found
            .into_iter()
            .map(|(what, found)| (what, found.distance))
            .collect()
    }

    const PARTING: What = What::Parting {
        base: true,
        so_far: false,
        negative: [false; 2],
    };

    #[test]
    fn the_nearest_time_counts() {
        let found = near(&[0, 3, 1]);
        let taken = |side| What::Outcome {
            side,
            outcome: true,
        };
        assert_eq!((found[&taken(0)], found[&taken(1)]), (1, 2));
        assert_eq!(found[&PARTING], 1);
    }

    #[test]
    fn versions_part_where_only_one_of_them_holds() {
        assert_eq!(near(&[4])[&PARTING], 0);
        let never = What::Parting {
            base: false,
            so_far: false,
            negative: [false; 2],
        };
        assert_eq!(near(&[3])[&never], 2);
    }

    #[test]
    fn values_on_both_sides_of_zero_come_nearer_on_their_own() {
        let found = near(&[1, 2, -7i64 as u64]);
        let below = What::Parting {
            base: true,
            so_far: false,
            negative: [true; 2],
        };
        assert_eq!((found[&PARTING], found[&below]), (2, 11));
    }

    #[test]
    fn what_is_the_same_in_both_versions_cannot_part_them() {
        let mut gauge = gauge();
        gauge.compared[1] = gauge.compared[0];
        let times = [time(&mut Arena::new(), 3)];
        let found = distances(&gauge, [&times, &times]);
        assert!(
            !found
                .keys()
                .any(|what| matches!(what, What::Parting { .. }))
        );
    }

    #[test]
    fn runs_that_came_nearest_are_gone_on_with() {
        let hope = Hope {
            entered: true,
            gauge: 0,
            what: PARTING,
        };
        let mut readings = Readings::default();
        let mut note = |run, distance| readings.note(hope, RunId(run), 5, distance);
        assert!(note(0, 9) == Noted::First);
        assert!(note(1, 4) == Noted::Nearer);
        assert!(note(2, 7) == Noted::Nothing);
        assert!(note(3, 4) == Noted::Nothing);
        let mut random = Random::new(0);
        let chosen: BTreeSet<RunId> = (0..50)
            .filter_map(|_| readings.choose(&mut random))
            .collect();
        assert_eq!(chosen, BTreeSet::from([RunId(1), RunId(3)]));
        assert!(readings.note(hope, RunId(4), 5, 0) == Noted::Nearer);
        assert_eq!(readings.choose(&mut random), None);
        assert!(readings.note(hope, RunId(5), 5, 3) == Noted::Nothing);
    }
}
