// <string.h>, <strings.h>: functions that look at text and memory without
// writing. Those that write are in string_copy.c, comparisons in compare.c.
#include "model.h"

// --- lengths

size_t __model_strlen(const char *s) {
    size_t n = strlen(s);
    if (!is_moving(s) && !__chg_symbolic(s, n + 1)) return n;
    size_t i = 0;
    while (s[i] != 0) i++;
    return i;
}

size_t __model_strnlen(const char *s, size_t limit) {
    size_t n = strnlen(s, limit);
    if (!is_moving(s) && !is_labelled(limit) && !__chg_symbolic(s, n < limit ? n + 1 : n)) return n;
    size_t i = 0;
    while (i < limit && s[i] != 0) i++;
    return i;
}

// --- one character

// Is everything that a search up to `end` looks at concrete?
static bool search_is_plain(const void *s, size_t looked_at, int c) {
    return !is_moving(s) && !is_labelled((uint64_t)(int64_t)c) && !__chg_symbolic(s, looked_at);
}

char *__model_strchr(const char *s, int c) {
    char *found = strchr(s, c);
    size_t looked_at = found ? (size_t)(found - s) + 1 : strlen(s) + 1;
    if (search_is_plain(s, looked_at, c)) return found;
    char wanted = (char)c;
    size_t i = 0;
    while (!((s[i] == wanted) | (s[i] == 0))) i++;
    if (s[i] != wanted) return NULL;
    BRANCH;
    return (char *)s + i;
}

char *__model_index(const char *s, int c) { return __model_strchr(s, c); }

char *__model_strchrnul(const char *s, int c) {
    char *found = strchrnul(s, c);
    if (search_is_plain(s, (size_t)(found - s) + 1, c)) return found;
    char wanted = (char)c;
    size_t i = 0;
    while (!((s[i] == wanted) | (s[i] == 0))) i++;
    return (char *)s + i;
}

char *__model_strrchr(const char *s, int c) {
    size_t n = strlen(s);
    if (search_is_plain(s, n + 1, c)) return strrchr(s, c);
    n = __model_strlen(s);
    char wanted = (char)c;
    for (size_t i = n + 1; i-- > 0;)
        if (s[i] == wanted) return (char *)s + i;
    return NULL;
}

char *__model_rindex(const char *s, int c) { return __model_strrchr(s, c); }

void *__model_memchr(const void *memory, int c, size_t n) {
    const unsigned char *s = memory;
    if (!is_labelled(n)) {
        const unsigned char *found = memchr(s, c, n);
        if (search_is_plain(s, found ? (size_t)(found - s) + 1 : n, c)) return (void *)found;
    }
    unsigned char wanted = (unsigned char)c;
    for (size_t i = 0; i < n; i++)
        if (s[i] == wanted) return (void *)(s + i);
    return NULL;
}

void *__model_memrchr(const void *memory, int c, size_t n) {
    const unsigned char *s = memory;
    if (!is_labelled(n)) {
        const unsigned char *found = memrchr(s, c, n);
        size_t start = found ? (size_t)(found - s) : 0;
        if (!is_moving(s) && search_is_plain(s + start, n - start, c)) return (void *)found;
    }
    unsigned char wanted = (unsigned char)c;
    for (size_t i = n; i > 0; i--)
        if (s[i - 1] == wanted) return (void *)(s + i - 1);
    return NULL;
}

void *__model_rawmemchr(const void *memory, int c) {
    const unsigned char *s = memory;
    const unsigned char *found = rawmemchr(s, c);
    if (search_is_plain(s, (size_t)(found - s) + 1, c)) return (void *)found;
    unsigned char wanted = (unsigned char)c;
    size_t i = 0;
    while (s[i] != wanted) i++;
    return (void *)(s + i);
}

// --- sets of characters

// One condition, however many members the set has.
static unsigned is_member(const char *set, char c) {
    unsigned hit = 0;
    for (size_t i = 0; set[i] != 0; i++) hit |= set[i] == c;
    return hit;
}

static bool span_is_plain(const char *s, size_t span, const char *set) {
    return !is_moving(s) && !is_moving(set) && !__chg_symbolic(s, span + 1) &&
           !__chg_symbolic(set, strlen(set) + 1);
}

size_t __model_strspn(const char *s, const char *set) {
    size_t span = strspn(s, set);
    if (span_is_plain(s, span, set)) return span;
    size_t i = 0;
    while (is_member(set, s[i])) i++;
    return i;
}

size_t __model_strcspn(const char *s, const char *set) {
    size_t span = strcspn(s, set);
    if (span_is_plain(s, span, set)) return span;
    size_t i = 0;
    while (!(is_member(set, s[i]) | (s[i] == 0))) i++;
    return i;
}

char *__model_strpbrk(const char *s, const char *set) {
    s += __model_strcspn(s, set);
    if (*s == 0) return NULL;
    BRANCH;
    return (char *)s;
}

// --- tokens

char *__model_strtok_r(char *s, const char *delimiters, char **saved) {
    if (s == NULL) s = *saved;
    if (*s == 0) {
        *saved = s;
        return NULL;
    }
    s += __model_strspn(s, delimiters);
    if (*s == 0) {
        *saved = s;
        return NULL;
    }
    char *end = s + __model_strcspn(s, delimiters);
    if (*end == 0) {
        *saved = end;
        return s;
    }
    *end = 0;
    *saved = end + 1;
    return s;
}

char *__model___strtok_r(char *s, const char *delimiters, char **saved) {
    return __model_strtok_r(s, delimiters, saved);
}

char *__model_strtok(char *s, const char *delimiters) {
    static char *saved;
    return __model_strtok_r(s, delimiters, &saved);
}

char *__model_strsep(char **text, const char *delimiters) {
    char *start = *text;
    if (start == NULL) return NULL;
    char *end = start + __model_strcspn(start, delimiters);
    if (*end != 0) {
        *end = 0;
        *text = end + 1;
    } else {
        *text = NULL;
    }
    return start;
}

// --- texts in texts

static bool texts_are_plain(const char *a, const char *b) {
    return !is_moving(a) && !is_moving(b) && !__chg_symbolic(a, strlen(a) + 1) &&
           !__chg_symbolic(b, strlen(b) + 1);
}

// Does `s` begin with the first `n` bytes of `word`?
static bool begins_with(const char *s, const char *word, size_t n, int (*fold)(int)) {
    for (size_t i = 0; i < n; i++)
        if (fold((unsigned char)s[i]) != fold((unsigned char)word[i])) return false;
    return true;
}

static int keep(int c) { return c; }

static char *find_text(const char *s, const char *word, int (*fold)(int)) {
    size_t n = __model_strlen(word);
    if (n == 0) return (char *)s;
    for (size_t i = 0;; i++) {
        if (begins_with(s + i, word, n, fold)) return (char *)s + i;
        if (s[i] == 0) return NULL;
    }
}

char *__model_strstr(const char *s, const char *word) {
    if (texts_are_plain(s, word)) return strstr(s, word);
    return find_text(s, word, keep);
}

char *__model_strcasestr(const char *s, const char *word) {
    if (texts_are_plain(s, word)) return strcasestr(s, word);
    return find_text(s, word, lower);
}

void *__model_memmem(const void *memory, size_t n, const void *word, size_t length) {
    if (!is_moving(memory) && !is_moving(word) && !is_labelled(n) && !is_labelled(length) &&
        !__chg_symbolic(memory, n) && !__chg_symbolic(word, length))
        return memmem(memory, n, word, length);
    const unsigned char *s = memory;
    const unsigned char *w = word;
    if (length > n) return NULL;
    for (size_t i = 0; i <= n - length; i++) {
        unsigned differs = 0;
        for (size_t k = 0; k < length; k++) differs |= s[i + k] ^ w[k];
        if (differs == 0) return (void *)(s + i);
    }
    return NULL;
}
