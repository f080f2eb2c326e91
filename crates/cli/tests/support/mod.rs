//! Running `changeling trace` and reading what it says.

#![allow(dead_code, reason = "each test binary uses its part")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// What `changeling trace --json` ended with and printed.
pub struct Traced {
    pub code: Option<i32>,
    pub document: Option<Value>,
    pub stderr: String,
}

impl Traced {
    /// The part that `--check` adds; a panic with the reason if there is none.
    pub fn check(&self) -> &Value {
        match &self.document {
            Some(document) if document["check"].is_object() => &document["check"],
            _ => panic!("exit code {:?}: {}", self.code, self.stderr),
        }
    }

    /// What is wrong with the trace, in a few lines; empty if nothing is.
    pub fn wrong(&self) -> String {
        let Some(document) = &self.document else {
            return format!("exit code {:?}: {}", self.code, self.stderr);
        };
        let mut lines = Vec::new();
        for key in ["transparency", "untrue", "strayed"] {
            for problem in document["check"][key]
                .as_array()
                .into_iter()
                .flatten()
                .take(3)
            {
                lines.push(format!("{key}: {}", problem.as_str().unwrap_or_default()));
            }
        }
        if lines.is_empty() && self.code != Some(0) {
            lines.push(format!("exit code {:?}: {}", self.code, self.stderr));
        }
        lines.join("\n")
    }

    pub fn list(&self, key: &str) -> &[Value] {
        self.document
            .as_ref()
            .and_then(|document| document[key].as_array())
            .map_or(&[], Vec::as_slice)
    }

    pub fn text(&self, key: &str) -> &str {
        self.document
            .as_ref()
            .and_then(|document| document[key].as_str())
            .unwrap_or_default()
    }
}

pub fn changeling(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_changeling"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Runs `changeling trace --json` in a directory that also holds the cache.
pub fn trace(directory: &Path, arguments: &[&str]) -> Traced {
    let mut all = vec!["trace", "--json", "--cache", "cache"];
    all.extend_from_slice(arguments);
    let output = changeling(directory, &all);
    Traced {
        code: output.status.code(),
        document: serde_json::from_slice(&output.stdout).ok(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Does the work for every item on two threads; results in the order of the items.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(index) else {
                        return;
                    };
                    let result = work(item);
                    results.lock().unwrap()[index] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    results.into_iter().map(Option::unwrap).collect()
}

/// A small generator of random numbers (xorshift), the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What the tool ends with and prints, with a cache in the room.
pub fn run(room: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let all = [arguments, &["--cache", "cache"]].concat();
    let Output {
        status,
        stdout,
        stderr,
    } = changeling(room, &all);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, error) = (text(stdout), text(stderr));
    assert!(!error.contains("panicked"), "{error}");
    (status.code(), out, error)
}

/// A file of the room, in a folder that need not be there.
pub fn write(room: &Path, name: &str, text: &str) {
    let path = room.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}
