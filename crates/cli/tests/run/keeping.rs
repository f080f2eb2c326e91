//! What is kept: work of earlier runs, and files of the user.

use super::room::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const OLD: &str = r#"#include <stdio.h>
int main(void) {
    int c = getchar(), d = getchar();
    if (c == 'a') puts("a");
    if (c == 'b') puts("b");
    if (d == 'c') puts("c");
    if (d == 'd') puts("d");
}
"#;

fn pair(room: &Room) {
    room.write("old.c", OLD);
    room.write("new.c", OLD.replace("\"d\"", "\"D\""));
}

#[test]
fn a_resumed_run_neither_counts_nor_writes_what_was_run_before() {
    let room = Room::new();
    pair(&room);
    let run = [
        "run", "old.c", "new.c", "--stdin", "2", "--jobs", "1", "--runs", "3",
    ];
    let warnings = |more: &[&str]| -> String {
        let said = room.changeling(&[&run[..], more].concat());
        assert!(
            matches!(said.code, Some(0..=3)),
            "{}{}",
            said.stdout,
            said.stderr
        );
        room.results()["warnings"].to_string()
    };
    warnings(&[]);
    assert_eq!(room.inputs().len(), 3);
    warnings(&["--resume"]);
    let inputs = room.inputs();
    let unique: BTreeSet<&String> = inputs.iter().collect();
    assert_eq!((inputs.len(), unique.len()), (6, 6));
    assert_eq!(room.results()["stats"]["runs"], 6);

    // Something is lost: that is no change of the versions.
    let path = room.path(".changeling/out/search.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 5]).unwrap();
    let said = warnings(&["--resume"]);
    assert!(said.contains("1 line of it cannot be read"), "{said}");
    assert!(!said.contains("versions have changed"), "{said}");
    let headless = text.replace("{\"search\"", "{\"");
    std::fs::write(&path, headless).unwrap();
    let said = warnings(&["--resume"]);
    assert!(said.contains("nobody can tell which versions"), "{said}");
    assert!(said.contains("6 inputs"), "{said}");
    assert_eq!(room.inputs().len(), 3);
}

#[test]
fn files_of_the_user_stay() {
    let room = Room::new();
    pair(&room);
    std::fs::create_dir(room.path("far")).unwrap();
    std::os::unix::fs::symlink("far", room.path("found")).unwrap();
    let run = [
        "run", "old.c", "new.c", "--stdin", "2", "--jobs", "1", "--out",
    ];
    let run = |out: &str| room.changeling(&[&run[..], &[out, "--json-lines"]].concat());
    // A link is written through.
    for _ in 0..3 {
        let said = run("found");
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        room.write("far/notes.txt", "mine");
        room.write("far/mine/notes.txt", "mine");
    }
    assert!(room.path("found").is_symlink());
    assert!(room.path("far/results.json").is_file());
    assert!(room.path("far/mine/notes.txt").is_file());
    for out in ["far", "far.old"] {
        let kept = room.path(out).join("notes.txt").is_file();
        assert_eq!(kept, out == "far", "{out}");
    }
    std::os::unix::fs::symlink("gone", room.path("lost")).unwrap();
    let said = run("lost");
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(
        said.stderr.contains("lost is a link to gone"),
        "{}",
        said.stderr
    );

    // The log and the results say the same.
    let log = std::fs::read_to_string(room.path("far/log.jsonl")).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let found = lines
        .iter()
        .find(|line| line["event"] == "difference")
        .unwrap();
    assert_eq!(found["kind"], "output");
    let case = std::fs::read_dir(room.path("far/cases"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let case = case.file_name().into_string().unwrap();
    let accept = room.changeling(&["accept", &case, "--out", "found"]);
    assert_eq!(accept.code, Some(0), "{}", accept.stderr);
    let accepted = std::fs::read_to_string(room.path(".changeling/accepted.toml")).unwrap();
    assert!(accepted.contains("new.c:7 in main"), "{accepted}");
    assert!(accepted.contains("stdin"), "{accepted}");
    let export = [
        "export", &case, "--out", "found", "--as", "sh", "--to", "tests",
    ];
    for _ in 0..2 {
        let said = room.changeling(&export);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let script = room.path(&format!("tests/{case}.sh"));
    std::fs::write(&script, "mine").unwrap();
    let said = room.changeling(&export);
    assert_eq!(said.code, Some(31), "{}", said.stderr);
    assert_eq!(std::fs::read(&script).unwrap(), b"mine");
    let said = run("found");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let log = std::fs::read_to_string(room.path("far/log.jsonl")).unwrap();
    let end: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(end["verdict"], "none-found", "{log}");
}

/// Another program of the same tree would be judged otherwise.
#[test]
fn a_case_is_built_as_it_was_found() {
    let room = Room::new();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let said = said(
            command
                .current_dir(room.folder.path())
                .args(name)
                .args(arguments),
        );
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    };
    room.write("Makefile", "trap: trap.c\n\t$(CC) -o $@ trap.c\n");
    room.write("trap.c", "int main(void) { return 7; }\n");
    room.write("sub/Makefile", "t: t.c\n\t$(CC) -o $@ t.c\n");
    room.write("sub/t.c", OLD);
    room.write(".gitignore", ".changeling\n");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "old"]);
    room.write("sub/t.c", OLD.replace("\"d\"", "\"D\""));
    git(&["commit", "-qam", "new"]);
    let built = [
        "--build",
        "make -C sub",
        "--program",
        "sub/t",
        "--jobs",
        "1",
    ];
    let run = ["run", "--base", "HEAD~1", "--head", "HEAD", "--stdin", "2"];
    let said = room.changeling(&[&run[..], &built].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    for (arguments, code) in [
        (&["--bisect", "HEAD~1"][..], 0),
        (&["--bisect"], 1),
        (&["HEAD~1", "HEAD"], 1),
        (
            &["HEAD~1", "HEAD", "--build", "make", "--program", "trap"],
            0,
        ),
    ] {
        let said = room.changeling(&[&["replay", "1"], arguments].concat());
        assert_eq!(
            said.code,
            Some(code),
            "{arguments:?}: {}{}",
            said.stdout,
            said.stderr
        );
    }
    // Reports name files as the user finds them.
    let sarif = std::fs::read_to_string(room.path(".changeling/out/results.sarif")).unwrap();
    assert!(sarif.contains("\"uri\": \"sub/t.c\""), "{sarif}");
}
