//! From the search's own words to the report's: listens while the search runs,
//! and puts the results together when it has ended.

use crate::progress::Display;
use crate::regions::{Regions, source_name};
use crate::runner::side_name;
use crate::store::Store;
use crate::version::Version;
use changeling_explore::budget::Stopped;
use changeling_explore::difference::{Channel, Kind};
use changeling_explore::frontier::Bucket;
use changeling_explore::group::Spot;
use changeling_explore::outcome::{
    Difference, GapCount, Listener, Outcome, Progress, Suspicion, Verdict,
};
use changeling_explore::tree::RunId;
use changeling_explore::{End, Observation, Side, witness};
use changeling_report::accepted::Accepted;
use changeling_report::case::Case;
use changeling_report::directory::OutputDirectory;
use changeling_report::log::Log;
use changeling_report::results::{self, Bytes, FileWritten, InputView, Observed, Place, Results};
use changeling_report::wording;
use changeling_trace::input::Input;
use std::collections::{BTreeMap, HashMap};
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
    /// Differences by number, with the folder of the case.
    cases: BTreeMap<u32, (results::Difference, String)>,
    last_snapshot: Instant,
    /// What was tried and why it was given up.
    log: Option<Log>,
    /// What could not be written.
    troubles: Vec<String>,
}

impl Recorder {
    pub fn new(
        out: OutputDirectory,
        results: Results,
        regions: Arc<Regions>,
        accepted: Accepted,
        display: Display,
        store: Store,
    ) -> Recorder {
        Recorder {
            log: out.log().ok(),
            out,
            results,
            regions,
            accepted,
            display,
            store,
            cases: BTreeMap::new(),
            last_snapshot: Instant::now(),
            troubles: Vec::new(),
        }
    }

    /// Everything that the search found, and all reports.
    pub fn conclude(
        mut self,
        outcome: &Outcome,
        versions: &[Version; 2],
        notes: Vec<String>,
    ) -> (Results, OutputDirectory) {
        self.display.clear();
        for gap in &outcome.gaps {
            self.write_log(serde_json::json!({ "event": "given up", "gap": gap }));
        }
        self.write_log(serde_json::json!({
            "event": "end",
            "seconds": outcome.stats.seconds,
            "stopped": outcome.stopped,
            "verdict": outcome.verdict,
            "runs": outcome.stats.runs,
        }));
        let shown = self.merge(&outcome.differences);
        let mut results = self.results.clone();
        results.stopped = stopped(outcome.stopped);
        results.error.clone_from(&outcome.error);
        results.stats = stats(outcome);
        self.place(&mut results, shown.into_iter());
        results.verdict = match outcome.verdict {
            Verdict::Differences if results.differences.is_empty() => results::Verdict::NoneFound,
            Verdict::Differences => results::Verdict::Differences,
            Verdict::NoneFound => results::Verdict::NoneFound,
            Verdict::Equivalent => results::Verdict::Equivalent,
            Verdict::CouldNotRun => results::Verdict::CouldNotRun,
        };
        results.suspected = outcome
            .suspected
            .iter()
            .map(|s| suspected(s, &self.regions))
            .collect();
        results.unstable = outcome.unstable.iter().map(unstable).collect();
        results.undefined = outcome.undefined.iter().map(undefined).collect();
        results.changes = self.regions.counted();
        let tables = [&versions[0].sites, &versions[1].sites];
        let (changed, covered) = self.regions.changed_lines(tables, &outcome.coverage);
        results.coverage = coverage(versions, outcome);
        results.coverage.changed_lines = changed;
        results.coverage.covered_changed_lines = covered;
        results.sources = self.regions.views(tables, &outcome.coverage);
        (results.losses, results.unexplored) = losses(&outcome.gaps, versions);
        results.timeline = outcome.series.iter().map(sample).collect();
        results.warnings.extend(notes);
        if !outcome.violations.is_empty() {
            results.warnings.push(violations(outcome));
        }
        results.inconclusive = inconclusive(&results, outcome);
        if let Err(error) = self.store.finish() {
            self.trouble(error);
        }
        results.warnings.append(&mut self.troubles);
        if let Err(error) = self.out.write_reports(&results) {
            results.warnings.push(error.to_string());
        }
        (results, self.out)
    }

    /// The last word on every difference. Groups that came down to the same small
    /// input are one thing to a reader. Gives the numbers of those to show, in order.
    fn merge(&mut self, found: &[Difference]) -> Vec<u32> {
        let mut shown: Vec<(u32, results::Difference)> = Vec::new();
        for difference in found {
            let described = self.described(difference);
            let twin = shown.iter_mut().find(|(_, other)| {
                other.kind == described.kind
                    && other.input == described.input
                    && self.is_accepted(other) == self.is_accepted(&described)
            });
            let Some((_, other)) = twin else {
                shown.push((difference.id, described));
                continue;
            };
            other.group_size += described.group_size;
            if !groups(&other.group).any(|group| group == described.group) {
                other.group = format!("{}\n{}", other.group, described.group);
            }
            if let Some((_, folder)) = self.cases.remove(&difference.id)
                && !folder.is_empty()
            {
                let _ = std::fs::remove_dir_all(self.out.path().join(folder));
            }
        }
        let order = shown.iter().map(|(id, _)| *id).collect();
        for (id, difference) in shown {
            self.put(id, difference);
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
            let case = Case::of(&difference, &self.results.versions);
            match self.out.add_case(&case) {
                Ok(folder) => difference.case = folder,
                Err(error) => self.trouble(error.to_string()),
            }
        }
        let folder = difference.case.clone();
        let before = self.cases.insert(id, (difference, folder.clone()));
        // A better input may have changed the case's name.
        if let Some((_, old)) = before.filter(|(_, old)| !old.is_empty() && *old != folder) {
            let _ = std::fs::remove_dir_all(self.out.path().join(old));
        }
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
            input: InputView::from(&found.input),
            base,
            head,
            changes,
            parting: parting.and_then(|[base, head]| parting_place(base, head)),
            found_by: found.found_by.map_or("given input", found_by).into(),
            run: u64::from(found.run.0) + 1,
            seconds: found.seconds,
        }
    }

    /// Stays the same when lines move: the kind, and the texts of the lines where
    /// the paths part.
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
            None => slug,
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
            let Some((difference, _)) = self.cases.get(&id) else {
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
        if let Err(error) = self.out.write_snapshot(&results) {
            self.trouble(error.to_string());
        }
    }

    fn write_log(&mut self, entry: serde_json::Value) {
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.append(&entry)) {
            self.trouble(error.to_string());
        }
    }

    /// Said once, in the report: the search goes on if it cannot write.
    fn trouble(&mut self, text: String) {
        if !self.troubles.contains(&text) && self.troubles.len() < 10 {
            self.troubles.push(text);
        }
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
        self.store.input(input);
    }

    fn difference(&mut self, difference: &Difference) {
        self.store.difference(difference);
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
        if let Some((shown, _)) = self.cases.get(&difference.id).filter(|_| is_new) {
            self.display
                .event(&serde_json::json!({ "event": "difference", "difference": shown }));
        }
        if is_new {
            self.write_log(serde_json::json!({
                "event": "difference",
                "seconds": difference.seconds,
                "run": u64::from(difference.run.0) + 1,
                "id": difference.id,
                "kind": difference.kind().slug(),
                "found_by": difference.found_by,
            }));
            self.snapshot();
        }
    }
}

/// A case may stand for several groups, one per line.
pub fn groups(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
}

pub fn outcome_view(seen: &Observation) -> results::Outcome {
    let mut files: Vec<FileWritten> = seen
        .files
        .iter()
        .map(|(name, bytes)| FileWritten {
            name: name.clone(),
            bytes: Bytes(bytes.clone()),
        })
        .collect();
    let removed = seen.removed.iter().map(|name| FileWritten {
        name: format!("{name} (removed)"),
        bytes: Bytes(Vec::new()),
    });
    files.extend(removed);
    let observed = seen.observed.iter();
    results::Outcome {
        stdout: Bytes(seen.stdout.clone()),
        stderr: Bytes(seen.stderr.clone()),
        end: match seen.end {
            End::Exit(code) => results::End::Exit(code),
            End::Signal(number) => results::End::Signal(number),
            End::TimedOut => results::End::TimedOut,
        },
        files,
        observed: observed
            .map(|(name, value)| Observed {
                name: name.clone(),
                value: value.clone(),
            })
            .collect(),
        finding: witness::finding(seen),
        truncated: seen.truncated,
    }
}

pub fn kind(kind: &Kind) -> results::Kind {
    use results::Kind as Shown;
    let channel = |channel: &Channel| match channel {
        Channel::Stdout => Shown::Output,
        Channel::Stderr => Shown::ErrorOutput,
        Channel::Files => Shown::Files,
        Channel::Observed => Shown::Observed,
    };
    match kind {
        Kind::Crash {
            side: Side::Head, ..
        } => Shown::Crash,
        Kind::Crash {
            side: Side::Base, ..
        } => Shown::CrashGone,
        Kind::Sanitizer { side: Side::Head } => Shown::Sanitizer,
        Kind::Sanitizer { side: Side::Base } => Shown::SanitizerGone,
        Kind::Hang { side: Side::Head } => Shown::Hang,
        Kind::Hang { side: Side::Base } => Shown::HangGone,
        Kind::ExitCode => Shown::ExitCode,
        Kind::MissingOutput {
            side: Side::Head,
            channel: Channel::Stdout,
        } => Shown::MissingOutput,
        Kind::MissingOutput { channel: text, .. } | Kind::ChangedOutput { channel: text } => {
            channel(text)
        }
    }
}

fn title(kind: results::Kind, base: &results::Outcome, head: &results::Outcome) -> String {
    match kind {
        results::Kind::ExitCode | results::Kind::Crash | results::Kind::CrashGone => {
            format!("{} becomes {}", base.end.text(), head.end.text())
        }
        results::Kind::Sanitizer => head.finding.clone().unwrap_or_else(|| kind.text().into()),
        results::Kind::SanitizerGone => base.finding.clone().unwrap_or_else(|| kind.text().into()),
        _ => kind.text().into(),
    }
}

fn parting_place(base: &Spot, head: &Spot) -> Option<Place> {
    let spot = [head, base]
        .into_iter()
        .find(|spot| !spot.file.is_empty() && spot.line > 0)?;
    Some(Place {
        file: source_name(&spot.file),
        line: spot.line,
        function: spot.function.clone(),
    })
}

fn found_by(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Out => "same paths, different outputs",
        Bucket::Diverge => "a decision that only one version takes",
        Bucket::Use => "a decision behind a difference",
        Bucket::Sequence => "the next change of a sequence",
        Bucket::Reach => "nearer to a target",
        Bucket::Displaced => "another value where one was fixed",
        Bucket::Explore => "a flipped decision",
    }
}

fn suspected(suspicion: &Suspicion, regions: &Regions) -> results::Suspected {
    let [base, head] = suspicion.seen.each_ref().map(outcome_view);
    let kind = results::Kind::of(&base, &head).unwrap_or(results::Kind::Output);
    let more = match suspicion.more {
        0 => String::new(),
        n => format!(" (and {n} more like it)"),
    };
    results::Suspected {
        kind,
        title: "the traced programs differ".into(),
        reason: format!("{}{more}", suspicion.reason),
        input: InputView::from(&suspicion.input),
        base: Some(base),
        head: Some(head),
        changes: regions.entered(&suspicion.input),
    }
}

fn unstable(suspicion: &Suspicion) -> results::Unstable {
    let [first, second] = suspicion.seen.each_ref().map(outcome_view);
    let what = results::Kind::of(&first, &second).map_or("something", results::Kind::name);
    results::Unstable {
        version: report_side(suspicion.side.unwrap_or(Side::Head)),
        input: InputView::from(&suspicion.input),
        detail: format!("{}: {what}", suspicion.reason),
    }
}

fn undefined(difference: &Difference) -> results::Undefined {
    let [base, head] = difference.seen.each_ref().map(outcome_view);
    results::Undefined {
        title: title(kind(difference.kind()), &base, &head),
        detail: difference.reason.clone().unwrap_or_default(),
        input: InputView::from(&difference.input),
        base,
        head,
    }
}

fn report_side(side: Side) -> results::Side {
    match side {
        Side::Base => results::Side::Base,
        Side::Head => results::Side::Head,
    }
}

fn stopped(stopped: Stopped) -> results::Stopped {
    match stopped {
        Stopped::Exhausted => results::Stopped::Exhausted,
        Stopped::Time => results::Stopped::Time,
        Stopped::Runs => results::Stopped::Runs,
        Stopped::Memory => results::Stopped::Memory,
        Stopped::Enough => results::Stopped::Enough,
        Stopped::Cancelled => results::Stopped::Interrupted,
        Stopped::Failed => results::Stopped::Error,
    }
}

fn stats(outcome: &Outcome) -> results::Stats {
    let stats = &outcome.stats;
    let timeouts = outcome
        .gaps
        .iter()
        .filter(|gap| gap.what.contains("did not end in time"));
    let mut more = BTreeMap::new();
    if let Ok(serde_json::Value::Object(all)) = serde_json::to_value(stats) {
        let shown = [
            "equal_pairs",
            "avoided",
            "diverged",
            "displaced",
            "discarded",
            "by_rule",
            "unmatched_outputs",
            "repeated",
            "differing_inputs",
            "tree_nodes",
            "expressions",
            "waiting",
            "by_bucket",
        ];
        more.extend(
            all.into_iter()
                .filter(|(name, _)| shown.contains(&name.as_str())),
        );
    }
    results::Stats {
        runs: stats.runs,
        queries: stats.queries,
        unknown: stats.unknown,
        pairs: stats.pairs,
        concretizations: stats.concretizations,
        seconds: stats.seconds,
        runs_to_first_difference: stats.runs_to_first_difference,
        seconds_to_first_difference: stats.seconds_to_first_difference,
        base_paths: stats.base_paths,
        head_paths: stats.head_paths,
        satisfiable: stats.satisfiable,
        unsatisfiable: stats.unsatisfiable,
        timeouts: timeouts.map(|gap| gap.count).sum(),
        replays: stats.replays,
        corpus: stats.runs,
        solver_seconds: stats.solve_seconds,
        execution_seconds: stats.run_seconds,
        more,
    }
}

fn coverage(versions: &[Version; 2], outcome: &Outcome) -> results::Coverage {
    let count = |side: usize| {
        let table = &versions[side].sites;
        let own = table.blocks.iter().enumerate().filter(|(_, block)| {
            table
                .functions
                .get(block.function as usize)
                .is_some_and(|function| !function.model)
        });
        let executed = |number: usize| outcome.coverage[side].get(number).is_some_and(|b| *b != 0);
        let numbers: Vec<usize> = own.map(|(number, _)| number).collect();
        let covered = numbers.iter().filter(|number| executed(**number)).count();
        (numbers.len() as u64, covered as u64)
    };
    let (base, head) = (count(0), count(1));
    results::Coverage {
        base_blocks: base.0,
        base_covered_blocks: base.1,
        head_blocks: head.0,
        head_covered_blocks: head.1,
        ..results::Coverage::default()
    }
}

/// Gaps with a place are losses; the others say what was not explored.
fn losses(
    gaps: &[GapCount],
    versions: &[Version; 2],
) -> (Vec<results::Loss>, Vec<results::Unexplored>) {
    let mut losses = Vec::new();
    let mut unexplored = Vec::new();
    for gap in gaps {
        let site = gap
            .side
            .and_then(|side| versions[side.index()].sites.site(gap.site));
        match (gap.side, site) {
            (Some(side), Some(site)) => {
                let files = &versions[side.index()].sites.files;
                losses.push(results::Loss {
                    reason: gap.what.clone(),
                    call: Some(gap.callee.clone()).filter(|callee| !callee.is_empty()),
                    version: report_side(side),
                    file: files
                        .get(site.file as usize)
                        .map_or_else(String::new, |f| source_name(f)),
                    line: site.line,
                    count: gap.count,
                    bytes: Vec::new(),
                });
            }
            _ => unexplored.push(results::Unexplored {
                what: gap.what.clone(),
                count: gap.count,
            }),
        }
    }
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    (losses, unexplored)
}

fn sample(sample: &changeling_explore::outcome::Sample) -> results::Sample {
    results::Sample {
        seconds: sample.seconds,
        runs: sample.runs,
        paths: sample.pairs,
        differences: sample.differences,
    }
}

fn violations(outcome: &Outcome) -> String {
    let first = &outcome.violations[0];
    format!(
        "on {} a traced version behaved otherwise than the plain one (first: {}, {} instead of {}); \
         this is a fault of changeling, please report it",
        wording::plural(outcome.violations.len() as u64, "input", "inputs"),
        side_name(first.side),
        first.traced.end,
        first.plain.end,
    )
}

/// Why nothing can be said, if nothing can: the budget went before a change was
/// entered, or before anything but the given inputs was run.
fn inconclusive(results: &Results, outcome: &Outcome) -> Option<String> {
    if outcome.verdict != Verdict::NoneFound || outcome.stopped == Stopped::Exhausted {
        return None;
    }
    if outcome.stats.runs == 0 {
        return Some("no input was run before the search ended".into());
    }
    let entered = results
        .changes
        .iter()
        .any(|change| change.runs.is_some_and(|runs| runs > 0));
    if !results.changes.is_empty() && !entered {
        return Some("no run entered a change before the search ended".into());
    }
    None
}
