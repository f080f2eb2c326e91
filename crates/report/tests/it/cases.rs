//! Cases are written, read back and reproduced.

use crate::sample;
use changeling_report::case::{Case, CaseError};
use changeling_report::results::{Bytes, End, FileWritten, Kind, Outcome};
use changeling_trace::input::Argument;
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

pub fn program(folder: &Path, name: &str, ending: &str) -> PathBuf {
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

pub fn case(folder: &Path) -> Case {
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

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

pub fn text(output: &Output) -> String {
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

/// Scripts and exported tests of a case write its files.
#[test]
fn a_case_from_elsewhere_cannot_name_files_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = case(folder.path())
        .write(&folder.path().join("cases"))
        .unwrap();
    let file = path.join("case.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(Case::read(&path).is_ok());
    for (from, to) in [
        ("\"data/in.txt\"", "\"../../in.txt\""),
        ("\"data/in.txt\"", "\"/tmp/in.txt\""),
        ("\"written.txt\"", "\"../written.txt\""),
        ("name = \"MODE\"", "name = \"MO=DE\""),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
        let error = Case::read(&path).unwrap_err();
        assert!(matches!(error, CaseError::Damaged { .. }), "{error}");
    }
}
