//! What the tests share: compiling the programs beside this file, inputs, and a look at what is left behind.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use changeling_exec::{Limits, Observation, Options, Plain};
use changeling_trace::input::{Argument, Input, Stream, StreamKind};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Where compiled programs are: inside the target directory, one for each test binary.
fn build_directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("exec-", env!("CARGO_CRATE_NAME")));
        fs::create_dir_all(&directory).unwrap();
        directory
    })
}

/// Compiles `tests/support/<source>` once per test process.
pub fn compile(source: &str) -> PathBuf {
    static BUILT: OnceLock<Mutex<HashMap<String, PathBuf>>> = OnceLock::new();
    let mut built = BUILT
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    built
        .entry(source.to_string())
        .or_insert_with(|| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/support")
                .join(source);
            build(&path, source)
        })
        .clone()
}

fn build(path: &Path, source: &str) -> PathBuf {
    let output = build_directory().join(source.replace('.', "-"));
    let modified = |path: &Path| {
        fs::metadata(path)
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    if modified(&output).is_some_and(|built| Some(built) > modified(path)) {
        return output;
    }
    let mut command = if source.ends_with(".rs") {
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024", "-C", "opt-level=1"]);
        command
    } else {
        let mut command = Command::new(if source.ends_with(".cpp") {
            "clang++-22"
        } else {
            "clang-22"
        });
        // Unoptimised: some of the programs do undefined things on purpose.
        command.args(["-O0", "-g", "-pthread", "-Wno-infinite-recursion"]);
        command
    };
    let unfinished = output.with_extension(std::process::id().to_string());
    let done = command
        .arg(path)
        .arg("-o")
        .arg(&unfinished)
        .output()
        .expect("the compiler can be started");
    assert!(
        done.status.success(),
        "{source}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    fs::rename(&unfinished, &output).unwrap();
    output
}

pub fn small_limits() -> Limits {
    Limits {
        time: Duration::from_secs(30),
        memory: 256 << 20,
        processes: 16,
        file_size: 1 << 20,
        disk: 4 << 20,
        capture: 64 << 10,
    }
}

pub fn arguments(texts: &[&str]) -> Input {
    Input {
        streams: Vec::new(),
        arguments: texts
            .iter()
            .map(|text| Argument::Fixed(text.as_bytes().to_vec()))
            .collect(),
    }
}

pub fn stream(kind: StreamKind, name: &str, bytes: &[u8]) -> Stream {
    Stream {
        kind,
        name: name.to_string(),
        capacity: 64,
        bytes: bytes.to_vec(),
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A runner whose processes carry a name that no other test uses.
pub fn named(program: &Path, name: &str, limits: Limits) -> Plain {
    let options = Options {
        name: marker(name),
        ..Options::default()
    };
    Plain::with_options(program, limits, options).unwrap()
}

pub fn marker(name: &str) -> String {
    format!("changeling-test-{name}-{}", std::process::id())
}

/// Runs the misbehaving program, then checks that none of its processes is alive.
pub fn misbehave(mode: &str, limits: Limits) -> Observation {
    misbehave_with(&[mode], limits)
}

pub fn misbehave_with(words: &[&str], limits: Limits) -> Observation {
    let mut plain = named(&compile("hostile.c"), words[0], limits);
    let observation = plain.run(&arguments(words)).unwrap();
    assert_eq!(
        alive(&marker(words[0])),
        Vec::<String>::new(),
        "processes left by {words:?}"
    );
    drop(plain);
    observation
}

/// Processes whose command line contains the text.
pub fn alive(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) {
            found.push(format!("{}: {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Waits for something that must happen soon.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
