//! Bad and hostile programs under `changeling trace`: a clear message with its own exit code, or an ordinary observation; nothing
//! is left behind.

mod support;

use std::process::Command;
use support::{Random, Traced, trace};

#[test]
fn what_cannot_be_traced_is_told_with_a_code_of_its_own() {
    let room = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(room.path().join(name), text).unwrap();
    write("bad.c", "int main(void) { return undeclared; }\n");
    write("lib.c", "int f(void) { return 0; }\n");
    write(
        "open.c",
        "int missing(void); int main(void) { return missing(); }\n",
    );
    write("good.c", "int main(void) { return 0; }\n");
    write("text.txt", "text\n");
    write("broken.bc", "BC\u{0}not bitcode");
    std::fs::create_dir(room.path().join("tree")).unwrap();
    write("tree/good.c", "int main(void) { return 0; }\n");
    let foreign = Command::new("clang-22")
        .args([
            "--target=aarch64-linux-gnu",
            "-emit-llvm",
            "-c",
            "good.c",
            "-o",
            "arm.bc",
        ])
        .current_dir(room.path())
        .status()
        .unwrap();
    assert!(foreign.success());
    for (arguments, code, parts) in [
        (
            vec!["no.c"],
            10,
            vec!["there is no file or directory no.c", "help: "],
        ),
        (
            vec!["text.txt"],
            11,
            vec!["text.txt is not a program", "help: "],
        ),
        (
            vec!["lib.c"],
            12,
            vec!["neither `main` nor", "lib.c", "help: "],
        ),
        (
            vec!["bad.c"],
            13,
            vec!["use of undeclared identifier", "bad.c does not compile"],
        ),
        (vec!["open.c"], 14, vec!["missing", "help: "]),
        (vec!["arm.bc"], 15, vec!["arm.bc", "help: "]),
        (vec!["broken.bc"], 25, vec!["broken.bc", "help: "]),
        (
            vec!["tree", "--build", "echo no luck; exit 9"],
            18,
            vec!["no luck", "build command"],
        ),
        (
            vec!["good.c", "--stdin", "nowhere"],
            2,
            vec!["--stdin nowhere", "help: "],
        ),
        (
            vec!["good.c", "--file", "a/b=3"],
            2,
            vec!["--file a/b=3", "help: "],
        ),
        (
            vec!["good.c", "--sym-arg", "many"],
            2,
            vec!["--sym-arg many", "help: "],
        ),
        (
            vec!["good.c", "--stdin", "1", "--stdin", "1"],
            2,
            vec!["was given before"],
        ),
    ] {
        let traced = trace(room.path(), &arguments);
        let text = &traced.stderr;
        assert_eq!(traced.code, Some(code), "{arguments:?}: {text}");
        for part in parts {
            assert!(
                text.contains(part),
                "{arguments:?} without {part:?}: {text}"
            );
        }
        assert!(
            !text.contains("panicked") && !text.contains("backtrace"),
            "{text}"
        );
    }
}

#[test]
fn hostile_programs_are_ordinary_observations_and_leave_nothing_behind() {
    for (name, body, ends) in [
        ("crashes", "*(volatile int *)0 = in;", &["signal 11"][..]),
        ("aborts", "abort();", &["signal 6"]),
        ("loops", "for (;;) in++;", &["time"]),
        (
            "forks",
            "for (;;) if (fork() < 0) break; for (;;) pause();",
            &["time"],
        ),
        (
            "allocates",
            "for (;;) { char *p = malloc(1 << 20); if (!p) exit(5); memset(p, in, 1 << 20); }",
            &["5", "signal 9", "time"],
        ),
        (
            "writes outside",
            "FILE *f = fopen(OUTSIDE, \"w\"); return f ? 3 : 6;",
            &["6"],
        ),
        (
            "kills its group",
            "kill(0, SIGKILL); sleep(9);",
            &["signal 9", "time"],
        ),
        (
            "kills its parent",
            "kill(getppid(), SIGKILL); return 4;",
            &["4", "signal 9", "time"],
        ),
        (
            "floods",
            "for (;;) puts(\"more and more and more\");",
            &["signal 25", "time"],
        ),
    ] {
        let (traced, marker) = hostile(body);
        assert_eq!(traced.code, Some(0), "{name}: {}", traced.stderr);
        let end = traced.text("end");
        assert!(
            ends.iter().any(|part| end.contains(part)),
            "{name} ended with {end:?}"
        );
        let strays = processes_with(&marker);
        assert!(strays.is_empty(), "{name} left processes {strays:?}");
    }
}

/// Traces a program with this in its `main`; the temporary directory it had is empty again at the end.
fn hostile(body: &str) -> (Traced, String) {
    let room = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let outside = room.path().join("outside");
    let marker = format!(
        "hostile{:x}",
        Random::new(std::process::id().into()).next() ^ body.len() as u64
    );
    let text = format!(
        "#define _GNU_SOURCE\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         #include <unistd.h>\n#define OUTSIDE {:?}\nint main(void)\n{{\n    int in = getchar();\n    {body}\n    return in;\n}}\n",
        outside.to_str().unwrap()
    );
    std::fs::write(room.path().join("p.c"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_changeling"))
        .args(["trace", "p.c", "--flag=-w", "--json", "--cache"])
        .arg(&marker)
        .args(["--stdin", "1", "--run-time", "2"])
        .current_dir(room.path())
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    assert!(!outside.exists(), "{body}: wrote outside of its directory");
    let left: Vec<_> = std::fs::read_dir(temporary.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "{body}: left {left:?}");
    let traced = Traced {
        code: output.status.code(),
        document: serde_json::from_slice(&output.stdout).ok(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    (traced, marker)
}

/// Processes whose binary or command line has this in its name. The cache, and so the traced binary, is named after it.
fn processes_with(marker: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let place = entry.path();
            let seen = |name: &str| std::fs::read(place.join(name)).unwrap_or_default();
            let binary = std::fs::read_link(place.join("exe")).unwrap_or_default();
            let line = String::from_utf8_lossy(&seen("cmdline")).into_owned();
            let is_ours = line.contains(marker) || binary.to_string_lossy().contains(marker);
            is_ours.then(|| format!("{}: {line}", place.display()))
        })
        .collect()
}

/// Values, memory and code that a call through a pointer hands to code that is not traced, a structure whose first bytes are
/// constants, a value that comes back from `setjmp`. Not what goes to traced code, or to `free`, by the same way.
#[test]
fn what_code_that_is_not_traced_gets_is_lost_by_name() {
    let room = tempfile::tempdir().unwrap();
    let program = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <setjmp.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <time.h>
        static int traced(const char *text, int value) { return text[1] == value; }
        static void silent(char *text) { text[2] = 'z'; }
        int (*volatile pointer)(const char *, int) = traced;
        void (*volatile other)(char *) = silent;
        void (*volatile release)(void *) = free;
        static jmp_buf place;
        int main(void)
        {
            char *text = malloc(8);
            if (fread(text, 1, 7, stdin) != 7) return 1;
            if (pointer(text, text[0])) puts("twice");
            other(text);
            long (*value)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, "labs");
            if (value(text[0]) == 7) puts("value");                                     /* line 23 */
            char word[8] = "zzzzz";
            word[5] = text[1];
            long (*memory)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "a64l");
            if (memory(word) == 7) puts("memory");                                      /* line 27 */
            unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(code, "\xb8\0\0\0\0\xc3", 6);
            code[1] = (unsigned char)text[3];
            if (((int (*)(void))code)() == 7) puts("code");                             /* line 31 */
            struct tm day = {.tm_sec = 1, .tm_mday = text[4] & 15, .tm_year = 100};
            if (mktime(&day) == 7) puts("structure");                                   /* line 33 */
            int back = setjmp(place);
            if (back == 0) longjmp(place, text[5] | 1);                                 /* line 35 */
            if (back == 7) puts("back");
            int copy; __asm__("movl %1, %0" : "=r"(copy) : "m"(*(int *)text));           /* line 37 */
            if (copy == 7) puts("assembler");
            release(text);
            return 0;
        }
    "#;
    std::fs::write(room.path().join("main.c"), program).unwrap();
    std::fs::write(room.path().join("in"), "abcdefg").unwrap();
    let traced = trace(room.path(), &["main.c", "--stdin", "in"]);
    let lost = lost(&traced);
    let expected = [
        "23 (indirect call) \"stdin[0]\"",
        "27 (indirect call) \"stdin[1]\"",
        "31 (indirect call) \"stdin[3]\"",
        "33 mktime \"stdin[4]\"",
        "35 longjmp \"stdin[5]\"",
        "37 (inline assembler) \"stdin[0]\"",
    ];
    assert_eq!(lost, expected, "{}", traced.wrong());
}

/// What is written may be read again: through a pipe, from memory, from a file. A file that is only
/// written to is an output.
#[test]
fn what_comes_back_is_lost_by_name() {
    let room = tempfile::tempdir().unwrap();
    let program = r#"
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void)
        {
            char text[8];
            if (fread(text, 1, 7, stdin) != 7) return 1;
            int ends[2];
            if (pipe(ends) != 0 || write(ends[1], text, 1) != 1) return 1;              /* line 11 */
            char *kept; size_t length;
            FILE *memory = open_memstream(&kept, &length);
            fputc(text[1], memory);                                                     /* line 14 */
            fprintf(memory, "%d", text[2]);                                             /* line 15 */
            fclose(memory);
            FILE *both = fopen("both", "w+");
            fwrite(text + 3, 1, 1, both);                                               /* line 18 */
            fclose(both);
            int file = open("only", O_CREAT | O_WRONLY, 0600);
            if (write(file, text + 4, 1) != 1) return 1;
            close(file);
            file = open("only", O_RDONLY);                                              /* line 23 */
            return 0;
        }
    "#;
    std::fs::write(room.path().join("main.c"), program).unwrap();
    std::fs::write(room.path().join("in"), "abcdefg").unwrap();
    let traced = trace(room.path(), &["main.c", "--stdin", "in"]);
    let expected = [
        "11 write \"stdin[0]\"",
        "14 fputc \"stdin[1]\"",
        "15 fprintf \"stdin[2]\"",
        "18 fwrite \"stdin[3]\"",
        "23 open \"stdin[4]\"",
    ];
    assert_eq!(lost(&traced), expected, "{}", traced.wrong());
}

/// Line, call and first byte of every loss.
fn lost(traced: &Traced) -> Vec<String> {
    let losses = traced.list("losses");
    let mut lost: Vec<String> = losses
        .iter()
        .map(|loss| {
            let place = loss["place"].as_str().unwrap();
            let line = place.split(':').nth(1).unwrap();
            let call = loss["call"].as_str().unwrap();
            format!("{line} {call} {}", loss["input"][0])
        })
        .collect();
    lost.sort();
    lost
}

/// The loader calls what chooses a function, and what a program does before all constructors, before anything else runs.
#[test]
fn what_runs_before_all_else_is_traced() {
    let room = tempfile::tempdir().unwrap();
    let text = r#"#include <stdarg.h>
#include <stdio.h>
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static int level = 1;
static int (*pick(void))(int) { return level ? two : one; }
int chosen(int) __attribute__((ifunc("pick")));
int other(int) __attribute__((alias("chosen")));
static int sum(int n, ...) {
    va_list list;
    va_start(list, n);
    int x = va_arg(list, int) + n;
    va_end(list);
    return x;
}
static int (*pick_sum(void))(int, ...) { return sum; }
int total(int, ...) __attribute__((ifunc("pick_sum")));
static const struct { int key; int (*function)(int); } table[] = {{1, chosen}, {2, other}};
static volatile int seen;
static void first(void) { seen = one(40); }
__attribute__((section(".preinit_array"), used)) static void (*const entry)(void) = first;
__attribute__((constructor(101))) static void early(void) { seen += chosen(0); }
int main(void) {
    int c = getchar();
    if (chosen(c) == 'b' + 2) puts("b");
    if (table[c & 1].function(c) == 'c' + 2) puts("c");
    if (total(1, c) == 'd' + 1) puts("d");
    return seen;
}
"#;
    std::fs::write(room.path().join("a.c"), text).unwrap();
    let traced = trace(room.path(), &["a.c", "--stdin", "1", "--check"]);
    assert_eq!(traced.wrong(), "");
    assert_eq!(traced.list("losses").len(), 0);
    let path = format!("{:?}", traced.list("tests"));
    for line in ["a.c:25", "a.c:26", "a.c:27"] {
        assert!(path.contains(line), "{line}: {path}");
    }
}

/// Following values through thousands of blocks in a loop takes the compiler more stack than it has.
#[test]
fn a_loop_of_thousands_of_blocks_is_traced() {
    let room = tempfile::tempdir().unwrap();
    let lines: String = (0..2510)
        .map(|n| format!("    if (x == {n}) s = s * 31 + {n};\n"))
        .collect();
    let text = format!(
        "#include <stdio.h>\nint main(void) {{\n  unsigned s = 1, x = getchar();\n  for (int r = 0; r < 2; r++) {{\n{lines}  }}\n  printf(\"%u\\n\", s);\n}}\n"
    );
    std::fs::write(room.path().join("a.c"), text).unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -s 1024; exec \"$0\" trace a.c --stdin 1"])
        .arg(env!("CARGO_BIN_EXE_changeling"))
        .current_dir(room.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
}
