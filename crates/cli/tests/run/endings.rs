//! Runs that are stopped, killed, left alone or out of budget.

use crate::room::*;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SLOW_TO_EXHAUST: [&str; 2] = [
    "#include <stdio.h>\nint main(void) { int c, n = 0; while ((c = getchar()) != EOF) { if (c == 'a') n++; else if (c == 'b') n += 2; else if (c == 'c') n += 3; } printf(\"%d\\n\", n); }\n",
    "#include <stdio.h>\nint main(void) { int c, n = 0; while ((c = getchar()) != EOF) { if (c == 'a') n++; else if (c == 'b') n += 3; else if (c == 'c') n += 3; } printf(\"%d\\n\", n); }\n",
];

/// As in `changeling run … | head -1`: the verdict is told by the exit code all the same.
#[test]
fn a_reader_who_leaves_does_not_change_the_verdict() {
    for more in [&["--json-lines"][..], &[]] {
        let room = Room::new();
        let [old, new] = ["old", "new"].map(|side| fixture(&format!("oracles/q1/{side}.c")));
        let (old, new) = (old.display().to_string(), new.display().to_string());
        let run = [&["run", &old, &new, "--stdin", "1", "--time", "60s"], more].concat();
        let mut child = room
            .command(&run)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{more:?}: {said}");
        assert_eq!(room.results()["stopped"], "exhausted", "{more:?}");
    }
}

#[test]
fn a_killed_run_leaves_valid_results_and_can_be_resumed() {
    let room = Room::new();
    room.write("old.c", SLOW_TO_EXHAUST[0]);
    room.write("new.c", SLOW_TO_EXHAUST[1]);
    let run = ["run", "old.c", "new.c", "--stdin", "64", "--time", "100s"];
    let mut child = room
        .command(&run)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_difference(&room);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = room.results();
    assert_eq!(before["verdict"], "differences");
    assert_eq!(before["stopped"], "running");
    let case = room.path(&room.first_case());
    assert!(case.join("case.toml").is_file());
    let inputs = room.inputs();
    assert!(!inputs.is_empty());
    // Killed again, at a moment that nobody knows: what was found before is in the results all the time.
    let mut child = room
        .command(&[&run[..], &["--resume"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..60 {
        let now = room.results();
        assert_eq!(now["verdict"], "differences");
        assert!(!now["differences"].as_array().unwrap().is_empty());
        std::thread::sleep(Duration::from_millis(30));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = [
        "run", "old.c", "new.c", "--stdin", "64", "--time", "3s", "--resume",
    ];
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let after = room.results();
    assert_ne!(after["stopped"], "running");
    let ids = |results: &Value| -> Vec<String> {
        let all = results["differences"].as_array().unwrap().iter();
        all.map(|difference| difference["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(ids(&before).iter().all(|id| ids(&after).contains(id)));
    assert!(room.inputs().len() > inputs.len());
    // Of other versions only the inputs are used; the cases stay with the run that found them.
    room.write("new.c", SLOW_TO_EXHAUST[0]);
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["differences"], Value::Array(Vec::new()));
    let cases = |out: &str| {
        let entries = std::fs::read_dir(room.path(out).join("cases")).unwrap();
        entries.count()
    };
    assert_eq!(cases(".changeling/out"), 0);
    assert_eq!(cases(".changeling/out.old"), ids(&after).len());
}

fn wait_for_difference(room: &Room) {
    let start = Instant::now();
    let out = room.path(".changeling/out/results.json");
    loop {
        let text = std::fs::read(&out).unwrap_or_default();
        // Whatever is there is whole.
        let results: Option<Value> =
            (!text.is_empty()).then(|| serde_json::from_slice(&text).unwrap());
        if results.is_some_and(|results| results["verdict"] == "differences") {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "no difference came"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_interrupted_run_ends_in_a_report() {
    let room = Room::new();
    room.write("old.c", SLOW_TO_EXHAUST[0]);
    room.write("new.c", SLOW_TO_EXHAUST[1]);
    let run = ["run", "old.c", "new.c", "--stdin", "60", "--time", "100s"];
    let child = room
        .command(&run)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_difference(&room);
    send("INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(room.results()["stopped"], "interrupted");
    assert!(room.path(".changeling/out/report.html").is_file());
}

#[test]
fn the_budget_may_end_before_anything_can_be_said() {
    let room = Room::new();
    let text = |answer: u32| {
        format!(
            "#include <stdio.h>\nint main(void) {{ char b[8] = {{0}}; fread(b, 1, 8, stdin); \
             if (b[0] == 'q' && b[1] == 'x' && b[2] == 'z') printf(\"%d\\n\", {answer}); return 0; }}\n"
        )
    };
    room.write("old.c", text(1));
    room.write("new.c", text(2));
    let said = room.changeling(&["run", "old.c", "new.c", "--stdin", "8", "--runs", "1"]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert!(room.results()["inconclusive"].is_string());
    let said = room.changeling(&["run", "old.c", "new.c", "--stdin", "8", "--time", "60s"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

/// Builds may take longer than the patience of whoever waits for them.
#[test]
fn a_run_that_is_stopped_while_it_builds_ends_in_a_report() {
    let room = Room::new();
    let mark = room.path("mark");
    let build = building(&mark);
    for folder in ["old", "new"] {
        room.write(&format!("{folder}/main.c"), SLOW_TO_EXHAUST[0]);
    }
    let run = ["run", "old", "new", "--stdin", "1", "--build", &build];
    let child = room
        .command(&run)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let builders = builders(&mark, 2);
    send("INT", child.id());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_are_gone(&builders);
    assert!(said.contains("stopped before the search began"), "{said}");
    assert_eq!(room.results()["stopped"], "interrupted");
    assert!(room.path(".changeling/out/report.html").is_file());
}

/// Commands that are no search have no report to leave, but nothing goes on behind them either.
#[test]
fn a_command_that_is_stopped_while_it_builds_takes_the_build_along() {
    use std::os::unix::process::ExitStatusExt;
    let room = Room::new();
    for folder in ["old", "new"] {
        room.write(&format!("{folder}/main.c"), SLOW_TO_EXHAUST[0]);
    }
    let commands: [(&[&str], &str, i32); 3] = [
        (&["diff", "old", "new"], "INT", 2),
        (&["graph", "old", "main", "--cfg"], "TERM", 15),
        (&["run", "old", "new", "--list"], "TERM", 15),
    ];
    for (command, signal, number) in commands {
        let mark = room.path(command[0]);
        let build = building(&mark);
        let child = room
            .command(&[command, &["--build", &build]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let builders = builders(&mark, 1);
        send(signal, child.id());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(number), "{command:?}: {said}");
        assert_are_gone(&builders);
    }
}

/// `nohup` is for programs that go on when the terminal is closed.
#[test]
fn a_run_that_is_to_survive_its_terminal_does() {
    let room = Room::new();
    room.write("old.c", SLOW_TO_EXHAUST[0]);
    room.write("new.c", SLOW_TO_EXHAUST[1]);
    let run = "run old.c new.c --stdin 60 --time 100s";
    let run: Vec<&str> = run.split(' ').collect();
    let plain = room.command(&run);
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    ignoring.arg(plain.get_program()).args(plain.get_args());
    if let Some(place) = plain.get_current_dir() {
        ignoring.current_dir(place);
    }
    let child = ignoring
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_difference(&room);
    let before = room.inputs().len();
    send("HUP", child.id());
    let start = Instant::now();
    // More than may have been on their way when the signal came.
    while room.inputs().len() < before + 50 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it does not go on"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    send("INT", child.id());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(room.results()["stopped"], "interrupted");
}

/// A build command that does not end by itself, and writes the number of a process that it has started.
fn building(mark: &Path) -> String {
    let mark = mark.display();
    format!("sleep 1000 & echo $! >> '{mark}'; wait; exit 1")
}

/// The processes that builds have started.
fn builders(mark: &Path, count: usize) -> Vec<String> {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(mark).unwrap_or_default();
        let found: Vec<String> = text.lines().map(String::from).collect();
        if found.len() >= count {
            return found;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{found:?} are built"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn assert_are_gone(processes: &[String]) {
    let runs = |process: &String| {
        // What has ended may not have been waited for by now.
        let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
        state.is_ok_and(|state| !state.contains(") Z "))
    };
    let start = Instant::now();
    while processes.iter().any(runs) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "a build goes on: {processes:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &process.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}
