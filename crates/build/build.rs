//! Gives the crate a number that changes with everything that decides what a build makes:
//! what is kept of builds is keyed by it.

use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = vec![here.join("../../include/changeling.h")];
    println!("cargo::rerun-if-changed=../../include/changeling.h");
    println!("cargo::rerun-if-changed=src");
    collect(&here.join("src"), &mut files);
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in std::fs::read(&file).expect("a file of the repository") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=CHANGELING_BUILDER={hash:016x}");
}

/// All files below a directory.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of the repository") {
        let path = entry.expect("an entry of a directory").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
