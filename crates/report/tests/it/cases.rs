//! Cases are written, read back, reproduced and exported.

use crate::sample;
use crate::sample::stream;
use changeling_report::case::{Case, CaseError};
use changeling_report::export::{Expectation, c, corpus, ktest::KTest, rust, shell};
use changeling_report::results::{Bytes, End, FileWritten, Kind, Outcome, Side};
use changeling_report::seeds::{self, SeedError};
use changeling_trace::input::{Argument, Input, StreamKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Prints everything it receives, so that a test sees whether all of it arrived.
const PROGRAM: &str = r#"#!/bin/sh
printf '%s|' "$@"
printf '%s|' "$MODE"
cat data/in.txt
printf done >written.txt
cat
"#;

fn program(folder: &Path, name: &str, ending: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("{PROGRAM}{ending}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn received() -> Vec<u8> {
    let mut out = b"-c 'q'|--\nx\n|fast'$x|".to_vec();
    out.extend_from_slice(&[0, 1, 2, 3, 250, 251, 252, 253, 10]);
    out.extend_from_slice(b"12 + 30\n\xff\0");
    out
}

fn case(folder: &Path) -> Case {
    let mut base = Outcome {
        stdout: Bytes(received()),
        ..Outcome::default()
    };
    base.files = vec![FileWritten {
        name: "written.txt".into(),
        bytes: "done".into(),
    }];
    let mut head = base.clone();
    head.end = End::Exit(3);
    head.stdout.0.extend_from_slice(b"more\n");
    let mut versions = sample::results().versions;
    versions.base.binary = program(folder, "base it's", "exit 0").display().to_string();
    versions.head.binary = program(folder, "head", "echo more; exit 3")
        .display()
        .to_string();
    Case {
        id: "0001".into(),
        kind: Kind::ExitCode,
        title: "exit 0 became exit 3 \u{1b}[31m*/ `x`\n\"q\" $(touch hacked) @DATA@".into(),
        group: "exit-code@a".into(),
        group_size: 2,
        input: sample::input(),
        base,
        head,
        changes: vec![sample::change()],
        versions,
    }
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn a_case_is_read_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    case.head.observed = vec![changeling_report::results::Observed {
        name: "n".into(),
        value: "\n1".into(),
    }];
    case.head.finding = Some("overflow".into());
    // As long as names of files may be, and longer once it is escaped.
    for end in ["a", "b"] {
        case.head
            .files
            .push(changeling_report::results::FileWritten {
                name: format!("{}{end}", "é".repeat(127)),
                bytes: end.into(),
            });
    }
    case.input.arguments[0] = Argument::Fixed(b"\xff\n".to_vec());
    let parent = folder.path().join("cases");
    let path = case.write(&parent).unwrap();
    assert_eq!(
        path.file_name().unwrap(),
        "0001-exit-0-became-exit-3-31m-x-q-touch-hacke"
    );
    assert_eq!(Case::read(&path).unwrap(), case);
    for name in [
        "case.toml",
        "stdin.bin",
        "arg2.bin",
        "env-MODE.bin",
        "file-data%2Fin.txt.bin",
        "base.stdout",
        "base.stderr",
        "base.exit",
        "head.exit",
        "base.file-written.txt",
        "reproduce.sh",
    ] {
        assert!(path.join(name).is_file(), "{name}");
    }
    assert_eq!(
        std::fs::read(path.join("stdin.bin")).unwrap(),
        b"12 + 30\n\xff\0"
    );
    assert_eq!(std::fs::read(path.join("head.exit")).unwrap(), b"3\n");
    case.write(&parent).unwrap();
    assert_eq!(
        std::fs::read_dir(&parent).unwrap().count(),
        1,
        "nothing temporary is left"
    );
}

#[test]
fn every_way_to_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    for end in [End::Exit(-1), End::Exit(255), End::Signal(6), End::TimedOut] {
        case.head.end = end;
        let path = case.write(folder.path()).unwrap();
        assert_eq!(Case::read(&path).unwrap().head.end, end);
    }
}

#[test]
fn damaged_cases_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let error = Case::read(folder.path()).unwrap_err();
    assert!(matches!(error, CaseError::NotACase(_)), "{error}");
    let path = case.write(folder.path()).unwrap();
    let toml = path.join("case.toml");
    let whole = std::fs::read_to_string(&toml).unwrap();
    for (from, to, expected) in [
        ("format = 1", "format = 8", "format 8"),
        ("format = 1", "", "no `format"),
        ("kind = \"exit-code\"", "kind = \"odd\"", "line"),
        (
            "file = \"stdin.bin\"",
            "file = \"../../etc/passwd\"",
            "not a file name inside",
        ),
        ("file = \"stdin.bin\"", "file = \"gone.bin\"", "gone.bin"),
        ("stream = 1", "stream = 0", "not an argument's stream"),
        ("exit = 3", "exit = 3\nsignal = 2", "exactly one of"),
        ("title = ", "title", "line"),
    ] {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&toml, whole.replacen(from, to, 1)).unwrap();
        let error = Case::read(&path).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("0001-"),
            "{to}: {error}"
        );
    }
    std::fs::write(&toml, whole).unwrap();
    std::fs::write(path.join("stdin.bin"), b"cut").unwrap();
    let error = Case::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("stdin.bin is damaged: it has 3 bytes"),
        "{error}"
    );
}

#[test]
fn the_script_shows_the_difference_without_changeling() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let path = case.write(folder.path()).unwrap();
    let script = path.join("reproduce.sh");
    let output = run(Command::new("sh").arg(&script).current_dir(folder.path()));
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("different: exit stdout\n"), "{shown}");
    assert!(
        shown.contains("base: exit code 0") && shown.contains("head: exit code 3"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\0'),
        "escapes reached the terminal"
    );
    assert!(!folder.path().join("hacked").exists());

    let output = run(Command::new("sh")
        .arg(&script)
        .env("HEAD", &case.versions.base.binary));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    // A relative path works too.
    let output = run(Command::new("sh")
        .arg(&script)
        .env("BASE", "./head")
        .current_dir(folder.path()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let output = run(Command::new("sh")
        .arg(&script)
        .env("HEAD", "/no/such/program"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("set BASE= and HEAD="));
}

#[test]
fn the_script_does_not_let_a_version_fill_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    let flood = folder.path().join("flood");
    std::fs::write(&flood, "#!/bin/sh\nexec yes flood\n").unwrap();
    std::fs::set_permissions(&flood, std::fs::Permissions::from_mode(0o755)).unwrap();
    case.versions.head.binary = flood.display().to_string();
    let path = case.write(folder.path()).unwrap();
    let output = run(Command::new("sh").arg(path.join("reproduce.sh")));
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    // SIGXFSZ, long before the time is over.
    assert!(shown.contains("head: exit code 153\n"), "{shown}");
}

#[test]
fn the_script_hands_over_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut case = case(folder.path());
    // Fails unless all of the input arrived as it is in the case.
    let expected = folder.path().join("expected");
    std::fs::write(&expected, received()).unwrap();
    let checker = folder.path().join("checker");
    let plain = program(folder.path(), "plain", "");
    std::fs::write(
        &checker,
        format!(
            "#!/bin/sh\nsh '{}' \"$@\" | cmp - '{}'\n",
            plain.display(),
            expected.display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(&checker, std::fs::Permissions::from_mode(0o755)).unwrap();
    case.versions.base.binary = checker.display().to_string();
    case.versions.head.binary = checker.display().to_string();
    let path = case.write(folder.path()).unwrap();
    let output = run(Command::new("sh").arg(path.join("reproduce.sh")));
    let shown = text(&output);
    assert!(
        shown.contains("base: exit code 0\n") && shown.contains("no difference"),
        "{shown}"
    );
}

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
        }
        let binaries = [&case.versions.base.binary, &case.versions.head.binary];
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
                    let output = run(&mut command);
                    let said = text(&output);
                    let passed = output.status.success();
                    assert_eq!(passed, side == other, "{language}, {binary}: {said}");
                }
            }
        }
        let path = case.write(&folder.path().join("cases")).unwrap();
        let output = run(Command::new("sh").arg(path.join("reproduce.sh")));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    }
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

#[test]
fn ktest_files_have_the_published_layout() {
    let input = Input {
        streams: vec![
            stream(StreamKind::Argument, "", 3, b"ab"),
            stream(StreamKind::Harness, "", 4, b"\xff"),
        ],
        arguments: vec![Argument::Symbolic(0)],
    };
    let bytes = KTest::of(&input, "p").write();
    let mut expected = b"KTEST\0\0\0\x03\0\0\0\x03".to_vec();
    expected.extend_from_slice(b"\0\0\0\x01p\0\0\0\x09--sym-arg\0\0\0\x013");
    expected.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\0\x03");
    expected.extend_from_slice(b"\0\0\0\x05arg00\0\0\0\x04ab\0\0");
    expected.extend_from_slice(b"\0\0\0\x04data\0\0\0\x01\xff");
    expected.extend_from_slice(b"\0\0\0\x0dmodel_version\0\0\0\x04\x01\0\0\0");
    assert_eq!(bytes, expected);
    assert_eq!(
        KTest::read(&bytes).unwrap().to_input(&input),
        (input, false)
    );
}

/// As KLEE's runtime lays them out, put together here byte by byte: `A-data` is the first symbolic file and its size stands
/// in the structure beside it; arguments and standard input end where KLEE has put zeros.
#[test]
fn ktest_files_of_others_are_read() {
    fn number(value: usize) -> [u8; 4] {
        (value as u32).to_be_bytes()
    }
    fn text(bytes: &[u8]) -> Vec<u8> {
        [&number(bytes.len())[..], bytes].concat()
    }
    let stat = |size: u8| {
        let mut stat = [0; 144];
        stat[24..28].copy_from_slice(&0o100644u32.to_le_bytes());
        stat[48] = size;
        stat
    };
    let (first, second) = (stat(2), stat(3));
    let objects: [(&str, &[u8]); 6] = [
        ("arg00", b"-x\0\0\0"),
        ("A-data", b"\0\xff\0\0"),
        ("A-data-stat", &first),
        ("stdin", b"ab\n\0"),
        ("stdin-stat", &second),
        ("model_version", b"\x01\0\0\0"),
    ];
    let shape = Input {
        streams: vec![
            stream(StreamKind::Argument, "", 4, b""),
            stream(StreamKind::Stdin, "", 4, b""),
            stream(StreamKind::File, "conf", 4, b""),
        ],
        arguments: vec![Argument::Symbolic(0)],
    };
    for (magic, version) in [(&b"KTEST"[..], 3), (b"BOUT\n", 2)] {
        let mut bytes = [magic, &number(version), &number(3)].concat();
        for argument in [&b"tool.bc"[..], b"--sym-arg", b"4"] {
            bytes.extend(text(argument));
        }
        bytes.extend([number(0), number(0), number(objects.len())].concat());
        for (name, contents) in objects {
            bytes.extend([text(name.as_bytes()), text(contents)].concat());
        }
        let (input, cut) = KTest::read(&bytes).unwrap().to_input(&shape);
        let seen: Vec<&[u8]> = input.streams.iter().map(|s| &s.bytes[..]).collect();
        assert_eq!(seen, [&b"-x"[..], b"ab\n", b"\0\xff"]);
        assert!(!cut);
    }
}

#[test]
fn ktest_keeps_the_whole_input_and_refuses_damage() {
    let input = sample::input();
    let bytes = KTest::of(&input, "prog").write();
    let mut shape = input.clone();
    shape
        .streams
        .iter_mut()
        .for_each(|stream| stream.bytes.clear());
    let test = KTest::read(&bytes).unwrap();
    assert_eq!(test.to_input(&shape), (input, false));
    for end in 0..bytes.len() {
        assert!(KTest::read(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert!(
        KTest::read(&newer)
            .unwrap_err()
            .to_string()
            .contains("version 9")
    );
    // A length beyond the file must not be believed.
    let huge = b"KTEST\0\0\0\x03\xff\xff\xff\xff\xff\xff\xff\xff";
    assert!(KTest::read(huge).is_err());
    // What has no stream is reported, not dropped in silence.
    let (_, lost) = test.to_input(&Input {
        streams: vec![stream(StreamKind::Stdin, "", 4, b"")],
        arguments: vec![],
    });
    assert!(lost);
}

#[test]
fn seeds_come_from_files_folders_cases_and_ktests() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let mut shape = sample::input();
    shape
        .streams
        .iter_mut()
        .for_each(|stream| stream.bytes.clear());
    let corpus_folder = folder.path().join("corpus");
    let small = Input {
        streams: vec![stream(
            StreamKind::Stdin,
            "",
            99,
            b"a rather long line of input",
        )],
        arguments: vec![],
    };
    corpus::write(&corpus_folder, [("0001", &case.input), ("0002", &small)]).unwrap();
    std::fs::write(
        corpus_folder.join("x.ktest"),
        KTest::of(&case.input, "p").write(),
    )
    .unwrap();
    std::fs::write(corpus_folder.join("README.txt"), "notes of a fuzzer").unwrap();
    let saved = case.write(&corpus_folder).unwrap();

    let found = seeds::load(&corpus_folder, &shape).unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|seed| seed.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "0001",
            saved.file_name().unwrap().to_str().unwrap(),
            "0002",
            "x.ktest"
        ]
    );
    assert_eq!(found[0].input.streams[0].bytes, case.input.streams[0].bytes);
    assert_eq!(found[1].input, case.input);
    assert_eq!(found[2].input.streams[0].bytes, b"a rather long li");
    assert_eq!(found[3].input, case.input);
    let cut: Vec<bool> = found.iter().map(|seed| seed.cut).collect();
    assert_eq!(cut, [false, false, true, false]);

    let nothing = Input::default();
    let error = seeds::load(&corpus_folder.join("0001"), &nothing).unwrap_err();
    assert!(matches!(error, SeedError::NoStream(_)), "{error}");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(
        seeds::load(&empty, &shape),
        Err(SeedError::Empty(_))
    ));
    std::fs::write(empty.join("bad.ktest"), "no").unwrap();
    let error = seeds::load(&empty, &shape).unwrap_err().to_string();
    assert!(
        error.contains("bad.ktest") && error.contains("not a .ktest file"),
        "{error}"
    );
}
