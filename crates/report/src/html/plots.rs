//! Plots as inline SVG. Curves are stretched to the width there is; labels stay
//! outside the picture, so that they keep their size on small screens.

use super::{printable, text};
use crate::results::{LineRange, Results, Sample, Side, SourceFile};
use crate::wording;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 200.0;

/// Curves over time and coverage of the changed lines.
pub(super) fn figures(results: &Results) -> String {
    let mut out = String::new();
    if results.timeline.len() >= 2 {
        out.push_str("<div class=\"plots\">\n");
        curve(
            &mut out,
            &results.timeline,
            "Pairs of paths",
            "paths",
            |sample| sample.paths,
        );
        curve(
            &mut out,
            &results.timeline,
            "Differences",
            "found",
            |sample| sample.differences,
        );
        out.push_str("</div>\n<p class=\"label\"></p>\n");
    }
    coverage(&mut out, results);
    out
}

fn curve(
    out: &mut String,
    samples: &[Sample],
    title: &str,
    class: &str,
    value: impl Fn(&Sample) -> u64,
) {
    let mut points: Vec<(f64, f64)> = samples
        .iter()
        .filter(|sample| sample.seconds.is_finite())
        .map(|sample| (sample.seconds.max(0.0), value(sample) as f64))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = thin(points, 400);
    let end = points.last().map_or(0.0, |point| point.0).max(1e-3);
    let top = nice(points.iter().map(|point| point.1).fold(1.0, f64::max));
    let x = |seconds: f64| seconds / end * WIDTH;
    let y = |value: f64| HEIGHT - value / top * HEIGHT;
    // Steps: a number holds until the next sample.
    let mut path = format!("M0 {:.1}", y(0.0));
    for (seconds, value) in &points {
        path.push_str(&format!("H{:.1}V{:.1}", x(*seconds), y(*value)));
    }
    path.push_str(&format!("H{WIDTH}"));
    let last = points.last().map_or(0.0, |point| point.1) as u64;
    let grid: String = [0.0, 0.5, 1.0]
        .iter()
        .map(|part| {
            let at = HEIGHT * part;
            format!("<line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{at}\" y2=\"{at}\"/>")
        })
        .collect();
    let middle = if top % 2.0 == 0.0 {
        wording::grouped((top / 2.0) as u64)
    } else {
        String::new()
    };
    out.push_str(&format!(
        "<figure class=\"card {class}\"><figcaption>{title}<span>{}</span></figcaption>\
         <div class=\"plot\"><div class=\"y\"><span>{}</span><span>{middle}</span><span>0</span></div>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{title} over time, {} at the end\">{grid}\
         <path class=\"area\" d=\"{path}V{HEIGHT}H0Z\"/><path class=\"curve\" d=\"{path}\"/></svg>\
         <div class=\"x\"><span>0</span><span>{}</span><span>{}</span></div></div></figure>\n",
        wording::grouped(last),
        wording::grouped(top as u64),
        wording::grouped(last),
        wording::duration(end / 2.0),
        wording::duration(end)
    ));
}

/// At most so many points; the last one stays.
fn thin(points: Vec<(f64, f64)>, limit: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(limit).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last);
    kept.map(|(_, point)| point).collect()
}

/// The next of 1, 2, 4, 6, 8, 10, 20, … : an axis ends on a round number.
fn nice(value: f64) -> f64 {
    let scale = 10f64.powf(value.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    steps
        .iter()
        .map(|step| step * scale)
        .find(|top| *top >= value)
        .unwrap_or(value)
}

fn coverage(out: &mut String, results: &Results) {
    let coverage = &results.coverage;
    if coverage.changed_lines == 0 && results.changes.is_empty() {
        return;
    }
    out.push_str(&format!(
        "<figure class=\"card\"><figcaption>Coverage of changed lines<span>{} of {}</span></figcaption>\
         <table class=\"bars\">",
        coverage.covered_changed_lines, coverage.changed_lines
    ));
    for change in results.changes.iter().take(MOST_ROWS) {
        let source = results
            .sources
            .iter()
            .find(|file| file.version == Side::Head && file.path == change.file);
        let marks: Vec<Option<bool>> = (change.lines.first..=change.lines.last)
            .take(400)
            .map(|line| covered(source, line))
            .collect();
        let with_code = marks.iter().flatten().count();
        let run = marks.iter().flatten().filter(|covered| **covered).count();
        let runs = match change.runs {
            Some(0) if change.unreachable => "no input can reach it".into(),
            Some(0) => "no run entered it".into(),
            Some(n) => format!("{} entered it", wording::count(n, "run")),
            None => String::new(),
        };
        let place = text(&wording::change_place(change));
        let place = match super::source::anchor(results, &change.file, change.lines.first) {
            Some(anchor) => format!("<a href=\"#{anchor}\">{place}</a>"),
            None => place,
        };
        out.push_str(&format!(
            "<tr><td><code>{place}</code><small>{runs}</small></td><td>{}</td><td>{run} / {with_code}</td></tr>\n",
            strip(&marks)
        ));
    }
    for (source, range) in others(results).into_iter().take(MOST_ROWS) {
        let marks = (range.first..=range.last).map(|line| covered(Some(source), line));
        let marks: Vec<Option<bool>> = marks.take(400).collect();
        let with_code = marks.iter().flatten().count();
        let run = marks.iter().flatten().filter(|covered| **covered).count();
        let place = format!("{}:{range}", printable(&source.path));
        out.push_str(&format!(
            "<tr><td><code>{place}</code><small>only head has it</small></td><td>{}</td><td>{run} / {with_code}</td></tr>\n",
            strip(&marks)
        ));
    }
    if results.changes.is_empty() {
        let covered = coverage.covered_changed_lines as f64 / coverage.changed_lines.max(1) as f64;
        out.push_str(&format!(
            "<tr><td>all changes</td><td>{}</td><td>{:.0}%</td></tr>",
            bar(covered, "bar-yes"),
            covered * 100.0
        ));
    }
    out.push_str(
        "</table><p class=\"key\"><span><i style=\"background:var(--good)\"></i>executed</span>\
         <span><i style=\"background:var(--bad)\"></i>not executed</span>\
         <span><i style=\"background:var(--line)\"></i>no code</span></p></figure>\n",
    );
}

/// Beyond this many a table is too long to be read.
const MOST_ROWS: usize = 60;

/// Changed lines of head with code that are no part of a change, such as those of new functions.
fn others(results: &Results) -> Vec<(&SourceFile, LineRange)> {
    let mut found: Vec<(&SourceFile, LineRange)> = Vec::new();
    for source in results
        .sources
        .iter()
        .filter(|file| file.version == Side::Head)
    {
        let of_changes = |number: u32| {
            let mut changes = results.changes.iter();
            changes.any(|change| change.file == source.path && change.lines.contains(number))
        };
        let mut goes_on = false;
        for line in &source.lines {
            let is_other = line.changed && !of_changes(line.number);
            match found.last_mut() {
                Some((_, range)) if is_other && goes_on => range.last = line.number,
                _ if is_other => found.push((source, LineRange::new(line.number, line.number))),
                _ => {}
            }
            goes_on = is_other;
        }
    }
    let has_code = |(source, range): &(&SourceFile, LineRange)| {
        (range.first..=range.last).any(|line| covered(Some(source), line).is_some())
    };
    found.retain(has_code);
    found
}

fn covered(source: Option<&SourceFile>, line: u32) -> Option<bool> {
    source?
        .lines
        .iter()
        .find(|found| found.number == line)?
        .covered
}

/// One cell for each line, in order.
fn strip(marks: &[Option<bool>]) -> String {
    let width = 100.0 / marks.len().max(1) as f64;
    let gap = if marks.len() <= 40 { 0.4 } else { 0.0 };
    let cells: String = marks
        .iter()
        .enumerate()
        .map(|(at, mark)| {
            let class = match mark {
                Some(true) => "bar-yes",
                Some(false) => "bar-no",
                None => "bar-none",
            };
            format!(
                "<rect class=\"{class}\" x=\"{:.3}%\" width=\"{:.3}%\" height=\"14\"/>",
                at as f64 * width,
                (width - gap).max(0.05)
            )
        })
        .collect();
    format!("<svg role=\"img\" aria-label=\"lines of the change\">{cells}</svg>")
}

fn bar(part: f64, class: &str) -> String {
    let width = (part.clamp(0.0, 1.0) * 100.0).max(0.6);
    format!(
        "<svg role=\"img\" aria-label=\"{width:.0} percent\"><rect class=\"{class}\" width=\"{width:.2}%\" height=\"14\" rx=\"4\"/></svg>"
    )
}

pub(super) fn losses(results: &Results) -> String {
    if results.losses.is_empty() {
        return String::new();
    }
    let mut losses: Vec<_> = results.losses.iter().collect();
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    let most = losses[0].count.max(1) as f64;
    let mut out = String::from("<figure class=\"card\"><table class=\"bars\">");
    for loss in losses.iter().take(40) {
        let bytes = match wording::loss_bytes(loss) {
            bytes if bytes.is_empty() => String::new(),
            bytes => format!("<small>input {}</small>", text(&bytes)),
        };
        out.push_str(&format!(
            "<tr><td><code>{}</code><small>{}: {}</small>{bytes}</td><td>{}</td><td>{}</td></tr>\n",
            text(&wording::loss_place(loss)),
            loss.version.name(),
            printable(&loss.reason),
            bar(loss.count as f64 / most, "bar-lost"),
            wording::grouped(loss.count)
        ));
    }
    out.push_str("</table>");
    if losses.len() > 40 {
        let more = wording::count(losses.len() as u64 - 40, "more place");
        out.push_str(&format!("<p class=\"key\">{more} in results.json</p>"));
    }
    out.push_str("</figure>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers() {
        let ends: Vec<f64> = [1.0, 3.0, 5.0, 9.0, 10.0, 11.0, 450.0].map(nice).to_vec();
        assert_eq!(ends, [1.0, 4.0, 6.0, 10.0, 10.0, 20.0, 600.0]);
    }

    #[test]
    fn thinning_keeps_the_last_point() {
        let points: Vec<_> = (0..1001).map(|n| (f64::from(n), 0.0)).collect();
        let thinned = thin(points, 100);
        assert!(thinned.len() <= 102);
        assert_eq!(thinned.last().unwrap().0, 1000.0);
    }
}
