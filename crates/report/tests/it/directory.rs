//! The output directory: whole at every moment, and never somebody else's.

use crate::sample;
use changeling_report::case::Case;
use changeling_report::directory::{DirectoryError, OutputDirectory};
use changeling_report::results::Results;
use changeling_report::seeds;
use std::path::Path;

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_leaves_the_documented_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let out = OutputDirectory::create(&path).unwrap();
    let mut results = sample::results();
    let versions = results.versions.clone();
    for difference in &mut results.differences {
        difference.case = out.add_case(&Case::of(difference, &versions)).unwrap();
    }
    out.log()
        .unwrap()
        .append(&serde_json::json!({"tried": 1}))
        .unwrap();
    out.add_input(&sample::input()).unwrap();
    out.write_reports(&results).unwrap();
    let expected = [
        ".changeling-out",
        "cases",
        "corpus",
        "inputs",
        "junit.xml",
        "log.jsonl",
        "report.html",
        "report.md",
        "results.json",
        "results.sarif",
        "summary.txt",
    ];
    assert_eq!(names(&path), expected);
    let json = std::fs::read_to_string(path.join("results.json")).unwrap();
    let back = Results::from_json(&json).unwrap();
    for difference in &back.differences {
        let case = Case::read(&path.join(&difference.case)).unwrap();
        assert_eq!(case.input, difference.input.to_input());
    }
    assert_eq!(out.cases().unwrap().len(), 3);
}

#[test]
fn the_run_before_is_kept_and_the_one_before_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for run in ["first", "second", "third"] {
        let out = OutputDirectory::create(&path).unwrap();
        std::fs::write(out.path().join("summary.txt"), run).unwrap();
        std::fs::write(out.path().join(format!("note-{run}")), run).unwrap();
    }
    let summary = |folder: &Path| std::fs::read_to_string(folder.join("summary.txt")).unwrap();
    assert_eq!(summary(&path), "third");
    assert_eq!(summary(&folder.path().join("out.old")), "second");
    // What is not ours stays.
    for run in ["first", "second", "third"] {
        assert!(path.join(format!("note-{run}")).is_file(), "{run}");
    }
    assert_eq!(names(folder.path()), ["out", "out.old"]);
}

#[test]
fn two_runs_do_not_write_in_the_same_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let first = OutputDirectory::create(&path).unwrap();
    for result in [OutputDirectory::create(&path), OutputDirectory::open(&path)] {
        assert!(matches!(result, Err(DirectoryError::Busy(_))));
    }
    first.write_snapshot(&sample::results()).unwrap();
    // Whoever has a copy of it writes in it.
    let copy = first.clone();
    drop(first);
    assert!(matches!(
        OutputDirectory::open(&path),
        Err(DirectoryError::Busy(_))
    ));
    drop(copy);
    OutputDirectory::create(&path).unwrap();
    assert!(folder.path().join("out.old/results.json").is_file());
}

#[test]
fn a_directory_that_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "precious").unwrap();
    for result in [
        OutputDirectory::create(folder.path()),
        OutputDirectory::open(folder.path()),
    ] {
        assert!(matches!(result, Err(DirectoryError::Foreign(_))));
    }
    assert_eq!(names(folder.path()), ["thesis.tex"]);
    let path = folder.path().join("out");
    OutputDirectory::create(&path).unwrap();
    std::fs::create_dir(folder.path().join("out.old")).unwrap();
    std::fs::write(folder.path().join("out.old/mine"), "precious").unwrap();
    assert!(matches!(
        OutputDirectory::create(&path),
        Err(DirectoryError::Foreign(_))
    ));
}

#[test]
fn going_on_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let results = sample::results();
    let case = Case::of(&results.differences[0], &results.versions);
    OutputDirectory::create(&path)
        .unwrap()
        .add_case(&case)
        .unwrap();
    let out = OutputDirectory::open(&path).unwrap();
    assert_eq!(out.cases().unwrap(), [case]);
}

/// A killed run leaves what it was writing, and at worst a case under two names.
#[test]
fn what_a_killed_run_was_writing_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let out = OutputDirectory::create(&path).unwrap();
    let results = sample::results();
    let mut case = Case::of(&results.differences[0], &results.versions);
    let first = out.add_case(&case).unwrap();
    case.title = "another name".into();
    let second = out.add_case(&case).unwrap();
    drop(out);
    std::fs::create_dir(path.join("cases/.tmp-abc")).unwrap();
    std::fs::write(path.join("cases/.tmp-abc/stdin.bin"), "half").unwrap();
    std::fs::write(path.join(".tmp-def"), "half").unwrap();
    std::fs::write(path.join("corpus/.tmp-ghi"), "half").unwrap();
    let out = OutputDirectory::open(&path).unwrap();
    assert_eq!(names(&path), [".changeling-out", "cases", "corpus"]);
    assert_eq!(names(&path.join("corpus")), [""; 0]);
    let mut both = out.folders_of(&case.id);
    both.sort();
    let mut expected = [first.clone(), second.clone()];
    expected.sort();
    assert_eq!(both, expected);
    out.remove_case(&first);
    assert_eq!(out.folders_of(&case.id), std::slice::from_ref(&second));
    assert_eq!(
        names(&path.join("cases")),
        [second.trim_start_matches("cases/")]
    );
}

#[test]
fn inputs_are_kept_once_and_come_back_as_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let out = OutputDirectory::create(&folder.path().join("out")).unwrap();
    let mut shape = sample::input();
    let mut other = sample::input();
    other.streams[1].bytes = b"b".to_vec();
    for input in [&shape, &other, &shape] {
        out.add_input(input).unwrap();
    }
    // The main stream is equal, but the inputs are not.
    assert_eq!(names(&out.path().join("corpus")).len(), 2);
    let original = shape.clone();
    shape
        .streams
        .iter_mut()
        .for_each(|stream| stream.bytes.clear());
    let seeds = seeds::load(&out.path().join("inputs"), &shape).unwrap();
    let found: Vec<_> = seeds.into_iter().map(|seed| seed.input).collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&original) && found.contains(&other));
}

#[test]
fn long_outputs_are_cut_in_results_but_not_in_cases() {
    let folder = tempfile::tempdir().unwrap();
    let out = OutputDirectory::create(&folder.path().join("out")).unwrap();
    let mut results = sample::results();
    results.differences[0].base.stdout = "x\n".repeat(200_000).as_str().into();
    results.differences[0].case = out
        .add_case(&Case::of(&results.differences[0], &results.versions))
        .unwrap();
    out.write_snapshot(&results).unwrap();
    let json = std::fs::read_to_string(out.path().join("results.json")).unwrap();
    let back = Results::from_json(&json).unwrap();
    assert_eq!(back.differences[0].base.stdout.len(), 64 * 1024);
    assert!(back.differences[0].base.truncated && !back.differences[1].base.truncated);
    let case = Case::read(&out.path().join(&back.differences[0].case)).unwrap();
    assert_eq!(case.base.stdout.len(), 400_000);
}
