//! Random programs from csmith behave alike traced and plain.
//!
//! They have no input, so that what is tested is the code that tracing adds while nothing is symbolic. Ten programs are linked
//! into one, because building is what takes the time.

mod support;

use std::path::Path;
use std::process::Command;
use support::{parallel, trace};

const PROGRAMS: u32 = 300;
const AT_ONCE: u32 = 10;
/// A seed whose program does not end in time is replaced by the one this much higher.
const REPLACEMENT: u32 = 100_000;
const SMALL: &[&str] = &[
    "--max-funcs",
    "3",
    "--max-block-size",
    "2",
    "--max-block-depth",
    "2",
    "--max-expr-complexity",
    "5",
    "--max-array-dim",
    "2",
    "--max-array-len-per-dim",
    "6",
    "--inline-function",
    "--no-volatiles",
    "--concise",
];

#[test]
fn random_programs_behave_alike_traced_and_plain() {
    let batches: Vec<Vec<u32>> = (0..PROGRAMS / AT_ONCE)
        .map(|batch| (batch * AT_ONCE + 1..=(batch + 1) * AT_ONCE).collect())
        .collect();
    let problems: Vec<String> = parallel(&batches, |seeds| problems_of(seeds)).concat();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn problems_of(seeds: &[u32]) -> Vec<String> {
    let room = tempfile::tempdir().unwrap();
    let seeds: Vec<u32> = seeds
        .iter()
        .map(|seed| usable(room.path(), *seed))
        .collect();
    let mut files: Vec<String> = Vec::new();
    let mut driver = String::from("int main(void)\n{\n");
    for seed in &seeds {
        // Everything else in such a program is static.
        let text = program(room.path(), *seed).replace("int main (", &format!("int main_{seed} ("));
        let file = format!("p{seed}.c");
        std::fs::write(room.path().join(&file), text).unwrap();
        files.push(file);
        driver += &format!("    extern int main_{seed}();\n    main_{seed}(1, (char **)0);\n");
    }
    driver += "    return 0;\n}\n";
    std::fs::write(room.path().join("driver.c"), driver).unwrap();
    let mut arguments: Vec<&str> = files.iter().map(String::as_str).collect();
    arguments.extend([
        "driver.c",
        "--flag=-I/usr/include/csmith",
        "--flag=-w",
        "--check",
        "--run-time",
        "60",
    ]);
    let traced = trace(room.path(), &arguments);
    let wrong = traced.wrong();
    if !wrong.is_empty() {
        return vec![format!("seeds {seeds:?}: {wrong}")];
    }
    let printed = traced.text("stdout").matches("checksum = ").count();
    assert_eq!(
        printed,
        seeds.len(),
        "seeds {seeds:?}: {}",
        traced.text("stdout")
    );
    Vec::new()
}

/// The seed, or another one in its place if its program does not end quickly.
fn usable(room: &Path, mut seed: u32) -> u32 {
    loop {
        let source = room.join("alone.c");
        let binary = room.join("alone");
        std::fs::write(&source, program(room, seed)).unwrap();
        let compiled = Command::new("clang-22")
            .args(["-w", "-I/usr/include/csmith", "-o"])
            .args([&binary, &source])
            .status()
            .unwrap();
        assert!(
            compiled.success(),
            "csmith's program {seed} does not compile"
        );
        let ended = Command::new("timeout")
            .arg("2")
            .arg(&binary)
            .output()
            .unwrap();
        if ended.status.success() {
            return seed;
        }
        seed += REPLACEMENT;
    }
}

/// csmith leaves a file in its directory.
fn program(room: &Path, seed: u32) -> String {
    let output = Command::new("csmith")
        .args(["--seed", &seed.to_string()])
        .args(SMALL)
        .current_dir(room)
        .output()
        .expect("csmith is installed by ./setup");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
