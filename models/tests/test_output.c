// Output: what is written, what is returned, and what is reported.
#include "native.h"
#include <err.h>
#include <error.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int __model_fprintf(FILE *, const char *, ...);
int __model_printf(const char *, ...);
int __model_dprintf(int, const char *, ...);
int __model_sprintf(char *, const char *, ...);
int __model_snprintf(char *, size_t, const char *, ...);
int __model_asprintf(char **, const char *, ...);
int __model___fprintf_chk(FILE *, int, const char *, ...);
int __model___sprintf_chk(char *, int, size_t, const char *, ...);
int __model___snprintf_chk(char *, size_t, int, size_t, const char *, ...);
int __model_putc(int, FILE *);
int __model_fputc_unlocked(int, FILE *);
int __model_fputs(const char *, FILE *);
size_t __model_fwrite(const void *, size_t, size_t, FILE *);
ssize_t __model_writev(int, const struct iovec *, int);
ssize_t __model_write(int, const void *, size_t);
int __model_putchar(int);
int __model_puts(const char *);
void __model_perror(const char *);
void __model_warn(const char *, ...);
void __model_warnx(const char *, ...);
void __model_err(int, const char *, ...);
void __model_errx(int, const char *, ...);
void __model_error(int, int, const char *, ...);
void __model_error_at_line(int, int, const char *, unsigned, const char *, ...);
void __model_changeling_observe(const char *, long long);
void __model_changeling_observe_bytes(const char *, const void *, size_t);

static FILE *real_file, *model_file;

static FILE *memory_file(void) { return fdopen(memfd_create("output", 0), "w+"); }

static size_t contents(FILE *file, char *to, size_t room) {
    fflush(file);
    ssize_t n = pread(fileno(file), to, room, 0);
    return n < 0 ? 0 : (size_t)n;
}

static void restart(void) {
    rewind(real_file);
    rewind(model_file);
    if (ftruncate(fileno(real_file), 0) != 0 || ftruncate(fileno(model_file), 0) != 0) mismatch("ftruncate");
    native_output_clear(fileno(model_file));
}

static void same_files(const char *what) {
    static char real[1 << 20], model[1 << 20];
    size_t n = contents(real_file, real, sizeof real);
    size_t m = contents(model_file, model, sizeof model);
    CHECK(n == m && memcmp(real, model, n) == 0, "%s writes '%.*s', not '%.*s'", what, (int)m, model, (int)n, real);
    size_t reported_length;
    const char *reported = native_output(fileno(model_file), &reported_length);
    CHECK(reported_length == n && (n == 0 || memcmp(reported, real, n) == 0), "%s reports '%.*s', not '%.*s'", what,
          (int)reported_length, reported, (int)n, real);
}

// --- formats

static void add(char *format, const char *text) { strcat(format, text); }

// A conversion and what it takes from the integer registers.
static int random_conversion(char *format, bool *text_argument, bool *star_argument, bool *float_argument) {
    static const char *const flags[] = {"", "", "-", "0", "+", " ", "#", "0-", "+0", "# 0", "'", "-#"};
    static const char *const sizes[] = {"", "", "hh", "h", "l", "ll", "j", "z", "t", "q"};
    static const char *const integers[] = {"d", "i", "u", "x", "X", "o"};
    static const char *const floats[] = {"f", "e", "g", "G", "a", "E", "A", "F"};
    char number[16];
    int taken = 1;
    add(format, "%");
    add(format, flags[below_random(sizeof flags / sizeof *flags)]);
    uint32_t width = below_random(10);
    if (width == 0) {
        add(format, "*");
        *star_argument = true;
        taken++;
    } else if (width < 5) {
        sprintf(number, "%u", below_random(20) == 0 ? 200 : below_random(14));
        add(format, number);
    }
    uint32_t precision = below_random(8);
    if (precision == 0) add(format, ".");
    else if (precision < 4) {
        sprintf(number, ".%u", below_random(12));
        add(format, number);
    }
    uint32_t kind = below_random(10);
    if (kind < 6) {
        add(format, sizes[below_random(sizeof sizes / sizeof *sizes)]);
        add(format, integers[below_random(sizeof integers / sizeof *integers)]);
    } else if (kind < 7) {
        add(format, "c");
    } else if (kind < 9) {
        add(format, "s");
        *text_argument = true;
    } else {
        add(format, floats[below_random(sizeof floats / sizeof *floats)]);
        *float_argument = true;
        taken--;
    }
    return taken;
}

static uint64_t random_integer(void) {
    static const uint64_t fixed[] = {0, 1, 9, 10, 99, 100, 7, 8, 15, 16, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN,
                                     INT32_MAX, 0x80000000u, 0xffffffffu, 128, 255, 256, 32768, 65535, 1000000000,
                                     10000000000000000000u, 9999999999999999999u, 4294967296, (uint64_t)-10};
    if (below_random(2)) return fixed[below_random(sizeof fixed / sizeof *fixed)];
    return ((uint64_t)next_random() << 32 | next_random()) >> below_random(64);
}

static double random_double(void) {
    static const double fixed[] = {0.0, -0.0, 1.5, -2.25, 1e100, 1e-300, 123456.789, 1.0 / 0.0, 0.0 / 0.0, 3};
    return fixed[below_random(sizeof fixed / sizeof *fixed)];
}

// Sometimes a literal part, sometimes not.
static void random_literal(char *format) {
    static const char *const parts[] = {"", "", "x=", ", ", "%%", "\n", "100%% sure "};
    add(format, parts[below_random(sizeof parts / sizeof *parts)]);
}

static void formats(void) {
    char format[128] = "";
    uint64_t a[3];
    double numbers[2] = {random_double(), random_double()};
    bool floats_used = false;
    char text[40];
    size_t n = below_random(12);
    for (size_t i = 0; i < n; i++) text[i] = (char)(33 + below_random(90));
    text[n] = 0;
    size_t used = 0;
    int floats = 0;
    random_literal(format);
    for (int i = 0; i < 3 && used < 2; i++) {
        bool is_text = false, is_star = false, is_float = false;
        size_t taken = (size_t)random_conversion(format, &is_text, &is_star, &is_float);
        if (is_star) a[used++] = (uint64_t)(int64_t)((int)below_random(24) - 8);
        if (is_float) {
            floats++;
            floats_used = true;
        } else if (is_text) {
            a[used++] = below_random(12) == 0 ? 0 : (uint64_t)(uintptr_t)text;
        } else {
            a[used++] = random_integer();
        }
        (void)taken;
        random_literal(format);
        if (floats == 2) break;
    }
    for (; used < 3; used++) a[used] = random_integer();
    (void)floats_used;
#define ARGUMENTS a[0], a[1], a[2], numbers[0], numbers[1]

    restart();
    int real = fprintf(real_file, format, ARGUMENTS);
    int model = below_random(2) ? __model_fprintf(model_file, format, ARGUMENTS)
                                : __model___fprintf_chk(model_file, 1, format, ARGUMENTS);
    CHECK(real == model, "fprintf of '%s' (%lx, %lx, %lx) is %d, not %d", format, a[0], a[1], a[2], model, real);
    same_files(format);

    char first[1024], second[1024];
    memset(first, '#', sizeof first);
    memset(second, '#', sizeof second);
    size_t size = below_random(3) == 0 ? below_random(40) : sizeof first;
    real = snprintf(first, size, format, ARGUMENTS);
    model = below_random(2) ? __model_snprintf(second, size, format, ARGUMENTS)
                            : __model___snprintf_chk(second, size, 1, sizeof second, format, ARGUMENTS);
    CHECK(real == model, "snprintf of '%s' (%lx, %lx, %lx) is %d, not %d", format, a[0], a[1], a[2], model, real);
    CHECK(memcmp(first, second, sizeof first) == 0, "snprintf of '%s' (%lx, %lx, %lx) gives '%.99s', not '%.99s'", format,
          a[0], a[1], a[2], second, first);
    memset(second, '#', sizeof second);
    model = below_random(2) ? __model_sprintf(second, format, ARGUMENTS)
                            : __model___sprintf_chk(second, 1, sizeof second, format, ARGUMENTS);
    char *real_text, *model_text;
    real = asprintf(&real_text, format, ARGUMENTS);
    CHECK(real == model && strcmp(second, real_text) == 0, "sprintf of '%s' gives '%s'", format, second);
    CHECK(__model_asprintf(&model_text, format, ARGUMENTS) == real && strcmp(real_text, model_text) == 0,
          "asprintf of '%s' gives '%s'", format, model_text);
    free(real_text);
    free(model_text);
}

#define SAME_PRINT(...)                                                                   \
    do {                                                                                  \
        restart();                                                                        \
        errno = ENOENT;                                                                   \
        int real = fprintf(real_file, __VA_ARGS__);                                       \
        int real_errno = errno;                                                           \
        errno = ENOENT;                                                                   \
        int model = __model_fprintf(model_file, __VA_ARGS__);                             \
        CHECK(errno == real_errno, "errno of %s is %d", #__VA_ARGS__, errno);             \
        CHECK(real == model, "%s is %d, not %d", #__VA_ARGS__, model, real);              \
        same_files(#__VA_ARGS__);                                                         \
        char first[4096] = "", second[4096] = "";                                         \
        errno = ENOENT;                                                                   \
        real = snprintf(first, sizeof first, __VA_ARGS__);                                \
        errno = ENOENT;                                                                   \
        model = __model_snprintf(second, sizeof second, __VA_ARGS__);                     \
        CHECK(real == model && strcmp(first, second) == 0, "%s in memory", #__VA_ARGS__); \
    } while (0)

static void special_formats(void) {
    int written = 0;
    signed char small = 0;
    SAME_PRINT("%s", "");
    SAME_PRINT("plain");
    SAME_PRINT("%d and %n%hhn rest", 12345, &written, &small);
    CHECK(written == 10 && small == 10, "%%n stores %d, %d", written, small);
    SAME_PRINT("%2$d %1$s %2$x", "text", 77);
    SAME_PRINT("%1$*2$d|%1$.*3$d", 5, 8, 4);
    SAME_PRINT("%3$s %1$s %2$c %1$s", "a", 'b', "c");
    SAME_PRINT("%m, %5m|%-40m|");
    SAME_PRINT("%p %p %20p", (void *)0, (void *)0x1234, (void *)special_formats);
    SAME_PRINT("%s|%.3s|%10s|%.6s", (char *)0, (char *)0, (char *)0, (char *)0);
    SAME_PRINT("%Lf %Lg %.3Le", 1.5L, 2.25L, 1e300L);
    SAME_PRINT("%.300f|%400d|%-300d|%.250d", 1.0 / 3, 7, 8, 9);
    SAME_PRINT("%1500s|", "wide");
    SAME_PRINT("%y after %d", 3);
    SAME_PRINT("%d%", 3);
    SAME_PRINT("%ls and %d", L"wide", 4);
    SAME_PRINT("%lc%c", L'w', 'c');
    SAME_PRINT("%5%|%-5%|%d", 4);
    SAME_PRINT("%I5d|%'d", 1234567, 1234567);
    SAME_PRINT("%c%c%5c%-5c|", 0, 'a', 0, 255);
    SAME_PRINT("%.0d|%.d|%#.0o|%#.0x|%+.0d|% .0d", 0, 0, 0, 0, 0, 0);
    SAME_PRINT("%#o|%#x|%#X|%#08x|%#-8xZ|%#.5o", 8, 255, 255, 255, 255, 8);
    SAME_PRINT("%ld %hd %hhd %lu", LONG_MIN, SHRT_MIN, 200, ULONG_MAX);
    SAME_PRINT("%d %d %d %d %d %d %d %d %s %d", 1, 2, 3, 4, 5, 6, 7, 8, "nine", 10);
    SAME_PRINT("%f %d %f %s %f %f %f %f %f %f %f %d", 1., 2, 3., "4", 5., 6., 7., 8., 9., 10., 11., 12);

    // A buffer printed into itself.
    char first[64] = "abc", second[64] = "abc";
    sprintf(first, "%s-%d", first, 42);
    __model_sprintf(second, "%s-%d", second, 42);
    CHECK(strcmp(first, second) == 0, "printing into itself gives '%s'", second);

    native_output_clear(fileno(model_file));
    __model_fprintf(model_file, "%d %s", 5, "x");
    (void)native_output_values();
}

// --- the other functions

static void other_functions(void) {
    char bytes[200];
    size_t n = below_random(sizeof bytes - 1);
    for (size_t i = 0; i < n; i++) bytes[i] = (char)(below_random(255) + 1);
    bytes[n] = 0;
    restart();
    for (int i = 0; i < 5; i++) {
        int c = (int)below_random(600) - 100;
        CHECK(putc(c, real_file) == __model_putc(c, model_file), "putc(%d)", c);
        CHECK(fputc_unlocked(c, real_file) == __model_fputc_unlocked(c, model_file), "fputc_unlocked(%d)", c);
    }
    CHECK(fputs(bytes, real_file) == __model_fputs(bytes, model_file), "fputs");
    size_t size = below_random(6), count = size == 0 ? 3 : below_random((uint32_t)(n / size) + 1);
    CHECK(fwrite(bytes, size, count, real_file) == __model_fwrite(bytes, size, count, model_file), "fwrite");
    same_files("putc, fputs, fwrite");

    restart();
    fflush(real_file);
    fflush(model_file);
    CHECK(write(fileno(real_file), bytes, n) == __model_write(fileno(model_file), bytes, n), "write");
    struct iovec parts[3] = {{bytes, n / 2}, {bytes, 0}, {bytes + n / 2, n - n / 2}};
    CHECK(writev(fileno(real_file), parts, 3) == __model_writev(fileno(model_file), parts, 3), "writev");
    CHECK(dprintf(fileno(real_file), "%s%d", bytes, 5) == __model_dprintf(fileno(model_file), "%s%d", bytes, 5), "dprintf");
    same_files("write");

    FILE *closed = fopen("/dev/null", "r");
    errno = 0;
    int real = fputc('x', closed), real_errno = errno;
    errno = 0;
    CHECK(__model_putc('x', closed) == real && errno == real_errno, "putc to an input stream: errno %d", errno);
    errno = 0;
    real = fprintf(closed, "%d", 3), real_errno = errno;
    errno = 0;
    CHECK(__model_fprintf(closed, "%d", 3) == real && errno == real_errno, "fprintf to an input stream");
    errno = 0;
    CHECK(__model_write(-1, "x", 1) == -1 && errno == EBADF, "write to no descriptor");
    fclose(closed);
}

// Functions that write to stdout and stderr, with those pointing to files.
static void standard_streams(void) {
    fflush(stdout);
    int out = dup(1), error = dup(2);
    FILE *captured = memory_file(), *errors = memory_file();
    dup2(fileno(captured), 1);
    dup2(fileno(errors), 2);
    native_output_clear(1);
    native_output_clear(2);
    __model_printf("%d %s\n", 42, "printf");
    __model_puts("puts");
    __model_putchar('p');
    errno = ENOENT;
    __model_perror("perror");
    errno = EINVAL;
    __model_perror("");
    __model_perror(NULL);
    fflush(stdout);
    dup2(out, 1);
    dup2(error, 2);
    close(out);
    close(error);
    const char *expected = "42 printf\nputs\np";
    const char *expected_errors = "perror: No such file or directory\nInvalid argument\nInvalid argument\n";
    char text[256];
    size_t n = contents(captured, text, sizeof text), reported_length;
    CHECK(n == strlen(expected) && memcmp(text, expected, n) == 0, "stdout is '%.*s'", (int)n, text);
    const char *reported = native_output(1, &reported_length);
    CHECK(reported_length == n && memcmp(text, reported, n) == 0, "reported '%.*s'", (int)reported_length, reported);
    n = contents(errors, text, sizeof text);
    CHECK(n == strlen(expected_errors) && memcmp(text, expected_errors, n) == 0, "stderr is '%.*s'", (int)n, text);
    reported = native_output(2, &reported_length);
    CHECK(reported_length == n && memcmp(text, reported, n) == 0, "reported '%.*s'", (int)reported_length, reported);
    fclose(captured);
    fclose(errors);
}

// What a child writes to stderr, and its exit status.
static int messages_of(void (*act)(void), char *text, size_t *n) {
    int fd = memfd_create("messages", 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fd, 2);
        native_output_clear(2);
        act();
        _exit(77);
    }
    int status;
    waitpid(child, &status, 0);
    *n = (size_t)pread(fd, text, 4096, 0);
    close(fd);
    return status;
}

static void real_messages(void) {
    errno = ENOENT;
    warn("%d %s", 5, "text");
    CHECK(errno == ENOENT, "errno");
    warn(NULL);
    warnx("%c", 'c');
    warnx(NULL);
    error(0, EINVAL, "number %d", 3);
    error(0, 0, "plain");
    error_at_line(0, 0, "file", 7, "at %d", 1);
    error_one_per_line = 1;
    error_at_line(0, EINVAL, "file", 8, "once");
    error_at_line(0, EINVAL, "file", 8, "twice");
    error_at_line(0, 0, NULL, 9, "nowhere");
    if (error_message_count == 5) errx(3, "end");
}

static void model_messages(void) {
    errno = ENOENT;
    __model_warn("%d %s", 5, "text");
    CHECK(errno == ENOENT, "errno");
    __model_warn(NULL);
    __model_warnx("%c", 'c');
    __model_warnx(NULL);
    __model_error(0, EINVAL, "number %d", 3);
    __model_error(0, 0, "plain");
    __model_error_at_line(0, 0, "file", 7, "at %d", 1);
    error_one_per_line = 1;
    __model_error_at_line(0, EINVAL, "file", 8, "once");
    __model_error_at_line(0, EINVAL, "file", 8, "twice");
    __model_error_at_line(0, 0, NULL, 9, "nowhere");
    if (error_message_count == 5) __model_errx(3, "end");
}

static void real_err(void) {
    errno = EPERM;
    err(4, "last");
}

static void model_err(void) {
    errno = EPERM;
    __model_err(4, "last");
}

static void messages(void) {
    static void (*const acts[][2])(void) = {{real_messages, model_messages}, {real_err, model_err}};
    for (size_t i = 0; i < 2; i++) {
        char real[4096], model[4096];
        size_t n, m;
        int real_status = messages_of(acts[i][0], real, &n), model_status = messages_of(acts[i][1], model, &m);
        CHECK(real_status == model_status, "messages end with %d, not %d", model_status, real_status);
        CHECK(n == m && memcmp(real, model, n) == 0, "messages are '%.*s', not '%.*s'", (int)m, model, (int)n, real);
    }
}

static void observing(void) {
    FILE *file = memory_file();
    char number[16];
    sprintf(number, "%d", fileno(file));
    setenv("CHANGELING_OBSERVE_FD", number, 1);
    __model_changeling_observe("depth", -3);
    __model_changeling_observe("a=b\nc", 5);
    __model_changeling_observe_bytes("key", "\x01\xfe", 2);
    char text[200];
    size_t n = contents(file, text, sizeof text);
    const char *expected = "depth=-3\na_b_c=5\nkey=01fe\n";
    CHECK(n == strlen(expected) && memcmp(text, expected, n) == 0, "observed '%.*s'", (int)n, text);
    fclose(file);
    setenv("CHANGELING_OBSERVE_FD", "", 1);
    __model_changeling_observe("nobody", 1);
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]);
    real_file = memory_file();
    model_file = memory_file();
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        for (int i = 0; i < rounds; i++) formats();
        for (int i = 0; i < 20; i++) special_formats();
        for (int i = 0; i < 20; i++) other_functions();
        standard_streams();
        messages();
        observing();
    }
    printf("output: %zu checks\n", checks);
    return 0;
}
