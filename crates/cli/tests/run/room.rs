//! A directory to work in, and the fixtures with what is expected of them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Room {
    pub folder: tempfile::TempDir,
}

pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Room {
    pub fn new() -> Room {
        Room {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_changeling"));
        command.current_dir(self.folder.path()).args(arguments);
        if ["run", "replay"].contains(&arguments[0]) {
            command.arg("--cache").arg(cache());
        }
        command
    }

    pub fn changeling(&self, arguments: &[&str]) -> Said {
        said(&mut self.command(arguments))
    }

    /// The results of the last run; valid whenever they are read.
    pub fn results(&self) -> Value {
        let text = std::fs::read(self.path(".changeling/out/results.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    pub fn inputs(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(".changeling/out/search.jsonl")).unwrap();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let inputs = lines.filter_map(|line| Some(line.get("input")?[0].as_str()?.to_owned()));
        inputs.collect()
    }

    pub fn first_case(&self) -> String {
        let case = self.results()["differences"][0]["case"]
            .as_str()
            .unwrap()
            .to_owned();
        format!(".changeling/out/{case}")
    }
}

/// Builds are shared by all tests.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

pub fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

pub fn expectations(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

pub fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Input options and seeds, as `expect.toml` and `faults.toml` give them.
pub fn options(room: &Room, expected: &toml::Table) -> Vec<String> {
    let mut options = Vec::new();
    let inputs = expected["inputs"].as_table().unwrap();
    if let Some(bound) = inputs.get("stdin") {
        options.extend(["--stdin".into(), bound.to_string()]);
    }
    for text in inputs
        .get("args")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
    {
        options.extend(["--arg".into(), text.as_str().unwrap().into()]);
    }
    let fixed = inputs
        .get("args")
        .and_then(toml::Value::as_array)
        .map_or(0, Vec::len);
    for bound in inputs
        .get("sym_args")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
    {
        options.extend(["--sym-arg".into(), bound.to_string()]);
    }
    let seeds = expected.get("seeds").and_then(toml::Value::as_array);
    for (number, seed) in seeds.into_iter().flatten().enumerate() {
        let folder = format!("seeds/{number}");
        if let Some(stdin) = seed.get("stdin") {
            room.write(
                &format!("{folder}/stdin.bin"),
                unhex(stdin.as_str().unwrap()),
            );
        }
        let arguments = seed.get("args").and_then(toml::Value::as_array);
        for (place, text) in arguments.into_iter().flatten().enumerate().skip(fixed) {
            let name = format!("{folder}/arg{}.bin", place + 1);
            room.write(&name, unhex(text.as_str().unwrap()));
        }
        if room.path(&folder).is_dir() {
            options.extend(["--seed".into(), folder]);
        }
    }
    options
}

pub fn run_pair(room: &Room, name: &str, more: &[&str]) -> Said {
    let folder = fixture(name);
    let expected = expectations(&folder.join("expect.toml"));
    let [old, new] = ["old", "new"].map(|side| {
        let files = ["c", "cpp"].map(|suffix| folder.join(format!("{side}.{suffix}")));
        let file = files.into_iter().find(|file| file.is_file());
        file.unwrap_or_else(|| folder.join(side))
            .display()
            .to_string()
    });
    let options = options(room, &expected);
    let mut arguments = vec!["run", &old, &new];
    arguments.extend(options.iter().map(String::as_str));
    arguments.extend(more);
    room.changeling(&arguments)
}
