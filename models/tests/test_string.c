// String models against the real functions. Texts end at the end of their
// allocation, so that the address sanitizer sees a read too far.
#include "native.h"
#include <strings.h>

#define SAME_POINTER(name, ...)                                                                      \
    do {                                                                                             \
        const void *real = name(__VA_ARGS__);                                                        \
        const void *model = __model_##name(__VA_ARGS__);                                             \
        CHECK(real == model, #name " on '%s', '%s', %d, %zu: %p, not %p", a, b, c, n, model, real);  \
    } while (0)
#define SAME_NUMBER(name, ...)                                                                       \
    do {                                                                                             \
        long real = (long)name(__VA_ARGS__);                                                         \
        long model = (long)__model_##name(__VA_ARGS__);                                              \
        CHECK(real == model, #name " on '%s', '%s', %d, %zu: %ld, not %ld", a, b, c, n, model, real); \
    } while (0)
// The address sanitizer's functions keep only the sign.
#define SAME_ORDER(name, ...)                                                                        \
    do {                                                                                             \
        long real = order(name(__VA_ARGS__)), model = order(__model_##name(__VA_ARGS__));            \
        CHECK(real == model, #name " on '%s', '%s', %zu: %ld, not %ld", a, b, n, model, real);       \
    } while (0)

#define SAME_SIGN(name, ...)                                                                         \
    do {                                                                                             \
        long real = sign(name(__VA_ARGS__)), model = sign(__model_##name(__VA_ARGS__));              \
        CHECK(real == model, #name " on '%s', '%s', %zu: %ld, not %ld", a, b, n, model, real);       \
    } while (0)

static int sign(int difference) { return (difference > 0) - (difference < 0); }

static int order(int difference) {
    return __has_feature(address_sanitizer) ? sign(difference) : difference;
}

size_t __model_strlen(const char *);
size_t __model_strnlen(const char *, size_t);
char *__model_strchr(const char *, int);
char *__model_strrchr(const char *, int);
char *__model_strchrnul(const char *, int);
char *__model_index(const char *, int);
char *__model_rindex(const char *, int);
void *__model_memchr(const void *, int, size_t);
void *__model_memrchr(const void *, int, size_t);
void *__model_rawmemchr(const void *, int);
size_t __model_strspn(const char *, const char *);
size_t __model_strcspn(const char *, const char *);
char *__model_strpbrk(const char *, const char *);
char *__model_strtok_r(char *, const char *, char **);
char *__model_strtok(char *, const char *);
char *__model_strsep(char **, const char *);
char *__model_strstr(const char *, const char *);
char *__model_strcasestr(const char *, const char *);
void *__model_memmem(const void *, size_t, const void *, size_t);
int __model_strcmp(const char *, const char *);
int __model_strcoll(const char *, const char *);
int __model_strncmp(const char *, const char *, size_t);
int __model_strcasecmp(const char *, const char *);
int __model_strncasecmp(const char *, const char *, size_t);
int __model_memcmp(const void *, const void *, size_t);
int __model_bcmp(const void *, const void *, size_t);
char *__model_strcpy(char *, const char *);
char *__model_stpcpy(char *, const char *);
char *__model_strncpy(char *, const char *, size_t);
char *__model_stpncpy(char *, const char *, size_t);
char *__model_strcat(char *, const char *);
char *__model_strncat(char *, const char *, size_t);
char *__model_strdup(const char *);
char *__model_strndup(const char *, size_t);
size_t __model_strxfrm(char *, const char *, size_t);
void *__model_mempcpy(void *, const void *, size_t);
void *__model_memccpy(void *, const void *, int, size_t);
void __model_bzero(void *, size_t);
void __model_bcopy(const void *, void *, size_t);
char *__model___strcpy_chk(char *, const char *, size_t);
char *__model___stpcpy_chk(char *, const char *, size_t);
char *__model___strcat_chk(char *, const char *, size_t);
char *__model___strncat_chk(char *, const char *, size_t, size_t);
char *__model___strncpy_chk(char *, const char *, size_t, size_t);

char *__strcpy_chk(char *, const char *, size_t);
char *__stpcpy_chk(char *, const char *, size_t);
char *__strcat_chk(char *, const char *, size_t);
char *__strncat_chk(char *, const char *, size_t, size_t);
char *__strncpy_chk(char *, const char *, size_t, size_t);

// Few different characters, so that texts often share parts.
static char random_character(void) {
    static const char set[] = "aaaabbbAB.,:\xff\x80zZ@[`{";
    return set[below_random(sizeof set - 1)];
}

static char *random_text(size_t most) {
    size_t n = below_random((uint32_t)most + 1);
    if (below_random(40) == 0) n = 60 + below_random(100);
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++) text[i] = random_character();
    text[n] = 0;
    return text;
}

static void inspect(void) {
    char *a = random_text(12);
    char *b = below_random(4) == 0 ? strdup(a) : random_text(below_random(3) ? 4 : 12);
    if (below_random(4) == 0 && *b != 0) b[below_random((uint32_t)strlen(b))] ^= 32;
    int c = below_random(8) == 0 ? 0 : random_character();
    if (below_random(8) == 0) c += 256;
    size_t n = below_random(10) == 0 ? SIZE_MAX : below_random(16);
    size_t la = strlen(a), lb = strlen(b);

    SAME_NUMBER(strlen, a);
    SAME_NUMBER(strnlen, a, n);
    SAME_POINTER(strchr, a, c);
    SAME_POINTER(index, a, c);
    SAME_POINTER(strchrnul, a, c);
    SAME_POINTER(strrchr, a, c);
    SAME_POINTER(rindex, a, c);
    size_t part = below_random((uint32_t)la + 2);
    SAME_POINTER(memchr, a, c, part);
    SAME_POINTER(memrchr, a, c, part);
    SAME_POINTER(rawmemchr, a, 0);
    SAME_NUMBER(strspn, a, b);
    SAME_NUMBER(strcspn, a, b);
    SAME_POINTER(strpbrk, a, b);
    SAME_POINTER(strstr, a, b);
    SAME_POINTER(strcasestr, a, b);
    size_t word = below_random((uint32_t)lb + 1);
    SAME_POINTER(memmem, a, part, b, word);
    SAME_ORDER(strcmp, a, b);
    SAME_ORDER(strcoll, a, b);
    SAME_ORDER(strncmp, a, b, n);
    SAME_ORDER(strcasecmp, a, b);
    SAME_ORDER(strncasecmp, a, b, n);
    size_t common = (la < lb ? la : lb) + 1;
    size_t compared = below_random((uint32_t)common + 1);
    SAME_SIGN(memcmp, a, b, compared);
    SAME_SIGN(bcmp, a, b, compared);
    free(a);
    free(b);
}

// Both functions write into a filled buffer; buffers and offsets must agree.
#define WRITES(name, keep, ...)                                                                    \
    do {                                                                                           \
        char first[512], second[512];                                                              \
        memset(first, '#', sizeof first);                                                          \
        strcpy(first, keep);                                                                       \
        memcpy(second, first, sizeof first);                                                       \
        char *to = first;                                                                          \
        char *real = (char *)name(__VA_ARGS__);                                                    \
        to = second;                                                                               \
        char *model = (char *)__model_##name(__VA_ARGS__);                                         \
        long real_offset = real ? real - first : -1, model_offset = model ? model - second : -1;   \
        CHECK(real_offset == model_offset, #name " of '%s', %zu returns %ld", b, n, model_offset); \
        CHECK(memcmp(first, second, sizeof first) == 0, #name " of '%s', %zu: '%s'", b, n, second); \
    } while (0)

static void write_texts(void) {
    char *a = random_text(8);
    char *b = random_text(10);
    int c = random_character();
    size_t n = below_random(20);
    size_t lb = strlen(b);
    size_t part = below_random((uint32_t)lb + 2);
    WRITES(strcpy, "", to, b);
    WRITES(stpcpy, "", to, b);
    WRITES(strncpy, "", to, b, n);
    WRITES(stpncpy, "", to, b, n);
    WRITES(strcat, a, to, b);
    WRITES(strncat, a, to, b, n);
    WRITES(mempcpy, "", to, b, part);
    WRITES(memccpy, "", to, b, c, part);
    WRITES(__strcpy_chk, "", to, b, 512);
    WRITES(__stpcpy_chk, "", to, b, 512);
    WRITES(__strcat_chk, a, to, b, 512);
    WRITES(__strncat_chk, a, to, b, n, 512);
    WRITES(__strncpy_chk, "", to, b, n, 512);

    char first[300], second[300];
    memset(first, '#', sizeof first);
    memset(second, '#', sizeof second);
    size_t room = below_random(200);
    CHECK(strxfrm(first, b, room) == __model_strxfrm(second, b, room), "strxfrm of '%s'", b);
    if (lb < room) CHECK(strcmp(first, second) == 0, "strxfrm of '%s', %zu gives '%s'", b, room, second);
    bzero(first, n);
    __model_bzero(second, n);
    bcopy(b, first, part);
    __model_bcopy(b, second, part);
    CHECK(memcmp(first, second, n > part ? n : part) == 0, "bzero, bcopy of %zu, %zu", n, part);

    char *copy = __model_strdup(b);
    CHECK(strcmp(copy, b) == 0, "strdup of '%s'", b);
    free(copy);
    copy = __model_strndup(b, n);
    char *real = strndup(b, n);
    CHECK(strcmp(copy, real) == 0, "strndup of '%s', %zu", b, n);
    free(real);
    free(copy);
    free(a);
    free(b);
}

static void tokens(void) {
    char *a = random_text(20);
    char *b = strdup(a);
    const char *set = below_random(2) ? ".,:" : "b";
    char *real = strtok(a, set), *model = __model_strtok(b, set);
    for (int i = 0; i < 300; i++) {
        CHECK((real == NULL) == (model == NULL), "strtok ends elsewhere");
        if (real == NULL) break;
        CHECK(real - a == model - b && strcmp(real, model) == 0, "strtok gives '%s', not '%s'", model, real);
        set = below_random(3) ? set : "a";
        real = strtok(NULL, set);
        model = __model_strtok(NULL, set);
    }
    free(a);
    free(b);

    a = random_text(20);
    b = strdup(a);
    char *rest_a = a, *rest_b = b, *saved_a, *saved_b;
    for (int i = 0; i < 300 && rest_a != NULL; i++) {
        real = strsep(&rest_a, ".,b");
        model = __model_strsep(&rest_b, ".,b");
        CHECK(strcmp(real, model) == 0 && (rest_a == NULL) == (rest_b == NULL), "strsep gives '%s'", model);
    }
    CHECK(__model_strsep(&rest_b, "x") == NULL, "strsep goes on");
    real = strtok_r(a, ".", &saved_a);
    model = __model_strtok_r(b, ".", &saved_b);
    CHECK((real == NULL) == (model == NULL), "strtok_r");
    CHECK(saved_a - a == saved_b - b, "strtok_r keeps another place");
    free(a);
    free(b);
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]);
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        for (int i = 0; i < rounds; i++) {
            inspect();
            write_texts();
            tokens();
        }
    }
    printf("string: %zu checks\n", checks);
    return 0;
}
