//! Compiles the two C parts: the supervisor (process 1 of the cage, a program of its own so that a run never copies
//! the parent's memory) and the shim (preloaded into programs). Both are embedded in the crate.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-env-changed=CC");
    let supervisor = output.join("supervisor");
    let sources = sources("supervisor");
    // A static supervisor forks fastest and needs nothing inside the cage; without a static C library a dynamic one will do.
    if !compile(&sources, &supervisor, &["-static"]) && !compile(&sources, &supervisor, &[]) {
        fail();
    }
    let shim = output.join("shim.so");
    let flags = [
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-builtin",
        "-Wl,-z,now",
        "-ldl",
    ];
    if !compile(&self::sources("shim"), &shim, &flags) {
        fail();
    }
}

fn sources(directory: &str) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={directory}");
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("cannot list {directory}: {error}"));
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    files
}

fn compile(sources: &[PathBuf], output: &Path, flags: &[&str]) -> bool {
    let chosen = env::var("CC").ok();
    let compilers = chosen
        .iter()
        .map(String::as_str)
        .chain(["clang-22", "clang", "cc", "gcc"]);
    for compiler in compilers {
        let result = Command::new(compiler)
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
            .args(sources)
            .args(flags)
            .arg("-o")
            .arg(output)
            .output();
        match result {
            Ok(done) if done.status.success() => {
                fs::metadata(output).expect("the compiler reported success");
                return true;
            }
            Ok(done) => {
                for line in String::from_utf8_lossy(&done.stderr).lines() {
                    println!("cargo::warning={compiler}: {line}");
                }
            }
            Err(_) => continue,
        }
    }
    false
}

fn fail() -> ! {
    println!(
        "cargo::error=no C compiler could build the sandbox: install clang-22 or gcc with the C library's headers"
    );
    std::process::exit(1);
}
