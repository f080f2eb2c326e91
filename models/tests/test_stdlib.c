// Characters, numbers from text, sorting and searching.
#include "native.h"
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <wctype.h>

#define CLASSES(X) \
    X(isalpha) X(isdigit) X(isalnum) X(isupper) X(islower) X(isspace) X(isblank) X(iscntrl) X(isprint) X(isgraph) \
    X(ispunct) X(isxdigit) X(toupper) X(tolower)
#define DECLARE(name) int __model_##name(int);
CLASSES(DECLARE)
int __model_isascii(int), __model_toascii(int);
#define WIDE_CLASSES(X) \
    X(iswalpha) X(iswdigit) X(iswalnum) X(iswupper) X(iswlower) X(iswspace) X(iswblank) X(iswcntrl) X(iswprint) X(iswgraph) \
    X(iswpunct) X(iswxdigit) X(towupper) X(towlower)
#define DECLARE_WIDE(name) wint_t __model_##name(wint_t);
WIDE_CLASSES(DECLARE_WIDE)
const unsigned short **__model___ctype_b_loc(void);
const int **__model___ctype_tolower_loc(void);
const int **__model___ctype_toupper_loc(void);

static void characters(void) {
    for (int c = -128; c < 256; c++) {
#define COMPARE(name) CHECK((name)(c) == __model_##name(c), #name "(%d) is %d", c, __model_##name(c));
        CLASSES(COMPARE)
        COMPARE(isascii)
        COMPARE(toascii)
        CHECK((*__ctype_b_loc())[c] == (*__model___ctype_b_loc())[c], "class of %d", c);
        CHECK((*__ctype_tolower_loc())[c] == (*__model___ctype_tolower_loc())[c], "lower case of %d", c);
        CHECK((*__ctype_toupper_loc())[c] == (*__model___ctype_toupper_loc())[c], "upper case of %d", c);
    }
#define COMPARE_WIDE(name) CHECK((wint_t)(name)(c) == __model_##name(c), #name "(%u) is %u", c, __model_##name(c));
    for (wint_t c = 0; c < 1000; c++) {
        WIDE_CLASSES(COMPARE_WIDE)
    }
    for (int i = 0; i < 1000; i++) {
        wint_t c = i ? (wint_t)next_random() : WEOF;
        WIDE_CLASSES(COMPARE_WIDE)
    }
    for (int i = 0; i < 100; i++) {
        int c = (int)next_random();
        if (c >= -128 && c < 256) continue;
        CHECK((tolower)(c) == __model_tolower(c) && (toupper)(c) == __model_toupper(c), "case of %d", c);
    }
}

// --- numbers from text

long __model_strtol(const char *, char **, int);
long long __model_strtoll(const char *, char **, int);
intmax_t __model_strtoimax(const char *, char **, int);
unsigned long __model_strtoul(const char *, char **, int);
unsigned long long __model_strtoull(const char *, char **, int);
uintmax_t __model_strtoumax(const char *, char **, int);
int __model_atoi(const char *);
long __model_atol(const char *);
long long __model_atoll(const char *);
double __model_strtod(const char *, char **);
float __model_strtof(const char *, char **);
long double __model_strtold(const char *, char **);
double __model_atof(const char *);

static char *number_text(void) {
    static const char *const fixed[] = {
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "18446744073709551615", "18446744073709551616", "-18446744073709551615", "-18446744073709551616",
        "0x", "0xg", "0x0", "-0x", "+0X1f", "0b1", "08", "0", "-0", "", " ", "-", "+", "- 1", "--1", "+-1",
        "\t\n\v\f\r 42", "0x7fffffffffffffff", "0x8000000000000000", "-0x8000000000000000", "0xffffffffffffffff1",
        "0000000000000000000000000000000000012", "99999999999999999999999999", "zzzzzzzzzzzz", "1y2p0ij32e8e7",
        "1y2p0ij32e8e8", "3w5e11264sgsf", "3w5e11264sgsg", "0777777777777777777777", "1777777777777777777777",
        "2147483648", "-2147483649", "1e5", "1.5", "nan", "inf", "-infinity", "0x1.8p3", ".5", "5.", "1e", "1e+",
        ("\xa0" "1"), "1_000", "0x 1", "00x1",
    };
    if (below_random(3) == 0) return strdup(fixed[below_random(sizeof fixed / sizeof *fixed)]);
    static const char set[] = "00112233445566778899--+  \tabcdefxXzZ.g\n";
    size_t n = below_random(below_random(4) ? 6 : 30);
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++) text[i] = set[below_random(below_random(2) ? 20 : sizeof set - 1)];
    text[n] = 0;
    return text;
}

#define SAME_INTEGER(name)                                                                           \
    do {                                                                                             \
        char *real_end = NULL, *model_end = NULL;                                                    \
        errno = 0;                                                                                   \
        __typeof__(name(text, &real_end, base)) real = name(text, &real_end, base);                  \
        int real_errno = errno;                                                                      \
        errno = 0;                                                                                   \
        __typeof__(real) model = __model_##name(text, &model_end, base);                             \
        int model_errno = errno;                                                                     \
        CHECK(real == model, #name "('%s', %d) is %lld, not %lld", text, base, (long long)model, (long long)real); \
        CHECK(real_errno == model_errno, #name "('%s', %d) sets errno %d", text, base, model_errno); \
        /* The address sanitizer sets the end even if the base is invalid. */                        \
        if (__has_feature(address_sanitizer) && real_errno == EINVAL) real_end = model_end;          \
        CHECK(real_end == model_end, #name "('%s', %d) ends at %ld, not %ld", text, base,            \
              (long)(model_end - text), (long)(real_end - text));                                    \
        CHECK(__model_##name(text, NULL, base) == real, #name " without an end");                    \
    } while (0)

#define SAME_FLOAT(name)                                                                             \
    do {                                                                                             \
        char *real_end, *model_end;                                                                  \
        errno = 0;                                                                                   \
        long double real = name(text, &real_end);                                                    \
        int real_errno = errno;                                                                      \
        errno = 0;                                                                                   \
        long double model = __model_##name(text, &model_end);                                        \
        CHECK((real == model || (real != real && model != model)) && real_end == model_end && errno == real_errno, \
              #name "('%s')", text);                                                                 \
    } while (0)

static void numbers(void) {
    static const int bases[] = {0, 0, 10, 10, 16, 16, 8, 2, 36, 3, 35, 11, 1, 37, -1, INT_MAX};
    char *text = number_text();
    int base = bases[below_random(sizeof bases / sizeof *bases)];
    SAME_INTEGER(strtol);
    SAME_INTEGER(strtoll);
    SAME_INTEGER(strtoimax);
    SAME_INTEGER(strtoul);
    SAME_INTEGER(strtoull);
    SAME_INTEGER(strtoumax);
    CHECK(atoi(text) == __model_atoi(text), "atoi('%s') is %d", text, __model_atoi(text));
    CHECK(atol(text) == __model_atol(text), "atol('%s')", text);
    CHECK(atoll(text) == __model_atoll(text), "atoll('%s')", text);
    SAME_FLOAT(strtod);
    SAME_FLOAT(strtof);
    SAME_FLOAT(strtold);
    double real = atof(text), model = __model_atof(text);
    CHECK(real == model || (isnan(real) && isnan(model)), "atof('%s')", text);
    free(text);
}

// --- arithmetic

int __model_abs(int);
long __model_labs(long);
long long __model_llabs(long long);
div_t __model_div(int, int);
ldiv_t __model_ldiv(long, long);
lldiv_t __model_lldiv(long long, long long);
imaxdiv_t __model_imaxdiv(intmax_t, intmax_t);
int __model_ffs(int);
int __model_ffsl(long);
int __model_ffsll(long long);

static void arithmetic(void) {
    long a = (long)((uint64_t)next_random() << 32 | next_random()) >> below_random(64);
    long b = (long)((uint64_t)next_random() << 32 | next_random()) >> below_random(64);
    int i = (int)a, k = (int)b;
    CHECK(abs(i) == __model_abs(i) && labs(a) == __model_labs(a) && llabs(a) == __model_llabs(a), "abs(%ld)", a);
    CHECK(ffs(i) == __model_ffs(i) && ffsl(a) == __model_ffsl(a) && ffsll(a) == __model_ffsll(a), "ffs(%ld)", a);
    if (k != 0 && k != -1) {
        div_t real = div(i, k), model = __model_div(i, k);
        CHECK(real.quot == model.quot && real.rem == model.rem, "div(%d, %d)", i, k);
    }
    if (b != 0 && b != -1) {
        ldiv_t real = ldiv(a, b), model = __model_ldiv(a, b);
        CHECK(real.quot == model.quot && real.rem == model.rem, "ldiv(%ld, %ld)", a, b);
        lldiv_t long_real = lldiv(a, b), long_model = __model_lldiv(a, b);
        CHECK(long_real.quot == long_model.quot && long_real.rem == long_model.rem, "lldiv(%ld, %ld)", a, b);
        imaxdiv_t max_real = imaxdiv(a, b), max_model = __model_imaxdiv(a, b);
        CHECK(max_real.quot == max_model.quot && max_real.rem == max_model.rem, "imaxdiv(%ld, %ld)", a, b);
    }
}

// --- sorting

typedef int (*compare_fn)(const void *, const void *);
void __model_qsort(void *, size_t, size_t, compare_fn);
void __model_qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
void *__model_bsearch(const void *, const void *, size_t, size_t, compare_fn);

// Calls are recorded by the values they see: both sorts must make the same.
static unsigned char seen[2][60000];
static size_t seen_count;
static int side;
static bool senseless;

static int by_first_byte(const void *a, const void *b) {
    unsigned char x = *(const unsigned char *)a, y = *(const unsigned char *)b;
    if (seen_count + 2 < sizeof seen[0]) {
        seen[side][seen_count++] = x;
        seen[side][seen_count++] = y;
    }
    if (senseless) return (x * 7 + y * 13) % 3 - 1;
    return x - y;
}

static int with_context(const void *a, const void *b, void *context) {
    return *(int *)context * by_first_byte(a, b);
}

static void sorting(void) {
    static const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 32, 33, 40, 100};
    size_t size = sizes[below_random(sizeof sizes / sizeof *sizes)];
    size_t count = below_random(below_random(10) ? 20 : 300);
    char *first = malloc(size * count + 1), *second = malloc(size * count + 1);
    for (size_t i = 0; i < size * count; i++) first[i] = (char)below_random(below_random(2) ? 4 : 256);
    memcpy(second, first, size * count);
    senseless = below_random(4) == 0;
    int direction = below_random(2) ? 1 : -1;
    bool context = below_random(2) == 0;

    side = 0;
    seen_count = 0;
    if (context) qsort_r(first, count, size, with_context, &direction);
    else qsort(first, count, size, by_first_byte);
    size_t calls = seen_count;
    side = 1;
    seen_count = 0;
    if (context) __model_qsort_r(second, count, size, with_context, &direction);
    else __model_qsort(second, count, size, by_first_byte);
    // The address sanitizer puts calls of its own in front.
    if (!__has_feature(address_sanitizer))
        CHECK(calls == seen_count && memcmp(seen[0], seen[1], calls) == 0, "qsort of %zu compares others", count);
    if (!__has_feature(address_sanitizer) || !senseless)
        CHECK(memcmp(first, second, size * count) == 0, "qsort of %zu elements of %zu", count, size);

    senseless = false;
    unsigned char key = (unsigned char)below_random(256);
    CHECK(bsearch(&key, first, count, size, by_first_byte) == __model_bsearch(&key, first, count, size, by_first_byte),
          "bsearch for %d in %zu", key, count);
    free(first);
    free(second);
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]);
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        characters();
        for (int i = 0; i < rounds; i++) {
            numbers();
            arithmetic();
            if (i % 4 == 0) sorting();
        }
    }
    printf("stdlib: %zu checks\n", checks);
    return 0;
}
