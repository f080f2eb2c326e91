//! All that the search knows. Workers share one of these behind a lock.

use crate::decision::{Ended, PairState, WayState};
use crate::difference::{Kind, classify};
use crate::digest::{digest, fingerprint, path_fingerprint};
use crate::findings::Findings;
use crate::frontier::{Bucket, Cost, FLIPS_FIRST, Frontier, Task};
use crate::gap::{Account, Gap, Place};
use crate::guide::{Context, Guide, RunFacts};
use crate::manners::Manners;
use crate::merge::{self, Owner};
use crate::novelty::Familiar;
use crate::outcome::{Sample, Stats};
use crate::output;
use crate::parts::Shelves;
use crate::path::{self, Path, TestKind};
use crate::ran::Ran;
use crate::readings::Readings;
use crate::runner::{Side, TracedRun};
use crate::sameness::Asked;
use crate::search::Subject;
use crate::sequences;
use crate::terms::TermError;
use crate::tree::{Far, Inserted, NodeId, RunId, Tree};
use crate::variation::Pool;
use crate::{End, Observation};
use changeling_solver::{Arena, Assignment, Bounds, Expr, Solver};
use changeling_trace::input::Input;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct State {
    pub subject: Arc<Subject>,
    pub bounds: Bounds,
    pub arena: Arena,
    pub solver: Solver,
    pub manners: Manners,
    pub tree: Tree,
    pub frontier: Frontier,
    pub guide: Box<dyn Guide>,
    pub given: VecDeque<Input>,
    pub corpus: Vec<Ran>,
    pub findings: Findings,
    pub gaps: BTreeMap<Gap, Account>,
    /// Conditions that were asked for against decisions that they may depend on.
    pub forced: HashSet<Expr>,
    pub stats: Stats,
    pub series: Vec<Sample>,
    pub coverage: [Vec<u8>; 2],
    pub start: Instant,
    /// How many values are tried where one was fixed.
    pub fixed_values: u32,
    seen: HashMap<u64, RunId>,
    paths: [HashSet<u64>; 2],
    pub familiar: Familiar,
    pub pool: Pool,
    pub shelves: Shelves,
    pub readings: Readings,
    /// Runs that saw something new, whose bytes have not been offered to others yet.
    carriers: Vec<RunId>,
    /// How runs came by what matters.
    pub histories: HashSet<u64>,
    /// A run entered a change and nothing hid it.
    pub unmasked: bool,
    /// Builds with sanitizers were asked too.
    pub sanitized: bool,
    /// Sides not taken of the last run's decisions that would take back what parted the versions.
    pub held: Vec<(NodeId, usize)>,
    /// Where versions were seen to part.
    partings: HashSet<[u32; 2]>,
    /// The best rank of the flips offered last that lead to a target.
    pub nearest: u32,
    /// Of the guide, when everything that waits was ranked.
    epoch: u64,
    /// The guide has turned out to be mistaken.
    distrusted: bool,
    pub asked: Asked,
}

/// How many inputs are tried where different values keep printing alike.
const MOST_FAILURES: u32 = 6;

/// Where an input comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub bucket: Bucket,
    pub task: Task,
    /// The input promises nothing: it was found by forgetting something that had been decided.
    pub displaced: bool,
    pub cost: Cost,
}

/// What a run brought.
#[derive(Debug)]
pub(crate) struct Absorbed {
    pub run: RunId,
    pub candidate: Option<Kind>,
    pub is_new_pair: bool,
    /// The run went where no difference can come from, as a guide has proven.
    pub discarded: bool,
}

impl State {
    pub fn new(
        subject: Arc<Subject>,
        solver: Solver,
        guide: Box<dyn Guide>,
        seed: u64,
        fixed_values: u32,
    ) -> State {
        State {
            bounds: Bounds::from_input(&subject.shape),
            subject,
            arena: Arena::new(),
            solver,
            manners: Manners::default(),
            tree: Tree::new(),
            frontier: Frontier::new(seed),
            guide,
            given: VecDeque::new(),
            corpus: Vec::new(),
            findings: Findings::default(),
            gaps: BTreeMap::new(),
            forced: HashSet::new(),
            stats: Stats::default(),
            series: Vec::new(),
            coverage: [Vec::new(), Vec::new()],
            start: Instant::now(),
            fixed_values,
            seen: HashMap::new(),
            paths: [HashSet::new(), HashSet::new()],
            familiar: Familiar::default(),
            pool: Pool::new(seed),
            shelves: Shelves::default(),
            readings: Readings::default(),
            carriers: Vec::new(),
            histories: HashSet::new(),
            unmasked: false,
            sanitized: false,
            held: Vec::new(),
            partings: HashSet::new(),
            nearest: u32::MAX,
            epoch: 0,
            distrusted: false,
            asked: Asked::default(),
        }
    }

    /// The run in which an input was used before.
    pub fn known(&self, input: &Input) -> Option<RunId> {
        self.seen.get(&fingerprint(input)).copied()
    }

    /// The best task that waits.
    pub fn next_task(&mut self) -> Option<(Bucket, Task)> {
        if self.frontier.has_only_mends() {
            let held = std::mem::take(&mut self.held);
            self.release(held);
        }
        // Every pair of paths has been seen: other inputs bring nothing.
        if self.gaps.is_empty() && self.frontier.has_only_mends() {
            self.frontier.forget_mends();
        }
        let mut frontier = std::mem::replace(&mut self.frontier, Frontier::new(0));
        let next = frontier.pop(|bucket, task| self.novelty(bucket, task));
        self.frontier = frontier;
        next
    }

    /// Takes in what both versions did on an input.
    pub fn absorb(
        &mut self,
        input: &Arc<Input>,
        runs: &[TracedRun<'_>; 2],
        origin: Option<Origin>,
    ) -> Absorbed {
        let run = RunId(self.corpus.len() as u32);
        self.stats.runs += 1;
        self.seen.insert(fingerprint(input), run);
        let subject = self.subject.clone();
        let [base, head] = runs;
        let candidate = classify(&subject.normaliser, &base.observation, &head.observation);
        let new_blocks = self.cover(runs);
        for branches in runs.iter().filter_map(|run| run.trace.branches) {
            self.stats.branches.add(branches);
        }
        self.corpus.push(Ran {
            shows: Vec::new(),
            input: input.clone(),
            end: Tree::ROOT,
            seen: [base, head].map(|run| digest(&subject.normaliser, &run.observation)),
            checked: false,
            contexts: Default::default(),
            sequence: Vec::new(),
            furthest: Default::default(),
            parting: None,
            mask: None,
            mended: false,
            right: None,
            masked_at: [0; 4],
            history: 0,
            origin: origin.map(|origin| origin.bucket),
            manner: self.manners.of(&head.observation),
            well: head.observation.end == End::Exit(0),
            parts: Vec::new(),
        });
        let task = origin.map(|origin| origin.task);
        let (is_new_pair, discarded) = match self.insert(run, runs, candidate.is_some(), task) {
            Ok(inserted) => {
                if let Some(origin) = origin {
                    self.check_promise(&origin, &inserted);
                }
                let parting = self.corpus[run.0 as usize].parting;
                // What parts the versions without showing may show with other bytes around it.
                let new_parting = parting.is_some_and(|parting| self.partings.insert(parting));
                if new_blocks || new_parting {
                    self.carriers.push(run);
                }
                if self.stats.runs > FLIPS_FIRST {
                    for run in std::mem::take(&mut self.carriers) {
                        self.carry_over(run);
                    }
                }
                (inserted.is_new, inserted.discarded)
            }
            Err(_) => {
                for side in Side::BOTH {
                    self.note(Gap::BrokenTrace { side });
                }
                (false, false)
            }
        };
        if let Some(Origin { bucket, cost, .. }) = origin {
            let reward = 0.1 * f64::from(u8::from(is_new_pair))
                + 0.4 * f64::from(u8::from(new_blocks))
                + 0.6 * f64::from(u8::from(candidate.is_some()));
            self.frontier.charge(bucket, cost, reward);
            let stats = self.stats.by_bucket.entry(bucket).or_default();
            stats.runs += 1;
            stats.new_pairs += u64::from(is_new_pair);
        }
        Absorbed {
            run,
            candidate,
            is_new_pair,
            discarded,
        }
    }

    fn insert(
        &mut self,
        run: RunId,
        runs: &[TracedRun<'_>; 2],
        differs: bool,
        task: Option<Task>,
    ) -> Result<Inserted, TermError> {
        let subject = self.subject.clone();
        let sites = [&subject.sites[0], &subject.sites[1]];
        let base = path::read(&mut self.arena, Side::Base, &runs[0], sites[0])?;
        let head = path::read(&mut self.arena, Side::Head, &runs[1], sites[1])?;
        let mut steps = merge::merge(&base, &head);
        let (contexts, furthest, progress) = self.follow_marks(&mut steps, [&base, &head]);
        let compared = self.follow_probes(&mut steps, [&base, &head])?;
        let history = self.history(self.beats(&steps, [&base, &head]));
        for step in &steps {
            if let Owner::One(side) = step.owner {
                let test = &step.test;
                self.count_parting((side, test.site, test.caller, test.outcome));
            }
        }
        let input = Assignment::from_input(&self.corpus[run.0 as usize].input);
        let mut inserted = self
            .tree
            .insert(&mut self.arena, sites, &steps, &input, run)?;
        let ran = &mut self.corpus[run.0 as usize];
        ran.end = inserted.end;
        ran.parting = merge::parting(&base, &head);
        ran.history = history.number;
        let marks = head.marks.iter();
        let changes = marks.flat_map(|mark| self.guide.changes(Side::Head, mark.block));
        ran.sequence = sequences::entered(changes);
        (ran.contexts, ran.furthest) = (contexts, furthest);
        let given = ran.origin.is_none();
        if inserted.inconsistent {
            self.note(Gap::Inconsistent);
        }
        for (node, way) in inserted.taken.clone() {
            inserted.is_news |= self.count_taken(node, way);
        }
        inserted.is_news |= self.guide.saw_news();
        self.stats.concretizations += base.concretizations + head.concretizations;
        self.note_gaps([&base, &head], inserted.is_new);
        if inserted.is_new {
            self.new_pair(run, inserted.end, [&base, &head], differs)?;
        } else if differs {
            self.settle(inserted.end, PairState::Different);
        } else {
            self.seen_equal(
                inserted.end,
                &base,
                &head,
                &runs.each_ref().map(|r| &r.observation),
            )?;
        }
        if inserted.doubted {
            let audited = self.stats.audited.get_or_insert_default();
            audited.runs += 1;
            audited.differing += u64::from(differs);
        }
        let coverage = [runs[0].trace.coverage, runs[1].trace.coverage];
        // What this run has reached need not be aimed at any more.
        self.guide.learn(&RunFacts {
            coverage,
            contexts,
            differs,
            given,
            marks_cut: base.marks_cut || head.marks_cut,
            discarded: inserted.discarded,
        });
        self.nearest = u32::MAX;
        if inserted.is_new && !differs {
            self.wish_for_infection(inserted.end, compared);
        }
        self.look_for_mask(run);
        let held = std::mem::take(&mut self.held);
        for &node in &inserted.decisions {
            self.enqueue(node);
        }
        self.release(held);
        let mut nearer = !self.guide.only_flips() && self.come_near(run, coverage);
        inserted.is_news |= self.is_new_history(run, &history);
        nearer |= self.read_gauges(run, [&base, &head])?;
        inserted.is_news |= nearer;
        if !self.guide.only_flips() {
            let parts = self.parts(run, &head);
            self.keep_parts(run, &parts);
            self.corpus[run.0 as usize].parts = parts;
            let mended = task.is_some_and(|task| self.is_mended(run, task));
            self.corpus[run.0 as usize].mended = mended;
            if !differs && (inserted.is_news || mended) && self.entered_change(run) {
                self.bring_to_light(run, &history);
            } else if !differs && nearer {
                self.go_on_from(run, &history);
            }
            if inserted.is_news {
                self.pool_run(run, self.nearest);
                self.frontier.varies = true;
            }
        }
        if self.guide.is_mistaken() && !std::mem::replace(&mut self.distrusted, true) {
            self.take_back();
        }
        let when = self.guide.epoch();
        let (guide, corpus) = (&mut self.guide, &self.corpus);
        let far = |guide: &dyn Guide, run: RunId, left: u32| {
            let ran = &corpus[run.0 as usize];
            Far {
                left,
                missing: guide.missing(ran.contexts),
                length: Reverse(ran.length()),
            }
        };
        let now = far(guide.as_ref(), run, progress);
        let judge = |run: RunId| {
            let ran = &corpus[run.0 as usize];
            let left = [ran.contexts, ran.furthest].map(|contexts| guide.progress(contexts));
            far(guide.as_ref(), run, left[0].min(left[1]))
        };
        let furthest = self.tree.came_far(inserted.end, run, now, when, judge);
        if furthest || when != self.epoch {
            self.epoch = when;
            self.rank_again();
        }
        Ok(inserted)
    }

    /// Leaves out of the sequence of a run what it did not enter. Where nothing of a change is left but that ways meet, such
    /// as one `return 0` of many, every run comes by its place.
    pub fn entered_no_more_than(&mut self, run: RunId, changes: &[u32]) {
        let sequence = &mut self.corpus[run.0 as usize].sequence;
        sequence.retain(|change| changes.contains(change));
        sequence.dedup();
    }

    /// Lets the guide see the marks along both paths. What it makes of them in the end, and
    /// how far they came.
    fn follow_marks(
        &mut self,
        steps: &mut [merge::Step],
        paths: [&Path; 2],
    ) -> ([Context; 2], [Context; 2], u32) {
        let mut contexts = [Context::default(); 2];
        let mut furthest = contexts;
        let mut passed = [0; 2];
        let mut progress = u32::MAX;
        let guide = &mut self.guide;
        // How far a path is counts where it decides something: in between nothing can be done about it.
        let mut pass = |until: [usize; 2], contexts: &mut [Context; 2]| {
            for side in Side::BOTH {
                let at = side.index();
                while passed[at] < until[at] {
                    let mark = paths[at].marks[passed[at]];
                    contexts[at] = guide.enter(side, contexts[at], mark.block);
                    passed[at] += 1;
                }
            }
            let now = guide.progress(*contexts);
            if now < progress {
                (progress, furthest) = (now, *contexts);
            }
        };
        for step in steps {
            pass(step.marks, &mut contexts);
            step.contexts = contexts;
        }
        let all = paths.map(|path| path.marks.len());
        pass(all, &mut contexts);
        (contexts, furthest, progress)
    }

    fn new_pair(
        &mut self,
        run: RunId,
        end: NodeId,
        paths: [&Path; 2],
        differs: bool,
    ) -> Result<(), TermError> {
        self.stats.pairs += 1;
        for side in Side::BOTH {
            let path = paths[side.index()];
            if self.paths[side.index()].insert(path_fingerprint(path)) {
                match side {
                    Side::Base => self.stats.base_paths += 1,
                    Side::Head => self.stats.head_paths += 1,
                }
            }
        }
        let mut ended = Ended {
            run,
            differ: None,
            state: PairState::Different,
            failures: 0,
        };
        if !differs {
            let normaliser = &self.subject.normaliser;
            let [base, head] = paths.map(|path| &path.output);
            let comparison = output::compare(&mut self.arena, normaliser, base, head)?;
            ended.differ = comparison.differ;
            ended.state = if comparison.differ.is_some() {
                PairState::Open
            } else {
                PairState::Equal
            };
            self.stats.unmatched_outputs += u64::from(!comparison.matched);
        }
        self.tree.end(end, ended);
        match ended.state {
            PairState::Open => self.frontier.push(Bucket::Out, 0, 0, Task::Out { end }),
            PairState::Equal => self.stats.equal_pairs += 1,
            PairState::Different | PairState::Unclear => {}
        }
        Ok(())
    }

    /// An input should have made an open pair's outputs differ, and did not:
    /// different values may print alike. Ask for still other values.
    fn seen_equal(
        &mut self,
        end: NodeId,
        base: &Path,
        head: &Path,
        seen: &[&Observation; 2],
    ) -> Result<(), TermError> {
        let Some(Ended {
            differ: Some(differ),
            state: PairState::Open,
            failures,
            ..
        }) = self.tree.ended(end).copied()
        else {
            return Ok(());
        };
        let moved = output::moved(&mut self.arena, &base.output, &head.output)?;
        let Some(moved) = moved else {
            return Ok(());
        };
        let input = Assignment::from_input(&self.corpus[self.corpus.len() - 1].input);
        if !self.arena.holds(differ, &input) {
            return Ok(());
        }
        if failures >= MOST_FAILURES {
            let alike = seen[0] == seen[1];
            self.note(if alike {
                Gap::UnmatchedOutput
            } else {
                Gap::HiddenByNormalisation
            });
            self.settle(end, PairState::Unclear);
            return Ok(());
        }
        let differ = self.arena.and(differ, moved)?;
        if let Some(ended) = self.tree.ended_mut(end) {
            ended.differ = Some(differ);
            ended.failures += 1;
        }
        self.frontier
            .push(Bucket::Out, 1 + failures, 0, Task::Out { end });
        Ok(())
    }

    /// Whether a run did what its question promised.
    fn check_promise(&mut self, origin: &Origin, inserted: &Inserted) {
        if origin.displaced {
            return;
        }
        match origin.task {
            Task::Flip { node, way } => {
                let way = way as usize;
                let Some(decision) = self.tree.decision_mut(node) else {
                    return;
                };
                if decision.ways[way].state == WayState::Open {
                    decision.ways[way].state = WayState::Diverged;
                    self.stats.diverged += 1;
                    self.note(Gap::Diverged);
                }
            }
            Task::Carry { .. }
            | Task::Mend { .. }
            | Task::Edit { .. }
            | Task::Vary
            | Task::Infect { .. }
            | Task::Approach { .. } => {}
            Task::Another { node } => {
                // The value just seen has its own way now; ask for yet another.
                self.frontier
                    .push(Bucket::Displaced, 1, 0, Task::Another { node });
            }
            Task::Out { end } => {
                let Some(end) = self.tree.current_end(end) else {
                    return;
                };
                if end != inserted.end {
                    self.stats.diverged += 1;
                    self.note(Gap::Diverged);
                    self.settle(end, PairState::Unclear);
                }
            }
        }
    }

    fn cover(&mut self, runs: &[TracedRun<'_>; 2]) -> bool {
        let mut is_new = false;
        for (known, run) in self.coverage.iter_mut().zip(runs) {
            if known.len() < run.trace.coverage.len() {
                known.resize(run.trace.coverage.len(), 0);
            }
            for (known, &now) in known.iter_mut().zip(run.trace.coverage) {
                is_new |= now != 0 && *known == 0;
                *known |= u8::from(now != 0);
            }
        }
        is_new
    }

    pub fn sample(&self) -> Sample {
        let blocks = |side: usize| self.coverage[side].iter().map(|&b| u64::from(b)).sum();
        Sample {
            seconds: self.start.elapsed().as_secs_f64(),
            runs: self.stats.runs,
            pairs: self.stats.pairs,
            differences: self.findings.differences.len() as u64,
            queries: self.stats.queries,
            blocks: [blocks(0), blocks(1)],
        }
    }

    /// The place that a fixed value is to be blamed on.
    pub fn fixed_gap(&self, node: NodeId) -> Option<Gap> {
        let decision = self.tree.decision(node)?;
        let TestKind::Fixed(reason) = decision.kind else {
            return None;
        };
        let side = match decision.owner {
            Owner::Both => Side::Head,
            Owner::One(side) => side,
        };
        let place = Place {
            side,
            site: decision.sites[side.index()],
        };
        Some(Gap::Concretized { place, reason })
    }
}
