//! Pairs of programs, compiled as `build` prepares them.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use changeling_changes::{Change, ChangeSet, Sources, compare};
use changeling_program::{FileId, Program, Site, read};

#[allow(dead_code, reason = "not every test file asks")]
pub struct Pair {
    pub base: Program,
    pub head: Program,
    pub set: ChangeSet,
}

#[allow(dead_code, reason = "not every test file asks")]
impl Pair {
    pub fn new(base: &str, head: &str) -> Pair {
        Pair::of_files(&[(MAIN, base)], &[(MAIN, head)])
    }

    /// The first file of each is compiled; it may include the others.
    pub fn of_files(base: &[(&str, &str)], head: &[(&str, &str)]) -> Pair {
        Pair::of_compiled(compile_files(base, 1), compile_files(head, 1))
    }

    /// All files of each are compiled and linked.
    pub fn of_units(base: &[(&str, &str)], head: &[(&str, &str)]) -> Pair {
        let (base, head) = (
            compile_files(base, base.len()),
            compile_files(head, head.len()),
        );
        Pair::of_compiled(base, head)
    }

    /// Libraries in Rust.
    pub fn of_rust(base: &str, head: &str) -> Pair {
        Pair::of_compiled(compile_rust(base), compile_rust(head))
    }

    fn of_compiled((base, base_text): Compiled, (head, head_text): Compiled) -> Pair {
        let sources = Sources {
            base: base_text,
            head: head_text,
        };
        let set = compare(&base, &head, &sources);
        Pair { base, head, set }
    }

    /// The only change there is.
    pub fn only(&self) -> &Change {
        assert_eq!(self.set.changes.len(), 1, "{:#?}", self.set.changes);
        &self.set.changes[0]
    }

    pub fn base_lines(&self, change: &Change) -> (u32, u32) {
        let lines = change.base.lines.expect("lines");
        (lines.first, lines.count)
    }

    pub fn head_lines(&self, change: &Change) -> (u32, u32) {
        let lines = change.head.lines.expect("lines");
        (lines.first, lines.count)
    }
}

/// Distinct lines of sites.
#[allow(dead_code, reason = "not every test file asks")]
pub fn lines_of(program: &Program, sites: &[Site]) -> Vec<u32> {
    let mut lines: Vec<u32> = sites
        .iter()
        .filter_map(|&site| program.place(site))
        .map(|place| place.line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// As in `build`: every condition of the source is a branch.
const PASSES: &str = "function(sroa<preserve-cfg>,early-cse,simplifycfg<bonus-inst-threshold=0;\
no-forward-switch-cond;no-switch-range-to-icmp;no-switch-to-lookup;keep-loops;no-hoist-common-insts;\
no-sink-common-insts;no-speculate-blocks;no-simplify-cond-branch;no-speculate-unpredictables>,dce)";

/// The file that is compiled.
const MAIN: &str = "program.c";

#[allow(dead_code, reason = "not every test file asks")]
pub fn compile(source: &str) -> Compiled {
    compile_files(&[(MAIN, source)], 1)
}

pub type Compiled = (Program, HashMap<FileId, String>);

/// The first `units` files are compiled.
fn compile_files(files: &[(&str, &str)], units: usize) -> Compiled {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for (name, text) in files {
        std::fs::write(scratch.path().join(name), text).expect("a source file");
    }
    let raw = scratch.path().join("raw.bc");
    let mut link = Command::new("llvm-link-22");
    for (name, _) in &files[..units] {
        // Named as `build` names them, so that files of one name correspond.
        let module = scratch.path().join(format!("{name}.bc"));
        run(Command::new("clang-22")
            .current_dir(scratch.path())
            .args([
                "-O1",
                "-Xclang",
                "-disable-llvm-passes",
                "-g",
                "-w",
                "-emit-llvm",
                "-c",
            ])
            .arg(name)
            .arg("-o")
            .arg(&module));
        link.arg(module);
    }
    run(link.arg("-o").arg(&raw));
    prepared(&raw)
}

/// A library, as `build` has it compiled.
fn compile_rust(text: &str) -> Compiled {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let raw = scratch.path().join("raw.bc");
    std::fs::write(scratch.path().join("program.rs"), text).expect("a source file");
    run(Command::new("rustc")
        .current_dir(scratch.path())
        .args(["--edition=2021", "--crate-type=lib", "--emit=llvm-bc", "-g"])
        .args([
            "-Copt-level=3",
            "-Cno-prepopulate-passes",
            "-Ccodegen-units=1",
        ])
        .args(["program.rs", "-o", "raw.bc"]));
    prepared(&raw)
}

fn prepared(raw: &Path) -> Compiled {
    let prepared = raw.with_file_name("prepared.bc");
    run(Command::new("opt-22")
        .arg(format!("-passes={PASSES}"))
        .arg(raw)
        .arg("-o")
        .arg(&prepared));
    let program = read(&prepared).expect("readable bitcode");
    let texts = (0..program.files.len())
        .map(FileId::new)
        .filter_map(|id| Some((id, std::fs::read_to_string(program.file(id).path()).ok()?)))
        .collect();
    (program, texts)
}

fn run(command: &mut Command) {
    let output = command.output().expect("the tool is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A program that changes are made in.
#[allow(dead_code, reason = "not every test file asks")]
pub const BASE: &str = "\
#include <stdio.h>
#include <string.h>
#define LIMIT 10
struct item { int id; int weight; };
static int table[4] = {
  1, 2,
  3, 4
};
static int clamp(int value) {
  if (value > LIMIT)
    return LIMIT;
  return value;
}
static int total(struct item *items, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    int weight = items[i].weight;
    if (weight < 0)
      continue;
    sum += clamp(weight) * table[i & 3];
  }
  return sum;
}
int main(int argc, char **argv) {
  struct item items[3] = {{1, 2}, {3, argc}, {5, 6}};
  int mode = 1;
  if (argc > 2)
    mode = 4;
  else
    puts(\"few\");
  int result = total(items, 3);
  printf(\"%d\\n\", result * mode);
  return 0;
}
";

/// [`BASE`] against itself with another piece of text.
#[allow(dead_code, reason = "not every test file asks")]
pub fn changed(from: &str, to: &str) -> Pair {
    assert!(BASE.contains(from), "nothing to replace");
    Pair::new(BASE, &BASE.replacen(from, to, 1))
}
