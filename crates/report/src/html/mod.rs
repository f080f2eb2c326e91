//! `report.html`: one file that needs nothing else. It has no script at all, and
//! a policy that forbids scripts and every request, so that nothing a program
//! printed could become active even if an escape were forgotten.

mod difference;
mod plots;
mod source;

use crate::escape::{self, printable_str, visible};
use crate::results::{Results, Verdict};
use crate::wording;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub fn page(results: &Results) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let verdict = text(&capital(&wording::verdict(results)));
    out.push_str(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Changeling: {verdict}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        include_str!("style.css")
    ));
    push_top(&mut out, results, &verdict);
    let sections = sections(results);
    push_navigation(&mut out, &sections);
    out.push_str("<main>\n");
    for section in &sections {
        let lead = match section.lead.as_str() {
            "" => String::new(),
            lead => format!("<p class=\"lead\">{lead}</p>\n"),
        };
        out.push_str(&format!(
            "<section id=\"{}\">\n<h2>{}</h2>\n{lead}{}</section>\n",
            section.id, section.title, section.body
        ));
    }
    out.push_str(&format!(
        "</main>\n<footer>{} {}, format {}</footer>\n</body>\n</html>\n",
        text(&results.tool.name),
        text(&results.tool.version),
        results.format
    ));
    out
}

struct Section {
    id: &'static str,
    title: &'static str,
    lead: String,
    body: String,
}

fn sections(results: &Results) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id, title, lead: &str, body: String| {
        if !body.is_empty() {
            sections.push(Section {
                id,
                title,
                lead: lead.to_owned(),
                body,
            });
        }
    };
    add(
        "differences",
        "Differences",
        "Every input below was run twice on plain native builds of both versions. One is shown of each group, the most severe first.",
        difference::cards(results),
    );
    add("explored", "What was explored", "", explored(results));
    add(
        "lost",
        "Where symbolic input was lost",
        "At these places the search went on with one concrete value; what depends on other values was not explored there.",
        plots::losses(results),
    );
    add(
        "source",
        "Changed source",
        "Lines of a change are tinted. A tick: some run executed the line. A cross: none did.",
        source::files(results),
    );
    add(
        "apart",
        "Kept apart",
        "Not counted as differences, with the reason.",
        difference::apart(results),
    );
    add("settings", "Settings and numbers", "", settings(results));
    sections
}

fn explored(results: &Results) -> String {
    if results.verdict == Verdict::CouldNotRun {
        return String::new();
    }
    let mut out = String::from("<ul class=\"points\">");
    for line in wording::exploration(results) {
        out.push_str(&format!("<li>{}</li>", text(&capital(&line))));
    }
    out.push_str("</ul>\n");
    out.push_str(&plots::figures(results));
    out
}

/// With a capital letter, where text stands alone.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

fn push_top(out: &mut String, results: &Results, verdict: &str) {
    let class = match results.verdict {
        Verdict::Differences => "differences",
        Verdict::NoneFound => "none-found",
        Verdict::Equivalent => "equivalent",
        Verdict::CouldNotRun => "could-not-run",
    };
    let versions = &results.versions;
    let golden = versions.golden.as_ref().map(|golden| {
        let label = printable(&golden.label);
        format!("<span><b>golden</b><code>{label}</code></span>")
    });
    out.push_str(&format!(
        "<div class=\"top {class}\">\n<p class=\"brand\">Changeling report</p>\n\
         <h1><span class=\"dot\"></span>{verdict}</h1>\n<p class=\"versions\">\
         <span><b class=\"is-base\">base</b><code>{}</code></span>\
         <span><b class=\"is-head\">head</b><code>{}</code></span>{}\
         <span><b>inputs</b>{}</span></p>\n",
        printable(&versions.base.label),
        printable(&versions.head.label),
        golden.unwrap_or_default(),
        printable(&results.bound.text)
    ));
    if let Some(error) = &results.error {
        let lines: Vec<String> = error.lines().map(shown).collect();
        out.push_str(&format!(
            "<pre class=\"error\">{}</pre>\n",
            lines.join("\n")
        ));
    }
    for warning in &results.warnings {
        out.push_str(&format!(
            "<p class=\"facts\">Warning: {}</p>\n",
            shown(warning)
        ));
    }
    let stats = &results.stats;
    let coverage = &results.coverage;
    let first = match (
        stats.runs_to_first_difference,
        stats.seconds_to_first_difference,
    ) {
        (Some(runs), _) => format!("run {}", wording::grouped(runs)),
        (None, Some(seconds)) => wording::duration(seconds),
        (None, None) => "–".into(),
    };
    let tiles = [
        (
            "differences",
            wording::grouped(results.differences.len() as u64),
        ),
        ("first found", first),
        ("runs", wording::grouped(stats.runs)),
        ("pairs of paths", wording::grouped(stats.pairs)),
        ("queries", wording::grouped(stats.queries)),
        (
            "changed lines",
            format!(
                "{} / {}",
                coverage.covered_changed_lines, coverage.changed_lines
            ),
        ),
        ("time", wording::duration(stats.seconds)),
    ];
    out.push_str("<dl class=\"tiles\">");
    for (name, value) in tiles {
        let class = if value.len() > BESIDE {
            " class=\"long\""
        } else {
            ""
        };
        out.push_str(&format!(
            "<div{class}><dt>{name}</dt><dd>{value}</dd></div>"
        ));
    }
    out.push_str("</dl>\n</div>\n");
}

fn push_navigation(out: &mut String, sections: &[Section]) {
    out.push_str("<nav><div>");
    for section in sections {
        out.push_str(&format!(
            "<a href=\"#{}\">{}</a>",
            section.id, section.title
        ));
    }
    out.push_str("</div></nav>\n");
}

/// Longer values get a line of their own.
const BESIDE: usize = 24;

fn settings(results: &Results) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    let stats = serde_json::to_value(&results.stats).unwrap_or_default();
    let stats = stats.as_object().into_iter().flatten();
    for (name, value) in &results.settings {
        if let Some(value) = wording::setting(name, value) {
            rows.push((name.replace(['_', '-'], " "), value));
        }
    }
    for (name, value) in stats {
        let value = match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => continue,
            serde_json::Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => wording::grouped(whole),
                (None, Some(real)) => format!("{real:.3}"),
                _ => number.to_string(),
            },
            serde_json::Value::Object(parts) => {
                let parts = parts.iter().map(|(name, value)| format!("{name} {value}"));
                parts.collect::<Vec<_>>().join(", ").replace('_', " ")
            }
            other => other.to_string(),
        };
        rows.push((name.replace('_', " "), value));
    }
    let mut out = String::from("<div class=\"card\"><dl class=\"settings\">");
    for (name, value) in rows {
        let (name, value) = (printable(&name), printable(&value));
        let class = if value.len() > BESIDE {
            " class=\"long\""
        } else {
            ""
        };
        out.push_str(&format!(
            "<div{class}><dt>{name}</dt><dd>{value}</dd></div>"
        ));
    }
    out.push_str("</dl></div>\n");
    out
}

/// Text that is already printable.
fn text(text: &str) -> String {
    escape::html(text)
}

/// Text from anywhere, on one line, nothing lost.
fn printable(text: &str) -> String {
    escape::html(&printable_str(text))
}

/// Source or messages: readable first.
fn shown(text: &str) -> String {
    escape::html(&visible(text))
}
