//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses its own part")]

use changeling_build::{BuildError, BuildOptions, Built, Source, build};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A scratch directory with a cache in it.
pub struct Room {
    directory: tempfile::TempDir,
}

impl Room {
    pub fn new() -> Room {
        // A name with a space: builds must not care.
        let directory = tempfile::Builder::new()
            .prefix("room with ")
            .tempdir()
            .unwrap();
        Room { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn options(&self) -> BuildOptions {
        BuildOptions {
            cache: self.path().join("the cache"),
            stand_in: Some(stand_in()),
            ..BuildOptions::default()
        }
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn files(&self, names: &[&str]) -> Source {
        Source::Files(names.iter().map(|name| self.path().join(name)).collect())
    }

    pub fn build(&self, source: &Source) -> Result<Built, BuildError> {
        build(source, &self.options())
    }

    /// No build is left half done.
    pub fn assert_clean(&self) {
        let left: Vec<_> = std::fs::read_dir(self.path().join("the cache/work"))
            .unwrap()
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

pub fn stand_in() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_changeling-stand-in"))
}

pub fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/projects")
        .join(name)
}

pub fn directory(path: PathBuf) -> Source {
    Source::Directory {
        path,
        command: None,
        program: None,
    }
}

pub fn run(binary: &Path, input: &str) -> Output {
    let mut child = Command::new(binary)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ends without reading closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

pub fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Compiles the prepared bitcode natively with the link flags that came with it, and checks that
/// it behaves like the plain binary.
pub fn assert_alike(built: &Built, room: &Room, inputs: &[&str]) {
    let native = room.path().join("from bitcode");
    let mut command = Command::new("clang-22");
    command.args(["-O0", "-w"]).arg(&built.bitcode);
    if built.harness {
        let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assets/harness.c");
        command.args(["-x", "c"]).arg(harness).args(["-x", "none"]);
    }
    let compiled = command
        .args(&built.link)
        .arg("-o")
        .arg(&native)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    for input in inputs {
        let (plain, other) = (run(&built.plain, input), run(&native, input));
        assert_eq!(plain.status, other.status, "on {input:?}");
        assert_eq!(plain.stdout, other.stdout, "on {input:?}");
        assert_eq!(
            without_ids(&plain.stderr),
            without_ids(&other.stderr),
            "on {input:?}"
        );
    }
}

/// Messages of panics name the thread by a number that changes from run to run.
fn without_ids(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    let mut lines = Vec::new();
    for line in message.lines() {
        match (line.find("' ("), line.find(") panicked at")) {
            (Some(start), Some(end)) => lines.push(format!("{}{}", &line[..start], &line[end..])),
            _ => lines.push(line.to_string()),
        }
    }
    lines.join("\n")
}

/// The bitcode as text.
pub fn disassemble(built: &Built) -> String {
    let output = Command::new("llvm-dis-22")
        .arg(&built.bitcode)
        .args(["-o", "-"])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The lines of one function in disassembled bitcode.
pub fn function<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.lines()
        .skip_while(|line| !(line.starts_with("define") && line.contains(&format!("@{name}("))))
        .take_while(|line| *line != "}")
        .collect()
}
