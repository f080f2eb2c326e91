//! What `changeling reach` takes for a line, and which of several functions and files of a name it means.

use super::room::*;

#[test]
fn lines_that_only_lead_on_are_reached() {
    let room = Room::new();
    let text = "#include <stdio.h>\n\
        static int machine(const char *s, int n) {\n\
        int state = 0;\n\
        for (int i = 0; i < n; i++) {\n\
        if (state == 0 && s[i] == 'a') state = 1;\n\
        else if (state == 1 && s[i] == 'b')\n\
        state = 2;\n\
        else if (state == 2 && s[i] == 'c')\n\
        return 4;\n\
        }\n\
        if (n > 7)\n\
        return 3;\n\
        // nothing\n\
        return 0;\n\
        }\n\
        int main(void) {\n\
        char b[4];\n\
        int n = fread(b, 1, 4, stdin);\n\
        return machine(b, n);\n\
        }\n";
    room.write("program.c", text);
    let cache = cache().display().to_string();
    let reach = |target: &str| {
        let program = ["reach", target, "program.c", "--stdin", "4"];
        let how = ["--runs", "300", "--jobs", "1", "--cache", &cache];
        room.changeling(&[&program[..], &how[..]].concat())
    };
    for (line, start) in [(7, "ab"), (9, "abc"), (14, "")] {
        let said = reach(&format!("program.c:{line}"));
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        let input = std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap();
        assert!(input.starts_with(start.as_bytes()), "{line}: {input:?}");
    }
    // No input is that long.
    let said = reach("program.c:12");
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("not reached in"), "{}", said.stdout);
    let said = reach("program.c:13");
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(
        said.stderr.contains("there is no code at"),
        "{}",
        said.stderr
    );
}

/// Nobody is found as long as nobody has come in, and what an order means is decided by its first letter. Most of
/// it is not decided where it is used: by a loop that has no first round, or by what functions hand back.
#[test]
fn what_loops_and_functions_have_decided_leads_on() {
    let text = r#"#include <stdio.h>
#include <string.h>
static struct { char name; long amount; } rows[4];
static int count;
static int find(char name) {
    for (int i = 0; i < count; i++)
        if (rows[i].name == name)
            return i;
    return -1;
}
static int number(const char **text, long *amount) {
    if (**text < '0' || **text > '9')
        return 0;
    *amount = *(*text)++ - '0';
    return 1;
}
static void order(const char *p) {
    char what = *p++, name = 0;
    long amount = 0;
    if (!strchr("oadx", what))
        return;
    if (*p < 'A' || *p > 'Z')
        return;
    name = *p++;
    if (what != 'x' && !number(&p, &amount) && what != 'o')
        return;
    if (*p)
        return;
    if (what == 'o') {
        if (find(name) < 0 && count < 4)
            rows[count++].name = name;
        return;
    }
    int row = find(name);
    if (row < 0)
        return;
    switch (what) {
    case 'a': rows[row].amount += amount; break;
    case 'd': puts("down"); rows[row].amount -= amount; break;
    case 'x': rows[row].amount = 0; break;
    }
}
int main(void) {
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        order(line);
    }
    for (int i = 0; i < count; i++)
        printf("%ld\n", rows[i].amount);
}
"#;
    let room = Room::new();
    room.write("program.c", text);
    let line = text.lines().position(|line| line.contains("down")).unwrap() + 1;
    let target = format!("program.c:{line}");
    let cache = cache().display().to_string();
    let program = ["reach", &target, "program.c", "--stdin", "24"];
    let how = ["--runs", "900", "--jobs", "1", "--cache", &cache];
    let said = room.changeling(&[&program[..], &how[..]].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
}

#[test]
fn files_tell_functions_and_lines_of_one_name_apart() {
    let room = Room::new();
    std::fs::create_dir_all(room.path("all/one")).unwrap();
    std::fs::create_dir_all(room.path("all/two")).unwrap();
    let part = |name: &str, key: char| {
        format!(
            "static int check(int c) {{\nif (c == '{key}')\nreturn 1;\nreturn 0;\n}}\n\
             int {name}(int c) {{ return check(c); }}\n"
        )
    };
    room.write("all/one/part.c", part("one", 'p'));
    room.write("all/two/part.c", part("two", 'q'));
    let main = "#include <stdio.h>\nint one(int); int two(int);\n\
        int main(void) { int c = getchar(); return one(c) + (c > 'o' && two(c)); }\n";
    room.write("all/main.c", main);
    let cache = cache().display().to_string();
    let build = "$CC -g -O1 -o program main.c one/part.c two/part.c";
    let common = ["--build", build, "--program", "program", "--cache", &cache];
    let reach = |target: &str| {
        let program = ["reach", target, "all", "--stdin", "1", "--jobs", "1"];
        room.changeling(&[&program[..], &common[..]].concat())
    };
    for (target, key) in [("one/part.c:3", b'p'), ("two/part.c:3", b'q')] {
        let said = reach(target);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        let input = std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap();
        assert_eq!(input, [key], "{target}");
    }
    let said = reach("part.c:3");
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    let help = "give more of the path: one/part.c:3, two/part.c:3";
    assert!(said.stderr.contains(help), "{}", said.stderr);
    let said = reach("check");
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    let help = "give the file, too: one/part.c:check, two/part.c:check";
    assert!(said.stderr.contains(help), "{}", said.stderr);
    assert_eq!(reach("two/part.c:check").code, Some(0));
    let graph = ["graph", "all", "two/part.c:check", "--cfg", "--out", "-"];
    let said = room.changeling(&[&graph[..], &common[..]].concat());
    assert!(
        said.stdout.contains("'q'"),
        "{}{}",
        said.stdout,
        said.stderr
    );
}

#[test]
fn reach_finds_an_input_for_a_line_or_says_why_not() {
    let room = Room::new();
    let text = "#include <stdio.h>\n\
        static int unused(void) { return 1; }\n\
        int (*keep)(void) = 0;\n\
        int main(void) {\n\
        int state = 0, c;\n\
        while ((c = getchar()) != EOF) {\n\
        if (c == 'x') state = 1;\n\
        else if (state == 1 && c == 'y')\n\
        puts(\"here\");\n\
        }\n\
        if (state > 7) puts(\"never\");\n\
        return state > 9 ? unused() : 0; }\n";
    room.write("program.c", text);
    let reach = |target: &str| {
        let cache = cache().display().to_string();
        let arguments = [
            "reach",
            target,
            "program.c",
            "--stdin",
            "3",
            "--cache",
            &cache,
        ];
        room.changeling(&arguments)
    };
    let said = reach("program.c:9");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let input = std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap();
    assert!(input.starts_with(b"xy"), "{input:?}");
    let absolute = room.path("program.c").display().to_string();
    let said = reach(&format!("{absolute}:9"));
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let said = reach("unused");
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stdout.contains("not reached in"), "{}", said.stdout);
    let said = reach("mian");
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("similar names: main"),
        "{}",
        said.stderr
    );
    // A line behind the last one, and one without code.
    for (target, near) in [
        ("program.c:400", 12),
        ("program.c:99999999999", 12),
        ("program.c:1", 2),
    ] {
        let said = reach(target);
        assert_eq!(said.code, Some(2));
        let help = format!("the nearest line with code is program.c:{near}");
        assert!(said.stderr.contains(&help), "{}", said.stderr);
    }
    // What is never run, and what nobody sees run.
    let unusual = "#include <stdio.h>\n#include <stdlib.h>\nstatic int early, late;\n\
        __attribute__((constructor)) static void first(void) { early = getenv(\"EARLY\") ? 2 : 1; }\n\
        static void refuse(int c) { if (c == 'x') exit(3); }\n\
        static int twice(int c) {\n\
        refuse(c);\n\
        late = 2 * c;\n\
        return late; }\n\
        int main(void) { int c = getchar();\n\
        if (c == 'x') return twice(c);\n\
        if (c == 'q') { abort();\n\
        puts(\"behind\"); }\n\
        return early; }\n";
    room.write("unusual.c", unusual);
    let look = |target: &str| {
        let cache = cache().display().to_string();
        room.changeling(&[
            "reach",
            target,
            "unusual.c",
            "--stdin",
            "1",
            "--cache",
            &cache,
        ])
    };
    // Its block begins, and `refuse` never comes back.
    let said = look("unusual.c:7");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let said = look("unusual.c:8");
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let text = "no input up to the bound executes it";
    assert!(said.stdout.contains(text), "{}", said.stdout);
    let said = look("unusual.c:13");
    assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
    let said = look("first");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let text = "reached by every input, because first runs before `main`";
    assert!(said.stdout.contains(text), "{}", said.stdout);
    for target in [":9", "program.c:", ":"] {
        let said = reach(target);
        assert_eq!(said.code, Some(2), "{}", said.stdout);
        assert!(said.stderr.contains("names no line"), "{}", said.stderr);
    }
    let said = reach("porgram.c:9");
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("files with code: program.c"),
        "{}",
        said.stderr
    );
    let said = room.changeling(&["reach", "main", "nothing.c"]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.contains("nothing.c"), "{}", said.stderr);
    // Inputs that exist are run first.
    room.write("seed", "xyx");
    let cache = cache().display().to_string();
    let said = room.changeling(&[
        "reach",
        "program.c:9",
        "program.c",
        "--stdin",
        "3",
        "--seed",
        "seed",
        "--cache",
        &cache,
    ]);
    assert!(
        said.stdout.contains("reached in 1 run:"),
        "{}{}",
        said.stdout,
        said.stderr
    );
}

/// LLVM says of places where values meet that they are at one of the lines that the values come from. Other lines have
/// nothing left at all once variables are values, and ways out of a scope are put together.
#[test]
fn lines_that_only_give_values_are_reached_where_they_stand() {
    let room = Room::new();
    let text = "#include <cstdio>\n\
        #include <cstdlib>\n\
        int g;\n\
        static int f(int a, int b) {\n\
        int r = 0;\n\
        if (a > 3 && b > 4)\n\
        r = 1;\n\
        for (int i = 0; i < b; i++) {\n\
        g += i;\n\
        r += g;\n\
        }\n\
        if (a == 'x' && b < 0)\n\
        r = 5;\n\
        try {\n\
        if (r > 9000) throw r;\n\
        } catch (int) {\n\
        return 1;\n\
        }\n\
        return r;\n\
        }\n\
        int main() { int a = getchar(), b = getchar(); return f(a, b) == 5 ? abs(b) : 0; }\n";
    room.write("program.cpp", text);
    let cache = cache().display().to_string();
    let reach = |line: u32| {
        let target = format!("program.cpp:{line}");
        let program = ["reach", &target, "program.cpp", "--stdin", "2"];
        let how = ["--runs", "300", "--jobs", "1", "--cache", &cache];
        let said = room.changeling(&[&program[..], &how[..]].concat());
        assert_eq!(said.code, Some(0), "{line}: {}{}", said.stdout, said.stderr);
        std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap()
    };
    reach(5);
    let input = reach(7);
    assert!(
        input.len() == 2 && input[0] > 3 && input[1] > 4,
        "{input:?}"
    );
    assert_eq!(reach(13), b"x");
    let input = reach(17);
    assert!(input.len() == 2 && input[1] > 38, "{input:?}");
    reach(19);
}

/// What a header defines for each file, and what the compiler makes several of, is one function to whoever names it.
#[test]
fn all_copies_of_a_function_are_looked_for() {
    let room = Room::new();
    std::fs::create_dir_all(room.path("all")).unwrap();
    let header = "static inline int clamp(int x) { return x > 200 ? 200 : x; }\n";
    room.write("all/clamp.h", header);
    let dead = "#include \"clamp.h\"\nint unused(int x) { return clamp(x); }\n";
    room.write("all/a.c", dead);
    let main = "#include <stdio.h>\n#include \"clamp.h\"\n\
        int main(void) { int c = getchar(); return c == 'M' ? clamp(c) : 0; }\n";
    room.write("all/main.c", main);
    let text = "#include <cstdio>\n\
        struct Base { int v; Base(int x); virtual ~Base() {} };\n\
        Base::Base(int x) : v(x) {}\n\
        struct Derived : virtual Base { Derived(int x); };\n\
        Derived::Derived(int x) : Base(x) { std::puts(\"made\"); }\n\
        template <class T> T pick(T a, T b) { return a < b ? b : a; }\n\
        int main() { int c = getchar();\n\
        if (c == 'd') Derived made(c);\n\
        return c == 'p' ? pick(1, c) + (int)pick(1.0, 2.0) : 0; }\n";
    room.write("program.cpp", text);
    let cache = cache().display().to_string();
    let reach = |target: &str, version: &str, more: &[&str]| {
        let program = ["reach", target, version, "--stdin", "1", "--jobs", "1"];
        let said = room.changeling(&[&program[..], &["--cache", &cache], more].concat());
        assert_eq!(
            said.code,
            Some(0),
            "{target}: {}{}",
            said.stdout,
            said.stderr
        );
        std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap()
    };
    let build = [
        "--build",
        "$CC -g -o program a.c main.c",
        "--program",
        "program",
    ];
    assert_eq!(reach("clamp", "all", &build), b"M");
    for (name, input) in [
        ("Derived::Derived", b"d"),
        ("pick", b"p"),
        ("pick<double>", b"p"),
    ] {
        assert_eq!(reach(name, "program.cpp", &[]), input, "{name}");
    }
}
