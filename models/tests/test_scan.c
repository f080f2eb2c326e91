// The scanf family: results, stores and what is left to read.
#include "native.h"
#include <sys/mman.h>
#include <unistd.h>

int __model_sscanf(const char *, const char *, ...);
int __model___isoc99_sscanf(const char *, const char *, ...);
int __model_fscanf(FILE *, const char *, ...);
int __model_getc(FILE *);
int __model_feof(FILE *);
long __model_ftell(FILE *);
int __model_fclose(FILE *);
int __isoc99_sscanf(const char *, const char *, ...);

static const char alphabet[] = "  \n\t0011234567899--++xXabcdefgin.,eE)(nil%]^";

static size_t random_input(char *to, size_t most) {
    static const char *const fixed[] = {
        "12 34", "0x1f", "-0x", "0x", "077", "99999999999999999999", "-99999999999999999999", "18446744073709551615",
        "2147483648", "nan", "inf", "infinity", "infinite", "1e5", "1e", "1e+", "-.5e-3", "0x1.8p3", "0x", "0x.p1", "+",
        "(nil)", "(ni", "hello world", "a,b,c", "   ", "", "key=value", "12abc", "[x]", "%5", "1.5.6", "00012", "nax",
        "-infi", "1p5", "0x1e5", ".", "-.", "0x.", "3.e2e",
    };
    if (below_random(2)) {
        const char *text = fixed[below_random(sizeof fixed / sizeof *fixed)];
        strcpy(to, text);
        return strlen(text);
    }
    size_t n = below_random((uint32_t)most);
    for (size_t i = 0; i < n; i++) to[i] = alphabet[below_random(sizeof alphabet - 1)];
    to[n] = 0;
    return n;
}

enum kind { NOTHING, INTEGER, TEXT, ALLOCATED, FLOATING };

// One directive and what its argument points to.
static enum kind random_directive(char *format) {
    static const char *const integers[] = {"d", "i", "u", "x", "o", "X", "p", "n", "d", "d"};
    static const char *const sizes[] = {"", "", "hh", "h", "l", "ll", "j", "z", "t", "q", "L"};
    static const char *const sets[] = {"[a-z]", "[^ ]", "[0-9]", "[]x]", "[^]]", "[a-]", "[-a]", "[^-0]", "[z-a]", "[^,\n]",
                                       "[+-9]", "[", "[^", "[a"};
    static const char *const literals[] = {" ", "  ", ",", "a", "%%", "0", "x ", "="};
    char number[24] = "";
    bool suppress = below_random(8) == 0;
    uint32_t kind = below_random(12);
    if (kind < 3) {
        strcat(format, literals[below_random(sizeof literals / sizeof *literals)]);
        return NOTHING;
    }
    if (below_random(3) == 0) sprintf(number, "%u", below_random(6));
    strcat(format, "%");
    if (suppress) strcat(format, "*");
    strcat(format, number);
    if (kind < 7) {
        const char *conversion = integers[below_random(sizeof integers / sizeof *integers)];
        if (*conversion != 'p') strcat(format, sizes[below_random(sizeof sizes / sizeof *sizes)]);
        strcat(format, conversion);
        return suppress ? NOTHING : INTEGER;
    }
    if (kind < 8) {
        static const char *const floats[] = {"f", "lf", "Lf", "e", "lg", "la", "LE"};
        strcat(format, floats[below_random(sizeof floats / sizeof *floats)]);
        return suppress ? NOTHING : FLOATING;
    }
    bool allocate = !suppress && below_random(4) == 0;
    if (allocate) strcat(format, "m");
    if (kind < 9) strcat(format, "c");
    else if (kind < 10) strcat(format, "s");
    else strcat(format, sets[below_random(sizeof sets / sizeof *sets)]);
    return suppress ? NOTHING : allocate ? ALLOCATED : TEXT;
}

struct case_ {
    char format[256];
    enum kind kinds[4];
};

static void random_format(struct case_ *random) {
    random->format[0] = 0;
    for (int i = 0; i < 4; i++) random->kinds[i] = NOTHING;
    size_t used = 0;
    for (size_t i = below_random(5) + 1; i > 0 && used < 4; i--) {
        enum kind kind = random_directive(random->format);
        if (kind != NOTHING) random->kinds[used++] = kind;
        // A set that is not closed would swallow what follows.
        size_t length = strlen(random->format);
        const char *end = random->format + length;
        if (end[-1] == '[' || end[-1] == '^' || (length > 1 && end[-2] == '[' && end[-1] == 'a')) break;
    }
}

union slot {
    char bytes[300];
    char *text;
};

static void prepare(union slot *slots) {
    memset(slots, '#', 4 * sizeof *slots);
    for (int i = 0; i < 4; i++) slots[i].text = NULL;
}

static void same_slots(const struct case_ *random, union slot *real, union slot *model, const char *input) {
    for (int i = 0; i < 4; i++) {
        if (random->kinds[i] == ALLOCATED) {
            CHECK((real[i].text == NULL) == (model[i].text == NULL), "'%s' from '%s': allocation %d", random->format, input, i);
            if (real[i].text == NULL) continue;
            // Only %ms and %m[ end with a NUL; the fixed inputs hold at least one byte.
            CHECK(real[i].text[0] == model[i].text[0], "'%s' from '%s': text %d", random->format, input, i);
            free(real[i].text);
            free(model[i].text);
        } else {
            CHECK(memcmp(&real[i], &model[i], sizeof real[i]) == 0, "'%s' from '%s' stores another value %d: %.*s",
                  random->format, input, i, 20, model[i].bytes);
        }
    }
}

#define SLOTS(s) &s[0], &s[1], &s[2], &s[3]

static void texts(void) {
    char input[64];
    random_input(input, 24);
    char *exact = strdup(input);
    struct case_ random;
    random_format(&random);
    union slot real[4], model[4];
    prepare(real);
    prepare(model);
    bool c99 = below_random(2);
    errno = 0;
    int real_done = c99 ? __isoc99_sscanf(exact, random.format, SLOTS(real)) : sscanf(exact, random.format, SLOTS(real));
    int real_errno = errno;
    errno = 0;
    int model_done = c99 ? __model___isoc99_sscanf(exact, random.format, SLOTS(model))
                         : __model_sscanf(exact, random.format, SLOTS(model));
    CHECK(real_done == model_done, "sscanf('%s', '%s') is %d, not %d", input, random.format, model_done, real_done);
    CHECK(real_errno == errno, "sscanf('%s', '%s') sets errno %d, not %d", input, random.format, errno, real_errno);
    same_slots(&random, real, model, input);
    free(exact);
}

static FILE *holding(const char *bytes, size_t n) {
    int fd = memfd_create("input", 0);
    if (write(fd, bytes, n) != (ssize_t)n) mismatch("write");
    lseek(fd, 0, SEEK_SET);
    return fdopen(fd, "r");
}

// The same on FILEs, with what remains compared afterwards. Sometimes the
// model's FILE is a symbolic stream, sometimes not.
static void files(void) {
    char input[128];
    size_t n = random_input(input, 100);
    if (below_random(4) == 0 && n > 0) input[below_random((uint32_t)n)] = 0;
    FILE *real_file = holding(input, n), *model_file = holding(input, n);
    if (below_random(4) != 0) {
        native_stream(0, "", input, n);
        native_bind(fileno(model_file), 0);
    }
    for (int i = 0; i < 3; i++) {
        struct case_ random;
        random_format(&random);
        union slot real[4], model[4];
        prepare(real);
        prepare(model);
        int real_done = fscanf(real_file, random.format, SLOTS(real));
        int model_done = __model_fscanf(model_file, random.format, SLOTS(model));
        CHECK(real_done == model_done, "fscanf('%s', '%s') is %d, not %d", input, random.format, model_done, real_done);
        same_slots(&random, real, model, input);
        CHECK(feof(real_file) == __model_feof(model_file), "feof after '%s' from '%s' is %d", random.format, input,
              __model_feof(model_file));
        CHECK(ftell(real_file) == __model_ftell(model_file), "ftell after '%s' from '%s' is %ld, not %ld", random.format, input,
              __model_ftell(model_file), ftell(real_file));
    }
    int c;
    do {
        c = getc(real_file);
        int d = __model_getc(model_file);
        CHECK(c == d, "left to read is %d, not %d", d, c);
    } while (c != EOF);
    fclose(real_file);
    __model_fclose(model_file);
}

// GNU's %as, positions, quirks.
static void special(void) {
    int a = 0, b = 0;
    CHECK(__model_sscanf("5 6", "%2$d %1$d", &a, &b) == 2 && a == 6 && b == 5, "positions give %d, %d", a, b);
    char *text = NULL;
    CHECK(__model_sscanf("word", "%as", &text) == 1 && strcmp(text, "word") == 0, "%%as");
    free(text);
    float number = 0;
    CHECK(__model___isoc99_sscanf("1.5s", "%as", &number) == 1 && number == 1.5f, "%%a of C99");
    CHECK(__model_sscanf("12", "%d%n", &a, &b) == 1 && b == 2, "%%n is %d", b);
    wchar_t wide[8];
    CHECK(__model_sscanf("wide", "%ls", wide) == 1 && wide[3] == L'e' && wide[4] == 0, "%%ls");
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]);
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        special();
        for (int i = 0; i < 4 * rounds; i++) texts();
        for (int i = 0; i < rounds; i++) files();
    }
    printf("scan: %zu checks\n", checks);
    return 0;
}
