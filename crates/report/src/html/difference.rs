//! Differences side by side.

use super::{printable, shown, text};
use crate::compare::{Amount, Row, Span, rows};
use crate::results::{Change, Difference, InputView, Outcome, Results};
use crate::{escape, pairing, view, wording};

const AMOUNT: Amount = Amount {
    context: 3,
    rows: 200,
    width: 2000,
};

/// Up to so many changes are shown without being asked for.
const CHANGES_SHOWN: usize = 3;
/// Up to so many files, and so many observed names, of a difference are shown.
const PARTS_SHOWN: usize = 20;

pub(super) fn cards(results: &Results) -> String {
    let mut out = String::new();
    for (place, difference) in results.differences.iter().enumerate() {
        push_card(&mut out, difference, place, results);
    }
    out
}

fn push_card(out: &mut String, difference: &Difference, place: usize, results: &Results) {
    let number = wording::number(difference, place);
    let severe = if difference.kind.is_severe() {
        " severe"
    } else {
        ""
    };
    out.push_str(&format!(
        "<article class=\"card\" id=\"difference-{number}\">\n<header>\
         <span class=\"number\">{number}</span><h3>{}</h3>\
         <span class=\"badge{severe}\">{}</span>",
        printable(&difference.title),
        difference.kind.text()
    ));
    if difference.group_size > 1 {
        let inputs = wording::grouped(difference.group_size);
        out.push_str(&format!(
            "<span class=\"badge quiet\">{inputs} inputs</span>"
        ));
    }
    if let Some(also) = wording::also(difference) {
        out.push_str(&format!(
            "<span class=\"badge quiet\">{}</span>",
            printable(&also)
        ));
    }
    if let Some(golden) = &difference.golden {
        out.push_str(&format!(
            "<span class=\"badge quiet\">{}</span>",
            printable(golden.class.text())
        ));
    }
    out.push_str("</header>\n<p class=\"label\">Input</p>\n");
    push_input(out, &difference.input);
    out.push_str("<p class=\"label\">What both versions did</p>\n");
    push_outcomes(out, &difference.base, &difference.head);
    if let Some(golden) = &difference.golden {
        out.push_str(&format!(
            "<p class=\"label\">The golden version</p>\n<p>{}</p>\n",
            escape::html(&golden.text())
        ));
    }
    if !difference.changes.is_empty() {
        // The text of many changes is the same in every card, and longer than all the rest.
        let many = difference.changes.len() > CHANGES_SHOWN;
        out.push_str("<p class=\"label\">Changes entered</p>\n");
        if many {
            let count = wording::count(difference.changes.len() as u64, "change");
            out.push_str(&format!(
                "<details class=\"changes\"><summary>{count}</summary>\n"
            ));
        }
        for change in &difference.changes {
            push_change(out, change, results);
        }
        if many {
            out.push_str("</details>\n");
        }
    }
    let case = printable(&difference.case);
    out.push_str(&format!(
        "<p class=\"label\">Reproduce</p>\n<pre class=\"well\">sh {case}/reproduce.sh</pre>\n"
    ));
    let mut facts = Vec::new();
    if let Some(place) = &difference.parting {
        facts.push(format!(
            "paths part at {}:{}",
            printable(&place.file),
            place.line
        ));
    }
    if difference.run > 0 {
        let seconds = wording::duration(difference.seconds);
        facts.push(format!(
            "found in run {} after {seconds}",
            wording::grouped(difference.run)
        ));
    }
    if !difference.found_by.is_empty() {
        facts.push(format!("by {}", printable(&difference.found_by)));
    }
    out.push_str(&format!("<p class=\"facts\">{}</p>\n", facts.join(" · ")));
    push_groups(out, &difference.group);
    out.push_str("</article>\n");
}

/// What makes inputs show the same difference; `accept` goes by it.
fn push_groups(out: &mut String, groups: &str) {
    out.push_str("<details class=\"facts\"><summary>What its inputs have in common</summary><ul>");
    for group in groups.lines() {
        out.push_str(&format!("<li><code>{}</code></li>", printable(group)));
    }
    out.push_str("</ul></details>\n");
}

fn push_input(out: &mut String, input: &InputView) {
    out.push_str("<dl class=\"input\">");
    let fixed = input
        .arguments
        .iter()
        .any(|argument| argument.stream.is_none());
    if fixed {
        let words: Vec<String> = input
            .arguments
            .iter()
            .map(|argument| text(&format!("\"{}\"", view::line(&argument.bytes, 200))))
            .collect();
        out.push_str(&format!(
            "<dt>arguments</dt><dd><pre>{}</pre></dd>",
            words.join(" ")
        ));
    }
    for stream in &input.streams {
        let lines: Vec<String> = view::input(&stream.bytes, 600)
            .iter()
            .map(|line| text(line))
            .collect();
        let label = printable(&stream.label);
        out.push_str(&format!(
            "<dt>{label}</dt><dd><pre>{}</pre></dd>",
            lines.join("\n")
        ));
    }
    out.push_str("</dl>\n");
}

fn push_outcomes(out: &mut String, base: &Outcome, head: &Outcome) {
    out.push_str(
        "<table class=\"pair\"><thead><tr><th>base</th><th>head</th></tr></thead><tbody>\n",
    );
    let same = base.end == head.end;
    push_row(
        out,
        &[whole(base.end.text(), !same)],
        &[whole(head.end.text(), !same)],
        same,
    );
    if base.finding != head.finding {
        let show = |finding: &Option<String>| match finding {
            Some(finding) => whole(crate::escape::printable_str(finding), true),
            None => whole("no finding".into(), false),
        };
        push_row(out, &[show(&base.finding)], &[show(&head.finding)], false);
    }
    push_part(out, "stdout", &base.stdout, &head.stdout);
    push_part(out, "stderr", &base.stderr, &head.stderr);
    let (files, more_files) = pairing::few(pairing::files(base, head), PARTS_SHOWN, "file");
    for (name, base, head) in files {
        push_part(out, &format!("file {name}"), base, head);
    }
    let observed = pairing::observed(base, head);
    let (observed, more_observed) = pairing::few(observed, PARTS_SHOWN, "name");
    for (name, base, head) in observed {
        push_part(
            out,
            &format!("observed {name}"),
            base.as_bytes(),
            head.as_bytes(),
        );
    }
    for note in [more_files, more_observed].into_iter().flatten() {
        push_title(out, &note);
    }
    if base.stdout == head.stdout && !base.stdout.is_empty() {
        let lines = view::input(&base.stdout, 300).join("\n");
        push_title(out, "stdout, equal");
        push_row(
            out,
            &[whole(lines.clone(), false)],
            &[whole(lines, false)],
            true,
        );
    }
    if base.truncated || head.truncated {
        push_title(out, "Longer output than this was cut.");
    }
    out.push_str("</tbody></table>\n");
}

fn whole(text: String, marked: bool) -> Span {
    Span { text, marked }
}

fn push_part(out: &mut String, name: &str, base: &[u8], head: &[u8]) {
    let rows = rows(base, head, AMOUNT);
    if rows.is_empty() {
        return;
    }
    push_title(out, name);
    for row in rows {
        match row {
            Row::Same(spans) => push_row(out, &spans, &spans, true),
            Row::Different { base, head } => {
                out.push_str("<tr class=\"diff\">");
                for side in [base, head] {
                    match side {
                        Some(spans) => out.push_str(&format!("<td>{}</td>", cell(&spans))),
                        None => out.push_str("<td class=\"gone\"></td>"),
                    }
                }
                out.push_str("</tr>\n");
            }
            Row::Skipped(n) => push_title(out, &format!("… {n} equal lines …")),
            Row::Cut(n) => push_title(out, &format!("… {n} more rows, see the case's files")),
        }
    }
}

fn push_title(out: &mut String, name: &str) {
    out.push_str(&format!(
        "<tr class=\"part\"><td colspan=\"2\">{}</td></tr>\n",
        printable(name)
    ));
}

fn push_row(out: &mut String, base: &[Span], head: &[Span], same: bool) {
    let class = if same { "same" } else { "diff" };
    let (base, head) = (cell(base), cell(head));
    out.push_str(&format!(
        "<tr class=\"{class}\"><td>{base}</td><td>{head}</td></tr>\n"
    ));
}

fn cell(spans: &[Span]) -> String {
    let parts = spans.iter().map(|span| {
        let escaped = text(&span.text);
        if span.marked {
            format!("<mark>{escaped}</mark>")
        } else {
            escaped
        }
    });
    parts.collect()
}

fn push_change(out: &mut String, change: &Change, results: &Results) {
    let place = text(&wording::change_place(change));
    let place = match super::source::anchor(results, &change.file, change.lines.first) {
        Some(anchor) => format!("<a href=\"#{anchor}\"><code>{place}</code></a>"),
        None => format!("<code>{place}</code>"),
    };
    let function = match change.function.as_str() {
        "" => String::new(),
        name => format!(" in <code>{}</code>", printable(name)),
    };
    out.push_str(&format!("<div class=\"change\"><p>{place}{function}</p>\n"));
    if !change.hunk.is_empty() {
        out.push_str("<div class=\"hunk code\">");
        for line in change.hunk.lines().take(80) {
            let class = match line.as_bytes().first() {
                Some(b'-') => " class=\"minus\"",
                Some(b'+') => " class=\"plus\"",
                Some(b'@') => " class=\"at\"",
                _ => "",
            };
            out.push_str(&format!("<span{class}>{}</span>", shown(line)));
        }
        out.push_str("</div>");
    }
    out.push_str("</div>\n");
}

/// Suspected, undefined, unstable, accepted.
pub(super) fn apart(results: &Results) -> String {
    let mut out = String::new();
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            out.push_str(&format!(
                "<div class=\"card\"><header><h3>{title}</h3><span class=\"badge quiet\">{}</span></header><ul class=\"list\">",
                items.len()
            ));
            for item in items {
                out.push_str(&format!("<li>{item}</li>"));
            }
            out.push_str("</ul></div>\n");
        }
    };
    let suspected = results.suspected.iter().map(|suspected| {
        let input = inline(&suspected.input);
        format!(
            "{}: {} {input}",
            printable(&suspected.title),
            printable(&suspected.reason)
        )
    });
    list("Suspected, not confirmed", suspected.collect());
    let undefined = results.undefined.iter().map(|undefined| {
        let input = inline(&undefined.input);
        format!(
            "{}: {} {input}",
            printable(&undefined.title),
            printable(&undefined.detail)
        )
    });
    list("Resting on undefined behaviour", undefined.collect());
    let unstable = results.unstable.iter().map(|unstable| {
        let input = inline(&unstable.input);
        format!(
            "{}: {} {input}",
            unstable.version.name(),
            printable(&unstable.detail)
        )
    });
    list(
        "Unstable: a version disagrees with itself",
        unstable.collect(),
    );
    let accepted = results
        .accepted
        .groups
        .iter()
        .map(|group| format!("{} ({} inputs)", printable(&group.title), group.count));
    list("Accepted before", accepted.collect());
    out
}

fn inline(input: &InputView) -> String {
    let streams = input.streams.iter().map(|stream| {
        let bytes = text(&view::line(&stream.bytes, 80));
        format!("<code>{} \"{bytes}\"</code>", printable(&stream.label))
    });
    streams.collect::<Vec<_>>().join(" ")
}
