//! What is observed arrives at the named descriptor, and nowhere else.

use std::process::Command;

#[test]
fn values_arrive_as_lines() {
    let Ok(role) = std::env::var("OBSERVED_ROLE") else {
        let run = |script: &str| {
            let own = std::env::current_exe().unwrap();
            let output = Command::new("sh")
                .args(["-c", script])
                .arg(own)
                .env("OBSERVED_ROLE", "program")
                .output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            text.lines()
                .filter(|line| line.contains('='))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let observed = run("CHANGELING_OBSERVE_FD=5 \"$0\" --nocapture 5>&1 >/dev/null");
        assert_eq!(
            observed,
            ["n=-9223372036854775808", "b=01ff", "e=", "a_b=1"]
        );
        assert!(run("\"$0\" --nocapture 2>&1").is_empty());
        assert!(run("CHANGELING_OBSERVE_FD=77 \"$0\" --nocapture 2>&1").is_empty());
        return;
    };
    assert_eq!(role, "program");
    changeling_observe::observe("n", i64::MIN);
    changeling_observe::observe_bytes("b", b"\x01\xff");
    changeling_observe::observe_bytes("e", b"");
    changeling_observe::observe("a=b", 1);
}
