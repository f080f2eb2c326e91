//! Time, identity, randomness and addresses are the same in every run, for C, C++ and Rust.

mod support;

use changeling_exec::{End, Layers, Observation, Options, Plain};
use changeling_trace::input::{Input, StreamKind};
use support::{compile, small_limits, stream, text};

fn input() -> Input {
    Input {
        streams: vec![stream(StreamKind::File, "given", b"x")],
        arguments: Vec::new(),
    }
}

/// Two runs in one cage, and one in another.
fn run_thrice(source: &str, options: &Options) -> Observation {
    let program = compile(source);
    let mut plain = Plain::with_options(&program, small_limits(), options.clone()).unwrap();
    let first = plain.run(&input()).unwrap();
    assert_eq!(
        first.end,
        End::Exit(0),
        "{}{}",
        text(&first.stdout),
        text(&first.stderr)
    );
    assert_same(&first, &plain.run(&input()).unwrap());
    let mut other = Plain::with_options(&program, small_limits(), options.clone()).unwrap();
    assert_same(&first, &other.run(&input()).unwrap());
    first
}

fn assert_same(first: &Observation, second: &Observation) {
    let (first_text, second_text) = (text(&first.stdout), text(&second.stdout));
    for (left, right) in first_text.lines().zip(second_text.lines()) {
        assert_eq!(left, right);
    }
    assert_eq!(first, second);
}

fn assert_lines(observation: &Observation, expected: &[&str]) {
    let output = text(&observation.stdout);
    for line in expected {
        assert!(
            output.lines().any(|found| found == *line),
            "`{line}` is missing in:\n{output}"
        );
    }
}

#[test]
fn c_programs_see_the_same_world_every_time() {
    let observation = run_thrice("world.c", &Options::default());
    let expected = [
        "time 1700000000",
        "local Tue Nov 14 22:13:20 2023",
        "time passes",
        "slept 0 1020",
        "condition ETIMEDOUT",
        "semaphore -1",
        "host changeling changeling 1128810289",
        "read 16, fread 16",
        "file 0 1700000000",
        "pid 3 1 3, 3, group 3 session 3",
        "child 5 of 3",
        "opened 1 1 made",
        "wrong -1 EINVAL",
        "nameless kept",
    ];
    assert_lines(&observation, &expected);
    let output = text(&observation.stdout);
    assert!(
        !output.contains("00 00 00 00 00 00 00 00"),
        "zeros are not random:\n{output}"
    );
}

#[test]
fn cpp_programs_see_the_same_world_every_time() {
    assert_lines(
        &run_thrice("world.cpp", &Options::default()),
        &["slept 11", "wait timed out", "thread"],
    );
}

#[test]
fn rust_programs_see_the_same_world_every_time() {
    let observation = run_thrice("world.rs", &Options::default());
    let expected = [
        "timed out true",
        "channel Err(Timeout)",
        "process 3",
        "processors Ok(1)",
        "joined 3",
        "file Ok(true)",
    ];
    assert_lines(&observation, &expected);
    assert!(text(&observation.stdout).contains("slept 1000."));
}

#[test]
fn without_namespaces_the_shim_alone_fixes_most_of_it() {
    let layers = Layers::LANDLOCK;
    for source in ["world.cpp", "world.rs"] {
        let program = compile(source);
        let options = Options {
            layers,
            ..Options::default()
        };
        let mut plain = Plain::with_options(&program, small_limits(), options).unwrap();
        let first = plain.run(&input()).unwrap();
        assert_eq!(first.end, End::Exit(0), "{}", text(&first.stderr));
        assert_same(&first, &plain.run(&input()).unwrap());
    }
    let options = Options {
        layers,
        ..Options::default()
    };
    let mut plain = Plain::with_options(&compile("world.c"), small_limits(), options).unwrap();
    let observation = plain.run(&input()).unwrap();
    let expected = [
        "time 1700000000",
        "host changeling changeling 1128810289",
        "read 16, fread 16",
    ];
    assert_lines(&observation, &expected);
    assert!(text(&observation.stdout).contains("pid 3 1 3, 3,"));
    let again = plain.run(&input()).unwrap();
    let device_lines = |observation: &Observation| -> Vec<String> {
        text(&observation.stdout)
            .lines()
            .filter(|line| line.contains("random"))
            .map(str::to_string)
            .collect()
    };
    assert_eq!(device_lines(&observation), device_lines(&again));
}
