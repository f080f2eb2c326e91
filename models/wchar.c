// Conversions of <stdlib.h> and <wchar.h> between characters and wide characters, where the locale's are those of ASCII. In
// another locale the real function does the work, and what goes in is counted as lost.
#include "model.h"
#include <stdio.h>
#include <wchar.h>

#define FAILED ((size_t)-1)
#define UNFINISHED ((size_t)-2)

static bool is_ascii(const mbstate_t *state) {
    if (MB_CUR_MAX != 1 || (state != NULL && !mbsinit(state))) return false;
    int before = errno;
    bool ascii = btowc(0x80) == WEOF;
    errno = before;
    return ascii;
}

static size_t illegal(void) {
    errno = EILSEQ;
    return FAILED;
}

static void lose_wide(const wchar_t *s, size_t n) {
    if (__chg_symbolic(s, n * sizeof *s)) __chg_lost_memory(s, n * sizeof *s, CHG_LOSS_EXTERNAL_MEMORY);
}

static void lose_bytes(const char *s, size_t n) {
    if (__chg_symbolic(s, n)) __chg_lost_memory(s, n, CHG_LOSS_EXTERNAL_MEMORY);
}

size_t __model_mbrtowc(wchar_t *to, const char *s, size_t n, mbstate_t *state) {
    if (s == NULL || !is_ascii(state)) {
        n = pin(n);
        if (s != NULL) lose_bytes(s, n < MB_CUR_MAX ? n : MB_CUR_MAX);
        size_t length = mbrtowc(to, s, n, state);
        if (s != NULL && to != NULL && length < UNFINISHED) __chg_clear(to, sizeof *to);
        return length;
    }
    if (n == 0) return UNFINISHED;
    unsigned char c = (unsigned char)*s;
    if (c >= 0x80) return illegal();
    if (to != NULL) *to = c;
    return c != 0;
}

size_t __model_mbrlen(const char *s, size_t n, mbstate_t *state) {
    static mbstate_t own;
    return __model_mbrtowc(NULL, s, n, state != NULL ? state : &own);
}

int __model_mbtowc(wchar_t *to, const char *s, size_t n) {
    if (s == NULL || !is_ascii(NULL)) {
        n = pin(n);
        if (s != NULL) lose_bytes(s, n == 0 ? 1 : n < MB_CUR_MAX ? n : MB_CUR_MAX);
        int length = mbtowc(to, s, n);
        if (s != NULL && to != NULL && length >= 0) __chg_clear(to, sizeof *to);
        return length;
    }
    // The end of the text is looked for before the length is looked at.
    if (*s != 0) return n == 0 ? -1 : (int)__model_mbrtowc(to, s, n, NULL);
    if (to != NULL) *to = 0;
    return 0;
}

int __model_mblen(const char *s, size_t n) {
    if (s != NULL && is_ascii(NULL)) return __model_mbtowc(NULL, s, n);
    n = pin(n);
    if (s != NULL) lose_bytes(s, n == 0 ? 1 : n < MB_CUR_MAX ? n : MB_CUR_MAX);
    return mblen(s, n);
}

size_t __model_wcrtomb(char *to, wchar_t c, mbstate_t *state) {
    if (to == NULL || !is_ascii(state)) {
        c = (wchar_t)__chg_lost((uint64_t)c, CHG_LOSS_EXTERNAL_CALL);
        size_t length = wcrtomb(to, c, state);
        if (to != NULL && length != FAILED) __chg_clear(to, length);
        return length;
    }
    if ((unsigned)c >= 0x80) return illegal();
    *to = (char)c;
    return 1;
}

int __model_wctomb(char *to, wchar_t c) {
    if (to != NULL && is_ascii(NULL)) return (int)__model_wcrtomb(to, c, NULL);
    c = (wchar_t)__chg_lost((uint64_t)c, CHG_LOSS_EXTERNAL_CALL);
    int length = wctomb(to, c);
    if (to != NULL && length > 0) __chg_clear(to, (size_t)length);
    return length;
}

// Converts up to `n` characters; `from` is left where it stopped, or NULL behind the end of the text.
static size_t narrow(char *to, const wchar_t **from, size_t n) {
    const wchar_t *s = *from;
    for (size_t length = 0;; length++, s++) {
        if (to != NULL) *from = s;
        if (to != NULL && length == n) return n;
        if ((unsigned)*s >= 0x80) return illegal();
        if (to != NULL) to[length] = (char)*s;
        if (*s != 0) continue;
        if (to != NULL) *from = NULL;
        return length;
    }
}

static size_t widen(wchar_t *to, const char **from, size_t n) {
    const char *s = *from;
    for (size_t length = 0;; length++, s++) {
        if (to != NULL) *from = s;
        if (to != NULL && length == n) return n;
        unsigned char c = (unsigned char)*s;
        if (c >= 0x80) return illegal();
        if (to != NULL) to[length] = c;
        if (c != 0) continue;
        if (to != NULL) *from = NULL;
        return length;
    }
}

size_t __model_wcsrtombs(char *to, const wchar_t **from, size_t n, mbstate_t *state) {
    n = pin(n);
    if (is_ascii(state)) return narrow(to, from, n);
    size_t all = wcslen(*from) + 1;
    lose_wide(*from, all);
    size_t length = wcsrtombs(to, from, n, state);
    all *= MB_CUR_MAX;
    if (to != NULL) __chg_clear(to, n < all ? n : all);
    __chg_clear(from, sizeof *from);
    return length;
}

size_t __model_mbsrtowcs(wchar_t *to, const char **from, size_t n, mbstate_t *state) {
    n = pin(n);
    if (is_ascii(state)) return widen(to, from, n);
    size_t all = strlen(*from) + 1;
    lose_bytes(*from, all);
    size_t length = mbsrtowcs(to, from, n, state);
    if (to != NULL) __chg_clear(to, sizeof *to * (n < all ? n : all));
    __chg_clear(from, sizeof *from);
    return length;
}

size_t __model_wcstombs(char *to, const wchar_t *from, size_t n) {
    mbstate_t state = { 0 };
    return __model_wcsrtombs(to, &from, n, &state);
}

size_t __model_mbstowcs(wchar_t *to, const char *from, size_t n) {
    mbstate_t state = { 0 };
    return __model_mbsrtowcs(to, &from, n, &state);
}

size_t __model___wcstombs_chk(char *to, const wchar_t *from, size_t n, size_t room) {
    if (room < n) __chk_fail();
    return __model_wcstombs(to, from, n);
}

size_t __model___mbstowcs_chk(wchar_t *to, const char *from, size_t n, size_t room) {
    if (room < n) __chk_fail();
    return __model_mbstowcs(to, from, n);
}

size_t __model___wcrtomb_chk(char *to, wchar_t c, mbstate_t *state, size_t room) {
    if (room < MB_CUR_MAX) __chk_fail();
    return __model_wcrtomb(to, c, state);
}

int __model___wctomb_chk(char *to, wchar_t c, size_t room) {
    if (room < MB_CUR_MAX) __chk_fail();
    return __model_wctomb(to, c);
}

wint_t __model_btowc(int c) {
    if (is_ascii(NULL)) return (unsigned)c < 0x80 ? (wint_t)c : WEOF;
    return btowc((int)__chg_lost((uint64_t)c, CHG_LOSS_EXTERNAL_CALL));
}

int __model_wctob(wint_t c) {
    if (is_ascii(NULL)) return c < 0x80 ? (int)c : EOF;
    return wctob((wint_t)__chg_lost(c, CHG_LOSS_EXTERNAL_CALL));
}
