//! What is written while a run goes on: nothing that was found is lost, and what cannot be written is said.

use crate::room::*;
use serde_json::Value;
use std::collections::BTreeSet;

const OLD: &str = "#include <stdio.h>\nint main(void) { int c = getchar(); puts(c == 'a' ? \"yes\" : \"no\"); }\n";

/// The pair `old.c` and `new.c`, which differs for one input.
fn pair(room: &Room) -> [&'static str; 7] {
    room.write("old.c", OLD);
    room.write("new.c", OLD.replace("yes", "YES"));
    ["run", "old.c", "new.c", "--stdin", "1", "--time", "60s"]
}

/// As on a full disk: what is appended to the log finds no space.
#[test]
fn a_full_disk_is_told_by_an_exit_code_of_its_own() {
    let room = Room::new();
    let run = pair(&room);
    let log = room.path(".changeling/out/log.jsonl");
    room.write(".changeling/out/.changeling-out", "format = 1\n");
    std::os::unix::fs::symlink("/dev/full", &log).unwrap();
    let said = room.changeling(&[&run[..], &["--resume"]].concat());
    assert_eq!(said.code, Some(31), "{}{}", said.stdout, said.stderr);
    let first = said.stderr.lines().next().unwrap();
    assert!(first.starts_with("error: cannot write"), "{first}");
    assert!(first.contains("log.jsonl"), "{first}");
    assert!(first.contains("No space left on device"), "{first}");
    assert!(said.stderr.contains("--resume"), "{}", said.stderr);
    assert!(!said.stdout.contains("report.html"), "{}", said.stdout);
    assert_eq!(room.results()["stopped"], "error");
    // With room again it goes on.
    std::fs::remove_file(&log).unwrap();
    let said = room.changeling(&[&run[..], &["--resume"]].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["stopped"], "exhausted");
}

/// Results that cannot be replaced are as bad as a full disk, also after the search.
#[test]
fn results_that_cannot_be_written_do_not_pass_for_a_verdict() {
    let room = Room::new();
    let run = pair(&room);
    let out = room.path(".changeling/out");
    room.write(".changeling/out/.changeling-out", "format = 1\n");
    std::fs::create_dir_all(out.join("junit.xml/taken")).unwrap();
    let said = room.changeling(&[&run[..], &["--resume"]].concat());
    assert_eq!(said.code, Some(31), "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("junit.xml"), "{}", said.stderr);
    // What was found is told all the same.
    assert!(
        said.stdout.contains("differences found: 1"),
        "{}",
        said.stdout
    );
    assert_eq!(room.results()["verdict"], "differences");
}

/// Groups that turn out to be one are shown as one; every number is somewhere, and so is every case.
#[test]
fn numbers_that_are_missing_from_the_list_are_explained() {
    let room = Room::new();
    let [old, new] = ["old", "new"].map(|side| fixture(&format!("demo/{side}.c")));
    let (old, new) = (old.display().to_string(), new.display().to_string());
    let run = ["run", &old, &new, "--sym-arg", "4", "--jobs", "1"];
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let mut numbers = BTreeSet::new();
    let mut folders = BTreeSet::new();
    let mut groups = Vec::new();
    for difference in results["differences"].as_array().unwrap() {
        let also = difference["also"].as_array().cloned().unwrap_or_default();
        for case in std::iter::once(difference).chain(&also) {
            numbers.insert(case["id"].as_str().unwrap().parse::<usize>().unwrap());
            folders.insert(case["case"].as_str().unwrap().to_owned());
        }
        for case in &also {
            let number = case["id"].as_str().unwrap().trim_start_matches('0');
            groups.push((number.to_owned(), difference["group"].clone()));
        }
    }
    assert_eq!(numbers, (1..=numbers.len()).collect(), "{}", said.stdout);
    let entries = std::fs::read_dir(room.path(".changeling/out/cases")).unwrap();
    let on_disk: BTreeSet<String> = entries
        .map(|entry| format!("cases/{}", entry.unwrap().file_name().display()))
        .collect();
    assert_eq!(folders, on_disk);
    // The example of the manual has such a case; it is a case like any other.
    let (number, group) = groups.first().expect("groups were put together");
    assert!(said.stdout.contains("too)"), "{}", said.stdout);
    assert_eq!(room.changeling(&["replay", number]).code, Some(1));
    let said = room.changeling(&["accept", number]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    room.changeling(&run);
    let left = room.results();
    let mut left = left["differences"].as_array().unwrap().iter();
    assert!(left.all(|difference| difference["group"] != *group));
}

#[test]
fn what_was_found_stays_listed_if_a_resumed_run_cannot_build() {
    let room = Room::new();
    let run = pair(&room);
    assert_eq!(room.changeling(&run).code, Some(1));
    let good = std::fs::read(room.path("new.c")).unwrap();
    room.write("new.c", "int main(void) { return }\n");
    let said = room.changeling(&[&run[..], &["--resume"]].concat());
    assert_eq!(said.code, Some(4), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert_eq!(results["verdict"], "could-not-run");
    assert_eq!(results["differences"].as_array().map(Vec::len), Some(1));
    assert!(room.path(&room.first_case()).join("case.toml").is_file());
    room.write("new.c", good);
    let said = room.changeling(&[&run[..], &["--resume"]].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["differences"][0]["id"], Value::from("0001"));
}

/// What is found to be wrong before anything is built moves no directory away.
#[test]
fn mistakes_leave_the_last_run_alone() {
    let room = Room::new();
    let run = pair(&room);
    assert_eq!(room.changeling(&run).code, Some(1));
    let case = room.path(&room.first_case());
    let before = std::fs::read(room.path(".changeling/out/results.json")).unwrap();
    for wrong in [
        &["--seed", "nope"][..],
        &["--jobs", "100000"],
        &["--env", "A=B=3"],
    ] {
        let said = room.changeling(&[&run[..], wrong].concat());
        assert_eq!(said.code, Some(2), "{wrong:?}: {}", said.stderr);
        assert!(said.stderr.starts_with(&format!("error: {}", wrong[0])));
    }
    room.write(".changeling/accepted.toml", "accepted = 1\n");
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("accepted.toml"), "{}", said.stderr);
    std::fs::remove_file(room.path(".changeling/accepted.toml")).unwrap();
    let after = std::fs::read(room.path(".changeling/out/results.json")).unwrap();
    assert!(before == after && case.join("case.toml").is_file());
    assert!(!room.path(".changeling/out.old").exists());
    // Nor is a file taken for a directory.
    room.write("file", "mine");
    let said = room.changeling(&[&run[..], &["--out", "file"]].concat());
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(
        said.stderr.contains("not an output directory"),
        "{}",
        said.stderr
    );
    assert_eq!(std::fs::read(room.path("file")).unwrap(), b"mine");
    // The last run's cases are there for the next.
    let seed = room.first_case();
    let said = room.changeling(&[&run[..], &["--seed", &seed]].concat());
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let found = &room.results()["differences"][0];
    assert_eq!(
        (&found["run"], &found["found_by"]),
        (&Value::from(1), &Value::from("given input"))
    );
}
