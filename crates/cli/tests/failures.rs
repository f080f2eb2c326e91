//! What a user sees when something goes wrong.

use std::path::Path;
use std::process::{Command, Output};

fn changeling(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_changeling"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn errors_say_what_and_what_to_do_and_have_their_own_code() {
    let room = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(room.path().join(name), text).unwrap();
    write("bad.c", "int main(void) { return undeclared; }\n");
    write("lib.c", "int f(void) { return 0; }\n");
    write("text.txt", "text\n");
    for (arguments, code, parts) in [
        (
            vec!["__build", "no.c"],
            10,
            vec!["error: there is no file or directory no.c", "help: "],
        ),
        (
            vec!["__build", "text.txt"],
            11,
            vec!["text.txt is not a program", "help: "],
        ),
        (
            vec!["__build", "lib.c"],
            12,
            vec!["neither `main` nor", "where: ", "lib.c", "help: "],
        ),
        (
            vec!["__build", "bad.c"],
            13,
            vec![
                "use of undeclared identifier",
                "bad.c does not compile",
                "help: ",
            ],
        ),
        (
            vec!["__build", ".", "--revision", "HEAD"],
            17,
            vec!["is not in a git repository", "help: "],
        ),
        (
            vec!["__build", "."],
            19,
            vec!["no build file found", "--build"],
        ),
        (
            vec!["__build", "--no-such-option"],
            2,
            vec!["--no-such-option"],
        ),
        (vec!["no-such-command"], 2, vec!["no-such-command"]),
    ] {
        let output = changeling(room.path(), &arguments);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        for part in parts {
            assert!(
                text.contains(part),
                "{arguments:?} without {part:?}: {text}"
            );
        }
        assert!(
            !text.contains("panicked") && !text.contains("stack backtrace"),
            "{text}"
        );
    }
}

#[test]
fn the_compiler_stand_in_is_a_compiler() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), "int main(void) { return 7; }\n").unwrap();
    let compiled = changeling(room.path(), &["cc", "a.c", "-o", "a"]);
    assert!(compiled.status.success(), "{}", said(&compiled));
    assert_eq!(
        Command::new(room.path().join("a")).status().unwrap().code(),
        Some(7)
    );
    assert!(room.path().join("a.changeling.bc").is_file());
    assert_eq!(
        changeling(room.path(), &["cc", "-c", "no.c"]).status.code(),
        Some(1)
    );
    let help = changeling(room.path(), &["c++", "--version"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("clang version"));
}

#[test]
fn doctor_names_what_is_missing() {
    let room = tempfile::tempdir().unwrap();
    let findings = changeling(room.path(), &["doctor", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&findings.stdout).unwrap();
    let list = json["findings"].as_array().unwrap();
    assert!(
        list.iter()
            .any(|finding| finding["name"] == "clang-22" && finding["ok"] == true)
    );
    // Without any program on the path nothing can be built.
    let bare = Command::new(env!("CARGO_BIN_EXE_changeling"))
        .arg("doctor")
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(bare.status.code(), Some(22));
    let text = String::from_utf8(bare.stdout).unwrap();
    assert!(
        text.contains("MISSING  clang-22") && text.contains("apt-get install clang-22"),
        "{text}"
    );
}

/// `cargo changeling NAME` is `changeling NAME`, for all there are.
#[test]
fn cargo_passes_all_commands_on() {
    let room = tempfile::tempdir().unwrap();
    let help = changeling(room.path(), &["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands
        .lines()
        .map(|line| line.split_whitespace().next().unwrap());
    for name in names {
        let direct = changeling(room.path(), &[name, "--help"]);
        let passed = Command::new(env!("CARGO_BIN_EXE_cargo-changeling"))
            .current_dir(room.path())
            .args(["changeling", name, "--help"])
            .output()
            .unwrap();
        assert!(direct.stdout == passed.stdout, "{name}: {}", said(&passed));
    }
}

#[test]
fn messages_hold_no_control_characters() {
    let room = tempfile::tempdir().unwrap();
    let output = changeling(room.path(), &["run", "a\u{1b}[31m.c", "b.c"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("a\\x1b[31m.c") && !text.contains('\u{1b}'),
        "{text}"
    );
}

/// Whoever reads from a pipe that nobody writes to waits for ever.
#[test]
fn pipes_and_devices_are_no_files() {
    let room = tempfile::tempdir().unwrap();
    let place = |name: &str| room.path().join(name);
    std::fs::write(place("a.c"), "int main(void) { return 0; }\n").unwrap();
    let pipes = ["p.c", "p.rs", "p.bc", "p", "compile_commands.json"];
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(place(name)).status().unwrap();
        assert!(made.success());
    };
    pipes.into_iter().for_each(pipe);
    for (arguments, code) in [
        (vec!["run", "p.c", "a.c"], 4),
        (vec!["run", "a.c", "p.rs"], 4),
        (vec!["run", "a.c", "p.bc"], 4),
        (vec!["run", "p", "a.c"], 4),
        (vec!["run", "/dev/zero", "a.c"], 4),
        (vec!["diff", "p.c", "a.c"], 11),
        (vec!["trace", "compile_commands.json"], 11),
        (vec!["trace", "a.c", "--harness", "p.c"], 11),
        (vec!["trace", "a.c", "--stdin", "p"], 2),
        (vec!["trace", "a.c", "--file", "f=p"], 2),
        (vec!["run", "a.c", "a.c", "--seed", "p"], 2),
        (vec!["run", "a.c", "a.c", "--config", "p"], 2),
        (vec!["replay", "p"], 2),
        (vec!["accept", "p"], 2),
        (vec!["run", "a.c", "a.c"], 2),
    ] {
        if arguments == ["run", "a.c", "a.c"] {
            pipe(".changeling/accepted.toml");
        }
        let mut all = vec!["60", env!("CARGO_BIN_EXE_changeling")];
        all.extend(arguments.iter());
        let output = Command::new("timeout")
            .args(&all)
            .current_dir(room.path())
            .output()
            .unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains("error: "), "{arguments:?}: {text}");
    }
}
