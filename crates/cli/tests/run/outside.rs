//! What code outside of the program is given, told or finds somewhere is followed, decided by branches or counted as lost.

use crate::room::*;

/// One program for all cases, so that it is built once: the argument says which one it is, and CODE is what differs.
const TEXT: &str = r#"#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>
#define CODE 3
static int c, calls, by_name __attribute__((used));
int by_function;
static char b[65536], quiet[64];
static int table[4] = {3, 7, 'q', 9};
static char *first[] = {"X=1", 0}, *second[] = {"X=2", 0};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static void tell(int s) { (void)!write(1, "0123456789" + CODE, 1); if (s == SIGSEGV) _exit(1); }
static void stay(int s) { calls++; }
static void tell_late(void) { tell(0); }
static void stay_late(void) { stay(0); }
static int to_key(const void *a, const void *b) { return c - *(int *)b; }
static int zero;
static int by_key(const void *a, const void *b) { return (*(int *)a ? *(int *)a : c) - (*(int *)b ? *(int *)b : c); }
static int only(const struct dirent *d) { return (c == 'q') & (d->d_name[0] == '.'); }
static int visit(const char *path, const struct stat *status, int kind) { return c == 'q'; }
static int object(struct dl_phdr_info *info, size_t n, void *p) { return c == 'q'; }
static ssize_t give(void *cookie, char *to, size_t n) { to[0] = c; to[1] = 'a'; return 1 + (c == 'z'); }
__attribute__((used)) static int called(void) { return c == 'q'; }
__asm__(".text\n.globl way\nway:\n jmp called\n.globl other\nother:\n movl by_function(%rip),%eax\n ret\n");
int way(void), other(void);
static int decided(int which, char **arguments) {
    struct sigaction action = {0}, old;
    sigset_t set;
    stack_t stack = {b, 0, 65536};
    FILE *f, *g;
    int d;
    size_t count = 4;
    pthread_attr_t attributes;
    pthread_mutexattr_t kind;
    struct dirent **list;
    void *root = 0;
    int **found;
    volatile char *p;
    switch (which) {
CASES
    }
    return 0;
}
int main(int argc, char **argv) {
    signal(SIGSEGV, tell);
    return decided(atoi(argv[1]), argv) ? CODE : 4;
}
"#;

/// What is done, and the input.
struct Case(&'static str, [&'static str; 2]);

/// The verdict on each case, if CODE becomes another.
fn verdicts(cases: &[Case], code: &str) -> Vec<(String, String)> {
    let room = Room::new();
    let text: String = cases
        .iter()
        .enumerate()
        .map(|(number, case)| format!("    case {number}: {}\n", case.0))
        .collect();
    let text = TEXT.replace("CASES\n", &text);
    room.write("old.c", &text);
    room.write("new.c", text.replace("CODE 3", &format!("CODE {code}")));
    let verdict = |(number, case): (usize, &Case)| {
        let number = number.to_string();
        let run = ["run", "old.c", "new.c", "--jobs", "1", "--time", "60s"];
        let arguments = [&run[..], &["--arg", &number], &case.1].concat();
        let said = room.changeling(&arguments);
        let verdict = room.results()["verdict"].as_str().unwrap().to_owned();
        let told = format!("{}: {}{}", case.0, said.stdout, said.stderr);
        (verdict, told)
    };
    cases.iter().enumerate().map(verdict).collect()
}

const BYTE: [&str; 2] = ["--stdin", "1"];
const INPUT: [&str; 2] = ["--stdin", "6"];
const FILE: [&str; 2] = ["--file", "f=6"];

#[test]
fn what_code_outside_is_told_is_decided() {
    let cases = [
        // Which function, lock, flags, and how much.
        Case(
            "atexit(getchar() == 'a' ? tell_late : stay_late); return 0;",
            BYTE,
        ),
        Case(
            "p = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mprotect((void *)p, 4096, getchar() == 'a' ? 1 : 3); p[0] = 1; return 0;",
            BYTE,
        ),
        Case(
            "p = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); p[0] = 1; madvise((void *)p, 4096, getchar() == 'a' ? MADV_DONTNEED : MADV_NORMAL); return p[0] == 0;",
            BYTE,
        ),
        Case(
            "p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); munmap((void *)p, getchar() == 'a' ? 8192 : 4096); return p[4096];",
            BYTE,
        ),
        Case(
            "pthread_mutex_lock(&m); return pthread_mutex_trylock(getchar() == 'a' ? &m : &n);",
            BYTE,
        ),
        Case(
            "pthread_mutex_lock(&m); pthread_mutex_unlock(getchar() == 'a' ? &m : &n); return pthread_mutex_trylock(&m) == 0;",
            BYTE,
        ),
        Case(
            "pthread_mutexattr_init(&kind); *(int *)&kind |= getchar() == 'q' ? PTHREAD_MUTEX_RECURSIVE : 0; pthread_mutex_init(&m, &kind); pthread_mutex_lock(&m); return pthread_mutex_trylock(&m) == 0;",
            BYTE,
        ),
        Case(
            "pthread_attr_init(&attributes); return pthread_attr_setstacksize(&attributes, getchar() == 'a' ? 100 : 1000000) != 0;",
            BYTE,
        ),
        Case("return getcwd(b, getchar() == 'a' ? 1 : 300) == 0;", BYTE),
        Case(
            "return getrandom(b, getchar() == 'a' ? 1 : 200, 0) < 100;",
            BYTE,
        ),
        Case(
            "return getauxval(getchar() == 'a' ? AT_PAGESZ : AT_NULL) > 100;",
            BYTE,
        ),
        // What is in memory.
        Case(
            "action.sa_handler = getchar() == 'a' ? tell : stay; sigaction(SIGUSR1, &action, 0); raise(SIGUSR1); return 0;",
            BYTE,
        ),
        Case(
            "action.sa_handler = stay; action.sa_flags = getchar() == 'a' ? SA_RESETHAND : 0; sigaction(SIGUSR1, &action, 0); raise(SIGUSR1); sigaction(SIGUSR1, 0, &old); return old.sa_handler != stay;",
            BYTE,
        ),
        Case(
            "sigemptyset(&set); *(long *)&set = getchar() == 'a' ? 1l << (SIGUSR1 - 1) : 0; signal(SIGUSR1, stay); sigprocmask(SIG_BLOCK, &set, 0); raise(SIGUSR1); return !calls;",
            BYTE,
        ),
        Case(
            "sigemptyset(&set); sigaddset(&set, getchar() == 'a' ? SIGUSR1 : SIGUSR2); return sigismember(&set, SIGUSR1);",
            BYTE,
        ),
        Case(
            "stack.ss_size = getchar() == 'a' ? 10 : 65536; return sigaltstack(&stack, 0) != 0;",
            BYTE,
        ),
        Case(
            "{ struct pollfd one = {1, getchar() == 'a' ? POLLOUT : 0}; return poll(&one, 1, 0); }",
            BYTE,
        ),
        // What calls back, and what a callback fills.
        Case(
            "c = getchar(); return lfind(&zero, table, &count, 4, to_key) != 0;",
            BYTE,
        ),
        Case(
            "c = getchar(); for (d = 0; c && d < 4; d++) tsearch(table + d, &root, by_key); found = tfind(&zero, &root, by_key); return found && *found == table + 2;",
            BYTE,
        ),
        Case(
            "c = getchar(); return scandir(\"/\", &list, only, alphasort) > 0;",
            BYTE,
        ),
        Case("c = getchar(); return ftw(\".\", visit, 3);", BYTE),
        Case("c = getchar(); return dl_iterate_phdr(object, 0);", BYTE),
        Case("c = getchar(); return way();", BYTE),
        Case(
            "c = getchar(); f = fopencookie(0, \"r\", (cookie_io_functions_t){.read = give}); return getc(f) == 'q';",
            BYTE,
        ),
        Case(
            "c = getchar(); f = fopencookie(0, \"r\", (cookie_io_functions_t){.read = give}); getc(f); setvbuf(f, 0, _IONBF, 0); return c == 'z' && getc(f) == 'a';",
            BYTE,
        ),
        Case(
            "f = fmemopen(b, 4, \"r\"); b[0] = getchar(); return getc(f) == 'q';",
            BYTE,
        ),
        Case(
            "hcreate(10); b[0] = 'z'; hsearch((ENTRY){b, 0}, ENTER); b[0] = getchar(); return hsearch((ENTRY){\"z\", 0}, FIND) == 0;",
            BYTE,
        ),
        // What a macro of the library's writes.
        Case(
            "putchar('x'); c = getchar(); __putc_unlocked_body('0' + (c == 'q') * CODE, stdout); return 0;",
            BYTE,
        ),
        // Variables of libraries, and memory that they share with arguments.
        Case(
            "environ = getchar() == 'q' ? first : second; return getenv(\"X\")[0] == '1';",
            BYTE,
        ),
        Case(
            "error_print_progname = getchar() == 'q' ? tell_late : stay_late; error(0, 0, \"x\"); return 0;",
            BYTE,
        ),
        Case(
            "g = fopen(\"/dev/null\", \"r\"); stdin = getchar() == 'q' ? g : stdin; return getchar() == 'a';",
            INPUT,
        ),
        // Other ways to read, and what tells of the length.
        Case(
            "ioctl(0, FIONREAD, &d); return getchar() == 'q' && d == 5;",
            INPUT,
        ),
        Case(
            "{ struct iovec parts[] = {{b, 1}, {b + 1, 7}}; d = open(\"f\", 0); preadv(d, parts, 2, 1); return b[1] == 'q'; }",
            FILE,
        ),
        Case(
            "d = openat(open(\"/proc/self/fd\", O_PATH | O_DIRECTORY), \"0\", O_RDONLY); return read(d, b, 1) == 1 && b[0] == 'q';",
            BYTE,
        ),
        Case(
            "d = open(\"f\", 0); (void)!read(d, b, 1); return b[0] == 'q' && lseek(d, 0, SEEK_HOLE) == 5;",
            FILE,
        ),
        Case(
            "c = getc(fopen(\"f\", \"r\")); f = fopen(\"f\", \"a\"); fputs(\"z\", f); return c == 'q' && ftell(f) == 5;",
            FILE,
        ),
    ];
    for (verdict, told) in verdicts(&cases, "5") {
        assert_eq!(verdict, "differences", "{told}");
    }
}

/// Which words of assembler are names, only the assembler knows; what is in streams, only the library.
#[test]
fn what_is_looked_at_behind_the_back_is_lost() {
    let cases = [
        Case(
            "by_name = getchar(); __asm__ volatile(\"movl by_name(%%rip),%0\" : \"=r\"(d) : : \"memory\"); return d == 'q';",
            BYTE,
        ),
        Case("by_function = getchar(); return other() == 'q';", BYTE),
        Case(
            "if (getchar() == EOF) return 1; c = getchar(); setvbuf(stdout, b, _IOFBF, 64); printf(\"%c\", c); return b[0] == 'q';",
            INPUT,
        ),
        Case(
            "c = getchar(); putchar(c); return c != EOF && stdout->_IO_write_base[0] == 'q';",
            BYTE,
        ),
        Case(
            "c = getchar(); return c == 'a' && stdin->_IO_read_ptr < stdin->_IO_read_end && *stdin->_IO_read_ptr == 'q';",
            INPUT,
        ),
    ];
    for (verdict, told) in verdicts(&cases, "5") {
        assert_ne!(verdict, "equivalent", "{told}");
    }
}

/// The same functions as programs mostly use them.
#[test]
fn what_code_outside_is_told_plainly_is_proof() {
    let cases = [
        Case(
            "setvbuf(stdout, quiet, _IOFBF, sizeof quiet); c = getchar(); putchar(c); return c == 'q';",
            BYTE,
        ),
        Case(
            "action.sa_handler = stay; sigemptyset(&action.sa_mask); sigaction(SIGUSR1, &action, 0); atexit(stay_late); raise(SIGUSR1); return getchar() == 'q';",
            BYTE,
        ),
        Case(
            "{ struct pollfd one = {0, POLLIN}; c = poll(&one, 1, 0) == 1 ? getchar() : 0; pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return c == 'q'; }",
            BYTE,
        ),
        Case(
            "c = getchar(); table[1] = c & 7; qsort(table, 4, 4, by_key); found = bsearch(&c, table, 4, 4, by_key); return found != 0;",
            BYTE,
        ),
        Case(
            "b[0] = 'x'; f = fmemopen(b, 4, \"r\"); c = getc(f); getcwd(b, 300); return getchar() == c;",
            BYTE,
        ),
        Case(
            "f = fopen(\"f\", \"a\"); fputs(\"z\", f); return fclose(f);",
            FILE,
        ),
    ];
    for (verdict, told) in verdicts(&cases, "(1 + 2)") {
        assert_eq!(verdict, "equivalent", "{told}");
    }
}
