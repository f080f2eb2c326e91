//! Binaries and inputs that cannot be run: a clear message instead of an observation.

mod support;

use changeling_exec::{End, ExecError, Limits, Plain};
use changeling_trace::input::{Argument, Input, StreamKind};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::{arguments, compile, small_limits, stream, text};

fn refusal(path: &Path) -> ExecError {
    Plain::new(path, Limits::default()).unwrap_err()
}

/// A copy of a working program, changed.
fn altered(directory: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let path = directory.join("altered");
    let mut bytes = fs::read(compile("hostile.c")).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn things_that_are_not_programs() {
    let directory = tempfile::tempdir().unwrap();
    let missing = refusal(&directory.path().join("nothing"));
    assert!(
        matches!(missing, ExecError::Missing { .. })
            && missing.to_string().contains("no such program")
    );
    assert!(matches!(
        refusal(directory.path()),
        ExecError::NotAFile { .. }
    ));
    for (contents, word) in [
        (&b""[..], "empty"),
        (b"#!/bin/sh\n", "script"),
        (b"BC\xc0\xde....", "bitcode"),
        (b"text", "no ELF"),
        (b"\x7fELF\x02", "cut off"),
    ] {
        let path = directory.path().join("file");
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = refusal(&path);
        assert!(
            matches!(error, ExecError::NotAProgram { .. }) && error.to_string().contains(word),
            "{error}"
        );
    }
}

#[test]
fn programs_of_other_machines() {
    let directory = tempfile::tempdir().unwrap();
    let error = refusal(&altered(directory.path(), |bytes| bytes[18] = 183));
    assert!(
        error
            .to_string()
            .contains("built for 64-bit ARM, but this machine runs 64-bit x86"),
        "{error}"
    );
    let error = refusal(&altered(directory.path(), |bytes| {
        (bytes[4], bytes[18]) = (1, 3)
    }));
    assert!(error.to_string().contains("32-bit x86"), "{error}");
    let error = refusal(&altered(directory.path(), |bytes| bytes[16] = 1));
    assert!(error.to_string().contains("object file"), "{error}");
}

#[test]
fn programs_that_cannot_be_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let path = altered(directory.path(), |bytes| {
        let at = bytes
            .windows(5)
            .position(|window| window == b"/lib6")
            .unwrap();
        bytes[at + 1] = b'X';
    });
    let error = refusal(&path);
    assert!(
        matches!(error, ExecError::LoaderMissing { .. }) && error.to_string().contains("/Xib64/"),
        "{error}"
    );
    let path = altered(directory.path(), |_| ());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = refusal(&path);
    assert!(
        matches!(error, ExecError::NotExecutable { .. }) && error.to_string().contains("chmod +x"),
        "{error}"
    );
}

#[test]
fn a_program_that_vanishes_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = altered(directory.path(), |_| ());
    let mut plain = Plain::new(&path, small_limits()).unwrap();
    fs::remove_file(&path).unwrap();
    let error = plain.run(&arguments(&["echo"])).unwrap_err();
    assert!(
        matches!(error, ExecError::NotStarted { .. }) && error.to_string().contains("altered"),
        "{error}"
    );
}

#[test]
fn a_damaged_program_is_an_observation_or_named() {
    let directory = tempfile::tempdir().unwrap();
    // Only the headers are left.
    let path = altered(directory.path(), |bytes| bytes.truncate(1000));
    let result =
        Plain::new(&path, small_limits()).and_then(|mut plain| plain.run(&arguments(&["echo"])));
    match result {
        Ok(observation) => assert!(
            matches!(observation.end, End::Signal(_)),
            "{:?}",
            observation.end
        ),
        Err(error) => assert!(error.to_string().contains("altered"), "{error}"),
    }
}

#[test]
fn inputs_that_cannot_be_given() {
    let mut plain = Plain::new(&compile("hostile.c"), small_limits()).unwrap();
    let mut with = |kind, name: &str, size: usize| {
        let mut input = arguments(&["echo"]);
        input.streams.push(stream(kind, name, &vec![b'x'; size]));
        plain.run(&input)
    };
    for name in ["/etc/x", "../x", "a/../../x", "", "a\0b", "dir/"] {
        let error = with(StreamKind::File, name, 1).unwrap_err();
        assert!(matches!(error, ExecError::Input { .. }), "{name}: {error}");
    }
    for name in ["", "A=B", "A\0"] {
        assert!(
            matches!(
                with(StreamKind::Environment, name, 1),
                Err(ExecError::Input { .. })
            ),
            "{name}"
        );
    }
    let error = with(StreamKind::File, "large", 8 << 20).unwrap_err();
    assert!(
        matches!(error, ExecError::DiskFull { .. }) && error.to_string().contains("`large`"),
        "{error}"
    );
    // After all that the same runner works.
    assert_eq!(with(StreamKind::Stdin, "", 3).unwrap().stdout, b"xxx");
}

#[test]
fn arguments_of_any_bytes_arrive_and_too_long_ones_are_refused() {
    let mut plain = Plain::new(&compile("server.c"), small_limits()).unwrap();
    let input = Input {
        streams: vec![
            stream(StreamKind::Stdin, "", b"world"),
            stream(StreamKind::Environment, "V", b"\xff=\n\0cut"),
        ],
        arguments: vec![
            Argument::Fixed(b"\x01\xfe".to_vec()),
            Argument::Fixed(Vec::new()),
            Argument::Fixed(b"a b\nc".to_vec()),
        ],
    };
    let output = plain.run(&input).unwrap().stdout;
    let wanted = b"[\x01\xfe][][a b\nc] V=\xff=\n time";
    assert!(
        output.windows(wanted.len()).any(|window| window == wanted),
        "{}",
        text(&output)
    );
    let long = Input {
        streams: Vec::new(),
        arguments: vec![Argument::Fixed(vec![b'a'; 4 << 20])],
    };
    let error = plain.run(&long).unwrap_err();
    assert!(matches!(error, ExecError::NotStarted { .. }), "{error}");
}

#[test]
fn observations_can_be_stored() {
    let mut plain = Plain::new(&compile("hostile.c"), small_limits()).unwrap();
    let observation = plain.run(&arguments(&["lock-directories"])).unwrap();
    let stored = serde_json::to_string(&observation).unwrap();
    assert_eq!(
        serde_json::from_str::<changeling_exec::Observation>(&stored).unwrap(),
        observation
    );
}
