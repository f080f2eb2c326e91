// <string.h>, <strings.h>: comparisons.
#include "compare.h"
#include <strings.h>

// Most comparisons are decided by a few concrete bytes. Labels behind the end
// of a text do not matter: asking about them costs nothing.
#define GLANCE 16

static inline bool decided_at_a_glance(const unsigned char *a, const unsigned char *b, size_t limit,
                                       int (*fold)(int), int *result) {
    if (__chg_symbolic(a, GLANCE) || __chg_symbolic(b, GLANCE)) return false;
    for (size_t i = 0; i < GLANCE; i++) {
        *result = i < limit ? fold(a[i]) - fold(b[i]) : 0;
        if (i == limit || *result != 0 || a[i] == 0) return true;
    }
    return false;
}

static int by_byte(const unsigned char *a, const unsigned char *b, size_t limit, int (*fold)(int)) {
    for (size_t i = 0; i < limit; i++) {
        int difference = fold(a[i]) - fold(b[i]);
        if (difference != 0) return difference;
        if (a[i] == 0) return 0;
    }
    return 0;
}

// `limit` is SIZE_MAX for the functions that have none.
static inline int compare_texts(const char *s, const char *t, size_t limit, int (*fold)(int),
                                int (*real)(const char *, const char *, size_t)) {
    const unsigned char *a = (const unsigned char *)s;
    const unsigned char *b = (const unsigned char *)t;
    if (is_moving(s) || is_moving(t) || is_labelled(limit)) return by_byte(a, b, limit, fold);
    int result;
    if (decided_at_a_glance(a, b, limit, fold, &result)) return result;
    if (limit == 0) return 0;
    size_t la = strnlen(s, limit);
    size_t lb = strnlen(t, limit);
    size_t shorter = la < lb ? la : lb;
    size_t looked_at = shorter < limit ? shorter + 1 : limit;
    if (!__chg_symbolic(a, looked_at) && !__chg_symbolic(b, looked_at)) return real(s, t, limit);
    size_t count = mergeable(a, b, limit);
    if (count == 0) count = mergeable(b, a, limit);
    if (count != 0) return merge_bytes(a, b, count, fold);
    return by_byte(a, b, limit, fold);
}

static int real_strcmp(const char *a, const char *b, size_t limit) {
    (void)limit;
    return strcmp(a, b);
}

static int real_strcasecmp(const char *a, const char *b, size_t limit) {
    (void)limit;
    return strcasecmp(a, b);
}

int __model_strcmp(const char *a, const char *b) {
    return compare_texts(a, b, SIZE_MAX, same, real_strcmp);
}

// In the C locale the collation order is that of the bytes.
int __model_strcoll(const char *a, const char *b) { return __model_strcmp(a, b); }

int __model_strncmp(const char *a, const char *b, size_t limit) {
    return compare_texts(a, b, limit, same, strncmp);
}

int __model_strcasecmp(const char *a, const char *b) {
    return compare_texts(a, b, SIZE_MAX, lower, real_strcasecmp);
}

int __model_strncasecmp(const char *a, const char *b, size_t limit) {
    return compare_texts(a, b, limit, lower, strncasecmp);
}

// Only the sign is promised, and the magnitude that the library gives depends
// on the processor and on the compiler, which often does without the call.
int __model_memcmp(const void *first, const void *second, size_t n) {
    const unsigned char *a = first;
    const unsigned char *b = second;
    bool moving = is_moving(a) || is_moving(b) || is_labelled(n);
    if (!moving && !__chg_symbolic(a, n) && !__chg_symbolic(b, n)) return memcmp(a, b, n);
    if (!moving && n <= MERGE_LIMIT) return merge_bytes(a, b, n, same);
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return (int)a[i] - (int)b[i];
    return 0;
}

int __model_bcmp(const void *a, const void *b, size_t n) { return __model_memcmp(a, b, n); }
