//! Another solver's opinion.

use std::io::Write;
use std::process::{Command, Stdio};

/// Asks one Z3 process about many scripts, each with a bound on its work.
pub fn z3(scripts: &[String], work: u32) -> Vec<String> {
    let mut child = Command::new("z3")
        // A bound on work, not on time, so that a busy machine changes nothing.
        .args(["-in", "-smt2", &format!("rlimit={work}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tests need z3 on the PATH");
    let mut stdin = child.stdin.take().unwrap();
    // One scope each: starting afresh takes longer than most answers.
    let mut all = String::from("(set-logic QF_BV)\n");
    for script in scripts {
        all.push_str("(push)\n");
        let setting =
            |line: &&str| line.starts_with("(set-logic") || line.starts_with("(set-option");
        for line in script.lines().filter(|line| !setting(line)) {
            all.push_str(line);
            all.push('\n');
        }
        all.push_str("(pop)\n");
    }
    let writer = std::thread::spawn(move || stdin.write_all(all.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<String> = text.lines().map(str::to_string).collect();
    assert_eq!(answers.len(), scripts.len(), "{}", answers.join("\n"));
    answers
}
