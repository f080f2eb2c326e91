//! Input that a program takes past the tracer is followed or counted as lost: never is it called equivalent.

use crate::room::*;

/// Statements that fill `b`, three bytes of what the option names. Both versions print another word if all three are `l`.
fn verdict(streams: [&str; 2], statements: &str) -> (String, String) {
    let room = Room::new();
    let text = format!(
        r#"#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>
static unsigned char b[64];
int main(int argc, char **argv) {{
    char room[4096] = {{0}};
    {statements}
    if ((b[0] | b[1] << 8 | b[2] << 16) * 7 + 3 == 0x6c6c6c * 7 + 3) puts("WORD");
    return 0;
}}
"#
    );
    room.write("old.c", text.replace("WORD", "old"));
    room.write("new.c", text.replace("WORD", "new"));
    let run = ["run", "old.c", "new.c", "--jobs", "1", "--time", "60s"];
    let said = room.changeling(&[&run[..], &streams].concat());
    let results = room.results();
    let verdict = results["verdict"].as_str().unwrap().to_owned();
    (
        verdict,
        format!("{statements}: {}{}", said.stdout, said.stderr),
    )
}

/// Names of standard input, and a buffer of the program's own that the library reads into.
#[test]
fn standard_input_by_other_names_is_followed() {
    for statements in [
        r#"read(open("/dev/stdin", O_RDONLY), b, 3);"#,
        r#"freopen("/dev/stdin", "r", stdin); fread(b, 1, 3, stdin);"#,
        r#"symlink("/proc/self/fd/0", "s"); read(open("s", O_RDONLY), b, 3);"#,
        "setvbuf(stdin, (char *)b, _IOFBF, sizeof b); getchar();",
    ] {
        let (verdict, told) = verdict(["--stdin", "3"], statements);
        assert_eq!(verdict, "differences", "{told}");
    }
}

#[test]
fn input_past_the_tracer_is_no_proof() {
    let cases = [
        ("--stdin", "3", "syscall(SYS_read, 0, b, 3);"),
        (
            "--stdin",
            "3",
            r#"long r; __asm__ volatile("syscall" : "=a"(r) : "a"(0), "D"(0L), "S"(b), "d"(3L) : "rcx", "r11", "memory");"#,
        ),
        (
            "--stdin",
            "3",
            "for (int i = 0; i < 3; i++) b[i] = fgetwc(stdin);",
        ),
        (
            "--sym-arg",
            "3",
            r#"FILE *f = fopen("/proc/self/cmdline", "r"); fread(room, 1, 4095, f); memcpy(b, room + strlen(room) + 1, 3);"#,
        ),
        (
            "--env",
            "X=3",
            r#"int n = read(open("/proc/self/environ", O_RDONLY), room, 4095);
            for (int i = 0; i < n; i += strlen(room + i) + 1) if (!strncmp(room + i, "X=", 2)) memcpy(b, room + i + 2, 3);"#,
        ),
        (
            "--env",
            "X=3",
            r#"fread(b, 1, 3, popen("printf %s \"$X\"", "r"));"#,
        ),
        (
            "--env",
            "HOME=3",
            r#"glob_t g; glob("~", GLOB_TILDE | GLOB_NOCHECK, 0, &g); strncpy((char *)b, g.gl_pathv[0], 3);"#,
        ),
        (
            "--env",
            "HOME=3",
            r#"wordexp_t w; if (!wordexp("~", &w, 0) && w.we_wordc) strncpy((char *)b, w.we_wordv[0], 3);"#,
        ),
    ];
    for (option, bound, statements) in cases {
        let (verdict, told) = verdict([option, bound], statements);
        assert_ne!(verdict, "equivalent", "{told}");
    }
}

/// Runs start at `main`: what was read before is not followed.
#[test]
fn input_that_is_read_before_main_is_no_proof() {
    let cases = [
        ("--stdin", "1", "big = getchar() == 'q';", false),
        ("--env", "X=1", r#"big = *getenv("X") == 'q';"#, false),
        (
            "--stdin",
            "1",
            "int (*f)(void) = getchar; big = f() == 'q';",
            false,
        ),
        ("--stdin", "1", "big = atoi(\"1\") == 2;", true),
    ];
    for (option, bound, statements, is_proof) in cases {
        let room = Room::new();
        let text = format!(
            "#include <stdio.h>\n#include <stdlib.h>\nstatic int big;\n\
            __attribute__((constructor)) static void early(void) {{ {statements} }}\n\
            int main(void) {{\n    if (big)\n        return CODE;\n    return 0;\n}}\n"
        );
        room.write("old.c", text.replace("CODE", "2"));
        room.write("new.c", text.replace("CODE", "3"));
        let run = ["run", "old.c", "new.c", "--jobs", "1", "--time", "60s"];
        let said = room.changeling(&[&run[..], &[option, bound]].concat());
        let verdict = room.results()["verdict"].as_str().unwrap().to_owned();
        let told = format!("{statements}: {}{}", said.stdout, said.stderr);
        assert_eq!(verdict == "equivalent", is_proof, "{told}");
    }
}
