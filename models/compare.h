// Comparisons of texts as one expression instead of a branch per byte: callers
// can see the sign of the result, never the place of the difference. Which
// bytes take part must not depend on the input: every run that comes here has
// to record the same branches.
#ifndef COMPARE_H
#define COMPARE_H

#include "model.h"

// Longer texts are compared byte by byte: the expression would be deep.
#define MERGE_LIMIT 64

static inline int same(int c) { return c; }

// Difference of the first bytes that differ among `count`.
static inline int merge_bytes(const unsigned char *a, const unsigned char *b, size_t count, int (*fold)(int)) {
    int result = 0;
    for (size_t i = count; i-- > 0;) {
        int difference = fold(a[i]) - fold(b[i]);
        result = difference != 0 ? difference : result;
    }
    return result;
}

static inline bool all_labelled(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!__chg_symbolic(p + i, 1)) return false;
    return true;
}

// How many bytes of a text of symbolic bytes matter against a concrete word,
// its NUL included; 0 if the two cannot be compared as one expression. All the
// bytes have to be labelled: such memory exists, whatever ends the text earlier.
static inline size_t mergeable(const unsigned char *text, const unsigned char *word, size_t limit) {
    size_t n = strnlen((const char *)word, limit);
    if (n < limit) n++;
    if (n > MERGE_LIMIT || __chg_symbolic(word, n) || !all_labelled(text, n)) return 0;
    return n;
}

#endif
