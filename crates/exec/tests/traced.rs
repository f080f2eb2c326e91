//! Runs through the fork server: what is observed equals a plain run, the trace is read in place, and whatever the traced
//! program does to server and shared memory, the next run works.

mod support;

use changeling_exec::{Capacities, End, ExecError, Happening, Limits, Options, Plain, Traced};
use changeling_trace::input::{Argument, Input, StreamKind};
use std::time::Duration;
use support::{alive, compile, marker, small_limits, stream, text};

fn input(word: &str) -> Input {
    Input {
        streams: vec![
            stream(StreamKind::Stdin, "", word.as_bytes()),
            stream(StreamKind::Argument, "", b"second"),
            stream(StreamKind::Environment, "V", b"value"),
            stream(StreamKind::File, "given", b"given"),
        ],
        arguments: vec![Argument::Fixed(b"-first".to_vec()), Argument::Symbolic(1)],
    }
}

fn capacities() -> Capacities {
    Capacities {
        nodes: 1000,
        events: 1000,
        table_bytes: 10_000,
        string_bytes: 10_000,
        blocks: 1000,
    }
}

fn start_named(name: &str, limits: Limits) -> Result<Traced, ExecError> {
    let options = Options {
        name: marker(name),
        ..Options::default()
    };
    Traced::with_options(
        &compile("server.c"),
        &input(""),
        limits,
        capacities(),
        options,
    )
}

fn start(name: &str) -> Traced {
    start_named(
        name,
        Limits {
            time: Duration::from_secs(30),
            ..small_limits()
        },
    )
    .unwrap()
}

/// An ordinary run, as proof that everything is in order again.
fn check_ordinary(traced: &mut Traced) {
    let (observation, trace) = traced.run(&input("echo!")).unwrap();
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(0), "echo!".to_string())
    );
    assert_eq!((observation.files.len(), observation.truncated), (0, false));
    assert!(trace.intact);
    assert_eq!(
        (trace.nodes.len(), trace.events.len(), trace.coverage.len()),
        (3, 2, 10)
    );
}

#[test]
fn a_trace_is_read_in_place() {
    let mut traced = start("trace");
    for word in ["echo", "almost-echo"] {
        let (_, trace) = traced.run(&input(word)).unwrap();
        let first = u64::from(word.as_bytes()[0]);
        let happenings: Vec<_> = trace.happenings().map(|(_, happening)| happening).collect();
        let branch = Happening::Branch {
            site: 42,
            label: 2,
            taken: word.starts_with('e'),
            caller: 0,
        };
        let observe = Happening::Observe {
            site: 0,
            name: b"first",
            label: Some(1),
            value: first,
        };
        assert_eq!(happenings, [branch, observe]);
        assert_eq!(trace.node(1).unwrap().value, first);
        assert_eq!((trace.node(0), trace.node(3)), (None, None));
        assert_eq!(trace.table(0).unwrap().contents, b"abcd");
        // Only this run's block: coverage is cleared in between.
        assert_eq!(trace.executed().collect::<Vec<_>>(), [first as usize % 10]);
        assert_eq!(trace.header.run_flags, 3);
    }
}

#[test]
fn traced_and_plain_runs_have_the_same_observation() {
    let options = Options {
        name: "same".to_string(),
        ..Options::default()
    };
    let mut plain =
        Plain::with_options(&compile("server.c"), small_limits(), options.clone()).unwrap();
    let mut traced = Traced::with_options(
        &compile("server.c"),
        &input(""),
        small_limits(),
        capacities(),
        options,
    )
    .unwrap();
    for word in ["world", "echo", "crash", "world", "memory", ""] {
        let expected = plain.run(&input(word)).unwrap();
        let (found, _) = traced.run(&input(word)).unwrap();
        assert_eq!(
            found,
            expected,
            "{word}: {} / {}",
            text(&found.stdout),
            text(&expected.stdout)
        );
    }
    let world = plain.run(&input("world")).unwrap();
    let expected =
        "same in /changeling/work, pid 3 of 1, group 3\n[-first][second] V=value time 1700000000\n";
    if plain.in_force() == Some(changeling_exec::Layers::ALL) {
        assert_eq!(text(&world.stdout), expected);
    }
    assert_eq!(world.files, [("made".to_string(), b"contents".to_vec())]);
    assert_eq!(world.observed, [("seen".to_string(), "3".to_string())]);
}

#[test]
fn two_programs_run_at_the_same_time() {
    let (mut first, mut second) = (start("both-1"), start("both-2"));
    for word in ["echo!", "crash", "world"] {
        let alone = [&mut first, &mut second].map(|traced| traced.run(&input(word)).unwrap().0);
        let both = Traced::run_both([&mut first, &mut second], &input(word)).unwrap();
        for ((observation, trace), alone) in both.into_iter().zip(alone) {
            assert_eq!(observation, alone, "{word}");
            assert!(trace.intact);
        }
    }
    // One that cannot run must not leave the other's reply for the next run.
    let mut other = input("echo!");
    other.streams[0].capacity += 1;
    let mut wider = Traced::start(&compile("server.c"), &other, small_limits(), capacities());
    let wider = wider.as_mut().unwrap();
    assert!(Traced::run_both([&mut first, wider], &input("echo!")).is_err());
    assert!(Traced::run_both([wider, &mut first], &input("echo!")).is_err());
    check_ordinary(&mut first);
}

#[test]
fn a_program_that_ends_before_main_is_an_error_that_says_how() {
    let error = start_named("start-exit", small_limits())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("exit code 3, saying: cannot start"),
        "{error}"
    );
    let error = start_named("start-crash", small_limits())
        .unwrap_err()
        .to_string();
    assert!(error.contains("segmentation fault"), "{error}");
    let error = start_named("start-wrong", small_limits())
        .unwrap_err()
        .to_string();
    assert!(error.contains("protocol"), "{error}");
    assert_eq!(alive(&marker("start-")), Vec::<String>::new());
}

#[test]
fn a_plain_program_has_no_server() {
    let result = Traced::start(
        &compile("hostile.c"),
        &input(""),
        small_limits(),
        capacities(),
    );
    assert!(
        matches!(result, Err(ExecError::NoServer { .. })),
        "{result:?}"
    );
}

#[test]
fn a_loop_is_ended_and_the_server_goes_on() {
    let mut traced = start_named(
        "loop",
        Limits {
            time: Duration::from_millis(500),
            ..small_limits()
        },
    )
    .unwrap();
    for _ in 0..2 {
        let (observation, trace) = traced.run(&input("loop")).unwrap();
        assert_eq!(observation.end, End::TimedOut);
        assert_eq!(
            trace.events.len(),
            2,
            "what was recorded until then is there"
        );
        check_ordinary(&mut traced);
    }
}

#[test]
fn false_headers_and_contents_do_no_harm() {
    let mut traced = start("garbage");
    let (observation, trace) = traced.run(&input("garbage")).unwrap();
    assert_eq!(observation.end, End::Exit(0));
    assert!(
        !trace.intact
            && trace.nodes.is_empty()
            && trace.events.is_empty()
            && trace.strings.is_empty()
    );
    check_ordinary(&mut traced);
    let (_, trace) = traced.run(&input("almost")).unwrap();
    assert_eq!((trace.intact, trace.nodes.len()), (true, 1000));
    assert_eq!(
        trace
            .happenings()
            .filter(|(_, happening)| matches!(happening, Happening::Invalid(_)))
            .count(),
        8
    );
    assert_eq!(
        (trace.table(0), trace.table(8), trace.string(9_999)),
        (None, None, Some(&b""[..]))
    );
    check_ordinary(&mut traced);
    let (observation, _) = traced.run(&input("shrink")).unwrap();
    assert_eq!(text(&observation.stdout), "EPERM\n");
    check_ordinary(&mut traced);
}

#[test]
fn daemons_do_not_reach_the_next_run() {
    let mut traced = start("daemon");
    for _ in 0..5 {
        let (observation, _) = traced.run(&input("daemon")).unwrap();
        assert_eq!(observation.end, End::Exit(0));
        assert_eq!(alive(&marker("daemon")).len(), 1, "the server alone");
        check_ordinary(&mut traced);
    }
}

#[test]
fn a_fork_bomb_is_ended() {
    let mut traced = start_named(
        "bomb",
        Limits {
            time: Duration::from_millis(500),
            ..small_limits()
        },
    )
    .unwrap();
    assert_eq!(
        traced.run(&input("fork-bomb")).unwrap().0.end,
        End::TimedOut
    );
    check_ordinary(&mut traced);
}

#[test]
fn attacks_on_the_server_do_no_harm() {
    let mut traced = start_named(
        "attack",
        Limits {
            time: Duration::from_secs(3),
            ..small_limits()
        },
    )
    .unwrap();
    let (observation, _) = traced.run(&input("kill-all")).unwrap();
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(0), "survived\n".to_string())
    );
    check_ordinary(&mut traced);
    let (observation, _) = traced.run(&input("kill-server")).unwrap();
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(9), "tried\n".to_string())
    );
    check_ordinary(&mut traced);
    assert_eq!(
        traced.run(&input("kill-group")).unwrap().0.end,
        End::Signal(libc::SIGKILL)
    );
    check_ordinary(&mut traced);
    traced.run(&input("lie")).unwrap();
    check_ordinary(&mut traced);
    traced.run(&input("half")).unwrap();
    check_ordinary(&mut traced);
    traced.run(&input("linger")).unwrap();
    check_ordinary(&mut traced);
    // The true end comes when the next run has begun.
    traced.run(&input("early")).unwrap();
    check_ordinary(&mut traced);
}

#[test]
fn a_server_that_dies_is_started_again() {
    let mut traced = start("dying");
    for _ in 0..2 {
        kill_servers("dying");
        check_ordinary(&mut traced);
    }
    // In the middle of a run: its end is still heard of.
    let killer = std::thread::spawn(|| {
        support::eventually("the run starts", || alive(&marker("dying")).len() == 2);
        kill_servers("dying");
    });
    let (observation, _) = traced.run(&input("wait")).unwrap();
    killer.join().unwrap();
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(11), "alone\n".to_string())
    );
    check_ordinary(&mut traced);
}

/// Kills the process of that name whose parent does not have it too.
fn kill_servers(name: &str) {
    let mut pids: Vec<i32> = alive(&marker(name))
        .iter()
        .map(|line| line.split(':').next().unwrap().parse().unwrap())
        .collect();
    pids.sort();
    // SAFETY: a process of this test.
    assert_eq!(unsafe { libc::kill(pids[0], libc::SIGKILL) }, 0);
}

#[test]
fn memory_is_limited_though_the_shadow_is_huge() {
    let (observation, _) = start("memory")
        .run(&input("memory"))
        .map(|(o, t)| (o, t.intact))
        .unwrap();
    assert_eq!(text(&observation.stdout), "stopped early\n");
}

#[test]
fn another_shape_is_refused_and_the_server_goes_on() {
    let mut traced = start("shape");
    let mut other = input("echo");
    other.streams.pop();
    assert!(matches!(traced.run(&other), Err(ExecError::Shape { .. })));
    check_ordinary(&mut traced);
}

#[test]
fn nothing_is_left_when_a_traced_program_is_dropped() {
    let mut traced = start("dropped");
    traced.run(&input("daemon")).unwrap();
    drop(traced);
    assert_eq!(alive(&marker("dropped")), Vec::<String>::new());
}
