//! The summary for a terminal, and `summary.txt`.

use crate::compare::{Amount, Row, Span, rows};
use crate::escape::{printable_str, shell_str, visible};
use crate::pairing::{self, few};
use crate::results::{Difference, Results, StreamView, Verdict};
use crate::{view, wording};
use std::io::IsTerminal as _;
use std::path::Path;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How text may be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub colour: bool,
    pub width: usize,
}

/// Columns of the terminal that standard error goes to, if it is one.
pub fn error_columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stderr())?;
    Some(usize::from(size.0.0))
}

impl Style {
    pub const fn plain(width: usize) -> Style {
        Style {
            colour: false,
            width,
        }
    }

    /// For standard output: colour only on a terminal and without `NO_COLOR`.
    pub fn detect() -> Style {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = match terminal_size::terminal_size_of(&stdout) {
            Some((terminal_size::Width(width), _)) => usize::from(width),
            None => 100,
        };
        Style {
            colour: terminal && !dumb && !refused,
            width: width.clamp(40, 160),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

const BASE: &str = "1;36";
const HEAD: &str = "1;33";
const INDENT: &str = "    ";
/// How many changed places a difference lists, and up to how many it shows their text.
const CHANGES_LISTED: usize = 6;
const CHANGES_WITH_TEXT: usize = 2;
/// How many files, and how many observed names, of a difference are shown.
const PARTS_SHOWN: usize = 4;

/// The whole summary; `out` is the output directory as the user knows it.
pub fn summary(results: &Results, out: &str, style: Style) -> String {
    let mut text = String::new();
    text.push_str(&style.paint(verdict_colour(results), &wording::verdict(results)));
    text.push('\n');
    if let Some(error) = &results.error {
        for line in error.lines().skip(1) {
            text.push_str(&format!("  {}\n", visible(line)));
        }
    }
    for warning in &results.warnings {
        text.push_str(&format!(
            "  {} {}\n",
            style.paint("33", "warning:"),
            visible(warning)
        ));
    }
    for (place, difference) in results.differences.iter().enumerate() {
        text.push('\n');
        push_difference(&mut text, difference, place, out, style);
    }
    push_others(&mut text, results, style);
    push_losses(&mut text, results, style);
    if results.verdict != Verdict::CouldNotRun {
        text.push_str(&heading("explored", style));
        for line in wording::exploration(results) {
            push_wrapped(&mut text, &line, style);
        }
    }
    let steps = wording::next_steps(results, &printable_str(out));
    if !steps.is_empty() {
        text.push_str(&heading("next", style));
        for step in steps {
            text.push_str(&format!("  {step}\n"));
        }
    }
    text
}

/// One difference in full, for places that show one at a time.
pub fn difference(difference: &Difference, style: Style) -> String {
    let mut text = String::new();
    push_difference(&mut text, difference, 0, ".", style);
    text
}

fn verdict_colour(results: &Results) -> &'static str {
    match results.verdict {
        Verdict::Differences => "1;33",
        Verdict::NoneFound => "1",
        Verdict::Equivalent => "1;32",
        Verdict::CouldNotRun => "1;31",
    }
}

fn heading(text: &str, style: Style) -> String {
    format!("\n{}\n", style.bold(text))
}

fn push_difference(
    text: &mut String,
    difference: &Difference,
    place: usize,
    out: &str,
    style: Style,
) {
    let group = match wording::group(difference) {
        None => String::new(),
        Some(group) => style.dim(&format!("  ({group})")),
    };
    let kind = style.paint(
        if difference.kind.is_severe() {
            "1;31"
        } else {
            "1;33"
        },
        difference.kind.text(),
    );
    text.push_str(&format!(
        "{} {kind}{group}\n",
        style.bold(&format!("{}.", wording::number(difference, place)))
    ));
    if !difference.title.is_empty() && difference.title != difference.kind.text() {
        text.push_str(&format!("{INDENT}{}\n", printable_str(&difference.title)));
    }
    let labels = difference
        .input
        .streams
        .iter()
        .map(|s| printable_str(&s.label).width());
    let labels = labels.max().unwrap_or_default();
    for stream in &difference.input.streams {
        push_stream(text, stream, labels, style);
    }
    let fixed = difference
        .input
        .arguments
        .iter()
        .any(|argument| argument.stream.is_none());
    if fixed {
        let words: Vec<String> = difference
            .input
            .arguments
            .iter()
            .map(|argument| format!("\"{}\"", view::line(&argument.bytes, 60)))
            .collect();
        text.push_str(&format!(
            "{INDENT}{} {}\n",
            style.dim("command line"),
            words.join(" ")
        ));
    }
    push_outcomes(text, difference, style);
    if let Some(golden) = &difference.golden {
        let said = format!(" {}", golden.text());
        text.push_str(&format!("{INDENT}{}", style.dim("golden")));
        push_words(text, &said, "golden".len(), "      ", style);
    }
    // A line or two says which change it is; with many the list alone is long
    // enough, and the report has the text.
    let with_text = difference.changes.len() <= CHANGES_WITH_TEXT;
    for change in difference.changes.iter().take(CHANGES_LISTED) {
        let function = match change.function.as_str() {
            "" => String::new(),
            name => format!(" in {}", printable_str(name)),
        };
        let place = wording::change_place(change);
        text.push_str(&format!(
            "{INDENT}{} {place}{function}\n",
            style.dim("enters")
        ));
        if with_text {
            push_hunk(text, &change.hunk, style);
        }
    }
    if difference.changes.len() > CHANGES_LISTED {
        let more = difference.changes.len() - CHANGES_LISTED;
        text.push_str(&format!(
            "{INDENT}{} {}\n",
            style.dim("enters"),
            wording::plural(more as u64, "more changed place", "more changed places")
        ));
    }
    if let Some(place) = &difference.parting {
        let place = format!("{}:{}", printable_str(&place.file), place.line);
        text.push_str(&format!("{INDENT}{} {place}\n", style.dim("paths part at")));
    }
    let script = Path::new(out).join(&difference.case).join("reproduce.sh");
    let script = shell_str(&printable_str(&script.display().to_string()));
    text.push_str(&format!("{INDENT}{} sh {script}\n", style.dim("reproduce")));
}

fn push_stream(text: &mut String, stream: &StreamView, labels: usize, style: Style) {
    let label = printable_str(&stream.label);
    let room = style.width.saturating_sub(labels + 8).max(20);
    let pad = " ".repeat(labels - label.width());
    for (at, line) in view::input(&stream.bytes, room).iter().enumerate() {
        let label = if at == 0 {
            style.dim(&label) + &pad
        } else {
            " ".repeat(labels)
        };
        text.push_str(&format!("{INDENT}{label} {line}\n"));
    }
}

fn push_outcomes(text: &mut String, difference: &Difference, style: Style) {
    let column = (style.width.saturating_sub(INDENT.len() + 3) / 2).max(16);
    let (base, head) = (&difference.base, &difference.head);
    let plain = |text: String, marked| vec![Span { text, marked }];
    push_cells(
        text,
        &plain("base".into(), true),
        &plain("head".into(), true),
        column,
        style,
        true,
    );
    let ends = base.end != head.end;
    push_cells(
        text,
        &plain(base.end.text(), ends),
        &plain(head.end.text(), ends),
        column,
        style,
        false,
    );
    if base.finding != head.finding {
        let show = |finding: &Option<String>| {
            plain(
                finding
                    .as_deref()
                    .map_or("no finding".into(), printable_str),
                finding.is_some(),
            )
        };
        push_cells(
            text,
            &show(&base.finding),
            &show(&head.finding),
            column,
            style,
            false,
        );
    }
    let amount = Amount {
        context: 1,
        rows: 12,
        width: column,
    };
    let mut parts = vec![
        (
            "stdout".to_owned(),
            rows(&base.stdout, &head.stdout, amount),
        ),
        (
            "stderr".to_owned(),
            rows(&base.stderr, &head.stderr, amount),
        ),
    ];
    let (files, more_files) = few(pairing::files(base, head), PARTS_SHOWN, "file");
    for (name, base, head) in files {
        parts.push((
            format!("file {}", printable_str(name)),
            rows(base, head, amount),
        ));
    }
    let (observed, more_observed) = few(pairing::observed(base, head), PARTS_SHOWN, "name");
    for (name, base, head) in observed {
        let part = rows(base.as_bytes(), head.as_bytes(), amount);
        parts.push((format!("observed {}", printable_str(name)), part));
    }
    for (name, rows) in parts {
        if rows.is_empty() {
            continue;
        }
        text.push_str(&format!("{INDENT}{}\n", style.dim(&name)));
        for row in rows {
            match row {
                Row::Same(spans) => push_cells(text, &spans, &spans, column, style, false),
                Row::Different { base, head } => push_cells(
                    text,
                    base.as_deref().unwrap_or_default(),
                    head.as_deref().unwrap_or_default(),
                    column,
                    style,
                    false,
                ),
                Row::Skipped(n) => {
                    let note = format!(
                        "… {} …",
                        wording::plural(n as u64, "equal line", "equal lines")
                    );
                    text.push_str(&format!("{INDENT}{}\n", style.dim(&note)));
                }
                Row::Cut(n) => {
                    let note = format!("… {} more", wording::plural(n as u64, "row", "rows"));
                    text.push_str(&format!("{INDENT}{}\n", style.dim(&note)));
                }
            }
        }
    }
    for note in [more_files, more_observed].into_iter().flatten() {
        text.push_str(&format!("{INDENT}{}\n", style.dim(&note)));
    }
}

/// One row of the table. Without colour, carets stand under the marked parts.
fn push_cells(
    text: &mut String,
    base: &[Span],
    head: &[Span],
    column: usize,
    style: Style,
    titles: bool,
) {
    let (left, used, left_marks) = cell(base, column, BASE, style);
    let (right, _, right_marks) = cell(head, column, HEAD, style);
    let pad = " ".repeat(column.saturating_sub(used));
    let line = format!("{INDENT}{left}{pad} {} {right}", style.dim("│"));
    text.push_str(line.trim_end());
    text.push('\n');
    if style.colour || titles || (left_marks.trim().is_empty() && right_marks.trim().is_empty()) {
        return;
    }
    let line = format!("{INDENT}{left_marks:<column$} │ {right_marks}");
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The painted cell, its width, and a line of carets. What does not fit ends in a sign.
fn cell(spans: &[Span], column: usize, colour: &str, style: Style) -> (String, usize, String) {
    let whole: usize = spans.iter().map(|span| span.text.width()).sum();
    let cut = whole > column;
    let room = column - usize::from(cut);
    let mut painted = String::new();
    let mut marks = String::new();
    let mut used = 0;
    for span in spans {
        let part = start(&span.text, room - used);
        used += part.width();
        marks.push_str(&(if span.marked { "^" } else { " " }).repeat(part.width()));
        painted.push_str(&if span.marked {
            style.paint(colour, part)
        } else {
            part.to_owned()
        });
        if part.len() < span.text.len() {
            break;
        }
    }
    if cut {
        painted.push('…');
        used += 1;
    }
    (painted, used, marks)
}

/// As much of a text as fits into so many columns.
fn start(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or_default();
        used > columns
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

fn push_hunk(text: &mut String, hunk: &str, style: Style) {
    const LINES: usize = 12;
    for (at, line) in hunk.lines().enumerate() {
        if at == LINES {
            let more = wording::count((hunk.lines().count() - LINES) as u64, "more line");
            text.push_str(&format!("{INDENT}  {}\n", style.dim(&format!("… {more}"))));
            break;
        }
        for shown in folded(&visible(line), style.width.saturating_sub(8).max(8)) {
            let shown = match line.bytes().next() {
                Some(b'-') => style.paint("36", &shown),
                Some(b'+') => style.paint("33", &shown),
                _ => style.dim(&shown),
            };
            text.push_str(&format!("{INDENT}  {shown}\n"));
        }
    }
}

/// A long line of a hunk in a few rows: what has changed may be at its end.
fn folded(line: &str, columns: usize) -> Vec<String> {
    const ROWS: usize = 5;
    let mut rows: Vec<String> = Vec::new();
    let mut rest = line;
    while !rest.is_empty() || rows.is_empty() {
        if rows.len() == ROWS {
            rows[ROWS - 1].push('…');
            break;
        }
        // Below the text, behind the sign.
        let indent = if rows.is_empty() { "" } else { " " };
        let part = start(rest, columns - indent.len());
        rows.push(format!("{indent}{part}"));
        rest = &rest[part.len()..];
    }
    rows
}

fn push_others(text: &mut String, results: &Results, style: Style) {
    let mut lines = Vec::new();
    if results.accepted.count > 0 {
        lines.push(format!(
            "accepted before, not shown: {}",
            wording::accepted(&results.accepted)
        ));
    }
    for suspected in &results.suspected {
        let title = printable_str(&suspected.title);
        lines.push(format!(
            "suspected, not confirmed: {title}: {} ({})",
            printable_str(&suspected.reason),
            view::inline(&suspected.input)
        ));
    }
    for undefined in &results.undefined {
        let title = printable_str(&undefined.title);
        lines.push(format!(
            "undefined behaviour: {title}: {} ({})",
            printable_str(&undefined.detail),
            view::inline(&undefined.input)
        ));
    }
    if !results.unstable.is_empty() {
        let inputs = wording::count(results.unstable.len() as u64, "input");
        let first = &results.unstable[0];
        lines.push(format!(
            "unstable, {} disagrees with itself on {inputs}: {} ({})",
            first.version.name(),
            printable_str(&first.detail),
            view::inline(&first.input)
        ));
    }
    if !lines.is_empty() {
        text.push_str(&heading("also", style));
        for line in lines {
            push_wrapped(text, &line, style);
        }
    }
}

fn push_losses(text: &mut String, results: &Results, style: Style) {
    if results.losses.is_empty() {
        return;
    }
    text.push_str(&heading("symbolic input was lost", style));
    let mut losses: Vec<_> = results.losses.iter().collect();
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    for loss in losses.iter().take(8) {
        let bytes = match wording::loss_bytes(loss) {
            bytes if bytes.is_empty() => String::new(),
            bytes => format!(" ({bytes})"),
        };
        let line = format!(
            "{}× {} {}: {}{bytes}",
            wording::grouped(loss.count),
            loss.version.name(),
            wording::loss_place(loss),
            printable_str(&loss.reason)
        );
        push_wrapped(text, &line, style);
    }
    if losses.len() > 8 {
        let more = wording::count(losses.len() as u64 - 8, "more place");
        text.push_str(&format!(
            "  {}\n",
            style.dim(&format!("… {more}, see results.json"))
        ));
    }
}

fn push_wrapped(text: &mut String, line: &str, style: Style) {
    text.push_str("  ");
    push_words(text, line, 0, "    ", style);
}

/// Words behind so many columns of the first line; further lines begin with `indent`, the width of which is not counted.
fn push_words(text: &mut String, line: &str, mut used: usize, indent: &str, style: Style) {
    let room = style.width.saturating_sub(indent.len()).max(30);
    for (at, word) in line.split(' ').enumerate() {
        if at > 0 && used + 1 + word.width() > room {
            text.push('\n');
            text.push_str(indent);
            used = 0;
        } else if at > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += word.width();
    }
    text.push('\n');
}
