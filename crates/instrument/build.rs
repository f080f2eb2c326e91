//! Builds what is linked into traced programs, so that the finished `changeling`
//! carries it: the runtime as one object file, and the glue and the library
//! models as bitcode.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

include!("../identity.rs");

const CLANG: &str = "clang-22";
const CLANG_CXX: &str = "clang++-22";
const LLD: &str = "ld.lld-22";
const OBJCOPY: &str = "llvm-objcopy-22";
const LINK: &str = "llvm-link-22";
const OPT: &str = "opt-22";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.join("../..");
    build_runtime(&root, &out);
    // Exceptions of `new` pass through the glue.
    let glue = here.join("glue/glue.c");
    compile(&glue, &out.join("glue.bc"), &["-fexceptions"]);
    build_models(&root.join("models"), &out, "models.bc");
    build_models(&root.join("models/rust"), &out, "rust.bc");
    build_library(&root.join("models/cxx"), &out);
    println!(
        "cargo::rustc-env=CHANGELING_TRACER={}",
        identity(&root, &TRACER)
    );
}

/// Decides what a traced binary is: caches of traced programs are keyed by it.
const TRACER: [&str; 5] = [
    "crates/trace/src",
    "crates/runtime/src",
    "crates/instrument/src",
    "crates/instrument/glue",
    "models",
];

fn build_runtime(root: &Path, out: &Path) {
    for name in ["trace", "runtime"] {
        println!(
            "cargo::rerun-if-changed={}",
            root.join("crates").join(name).join("src").display()
        );
    }
    let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
    let library = |name: &str, kind: &str| {
        let mut command = Command::new(&rustc);
        command
            .args([
                "--edition",
                "2024",
                "--crate-type",
                kind,
                "--cfg",
                "feature=\"embedded\"",
                "--crate-name",
            ])
            .arg(format!("changeling_{name}"))
            .args([
                "-C",
                "opt-level=3",
                "-C",
                "panic=abort",
                "-C",
                "overflow-checks=off",
            ])
            .args([
                "-C",
                "codegen-units=1",
                "-C",
                "relocation-model=pic",
                "--out-dir",
            ])
            .arg(out)
            .arg(root.join("crates").join(name).join("src/lib.rs"));
        command
    };
    run(&mut library("trace", "rlib"));
    let rlib = out.join("libchangeling_trace.rlib");
    run(library("runtime", "staticlib").arg("--extern").arg({
        let mut text = std::ffi::OsString::from("changeling_trace=");
        text.push(&rlib);
        text
    }));
    // One object with nothing visible but our entry points: a traced Rust
    // program brings a standard library of its own.
    let joined = out.join("joined.o");
    run(Command::new(LLD)
        .args(["-r", "-u", "__chg_rt_start", "-o"])
        .arg(&joined)
        .arg(out.join("libchangeling_runtime.a")));
    run(Command::new(OBJCOPY)
        .args([
            "--wildcard",
            "--keep-global-symbol=__chg_*",
            "--strip-debug",
        ])
        .arg(&joined)
        .arg(out.join("runtime.o")));
}

fn build_models(directory: &Path, out: &Path, name: &str) {
    let parts: Vec<PathBuf> = sources(directory, "c")
        .iter()
        .map(|source| {
            let part = part_of(source, out);
            compile(source, &part, &["-fno-builtin", "-g"]);
            part
        })
        .collect();
    link(&parts, &out.join(name));
}

/// Small functions are inlined, because templates are made of little else. No
/// branch becomes a selection: that would make pointers depend on the input.
const LIBRARY_PASSES: &str = "function(sroa<preserve-cfg>,early-cse,SIMPLIFY),\
cgscc(inline,function(sroa<preserve-cfg>,early-cse,SIMPLIFY,instsimplify,dce)),globaldce";
const SIMPLIFY: &str = "simplifycfg<bonus-inst-threshold=0;no-forward-switch-cond;no-switch-range-to-icmp;\
no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts;no-speculate-blocks;\
no-simplify-cond-branch;no-speculate-unpredictables>";

/// The traced part of the C++ library. Constructors are functions, not aliases
/// of others, so that each can be found by its name.
fn build_library(directory: &Path, out: &Path) {
    let parts: Vec<PathBuf> = sources(directory, "cpp")
        .iter()
        .map(|source| {
            let part = part_of(source, out);
            println!("cargo::rerun-if-changed={}", source.display());
            run(Command::new(CLANG_CXX)
                .args(["-std=c++17", "-fno-builtin"])
                .args(["-Xclang", "-mno-constructor-aliases"])
                .args(["-Xclang", "-disable-llvm-passes"])
                .args(BITCODE)
                .arg(&part)
                .arg(source));
            part
        })
        .collect();
    let joined = out.join("library-joined.bc");
    link(&parts, &joined);
    run(Command::new(OPT)
        .arg(format!(
            "-passes={}",
            LIBRARY_PASSES.replace("SIMPLIFY", SIMPLIFY)
        ))
        .arg("-inline-threshold=40")
        .arg(&joined)
        .arg("-o")
        .arg(out.join("library.bc")));
}

fn sources(directory: &Path, extension: &str) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut sources: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the models directory is part of the repository")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    sources.sort();
    sources
}

fn part_of(source: &Path, out: &Path) -> PathBuf {
    let name = source.file_stem().expect("a source has a name");
    out.join(format!("model-{}.bc", name.display()))
}

fn link(parts: &[PathBuf], to: &Path) {
    run(Command::new(LINK).arg("-o").arg(to).args(parts));
}

/// How bitcode is made; the name of the output follows.
const BITCODE: &[&str] = &[
    "-O1",
    "-fPIE",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",
    "-emit-llvm",
    "-c",
    "-o",
];

fn compile(source: &Path, to: &Path, flags: &[&str]) {
    println!("cargo::rerun-if-changed={}", source.display());
    run(Command::new(CLANG)
        .args(flags)
        .args(BITCODE)
        .arg(to)
        .arg(source));
}

fn run(command: &mut Command) {
    let status = command.status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} failed: {status}"),
        Err(error) => panic!("{command:?} could not be started: {error}; run ./setup first"),
    }
}
