//! What was found so far, group by group.

use crate::Observation;
use crate::difference::Kind;
use crate::frontier::Bucket;
use crate::gap::Gap;
use crate::group::{GroupKey, KEPT_APART, Spot, wording};
use crate::outcome::{Difference, Suspicion, Violation};
use crate::reduce::size;
use crate::runner::Side;
use crate::state::State;
use crate::tree::RunId;
use crate::witness::Testimony;
use changeling_trace::input::Input;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(crate) struct Findings {
    pub differences: Vec<Difference>,
    pub undefined: Vec<Difference>,
    pub suspected: Vec<Suspicion>,
    pub unstable: Vec<Suspicion>,
    pub violations: Vec<Violation>,
    groups: HashMap<(GroupKey, Class), usize>,
    /// What differences of a group look like, and how many groups were kept apart from it for looking otherwise.
    wordings: HashMap<(Class, usize), (HashSet<u64>, usize)>,
    /// The last number given out in each class: those of cases have no holes.
    last_ids: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Behaviour,
    Undefined,
}

/// Lists that are for people to read end somewhere.
const LISTED: usize = 100;
/// So many of a group's inputs are tried in place of the one that stands for it,
const ALL_TRIED: u64 = 8;
/// and after that some, up to this one.
const LAST_TRIED: u64 = 32;

impl Findings {
    /// Takes over what an earlier search found. Sizes are counted anew while its
    /// inputs are run again.
    pub fn restore(&mut self, differences: Vec<Difference>, undefined: Vec<Difference>) {
        for (class, list) in [
            (Class::Behaviour, differences),
            (Class::Undefined, undefined),
        ] {
            for mut difference in list {
                difference.group_size = 0;
                let last = &mut self.last_ids[class as usize];
                *last = difference.id.max(*last);
                let group = (difference.group.clone(), class);
                let looks = wording(&difference.seen);
                let place = self.list(class);
                place.push(difference);
                let at = place.len() - 1;
                self.groups.insert(group, at);
                self.looks_so(class, at, looks);
            }
        }
    }

    fn list(&mut self, class: Class) -> &mut Vec<Difference> {
        match class {
            Class::Behaviour => &mut self.differences,
            Class::Undefined => &mut self.undefined,
        }
    }

    /// The place of a group, or of one that explains it. Something else that was entered may have done what looks
    /// like nothing that the group is known for.
    fn known(&mut self, class: Class, group: &GroupKey, looks: u64) -> Option<usize> {
        if let Some(&at) = self.groups.get(&(group.clone(), class)) {
            self.looks_so(class, at, looks);
            return Some(at);
        }
        let known = self.list(class).iter().enumerate();
        let explains = known.filter(|(_, known)| known.group.explains(group));
        let explains: Vec<usize> = explains.map(|(at, _)| at).collect();
        let alike = explains.iter().find(|at| {
            let known = self.wordings.get(&(class, **at));
            known.is_some_and(|(wordings, _)| wordings.contains(&looks))
        });
        if let Some(&at) = alike {
            return Some(at);
        }
        let first = *explains.first()?;
        let (_, apart) = self.wordings.entry((class, first)).or_default();
        *apart += 1;
        (*apart > KEPT_APART).then_some(first)
    }

    fn looks_so(&mut self, class: Class, at: usize, looks: u64) {
        let (wordings, _) = self.wordings.entry((class, at)).or_default();
        wordings.insert(looks);
    }

    pub fn violation(&mut self, violation: Violation) {
        if self.violations.len() < LISTED {
            self.violations.push(violation);
        }
    }
}

/// What to do about an input after it was judged.
pub(crate) enum Recorded {
    /// The first of its group: worth making small.
    First {
        class: Class,
        at: usize,
    },
    /// Another one of a group, which may become shorter than what stands for it.
    Another {
        class: Class,
        at: usize,
    },
    Nothing,
}

impl State {
    /// Writes down what the plain builds said about an input.
    /// `entered` are the parts of changes that it entered.
    pub fn record(&mut self, run: RunId, testimony: Testimony, entered: Vec<u32>) -> Recorded {
        match testimony {
            Testimony::Confirmed { kind, seen } => {
                self.difference(run, Class::Behaviour, (kind, seen), None, entered)
            }
            Testimony::Undefined { kind, seen, reason } => {
                self.note(Gap::UndefinedBehaviour);
                self.difference(run, Class::Undefined, (kind, seen), Some(reason), entered)
            }
            Testimony::Unstable { side, seen } => {
                self.note(Gap::Unstable);
                let reason = "two runs of the same version differ".to_owned();
                let input = self.input(run);
                suspect(&mut self.findings.unstable, input, reason, seen, Some(side));
                Recorded::Nothing
            }
            Testimony::Suspected { reason, seen } => {
                self.note(Gap::Unconfirmed);
                let input = self.input(run);
                suspect(&mut self.findings.suspected, input, reason, seen, None);
                Recorded::Nothing
            }
        }
    }

    pub fn one_of(&mut self, class: Class, at: usize) -> Difference {
        self.findings.list(class)[at].clone()
    }

    /// Replaces a group's input by a smaller one that shows the same.
    pub fn improve(
        &mut self,
        class: Class,
        at: usize,
        input: Input,
        seen: [Observation; 2],
    ) -> Difference {
        let difference = &mut self.findings.list(class)[at];
        // Another worker may have found a shorter one in the meantime.
        if size(&input) <= size(&difference.input) {
            difference.input = input;
            difference.seen = seen;
        }
        difference.clone()
    }

    pub fn violation(
        &mut self,
        side: Side,
        input: &Input,
        traced: Observation,
        plain: Observation,
    ) {
        self.note(Gap::NotTransparent);
        self.findings.violation(Violation {
            side,
            input: input.clone(),
            traced,
            plain,
        });
    }

    fn input(&self, run: RunId) -> Input {
        (*self.corpus[run.0 as usize].input).clone()
    }

    fn difference(
        &mut self,
        run: RunId,
        class: Class,
        (kind, seen): (Kind, [Observation; 2]),
        reason: Option<String>,
        entered: Vec<u32>,
    ) -> Recorded {
        let seconds = self.start.elapsed().as_secs_f64();
        let ran = &self.corpus[run.0 as usize];
        let origin = ran.origin;
        let sequences = Side::BOTH.map(|side| {
            let context = ran.contexts[side.index()];
            self.guide.sequence(side, context)
        });
        let sites = [&self.subject.sites[0], &self.subject.sites[1]];
        let parting = ran
            .parting
            .map(|sites_parted| Spot::pair(sites, sites_parted));
        let group = GroupKey {
            kind,
            changes: match parting {
                Some(_) => Vec::new(),
                None => entered,
            },
            parting,
        };
        if class == Class::Behaviour {
            self.count_difference(run, origin, seconds);
        }
        let looks = wording(&seen);
        let known = self.findings.known(class, &group, looks);
        if let Some(at) = known {
            let difference = &mut self.findings.list(class)[at];
            difference.group_size += 1;
            if class == Class::Behaviour {
                self.corpus[run.0 as usize].shows.push(difference.id);
            }
            // Now and then, because it takes replays.
            let number = difference.group_size;
            let is_early = number <= ALL_TRIED;
            return match is_early || number.is_power_of_two() && number <= LAST_TRIED {
                true => Recorded::Another { class, at },
                false => Recorded::Nothing,
            };
        }
        let id = &mut self.findings.last_ids[class as usize];
        *id += 1;
        let id = *id;
        if class == Class::Behaviour {
            self.corpus[run.0 as usize].shows.push(id);
        }
        let input = self.input(run);
        let difference = Difference {
            id,
            group: group.clone(),
            original: input.clone(),
            input,
            seen,
            sequences,
            group_size: 1,
            run,
            found_by: origin,
            reason,
            seconds,
        };
        let list = self.findings.list(class);
        list.push(difference);
        let at = list.len() - 1;
        self.findings.groups.insert((group, class), at);
        self.findings.looks_so(class, at, looks);
        Recorded::First { class, at }
    }

    fn count_difference(&mut self, run: RunId, origin: Option<Bucket>, seconds: f64) {
        self.stats.differing_inputs += 1;
        if self.stats.runs_to_first_difference.is_none() {
            self.stats.runs_to_first_difference = Some(u64::from(run.0) + 1);
            self.stats.seconds_to_first_difference = Some(seconds);
        }
        if let Some(bucket) = origin {
            self.stats.by_bucket.entry(bucket).or_default().differences += 1;
        }
    }
}

fn suspect(
    list: &mut Vec<Suspicion>,
    input: Input,
    reason: String,
    seen: [Observation; 2],
    side: Option<Side>,
) {
    if list.len() < LISTED {
        list.push(Suspicion {
            input,
            reason,
            seen,
            side,
            more: 0,
        });
    } else if let Some(last) = list.last_mut() {
        last.more += 1;
    }
}
