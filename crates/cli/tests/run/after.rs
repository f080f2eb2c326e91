//! `replay`, `accept` and `export`, in a project with settings and a history.

use super::room::*;
use std::process::Command;

const TOOL: &str = "#include <stdio.h>\nint main(void) { int c = getchar(); \
                    puts(c == 'a' ? \"A\" : \"-\"); puts(STAMP); }\n";

fn git(room: &Room, arguments: &[&str]) -> String {
    let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let mut command = Command::new("git");
    command.current_dir(room.folder.path());
    let said = said(command.args(name).args(arguments));
    assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
    said.stdout
}

/// Each revision prints another stamp; the third one cannot be built, the fifth one has the fault.
fn history(room: &Room) {
    git(room, &["init", "-q"]);
    room.write(
        "Makefile",
        "all: tool other\ntool other: tool.c\n\t$(CC) -o $@ tool.c\n",
    );
    room.write(
        "changeling.toml",
        "program = \"tool\"\nstdin = 1\njobs = 1\nruns = 40\nout = \"found\"\nnormalise = \"stamp [0-9]+\"\n",
    );
    room.write(".gitignore", ".changeling\nfound\nfound.old\n");
    for number in 1..=6 {
        let letter = if number < 5 { "'a'" } else { "'b'" };
        let stamp = format!("\"stamp {number}\"");
        let text = TOOL.replace("'a'", letter).replace("STAMP", &stamp);
        let end = if number == 3 { "int x = ;\n" } else { "" };
        room.write("tool.c", text + end);
        git(room, &["add", "-A"]);
        git(room, &["commit", "-qm", &format!("number {number}")]);
    }
}

#[test]
fn what_comes_after_a_run_knows_its_settings() {
    let room = Room::new();
    history(&room);
    let said = room.changeling(&["run", "--base", "HEAD~5", "--head", "HEAD", "--quiet"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert!(room.path("found/cases").is_dir());

    // Numbers are those of the output directory that the settings name, and versions may be revisions.
    let said = room.changeling(&["replay", "1"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    for (old, new, code) in [
        ("HEAD~5", "HEAD~4", 0),
        ("HEAD~5", "HEAD~1", 1),
        ("HEAD~5", ".", 1),
    ] {
        let said = room.changeling(&["replay", "1", old, new]);
        assert_eq!(
            said.code,
            Some(code),
            "{new}: {}{}",
            said.stdout,
            said.stderr
        );
    }
    let said = room.changeling(&["replay", "1", "HEAD~5", "nowhere"]);
    assert_eq!(said.code, Some(16), "{}", said.stderr);
    let neither = "nowhere is neither a file or directory nor a revision";
    assert!(said.stderr.contains(neither), "{}", said.stderr);
    let said = room.changeling(&["export", "1", "--as", "sh", "--to", "tests"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let said = room.changeling(&["accept", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);

    // A case whose builds are gone says how to build them again.
    let folder = std::fs::read_dir(room.path("found/cases")).unwrap();
    let folder = folder.map(|entry| entry.unwrap().path()).next().unwrap();
    let text = std::fs::read_to_string(folder.join("case.toml")).unwrap();
    room.write("moved/case.toml", text.replace("/entries/", "/gone/"));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "case.toml" {
            std::fs::copy(entry.path(), room.path("moved").join(entry.file_name())).unwrap();
        }
    }
    let said = room.changeling(&["replay", "moved"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    let help = "changeling replay moved 'HEAD~5' HEAD";
    assert!(said.stderr.contains(help), "{}", said.stderr);
}

#[test]
fn a_bisection_finds_the_revision_and_mistakes_end_it() {
    let room = Room::new();
    history(&room);
    let said = room.changeling(&["run", "--base", "HEAD~5", "--head", "HEAD", "--quiet"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let bisect = |arguments: &[&str]| {
        git(&room, &["bisect", "start", "HEAD", "HEAD~5"]);
        let mut command = Command::new("git");
        command
            .current_dir(room.folder.path())
            .args(["bisect", "run", env!("CARGO_BIN_EXE_changeling"), "replay"])
            .args(arguments)
            .arg("--cache")
            .arg(cache());
        let said = super::room::said(&mut command);
        git(&room, &["bisect", "reset"]);
        said
    };
    let said = bisect(&["1", "--bisect"]);
    let first = "is the first bad commit";
    assert!(
        said.stdout.contains(first),
        "{}{}",
        said.stdout,
        said.stderr
    );
    assert!(said.stdout.contains("number 5"), "{}", said.stdout);
    for wrong in [&["99", "--bisect"][..], &["1", "--bisect", "--oops"]] {
        let said = bisect(wrong);
        assert!(!said.stdout.contains(first), "{wrong:?}: {}", said.stdout);
        assert_ne!(said.code, Some(0), "{wrong:?}");
    }
}
