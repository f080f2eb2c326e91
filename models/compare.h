// Comparisons of texts as one expression instead of a branch per byte: callers
// can see the sign of the result, never the place of the difference.
#ifndef COMPARE_H
#define COMPARE_H

#include "model.h"

// Longer texts are compared byte by byte: the expression would be deep.
#define MERGE_LIMIT 64

typedef int (*fold_fn)(int);

static inline int same(int c) { return c; }

// a[0..count] against b, with no end in between.
static inline int merge_bytes(const unsigned char *a, const unsigned char *b, size_t count) {
    int result = 0;
    for (size_t i = count; i-- > 0;) {
        int difference = (int)a[i] - (int)b[i];
        result = difference != 0 ? difference : result;
    }
    return result;
}

// Two texts of lengths `la`, `lb` in this run, at most `limit` bytes of them
// compared. All bytes up to the shorter one's NUL exist in memory.
static inline int merge_texts(const unsigned char *a, size_t la, const unsigned char *b, size_t lb,
                              size_t limit, int (*fold)(int)) {
    if (limit == 0) return 0;
    size_t last = la < lb ? la : lb;
    bool cut = limit - 1 < last;
    if (cut) last = limit - 1;
    bool a_fixed = !__chg_symbolic(a, last + 1);
    bool b_fixed = !__chg_symbolic(b, last + 1);
    // With one side concrete, and not NUL before `last`, bytes that are equal
    // cannot be the end of both.
    bool fixed = a_fixed || b_fixed;

    int result = fold(a[last]) - fold(b[last]);
    unsigned both_end = a[last] == 0;
    for (size_t i = last; i-- > 0;) {
        int difference = fold(a[i]) - fold(b[i]);
        if (!fixed) {
            both_end |= a[i] == 0;
            result = a[i] == 0 ? 0 : result;
        }
        result = difference != 0 ? difference : result;
    }

    // Does the comparison come to its end within these bytes on every input,
    // or only on those that go this way?
    bool ends = cut || (a_fixed && la == last) || (b_fixed && lb == last);
    if (ends) return result;
    if (fixed) {
        require(result != 0);
    } else {
        require((result != 0) | both_end);
    }
    return result;
}

#endif
