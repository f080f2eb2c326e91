//! `results.sarif`: SARIF 2.1.0 for code-scanning views. Each difference is a
//! result at the changes that its input enters.

use crate::escape::printable_str;
use crate::results::{Change, Difference, Kind, Results, Side, Verdict};
use crate::wording;
use serde_json::{Value, json};

pub fn log(results: &Results) -> String {
    let rules: Vec<Value> = Kind::ALL
        .iter()
        .map(|kind| {
            json!({
                "id": kind.name(),
                "shortDescription": { "text": kind.text() },
                "defaultConfiguration": { "level": level(*kind) },
            })
        })
        .collect();
    let found: Vec<Value> = results
        .differences
        .iter()
        .map(|difference| result(difference, results))
        .collect();
    let mut invocation = json!({
        "executionSuccessful": results.verdict != Verdict::CouldNotRun,
        "exitCode": results.exit_code(),
    });
    let mut notes: Vec<Value> = results
        .warnings
        .iter()
        .map(|text| note("warning", text))
        .collect();
    notes.extend(results.error.iter().map(|text| note("error", text)));
    notes.push(note("note", &wording::verdict(results)));
    invocation["toolExecutionNotifications"] = Value::Array(notes);
    let log = json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": { "driver": {
                "name": "Changeling",
                "version": results.tool.version,
                "semanticVersion": results.tool.version,
                "rules": rules,
            } },
            "invocations": [invocation],
            "columnKind": "unicodeCodePoints",
            "results": found,
            "properties": {
                "verdict": results.verdict,
                "bound": results.bound.text,
            },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("a JSON value always serialises");
    text.push('\n');
    text
}

fn level(kind: Kind) -> &'static str {
    match kind {
        Kind::CrashGone | Kind::SanitizerGone | Kind::HangGone => "note",
        kind if kind.is_severe() => "error",
        _ => "warning",
    }
}

fn note(level: &str, text: &str) -> Value {
    json!({ "level": level, "message": { "text": message(text) } })
}

/// SARIF gives meaning to brackets (links) and braces (placeholders).
fn message(text: &str) -> String {
    let text = printable_str(text);
    let text = text.replace('[', "\\[").replace(']', "\\]");
    text.replace('{', "{{").replace('}', "}}")
}

fn result(difference: &Difference, results: &Results) -> Value {
    let index = Kind::ALL.iter().position(|kind| *kind == difference.kind);
    let mut result = json!({
        "ruleId": difference.kind.name(),
        "ruleIndex": index.unwrap_or_default(),
        "level": level(difference.kind),
        "message": { "text": message(&sentence(difference)) },
        "partialFingerprints": { "changelingGroup/v1": printable_str(&difference.group) },
        "occurrenceCount": difference.group_size.max(1),
        "properties": {
            "case": difference.case,
            "base": difference.base.end.text(),
            "head": difference.head.end.text(),
        },
    });
    let mut places: Vec<Value> = difference
        .changes
        .iter()
        .map(|change| location(change, results))
        .collect();
    if !places.is_empty() {
        let rest = places.split_off(1);
        result["locations"] = Value::Array(places);
        if !rest.is_empty() {
            result["relatedLocations"] = Value::Array(rest);
        }
    }
    result
}

fn sentence(difference: &Difference) -> String {
    let title = match difference.title.as_str() {
        "" => difference.kind.text(),
        title => title,
    };
    format!(
        "{title} (base: {}, head: {}). Reproduce: sh {}/reproduce.sh",
        difference.base.end.text(),
        difference.head.end.text(),
        difference.case
    )
}

fn location(change: &Change, results: &Results) -> Value {
    let mut region = json!({
        "startLine": change.lines.first.max(1),
        "endLine": change.lines.last.max(change.lines.first).max(1),
    });
    let source = results
        .sources
        .iter()
        .find(|file| file.version == Side::Head && file.path == change.file);
    let lines: Vec<&str> = source
        .iter()
        .flat_map(|file| &file.lines)
        .filter(|line| change.lines.contains(line.number))
        .map(|line| line.text.as_str())
        .collect();
    if !lines.is_empty() {
        region["snippet"] = json!({ "text": lines.join("\n") });
    }
    let path = wording::user_path(results, &change.file);
    let artifact = match path.starts_with('/') {
        true => json!({ "uri": format!("file:///{}", uri(&path)) }),
        false => json!({ "uri": uri(&path), "uriBaseId": "%SRCROOT%" }),
    };
    json!({
        "physicalLocation": {
            "artifactLocation": artifact,
            "region": region,
        },
        "message": { "text": message(&format!("change {}", wording::change_place(change))) },
    })
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.trim_start_matches('/').bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => out.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
