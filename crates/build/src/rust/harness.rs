//! Rust programs that are fuzz targets: a `main` for them, and no fuzzing engine.
//!
//! `libfuzzer-sys`, on which `fuzz_target!` rests, builds an engine with a `main` that makes inputs by itself. It can be told to
//! take another library instead; ours is empty. The `main` is an object in which everything is weak, so it may be
//! linked into any program: one that has its own `main` keeps that.

use crate::assets::{HARNESS, write_once};
use crate::error::{BuildError, WRITE};
use crate::process::run;
use crate::tools::Tool;
use std::path::{Path, PathBuf};
use std::process::Command;

const EMPTY_ARCHIVE: &str = "!<arch>\n";

pub struct Harness {
    object: PathBuf,
    engine: PathBuf,
}

impl Harness {
    /// Puts what is needed into a directory.
    pub fn prepare(directory: &Path) -> Result<Harness, BuildError> {
        let source = write_once(directory, "harness.c", HARNESS)?;
        let engine = write_once(directory, "libchangeling_no_engine.a", EMPTY_ARCHIVE)?;
        let object = directory.join("harness.o");
        // Made under another name, for builds that go on at the same time.
        let draft = directory.join(format!("harness-{}.o", std::process::id()));
        let mut command = Tool::Clang.command()?;
        command
            .args(["-O1", "-g", "-fPIE", "-c", "-DCHANGELING_WEAK"])
            .arg(&source);
        command.arg("-o").arg(&draft);
        let finished = run(&mut command)?;
        if !finished.succeeded() {
            let error = BuildError::Compile {
                file: source,
                output: finished.output,
            };
            return Err(error.or_disk_full(directory));
        }
        std::fs::rename(&draft, &object).map_err(|e| BuildError::io(WRITE, &object, e))?;
        Ok(Harness { object, engine })
    }

    /// For the compiler of the program itself.
    pub fn link_argument(&self) -> String {
        format!("-Clink-arg={}", self.object.display())
    }

    /// For cargo, whose build scripts look there.
    pub fn without_engine(&self, command: &mut Command) {
        command
            .env("CUSTOM_LIBFUZZER_PATH", &self.engine)
            .env("CUSTOM_LIBFUZZER_STD_CXX", "none");
    }
}
