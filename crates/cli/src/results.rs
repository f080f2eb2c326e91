//! From the search's own words to the report's.

use crate::regions::{Regions, source_name};
use crate::runner::side_name;
use crate::version::Version;
use changeling_explore::budget::Stopped;
use changeling_explore::difference::{Channel, Kind};
use changeling_explore::frontier::Bucket;
use changeling_explore::group::Spot;
use changeling_explore::outcome::{Difference, GapCount, Outcome, Stats, Suspicion, Verdict};
use changeling_explore::sequences::{Exercised, among, critical};
use changeling_explore::{End, Observation, Side, witness};
use changeling_report::results::{self, Bytes, FileWritten, InputView, Observed, Place, Results};
use changeling_report::wording;
use std::collections::BTreeMap;

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
        Kind::ExitCode { .. } => Shown::ExitCode,
        Kind::MissingOutput {
            side: Side::Head,
            channel: Channel::Stdout,
        } => Shown::MissingOutput,
        Kind::MissingOutput { channel: text, .. } | Kind::ChangedOutput { channel: text } => {
            channel(text)
        }
    }
}

pub fn title(kind: results::Kind, base: &results::Outcome, head: &results::Outcome) -> String {
    match kind {
        results::Kind::ExitCode | results::Kind::Crash | results::Kind::CrashGone => {
            format!("{} becomes {}", base.end.text(), head.end.text())
        }
        results::Kind::Sanitizer => finding_title(kind, head),
        results::Kind::SanitizerGone => finding_title(kind, base),
        _ => kind.text().into(),
    }
}

/// What a sanitizer found, without process numbers and addresses.
fn finding_title(kind: results::Kind, outcome: &results::Outcome) -> String {
    let Some(finding) = &outcome.finding else {
        return kind.text().into();
    };
    let text = finding
        .split_once("ERROR: ")
        .map_or(finding.as_str(), |(_, text)| text);
    let ends = [" on address ", " on unknown address ", " at pc "];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    let text = &text[..end.unwrap_or(text.len())];
    let Some((place, what)) = text.split_once(": runtime error: ") else {
        return text.to_owned();
    };
    // Where the source lies says nothing about the program.
    let place = place.rsplit('/').next().unwrap_or(place);
    let words = what.split(' ').map(|word| match word.starts_with("0x") {
        true => "0x…",
        false => word,
    });
    let what: Vec<&str> = words.collect();
    format!("{place}: runtime error: {}", what.join(" "))
}

pub fn parting_place(base: &Spot, head: &Spot) -> Option<Place> {
    let spot = [head, base]
        .into_iter()
        .find(|spot| !spot.file.is_empty() && spot.line > 0)?;
    Some(Place {
        file: source_name(&spot.file),
        line: spot.line,
        function: spot.function.clone(),
    })
}

pub fn found_by(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Out => "same paths, different outputs",
        Bucket::Diverge => "a decision that only one version takes",
        Bucket::Use => "a decision behind a difference",
        Bucket::Sequence => "the next change of a sequence",
        Bucket::Reach => "nearer to a target",
        Bucket::Displaced => "another value where one was fixed",
        Bucket::Explore => "a flipped decision",
        Bucket::Mend => "what hid a change taken away, or a byte put in",
        Bucket::Edit => "a little more or less of an input that came to a change",
        Bucket::Vary => "pieces of other inputs",
        Bucket::Hard => "a question that was put off",
    }
}

/// Sequences with the numbers that changes have in reports. Where errors are told from other differences, they count.
pub fn sequences(
    exercised: &[Exercised],
    errors: Option<&[Exercised]>,
) -> (Vec<results::Sequence>, Option<results::CriticalSequence>) {
    let all = exercised.iter().filter(|entry| !entry.sequence.is_empty());
    let all = all.map(|entry| results::Sequence {
        changes: numbers(&entry.sequence),
        runs: entry.runs,
        differing: entry.differing,
        errors: errors.and_then(|errors| {
            let mut own = errors.iter();
            let own = own.find(|other| other.sequence == entry.sequence)?;
            Some(own.differing)
        }),
    });
    let critical = critical_sequence(errors.unwrap_or(exercised)).map(|found| {
        let errors = errors.is_some();
        results::CriticalSequence { errors, ..found }
    });
    (all.collect(), critical)
}

/// What all runs that show one of these differences have in common. Another difference may have nothing to do with it.
pub fn critical_among(outcome: &Outcome, ids: &[u32]) -> Option<results::CriticalSequence> {
    let own = outcome.differing.iter();
    let own = own.filter(|run| run.shows.iter().any(|id| ids.contains(id)));
    critical_sequence(&among(&outcome.sequences, own))
}

fn critical_sequence(exercised: &[Exercised]) -> Option<results::CriticalSequence> {
    let found = critical(exercised)?;
    Some(results::CriticalSequence {
        changes: numbers(&found.sequence),
        runs: found.runs,
        differing: found.differing,
        others: found.others,
        errors: false,
    })
}

/// Of changes, as reports have them.
fn numbers(changes: &[u32]) -> Vec<u32> {
    changes.iter().map(|change| change + 1).collect()
}

pub fn suspected(suspicion: &Suspicion, regions: &Regions) -> results::Suspected {
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

pub fn unstable(suspicion: &Suspicion) -> results::Unstable {
    let [first, second] = suspicion.seen.each_ref().map(outcome_view);
    let what = results::Kind::of(&first, &second).map_or("something", results::Kind::name);
    results::Unstable {
        version: report_side(suspicion.side.unwrap_or(Side::Head)),
        input: InputView::from(&suspicion.input),
        detail: format!("{}: {what}", suspicion.reason),
    }
}

pub fn undefined(difference: &Difference) -> results::Undefined {
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

pub fn stopped(stopped: Stopped) -> results::Stopped {
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

/// Which part of all flips each rule has given up.
fn shares(stats: &Stats) -> serde_json::Value {
    let all = stats.flips.max(1) as f64;
    let rules = stats.by_rule.iter();
    let shares = rules.filter_map(|(rule, count)| {
        let name = serde_json::to_value(rule).ok()?;
        let share = (*count as f64 / all * 1e4).round() / 1e4;
        Some((name.as_str()?.to_owned(), share.into()))
    });
    serde_json::Value::Object(shares.collect())
}

/// Which part of the branches that runs came by did not depend on the input, so that there was nothing to ask.
fn untainted(stats: &Stats) -> f64 {
    let branches = &stats.branches;
    let share = branches.symbolic as f64 / branches.executed.max(1) as f64;
    ((1.0 - share).max(0.0) * 1e4).round() / 1e4
}

/// Told if a search spent much of its time waiting for builds.
pub fn waited(build_seconds: f64, seconds: f64) -> Option<String> {
    const WORTH_SAYING: f64 = 2.0;
    (build_seconds >= WORTH_SAYING && build_seconds >= seconds / 4.0).then(|| {
        format!(
            "{} of the {} went into builds that tell undefined behaviour apart; the next search of these versions finds them made",
            wording::duration(build_seconds),
            wording::duration(seconds),
        )
    })
}

pub fn stats(outcome: &Outcome, build_seconds: f64) -> results::Stats {
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
            "branches",
            "diverged",
            "displaced",
            "flips",
            "discarded",
            "by_rule",
            "audited",
            "infections",
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
        more.insert("share_by_rule".into(), shares(stats));
        if stats.branches.executed > 0 {
            more.insert("share_untainted".into(), untainted(stats).into());
        }
        more.insert("build_seconds".into(), build_seconds.into());
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

pub fn coverage(versions: &[Version; 2], outcome: &Outcome) -> results::Coverage {
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
pub fn losses(
    gaps: &[GapCount],
    versions: &[Version; 2],
    streams: &[String],
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
                    bytes: ranges(&gap.bytes, streams),
                });
            }
            _ => {
                let known = unexplored
                    .iter_mut()
                    .find(|known: &&mut results::Unexplored| known.what == gap.what);
                // Most of them happen in both versions.
                match known {
                    Some(known) => known.count += gap.count,
                    None => unexplored.push(results::Unexplored {
                        what: gap.what.clone(),
                        count: gap.count,
                    }),
                }
            }
        }
    }
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    (losses, unexplored)
}

/// Neighbouring bytes of the same stream as one range.
fn ranges(bytes: &[(u32, u32)], streams: &[String]) -> Vec<results::ByteRange> {
    let mut ranges: Vec<(u32, u32, u32)> = Vec::new();
    for &(stream, offset) in bytes {
        match ranges.last_mut() {
            Some((known, _, last)) if *known == stream && last.checked_add(1) == Some(offset) => {
                *last = offset;
            }
            _ => ranges.push((stream, offset, offset)),
        }
    }
    ranges
        .into_iter()
        .filter_map(|(stream, first, last)| {
            Some(results::ByteRange {
                stream: streams.get(stream as usize)?.clone(),
                first: first.into(),
                last: last.into(),
            })
        })
        .collect()
}

/// How the search went, with the differences that are shown: some groups turned out to be one.
pub fn timeline(outcome: &Outcome, shown: &[results::Difference]) -> Vec<results::Sample> {
    let last = outcome.series.len().saturating_sub(1);
    let known = |at: usize, seconds: f64| match at == last {
        // Those of an earlier run have its times.
        true => shown.len(),
        false => shown.iter().filter(|one| one.seconds <= seconds).count(),
    };
    let samples = outcome.series.iter().enumerate();
    samples
        .map(|(at, sample)| results::Sample {
            seconds: sample.seconds,
            runs: sample.runs,
            paths: sample.pairs,
            differences: known(at, sample.seconds) as u64,
        })
        .collect()
}

pub fn violations(outcome: &Outcome) -> String {
    let first = &outcome.violations[0];
    let (traced, plain) = (&first.traced, &first.plain);
    let what = if traced.end != plain.end {
        format!("{} instead of {}", traced.end, plain.end)
    } else if traced.stdout != plain.stdout {
        "other output".into()
    } else if traced.stderr != plain.stderr {
        "other error output".into()
    } else {
        "other files or observed values".into()
    };
    format!(
        "on {} a traced version behaved otherwise than the plain one (first: {}, {what}). \
         Undefined behaviour of the program, such as a division by zero, a stack overflow, or a look at its own memory or \
         files can be the reason; if there is none of these, it is a fault of changeling: please report it",
        wording::plural(outcome.violations.len() as u64, "input", "inputs"),
        side_name(first.side),
    )
}

/// Why nothing can be said, if nothing can: the budget went before a change was
/// entered, or before anything but the given inputs was run.
pub fn inconclusive(results: &Results, outcome: &Outcome) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_named_without_what_changes_from_run_to_run() {
        let title = |finding: &str| {
            let outcome = results::Outcome {
                finding: Some(finding.into()),
                ..results::Outcome::default()
            };
            finding_title(results::Kind::Sanitizer, &outcome)
        };
        assert_eq!(
            title(
                "==3==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x7c1f at pc 0x55"
            ),
            "AddressSanitizer: heap-buffer-overflow"
        );
        let undefined = "new.c:3:5: runtime error: signed integer overflow";
        assert_eq!(title(undefined), undefined);
        assert_eq!(
            title("/home/a b/new.c:3:5: runtime error: load of address 0x7c1ff6 with no space"),
            "new.c:3:5: runtime error: load of address 0x… with no space"
        );
    }
}
