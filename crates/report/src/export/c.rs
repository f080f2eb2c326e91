//! A C program that is a test.

use super::{Expectation, Left, checks_stderr, left_behind, observed};
use crate::case::Case;
use crate::escape::{self, c_literal};
use crate::results::End;
use changeling_trace::input::StreamKind;

/// A file that runs `$PROGRAM` (by default `program`) on the input and exits 0 if
/// it behaves as expected. For a harness buffer: a file to link with the
/// harness, which calls it in the same process.
pub fn test(case: &Case, expectation: Expectation, program: &str) -> String {
    // A comment must not be ended by what it says.
    let title = escape::printable_str(&case.title)
        .replace("*/", "* /")
        .replace("/*", "/ *");
    if let Some(buffer) = case.input.harness() {
        return format!(
            "/* {title}\n   Link with the harness: cc {}.c harness.c */\n{}",
            case.folder_name(),
            fill(
                HARNESS,
                &[
                    ("DATA", c_literal(buffer)),
                    ("SIZE", buffer.len().to_string())
                ],
            )
        );
    }
    let expected = expectation.outcome(case);
    let mut files = String::new();
    let mut environment = String::new();
    for stream in &case.input.streams {
        match stream.kind {
            StreamKind::File => files.push_str(&format!(
                "    put({}, {}, {});\n",
                c_literal(stream.name.as_bytes()),
                c_literal(&stream.bytes),
                stream.bytes.len()
            )),
            StreamKind::Environment => {
                let mut word = stream.name.clone().into_bytes();
                word.push(b'=');
                word.extend_from_slice(&stream.bytes);
                environment.push_str(&format!("{}, ", c_literal(&word)));
            }
            _ => {}
        }
    }
    let arguments: String = case
        .input
        .argument_texts()
        .iter()
        .map(|text| format!("{}, ", c_literal(text)))
        .collect();
    let mut checks = check(".stdout", &expected.stdout);
    if checks_stderr(case) {
        checks.push_str(&check(".stderr", &expected.stderr));
    }
    if let Some(expected) = observed(case, expected) {
        checks.push_str(&check(".observed", &expected));
    }
    for left in left_behind(case, expected) {
        let name = c_literal(left.name().as_bytes());
        let is_right = match left {
            Left::File(name, bytes) => {
                checks.push_str(&check(name, bytes));
                continue;
            }
            Left::Link(_, target) => {
                let (size, target) = (target.len(), c_literal(target));
                format!(
                    "readlink({name}, text, sizeof text) == {size} && !memcmp(text, {target}, {size})"
                )
            }
            Left::Directory(_) => format!("!lstat({name}, &found) && S_ISDIR(found.st_mode)"),
            Left::Other(_) => format!("!lstat({name}, &found)"),
            Left::Nothing(_) => format!("lstat({name}, &found)"),
        };
        checks.push_str(&format!("    expect({is_right}, {name});\n"));
    }
    let (end, wanted) = match expected.end {
        End::Exit(code) => (
            format!(
                "WIFEXITED(status) && WEXITSTATUS(status) == {}",
                code & 0xff
            ),
            format!("exit {code}"),
        ),
        End::Signal(number) => (
            format!("WIFSIGNALED(status) && WTERMSIG(status) == {number}"),
            format!("signal {number}"),
        ),
        End::TimedOut => (
            "WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM".into(),
            "no end".into(),
        ),
    };
    let stdin = case.input.stdin().unwrap_or_default();
    format!(
        "/* {title}\n   cc {}.c -o test && PROGRAM=path ./test */\n{}",
        case.folder_name(),
        fill(
            PROGRAM,
            &[
                ("PROGRAM", c_literal(program.as_bytes())),
                ("END", end),
                ("WANTED", wanted),
                ("FILES", files),
                (
                    "STDIN",
                    format!(
                        "    put(\".stdin\", {}, {});\n",
                        c_literal(stdin),
                        stdin.len()
                    )
                ),
                ("ARGUMENTS", arguments),
                ("ENVIRONMENT", environment),
                ("CHECKS", checks),
            ],
        )
    )
}

/// Replaces each `@KEY@` once over, so that values may contain anything.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    for (at, part) in template.split('@').enumerate() {
        match values.iter().find(|(key, _)| at % 2 == 1 && *key == part) {
            Some((_, value)) => out.push_str(value),
            None => out.push_str(part),
        }
    }
    out
}

fn check(name: &str, bytes: &[u8]) -> String {
    let name = c_literal(name.as_bytes());
    format!("    same({name}, {}, {});\n", c_literal(bytes), bytes.len())
}

const HARNESS: &str = r#"#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char data[] = @DATA@;

int main(void) {
    return LLVMFuzzerTestOneInput((const uint8_t *)data, @SIZE@);
}
"#;

const PROGRAM: &str = r#"#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void put(const char *name, const char *bytes, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s", name);
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
        perror(name);
        exit(2);
    }
}

static void same(const char *name, const char *bytes, size_t size) {
    FILE *file = fopen(name, "rb");
    size_t at = 0;
    int c = EOF;
    while (file && (c = getc(file)) != EOF && at < size && (unsigned char)bytes[at] == c) at++;
    if (!file || c != EOF || at != size) {
        fprintf(stderr, "%s differs from what is expected at byte %zu\n", name, at);
        failures++;
    }
    if (file) fclose(file);
}

static void expect(int right, const char *what) {
    if (right) return;
    fprintf(stderr, "%s is not as expected\n", what);
    failures++;
}

static int opened(const char *path, const struct stat *what, int kind, struct FTW *at) {
    (void)what, (void)at;
    if (kind == FTW_D || kind == FTW_DNR) chmod(path, 0700);
    return 0;
}

static int removed(const char *path, const struct stat *what, int kind, struct FTW *at) {
    (void)what, (void)kind, (void)at;
    return remove(path);
}

static char folder[4096];

static void clean(void) {
    if (chdir("/")) return;
    nftw(folder, opened, 16, FTW_PHYS);
    nftw(folder, removed, 16, FTW_PHYS | FTW_DEPTH);
}

int main(void) {
    const char *named = getenv("PROGRAM");
    char *program = realpath(named ? named : @PROGRAM@, NULL);
    if (!program) {
        perror(named ? named : @PROGRAM@);
        return 2;
    }
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/changeling-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder) || chdir(folder)) {
        perror(folder);
        return 2;
    }
    atexit(clean);
@FILES@@STDIN@    char *arguments[] = {program, @ARGUMENTS@NULL};
    char *environment[] = {"LC_ALL=C", "TZ=UTC", "CHANGELING_OBSERVE_FD=9", @ENVIRONMENT@NULL};
    struct stat found;
    char text[4096];
    (void)found, (void)text;
    pid_t child = fork();
    if (child == 0) {
        int in = open(".stdin", O_RDONLY);
        int out = open(".stdout", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int err = open(".stderr", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(in, 0);
        dup2(out, 1);
        int observed = open(".observed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        struct rlimit size = {64 << 20, 64 << 20};
        dup2(err, 2);
        dup2(observed, 9);
        setrlimit(RLIMIT_FSIZE, &size);
        alarm(10);
        execve(program, arguments, environment);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    expect(@END@, "how it ended, which should have been @WANTED@,");
@CHECKS@    printf("%s\n", failures ? "failed" : "ok");
    return failures != 0;
}
"#;
