//! Harnesses: written for functions of three languages, and used.

mod support;

use std::process::Command;
use support::{run, write};

const CHECKSUM: &str = "\
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { int level; bool strict; uint8_t tag[2]; } options;
static int checksum(const uint8_t *data, size_t n, options o, unsigned *seen) {
  unsigned sum = (unsigned)o.level;
  for (size_t i = 0; i < n; i++) {
    if (o.strict && data[i] == 0)
      return -1;
    sum += data[i];
  }
  *seen = (unsigned)n;
  if (o.tag[0] == 'x' && n == 2 && data[1] == 77)
    return 7;
  return (int)(sum % 1000);
}
int main(int argc, char **argv) {
  options o = {argc, false, {0, 0}};
  unsigned seen = 0;
  printf(\"%d\\n\", checksum((const uint8_t *)argv[0], strlen(argv[0]), o, &seen));
  return 0;
}
";

#[test]
fn a_static_function_with_a_buffer_and_a_structure() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "old.c", CHECKSUM);
    write(room, "new.c", &CHECKSUM.replace("return 7", "return 8"));
    let (code, out, error) = run(room, &["harness", "checksum", "old.c", "--out", "h.c"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("h.c"), "{out}");
    let search = [
        "--harness",
        "h.c",
        "--stdin",
        "9",
        "--jobs",
        "1",
        "--time",
        "60s",
    ];
    let (code, out, error) = run(room, &[&["run", "old.c", "new.c"], &search[..]].concat());
    assert_eq!(code, Some(1), "{out}{error}");
    // Only here do they differ: an `x` behind level and `strict`, and two bytes.
    let wanted = ["observed result", "7", "8", "nothing is left to"];
    assert!(wanted.iter().all(|part| out.contains(part)), "{out}");
    let (code, out, error) = run(room, &[&["run", "old.c", "old.c"], &search[..]].concat());
    assert_eq!(code, Some(0), "{out}{error}");
    // The file may have been edited.
    let (code, _, error) = run(room, &["harness", "checksum", "old.c", "--out", "h.c"]);
    assert_eq!(code, Some(4));
    assert!(error.contains("not overwritten"), "{error}");
    // Without Changeling it is a harness all the same.
    let compiled = Command::new("clang-22")
        .args(["-Wall", "-Wextra", "-Werror", "-c", "h.c", "-o", "h.o"])
        .current_dir(room)
        .status()
        .expect("clang");
    assert!(compiled.success());
}

/// As many structures as the number behind the pointer says, not one of them and the number by itself.
#[test]
fn an_array_of_structures_and_its_length() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let source = "
struct point { short x, y; };
int sum(const struct point *points, unsigned count, long *total) {
  *total = 0;
  for (unsigned i = 0; i < count; i++) *total += points[i].x + points[i].y;
  return *total > 9;
}
";
    write(room, "sum.c", source);
    let place = "with a space/h.c";
    std::fs::create_dir(room.join("with a space")).expect("a folder");
    let (code, _, error) = run(room, &["harness", "sum", "sum.c", "--out", place]);
    assert_eq!(code, Some(0), "{error}");
    let harness = std::fs::read_to_string(room.join(place)).expect("the harness");
    for part in [
        "points_count = in.size / 4;",
        "unsigned int count = (unsigned int)points_count;",
        "long total",
        "--harness 'with a space/h.c'",
    ] {
        assert!(harness.contains(part), "{part}\n{harness}");
    }
    let search = ["run", "sum.c", "sum.c", "--harness", place, "--stdin", "8"];
    let more = ["--jobs", "1", "--runs", "20", "--sanitize", "address"];
    let (code, out, error) = run(room, &[&search[..], &more[..]].concat());
    assert_eq!(code, Some(0), "{out}{error}");
}

fn git(room: &std::path::Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=tests", "-c", "user.email=tests@invalid"])
        .args(arguments)
        .current_dir(room)
        .output()
        .expect("git");
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_function_of_a_tree_and_of_a_revision() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let git = |arguments: &[&str]| git(room, arguments);
    write(
        room,
        "Makefile",
        "prog: main.c part.c\n\t$(CC) $(CFLAGS) -o $@ main.c part.c\n",
    );
    let part = "int twice(int value, const char *word) {\n  if (word[0] == 'q') value++;\n  return 2 * value;\n}\n";
    write(room, "part.c", part);
    write(
        room,
        "main.c",
        "int twice(int, const char *);\nint main(int c, char **v) { return twice(c, v[0]); }\n",
    );
    git(&["init", "--quiet", "--initial-branch", "main", "."]);
    git(&["add", "Makefile", "part.c", "main.c"]);
    git(&["commit", "--quiet", "-m", "old"]);
    write(room, "part.c", &part.replace("'q'", "'r'"));
    git(&["commit", "--quiet", "-am", "new"]);
    let (code, out, error) = run(room, &["harness", "twice", "."]);
    assert_eq!(code, Some(0), "{error}");
    write(room, "h.c", &out);
    let all = [
        "run",
        "--base",
        "main~1",
        "--head",
        "main",
        "--harness",
        "h.c",
    ];
    let (code, out, error) = run(
        room,
        &[&all[..], &["--stdin", "5", "--time", "30s"]].concat(),
    );
    assert_eq!(code, Some(1), "{out}{error}");
    let (code, out, error) = run(
        room,
        &["trace", ".", "--harness", "h.c", "--stdin", "5", "--check"],
    );
    assert_eq!(code, Some(0), "{out}{error}");
}

#[test]
fn what_only_a_sanitizer_sees() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
#include <stdlib.h>
int last(const unsigned char *data, unsigned long n) {
  if (n < 2) return 0;
  unsigned char *copy = malloc(2);
  copy[0] = data[0];
  copy[1] = data[1];
  int place = data[0] == 9 ? LARGE : 1;
  copy[place] = 1;
  int value = copy[0] != 0;
  free(copy);
  return value;
}
";
    let make = "prog: main.c part.c\n\t$(CC) $(CFLAGS) -o $@ main.c part.c\n";
    let main =
        "int last(const unsigned char *, unsigned long);\nint main(void) { return last(0, 0); }\n";
    for (name, large) in [("old", "1"), ("new", "2")] {
        write(room, &format!("{name}.c"), &text.replace("LARGE", large));
        write(
            room,
            &format!("{name}/part.c"),
            &text.replace("LARGE", large),
        );
        write(room, &format!("{name}/Makefile"), make);
        write(room, &format!("{name}/main.c"), main);
    }
    let harness = "\
#include <stddef.h>
int last(const unsigned char *, unsigned long);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n) { return last(data, n); }
";
    write(room, "h.c", harness);
    for versions in [["old.c", "new.c"], ["old", "new"]] {
        let options = ["--harness", "h.c", "--stdin", "2", "--sanitize", "address"];
        let (code, out, error) = run(
            room,
            &[&["run"], &versions[..], &options[..], &["--time", "30s"]].concat(),
        );
        assert_eq!(code, Some(1), "{out}{error}");
        assert!(out.contains("heap-buffer-overflow"), "{out}");
    }
}

#[test]
fn functions_of_cpp() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
namespace ns {
enum class Color : uint8_t { red, green };
struct Point { int x; bool up; };
namespace {
int mix(const std::string &s, std::string_view v, Color c, const Point &p, const std::vector<int> &q, int &out) {
  out = p.up ? p.x : -1;
  return c == Color::green && s == \"ab\" ? (int)v.size() : (int)q.size();
}
}
int run() { int o; return mix(\"\", \"\", Color::red, {1, false}, {}, o); }
}
struct Box { int side; int area() { return side * side; } static int unit(int n) { return n; } };
int any(int n, ...) { return n; }
int main() { Box b{2}; return ns::run() + b.area() + Box::unit(1) + any(1); }
";
    write(room, "a.cpp", text);
    for name in ["mix", "Box::unit"] {
        let (code, out, error) = run(room, &["harness", name, "a.cpp"]);
        assert_eq!(code, Some(0), "{error}");
        write(room, "h.cc", &out);
        let trace = [
            "trace",
            "a.cpp",
            "--harness",
            "h.cc",
            "--stdin",
            "24",
            "--check",
        ];
        let (code, out, error) = run(room, &trace);
        assert_eq!(code, Some(0), "{name}: {out}{error}");
        assert!(out.contains("agrees with the plain run"), "{out}");
    }
    for (name, reason) in [
        ("area", "method"),
        ("any", "any number"),
        ("main", "starts"),
    ] {
        let (code, _, error) = run(room, &["harness", name, "a.cpp"]);
        assert_eq!(code, Some(29), "{name}");
        assert!(error.contains(reason), "{error}");
    }
}

const PACKAGE: &str = "[package]\nname = \"NAME\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

#[test]
fn a_library_in_rust() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "lib/Cargo.toml", &PACKAGE.replace("NAME", "lib"));
    let text = "\
pub mod text {
    pub struct Point { pub x: i8, pub y: u8 }
    pub fn shown(text: &str, times: u8, upper: bool, p: Point, rest: &[u16]) -> Vec<String> {
        let text = if upper { text.to_uppercase() } else { text.to_owned() };
        vec![text; times as usize + p.x as usize + p.y as usize + rest.len()]
    }
    fn hidden(n: u32) -> u32 { n }
    pub fn called(f: fn(u32) -> u32) -> u32 { f(hidden(1)) }
}
";
    write(room, "lib/src/lib.rs", text);
    let (code, out, error) = run(room, &["harness", "shown", "lib", "--out", "my h.rs"]);
    assert_eq!(code, Some(0), "{out}{error}");
    for (name, reason) in [
        ("hidden", "not `pub`"),
        ("called", "`f`: a value of type `fn"),
    ] {
        let (code, _, error) = run(room, &["harness", name, "lib"]);
        assert_eq!(code, Some(29), "{name}");
        assert!(error.contains(reason), "{error}");
    }
    let package = room.join("lib");
    git(&package, &["init", "--quiet", "."]);
    git(&package, &["add", "Cargo.toml", "src"]);
    git(&package, &["commit", "--quiet", "-m", "first"]);
    let (code, out, error) = run(&package, &["harness", "shown", "--revision", "HEAD"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("lib::text::shown("), "{out}");
    let (code, _, error) = run(room, &["harness", "shwon", "lib"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("lib::text::shown"), "{error}");
    // times, upper, x, y, a text of two bytes, one number.
    std::fs::write(room.join("input"), b"\x01\x01\x00\x01\x02ab\x07\x00").expect("a file");
    let (code, out, error) = run(
        room,
        &["trace", "lib", "--harness", "my h.rs", "--stdin", "input"],
    );
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains(r#"[\"AB\", \"AB\", \"AB\"]"#), "{out}");
}

#[test]
fn what_does_not_fit_is_told() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "old.c", CHECKSUM);
    let (code, out, error) = run(room, &["harness", "checksum", "old.c"]);
    assert_eq!(code, Some(0), "{error}");
    write(room, "h.c", &out);
    write(room, "renamed.c", &CHECKSUM.replace("checksum", "sum_up"));
    write(
        room,
        "other.c",
        &CHECKSUM.replace("size_t n,", "unsigned n,"),
    );
    write(room, "broken.c", "int x\n");
    write(room, "empty.c", "int x;\n");
    write(room, "h.rs", "fn main() {}\n");
    write(room, "h.txt", "");
    let cases = [
        (
            "renamed.c",
            "h.c",
            29,
            "`checksum`, which this version does not have",
        ),
        ("other.c", "h.c", 29, "declares `checksum` as"),
        ("old.c", "broken.c", 13, "expected ';'"),
        ("old.c", "empty.c", 12, "empty.c"),
        ("old.c", "nowhere.c", 10, "nowhere.c"),
        ("old.c", "h.rs", 29, "cargo package"),
        ("old.c", "h.txt", 29, "h.txt"),
    ];
    for (version, harness, wanted, said) in cases {
        let arguments = ["trace", version, "--harness", harness, "--stdin", "9"];
        let (code, _, error) = run(room, &arguments);
        assert_eq!(code, Some(wanted), "{version} {harness}: {error}");
        assert!(error.contains(said) && error.contains("help: "), "{error}");
    }
    let library = "\
struct hidden;
int opaque(struct hidden *h, void *p, void (*f)(int), char **list, int n) { return h != 0 && p && f && list && n; }
";
    write(room, "library.c", library);
    let (code, _, error) = run(room, &["harness", "opaque", "library.c"]);
    assert_eq!(code, Some(29));
    for name in ["`h`", "`p`", "`f`", "`list`"] {
        assert!(error.contains(name), "{name}: {error}");
    }
    assert!(!error.contains("`n`"), "{error}");
    let (code, _, error) = run(room, &["harness", "chekcsum", "old.c"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("similar names: checksum"), "{error}");
}
