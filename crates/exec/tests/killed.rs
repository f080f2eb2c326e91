//! What happens when the process that runs programs is itself killed: nothing is left of it. This test is a program of its
//! own because it must be killed for good.

mod support;

use changeling_exec::{ExecError, Layers, Limits, Options, Plain};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{alive, arguments, compile, eventually, small_limits};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("run-until-killed") => run_until_killed(&words[1], &words[2]),
        Some("run-once") => run_once(&words[1]),
        _ => {
            killed_in_the_middle_of_a_run();
            stale_directories_are_swept();
            an_unwritable_scratch_directory_is_named();
            println!("killed: 3 passed");
        }
    }
}

fn layers_named(name: &str) -> Layers {
    if name == "all" {
        Layers::ALL
    } else {
        Layers::LANDLOCK
    }
}

fn start(words: &[&str], temporary: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args(words)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn run_until_killed(layers: &str, marker: &str) {
    let options = Options {
        name: marker.to_string(),
        layers: layers_named(layers),
        ..Options::default()
    };
    let limits = Limits {
        time: Duration::from_secs(120),
        ..small_limits()
    };
    let mut plain = Plain::with_options(&compile("hostile.c"), limits, options).unwrap();
    plain.run(&arguments(&["echo"])).unwrap();
    println!("ready");
    plain.run(&arguments(&["loop"])).unwrap();
}

fn run_once(layers: &str) {
    let options = Options {
        layers: layers_named(layers),
        ..Options::default()
    };
    let result = Plain::with_options(&compile("hostile.c"), small_limits(), options)
        .and_then(|mut plain| plain.run(&arguments(&["echo"])));
    match result {
        Ok(observation) => println!("{}", observation.end),
        Err(error @ ExecError::Scratch { .. }) => println!("refused: {error}"),
        Err(error) => println!("unexpected: {error}"),
    }
}

fn killed_in_the_middle_of_a_run() {
    compile("hostile.c");
    for layers in ["all", "few"] {
        let temporary = tempfile::tempdir().unwrap();
        let marker = support::marker(&format!("killed-{layers}"));
        let mut child = start(&["run-until-killed", layers, &marker], temporary.path());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        // The program, besides the child that carries its name as an argument.
        let started = |line: &String| line.contains("loop");
        eventually("the program runs", || alive(&marker).iter().any(started));
        child.kill().unwrap();
        child.wait().unwrap();
        eventually("everybody is gone", || alive(&marker).is_empty());
        if layers == "all" {
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
        } else {
            // Its directory could not be removed by the dead; the next one does it.
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);
            assert_eq!(
                start(&["run-once", "all"], temporary.path())
                    .wait_with_output()
                    .unwrap()
                    .stdout,
                b"exit code 0\n"
            );
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
        }
    }
}

fn stale_directories_are_swept() {
    let temporary = tempfile::tempdir().unwrap();
    fs::create_dir_all(
        temporary
            .path()
            .join("changeling-scratch-4194305-1-0/work/deep"),
    )
    .unwrap();
    fs::create_dir(temporary.path().join("somebody-elses")).unwrap();
    let output = start(&["run-once", "few"], temporary.path())
        .wait_with_output()
        .unwrap();
    assert_eq!(output.stdout, b"exit code 0\n");
    let left: Vec<_> = fs::read_dir(temporary.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["somebody-elses"]);
}

fn an_unwritable_scratch_directory_is_named() {
    let output = start(&["run-once", "few"], Path::new("/nonexistent"))
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.starts_with("refused: /nonexistent: cannot create the scratch directory"),
        "{text}"
    );
    assert!(text.contains("set TMPDIR"));
}
