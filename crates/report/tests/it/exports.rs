//! Cases become tests in other languages.

use crate::cases::{case, program, run, text};
use crate::sample::stream;
use changeling_report::case::Case;
use changeling_report::export::{Expectation, c, rust, shell};
use changeling_report::results::{End, FileWritten, Kind, Side};
use changeling_trace::input::{Input, StreamKind};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn exported_tests_pass_on_one_version_and_fail_on_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let expectation = Expectation { side: Side::Base };
    let (base, head) = (&case.versions.base.binary, &case.versions.head.binary);

    let script = folder.path().join("test.sh");
    std::fs::write(&script, shell::script(&case, expectation, base)).unwrap();
    let source = folder.path().join("test.c");
    std::fs::write(&source, c::test(&case, expectation, base)).unwrap();
    let c_test = folder.path().join("c_test");
    let output = run(Command::new("cc")
        .args(["-Wall", "-Werror"])
        .arg(&source)
        .arg("-o")
        .arg(&c_test));
    assert!(output.status.success(), "{}", text(&output));
    let source = folder.path().join("test.rs");
    std::fs::write(
        &source,
        rust::test(&case, expectation, rust::Program::Path(base)),
    )
    .unwrap();
    let rust_test = folder.path().join("rust_test");
    let output = run(Command::new("rustc")
        .args(["--test", "--edition=2021", "-Dwarnings", "-o"])
        .arg(&rust_test)
        .arg(&source));
    assert!(output.status.success(), "{}", text(&output));

    let commands: [&[&Path]; 3] = [&[Path::new("sh"), &script], &[&c_test], &[&rust_test]];
    for words in commands {
        let command = |program: Option<&str>| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).current_dir(folder.path());
            if let Some(program) = program {
                command.env("PROGRAM", program);
            }
            command.output().unwrap()
        };
        let output = command(None);
        assert!(output.status.success(), "{words:?}: {}", text(&output));
        let output = command(Some(head));
        assert!(!output.status.success(), "{words:?}: {}", text(&output));
    }
    assert!(!folder.path().join("hacked").exists());
}

#[test]
fn bats_tests_hold_the_same_commands() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let text = shell::bats(&case, Expectation { side: Side::Head }, "prog");
    let text = String::from_utf8(text).unwrap();
    let name = text.lines().find(|line| line.starts_with("@test")).unwrap();
    assert!(
        name.ends_with("{") && name.matches('"').count() == 2 && !name.contains('$'),
        "{name}"
    );
    // Bats makes a function of each test; the shell must be able to read it.
    let path = folder.path().join("t.sh");
    std::fs::write(&path, text.replace(name, "case_1() {")).unwrap();
    let output = run(Command::new("sh").arg("-n").arg(&path));
    assert!(output.status.success(), "{}", self::text(&output));
}

#[test]
fn a_harness_becomes_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    case.input = Input {
        streams: vec![stream(StreamKind::Harness, "", 8, b"a\0?\"\xff@SIZE@")],
        arguments: vec![],
    };
    let source = folder.path().join("test.c");
    std::fs::write(
        &source,
        c::test(&case, Expectation { side: Side::Base }, ""),
    )
    .unwrap();
    let harness = folder.path().join("harness.c");
    std::fs::write(
        &harness,
        "#include <stdint.h>\n#include <string.h>\n#include <stddef.h>\n\
         int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) {\n\
         return !(n == 11 && memcmp(d, \"a\\0\\?\\\"\\377@SIZE@\", 11) == 0); }\n",
    )
    .unwrap();
    let program = folder.path().join("t");
    let output = run(Command::new("cc")
        .arg(&source)
        .arg(&harness)
        .arg("-o")
        .arg(&program));
    assert!(output.status.success(), "{}", text(&output));
    assert!(run(&mut Command::new(&program)).status.success());
}

/// Writes a test in a language, compiles it, and says how it is started.
fn exported(case: &Case, side: Side, language: &str, folder: &Path) -> Vec<PathBuf> {
    let expectation = Expectation { side };
    let program = &case.versions.base.binary;
    let contents = match language {
        "sh" => shell::script(case, expectation, program),
        "c" => c::test(case, expectation, program).into_bytes(),
        _ => rust::test(case, expectation, rust::Program::Path(program)).into_bytes(),
    };
    let source = folder.join(format!("test.{language}"));
    std::fs::write(&source, contents).unwrap();
    let mut compiler = match language {
        "sh" => return vec!["sh".into(), source],
        "c" => Command::new("cc"),
        _ => Command::new("rustc"),
    };
    match language {
        "c" => compiler.args(["-Wall", "-Wextra", "-Werror"]),
        _ => compiler.args(["--test", "--edition=2021", "-Dwarnings"]),
    };
    let test = folder.join(format!("test-{language}"));
    let output = run(compiler.arg(&source).arg("-o").arg(&test));
    assert!(output.status.success(), "{}", text(&output));
    vec![test]
}

#[test]
fn exported_tests_see_what_is_left_behind_and_observed() {
    let file = |name: &str, bytes: &str| FileWritten {
        name: name.into(),
        bytes: bytes.into(),
    };
    let observed = |value: &str| changeling_report::results::Observed {
        name: "n".into(),
        value: value.into(),
    };
    /// What both versions do in the end, and the files by which that is noted.
    type Ending<'a> = [(&'a str, Vec<FileWritten>); 2];
    let endings: [Ending; 5] = [
        [
            ("true", vec![]),
            ("echo x >extra", vec![file("extra", "x\n")]),
        ],
        [("mkdir made", vec![file("made/", "")]), ("true", vec![])],
        [
            ("ln -s one made", vec![file("made@", "one")]),
            ("ln -s two made", vec![file("made@", "two")]),
        ],
        [
            ("true", vec![]),
            ("rm data/in.txt", vec![file("data/in.txt (removed)", "")]),
        ],
        [("echo n=1 >&9", vec![]), ("echo n=2 >&9", vec![])],
    ];
    for [base, head] in endings {
        let folder = tempfile::tempdir().unwrap();
        let mut case = case(folder.path());
        case.head = case.base.clone();
        case.kind = Kind::Files;
        if base.0.contains("n=1") {
            case.kind = Kind::Observed;
            case.base.observed = vec![observed("1")];
            case.head.observed = vec![observed("2")];
        }
        for ((ending, files), (name, outcome, version)) in [base, head].into_iter().zip([
            ("base", &mut case.base, &mut case.versions.base),
            ("head", &mut case.head, &mut case.versions.head),
        ]) {
            version.binary = program(folder.path(), name, ending).display().to_string();
            outcome.files.extend(files);
            // Of a name that is not UTF-8 nobody knows what it was.
            outcome.files.push(file("b\\xff", "x"));
        }
        let binaries = [&case.versions.base.binary, &case.versions.head.binary];
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        for (language, sides) in [
            ("sh", &[Side::Base, Side::Head][..]),
            ("c", &[Side::Base, Side::Head]),
            ("rs", &[Side::Base]),
        ] {
            for &side in sides {
                let words = exported(&case, side, language, folder.path());
                for (other, binary) in [Side::Base, Side::Head].into_iter().zip(binaries) {
                    let mut command = Command::new(&words[0]);
                    command.args(&words[1..]).env("PROGRAM", binary);
                    command.env("TMPDIR", &scratch);
                    let output = run(&mut command);
                    let said = text(&output);
                    let passed = output.status.success();
                    assert_eq!(passed, side == other, "{language}, {binary}: {said}");
                }
            }
        }
        let path = case.write(&folder.path().join("cases")).unwrap();
        let mut script = Command::new("sh");
        script
            .arg(path.join("reproduce.sh"))
            .env("TMPDIR", &scratch);
        let output = run(&mut script);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        // Passed or failed, nothing is left of them.
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    }
}

/// What runs the program must be found, whatever the program finds.
#[test]
fn tests_and_scripts_know_their_way_without_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    let variables = [("PATH", &b"?"[..]), ("A.B", b"x\n"), ("-i", b"y")];
    for (name, bytes) in variables {
        let variable = stream(StreamKind::Environment, name, 4, bytes);
        case.input.streams.push(variable);
    }
    case.kind = Kind::Output;
    case.base.files.clear();
    case.head = case.base.clone();
    for (name, outcome, version) in [
        ("base", &mut case.base, &mut case.versions.base),
        ("head", &mut case.head, &mut case.versions.head),
    ] {
        let path = program(folder.path(), name, "");
        let text = "#!/bin/sh\nseen=$PATH; PATH=/usr/bin:/bin\n\
                    tr '\\0' '\\n' </proc/$$/environ | grep -c '^A.B=x'\necho \"$seen";
        std::fs::write(&path, format!("{text} {name}\"\n")).unwrap();
        version.binary = path.display().to_string();
        outcome.stdout.0 = format!("1\n? {name}\n").into_bytes();
    }
    for language in ["sh", "c", "rs"] {
        let words = exported(&case, Side::Base, language, folder.path());
        for (version, passes) in [(&case.versions.base, true), (&case.versions.head, false)] {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).env("PROGRAM", &version.binary);
            let output = run(&mut command);
            assert_eq!(
                output.status.success(),
                passes,
                "{language}: {}",
                text(&output)
            );
        }
    }
    let path = case.write(&folder.path().join("cases")).unwrap();
    let output = run(Command::new("sh").arg(path.join("reproduce.sh")));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("? head"), "{}", text(&output));
}

/// A test that waits for ever tells nobody anything.
#[test]
fn an_exported_rust_test_ends_though_the_program_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    case.kind = Kind::Hang;
    case.head.end = End::TimedOut;
    case.head.stdout = case.base.stdout.clone();
    let hanging = program(folder.path(), "head", "while true; do sleep 1; done");
    let hanging = hanging.display().to_string();
    for (side, passes) in [(Side::Base, false), (Side::Head, true)] {
        let words = exported(&case, side, "rs", folder.path());
        let output = run(Command::new(&words[0]).env("PROGRAM", &hanging));
        assert_eq!(output.status.success(), passes, "{}", text(&output));
    }
}
