//! `changeling diff` and `changeling graph` on small programs, and on what
//! nobody should give them.

mod support;

use serde_json::Value;
use std::fmt::Write;
use support::{run, write};

const OLD: &str = "\
#include <stdio.h>
#define LIMIT 10
static int table[4] = {
  1, 2,
  3, 4
};
static int clamp(int value) {
  if (value > LIMIT)
    return LIMIT;
  return value;
}
/* sums up */
static int total(const int *items, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    int weight = items[i];
    if (weight < 0)
      continue;
    sum += clamp(weight) * table[i & 3];
  }
  return sum;
}
int spare(int x) { return x + 1; }
int main(int argc, char **argv) {
  int items[3] = {1, argc, 5};
  printf(\"%d\\n\", total(items, 3));
  return 0;
}
";

fn edited(edits: &[(&str, &str)]) -> String {
    let mut text = OLD.to_owned();
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn changes_and_what_only_looks_like_one() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "old.c", OLD);
    let new = edited(&[
        ("LIMIT 10", "LIMIT 11"),
        ("3, 4", "3, 5"),
        ("sums up", "adds up"),
        ("weight", "w"),
        ("w < 0", "w <= 0"),
        ("x + 1", "x + 2"),
        ("int main", "int more(void) { return 1; }\nint main"),
    ]);
    write(room, "new.c", &new);
    let (code, out, error) = run(room, &["diff", "old.c", "new.c", "--json"]);
    assert_eq!(code, Some(1), "{error}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let seen: Vec<(String, u64, bool)> = report["changes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|change| {
            let text = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
            (
                format!("{} {} {}", text("kind"), text("subject"), text("name")),
                change["head"]["first"].as_u64().unwrap_or_default(),
                change["reachable"].as_bool().expect("said"),
            )
        })
        .collect();
    let expected = [
        ("modified code clamp", 2, true),
        ("modified variable table", 5, true),
        ("modified code total", 16, true),
        ("modified code spare", 23, false),
        ("added function more", 24, false),
    ];
    assert_eq!(
        seen,
        expected.map(|(what, line, live)| (what.to_owned(), line, live))
    );
    assert_eq!(report["changes"][0]["affects"][0]["function"], "clamp");
    assert_eq!(report["changes"][1]["affects"][0]["function"], "total");
    let quiet: Vec<_> = report["quiet"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|hunk| (hunk["reason"].as_str(), hunk["head"]["first"].as_u64()))
        .collect();
    assert_eq!(
        quiet,
        [(Some("comments"), Some(12)), (Some("names"), Some(19))]
    );

    let (_, out, _) = run(room, &["diff", "old.c", "new.c"]);
    for part in [
        "1. modified in clamp: old.c:2 → new.c:2\n    -#define LIMIT 10\n    +#define LIMIT 11\n    acts on clamp (new.c:8)\n",
        "    cannot be reached: ",
        "5 changes from old.c to new.c, 2 textual differences without effect",
    ] {
        assert!(out.contains(part), "{part:?} in {out}");
    }
}

#[test]
fn cosmetics_are_no_change() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let start = OLD.find("static int clamp").expect("clamp");
    let end = OLD.find("/* sums up */").expect("total");
    let moved = format!(
        "{}static int clamp(int value);\n{}{}",
        &OLD[..start],
        &OLD[end..],
        &OLD[start..end]
    );
    write(room, "old.c", OLD);
    write(room, "new.c", &moved.replace("sum", "amount"));
    let (code, out, error) = run(room, &["diff", "old.c", "new.c"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("no change from old.c to new.c"), "{out}");
}

#[test]
fn programs_that_are_no_versions_of_one() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "old.c", OLD);
    let harness = "int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return n && *p == 7; }\n";
    write(room, "harness.c", harness);
    let (code, out, error) = run(room, &["diff", "old.c", "harness.c"]);
    assert_eq!((code, &*out), (Some(30), ""), "{error}");
    assert!(
        error.contains("old.c and harness.c have no function of their own in common"),
        "{error}"
    );
    write(room, "bad.c", "int main(void) { return x; }\n");
    let (code, _, error) = run(room, &["diff", "old.c", "bad.c"]);
    assert_eq!(code, Some(13), "{error}");
    assert!(error.contains("(head, bad.c)"), "{error}");
    assert_eq!(run(room, &["diff", "old.c"]).0, Some(2));
    assert_eq!(run(room, &["diff"]).0, Some(2));
}

/// What both have of Rust's library, and the `main` that compilers make, does not count.
#[test]
fn a_program_in_another_language_has_nothing_in_common() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "#include <stdio.h>\nint main(int n, char **v) { puts(n > 1 && v[1][0] == 'a' ? \"yes\" : \"no\"); }\n";
    write(room, "old.c", text);
    for (name, body) in [
        (
            "port",
            "let first = std::env::args().nth(1).unwrap_or_default();\n    println!(\"{}\", if first.starts_with('b') { \"yes\" } else { \"no\" });",
        ),
        (
            "sum",
            "let mut sum = 0u64;\n    for line in std::io::stdin().lines() {\n        sum += line.unwrap().len() as u64;\n    }\n    println!(\"{sum}\");",
        ),
    ] {
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        write(room, &format!("{name}/Cargo.toml"), &manifest);
        let main = format!("fn main() {{\n    {body}\n}}\n");
        write(room, &format!("{name}/src/main.rs"), &main);
    }
    let pairs = [("old.c", "port"), ("port", "old.c"), ("port", "sum")];
    for (base, head) in pairs {
        let (code, out, error) = run(room, &["diff", base, head]);
        assert_eq!((code, &*out), (Some(30), ""), "{base} {head}: {error}");
        let said = format!("error: {base} and {head} have no function of their own in common");
        assert!(error.contains(&said), "{error}");
    }
    let (code, _, error) = run(room, &["diff", "old.c", "port"]);
    assert_eq!(code, Some(30));
    assert!(
        error.contains("where: old.c has 1 function (main); port has 1 function (port::main)"),
        "{error}"
    );
    let (code, out, error) = run(room, &["graph", "old.c", "port", "--csg", "--out", "-"]);
    assert_eq!((code, &*out), (Some(30), ""), "{error}");

    let search = [
        "run",
        "old.c",
        "port",
        "--sym-arg",
        "1",
        "--runs",
        "40",
        "--jobs",
        "1",
    ];
    let (code, out, error) = run(room, &search);
    assert_eq!(code, Some(1), "{out}{error}");
    let said = "the versions have no function of their own in common";
    assert_eq!(out.matches(said).count(), 1, "{out}{error}");
    assert!(
        !error.contains(said) && !out.contains("changed lines"),
        "{out}{error}"
    );
}

/// The lines of base are the function's, not those that stand around them.
#[test]
fn a_function_that_moved_to_another_file_and_changed() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let start = "#include <stdio.h>\nint limit(int n);\n";
    let limit = "int limit(int n) {\n  if (n < 0)\n    return -1;\n  if (n > 10)\n    return 10;\n  return n;\n}\n";
    let twice = "int twice(int n) {\n  if (n & 1)\n    n *= 2;\n  return n * 3;\n}\n";
    let main = |call: &str| {
        format!("int main(int argc, char **argv) {{\n  printf(\"%d\\n\", {call});\n}}\n")
    };
    write(
        room,
        "old/main.c",
        &format!("{start}{limit}{}", main("limit(argc)")),
    );
    write(
        room,
        "new/main.c",
        &format!("{start}{twice}{}", main("twice(limit(argc))")),
    );
    let moved = limit.replace("n > 10", "n > 12");
    write(room, "new/limit.c", &format!("/* on its own */\n{moved}"));
    let build = ["--build", "$CC -g *.c -o p", "--program", "p", "--json"];
    let arguments = [&["diff", "old", "new"], &build[..]].concat();
    let (code, out, error) = run(room, &arguments);
    assert_eq!(code, Some(1), "{error}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let changes = report["changes"].as_array().expect("a list").iter();
    let own: Vec<&Value> = changes.filter(|change| change["name"] == "limit").collect();
    let [change] = own[..] else {
        panic!("one change of limit expected: {out}");
    };
    assert_eq!(change["hunk"], "-  if (n > 10)\n+  if (n > 12)\n");
    let place = |side: &str| (change[side]["file"].clone(), change[side]["first"].as_u64());
    assert_eq!(place("base"), ("main.c".into(), Some(6)));
    assert_eq!(place("head"), ("limit.c".into(), Some(5)));
    // What stands there now is said without the function that went away.
    for hunk in report["quiet"].as_array().expect("a list") {
        let text = hunk["hunk"].as_str().expect("a text");
        assert!(!text.contains("n > 1"), "{text}");
    }
}

#[test]
fn hints_are_no_change() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
#include <stdio.h>
#define hint(x) (x)
#define check(c, text) ((void)(hint(c) || puts(text)))
int main(int argc, char **argv) {
  check(argc > 1 && argv[1][0] == 'a', \"no\");
  if (hint(argc > 3 || (argc == 2 && !argv[1][1])))
    puts(\"more\");
  return 0;
}
";
    write(room, "old.c", text);
    let hint = "hint(x) (__builtin_expect(((x) != 0), 1))";
    let hinted = text.replace("hint(x) (x)", hint);
    write(room, "new.c", &hinted);
    let (code, out, error) = run(room, &["diff", "old.c", "new.c"]);
    assert_eq!(code, Some(0), "{out}{error}");
    // The opposite of what was hinted at is another condition.
    write(room, "other.c", &hinted.replace("!argv", "argv"));
    let (code, out, error) = run(room, &["diff", "old.c", "other.c"]);
    assert_eq!(code, Some(1), "{out}{error}");
}

#[test]
fn graphs_are_drawn() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(room, "old.c", OLD);
    write(
        room,
        "new.c",
        &edited(&[("weight < 0", "weight <= 0"), ("LIMIT 10", "LIMIT 9")]),
    );
    for kind in ["cfg", "cdg", "pdg"] {
        let (code, out, error) = run(room, &["graph", "old.c", "total", &format!("--{kind}")]);
        assert_eq!(code, Some(0), "{out}{error}");
        let read = |end: &str| std::fs::read_to_string(room.join(format!("total.{kind}.{end}")));
        let (dot, svg) = (read("dot").expect("DOT"), read("svg").expect("SVG"));
        assert!(dot.contains("if (weight < 0)"), "{dot}");
        assert!(svg.contains("if (weight &lt; 0)"), "{svg}");
        assert!(svg.trim_end().ends_with("</svg>"), "{svg}");
    }
    let (code, out, error) = run(room, &["graph", "old.c", "new.c", "--csg", "--out", "-"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("change 1") && out.contains("meet"), "{out}");

    let (code, _, error) = run(room, &["graph", "old.c", "total", "--cfg", "--out", ""]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--out"), "{error}");
    let (code, _, error) = run(room, &["graph", "old.c", "totl", "--cfg"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("similar names: total"), "{error}");
    let (code, _, error) = run(room, &["graph", "old.c", "printf", "--cfg"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("comes from a library"), "{error}");
    assert_eq!(run(room, &["graph", "old.c", "total"]).0, Some(2));
    assert_eq!(run(room, &["graph", "old.c", "--cfg"]).0, Some(2));
}

/// Statements of which nothing is left but a value that others use are in the graphs, and nothing is that the source does
/// not have there.
#[test]
fn assignments_are_drawn_where_they_stand() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
int step(int a, int b) {
  int mode = 0, sum = 0;
  if (a > 3 && b > 4)
    mode = 1;
  else if (a == 2)
    return 7;
  for (int i = 0; i < b; i++)
    sum += mode;
  if (mode == 1)
    sum = b;
  return sum;
}
int main(int argc, char **argv) { return step(argc, argc * 2); }
";
    write(room, "old.c", text);
    let graph = |kind: &str| {
        let (code, out, error) = run(room, &["graph", "old.c", "step", kind, "--out", "-"]);
        assert_eq!(code, Some(0), "{error}");
        out
    };
    let pdg = graph("--pdg");
    for edge in [
        "l3 -> l4 [label=\"T\"]",
        "l5 -> l6 [label=\"T\"]",
        "l2 -> l8 [label=\"mode, sum\", style=dashed]",
        "l4 -> l8 [label=\"mode\", style=dashed]",
        "l4 -> l9 [label=\"mode\", style=dashed]",
        "entry -> l10 [label=\"b\", style=dashed]",
        "l9 -> l10 [label=\"T\"]",
        "l10 -> l11 [label=\"sum\", style=dashed]",
    ] {
        assert!(pdg.contains(edge), "{edge}: {pdg}");
    }
    // Only the first condition decides on it.
    assert_eq!(pdg.matches("-> l4 ").count(), 1, "{pdg}");
    let cfg = graph("--cfg");
    assert!(cfg.contains("label=\"4: mode = 1;\""), "{cfg}");
    assert!(cfg.contains("label=\"6: return 7;\""), "{cfg}");
    assert_eq!(cfg.matches("4: mode = 1;").count(), 1, "{cfg}");
}

#[test]
fn graphs_leave_files_of_others_alone() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    write(
        room,
        "old.c",
        "int main(int argc, char **argv) { return argc; }\n",
    );
    let graph = |more: &[&str]| run(room, &[&["graph", "old.c", "main"], more].concat());
    for _ in 0..2 {
        // One of its own is replaced.
        let (code, _, error) = graph(&["--cfg", "--out", "own"]);
        assert_eq!(code, Some(0), "{error}");
        let (code, _, error) = graph(&["--cdg", "--out", "own"]);
        assert_eq!(code, Some(0), "{error}");
    }
    write(room, "logo.svg", "<svg></svg>\n");
    let (code, _, error) = graph(&["--cfg", "--out", "logo"]);
    assert_eq!(code, Some(31), "{error}");
    assert!(
        error.contains("logo.svg") && error.contains("--out"),
        "{error}"
    );
    assert!(!room.join("logo.dot").exists());
    let kept = std::fs::read_to_string(room.join("logo.svg")).expect("a file");
    assert_eq!(kept, "<svg></svg>\n");
    let (code, _, error) = graph(&["--cfg", "--out", "nowhere/name"]);
    assert_eq!(code, Some(31), "{error}");
    for (options, what) in [
        (&["--cfg", "--out", "."][..], "that is a directory"),
        (&["--cfg", "--older"], "--older goes with --csg only"),
        (&["--cfg", "--base", "HEAD"], "--base goes with --csg only"),
    ] {
        let (code, _, error) = graph(options);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn names_of_cpp_are_taken_as_the_source_has_them() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
namespace shop {
int price(int n) { return n > 3 ? n : 3; }
int price(long n) { return n > 4 ? 4 : 3; }
int rest(int n) { return n ? n - 1 : 0; }
}
static int start = shop::rest(8);
int main(int argc, char **) { return shop::price(argc) + shop::price(2L) + shop::rest(start); }
";
    write(room, "a.cpp", text);
    // What initialises `start` is called by the file's name.
    write(room, "b.cpp", text);
    let (code, out, error) = run(room, &["diff", "a.cpp", "b.cpp"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "no change from a.cpp to b.cpp\n"),
        "{error}"
    );
    for name in ["shop::rest(int)", "shop::rest", "rest", "_ZN4shop4restEi"] {
        let (code, out, error) = run(room, &["graph", "a.cpp", name, "--cfg", "--out", "-"]);
        assert_eq!(code, Some(0), "{error}");
        assert!(out.starts_with("digraph \"shop::rest(int)"), "{out}");
    }
    let (code, _, error) = run(room, &["graph", "a.cpp", "price", "--cfg"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("2 functions are called `price`"), "{error}");
}

/// Of thousands of blocks in a loop the compiler cannot find the best order in any reasonable time.
#[test]
fn a_switch_of_ten_thousand_cases() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let mut text = String::from(
        "#include <stdio.h>\nint main(void) {\n  int c, n = 0;\n  while ((c = getchar()) != EOF) {\n    n = n * 31 + c;\n    switch (n & 16383) {\n",
    );
    for k in 0..10_000 {
        let _ = writeln!(text, "    case {k}: n ^= {}; break;", k * 7 + 1);
    }
    text += "    default: n++;\n    }\n  }\n  printf(\"%d\\n\", n);\n  return 0;\n}\n";
    write(room, "old.c", &text);
    write(room, "new.c", &text.replace("n ^= 540;", "n ^= 541;"));
    let (code, out, error) = run(room, &["diff", "old.c", "new.c"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(
        out.contains("modified in main: old.c:84 → new.c:84"),
        "{out}"
    );
}

/// Ten thousand blocks, a loop with two entries, recursion.
#[test]
fn large_and_tangled_functions() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let mut text = String::from("#include <stdio.h>\nint large(int n) {\n  int s = 0;\n");
    for k in 0..3500 {
        let _ = writeln!(text, "  if (n == {k}) s ^= {}; else s += n;", k * 3 + 1);
    }
    text += "  return s;\n}\n";
    text += "\
int tangled(int n) {
  if (n & 1) goto middle;
top:
  n--;
  if (n < 0) return n;
middle:
  n -= 2;
  if (n > 0) goto top;
  return n ? tangled(n + 1) : 0;
}
int main(int argc, char **argv) { printf(\"%d\\n\", large(argc) + tangled(argc)); return 0; }
";
    write(room, "old.c", &text);
    write(
        room,
        "new.c",
        &text
            .replace("n -= 2;", "n -= 3;")
            .replace("s ^= 10;", "s ^= 11;"),
    );
    let (code, out, error) = run(room, &["graph", "old.c", "large", "--cfg"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("too large to be drawn"), "{out}");
    assert!(!room.join("large.cfg.svg").exists());
    for kind in ["--cfg", "--cdg", "--pdg"] {
        let (code, _, error) = run(room, &["graph", "old.c", "tangled", kind]);
        assert_eq!(code, Some(0), "{error}");
    }
    let (code, out, error) = run(room, &["diff", "old.c", "new.c", "--short"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(out.contains("2 changes"), "{out}");
    let (code, out, error) = run(room, &["graph", "old.c", "new.c", "--csg", "--out", "-"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("in tangled"), "{out}");
}

/// A static function that only one version uses, with the same text in both, is no change of its own.
#[test]
fn functions_that_only_one_version_uses() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let text = "\
#include <stdio.h>
static int twice(int n) { return 2 * n; }
static int thrice(int n) { return 3 * n; }
int main(int argc, char **argv) {
  printf(\"%d\\n\", twice(argc));
  return 0;
}
";
    write(room, "old.c", text);
    let new = text.replace("%d\\n\", twice(argc)", "%d\\n\", thrice(argc)");
    write(room, "new.c", &new);
    let (code, out, error) = run(room, &["diff", "old.c", "new.c"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(out.contains("1 change from old.c to new.c"), "{out}");
    // As code, the one function takes the place of the other: it is not taken for a renamed one.
    assert!(
        out.contains("used by old.c only, no change: twice")
            && out.contains("used by new.c only, no change: thrice"),
        "{out}"
    );
    // One that is written in one version only is a change still.
    let with = text.replace(
        "int main",
        "static int half(int n) { putchar('h'); return n / 2; }\nint main",
    );
    let with = with.replace("%d\\n\", twice(argc)", "%d\\n\", twice(argc) + half(argc)");
    write(room, "new.c", &with);
    let (_, out, _) = run(room, &["diff", "old.c", "new.c", "--short"]);
    assert!(out.contains("added function half"), "{out}");
    assert!(!out.contains("only, no change"), "{out}");
}

/// Functions of Rust's library are made anew for other types. The change is what asks for them.
#[test]
fn instances_of_a_library_are_no_change() {
    let room = tempfile::tempdir().expect("a room");
    let room = room.path();
    let old = "\
use std::io::Read;

struct Word {
    wild: bool,
}

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let mut words = Vec::new();
    for c in text.chars() {
        words.push(Word { wild: c == '*' });
    }
    println!(\"{}\", words.iter().filter(|word| word.wild).count());
}
";
    let new = old
        .replace("    wild: bool,\n", "    wild: bool,\n    place: usize,\n")
        .replace("wild: c == '*'", "wild: c == '*', place: words.len()")
        .replace("word.wild)", "word.wild && word.place > 1)");
    write(room, "old.rs", old);
    write(room, "new.rs", &new);
    let (code, out, err) = run(room, &["diff", "old.rs", "new.rs", "--json"]);
    assert_eq!(code, Some(1), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let changes = report["changes"].as_array().unwrap();
    for change in changes {
        let sides = ["base", "head"].map(|side| change[side]["file"].as_str().unwrap_or_default());
        assert!(
            sides.iter().all(|file| !file.contains("library")),
            "{change}"
        );
        assert!(sides.iter().any(|file| file.ends_with(".rs")), "{change}");
    }
    let lines = |change: &Value| change["head"]["first"].as_u64();
    for wanted in [13, 15] {
        assert!(
            changes.iter().any(|change| lines(change) == Some(wanted)),
            "{wanted} {changes:#?}"
        );
    }
    assert!(report["renamed"].as_array().unwrap().is_empty(), "{report}");
}
