//! Gives the crate a number that changes with everything that decides what a build makes:
//! what is kept of builds is keyed by it.

use std::path::Path;

include!("../identity.rs");

fn main() {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let root = Path::new(&here).join("../..");
    let builder = identity(&root, &["include/changeling.h", "crates/build/src"]);
    println!("cargo::rustc-env=CHANGELING_BUILDER={builder}");
}
