//! Results with something in every field.

use changeling_report::results::*;
use changeling_trace::input::{Argument, Input, Stream, StreamKind};
use std::collections::BTreeSet;

/// Text that would become active in one format or another.
pub const HOSTILE: &str =
    "</td><script>window.hacked=1</script>\u{1b}[31m\u{202e}`|@all #1 ]]> --> \"'&\0 ![x](y)";

pub fn stream(kind: StreamKind, name: &str, capacity: usize, bytes: &[u8]) -> Stream {
    Stream {
        kind,
        name: name.into(),
        capacity,
        bytes: bytes.to_vec(),
    }
}

/// An input with a stream of every kind that goes together.
pub fn input() -> Input {
    Input {
        streams: vec![
            stream(StreamKind::Stdin, "", 16, b"12 + 30\n\xff\0"),
            stream(StreamKind::Argument, "", 8, b"--\nx\n"),
            stream(StreamKind::Environment, "MODE", 8, b"fast'$x"),
            stream(
                StreamKind::File,
                "data/in.txt",
                32,
                &[0, 1, 2, 3, 250, 251, 252, 253, 10],
            ),
        ],
        arguments: vec![Argument::Fixed(b"-c 'q'".to_vec()), Argument::Symbolic(1)],
    }
}

pub fn outcome(stdout: &str, end: End) -> Outcome {
    Outcome {
        stdout: Bytes::from(stdout),
        end,
        ..Outcome::default()
    }
}

pub fn change() -> Change {
    Change {
        id: 3,
        file: "src/parse number.c".into(),
        lines: LineRange::new(41, 47),
        base_file: Some("src/parse.c".into()),
        base_lines: Some(LineRange::new(41, 44)),
        function: "parse_number".into(),
        hunk: "@@ -41,4 +41,7 @@ parse_number\n static long parse_number(const char **text) {\n-    while (isdigit(**text))\n-        value = value * 10 + (*(*text)++ - '0');\n+    while (isdigit(**text)) {\n+        if (value > LONG_MAX / 10)\n+            fail(\"number too large\");\n+        value = value * 10 + (*(*text)++ - '0');\n+    }\n".into(),
        runs: Some(212),
        first_run: Some(4),
        unreachable: false,
    }
}

fn difference(number: u64, kind: Kind, title: &str, base: Outcome, head: Outcome) -> Difference {
    Difference {
        golden: None,
        critical: Some(CriticalSequence {
            changes: vec![3, 5],
            runs: 31,
            differing: number * 7,
            others: 1805,
            errors: false,
        }),
        also: Vec::new(),
        id: format!("{number:04}"),
        kind,
        title: title.into(),
        group: format!("{}@src/parse.c:44", kind.name()),
        group_size: number * 7,
        case: format!("cases/{number:04}-{}", kind.name()),
        input: InputView::from(&input()),
        base,
        head,
        changes: vec![change()],
        parting: Some(Place {
            file: "src/parse.c".into(),
            line: 44,
            function: "parse_number".into(),
        }),
        found_by: "flip".into(),
        run: number * 12,
        seconds: number as f64 * 0.4,
    }
}

pub fn results() -> Results {
    let versions = Versions {
        base: Version {
            label: "v1.2".into(),
            binary: "/tmp/cache/ab12/plain".into(),
            root: "/tmp/cache/ab12/tree".into(),
            commit: Some("0f3c9d2".into()),
            ..Version::default()
        },
        head: Version {
            label: "HEAD".into(),
            binary: "/tmp/cache/cd34/plain".into(),
            place: "lib/tool".into(),
            ..Version::default()
        },
        build: Recipe {
            command: Some("make tool".into()),
            flags: vec!["-DX=\"1\"".into()],
            ..Recipe::default()
        },
        ..Versions::default()
    };
    let mut results = Results::new(Bound::of(&input()), versions);
    results.verdict = Verdict::Differences;
    results.stopped = Stopped::Time;
    results.settings.insert("seed".into(), 1.into());
    results.settings.insert("jobs".into(), 2.into());
    results
        .settings
        .insert("guides".into(), "distance,irrelevant".into());
    results.settings.insert("time".into(), "30s".into());
    results.stats = Stats {
        runs: 18_412,
        queries: 25_118,
        unknown: 3,
        pairs: 1_204,
        concretizations: 412,
        seconds: 30.02,
        runs_to_first_difference: Some(12),
        seconds_to_first_difference: Some(0.4),
        base_paths: 611,
        head_paths: 874,
        satisfiable: 20_001,
        unsatisfiable: 5_114,
        timeouts: 1,
        replays: 96,
        corpus: 1_204,
        solver_seconds: 9.1,
        execution_seconds: 14.8,
        ..Stats::default()
    };
    results
        .stats
        .more
        .insert("flips_discarded".into(), 812.into());
    let by_bucket = serde_json::json!({
        "diverge": { "differences": 2, "new_pairs": 14, "runs": 19, "tasks": 77 },
        "reach": { "differences": 0, "new_pairs": 4, "runs": 4, "tasks": 9 },
    });
    results.stats.more.insert("by_bucket".into(), by_bucket);
    let long: String = (1..=30).map(|n| format!("row {n}: {}\n", n * n)).collect();
    let mut crash = outcome("12 + ", End::Signal(11));
    crash.stderr = Bytes(b"fatal: \xff\xfe caught\n".to_vec());
    results.differences.push(difference(
        1,
        Kind::Crash,
        "head is killed by SIGSEGV where base prints 42",
        outcome("12 + 30 = 42\n", End::Exit(0)),
        crash,
    ));
    let mut base = outcome(&format!("{long}total 9455 in 30 rows\n"), End::Exit(0));
    base.files = vec![FileWritten {
        name: "out.csv".into(),
        bytes: Bytes::from("a,b\n1,2\n"),
    }];
    base.observed = vec![Observed {
        name: "depth".into(),
        value: "3".into(),
    }];
    let mut head = outcome(&format!("{long}total 9456 in 30 rows"), End::Exit(0));
    head.files = vec![FileWritten {
        name: "out.csv".into(),
        bytes: Bytes::from("a,b\n1,3\n"),
    }];
    head.observed = vec![Observed {
        name: "depth".into(),
        value: "4".into(),
    }];
    head.truncated = true;
    results.differences.push(difference(
        2,
        Kind::Output,
        "stdout: total 9455 became total 9456",
        base,
        head,
    ));
    let mut hang = outcome(HOSTILE, End::TimedOut);
    hang.finding = Some(HOSTILE.into());
    let mut hostile = difference(
        3,
        Kind::ExitCode,
        HOSTILE,
        outcome("fine\n", End::Exit(0)),
        hang,
    );
    hostile.group = HOSTILE.into();
    hostile.input.streams[0].bytes = Bytes::from(HOSTILE);
    hostile.changes[0].hunk = format!("-{HOSTILE}\n+{HOSTILE}");
    hostile.changes[0].function = HOSTILE.into();
    hostile.changes.push(Change {
        id: 9,
        file: HOSTILE.into(),
        ..change()
    });
    hostile.found_by = HOSTILE.into();
    results.differences.push(hostile);
    results.suspected.push(Suspected {
        kind: Kind::Output,
        title: HOSTILE.into(),
        reason: "the native run of head printed what base printed".into(),
        input: InputView::from(&input()),
        base: Some(outcome("1\n", End::Exit(0))),
        head: Some(outcome("2\n", End::Exit(0))),
        changes: vec![change()],
    });
    results.unstable.push(Unstable {
        version: Side::Head,
        input: InputView::from(&input()),
        detail: format!("stdout changes from run to run {HOSTILE}"),
    });
    results.undefined.push(Undefined {
        title: "stdout differs".into(),
        detail: "equal when memory is filled with zeros".into(),
        input: InputView::from(&input()),
        base: outcome("1\n", End::Exit(0)),
        head: outcome("2\n", End::Exit(0)),
    });
    results.accepted = AcceptedSummary {
        count: 4,
        groups: vec![AcceptedGroup {
            group: "output@a".into(),
            title: HOSTILE.into(),
            count: 4,
        }],
    };
    results.changes = vec![
        change(),
        Change {
            id: 4,
            lines: LineRange::new(58, 58),
            base_lines: None,
            runs: Some(0),
            first_run: None,
            hunk: String::new(),
            ..change()
        },
        Change {
            id: 5,
            lines: LineRange::new(70, 70),
            runs: Some(0),
            first_run: None,
            unreachable: true,
            ..change()
        },
    ];
    results.coverage = Coverage {
        changed_lines: 6,
        covered_changed_lines: 4,
        base_blocks: 120,
        base_covered_blocks: 81,
        head_blocks: 131,
        head_covered_blocks: 90,
    };
    for (count, call, reason) in [
        (380, Some("strtod"), "argument of a call without a model"),
        (24, None, "floating-point operand"),
        (8, Some(HOSTILE), HOSTILE),
    ] {
        results.losses.push(Loss {
            reason: reason.into(),
            call: call.map(str::to_owned),
            version: Side::Head,
            file: "src/parse number.c".into(),
            line: 63,
            count,
            bytes: vec![
                ByteRange {
                    stream: "stdin".into(),
                    first: 0,
                    last: 3,
                },
                ByteRange {
                    stream: "arg2".into(),
                    first: 1,
                    last: 1,
                },
            ],
        });
    }
    for at in 0..60u64 {
        let seconds = at as f64 / 2.0;
        let paths = (1204.0 * (1.0 - (-(seconds) / 8.0).exp())) as u64;
        let differences = [0.4, 0.9, 7.5]
            .iter()
            .filter(|found| **found <= seconds)
            .count() as u64;
        results.timeline.push(Sample {
            seconds,
            runs: at * 310,
            paths,
            differences,
        });
    }
    let source = source();
    let executable: BTreeSet<u32> = (41..=60).filter(|line| line % 5 != 0).collect();
    let covered: BTreeSet<u32> = executable
        .iter()
        .copied()
        .filter(|line| ![43, 58].contains(line))
        .collect();
    for version in [Side::Head, Side::Base] {
        results.sources.push(SourceFile::around_changes(
            version,
            "src/parse number.c",
            source.as_bytes(),
            &[LineRange::new(41, 47), LineRange::new(58, 58)],
            &executable,
            &covered,
            4,
        ));
    }
    results.unexplored.push(Unexplored {
        what: "flip not tried".into(),
        count: 213,
    });
    results
        .warnings
        .push("crc.s has no bitcode: assembler is not traced".into());
    results
}

fn source() -> String {
    let lines = [
        "static long parse_number(const char **text) {",
        "\tlong value = 0;",
        "\twhile (isdigit(**text)) {",
        "\t\tif (value > LONG_MAX / 10)",
        "\t\t\tfail(\"number too large\"); /* </script><b>&amp; */",
        "\t\tvalue = value * 10 + (*(*text)++ - '0');",
        "\t}",
        "\treturn value;",
        "}",
        "",
    ];
    (0..80)
        .map(|n| format!("{}\n", lines[n % lines.len()]))
        .collect()
}
