// Characters to wide characters and back, in the C locale and in one of UTF-8.
#include "native.h"
#include <locale.h>
#include <wchar.h>

size_t __model_mbrtowc(wchar_t *, const char *, size_t, mbstate_t *);
size_t __model_mbrlen(const char *, size_t, mbstate_t *);
int __model_mbtowc(wchar_t *, const char *, size_t);
int __model_mblen(const char *, size_t);
size_t __model_wcrtomb(char *, wchar_t, mbstate_t *);
int __model_wctomb(char *, wchar_t);
size_t __model_mbsrtowcs(wchar_t *, const char **, size_t, mbstate_t *);
size_t __model_wcsrtombs(char *, const wchar_t **, size_t, mbstate_t *);
size_t __model_mbstowcs(wchar_t *, const char *, size_t);
size_t __model_wcstombs(char *, const wchar_t *, size_t);
wint_t __model_btowc(int);
int __model_wctob(wint_t);

enum { ROOM = 24 };

struct result {
    long long value;
    int error;
    unsigned char memory[ROOM * sizeof(wchar_t)];
};

#define RUN(into, call)                             \
    do {                                            \
        memset((into).memory, 0x55, sizeof(into).memory); \
        /* Both begin with the state that the library keeps for itself in its beginning. */ \
        mbtowc(NULL, NULL, 0);                      \
        mblen(NULL, 0);                             \
        errno = 0;                                  \
        (into).value = (long long)(call);           \
        (into).error = errno;                       \
    } while (0)

#define SAME(what, real, model)                                                                      \
    do {                                                                                             \
        struct result a, b;                                                                          \
        void *to = a.memory;                                                                         \
        RUN(a, real);                                                                                \
        to = b.memory;                                                                               \
        RUN(b, model);                                                                               \
        CHECK(a.value == b.value, what " is %lld, not %lld", b.value, a.value);                      \
        CHECK(a.error == b.error, what " sets errno %d, not %d", b.error, a.error);                  \
        CHECK(memcmp(a.memory, b.memory, sizeof a.memory) == 0, what " writes something else");      \
        (void)to;                                                                                    \
    } while (0)

static void single(void) {
    char text[5];
    for (int i = 0; i < 4; i++) text[i] = (char)(below_random(3) ? below_random(128) : next_random());
    text[4] = 0;
    size_t n = below_random(5);
    mbstate_t one = { 0 }, two = { 0 };
    SAME("mbrtowc", mbrtowc(to, text, n, &one), __model_mbrtowc(to, text, n, &two));
    CHECK(mbsinit(&one) == mbsinit(&two), "the state behind mbrtowc");
    SAME("mbrtowc", mbrtowc(NULL, text, n, &one), __model_mbrtowc(NULL, text, n, &two));
    SAME("mbrlen", mbrlen(text, n, &one), __model_mbrlen(text, n, &two));
    SAME("mbtowc", mbtowc(to, text, n), __model_mbtowc(to, text, n));
    SAME("mblen", mblen(text, n), __model_mblen(text, n));
    SAME("mbtowc", mbtowc(NULL, NULL, n), __model_mbtowc(NULL, NULL, n));
    wchar_t c = below_random(3) ? (wchar_t)below_random(300) : (wchar_t)next_random();
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    SAME("wcrtomb", wcrtomb(to, c, &one), __model_wcrtomb(to, c, &two));
    SAME("wcrtomb", wcrtomb(NULL, c, &one), __model_wcrtomb(NULL, c, &two));
    SAME("wctomb", wctomb(to, c), __model_wctomb(to, c));
    SAME("wctomb", wctomb(NULL, c), __model_wctomb(NULL, c));
    SAME("btowc", btowc((int)c), __model_btowc((int)c));
    SAME("wctob", wctob((wint_t)c), __model_wctob((wint_t)c));
}

static void texts(void) {
    char text[ROOM];
    wchar_t wide[ROOM];
    size_t length = below_random(10), n = below_random(ROOM);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(below_random(20) ? 1 + below_random(127) : next_random());
        wide[i] = (wchar_t)(below_random(20) ? 1 + below_random(127) : next_random() & 0xffff);
    }
    text[length] = 0;
    wide[length] = 0;
    SAME("mbstowcs", mbstowcs(to, text, n), __model_mbstowcs(to, text, n));
    SAME("mbstowcs", mbstowcs(NULL, text, n), __model_mbstowcs(NULL, text, n));
    SAME("wcstombs", wcstombs(to, wide, n), __model_wcstombs(to, wide, n));
    SAME("wcstombs", wcstombs(NULL, wide, n), __model_wcstombs(NULL, wide, n));
    mbstate_t one = { 0 }, two = { 0 };
    const char *narrow_one = text, *narrow_two = text;
    SAME("mbsrtowcs", mbsrtowcs(to, &narrow_one, n, &one), __model_mbsrtowcs(to, &narrow_two, n, &two));
    CHECK(narrow_one == narrow_two, "mbsrtowcs stops at another place");
    const wchar_t *wide_one = wide, *wide_two = wide;
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    SAME("wcsrtombs", wcsrtombs(to, &wide_one, n, &one), __model_wcsrtombs(to, &wide_two, n, &two));
    CHECK(wide_one == wide_two, "wcsrtombs stops at another place");
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]);
    for (int utf8 = 0; utf8 < 2; utf8++) {
        // The second half shows that another locale is noticed.
        if (utf8 && setlocale(LC_ALL, "C.UTF-8") == NULL) break;
        for (int i = 0; i < rounds; i++) {
            native_mode((enum mode)(i % 3));
            single();
            texts();
        }
    }
    printf("wchar: %zu checks\n", checks);
    return 0;
}
