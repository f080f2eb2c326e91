//! What the text reports say, and that nothing hostile becomes active in them.

use crate::sample;
use changeling_report::results::{
    Bound, Bytes, Class, Golden, Outcome, Results, Stopped, Verdict, Version, Versions,
};
use changeling_report::terminal::{self, Style};
use changeling_report::{escape, html, junit, markdown, sarif};
use serde_json::Value;

fn empty(verdict: Verdict, stopped: Stopped) -> Results {
    let mut results = Results::new(Bound::of(&sample::input()), Versions::default());
    results.verdict = verdict;
    results.stopped = stopped;
    results
}

/// All verdicts, for reports that must hold in each.
fn all() -> Vec<Results> {
    let mut failed = empty(Verdict::CouldNotRun, Stopped::Error);
    failed.error = Some(format!("cannot build base\n{}", sample::HOSTILE));
    let mut inconclusive = empty(Verdict::NoneFound, Stopped::Runs);
    inconclusive.inconclusive = Some("no run ended in time".into());
    vec![
        sample::results(),
        empty(Verdict::NoneFound, Stopped::Time),
        empty(Verdict::Equivalent, Stopped::Exhausted),
        empty(Verdict::NoneFound, Stopped::Running),
        failed,
        inconclusive,
    ]
}

#[test]
fn the_summary_begins_with_the_verdict_and_says_what_matters() {
    let text = terminal::summary(&sample::results(), "out", Style::plain(100));
    assert!(
        text.starts_with(
            "differences found: 3 on 42 of the inputs tried, each replayed natively\n"
        ),
        "{text}"
    );
    let flat = text.replace("\n    ", " ");
    for part in [
        "1. head crashes  (7 inputs show it)",
        "stdin            \"12 + 30\\n\\xff\\x00\"",
        "command line \"-c 'q'\" \"--\\nx\\n\"",
        "exit 0",
        "killed by SIGSEGV (11)",
        "enters src/parse number.c:41-47 in parse_number",
        "+        if (value > LONG_MAX / 10)",
        "reproduce sh out/cases/0001-crash/reproduce.sh",
        "380× head src/parse number.c:63 in strtod: argument of a call without a model (stdin[0..3], arg2[1])",
        "changed lines executed: 4 of 6",
        "changes no run entered: src/parse number.c:58",
        "critical sequence of difference 1: changes 3 (src/parse number.c:41) → 5 (src/parse number.c:70)",
        "changes no input can reach: src/parse number.c:70",
        "not explored: flip not tried, 213 times",
        "accepted before, not shown: 1 difference on 4 inputs",
        "suspected, not confirmed:",
        "changeling accept out/cases/0001-crash",
        "--resume",
    ] {
        assert!(flat.contains(part), "{part:?} is missing in:\n{text}");
    }
}

/// Inputs of one group may be of several classes, and one run is not *all 1 runs*.
#[test]
fn what_a_golden_version_says_is_in_all_reports() {
    let mut results = sample::results();
    results.versions.golden = Some(Version {
        label: "right.c".into(),
        ..Version::default()
    });
    let difference = &mut results.differences[0];
    difference.golden = Some(Golden {
        class: Class::IncompleteFix,
        outcome: Some(Outcome {
            stdout: Bytes::from("right"),
            ..Outcome::default()
        }),
        reason: None,
        classes: [(Class::Progression, 30), (Class::IncompleteFix, 1)].into(),
    });
    let critical = difference.critical.as_mut().unwrap();
    (critical.runs, critical.differing, critical.others) = (1, 1, 1);
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let summary = flat(terminal::summary(&results, "out", Style::plain(100)));
    let said = "incomplete fix: the golden version does neither (exit 0, stdout \"right\"); its inputs by class: incomplete fix 1, progression 30";
    assert!(summary.contains(said), "{summary}");
    let only = "The only run that shows it enters them in this order, 1 run does so in all; the only other run does not";
    assert!(summary.contains(only), "{summary}");
    let comment = markdown::document(&results);
    assert!(
        comment.contains("this is the simplest incomplete fix."),
        "{comment}"
    );
    assert!(comment.contains(", golden `right.c`"), "{comment}");
    let page = html::page(&results);
    assert!(page.contains("<b>golden</b><code>right.c</code>"), "{page}");
}

#[test]
fn the_differing_part_is_marked_with_and_without_colour() {
    let results = sample::results();
    let plain = terminal::difference(&results.differences[1], Style::plain(100));
    let at = plain
        .lines()
        .position(|line| line.contains("total 9455 in 30 rows") && line.contains('│'))
        .unwrap();
    let lines: Vec<&str> = plain.lines().collect();
    let base = lines[at].find("9455").unwrap() + 3;
    assert_eq!(lines[at + 1].find('^'), Some(base), "{plain}");
    assert!(lines[at].contains("9456 in 30 rows⊣"), "{plain}");
    assert_eq!(
        lines[at + 1].matches('^').count(),
        3,
        "two digits and a missing line break"
    );
    assert!(!plain.contains('\u{1b}'));
    let colour = terminal::difference(
        &results.differences[1],
        Style {
            colour: true,
            width: 100,
        },
    );
    assert!(colour.contains("\u{1b}[1;36m5"), "{colour}");
    assert!(!colour.contains('^'));
}

#[test]
fn lines_fit_the_width() {
    use unicode_width::UnicodeWidthStr;
    for width in [60, 100, 140] {
        let mut results = sample::results();
        // Paths to type in must stay whole, whatever their length.
        results
            .differences
            .iter_mut()
            .for_each(|d| d.case = "c".into());
        let text = terminal::summary(&results, "o", Style::plain(width));
        for line in text.lines().filter(|line| line.contains('│')) {
            assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
    }
}

/// A line that is cut says so; what a change has at the end of a long line is shown.
#[test]
fn what_does_not_fit_is_marked() {
    let mut difference = sample::results().differences.remove(1);
    let long = |end: &str| format!("{}{end}", "word ".repeat(30));
    difference.base.stdout = long("\n").into_bytes().into();
    difference.head.stdout = Vec::new().into();
    difference.changes.truncate(1);
    difference.changes[0].hunk = format!("-{}\n+{}\n", long("old"), long("new"));
    let text = terminal::difference(&difference, Style::plain(80));
    let row = |text: &str| text.contains('│') && text.contains("word word");
    let row = text.lines().find(|line| row(line)).unwrap();
    assert!(row.contains("…  │") || row.contains("… │"), "{text}");
    for part in ["old", "new"] {
        let mut lines = text.lines().map(str::trim_end);
        assert!(lines.any(|line| line.ends_with(part)), "{part} in {text}");
    }
    let mut words = text.lines().filter(|line| line.contains("word"));
    assert!(words.all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn of_many_files_a_few_are_shown() {
    use changeling_report::results::FileWritten;
    let mut results = sample::results();
    let files = |text: &str| -> Vec<FileWritten> {
        let file = |number| FileWritten {
            name: format!("f{number}"),
            bytes: text.as_bytes().to_vec().into(),
        };
        (0..3000).map(file).collect()
    };
    results.differences.truncate(1);
    results.differences[0].base.files = files("a\n");
    results.differences[0].head.files = files("b\n");
    let text = terminal::summary(&results, "out", Style::plain(80));
    assert!(text.lines().count() < 100, "{}", text.lines().count());
    assert!(text.contains("… 2,996 more files differ"), "{text}");
    let text = markdown::document(&results);
    assert!(text.lines().count() < 300, "{}", text.lines().count());
    assert!(text.contains("… 2,992 more files differ"), "{text}");
    assert!(html::page(&results).contains("… 2,980 more files differ"));
}

#[test]
fn commands_can_be_typed_as_they_are_shown() {
    let text = terminal::summary(&sample::results(), "my out", Style::plain(100));
    for part in [
        "reproduce sh 'my out/cases/0001-crash/reproduce.sh'",
        "\n  sh 'my out/cases/0001-crash/reproduce.sh'  ",
        "changeling accept 'my out/cases/0001-crash'  ",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[test]
fn no_control_character_of_a_program_reaches_the_terminal() {
    for results in all() {
        let text = terminal::summary(&results, "out", Style::plain(80));
        let bad = text.chars().find(|&c| c != '\n' && escape::is_deceptive(c));
        assert_eq!(bad, None, "{text}");
    }
}

#[test]
fn markdown_is_short_and_tame() {
    for results in all() {
        let text = markdown::document(&results);
        assert!(text.starts_with("### "));
        let mut fence: Option<String> = None;
        for line in text.lines() {
            let ticks: String = line.chars().take_while(|&c| c == '`').collect();
            match &fence {
                Some(open) if line == open => fence = None,
                Some(_) => {}
                None if ticks.len() >= 3 => fence = Some(ticks),
                None => {
                    let code_less = without_code(line);
                    assert!(!code_less.contains("<script"), "{line}");
                    assert!(!code_less.contains("@all"), "a mention is left: {line}");
                    // A block of HTML, where images are not read.
                    let block = line.starts_with("<details>");
                    assert!(block || !code_less.contains("![x]"), "{line}");
                }
            }
        }
        assert_eq!(fence, None, "a block does not end");
        assert_eq!(
            text.matches("<details>").count(),
            text.matches("</details>\n").count()
        );
    }
    let text = markdown::document(&sample::results());
    let row = text.lines().find(|line| line.starts_with("| 1 |")).unwrap();
    assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
    assert!(
        text.contains("- total 9455 in 30 rows\n+ total 9456 in 30 rows⊣\n"),
        "{text}"
    );
}

/// Removes code spans.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        if rest[..start].ends_with('\\') {
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        out.push_str(&rest[..start]);
        let ticks: String = rest[start..].chars().take_while(|&c| c == '`').collect();
        let inner = &rest[start + ticks.len()..];
        let Some(end) = inner.find(&ticks) else {
            panic!("a code span does not end: {line}")
        };
        rest = &inner[end + ticks.len()..];
    }
    out + rest
}

#[test]
fn a_very_long_report_is_cut() {
    let mut results = sample::results();
    let one = results.differences[1].clone();
    results.differences = vec![one; 400];
    let text = markdown::document(&results);
    assert!(text.len() < 66_000, "{}", text.len());
    assert!(text.contains("more in the HTML report"));
}

#[test]
fn junit_counts_agree_and_markup_is_closed() {
    for results in all() {
        let text = junit::document(&results);
        let cases = text.matches("<testcase ").count();
        assert!(text.contains(&format!("tests=\"{cases}\"")), "{text}");
        let failures = text.matches("<failure ").count();
        assert!(text.contains(&format!("failures=\"{failures}\"")), "{text}");
        assert_eq!(failures, results.differences.len());
        let errors = text.matches("<error ").count();
        assert_eq!(errors == 1, results.verdict == Verdict::CouldNotRun);
        check_xml(&text);
    }
}

/// Well-formed for the subset we write: elements, attributes, no comments.
fn check_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let body = text
        .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        .unwrap();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    for (at, _) in body.match_indices('&') {
        let entity = &body[at..at + body[at..].find(';').expect("an entity ends")];
        let known = ["&amp", "&lt", "&gt", "&quot", "&apos"].contains(&entity);
        assert!(
            known
                || entity
                    .strip_prefix("&#")
                    .is_some_and(|n| n.parse::<u32>().is_ok()),
            "{entity}"
        );
    }
    assert!(!body.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn sarif_is_valid() {
    let schema: Value = serde_json::from_str(include_str!("sarif.schema.json")).unwrap();
    let schema = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    for results in all() {
        let log: Value = serde_json::from_str(&sarif::log(&results)).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new());
        let rules = log["runs"][0]["tool"]["driver"]["rules"]
            .as_array()
            .unwrap();
        for result in log["runs"][0]["results"].as_array().unwrap() {
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
        }
    }
    let text = sarif::log(&sample::results());
    let log: Value = serde_json::from_str(&text).unwrap();
    let first = &log["runs"][0]["results"][0];
    assert_eq!(first["level"], "error");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"]["uri"],
        "lib/tool/src/parse%20number.c"
    );
    assert_eq!(place["region"]["startLine"], 41);
    assert!(
        place["region"]["snippet"]["text"]
            .as_str()
            .unwrap()
            .contains("parse_number")
    );
}

#[test]
fn html_needs_nothing_from_outside() {
    for results in all() {
        let page = html::page(&results);
        assert!(page.contains("default-src 'none'"));
        let ran = results.verdict != Verdict::CouldNotRun;
        assert_eq!(
            page.contains("id=\"explored\""),
            ran,
            "what was explored is always said"
        );
        for request in [
            "src=",
            "url(",
            "@import",
            "<link",
            "<script",
            "<iframe",
            "<img",
            "href=\"http",
            "javascript:",
        ] {
            assert!(!page.contains(request), "{request}");
        }
        assert!(!page.chars().any(|c| c != '\n' && escape::is_deceptive(c)));
    }
    let page = html::page(&sample::results());
    assert!(page.contains("<mark>"));
    assert!(page.contains("&lt;script&gt;"));
}
