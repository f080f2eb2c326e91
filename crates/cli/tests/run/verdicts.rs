//! What must not be called equivalent: changes that are easy to overlook, and input that is read out of sight.

use crate::room::*;

/// A program in two versions, the text of one made from that of the other.
struct Pair<'a> {
    text: &'a str,
    change: (&'a str, &'a str),
    streams: &'a [&'a str],
}

impl Pair<'_> {
    fn verdict(&self) -> (String, Said) {
        let room = Room::new();
        let (from, to) = self.change;
        assert_eq!(self.text.matches(from).count(), 1, "{from}");
        room.write("old.c", self.text);
        room.write("new.c", self.text.replace(from, to));
        let run = ["run", "old.c", "new.c", "--jobs", "1", "--time", "60s"];
        let said = room.changeling(&[&run[..], self.streams].concat());
        let verdict = room.results()["verdict"].as_str().unwrap().to_owned();
        (verdict, said)
    }

    fn differs(&self) {
        let (verdict, said) = self.verdict();
        let told = format!("{:?}: {}{}", self.change, said.stdout, said.stderr);
        assert_eq!(verdict, "differences", "{told}");
    }
}

/// Both versions call it `.str.1`; what it says shows only behind decisions that have nothing to do with it.
#[test]
fn literals_of_the_same_name_are_not_the_same() {
    let chosen = r#"#include <stdio.h>
#include <string.h>
static const char *pick(int c) {
    const char *name;
    if (c == 'a') { puts("A"); name = "one"; } else if (c == 'b') { puts("B"); name = "two"; } else name = "three";
    return name;
}
static int test(const char *name, int d) { return d == 'w' && strlen(name) == 2; }
int main(void) { int c = getchar(), d = getchar(); return test(pick(c), d) ? 3 : 0; }
"#;
    let passed = r#"#include <stdio.h>
#include <string.h>
static char kept[8];
__attribute__((noinline)) static void keep(const char *text) { strcpy(kept, text); }
int main(void) { int c = getchar(), d = getchar(); keep("one"); if (c == 'a' && d == 'w') puts(kept); return 0; }
"#;
    let mode = r#"#include <stdio.h>
int main(void) {
    FILE *out = fopen("out.txt", "w");
    fputs("abc", out);
    if (getchar() == 'a') { rewind(out); fputs("!", out); }
    return fclose(out);
}
"#;
    let streams = &["--stdin", "2"];
    for (text, change) in [
        (chosen, ("\"one\"", "\"on\"")),
        (passed, ("\"one\"", "\"uno\"")),
        (mode, ("\"w\"", "\"a\"")),
    ] {
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// A table of tables is looked into as far as it goes.
#[test]
fn what_lies_deep_in_a_table_counts() {
    let text = r#"#include <stdio.h>
struct entry { const char *name; int value; };
struct group { struct entry entries[2]; int weight; };
struct part { struct group groups[2]; int rank; };
static const struct part table[2] = {
    {{{{{"a", 1}, {"b", 2}}, 5}, {{{"c", 13}, {"d", 4}}, 6}}, 7},
    {{{{{"e", 1}, {"f", 2}}, 5}, {{{"g", 3}, {"h", 4}}, 18}}, 7}};
int main(void) {
    if (getchar() != 'a') return 1;
    for (int i = 0; i < 8; i++) {
        const struct group *group = &table[i / 4].groups[i / 2 % 2];
        printf("%s %d %d\n", group->entries[i % 2].name, group->entries[i % 2].value, group->weight);
    }
    return 0;
}
"#;
    for change in [("13", "14"), ("\"d\"", "\"D\""), ("18", "19")] {
        let streams = &["--stdin", "1"];
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// The one that follows the pointer does not name the variable; the one that names it does something else.
#[test]
fn what_is_read_through_a_pointer_in_a_variable_counts() {
    let text = r#"#include <stdio.h>
static int limit = 5;
static int *limits[] = {&limit};
int main(void) {
    int c = getchar(), d = getchar();
    if (c == 'z') { limit++; return 1; }
    if (c == 'a' && d == 'a') printf("%d\n", *limits[0]);
    return 0;
}
"#;
    let streams = &["--stdin", "2"];
    Pair {
        text,
        change: ("limit = 5", "limit = 6"),
        streams,
    }
    .differs();
}

/// Without `<iostream>` there is no `std::cin` to look at.
#[test]
fn a_program_may_have_streams_of_its_own_only() {
    let room = Room::new();
    let text = r#"#include <cstdio>
#include <istream>
#include <streambuf>
#include <string>
struct Memory : std::streambuf {
    Memory(char *from, std::size_t length) { setg(from, from, from + length); }
};
int main() {
    char bytes[2];
    Memory memory(bytes, std::fread(bytes, 1, 2, stdin));
    std::istream in(&memory);
    std::string word;
    in >> word;
    std::printf("%zu %s\n", word.size(), word == "ab" ? "yes" : "no");
}
"#;
    room.write("old.cpp", text);
    let run = [
        "run", "old.cpp", "new.cpp", "--stdin", "2", "--guide", "none",
    ];
    room.write("new.cpp", text.replace("word == \"ab\"", "\"ab\" == word"));
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["verdict"], "equivalent", "{}", said.stdout);
    room.write("new.cpp", text.replace("yes", "YES"));
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

/// Nobody but the linker knows what is in it.
#[test]
fn assembler_outside_of_functions_counts() {
    let text = r#"#include <stdio.h>
__asm__(".text\n.globl number\nnumber:\n movl $7, %eax\n ret\n");
int number(void);
int main(void) {
    int c = getchar(), d = getchar();
    if (c == 'a' && d == 'b') printf("%d\n", number());
    return 0;
}
"#;
    let streams = &["--stdin", "2"];
    Pair {
        text,
        change: ("$7", "$8"),
        streams,
    }
    .differs();
}

/// Where it goes is decided bit by bit; a bit is no side of the jump.
#[test]
fn behind_a_computed_jump_is_more_than_two_places() {
    let text = r#"#include <signal.h>
#include <stdio.h>
int main(void) {
    char s[4] = {0};
    fread(s, 1, 3, stdin);
    static const void *ways[] = {&&end, &&up, &&down, &&show, &&other};
    static const unsigned char code[256] = {['+'] = 1, ['-'] = 2, ['.'] = 3, ['a'] = 4, ['0'] = 4};
    int at = 0, sum = 0;
#define NEXT goto *ways[code[(unsigned char)s[at++]]]
    NEXT;
up: sum++; NEXT;
down: sum--; NEXT;
show: printf("%d ", sum); NEXT;
other: printf("%d\n", sum); if (sum == 2) raise(SIGTERM); NEXT;
end: return sum;
}
"#;
    let change = ("SIGTERM", "SIGKILL");
    for seed in ["0", "1", "2"] {
        let streams = &["--stdin", "3", "--guide", "prune", "--random-seed", seed];
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// Cases that are alike in what has room in an event.
#[test]
fn a_switch_over_128_bits_has_all_its_cases() {
    let text = r#"#include <stdio.h>
typedef unsigned __int128 wide;
static int kind(wide v) {
    switch (v) {
    case ((wide)1 << 64) + 97: return 1;
    case ((wide)2 << 64) + 97: return 2;
    case 98: return 3;
    default: return 0;
    }
}
int main(void) {
    int c = getchar();
    printf("%d\n", kind((wide)c | (wide)(c == 'a') << 64));
}
"#;
    let changes = [("(wide)1 <<", "(wide)3 <<"), ("return 3", "return 4")];
    for change in changes {
        let streams = &["--stdin", "1"];
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// They look like addresses and process ids, but it was the program that made them.
#[test]
fn numbers_of_the_programs_own_are_compared() {
    let text = r#"#include <stdio.h>
int main(void) {
    int c = getchar();
    if (c == 'a') printf("limit 0x%x\n", 0x7fffffff);
    if (c == 'b') printf("pid %d runs\n", 21);
    if (c == 'c') printf("==%d==\n", 33);
    if (c == 'd') printf("0x%x\n", 0x7f000000 + c);
    return 0;
}
"#;
    for change in [
        ("0x7fffffff", "0x7ffffffe"),
        ("21", "22"),
        ("33", "34"),
        ("0x7f000000 + c", "0x7f000001 + c"),
    ] {
        let streams = &["--stdin", "1"];
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// The library finds the text of an argument by a pointer in a table of pointers.
#[test]
fn what_a_library_reads_through_pointers_is_lost() {
    let text = r#"#include <argp.h>
#include <stdio.h>
static struct argp_option options[] = {{"first", 'a', 0, 0, "A"}, {"second", 'b', 0, 0, "B"}, {0}};
static int chosen;
static error_t parse(int key, char *text, struct argp_state *state) {
    switch (key) {
    case 'a': chosen = 1; break;
    case 'b': chosen = 2; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}
static struct argp argp = {options, parse, "", ""};
int main(int argc, char **argv) {
    argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS, 0, 0);
    printf("%d\n", chosen);
}
"#;
    let pair = Pair {
        text,
        change: ("chosen = 2", "chosen = 3"),
        streams: &["--sym-arg", "2"],
    };
    let (verdict, said) = pair.verdict();
    assert_ne!(verdict, "equivalent", "{}{}", said.stdout, said.stderr);
    let lost = said.stdout.contains("symbolic input was lost");
    assert!(lost, "{}", said.stdout);
}

/// What is read through a pointer that was chosen before; it is only known where the pointer was made.
#[test]
fn contents_behind_a_chosen_pointer_count() {
    let text = r#"#include <stdio.h>
static int one = 1, two = 2;
int main(void) {
    int c = getchar(), d = getchar(), *chosen;
    if (c == 'a') { puts("A"); chosen = &one; }
    else if (c == 'b') { puts("B"); chosen = &two; }
    else { one++; two++; chosen = &c; }
    return d == 'w' ? *chosen & 127 : 0;
}
"#;
    Pair {
        text,
        change: ("one = 1", "one = 5"),
        streams: &["--stdin", "2"],
    }
    .differs();
}

/// No instruction tells of it: the loader calls by itself.
#[test]
fn what_runs_by_itself_counts() {
    let text = r#"#include <stdio.h>
int value;
/* early */ void set(void) { value = 3; }
int main(int argc, char **argv) {
    int c = getchar();
    if (argc > 5) set();
    return c == 'b' ? value : 0;
}
"#;
    let streams = &["--stdin", "1"];
    Pair {
        text,
        change: ("/* early */", "__attribute__((constructor))"),
        streams,
    }
    .differs();
}

/// Every instruction is still there, and none that uses its value differs.
#[test]
fn another_order_and_another_way_of_passing_count() {
    let moved = r#"#include <stdio.h>
static int next(void) { puts("next"); return getchar(); }
int main(void) {
    int c = getchar(), value;
    if (c != 'a') return 0;
    value = next(); puts("one"); puts("two");
    return value == 'b';
}
"#;
    let copied = "#define TAKEN b\n#define HAS b.\n#define GIVEN x\n";
    let shared = "#define TAKEN *b\n#define HAS b->\n#define GIVEN &x\n";
    let passed = format!(
        "#include <stdio.h>\n{copied}{}",
        r#"struct big { int a[6]; };
static int bump(struct big TAKEN, int by) { HAS a[1] += by; return HAS a[1]; }
int main(void) {
    int c = getchar();
    struct big x = {{1, 2, 3}};
    return c == 'a' ? bump(GIVEN, c) + x.a[1] & 63 : 0;
}
"#
    );
    for (text, change) in [
        (
            moved,
            (
                "value = next(); puts(\"one\"); puts(\"two\");",
                "puts(\"one\"); puts(\"two\"); value = next();",
            ),
        ),
        (passed.as_str(), (copied, shared)),
    ] {
        Pair {
            text,
            change,
            streams: &["--stdin", "1"],
        }
        .differs();
    }
}

/// Variables of one name are numbered by their order, and only what leads to them comes by an edge.
#[test]
fn which_variable_an_address_is_of_counts() {
    let text = r#"#include <stdio.h>
static int *pick(int c) {
    int *p;
    if (c == 'a') { static int x = 1; puts("A"); p = &x; } else { static int x = 2; puts("B"); p = &x; }
    return p;
}
int main(void) {
    int c = getchar(), d = getchar(), *p = pick(c);
    if (d == 'w') { printf("%d\n", *p); ++*p; }
    return 0;
}
"#;
    let both = (
        r#"int x = 1; puts("A"); p = &x; } else { static int x = 2"#,
        r#"int x = 2; puts("A"); p = &x; } else { static int x = 1"#,
    );
    for change in [both, ("x = 2", "x = 3")] {
        let streams = &["--stdin", "2"];
        Pair {
            text,
            change,
            streams,
        }
        .differs();
    }
}

/// The C library has one of the same name; the program calls it, or only the library looks at it. No instruction of
/// the program tells of it.
#[test]
fn what_replaces_something_of_a_library_counts() {
    let text = r#"#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int toupper(int c);
/* OWN */
int main(void) {
    int c = getchar(), d = getchar();
    char *arguments[] = {"p", "-z", 0};
    if (c == 'x') printf("%c\n", toupper(d));
    if (c == 'g') printf("%d\n", getopt(2, arguments, "a"));
    if (c == 'e') exit(3);
    if (c == 'a') puts("hello");
    return 0;
}
"#;
    for own in [
        "int toupper(int c) { return c == 'q' ? 'R' : c >= 'a' && c <= 'z' ? c - 32 : c; }",
        "int opterr = 0;",
        "void exit(int code) { _exit(code + 1); }",
        "int puts(const char *text) { return write(1, text, 1); }",
    ] {
        let streams = &["--stdin", "2"];
        Pair {
            text,
            change: ("/* OWN */", own),
            streams,
        }
        .differs();
    }
}

/// The same variable; but the library uses it only if it is known to others.
#[test]
fn who_can_see_a_variable_counts() {
    let text = r#"#include <stdio.h>
int getopt(int count, char *const *arguments, const char *known);
static int opterr = 0;
int main(void) {
    int c = getchar();
    char *arguments[] = {"p", "-z", 0};
    if (c == 'x') return opterr;
    if (c == 'g') printf("%d\n", getopt(2, arguments, "a"));
    return 0;
}
"#;
    Pair {
        text,
        change: ("static int opterr", "int opterr"),
        streams: &["--stdin", "1"],
    }
    .differs();
}

/// The library's code for the class differs, and nothing but its table of virtual functions leads there.
#[test]
fn what_a_library_does_with_a_class_counts() {
    let room = Room::new();
    let text = r#"#include <cstdio>
#include <memory>
struct Node { int v; Node(int v) : v(v) {} /* ~Node */ };
int main() {
    int c = getchar(), d = getchar();
    std::shared_ptr<Node> p = std::make_shared<Node>(d);
    if (c == 'x') { p.reset(); puts("x"); return 0; }
    p->v = 0;
    puts("end");
}
"#;
    let last = "~Node() { if (v == 'n') puts(\"gone\"); }";
    room.write("old.cpp", text);
    room.write("new.cpp", text.replace("/* ~Node */", last));
    let run = ["run", "old.cpp", "new.cpp", "--stdin", "2", "--jobs", "1"];
    let said = room.changeling(&run);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

/// The file gets another name, or what is in it goes elsewhere without being read.
#[test]
fn what_goes_on_out_of_sight_is_no_proof() {
    let text = r#"#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    const char *name = "g";
    char byte = 0;
    /* MOVE */
    int from = open(name, O_RDONLY);
    if (read(from, &byte, 1) == 1 && byte == 'q') puts("yes");
    return 0;
}
"#;
    for way in [
        r#"rename("f", "g");"#,
        r#"mkdir("d", 0700); chdir("d"); name = "../f";"#,
        r#"sendfile(open("g", O_CREAT | O_RDWR, 0600), open("f", O_RDONLY), 0, 9);"#,
        r#"if (system("cp f g")) return 1;"#,
    ] {
        let pair = Pair {
            text: &text.replace("/* MOVE */", way),
            change: ("yes", "no"),
            streams: &["--file", "f=1"],
        };
        let (verdict, said) = pair.verdict();
        let told = format!("{way}: {}{}", said.stdout, said.stderr);
        assert_ne!(verdict, "equivalent", "{told}");
    }
}
