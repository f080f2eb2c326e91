//! What rules of pruning give up, and must not, in C++ and Rust: what they say is put beside a search that gives up nothing.

use super::*;

/// The letters of the situations in which something is found.
fn letters(results: &Value) -> Vec<char> {
    let found = results["differences"].as_array().unwrap().iter();
    let text = |difference: &Value| difference["input"]["streams"][0]["text"].to_string();
    let mut letters: Vec<char> = found.filter_map(|one| text(one).chars().nth(1)).collect();
    letters.sort_unstable();
    letters.dedup();
    letters
}

struct Pair {
    room: Room,
    versions: [String; 2],
}

impl Pair {
    /// A program of `fixtures/pruning`, and the same with some of its lines changed.
    fn new(file: &str, seed: &[u8], changes: &[(&str, &str)]) -> Pair {
        let room = Room::new();
        let path = fixture("pruning").join(file);
        let base = std::fs::read_to_string(&path).unwrap();
        let mut head = base.clone();
        for (from, to) in changes {
            assert_eq!(base.matches(from).count(), 1, "{from}");
            head = head.replace(from, to);
        }
        let versions = [("old", base), ("new", head)].map(|(folder, text)| {
            let name = format!("{folder}/{file}");
            room.write(&name, text);
            name
        });
        room.write("seed", seed);
        Pair { room, versions }
    }

    /// The results of a search that has left nothing.
    fn searched(&self, guide: &str) -> Value {
        let [old, new] = &self.versions;
        let said = self.room.changeling(&[
            "run", old, new, "--jobs", "1", "--stdin", "3", "--seed", "seed", "--guide", guide,
            "--time", "300s",
        ]);
        let results = self.room.results();
        let told = format!("{guide}: {}{}", said.stdout, said.stderr);
        assert_eq!(results["stopped"], "exhausted", "{told}");
        results
    }
}

fn given_up(results: &Value, rule: &str) -> u64 {
    results["stats"]["by_rule"][rule].as_u64().unwrap_or(0)
}

/// With `x = 2`, which the search begins with, none of these makes a difference.
const TRAPS: [(&str, &str); 8] = [
    ("total = value * 2", "total = value + 2"),
    ("return side * 2 + 1", "return side + 3"),
    ("Failure(x * 2 + 2)", "Failure(x + 4)"),
    ("failure.code * 2 + 8", "failure.code + 10"),
    ("(x * 2 + 3)", "(x + 5)"),
    ("x * 2 + 4 + z", "x + 6 + z"),
    ("x * 3 > 30", "x > 10"),
    ("x * 5", "x + 8"),
];

/// In a destructor, behind a virtual call, in what is thrown, where it is caught, in an instance of a template, in a closure.
#[test]
fn luck_on_one_input_is_no_proof_in_cpp() {
    let pair = Pair::new("situations.cpp", b"d\x02\0", &TRAPS);
    let (pruned, whole) = (pair.searched("all"), pair.searched("none"));
    for results in [&pruned, &whole] {
        assert_eq!(results["verdict"], "differences");
        let letters = letters(results);
        assert_eq!(letters, ['d', 'e', 'h', 'l', 't', 'v', 'w']);
    }
    let rules = &pruned["stats"]["by_rule"];
    for rule in ["never-changed", "no-longer-changed", "decided-alike"] {
        assert!(given_up(&pruned, rule) > 0, "{rule}: {rules}");
    }
    let pairs = |results: &Value| results["stats"]["pairs"].as_u64();
    assert!(pairs(&pruned) < pairs(&whole), "{rules}");
}

/// The same places, computed in another way: with a byte all of it comes to the same.
#[test]
fn what_cannot_differ_is_given_up_in_cpp() {
    let changes = [
        ("total = value * 2", "total = (value | 256) * 2 - 512"),
        ("return side * 2 + 1", "return (side | 256) * 2 - 511"),
        ("Failure(x * 2 + 2)", "Failure((x | 256) * 2 - 510)"),
        ("failure.code * 2 + 8", "(failure.code | 256) * 2 - 504"),
        ("(x * 2 + 3)", "((x | 256) * 2 - 509)"),
        ("x * 2 + 4 + z", "(x | 256) * 2 - 508 + z"),
        ("x * 3 > 30", "x > 10"),
        ("x * 5", "(x | 256) * 5 - 1280"),
    ];
    let pair = Pair::new("situations.cpp", b"d\x02\0", &changes);
    let (pruned, whole) = (pair.searched("all"), pair.searched("none"));
    assert_eq!(pruned["verdict"], "equivalent");
    assert_eq!(whole["verdict"], "equivalent");
    let rules = &pruned["stats"]["by_rule"];
    for rule in [
        "never-changed",
        "no-longer-changed",
        "decided-alike",
        "same-state",
    ] {
        assert!(given_up(&pruned, rule) > 0, "{rule}: {rules}");
    }
    let pairs = |results: &Value| results["stats"]["pairs"].as_u64();
    assert!(pairs(&pruned) < pairs(&whole), "{rules}");
    // What was computed is forgotten where the input is refused; the other side shows it.
    let pair = Pair::new("situations.cpp", b"d\x02\0", &[("x * 5", "x * 6")]);
    let pruned = pair.searched("prune");
    assert_eq!(letters(&pruned), ['w']);
    let rules = &pruned["stats"]["by_rule"];
    assert!(given_up(&pruned, "without-effect") > 0, "{rules}");
}

/// What code outside of the program calls: the loader, before `main` begins, and libraries that were given an address, in plain sight or in memory.
/// Each is a suffix, what stands before `main`, what runs first in it, and what runs if the second byte is 7.
const CALLED_FROM_OUTSIDE: [[&str; 4]; 10] = [
    [
        "c",
        "__attribute__((constructor)) static void first(void) { total = getenv(\"NUMBER\") ? 1 : NUMBER; }",
        "",
        "",
    ],
    [
        "c",
        "static void first(void) { total = getenv(\"NUMBER\") ? 1 : NUMBER; }
        __attribute__((section(\".init_array\"), used)) static void (*const entry)(void) = first;",
        "",
        "",
    ],
    [
        "c",
        "static int order(const void *a, const void *b) { total = NUMBER; return *(const int *)a - *(const int *)b; }",
        "int numbers[2] = {in[0], 5};",
        "qsort(numbers, 2, sizeof *numbers, order);",
    ],
    // It decides something itself, and what comes of that is looked at when it has come back.
    [
        "c",
        "static int order(const void *a, const void *b) {
            if (*(const int *)a == 77) total = 1;
            return *(const int *)a - *(const int *)b; }",
        "int numbers[2] = {in[0], 5}; qsort(numbers, 2, sizeof *numbers, order);
        if (total) return NUMBER;",
        "",
    ],
    [
        "c",
        "#include <signal.h>
        static void handler(int number) { (void)number; total = NUMBER; }",
        "struct sigaction action = {0}; action.sa_handler = handler; sigaction(SIGUSR1, &action, NULL);",
        "raise(SIGUSR1);",
    ],
    [
        "c",
        "static ssize_t put(void *cookie, const char *text, size_t size) { (void)cookie; (void)text; total = NUMBER; return (ssize_t)size; }",
        "cookie_io_functions_t functions = {NULL, put, NULL, NULL};
        FILE *file = fopencookie(NULL, \"w\", functions); setvbuf(file, NULL, _IONBF, 0);",
        "fputs(\"x\", file);",
    ],
    [
        "cpp",
        "struct Settings { Settings() { total = getenv(\"NUMBER\") ? 1 : NUMBER; } };
        static Settings settings;",
        "",
        "",
    ],
    [
        "cpp",
        "struct Failure { int code; ~Failure() { total = code + NUMBER; } };
        static void fail(int code) { throw Failure{code}; }",
        "int shown = 0;
        try { fail(in[0]); } catch (const Failure &) { if (in[1] == 7) shown = 1; }",
        "if (!shown) return 1;",
    ],
    [
        "cpp",
        "#include <exception>
        static void over() { printf(\"%d\\n\", NUMBER); exit(3); }",
        "std::set_terminate(over);",
        "throw 1;",
    ],
    [
        "cpp",
        "#include <new>
        #include <string>
        void *operator new(std::size_t size) { total = NUMBER; return malloc(size); }
        void operator delete(void *memory) noexcept { free(memory); }
        void operator delete(void *memory, std::size_t) noexcept { free(memory); }",
        "std::string text;",
        "text.append(100, (char)in[0]);",
    ],
];

/// A program that reads two bytes and goes on if the second one is 7.
fn with_outside([before, first, then]: [&str; 3]) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int total;\n{before}\n\
         int main(void) {{\nunsigned char in[2];\nif (fread(in, 1, 2, stdin) != 2) return 9;\n{first}\n\
         if (in[1] > 200) puts(\"large\");\nelse if (in[1] == 7) {{ {then} printf(\"%d\\n\", total); }}\ntotal = 0;\nreturn 0; }}\n"
    )
}

fn differ(suffix: &str, texts: [String; 2], seed: [u8; 2]) {
    let room = Room::new();
    room.write("seed", seed);
    let [old, new] = ["old", "new"].map(|name| format!("{name}.{suffix}"));
    for (name, text) in [&old, &new].into_iter().zip(&texts) {
        room.write(name, text);
    }
    let said = room.changeling(&[
        "run", &old, &new, "--jobs", "1", "--stdin", "2", "--seed", "seed", "--quiet",
    ]);
    let told = format!("{}{}{}", texts[0], said.stdout, said.stderr);
    assert_eq!(said.code, Some(1), "{told}");
}

#[test]
fn what_is_called_from_outside_is_not_given_up() {
    for [suffix, parts @ ..] in CALLED_FROM_OUTSIDE {
        let text = with_outside(parts);
        let texts = ["3", "4"].map(|number| text.replace(" NUMBER", &format!(" {number}")));
        differ(suffix, texts, [0, 0]);
    }
}

/// What code outside of the program looks at by itself, because it was told of it before: through a function of the program, or in
/// memory that it keeps the address of. What stands before `main`, what runs first in it, and what runs if the second byte is 7.
const SEEN_FROM_OUTSIDE: [[&str; 3]; 4] = [
    [
        "static ssize_t put(void *cookie, const char *text, size_t size) {
            (void)cookie; (void)text; if (total == 8) puts(\"eight\"); return (ssize_t)size; }",
        "cookie_io_functions_t functions = {NULL, put, NULL, NULL};
        FILE *file = fopencookie(NULL, \"w\", functions); setvbuf(file, NULL, _IONBF, 0);
        total = in[0] * 2;",
        "fputs(\"x\", file); return 1;",
    ],
    [
        "static void last(void) { if (total == 8) puts(\"eight\"); }",
        "atexit(last); total = in[0] * 2;",
        "return 1;",
    ],
    [
        "static char text[] = \"NUMBER=?\";",
        "putenv(text); text[7] = in[0] * 2;",
        "return *getenv(\"NUMBER\") == 8;",
    ],
    [
        "static char text[] = \"a,b,c\";",
        "strtok(text, \",\"); text[3] = in[0] * 2;",
        "const char *part = strtok(NULL, \"\\010\"); return part ? strlen(part) : 0;",
    ],
];

/// With `in[0] == 2`, which the search begins with, the change makes no difference.
#[test]
fn what_is_seen_from_outside_is_not_without_effect() {
    for parts in SEEN_FROM_OUTSIDE {
        let text = with_outside(parts);
        let head = text.replace("in[0] * 2", "in[0] + 2");
        differ("c", [text, head], [2, 0]);
    }
}

/// Where memory is looked at by who is not reached by calls, returns and names: behind jumps and what is thrown, past stores that do not run
/// then; through lists of arguments; and what is left of a value of which a part was replaced. Each is a suffix, what stands before `main`, what
/// runs first in it, and what runs if the second byte is 7.
const SEEN_BY_OTHER_WAYS: [[&str; 4]; 9] = [
    [
        "c",
        "#include <setjmp.h>
        static jmp_buf there;
        static void fail(int code) { total = code * NUMBER; longjmp(there, 1); }",
        "if (!setjmp(there)) { fail(in[0]); return 1; }",
        "",
    ],
    [
        "c",
        "#include <setjmp.h>
        static jmp_buf there;
        static void fail(int code) { total = code * NUMBER; if (code < 100) longjmp(there, 1); }
        static void enter(int code) { fail(code); total = 0; }",
        "if (!setjmp(there)) enter(in[0]);",
        "",
    ],
    [
        "c",
        "#include <setjmp.h>
        static jmp_buf there;",
        "volatile int tried = 0;
        if (setjmp(there)) tried = 1;
        if (!tried) { total = in[0] * NUMBER; longjmp(there, 1); }",
        "",
    ],
    [
        "cpp",
        "static void fail(int code) { total = code * NUMBER; if (code < 100) throw code; }
        static void enter(int code) { fail(code); total = 0; }",
        "try { enter(in[0]); } catch (int) {}",
        "",
    ],
    [
        "c",
        "#include <stdarg.h>
        static void sum(int count, ...) {
            va_list list; va_start(list, count);
            int all = 0; while (count-- > 0) all += va_arg(list, int);
            va_end(list); total = all; }",
        "sum(2, 1, in[0] * NUMBER);",
        "",
    ],
    [
        "c",
        "#include <stdarg.h>
        static void store(int count, ...) {
            va_list list; va_start(list, count);
            int *to = va_arg(list, int *); *to = va_arg(list, int); va_end(list); }",
        "store(2, &total, in[0] * NUMBER);",
        "",
    ],
    [
        "c",
        "#include <stdarg.h>
        static char text[2];
        static void say(const char *format, ...) {
            va_list list; va_start(list, format); vprintf(format, list); va_end(list); }",
        "text[0] = (char)(in[0] * NUMBER);",
        "say(\"%s\\n\", text);",
    ],
    [
        "c",
        "static union { unsigned whole; unsigned char part; } both;",
        "both.whole = (unsigned)(in[0] * NUMBER) << 8; both.part = 0;",
        "total = (int)both.whole;",
    ],
    // A jump goes elsewhere, and what does not depend on it otherwise runs.
    [
        "c",
        "static volatile int note;
        __attribute__((noinline)) static void fill(void) { total = 9; }",
        "switch (in[0] & 3) {
            case 1: note = 5; if (4 == NUMBER) break; __attribute__((fallthrough));
            case 2: fill(); }",
        "",
    ],
];

#[test]
fn what_is_seen_by_other_ways_is_not_without_effect() {
    for [suffix, parts @ ..] in SEEN_BY_OTHER_WAYS {
        let text = with_outside(parts);
        let texts = ["3", "4"].map(|number| text.replace(" NUMBER", &format!(" {number}")));
        differ(suffix, texts, [2, 0]);
    }
}

/// Everything could see the function, and nothing knows its name.
#[test]
fn what_nobody_asks_for_is_not_called_from_outside() {
    let room = Room::new();
    let text = with_outside([
        "int next(int value) { return value + 1; }",
        "",
        "total = next(in[0]);",
    ]);
    room.write("old.c", &text);
    room.write("new.c", text.replace("value + 1", "(value | 256) - 255"));
    room.write("seed", [2, 7]);
    let said = room.changeling(&[
        "run",
        "old.c",
        "new.c",
        "--jobs",
        "1",
        "--stdin",
        "2",
        "--seed",
        "seed",
        "--flag=-rdynamic",
    ]);
    let results = room.results();
    let told = format!("{}{}", said.stdout, said.stderr);
    assert_eq!(results["verdict"], "equivalent", "{told}");
    let rules = &results["stats"]["by_rule"];
    assert!(given_up(&results, "never-changed") > 0, "{rules}");
}

/// In a destructor (also while a panic unwinds), behind a trait object, on the way that `?` takes, in a closure, before a panic, in what is computed once.
/// Rust takes long to build, so the search that tries what rules would give up stands for the one without guides: it runs the same binaries.
#[test]
fn luck_on_one_input_is_no_proof_in_rust() {
    let changes = [
        ("self.0 * 2", "self.0 + 2"),
        ("side * 2 + 1", "side + 3"),
        ("Err(x * 2 + 2)", "Err(x + 4)"),
        ("x * 2 + 4 + more", "x + 6 + more"),
        ("x * 2 + 6", "x + 8"),
        ("count() as u32 + 2", "count() as u32 * 2 + 2"),
        ("x * 3 > 30", "x > 10"),
    ];
    let pair = Pair::new("situations.rs", b"d\x02\0", &changes);
    let (pruned, whole) = (pair.searched("all"), pair.searched("audit"));
    for results in [&pruned, &whole] {
        assert_eq!(results["verdict"], "differences");
        // What drops while a panic unwinds is in one group with what drops otherwise.
        assert_eq!(letters(results), ['a', 'c', 'd', 'o', 'q', 's']);
    }
    assert_eq!(
        whole["stats"]["audited"]["differing"].as_u64().unwrap_or(0),
        0
    );
}

#[test]
fn rules_give_up_what_is_the_same_in_rust() {
    let same = [
        ("Err(x * 2 + 2)", "Err((x | 256) * 2 - 510)"),
        ("x * 2 + 5", "(x | 256) * 2 - 507"),
        ("x * 3 > 30", "x > 10"),
    ];
    let pair = Pair::new("rules.rs", b"k\x02\0", &same);
    let (pruned, whole) = (pair.searched("all"), pair.searched("audit"));
    assert_eq!(pruned["verdict"], "equivalent");
    assert_eq!(whole["verdict"], "equivalent");
    let rules = &pruned["stats"]["by_rule"];
    for rule in [
        "never-changed",
        "no-longer-changed",
        "decided-alike",
        "same-state",
    ] {
        assert!(given_up(&pruned, rule) > 0, "{rule}: {rules}");
    }
    let traps = [
        ("Err(x * 2 + 2)", "Err(x + 4)"),
        ("x * 2 + 5", "x + 7"),
        ("x * 3 > 30", "x > 10"),
    ];
    let pair = Pair::new("rules.rs", b"k\x02\0", &traps);
    let (pruned, whole) = (pair.searched("all"), pair.searched("audit"));
    for results in [&pruned, &whole] {
        assert_eq!(letters(results), ['k', 'q']);
    }
    assert!(given_up(&pruned, "decided-alike") > 0);
    assert!(whole["stats"]["audited"]["runs"].as_u64() > Some(0));
    assert_eq!(whole["stats"]["audited"]["differing"], 0);
}
