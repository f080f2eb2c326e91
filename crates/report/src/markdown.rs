//! `report.md`: a comment for a pull request.

use crate::compare::{Amount, Row, Span, rows};
use crate::escape::{self, markdown, markdown_block, markdown_code, printable_str, visible};
use crate::results::{Difference, InputView, Results, Verdict, Version};
use crate::{pairing, view, wording};

/// Hosts cut comments that are longer than this; nothing is lost, since the
/// HTML report has it all.
const LIMIT: usize = 60_000;
/// How many files, and how many observed names, of a difference are shown.
const PARTS_SHOWN: usize = 8;

pub fn document(results: &Results) -> String {
    let sign = match results.verdict {
        Verdict::Differences => "⚠️",
        Verdict::NoneFound => "🔍",
        Verdict::Equivalent => "✅",
        Verdict::CouldNotRun => "❌",
    };
    let mut text = format!(
        "### {sign} Changeling: {}\n\n",
        markdown(&wording::verdict(results))
    );
    let versions = &results.versions;
    let label = |version: &Version| markdown_code(&printable_str(&version.label));
    let golden = versions.golden.as_ref();
    let golden = golden.map(|golden| format!(", golden {}", label(golden)));
    text.push_str(&format!(
        "{} → {}{}, inputs: {}\n",
        label(&versions.base),
        label(&versions.head),
        golden.unwrap_or_default(),
        markdown(&results.bound.text)
    ));
    if let Some(error) = &results.error {
        let lines: Vec<String> = error.lines().map(visible).collect();
        text.push('\n');
        text.push_str(&markdown_block(&lines.join("\n"), "text"));
    }
    push_table(&mut text, results);
    for (place, difference) in results.differences.iter().enumerate() {
        let details = details(difference, place);
        if text.len() + details.len() > LIMIT {
            let left = results.differences.len() - place;
            text.push_str(&format!("\n{left} more in the HTML report.\n"));
            break;
        }
        text.push_str(&details);
    }
    push_exploration(&mut text, results);
    text
}

fn push_table(text: &mut String, results: &Results) {
    if results.differences.is_empty() {
        return;
    }
    text.push_str("\n| | kind | what | input | enters |\n|--:|---|---|---|---|\n");
    for (place, difference) in results.differences.iter().take(50).enumerate() {
        let places: Vec<String> = difference
            .changes
            .iter()
            .take(3)
            .map(|change| markdown_code(&wording::change_place(change)))
            .collect();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            wording::number(difference, place),
            difference.kind.text(),
            markdown(&printable_str(&difference.title)),
            input_cell(&difference.input),
            places.join("<br>")
        ));
    }
    if results.differences.len() > 50 {
        text.push_str(&format!(
            "\n{} more rows left out.\n",
            results.differences.len() - 50
        ));
    }
}

fn input_cell(input: &InputView) -> String {
    let streams: Vec<String> = input
        .streams
        .iter()
        .map(|stream| {
            let bytes = view::line(&stream.bytes, 40);
            format!(
                "{} {}",
                markdown(&printable_str(&stream.label)),
                markdown_code(&bytes)
            )
        })
        .collect();
    streams.join("<br>")
}

fn details(difference: &Difference, place: usize) -> String {
    let number = wording::number(difference, place);
    let mut text = format!(
        "\n<details><summary>{number}. {}: {}</summary>\n\n",
        difference.kind.text(),
        // Not Markdown here, but mentions are still found.
        escape::html(&printable_str(&difference.title))
            .replace('@', "@<!-- -->")
            .replace('`', "&#96;")
    );
    if let Some(group) = wording::group(difference) {
        let of_class = difference.golden.as_ref();
        let of_class = of_class.filter(|golden| golden.is_mixed());
        let of_class = of_class.map(|golden| format!(" {}", golden.class.text()));
        let of_class = of_class.unwrap_or_default();
        text.push_str(&format!("{group}; this is the simplest{of_class}.\n\n"));
    }
    for stream in &difference.input.streams {
        text.push_str(&format!("{}:\n\n", markdown(&printable_str(&stream.label))));
        text.push_str(&markdown_block(
            &view::input(&stream.bytes, 400).join("\n"),
            "text",
        ));
        text.push('\n');
    }
    text.push_str(&format!(
        "| base | head |\n|---|---|\n| {} | {} |\n\n",
        markdown(&difference.base.end.text()),
        markdown(&difference.head.end.text())
    ));
    let (base, head) = (&difference.base, &difference.head);
    push_diff(&mut text, "stdout", &base.stdout, &head.stdout);
    push_diff(&mut text, "stderr", &base.stderr, &head.stderr);
    let (files, more_files) = pairing::few(pairing::files(base, head), PARTS_SHOWN, "file");
    for (name, base, head) in files {
        push_diff(
            &mut text,
            &format!("file {}", printable_str(name)),
            base,
            head,
        );
    }
    let observed = pairing::observed(base, head);
    let (observed, more_observed) = pairing::few(observed, PARTS_SHOWN, "name");
    for (name, base, head) in observed {
        let name = format!("observed {}", printable_str(name));
        push_diff(&mut text, &name, base.as_bytes(), head.as_bytes());
    }
    for note in [more_files, more_observed].into_iter().flatten() {
        text.push_str(&format!("{note}\n\n"));
    }
    if let Some(golden) = &difference.golden {
        let said = markdown(&golden.text());
        text.push_str(&format!("With the golden version: {said}.\n\n"));
    }
    for change in &difference.changes {
        text.push_str(&format!(
            "Enters {}:\n\n",
            markdown_code(&wording::change_place(change))
        ));
        if !change.hunk.is_empty() {
            let lines: Vec<String> = change.hunk.lines().take(40).map(visible).collect();
            text.push_str(&markdown_block(&lines.join("\n"), "diff"));
            text.push('\n');
        }
    }
    let script = format!("sh {}/reproduce.sh", printable_str(&difference.case));
    text.push_str(&format!(
        "Reproduce: {}\n\n</details>\n",
        markdown_code(&script)
    ));
    text
}

fn push_diff(text: &mut String, name: &str, base: &[u8], head: &[u8]) {
    let rows = rows(
        base,
        head,
        Amount {
            context: 2,
            rows: 40,
            width: 160,
        },
    );
    if rows.is_empty() {
        return;
    }
    let whole = |spans: &[Span]| {
        spans
            .iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    let mut diff = String::new();
    let mut added = String::new();
    for row in rows {
        // Removed lines stand before added ones, as readers of diffs expect.
        if !matches!(row, Row::Different { .. }) {
            diff.push_str(&std::mem::take(&mut added));
        }
        match row {
            Row::Same(spans) => diff.push_str(&format!("  {}\n", whole(&spans))),
            Row::Different { base, head } => {
                if let Some(spans) = base {
                    diff.push_str(&format!("- {}\n", whole(&spans)));
                }
                if let Some(spans) = head {
                    added.push_str(&format!("+ {}\n", whole(&spans)));
                }
            }
            Row::Skipped(n) => diff.push_str(&format!("@@ {n} equal lines @@\n")),
            Row::Cut(n) => diff.push_str(&format!("@@ {n} more rows @@\n")),
        }
    }
    diff.push_str(&added);
    text.push_str(&format!(
        "{}:\n\n{}\n",
        markdown(name),
        markdown_block(&diff, "diff")
    ));
}

fn push_exploration(text: &mut String, results: &Results) {
    if results.verdict == Verdict::CouldNotRun {
        return;
    }
    text.push_str("\n<details><summary>What was explored</summary>\n\n");
    for line in wording::exploration(results) {
        text.push_str(&format!("- {}\n", markdown(&line)));
    }
    for warning in &results.warnings {
        text.push_str(&format!("- warning: {}\n", markdown(&visible(warning))));
    }
    let suspected = results.suspected.iter().map(|it| &it.input).collect();
    let undefined = results.undefined.iter().map(|it| &it.input).collect();
    let unstable = results.unstable.iter().map(|it| &it.input).collect();
    push_apart(text, "suspected, not confirmed", suspected);
    push_apart(text, "resting on undefined behaviour", undefined);
    push_apart(text, "unstable", unstable);
    if results.accepted.count > 0 {
        let accepted = wording::accepted(&results.accepted);
        text.push_str(&format!("- accepted before: {accepted}\n"));
    }
    if !results.losses.is_empty() {
        text.push_str("\n| lost | where | why |\n|--:|---|---|\n");
        let mut losses: Vec<_> = results.losses.iter().collect();
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
        for loss in losses.iter().take(10) {
            text.push_str(&format!(
                "| {} | {} | {} |\n",
                wording::grouped(loss.count),
                markdown_code(&wording::loss_place(loss)),
                markdown(&printable_str(&loss.reason))
            ));
        }
    }
    text.push_str("\n</details>\n");
}

/// How many inputs are no differences for a reason, and some of them.
fn push_apart(text: &mut String, what: &str, inputs: Vec<&InputView>) {
    const SHOWN: usize = 5;
    if inputs.is_empty() {
        return;
    }
    let count = wording::grouped(inputs.len() as u64);
    let shown = inputs.iter().take(SHOWN);
    let shown: Vec<String> = shown
        .map(|input| markdown_code(&view::inline(input)))
        .collect();
    let more = if inputs.len() > SHOWN { ", …" } else { "" };
    text.push_str(&format!("- {count} {what}: {}{more}\n", shown.join(", ")));
}
