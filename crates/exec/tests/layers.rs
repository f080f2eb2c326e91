//! With fewer layers than this kernel offers: what remains must still hold the promises it can hold.

mod support;

use changeling_exec::{Capability, End, Layers, Limits, Options, Plain, capabilities};
use changeling_trace::input::StreamKind;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use support::{alive, arguments, compile, marker, small_limits, stream, text};

fn runner(name: &str, layers: Layers, limits: Limits) -> Plain {
    let options = Options {
        name: marker(name),
        layers,
        ..Options::default()
    };
    Plain::with_options(&compile("hostile.c"), limits, options).unwrap()
}

fn fewer() -> Vec<(&'static str, Layers)> {
    vec![
        ("no-user", Layers::ALL.without(Layers::USER)),
        ("no-mount", Layers::ALL.without(Layers::MOUNT)),
        ("no-pid", Layers::ALL.without(Layers::PID)),
        ("no-net", Layers::ALL.without(Layers::NETWORK)),
        ("landlock", Layers(Layers::LANDLOCK.0 | Layers::SECCOMP.0)),
        ("none", Layers(0)),
    ]
}

#[test]
fn runs_and_their_observations_do_not_depend_on_layers() {
    for (name, layers) in fewer() {
        let mut plain = runner(name, layers, small_limits());
        for round in 0..2 {
            let mut input = arguments(&["echo"]);
            input.streams.push(stream(StreamKind::Stdin, "", b"hello"));
            let observation = plain.run(&input).unwrap();
            assert_eq!(
                (observation.end, text(&observation.stdout)),
                (End::Exit(0), "hello".to_string()),
                "{name} {round}"
            );
            let mut input = arguments(&["edit-files"]);
            input.streams.push(stream(StreamKind::File, "given", b"x"));
            input
                .streams
                .push(stream(StreamKind::File, "dir/inner", b"y"));
            let observation = plain.run(&input).unwrap();
            let names: Vec<&str> = observation
                .files
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(names, ["dir/renamed", "given", "sub/", "sub/new"], "{name}");
        }
    }
}

#[test]
fn no_process_survives_whatever_is_missing() {
    for (name, layers) in fewer() {
        let limits = Limits {
            time: Duration::from_millis(400),
            ..small_limits()
        };
        let mut plain = runner(name, layers, limits);
        assert_eq!(
            plain.run(&arguments(&["loop"])).unwrap().end,
            End::TimedOut,
            "{name}"
        );
        plain.run(&arguments(&["daemon"])).unwrap();
        assert_eq!(alive(&marker(name)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn processes_are_counted_where_the_kernel_does_not() {
    for (name, layers) in [
        ("count-user", Layers::ALL.without(Layers::USER)),
        ("count-none", Layers(0)),
    ] {
        let mut plain = runner(name, layers, small_limits());
        let observation = plain.run(&arguments(&["count-forks"])).unwrap();
        assert!(!plain.in_force().unwrap().contains(Layers::PROCESS_LIMIT));
        // Either it was noticed while it went on forking, or it was over too soon to be noticed; nothing is left then.
        let stopped = observation.end == End::Signal(libc::SIGKILL);
        let ended =
            observation.end == End::Exit(0) && text(&observation.stdout).starts_with("1000 ");
        assert!(stopped || ended, "{name}: {:?}", observation.end);
        assert_eq!(alive(&marker(name)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn either_landlock_or_the_mounts_suffice_against_writing_outside() {
    let no_landlock = Layers::ALL.without(Layers::LANDLOCK);
    for (name, layers) in fewer()
        .into_iter()
        .filter(|(name, _)| *name != "none")
        .chain([("no-landlock", no_landlock)])
    {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("victim"), "precious").unwrap();
        let mut plain = runner(name, layers, small_limits());
        let observation = plain
            .run(&arguments(&[
                "write-outside",
                outside.path().to_str().unwrap(),
            ]))
            .unwrap();
        assert_eq!(observation.end, End::Exit(0));
        let victim = outside.path().join("victim");
        let locked = fs::metadata(&victim).unwrap().permissions().mode() & 0o777 == 0;
        // Landlock alone does not guard the modes of files that belong to the caller.
        assert!(
            !locked || !plain.in_force().unwrap().contains(Layers::READ_ONLY),
            "{name}"
        );
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(
            fs::read(outside.path().join("victim")).unwrap(),
            b"precious",
            "{name}"
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "{name}");
        assert!(
            !Path::new("/tmp/changeling-hostile-was-here").exists(),
            "{name}"
        );
    }
}

#[test]
fn the_network_is_refused_without_its_namespace() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut plain = runner("net", Layers::ALL.without(Layers::NETWORK), small_limits());
    let output = text(&plain.run(&arguments(&["connect", &port])).unwrap().stdout);
    assert!(
        !output.contains("allowed") && output.lines().count() == 3,
        "{output}"
    );
}

#[test]
fn the_doctor_tells_what_is_in_force() {
    let found: Vec<Capability> = capabilities().unwrap();
    let mut plain = runner("doctor", Layers::ALL, small_limits());
    plain.run(&arguments(&["echo"])).unwrap();
    let in_force = plain.in_force().unwrap();
    let told = |name: &str| {
        found
            .iter()
            .find(|capability| capability.name == name)
            .unwrap()
            .in_force
    };
    assert_eq!(told("Landlock"), in_force.contains(Layers::LANDLOCK));
    assert_eq!(told("process namespace"), in_force.contains(Layers::PID));
    assert_eq!(
        told("network namespace"),
        in_force.contains(Layers::NETWORK)
    );
    assert_eq!(found.len(), 13);
}
