//! Programs that crash, loop, fork, eat memory and attack their surroundings: each ends in an ordinary observation, and
//! nothing of them is left.

mod support;

use changeling_exec::{End, Limits, Plain};
use changeling_trace::input::StreamKind;
use std::fs;
use std::time::Duration;
use support::{
    alive, arguments, compile, marker, misbehave, misbehave_with, named, small_limits, stream, text,
};

fn short() -> Limits {
    Limits {
        time: Duration::from_millis(700),
        ..small_limits()
    }
}

#[test]
fn crashes_are_signals() {
    assert_eq!(
        misbehave("crash", small_limits()).end,
        End::Signal(libc::SIGSEGV)
    );
    assert_eq!(
        misbehave("abort", small_limits()).end,
        End::Signal(libc::SIGABRT)
    );
    assert_eq!(
        misbehave("divide", small_limits()).end,
        End::Signal(libc::SIGFPE)
    );
    assert_eq!(
        misbehave("stack", small_limits()).end,
        End::Signal(libc::SIGSEGV)
    );
}

#[test]
fn a_loop_times_out_and_keeps_its_output() {
    let observation = misbehave("loop", short());
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::TimedOut, "before\n".to_string())
    );
}

#[test]
fn a_fork_bomb_ends_with_its_time() {
    assert_eq!(misbehave("fork-bomb", short()).end, End::TimedOut);
}

#[test]
fn processes_are_limited_and_end_with_the_run() {
    let observation = misbehave("count-forks", small_limits());
    let output = text(&observation.stdout);
    let count: u64 = output.split(' ').next().unwrap().parse().unwrap();
    assert!(
        (10..=17).contains(&count) && output.ends_with("EAGAIN\n"),
        "{output}"
    );
    assert_eq!(
        text(&misbehave("threads", small_limits()).stdout),
        "bounded\n"
    );
}

#[test]
fn memory_is_limited() {
    let observation = misbehave("memory", small_limits());
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(0), "stopped early\n".to_string())
    );
}

#[test]
fn nothing_outside_can_be_changed() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let before = fs::metadata(&victim).unwrap();
    let observation = misbehave_with(
        &["write-outside", outside.path().to_str().unwrap()],
        small_limits(),
    );
    let output = text(&observation.stdout);
    let allowed: Vec<&str> = output
        .lines()
        .filter(|line| line.ends_with("allowed"))
        .collect();
    assert_eq!(allowed, ["link: allowed", "null: allowed"], "{output}");
    assert_eq!(output.lines().count(), 17);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    let after = fs::metadata(&victim).unwrap();
    assert_eq!(
        (before.permissions(), before.modified().unwrap()),
        (after.permissions(), after.modified().unwrap())
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert!(!std::path::Path::new("/tmp/changeling-hostile-was-here").exists());
}

#[test]
fn killing_reaches_nobody_else() {
    assert_eq!(
        misbehave("kill-group", small_limits()).end,
        End::Signal(libc::SIGKILL)
    );
    let all = misbehave("kill-all", small_limits());
    assert_eq!(all.end, End::Exit(5));
    let parent = misbehave("kill-parent", small_limits());
    assert_eq!(
        (parent.end, text(&parent.stdout)),
        (End::Exit(6), "done\n".to_string())
    );
}

#[test]
fn daemons_die_with_the_run() {
    let mut plain = named(&compile("hostile.c"), "daemon", small_limits());
    for _ in 0..3 {
        let observation = plain.run(&arguments(&["daemon"])).unwrap();
        assert_eq!(
            (observation.end, text(&observation.stdout)),
            (End::Exit(0), "parent leaves\n".to_string())
        );
        assert_eq!(alive(&marker("daemon")), Vec::<String>::new());
    }
    // The next run finds nothing of a daemon that was writing all the time.
    assert_eq!(plain.run(&arguments(&["echo"])).unwrap().files, []);
}

#[test]
fn closing_everything_hurts_only_the_program() {
    let observation = misbehave("close-all", small_limits());
    assert_eq!(
        (observation.end, text(&observation.stdout)),
        (End::Exit(7), "last words\n".to_string())
    );
}

#[test]
fn files_and_disk_are_limited() {
    let observation = misbehave("fill-file", small_limits());
    assert_eq!(text(&observation.stdout), format!("{} EFBIG\n", 1 << 20));
    assert!(observation.truncated);
    assert_eq!(observation.files[0].1.len(), small_limits().capture);
    let observation = misbehave("fill-disk", small_limits());
    assert_eq!(text(&observation.stdout), "stopped\n");
    assert!(observation.truncated && observation.files.len() < 70);
}

#[test]
fn there_is_no_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = text(&misbehave_with(&["connect", &port], small_limits()).stdout);
    assert_eq!(
        output,
        "tcp: ENETUNREACH\nudp: ENETUNREACH\nlocal: ENETUNREACH\n"
    );
}

#[test]
fn the_working_directory_survives_and_is_fresh_again() {
    let mut plain = named(&compile("hostile.c"), "cwd", small_limits());
    let mut input = arguments(&["remove-cwd"]);
    input.streams.push(stream(StreamKind::File, "given", b"x"));
    let observation = plain.run(&input).unwrap();
    assert_eq!(
        (observation.end, observation.removed.as_slice()),
        (End::Exit(0), ["given".to_string()].as_slice())
    );
    let mut again = arguments(&["edit-files"]);
    again.streams.push(stream(StreamKind::File, "given", b"x"));
    again
        .streams
        .push(stream(StreamKind::File, "dir/inner", b"y"));
    let observation = plain.run(&again).unwrap();
    let expected = [
        ("dir/renamed", "y"),
        ("given", "x more"),
        ("sub/", ""),
        ("sub/new", "new"),
    ];
    let found: Vec<_> = observation
        .files
        .iter()
        .map(|(name, bytes)| (name.as_str(), text(bytes)))
        .collect();
    assert_eq!(
        found,
        expected.map(|(name, bytes)| (name, bytes.to_string()))
    );
    assert_eq!(observation.removed, ["dir/inner"]);
}

#[test]
fn locked_directories_are_seen_and_removed() {
    let mut plain = named(&compile("hostile.c"), "locked", small_limits());
    for _ in 0..2 {
        let observation = plain.run(&arguments(&["lock-directories"])).unwrap();
        let names: Vec<&str> = observation
            .files
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "link@",
                "locked/",
                "locked/inner/",
                "locked/inner/file",
                "pipe|"
            ]
        );
        assert_eq!(observation.files[0].1, b"/etc/passwd");
    }
    assert_eq!(plain.run(&arguments(&["echo"])).unwrap().files, []);
}

#[test]
fn a_very_deep_tree_is_bounded_and_removed() {
    let mut plain = named(&compile("hostile.c"), "deep", small_limits());
    let observation = plain.run(&arguments(&["deep-tree"])).unwrap();
    assert_eq!(
        (observation.end, observation.truncated),
        (End::Exit(0), true)
    );
    assert!(observation.files.len() < 50);
    let after = plain.run(&arguments(&["echo"])).unwrap();
    assert_eq!((after.files.len(), after.truncated), (0, false));
}

#[test]
fn large_output_is_cut_and_says_so() {
    let observation = misbehave("large-output", small_limits());
    assert_eq!(
        (observation.end, observation.truncated),
        (End::Exit(8), true)
    );
    assert_eq!(observation.stdout.len(), small_limits().capture);
}

#[test]
fn limits_and_privileges_cannot_be_regained() {
    let output = text(&misbehave("raise-limits", small_limits()).stdout);
    assert_eq!(
        output,
        "memory: EPERM\nfiles: EPERM\nprocesses: EPERM\ncore: EPERM\n"
    );
    let output = text(&misbehave("escape", small_limits()).stdout);
    let unexpected: Vec<&str> = output
        .lines()
        .filter(|line| line.ends_with("allowed") && !line.starts_with("setuid"))
        .collect();
    assert!(
        unexpected.is_empty() && output.lines().count() == 9,
        "{output}"
    );
    let output = text(&misbehave("trace-others", small_limits()).stdout);
    assert!(!output.contains("allowed"), "{output}");
}

#[test]
fn shared_memory_does_not_reach_the_next_run() {
    let mut plain = named(&compile("hostile.c"), "ipc", small_limits());
    for _ in 0..3 {
        assert_eq!(
            text(&plain.run(&arguments(&["shared-memory"])).unwrap().stdout),
            "nothing there\n"
        );
    }
}

#[test]
fn programs_get_only_their_descriptors_and_cannot_write_their_input() {
    assert_eq!(
        text(&misbehave("descriptors", small_limits()).stdout),
        "0 1 2 197 \n"
    );
    assert_eq!(
        text(&misbehave("alter-stdin", small_limits()).stdout),
        "write: EBADF\n"
    );
}

#[test]
fn dropping_a_runner_leaves_no_process() {
    // A program of its own, so that the path in the supervisor's command line is this test's alone.
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    fs::copy(compile("hostile.c"), &program).unwrap();
    let mut plain = Plain::new(&program, small_limits()).unwrap();
    plain.run(&arguments(&["daemon"])).unwrap();
    let path = program.to_str().unwrap();
    assert_eq!(
        alive(path).len(),
        2,
        "the supervisor and the process outside of it"
    );
    drop(plain);
    assert_eq!(alive(path), Vec::<String>::new());
}

#[test]
fn runs_in_several_threads_do_not_disturb_each_other() {
    let program = compile("hostile.c");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let program = &program;
            scope.spawn(move || {
                let mut plain = named(program, &format!("parallel{number}"), small_limits());
                for round in 0..15 {
                    let mut input = arguments(&[if round % 5 == 4 { "kill-all" } else { "echo" }]);
                    input.streams.push(stream(
                        StreamKind::Stdin,
                        "",
                        format!("{number} {round}").as_bytes(),
                    ));
                    let observation = plain.run(&input).unwrap();
                    if round % 5 != 4 {
                        assert_eq!(text(&observation.stdout), format!("{number} {round}"));
                    }
                }
            });
        }
    });
}

#[test]
fn programs_are_found_wherever_they_are() {
    for place in ["/tmp", "/dev/shm", "/run", "/var/tmp"] {
        let Ok(directory) = tempfile::tempdir_in(place) else {
            continue;
        };
        let program = directory.path().join("program");
        fs::copy(compile("hostile.c"), &program).unwrap();
        let mut plain = Plain::new(&program, small_limits()).unwrap();
        assert_eq!(
            plain.run(&arguments(&["echo"])).unwrap().end,
            End::Exit(0),
            "{place}"
        );
        let outside = directory.path().to_str().unwrap();
        plain.run(&arguments(&["write-outside", outside])).unwrap();
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "{place}"
        );
    }
}
