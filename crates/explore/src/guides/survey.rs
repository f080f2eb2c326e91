//! Works out what the guides need to know, from two programs and what changed between
//! them.

use super::chains::Chains;
use super::choice::{Choice, Part};
use super::context::Meaning;
use super::definitions::Spot;
use super::distance::switch_sides;
use super::effects::effect_blocks;
use super::facts::{Facts, TooLong, is_over};
use super::feeders::feeders;
use super::gauges::Gauge;
use super::guided::{Guided, SideTable, Tables};
use super::lockstep::Lockstep;
use super::modified::Pair;
use super::partings::Parting;
use super::passages::passages;
use super::plan::{Distances, Plan};
use super::planner::Planner;
use super::prune::Horizon;
use super::target::{Aim, Target};
use super::uses::testing_branches;
use crate::runner::Side;
use changeling_analysis::{Graphs, Slicer, without_backtraces};
use changeling_changes::{Change, ChangeSet};
use changeling_program::{BlockId, FunctionId, Operation, Program, Site};
use changeling_trace::sites::SiteTable;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

/// What is looked at.
pub struct Survey<'a> {
    pub programs: [&'a Program; 2],
    pub changes: &'a ChangeSet,
    pub sites: [&'a SiteTable; 2],
    pub choice: Choice,
    /// Nothing but the two programs decides what the versions do: all of their code is known, and
    /// they are linked alike.
    pub complete: bool,
    /// What the traced versions have probes of, if they have.
    pub lockstep: Option<&'a Lockstep>,
    /// Comparisons whose operands the traced versions tell.
    pub gauges: &'a [Gauge],
    /// Sites of head that should run, instead of what was changed.
    pub aim: Vec<Site>,
    /// Seed of random orders.
    pub seed: u64,
    pub deadline: Option<Instant>,
}

/// The guide, and what the runs must be watched for.
pub struct Surveyed {
    pub guide: Guided,
    /// Blocks of base and head whose beginnings must be marked.
    pub watched: [Vec<u32>; 2],
    /// Blocks of head that it aims at.
    pub aimed: Vec<u32>,
    /// What the user should know, such as changes that no input can reach.
    pub notes: Vec<String>,
    /// The numbers of these changes.
    pub unreachable: Vec<u32>,
}

/// With more changed blocks than this, those of a change are one target.
const MOST_BLOCKS: usize = 64;
/// Targets beyond this are not aimed at.
const MOST_TARGETS: usize = 256;

pub fn survey(survey: &Survey<'_>) -> Result<Surveyed, TooLong> {
    let Some(trimmed) = trimmed(survey) else {
        return look_at(survey, survey.programs, true);
    };
    look_at(survey, trimmed.each_ref(), false)
}

/// Both programs without what prints backtraces, if there is something of the kind and the changes are elsewhere.
fn trimmed(survey: &Survey<'_>) -> Option<[Program; 2]> {
    let pair = Pair {
        programs: survey.programs,
        changes: survey.changes,
    };
    let [base, head] = Side::BOTH.map(|side| {
        let mut sites = pair.all_modified(side);
        if side == Side::Head {
            sites.extend(&survey.aim);
        }
        without_backtraces(survey.programs[side.index()], &sites)
    });
    Some([base?, head?])
}

/// `whole`: these are all of the programs, so what depends on what is known.
fn look_at(survey: &Survey<'_>, programs: [&Program; 2], whole: bool) -> Result<Surveyed, TooLong> {
    let (mut notes, mut dead_changes) = (Vec::new(), Vec::new());
    let mut sides = Vec::new();
    let mut targets = Vec::new();
    let mut partings = Vec::new();
    let pair = Pair {
        programs,
        changes: survey.changes,
    };
    let grouped = {
        let all = survey.changes.changes.iter();
        let blocks = all.map(|change| pair.doing_blocks(change, Side::Head).len());
        blocks.sum::<usize>() > MOST_BLOCKS
    };
    let [base, head] = at_once(programs, |program| {
        Graphs::unless(program, &|| is_over(survey.deadline)).ok_or(TooLong)
    });
    let graphs = [base?, head?];
    let [base, head] = [0, 1].map(|at| {
        let (program, table) = (programs[at], survey.sites[at]);
        Facts::new(program, &graphs[at], table, survey.deadline)
    });
    let facts = [base?, head?];
    let tested = if survey.choice.has(Part::Subgoals) {
        tested_branches(&facts, &pair)
    } else {
        Vec::new()
    };
    let parts = &survey.choice;
    let prunes = parts.prunes() || parts.has(Part::OneRun);
    // What cannot be watched cannot be told to have run.
    let lockstep = survey.lockstep.filter(|known| {
        let blind = [0, 1].map(|at| known.blind[at].iter().map(move |block| (at, *block)));
        let mut blind = blind.into_iter().flatten();
        prunes && blind.all(|(at, block)| facts[at].number(block).is_some())
    });
    let mut affected = [BTreeSet::new(), BTreeSet::new()];
    if prunes || parts.has(Part::Subgoals) {
        facts[0].check_time()?;
        let sides = Side::BOTH.map(|side| {
            let facts = &facts[side.index()];
            let parts = (facts.program, facts.graphs, &facts.memory);
            (parts, pair.all_modified(side))
        });
        affected = at_once(sides, |((program, graphs, memory), modified)| {
            // Nothing rests on it if these are not the whole programs.
            let most = if whole { usize::MAX } else { MOST_STEPS };
            Slicer::new(program, graphs, memory).forward_within(&modified, most)
        });
    }
    let passages = if parts.aims() && parts.order.is_none() {
        passages(&facts[1], &pair)
    } else {
        HashMap::new()
    };
    for side in Side::BOTH {
        let at = side.index();
        let program = programs[at];
        let (graphs, facts) = (&graphs[at], &facts[at]);
        let live = graphs.calls.live(program);
        let mut planner = Planner::new(facts, survey.choice.has(Part::Subgoals));
        let wanted = parts.aims() || parts.has(Part::Sequences);
        for change in survey.changes.changes.iter().filter(|_| wanted) {
            let blocks = aims(&pair, change, side);
            let dead = |block: &BlockId| !live[program.block(*block).function.index()];
            if !blocks.is_empty() && blocks.iter().all(dead) {
                notes.push(unreachable(program, change, side));
                dead_changes.push(change.id.0);
                continue;
            }
            let groups: Vec<Vec<BlockId>> = if grouped {
                vec![blocks]
            } else {
                blocks.into_iter().map(|block| vec![block]).collect()
            };
            for blocks in groups.into_iter().filter(|blocks| !blocks.is_empty()) {
                if targets.len() >= MOST_TARGETS {
                    break;
                }
                let spot = |block: &BlockId| Spot {
                    block: *block,
                    side: None,
                };
                let spots: Vec<Spot> = blocks.iter().map(spot).collect();
                let goal = planner.target(&spots)?;
                let numbers = blocks.iter().filter_map(|b| facts.number(*b)).collect();
                let mut target = Target::new(Aim::Change, side, goal, numbers, spots);
                target.node = change.id.0;
                target.is_aftermath = blocks.iter().all(|block| !is_ordinary(program, *block));
                targets.push(target);
            }
            let sides = changed_sides(facts, &pair, change, side);
            for (spot, number) in sides.into_iter().filter(|_| !grouped) {
                if targets.len() < MOST_TARGETS {
                    let goal = planner.target(&[spot])?;
                    let mut target = Target::new(Aim::Side, side, goal, vec![number], vec![spot]);
                    target.node = change.id.0;
                    targets.push(target);
                }
            }
        }
        let chains = if parts.has(Part::Sequences) && side == Side::Head {
            Chains::new(facts, &pair, side)?
        } else {
            Chains::unordered(&pair, side)
        };
        for (node, site) in chains.meetings() {
            let block = program.instruction(site).block;
            if targets.len() < MOST_TARGETS && live[program.block(block).function.index()] {
                let spot = Spot { block, side: None };
                let goal = planner.target(&[spot])?;
                let numbers = facts.number(block).into_iter().collect();
                let mut target = Target::new(Aim::Meeting, side, goal, numbers, vec![spot]);
                target.node = node;
                targets.push(target);
            }
        }
        if parts.has(Part::Subgoals) {
            // What was taken out has its effects all the same.
            let lost = affected[side.other().index()]
                .iter()
                .filter_map(|site| pair.partner(side.other(), *site));
            let shown = affected[at].iter().copied().chain(lost).collect();
            for block in effect_blocks(facts, &shown) {
                let spot = Spot { block, side: None };
                let goal = planner.target(&[spot])?;
                let numbers = facts.number(block).into_iter().collect();
                targets.push(Target::new(Aim::Effect, side, goal, numbers, vec![spot]));
            }
        }
        for branches in &tested {
            for taken in 0..2 {
                let spot = facts.side_of(branches[at], taken);
                let goal = planner.target(&[spot])?;
                partings.push(Parting {
                    target: targets.len(),
                    tested: planner.tested(branches[at], taken),
                });
                let numbers = facts.number_of(spot).into_iter().collect();
                targets.push(Target::new(Aim::Parting, side, goal, numbers, vec![spot]));
            }
        }
        if side == Side::Head && !survey.aim.is_empty() {
            let mut blocks: Vec<BlockId> = survey
                .aim
                .iter()
                .map(|site| program.instruction(*site).block)
                .collect();
            blocks.sort_unstable();
            blocks.dedup();
            let spots: Vec<Spot> = blocks
                .iter()
                .map(|block| Spot {
                    block: *block,
                    side: None,
                })
                .collect();
            let goal = planner.target(&spots)?;
            let numbers = blocks.iter().filter_map(|b| facts.number(*b)).collect();
            targets.push(Target::new(Aim::Change, side, goal, numbers, spots));
        }
        let plan = planner.finish();
        for target in targets.iter_mut().filter(|target| target.side == side) {
            let goal = &plan.goals[target.goal.0 as usize];
            target.approaches = approaches(facts, &target.spots, &goal.distances);
        }
        let mut meaning = meaning(facts, &pair, side, &chains);
        if parts.has(Part::Subgoals) {
            let blocks = feeders(facts, &pair.all_modified(side)).into_iter();
            meaning.feeders = blocks.filter_map(|block| facts.number(block)).collect();
            let shown = targets
                .iter()
                .filter(|target: &&Target| target.side == side && target.aim == Aim::Effect);
            meaning.shows = shown.flat_map(|target| target.blocks.clone()).collect();
        }
        let mut watched: Vec<u32> = plan.effects.keys().copied().collect();
        watched.extend(meaning.changed.iter().chain(meaning.nodes.keys()));
        watched.extend(meaning.sides.iter().chain(&meaning.feeders));
        watched.extend(&meaning.shows);
        let blind = lockstep.into_iter().flat_map(|known| &known.blind[at]);
        let blind: HashSet<u32> = blind.filter_map(|block| facts.number(*block)).collect();
        watched.extend(&blind);
        if side == Side::Head {
            watched.extend(passages.keys());
        }
        watched.sort_unstable();
        watched.dedup();
        let slices = if survey.choice.has(Part::Correlation) {
            slices(facts, &plan)
        } else {
            HashMap::new()
        };
        let horizon = if prunes {
            let all = survey.changes.changes.iter();
            let changed: Vec<Site> = all
                .flat_map(|change| pair.effective(change, side))
                .collect();
            facts.check_time()?;
            let resting = lockstep.map(|known| known.resting[at].iter().copied());
            let resting = resting.map(|sites| sites.collect::<Vec<Site>>());
            let modified = pair.all_modified(side);
            let affected = whole.then_some(&affected[at]);
            Horizon::new(facts, &changed, &modified, affected, resting.as_deref())
        } else {
            Horizon::default()
        };
        sides.push(SideTable {
            leads_to: leads_to(facts),
            horizon,
            slices,
            switches: switch_sides(facts),
            plan,
            meaning,
            watched,
            blind,
            chains,
        });
    }
    // They were made in the same order for both versions.
    let head = partings.split_off(partings.len() / 2);
    let both = partings.into_iter().zip(head);
    let sides: [SideTable; 2] = sides
        .try_into()
        .unwrap_or_else(|_| unreachable!("one table per version"));
    let of_head = targets
        .iter()
        .filter(|target| target.side == Side::Head)
        .filter(|target| !matches!(target.aim, Aim::Effect | Aim::Parting));
    let aimed = of_head.flat_map(|target| target.blocks.clone()).collect();
    let watched = sides.each_ref().map(|side| side.watched.clone());
    let tables = Tables {
        sides,
        targets,
        partings: both.map(|(base, head)| [base, head]).collect(),
        partners: partners(&pair),
        complete: survey.complete && pair.is_complete(),
        probed: lockstep.is_some(),
        gauges: survey.gauges.to_vec(),
        passages,
    };
    Ok(Surveyed {
        guide: Guided::new(tables, survey.choice.clone(), survey.seed),
        watched,
        aimed,
        notes,
        unreachable: dead_changes,
    })
}

/// Blocks that a search aims at to enter a change: those of head, or of base if nothing
/// of it is left in head.
fn aims(pair: &Pair<'_>, change: &Change, side: Side) -> Vec<BlockId> {
    let head = pair.doing_blocks(change, Side::Head);
    match side {
        Side::Head => head,
        Side::Base if head.is_empty() => pair.doing_blocks(change, Side::Base),
        Side::Base => Vec::new(),
    }
}

/// Whether a block can run without an exception in its function.
fn is_ordinary(program: &Program, block: BlockId) -> bool {
    let function = program.function(program.block(block).function);
    let mut seen: HashSet<BlockId> = function.entry().into_iter().collect();
    let mut work: Vec<BlockId> = seen.iter().copied().collect();
    while let Some(next) = work.pop() {
        let end = program.instruction(program.terminator(next));
        let thrown = end.call().and_then(|call| call.invoke).map(|i| i.unwind);
        let followers = program.successors(next).into_iter();
        let followers = followers.filter(|follower| Some(*follower) != thrown);
        work.extend(followers.filter(|follower| seen.insert(*follower)));
    }
    seen.contains(&block)
}

/// Blocks that end with a decision on the way to some places, each with how many are left from there, the fewest first.
/// Only in functions that these places are in or called from: what else decides about them does so from afar.
fn approaches(facts: &Facts<'_>, spots: &[Spot], distances: &Distances) -> Vec<(u32, u32)> {
    let program = facts.program;
    let own = spots.iter().map(|spot| program.block(spot.block).function);
    let mut around: HashSet<FunctionId> = own.collect();
    let mut work: Vec<FunctionId> = around.iter().copied().collect();
    while let Some(function) = work.pop() {
        let calls = facts.graphs.calls.callers(function);
        let callers = calls.map(|call| program.function_of(call));
        work.extend(callers.filter(|caller| around.insert(*caller)));
    }
    let branches = distances.branches.iter();
    let branches = branches.filter(|(site, _)| around.contains(&program.function_of(Site(**site))));
    let blocks = branches.filter_map(|(site, (distance, _))| {
        let block = program.instruction(Site(*site)).block;
        Some((*distance, facts.number(block)?))
    });
    let mut blocks: Vec<(u32, u32)> = blocks.collect();
    blocks.sort_unstable();
    blocks
        .into_iter()
        .map(|(left, block)| (block, left))
        .collect()
}

/// Both sides of the branches of a change, each with its coverage byte.
fn changed_sides(
    facts: &Facts<'_>,
    pair: &Pair<'_>,
    change: &Change,
    side: Side,
) -> Vec<(Spot, u32)> {
    let program = facts.program;
    let sites = pair.effective(change, side).into_iter();
    let branches = sites.filter(|site| program.instruction(*site).decides());
    let spots = branches.flat_map(|site| {
        let sides = 0..program.instruction(site).successors().len() as u32;
        sides.map(move |side| facts.side_of(site, side))
    });
    spots
        .filter_map(|spot| Some((spot, facts.number_of(spot)?)))
        .collect()
}

/// So many branches that test what changes compute are looked at.
const MOST_TESTED: usize = 8;

/// Branches in both versions that test what a change computes in one of them, the nearest first.
fn tested_branches(facts: &[Facts<'_>; 2], pair: &Pair<'_>) -> Vec<[Site; 2]> {
    let [base, head] =
        Side::BOTH.map(|side| testing_branches(&facts[side.index()], &pair.all_modified(side)));
    let sites = &pair.changes.sites;
    let base = base.into_iter().map(|site| (Some(site), sites.head(site)));
    let head = head.into_iter().map(|site| (sites.base(site), Some(site)));
    let mut both: Vec<[Site; 2]> = Vec::new();
    for (base, head) in alternately(base, head) {
        let Some(branches) = base.zip(head).map(|(base, head)| [base, head]) else {
            continue;
        };
        let two_sided = |at: usize| {
            let instruction = facts[at].program.instruction(branches[at]);
            matches!(instruction.operation, Operation::Branch { then, otherwise } if then != otherwise)
        };
        if two_sided(0) && two_sided(1) && !both.contains(&branches) && both.len() < MOST_TESTED {
            both.push(branches);
        }
    }
    both
}

fn alternately<T>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (mut left, mut right) = (left.fuse(), right.fuse());
    let mut rounds = std::iter::repeat_with(move || [left.next(), right.next()])
        .take_while(|round| round.iter().any(Option::is_some));
    std::iter::from_fn(move || rounds.next())
        .flatten()
        .flatten()
}

fn meaning(facts: &Facts<'_>, pair: &Pair<'_>, side: Side, chains: &Chains) -> Meaning {
    let mut meaning = Meaning::default();
    for change in &pair.changes.changes {
        let blocks = pair.doing_blocks(change, side);
        let numbers = blocks.into_iter().filter_map(|block| facts.number(block));
        meaning.changed.extend(numbers);
        let sides = changed_sides(facts, pair, change, side);
        meaning.sides.extend(sides.iter().map(|(_, number)| number));
    }
    // A change is come by where its statements are, which is not always where it has an effect.
    for &(site, node) in &chains.places {
        let block = facts.program.instruction(site).block;
        if let Some(number) = facts.number(block) {
            let nodes = meaning.nodes.entry(number).or_default();
            nodes.push(node);
            nodes.dedup();
        }
    }
    meaning
}

/// Does the same for both versions at the same time: large programs take seconds.
fn at_once<T: Send, R: Send>(both: [T; 2], work: impl Fn(T) -> R + Sync) -> [R; 2] {
    let [base, head] = both;
    std::thread::scope(|scope| {
        let work = &work;
        let base = scope.spawn(move || work(base));
        let head = work(head);
        let base = base.join();
        let base = base.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [base, head]
    })
}

/// So many branches are traced back.
const MOST_SLICES: usize = 128;
/// Together they may cost so much: the instructions that they lead to, and the blocks of the program, which all are
/// gone through. With a large library around the program all of them would take longer than everything else.
const MOST_SLICED: usize = 1 << 20;
/// One that takes more steps is not followed to the end: where nearly everything depends on everything, slices tell
/// nothing apart.
const MOST_STEPS: usize = 1 << 14;
/// After so many of these no more are tried.
const MOST_LARGE: usize = 4;

/// For the branches nearest to goals: all branches that can influence whether they are
/// reached and what they test, also by not being taken.
fn slices(facts: &Facts<'_>, plan: &Plan) -> HashMap<u32, HashSet<u32>> {
    let mut near: Vec<(u32, u32)> = plan
        .goals
        .iter()
        .flat_map(|goal| &goal.distances.branches)
        .map(|(site, (distance, _))| (*distance, *site))
        .collect();
    near.sort_unstable();
    let slicer = Slicer::new(facts.program, facts.graphs, &facts.memory);
    let mut slices = HashMap::new();
    let mut sliced = 0;
    for (_, site) in near {
        // What is not known is taken for needed.
        if slices.len() >= MOST_SLICES || sliced >= MOST_SLICED || facts.check_time().is_err() {
            break;
        }
        if slices.contains_key(&site) {
            continue;
        }
        let Some(slice) = slicer.backward_within(&[Site(site)], MOST_STEPS) else {
            sliced += MOST_SLICED / MOST_LARGE;
            continue;
        };
        sliced += slice.len() + facts.program.blocks.len();
        let decides = |site: &Site| facts.program.instruction(*site).decides();
        let branches = slice.into_iter().filter(decides).map(|site| site.0);
        slices.insert(site, branches.collect());
    }
    slices
}

fn leads_to(facts: &Facts<'_>) -> HashMap<(u32, u32), u32> {
    let program = facts.program;
    let branches = program
        .sites()
        .filter(|site| program.instruction(*site).decides());
    let sides = branches.flat_map(|site| {
        let targets = program.instruction(site).successors();
        (0u32..)
            .zip(targets)
            .map(move |(side, target)| (site, side, target))
    });
    sides
        .filter_map(|(site, side, target)| {
            let block = program.instruction(site).block;
            let edge = facts.number_of(Spot {
                block,
                side: Some(side),
            });
            let number = edge.or_else(|| facts.number(target))?;
            Some(((site.0, side), number))
        })
        .collect()
}

fn partners(pair: &Pair<'_>) -> Vec<u32> {
    let sites = (0..=pair.programs[0].instructions.len() as u32).map(Site);
    let map = &pair.changes.sites;
    sites
        .map(|site| map.head(site).map_or(0, |head| head.0))
        .collect()
}

fn unreachable(program: &Program, change: &Change, side: Side) -> String {
    let own = match side {
        Side::Base => &change.base,
        Side::Head => &change.head,
    };
    let place = own.modified.first().and_then(|site| program.place(*site));
    let function = own.function.map(|id| program.function(id).name.clone());
    let place = place.map_or_else(String::new, |place| program.describe_place(place));
    format!(
        "the change at {place} is in {}, which nothing calls: no input can reach it",
        function.unwrap_or_default()
    )
}
