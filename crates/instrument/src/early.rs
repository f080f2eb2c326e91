//! What runs before `main`. Runs start there, so input that was read earlier is not followed.

use crate::ir::{Ir, Value};
use changeling_trace::layout::unseen;
use std::collections::HashSet;

const LIST: &str = "llvm.global_ctors";
/// Sections with pointers to functions that the loader calls.
const SECTIONS: &[&str] = &[".preinit_array", ".init_array", ".ctors"];
/// Rust's library only keeps where the arguments are.
const RUST_ARGUMENTS: &str = "ARGV_INIT_ARRAY";

/// Functions of the C library that read files or standard input, or tell how long they are.
const READERS: &[&str] = &[
    "fdopen",
    "fgetc",
    "fgetc_unlocked",
    "fgets",
    "fgets_unlocked",
    "fopen",
    "fopen64",
    "fread",
    "fread_unlocked",
    "freopen",
    "fscanf",
    "fstat",
    "fstat64",
    "getc",
    "getc_unlocked",
    "getchar",
    "getchar_unlocked",
    "getdelim",
    "getline",
    "gets",
    "ioctl",
    "lseek",
    "lseek64",
    "lstat",
    "mmap",
    "mmap64",
    "open",
    "open64",
    "openat",
    "poll",
    "pread",
    "pread64",
    "preadv",
    "preadv2",
    "preadv64",
    "preadv64v2",
    "read",
    "readv",
    "scanf",
    "select",
    "stat",
    "stat64",
    "ungetc",
    "vfscanf",
    "vscanf",
];
/// How the C library names other ways to the same functions.
const PREFIXES: &[&str] = &["__model_", "_IO_", "__isoc99_", "__isoc23_", "__"];
const CHECKED: &str = "_chk";
const STREAMS: &[&str] = &["stdin", "_ZSt3cin", "_ZSt4wcin"];
const VARIABLES: &[&str] = &["getenv", "secure_getenv", "environ", "_environ"];

/// Which input the program may read before `main`: bits of [`unseen`].
pub fn unseen(program: Ir) -> u32 {
    let mut which = 0;
    let mut work = Vec::new();
    for global in program.globals() {
        let name = global.name();
        let section = global.section().unwrap_or_default();
        let is_listed = SECTIONS.iter().any(|start| section.starts_with(start));
        if (name == LIST || is_listed) && !name.contains(RUST_ARGUMENTS) {
            work.push(global);
        }
    }
    let mut seen: HashSet<Value> = work.iter().copied().collect();
    let started = callees(&work);
    // The loader hands arguments and variables to them.
    let takes = |function: &Value| function.parameters().iter().any(|p| !p.users().is_empty());
    if started.iter().any(takes) {
        which |= unseen::ARGUMENTS | unseen::ENVIRONMENT;
    }
    while let Some(value) = work.pop() {
        which |= reads(&value.name());
        let inside = value.is_function().then(|| value.blocks());
        let instructions = inside.into_iter().flatten().flat_map(|b| b.instructions());
        let used = value.operands().into_iter();
        for next in used.chain(instructions.flat_map(|instruction| instruction.operands())) {
            if next.is_constant() && seen.insert(next) {
                work.push(next);
            }
        }
    }
    which
}

/// The functions in lists of those that are called.
fn callees(lists: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut work: Vec<Value> = lists.iter().flat_map(|list| list.operands()).collect();
    while let Some(value) = work.pop() {
        if value.is_function() {
            found.push(value);
        } else if value.is_constant() {
            work.extend(value.operands());
        }
    }
    found
}

fn reads(name: &str) -> u32 {
    let mut own = name.strip_suffix(CHECKED).unwrap_or(name);
    if STREAMS.contains(&own) {
        return unseen::STDIN;
    }
    for prefix in PREFIXES {
        own = own.strip_prefix(prefix).unwrap_or(own);
    }
    if READERS.contains(&own) {
        return unseen::STDIN | unseen::FILES;
    }
    match VARIABLES.contains(&own) {
        true => unseen::ENVIRONMENT,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_read_under_other_names_too() {
        let files = unseen::STDIN | unseen::FILES;
        for name in [
            "__model_getchar",
            "fgets",
            "__fgets_chk",
            "__isoc23_scanf",
            "__model___isoc99_sscanf",
        ] {
            let expected = if name.ends_with("sscanf") { 0 } else { files };
            assert_eq!(reads(name), expected, "{name}");
        }
        assert_eq!(reads("__environ"), unseen::ENVIRONMENT);
        assert_eq!(reads("_ZSt3cin"), unseen::STDIN);
        assert_eq!(reads("reader"), 0);
    }
}
