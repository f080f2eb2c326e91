//! What a search says in the end.

use crate::budget::Stopped;
use crate::gap::{Account, Gap};
use crate::outcome::{GapCount, Outcome, SAVED_FORMAT, Saved, StreamBound, Verdict};
use crate::ran::Ran;
use crate::search::Subject;
use crate::sequences::{self, Differing};
use crate::state::State;

/// Turns what the search knows into what it says.
pub(crate) fn conclude(
    mut state: State,
    stopped: Option<Stopped>,
    error: Option<String>,
    subject: &Subject,
) -> (Outcome, Saved) {
    let stopped = stopped.unwrap_or(Stopped::Failed);
    // The last word before "equivalent" is the tree's own.
    if stopped != Stopped::Exhausted || state.gaps.is_empty() && !state.tree.is_complete() {
        // At least one: a pair whose outputs nobody has compared counts as well.
        let open = state.tree.open_ways().max(1);
        state.gaps.entry(Gap::Unfinished).or_default().count += open;
    }
    if state.sanitized {
        let pairs = state.stats.pairs;
        state.gaps.entry(Gap::Sanitizers).or_default().count += pairs;
    }
    let sample = state.sample();
    state.series.push(sample);
    state.stats.seconds = sample.seconds;
    state.stats.tree_nodes = state.tree.size() as u64;
    state.stats.expressions = state.arena.len() as u64;
    state.stats.waiting = state.frontier.len() as u64;
    state.stats.flips = state.tree.other_sides().saturating_sub(state.stats.avoided);
    let saved = Saved {
        format: SAVED_FORMAT,
        shape: subject.shape.clone(),
        inputs: state
            .corpus
            .iter()
            .map(|ran| (*ran.input).clone())
            .collect(),
        differences: state.findings.differences.clone(),
        undefined: state.findings.undefined.clone(),
    };
    let verdict = if !state.findings.differences.is_empty() {
        Verdict::Differences
    } else if stopped == Stopped::Failed {
        Verdict::CouldNotRun
    } else if state.gaps.is_empty() {
        Verdict::Equivalent
    } else {
        Verdict::NoneFound
    };
    let gaps = state
        .gaps
        .iter()
        .map(|(gap, account)| gap_count(subject, gap, account))
        .collect();
    let runs = state.corpus.iter();
    // What only sanitizers find is a difference, too.
    let differs = |ran: &Ran| ran.seen[0] != ran.seen[1] || !ran.shows.is_empty();
    let shown = runs.clone().filter(|ran| differs(ran));
    let differing = shown.map(|ran| Differing {
        input: (*ran.input).clone(),
        sequence: ran.sequence.clone(),
        shows: ran.shows.clone(),
    });
    let differing = differing.collect();
    let sequences = sequences::count(runs.map(|ran| (ran.sequence.clone(), differs(ran))));
    let mut differences = state.findings.differences;
    differences.sort_by_key(|difference| (difference.kind().rank(), difference.id));
    let outcome = Outcome {
        verdict,
        stopped,
        error,
        bound: StreamBound::of(&subject.shape),
        differences,
        suspected: state.findings.suspected,
        unstable: state.findings.unstable,
        undefined: state.findings.undefined,
        violations: state.findings.violations,
        gaps,
        stats: state.stats,
        series: state.series,
        sequences,
        differing,
        coverage: state.coverage,
    };
    (outcome, saved)
}

fn gap_count(subject: &Subject, gap: &Gap, account: &Account) -> GapCount {
    let place = gap.place();
    let site = place.and_then(|place| subject.sites[place.side.index()].site(place.site));
    GapCount {
        what: gap.text(),
        side: place.map(|place| place.side),
        site: place.map_or(0, |place| place.site),
        place: place.map_or_else(String::new, |place| {
            subject.sites[place.side.index()].place(place.site)
        }),
        callee: site.map(|site| site.callee.clone()).unwrap_or_default(),
        count: account.count,
        bytes: account.bytes.iter().copied().collect(),
    }
}
