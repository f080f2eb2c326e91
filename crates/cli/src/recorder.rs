//! Listens while the search runs, keeps `out/` valid at every moment, and puts
//! the results together when it has ended.

use crate::golden::Judged;
use crate::progress::Display;
use crate::regions::Regions;
use crate::results::{
    coverage, critical_among, found_by, groups, inconclusive, kind, losses, outcome_view,
    parting_place, sequences, stats, stopped, suspected, timeline, title, undefined, unstable,
    violations, waited,
};
use crate::runner::Pair;
use crate::sameness::is_same;
use crate::store::Store;
use crate::version::{Version, absolute};
use changeling_explore::Side;
use changeling_explore::budget::Cancel;
use changeling_explore::group::{KEPT_APART, Spot};
use changeling_explore::outcome::{Difference, Listener, Outcome, Progress, Verdict};
use changeling_explore::tree::RunId;
use changeling_report::accepted::Accepted;
use changeling_report::case::Case;
use changeling_report::directory::OutputDirectory;
use changeling_report::log::Log;
use changeling_report::results::{self, InputView, Results};
use changeling_trace::input::Input;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause between two snapshots of `results.json`.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes down what the search tells.
pub struct Recorder {
    pub out: OutputDirectory,
    /// What is known so far.
    pub results: Results,
    pub regions: Arc<Regions>,
    pub accepted: Accepted,
    pub display: Display,
    pub store: Store,
    pair: Arc<Pair>,
    /// What a third version says.
    pub judged: Judged,
    /// Differences by number.
    cases: BTreeMap<u32, results::Difference>,
    last_snapshot: Instant,
    /// What was tried and why it was given up.
    log: Option<Log>,
    /// Folders of cases that nobody names once the results are written again.
    outdated: BTreeSet<String>,
    /// The first thing that could not be written.
    unwritten: Option<String>,
    /// Ends the search: what cannot be written would be lost.
    cancel: Cancel,
}

/// What a search came to.
pub struct Concluded {
    pub results: Results,
    pub out: OutputDirectory,
    /// What could not be written, if so: then what is on disk is not all.
    pub unwritten: Option<String>,
}

impl Recorder {
    pub fn new(
        out: OutputDirectory,
        results: Results,
        regions: Arc<Regions>,
        accepted: Accepted,
        display: Display,
        store: Store,
        pair: Arc<Pair>,
    ) -> Recorder {
        Recorder {
            log: None,
            out,
            results,
            regions,
            accepted,
            display,
            store,
            pair,
            judged: Judged::default(),
            cases: BTreeMap::new(),
            last_snapshot: Instant::now(),
            outdated: BTreeSet::new(),
            unwritten: None,
            cancel: Cancel::default(),
        }
    }

    /// Before the search, which is cancelled if something cannot be written. What an earlier one found
    /// is in the results from the start.
    pub fn begin(&mut self, cancel: Cancel, known: &[Difference]) {
        self.cancel = cancel;
        match self.out.log() {
            Ok(log) => self.log = Some(log),
            Err(error) => self.trouble(&error),
        }
        if known.is_empty() {
            return;
        }
        // A damaged case is written again.
        let saved = self.out.cases().unwrap_or_default();
        for found in known {
            let described = self.described(found);
            let case = saved.iter().find(|case| case.id == described.id);
            let difference = match case {
                None => described,
                Some(case) => results::Difference {
                    changes: case.changes.clone(),
                    ..described
                },
            };
            self.outdated.extend(self.out.folders_of(&difference.id));
            self.put(found.id, difference);
            if let Some(shown) = self.cases.get(&found.id) {
                self.display
                    .event(&serde_json::json!({ "event": "difference", "difference": shown }));
            }
        }
        self.snapshot();
    }

    /// Everything that the search found, and all reports.
    pub fn conclude(
        mut self,
        outcome: &Outcome,
        versions: &[Version; 2],
        build_seconds: f64,
        notes: Vec<String>,
    ) -> Concluded {
        self.display.clear();
        for gap in &outcome.gaps {
            self.write_log(serde_json::json!({ "event": "given up", "gap": gap }));
        }
        let shown = self.merge(outcome);
        let mut results = self.results.clone();
        results.stopped = stopped(outcome.stopped);
        results.error.clone_from(&outcome.error);
        results.stats = stats(outcome, build_seconds);
        self.place(&mut results, shown.into_iter());
        results.verdict = match outcome.verdict {
            Verdict::Differences if results.differences.is_empty() => results::Verdict::NoneFound,
            Verdict::Differences => results::Verdict::Differences,
            Verdict::NoneFound => results::Verdict::NoneFound,
            Verdict::Equivalent => results::Verdict::Equivalent,
            Verdict::CouldNotRun => results::Verdict::CouldNotRun,
        };
        self.write_log(serde_json::json!({
            "event": "end",
            "seconds": outcome.stats.seconds,
            "stopped": results.stopped,
            "verdict": results.verdict,
            "runs": outcome.stats.runs,
        }));
        results.suspected = outcome
            .suspected
            .iter()
            .map(|s| suspected(s, &self.regions))
            .collect();
        results.unstable = outcome.unstable.iter().map(unstable).collect();
        results.undefined = outcome.undefined.iter().map(undefined).collect();
        results.changes = self.regions.counted();
        (results.sequences, results.critical) =
            sequences(&outcome.sequences, self.judged.errors.as_deref());
        if results.differences.is_empty() {
            // What was accepted is not spoken of.
            results.critical = None;
        }
        let tables = [&versions[0].sites, &versions[1].sites];
        let (changed, covered) = self.regions.changed_lines(tables, &outcome.coverage);
        results.coverage = coverage(versions, outcome);
        results.coverage.changed_lines = changed;
        results.coverage.covered_changed_lines = covered;
        results.sources = self.regions.views(tables, &outcome.coverage);
        let streams: Vec<String> = results
            .bound
            .streams
            .iter()
            .map(|stream| stream.label.clone())
            .collect();
        (results.losses, results.unexplored) = losses(&outcome.gaps, versions, &streams);
        results.timeline = timeline(outcome, &results.differences);
        results.warnings.extend(notes);
        results
            .warnings
            .extend(waited(build_seconds, outcome.stats.seconds));
        if !outcome.violations.is_empty() {
            results.warnings.push(violations(outcome));
        }
        results.inconclusive = inconclusive(&results, outcome);
        if let Err(error) = self.store.finish() {
            self.trouble(&error);
        }
        if let Some(what) = &self.unwritten {
            results.stopped = results::Stopped::Error;
            results
                .warnings
                .push(format!("the search was ended: {what}"));
        }
        match self.out.write_reports(&results) {
            Ok(()) => self.forget_outdated(),
            Err(error) => self.trouble(&error),
        }
        Concluded {
            results,
            out: self.out,
            unwritten: self.unwritten,
        }
    }

    /// The last word on every difference. Groups that are one thing to a reader are
    /// put together; the cases of all of them stay, and the one that is shown names the others.
    /// Gives the numbers of those to show, in order.
    fn merge(&mut self, outcome: &Outcome) -> Vec<u32> {
        let found = &outcome.differences;
        let mut shown: Vec<(&Difference, results::Difference)> = Vec::new();
        // With the place of the one that stands for it.
        let mut others_cases: Vec<(usize, u32, results::Difference)> = Vec::new();
        // Which of two groups is found first is chance: those that others explain come last.
        let is_explained =
            |one: &&Difference| found.iter().any(|other| other.group.explains(&one.group));
        let (explained, others): (Vec<_>, Vec<_>) = found.iter().partition(is_explained);
        for difference in others.into_iter().chain(explained) {
            let described = self.described(difference);
            let apart = |known: &Difference| {
                let shown = shown.iter();
                let shown = shown.filter(|(other, _)| known.group.explains(&other.group));
                shown.count()
            };
            let twin = shown.iter().position(|(known, other)| {
                let explains = known.group.explains(&difference.group)
                    && (known.looks_like(difference) || apart(known) >= KEPT_APART);
                // A fix does not stand for a regression.
                let class =
                    |one: &results::Difference| one.golden.as_ref().map(|golden| golden.class);
                (is_same(other, &described) || explains)
                    && class(other) == class(&described)
                    && self.is_accepted(other) == self.is_accepted(&described)
            });
            let Some(at) = twin else {
                shown.push((difference, described));
                continue;
            };
            let (_, other) = &mut shown[at];
            other.group_size += described.group_size;
            if let (Some(golden), Some(own)) = (&mut other.golden, &described.golden) {
                golden.count(own);
            }
            // In an order of their own: which was found first is chance.
            let both: BTreeSet<&str> = groups(&other.group)
                .chain(groups(&described.group))
                .collect();
            other.group = both.into_iter().collect::<Vec<_>>().join("\n");
            others_cases.push((at, difference.id, described));
        }
        others_cases.sort_by_key(|(_, id, _)| *id);
        for (at, (known, difference)) in shown.iter_mut().enumerate() {
            let others = others_cases.iter().filter(|(place, ..)| *place == at);
            let ids = others.map(|(_, id, _)| *id).chain([known.id]);
            difference.critical = critical_among(outcome, &ids.collect::<Vec<_>>());
        }
        for (at, id, mut other) in others_cases {
            // Whichever of them is accepted, all are.
            other.group.clone_from(&shown[at].1.group);
            self.put(id, other);
            if let Some(put) = self.cases.get(&id).filter(|put| !put.case.is_empty()) {
                shown[at].1.also.push(results::Also {
                    id: put.id.clone(),
                    case: put.case.clone(),
                });
            }
        }
        let order = found.iter().map(|difference| difference.id);
        let order = order
            .filter(|id| shown.iter().any(|(known, _)| known.id == *id))
            .collect();
        for (known, difference) in shown {
            self.put(known.id, difference);
        }
        order
    }

    fn is_accepted(&self, difference: &results::Difference) -> bool {
        groups(&difference.group).all(|group| self.accepted.find(group).is_some())
    }

    /// Saves a difference as a case, unless it was accepted.
    fn save(&mut self, found: &Difference) {
        let difference = self.described(found);
        self.put(found.id, difference);
    }

    fn put(&mut self, id: u32, mut difference: results::Difference) {
        if !self.is_accepted(&difference) {
            let case = Case::of(&difference, &self.versions(difference.kind));
            match self.out.add_case(&case) {
                Ok(folder) => difference.case = folder,
                Err(error) => {
                    self.trouble(&error);
                    // What is on disk is as good; the search ends anyway.
                    if self.cases.contains_key(&id) {
                        return;
                    }
                }
            }
        }
        let folder = difference.case.clone();
        let before = self.cases.insert(id, difference);
        // A better input may have changed the case's name.
        self.outdated.extend(before.map(|before| before.case));
        self.outdated.remove(&folder);
    }

    /// Removes cases that the results do not name any more.
    fn forget_outdated(&mut self) {
        for folder in std::mem::take(&mut self.outdated) {
            if !folder.is_empty() {
                self.out.remove_case(&folder);
            }
        }
    }

    /// With the binaries that show a difference of this kind.
    fn versions(&self, kind: results::Kind) -> results::Versions {
        let mut versions = self.results.versions.clone();
        if kind.is_finding() {
            for (place, side) in [
                (&mut versions.base, Side::Base),
                (&mut versions.head, Side::Head),
            ] {
                if let Some(path) = self.pair.sanitized_binary(side) {
                    place.binary = absolute(&path);
                }
            }
        }
        versions
    }

    fn described(&self, found: &Difference) -> results::Difference {
        let [base, head] = found.seen.each_ref().map(outcome_view);
        let kind = kind(found.kind());
        let parting = found.group.parting.as_ref();
        let changes = self.regions.entered(&found.input);
        let changes = match changes.is_empty() {
            true => self.regions.entered(&found.original),
            false => changes,
        };
        results::Difference {
            id: format!("{:04}", found.id),
            kind,
            title: title(kind, &base, &head),
            group: self.group(found),
            group_size: found.group_size.max(1),
            case: String::new(),
            also: Vec::new(),
            input: InputView::from(&found.input),
            base,
            head,
            changes,
            parting: parting.and_then(|[base, head]| parting_place(base, head)),
            golden: self.judged.classes.get(&found.id).cloned(),
            critical: None,
            found_by: found.found_by.map_or("given input", found_by).into(),
            run: u64::from(found.run.0) + 1,
            seconds: found.seconds,
        }
    }

    /// Stays the same when lines move: the kind, and the texts of the lines where
    /// the paths part, or of the changes entered.
    fn group(&self, found: &Difference) -> String {
        let spot = |side: Side, spot: &Spot| {
            if spot.file.is_empty() {
                return "end".to_owned();
            }
            let text = self
                .regions
                .line(side.index(), &spot.file, spot.line)
                .unwrap_or_default();
            format!("{}: {text}", spot.function)
        };
        let slug = found.kind().slug();
        match &found.group.parting {
            None => {
                let changes = found.group.changes.iter();
                let names = changes.filter_map(|&n| self.regions.name(n));
                let mut names: Vec<&str> = names.collect();
                // Lines that were moved.
                names.dedup();
                match names.is_empty() {
                    true => slug,
                    false => format!("{slug} | enters {}", names.join("; ")),
                }
            }
            Some([base, head]) => {
                let (base, head) = (spot(Side::Base, base), spot(Side::Head, head));
                format!("{slug} | {base} | {head}")
            }
        }
    }

    /// Differences in the order given; accepted ones apart.
    fn place(&self, results: &mut Results, order: impl Iterator<Item = u32>) {
        results.differences.clear();
        let mut accepted: HashMap<String, (String, u64)> = HashMap::new();
        for id in order {
            let Some(difference) = self.cases.get(&id) else {
                continue;
            };
            if self.is_accepted(difference) {
                let entry = accepted
                    .entry(difference.group.clone())
                    .or_insert_with(|| (difference.title.clone(), 0));
                entry.1 += difference.group_size;
            } else {
                results.differences.push(difference.clone());
            }
        }
        let mut groups: Vec<results::AcceptedGroup> = accepted
            .into_iter()
            .map(|(group, (title, count))| results::AcceptedGroup {
                group,
                title,
                count,
            })
            .collect();
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        let count = groups.iter().map(|group| group.count).sum();
        results.accepted = results::AcceptedSummary { count, groups };
    }

    fn snapshot(&mut self) {
        self.last_snapshot = Instant::now();
        let mut results = self.results.clone();
        self.place(&mut results, self.cases.keys().copied());
        results.verdict = match results.differences.is_empty() {
            true => results::Verdict::NoneFound,
            false => results::Verdict::Differences,
        };
        match self.out.write_snapshot(&results) {
            Ok(()) => self.forget_outdated(),
            Err(error) => self.trouble(&error),
        }
    }

    fn write_log(&mut self, entry: serde_json::Value) {
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.append(&entry)) {
            self.trouble(&error);
        }
    }

    fn trouble(&mut self, error: &dyn std::fmt::Display) {
        self.cancel.cancel();
        self.unwritten.get_or_insert_with(|| error.to_string());
    }
}

impl Listener for Recorder {
    fn progress(&mut self, progress: &Progress) {
        self.display.progress(progress);
        let stats = &mut self.results.stats;
        let now = &progress.sample;
        stats.runs = now.runs;
        stats.pairs = now.pairs;
        stats.queries = now.queries;
        stats.seconds = now.seconds;
        [stats.base_paths, stats.head_paths] = progress.paths;
        if self.last_snapshot.elapsed() >= PAUSE {
            self.snapshot();
        }
    }

    fn input(&mut self, _run: RunId, input: &Input) {
        if let Err(error) = self.store.input(input) {
            self.trouble(&error);
        }
    }

    fn difference(&mut self, difference: &Difference) {
        // First of all: with the number that is known from now on, it is found again.
        if let Err(error) = self.store.difference(difference) {
            self.trouble(&error);
        }
        if difference.reason.is_some() {
            return;
        }
        let stats = &mut self.results.stats;
        if stats.runs_to_first_difference.is_none() {
            stats.runs_to_first_difference = Some(u64::from(difference.run.0) + 1);
            stats.seconds_to_first_difference = Some(difference.seconds);
        }
        let is_new = !self.cases.contains_key(&difference.id);
        self.save(difference);
        if let Some(shown) = self.cases.get(&difference.id).filter(|_| is_new) {
            self.display
                .event(&serde_json::json!({ "event": "difference", "difference": shown }));
        }
        if is_new {
            self.write_log(serde_json::json!({
                "event": "difference",
                "seconds": difference.seconds,
                "run": u64::from(difference.run.0) + 1,
                "id": difference.id,
                "kind": kind(difference.kind()).name(),
                "found_by": difference.found_by,
            }));
        }
        // Results name folders that are there.
        if is_new || !self.outdated.is_empty() {
            self.snapshot();
        }
    }
}
