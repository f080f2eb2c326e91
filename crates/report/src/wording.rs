//! Sentences that several reports share.

use crate::escape::{printable_str, shell_str};
use crate::results::{
    AcceptedSummary, Change, CriticalSequence, Difference, Loss, Results, Side, Stopped, Verdict,
};
use std::collections::HashSet;

/// The verdict in one line.
pub fn verdict(results: &Results) -> String {
    let stats = &results.stats;
    let found = results.differences.len();
    if results.stopped == Stopped::Running {
        return match found {
            0 => format!("running: no difference so far, {}", effort(results)),
            n => format!(
                "running: {} so far, {}",
                count(n as u64, "difference"),
                effort(results)
            ),
        };
    }
    match results.verdict {
        Verdict::Differences => {
            let all: u64 = results
                .differences
                .iter()
                .map(|d| d.group_size.max(1))
                .sum();
            let inputs = if all > found as u64 {
                format!(" on {} of the inputs tried", grouped(all))
            } else {
                String::new()
            };
            format!(
                "differences found: {}{inputs}, each replayed natively",
                found
            )
        }
        Verdict::NoneFound => match &results.inconclusive {
            Some(reason) => format!(
                "no difference found, inconclusive: {}",
                printable_str(reason)
            ),
            None => format!("no difference found in {}", effort(results)),
        },
        Verdict::Equivalent => format!(
            "equivalent for all inputs with {}: {} explored, nothing left out",
            printable_str(&results.bound.text),
            match stats.pairs {
                1 => "the only pair of paths".into(),
                n => format!("all {} pairs of paths", grouped(n)),
            }
        ),
        Verdict::CouldNotRun => {
            let error = results.error.as_deref().unwrap_or("no reason was given");
            format!(
                "could not run: {}",
                printable_str(error.lines().next().unwrap_or_default())
            )
        }
    }
}

fn effort(results: &Results) -> String {
    let stats = &results.stats;
    format!(
        "{}, {} and {}",
        count(stats.runs, "run"),
        pairs(stats.pairs),
        duration(stats.seconds)
    )
}

/// A sequence of more changes than this is the whole path, which tells a reader nothing.
const TELLING: usize = 5;

/// Of so many differences the sequences are told; `results.json` has all.
const SEQUENCES: usize = 3;

/// What critical sequences mean: the one of all differences, else those of each.
fn critical(results: &Results) -> Vec<String> {
    if let Some(critical) = &results.critical {
        let (those, differs) = match critical.errors {
            true => (
                [
                    "run on which head differs from base and from the golden version",
                    "runs on which head differs from base and from the golden version",
                ],
                "does",
            ),
            false => (["differing run", "differing runs"], "differs"),
        };
        let said = sequence(critical, results, those, differs);
        let said = said.map(|said| format!("critical sequence: {said}"));
        return said.into_iter().collect();
    }
    let differences = results.differences.iter().enumerate();
    let own = differences.filter_map(|(place, difference)| {
        let critical = difference.critical.as_ref()?;
        let those = ["run that shows it", "runs that show it"];
        let said = sequence(critical, results, those, "shows it")?;
        let number = number(difference, place);
        Some(format!("critical sequence of difference {number}: {said}"))
    });
    own.take(SEQUENCES).collect()
}

/// `those` are the runs that count, one or many; none of the others `differs`.
fn sequence(
    critical: &CriticalSequence,
    results: &Results,
    [one, many]: [&str; 2],
    differs: &str,
) -> Option<String> {
    if critical.changes.len() > TELLING {
        return None;
    }
    let place = |number: &u32| {
        let change = results.changes.iter().find(|change| change.id == *number);
        match change {
            Some(change) => format!(
                "{number} ({}:{})",
                printable_str(&change.file),
                change.lines.first
            ),
            None => number.to_string(),
        }
    };
    let places: Vec<String> = critical.changes.iter().map(place).collect();
    let all = match critical.differing {
        1 => format!("The only {one} enters"),
        n => format!("All {} {many} enter", grouped(n)),
    };
    let runs = match critical.runs {
        1 => "1 run does".into(),
        n => format!("{} runs do", grouped(n)),
    };
    let others = match critical.others {
        1 => "the only other run does not".into(),
        n => format!("none of the {} others {differs}", grouped(n)),
    };
    Some(format!(
        "changes {}. {all} them in this order, {runs} so in all; {others}",
        places.join(" → ")
    ))
}

/// What was explored, and what was not.
pub fn exploration(results: &Results) -> Vec<String> {
    let stats = &results.stats;
    let mut out = vec![format!(
        "explored {} in {} and {} ({} without an answer); {}",
        pairs(stats.pairs),
        count(stats.runs, "run"),
        plural(stats.queries, "query", "queries"),
        grouped(stats.unknown),
        stopped(results.stopped),
    )];
    out.push(format!("inputs: {}", printable_str(&results.bound.text)));
    let coverage = &results.coverage;
    if coverage.changed_lines > 0 {
        out.push(format!(
            "changed lines executed: {} of {}",
            coverage.covered_changed_lines, coverage.changed_lines
        ));
    }
    let not_entered = |unreachable: bool| -> Vec<String> {
        let changes = results.changes.iter();
        let own = changes.filter(|change| change.runs == Some(0));
        let own = own.filter(|change| change.unreachable == unreachable);
        own.map(|change| match is_run(change, results) {
            true => format!(
                "{} (the line is executed, but not what was changed in it)",
                change_place(change)
            ),
            false => change_place(change),
        })
        .collect()
    };
    let unreached = [
        (false, "changes no run entered"),
        (true, "changes no input can reach"),
    ];
    for (unreachable, text) in unreached {
        let places = not_entered(unreachable);
        if !places.is_empty() {
            out.push(format!("{text}: {}", first_places(places)));
        }
    }
    out.extend(critical(results));
    for left in results.unexplored.iter().filter(|left| left.count > 0) {
        out.push(format!(
            "not explored: {}, {}",
            printable_str(&left.what),
            plural(left.count, "time", "times")
        ));
    }
    if stats.concretizations > 0 {
        let places = results.losses.len() as u64;
        out.push(format!(
            "symbolic input was given up {} at {}: what depends on it there was not explored",
            plural(stats.concretizations, "time", "times"),
            count(places, "place"),
        ));
    }
    out
}

/// Whether runs executed all lines of a change that have code: a line may be more than what was changed in it.
fn is_run(change: &Change, results: &Results) -> bool {
    let mut sources = results.sources.iter();
    let source = sources.find(|file| file.version == Side::Head && file.path == change.file);
    let lines = source.into_iter().flat_map(|file| &file.lines);
    let lines = lines.filter(|line| change.lines.contains(line.number));
    let mut covered = lines.filter_map(|line| line.covered).peekable();
    covered.peek().is_some() && covered.all(|covered| covered)
}

/// A few of many places: results.json and the report's changes have all of them. What stands in a
/// macro or a template is in several functions at the same place.
fn first_places(mut places: Vec<String>) -> String {
    const MOST: usize = 12;
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    let more = places.len().saturating_sub(MOST);
    places.truncate(MOST);
    let shown = places.join(", ");
    match more {
        0 => shown,
        _ => format!("{shown} and {} more", grouped(more as u64)),
    }
}

pub fn stopped(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Running => "the search is still running",
        Stopped::Exhausted => "nothing is left to explore",
        Stopped::Time => "stopped because the time is spent",
        Stopped::Runs => "stopped because the runs are spent",
        Stopped::Memory => "stopped because the memory is spent",
        Stopped::Enough => "stopped because enough differences were found",
        Stopped::Interrupted => "stopped by the user",
        Stopped::Error => "stopped by an error",
    }
}

/// What a reader may want to do now.
pub fn next_steps(results: &Results, out: &str) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(first) = results.differences.first() {
        let folder = format!("{out}/{}", printable_str(&first.case));
        let case = shell_str(&folder);
        steps.push(format!(
            "sh {}      see it without Changeling",
            shell_str(&format!("{folder}/reproduce.sh"))
        ));
        steps.push(format!(
            "changeling replay {case}      run it again on both versions"
        ));
        steps.push(format!("changeling accept {case}      if it is intended"));
    }
    match results.stopped {
        Stopped::Time => steps.push("--resume --time 10m      search on for longer".into()),
        Stopped::Runs => steps.push("--resume --runs N      search on with more runs".into()),
        Stopped::Memory => steps.push("--memory SIZE      give the search more memory".into()),
        // Before that there is nothing to go on with.
        Stopped::Interrupted if results.stats.runs > 0 => {
            steps.push("--resume      go on where it stopped".into());
        }
        _ => {}
    }
    // Other inputs are of no help where none leads.
    let unreachable = results.changes.iter().filter(|change| change.unreachable);
    let hopeless: u64 = unreachable.map(|change| change.lines.count()).sum();
    let coverage = &results.coverage;
    if coverage.covered_changed_lines + hopeless < coverage.changed_lines {
        steps.push("--seed PATH      start from inputs that come closer to the change".into());
    }
    steps
}

/// The number that commands know a difference by; where there is none, its place in the list.
pub fn number(difference: &Difference, place: usize) -> String {
    match difference.id.parse::<u32>() {
        Ok(number) => number.to_string(),
        Err(_) => (place + 1).to_string(),
    }
}

/// `a.c:12-14`, printable. What compilers make, as the tables of classes, stands nowhere.
pub fn change_place(change: &Change) -> String {
    if change.file.is_empty() {
        return "an unknown place".into();
    }
    format!("{}:{}", printable_str(&change.file), change.lines)
}

/// A setting for people; none if nothing is set.
pub fn setting(name: &str, value: &serde_json::Value) -> Option<String> {
    use serde_json::Value;
    const UNIT: u64 = 1 << 20;
    let text = match (name, value) {
        (_, Value::Null) => return None,
        ("time" | "run-time", Value::Number(seconds)) => format!("{seconds} s"),
        ("memory" | "run-memory", Value::Number(bytes)) => match bytes.as_u64() {
            Some(bytes) if bytes.is_multiple_of(UNIT) => format!("{} MiB", grouped(bytes / UNIT)),
            _ => format!("{bytes} bytes"),
        },
        (_, Value::Bool(set)) => if *set { "yes" } else { "no" }.into(),
        (_, Value::String(text)) => printable_str(text),
        (_, Value::Array(items)) if items.is_empty() => return None,
        (_, Value::Array(items)) => {
            let texts = items.iter().filter_map(|item| setting("", item));
            texts.collect::<Vec<_>>().join(", ")
        }
        (_, value) => printable_str(&value.to_string()),
    };
    Some(text)
}

/// A file of head where the user has it.
pub fn user_path(results: &Results, file: &str) -> String {
    let path = std::path::Path::new(&results.versions.head.place).join(file);
    path.display().to_string()
}

/// `a.c:12 strtod`, printable.
pub fn loss_place(loss: &Loss) -> String {
    let place = match loss.line {
        0 => printable_str(&loss.file),
        line => format!("{}:{line}", printable_str(&loss.file)),
    };
    match &loss.call {
        Some(call) => format!("{place} in {}", printable_str(call)),
        None => place,
    }
}

/// `stdin[0..3], arg1[2]`, printable.
pub fn loss_bytes(loss: &Loss) -> String {
    let ranges: Vec<String> = loss
        .bytes
        .iter()
        .map(|range| {
            let stream = printable_str(&range.stream);
            if range.first == range.last {
                format!("{stream}[{}]", range.first)
            } else {
                format!("{stream}[{}..{}]", range.first, range.last)
            }
        })
        .collect();
    ranges.join(", ")
}

pub fn pairs(n: u64) -> String {
    plural(n, "pair of paths", "pairs of paths")
}

pub fn count(n: u64, noun: &str) -> String {
    plural(n, noun, &format!("{noun}s"))
}

pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// How many inputs and which other cases show a difference, if more than one does.
pub fn group(difference: &Difference) -> Option<String> {
    let inputs = (difference.group_size > 1)
        .then(|| format!("{} inputs show it", grouped(difference.group_size)));
    let parts: Vec<String> = inputs.into_iter().chain(also(difference)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Where the numbers are that a list leaves out.
pub fn also(difference: &Difference) -> Option<String> {
    let numbers: Vec<&str> = difference
        .also
        .iter()
        .map(|case| case.id.trim_start_matches('0'))
        .collect();
    match numbers.as_slice() {
        [] => None,
        [one] => Some(format!("case {one} shows it too")),
        [first @ .., last] => Some(format!("cases {} and {last} show it too", first.join(", "))),
    }
}

/// `2 differences on 6 inputs`.
pub fn accepted(accepted: &AcceptedSummary) -> String {
    let groups = accepted.groups.len() as u64;
    let differences = count(groups.max(1), "difference");
    match accepted.count > groups {
        true => format!("{differences} on {}", count(accepted.count, "input")),
        false => differences,
    }
}

/// `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn duration(seconds: f64) -> String {
    if seconds < 0.995 {
        format!("{:.0} ms", seconds.max(0.0) * 1000.0)
    } else if seconds < 99.5 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        match whole / 3600 {
            0 => format!("{} min {} s", whole / 60, whole % 60),
            hours => format!("{hours} h {} min", whole / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Bound, Versions};

    #[test]
    fn of_many_places_a_few_are_shown_once() {
        let places = |count| (0..count).flat_map(|at| [format!("a.c:{at}"), format!("a.c:{at}")]);
        assert_eq!(first_places(places(2).collect()), "a.c:0, a.c:1");
        let many = first_places(places(1500).collect());
        assert!(many.ends_with("a.c:11 and 1,488 more"), "{many}");
    }

    fn results(verdict: Verdict, stopped: Stopped) -> Results {
        let bound = Bound {
            text: "stdin of up to 8 bytes".into(),
            streams: Vec::new(),
        };
        let mut results = Results::new(bound, Versions::default());
        results.verdict = verdict;
        results.stopped = stopped;
        results.stats.pairs = 27;
        results.stats.runs = 1234;
        results.stats.seconds = 1.25;
        results
    }

    #[test]
    fn each_verdict_has_its_line() {
        let equivalent = results(Verdict::Equivalent, Stopped::Exhausted);
        let expected = "equivalent for all inputs with stdin of up to 8 bytes: \
                        all 27 pairs of paths explored, nothing left out";
        assert_eq!(verdict(&equivalent), expected);
        let none = results(Verdict::NoneFound, Stopped::Time);
        let expected = "no difference found in 1,234 runs, 27 pairs of paths and 1.2 s";
        assert_eq!(verdict(&none), expected);
        let mut error = results(Verdict::CouldNotRun, Stopped::Error);
        error.error = Some("a.c:3: \u{1b}[31mno\nmore".into());
        assert_eq!(verdict(&error), "could not run: a.c:3: \\x1b[31mno");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(duration(0.0123), "12 ms");
        assert_eq!(duration(75.0), "75.0 s");
        assert_eq!(duration(3725.0), "1 h 2 min");
        assert_eq!(duration(200.0), "3 min 20 s");
    }
}
