// What all models share. A model of `f` is called `__model_f`; inside a model
// plain `f` is the real function. Helpers used by several files begin with
// `__mdl_`, so that they cannot meet a name of the program under test.
#ifndef MODEL_H
#define MODEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
// Models call the plain functions, whatever flags they are compiled with.
#undef _FORTIFY_SOURCE

#include "chg.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)

// Ends the program with "buffer overflow detected", as fortified functions do.
void __chk_fail(void) __attribute__((noreturn));

static inline bool is_labelled(uint64_t v) { return __chg_label(v) != 0; }
static inline bool is_moving(const void *p) { return __chg_label((uint64_t)(uintptr_t)p) != 0; }

// The value without its label and without an account: only for book-keeping
// whose effect on labels is described by other expressions.
static inline uint64_t plain(uint64_t v) {
    uint64_t slot = v;
    __chg_clear(&slot, sizeof slot);
    return slot;
}

// Keeps the optimiser from making a branch a selection: a place in memory must
// be decided by the path, not by an expression.
#define BRANCH __asm__ volatile("")

// Makes a value concrete by branches on its bits: nothing is lost, other values
// are other paths. For values that are small and few, such as lengths.
static inline uint64_t pin(uint64_t v) {
    if (LIKELY(!is_labelled(v))) return v;
    int bits = 64;
    if (v < 64) bits = 6;
    else if (v < 4096) bits = 12;
    else if (v <= UINT32_MAX) bits = 32;
    uint64_t known = 0;
    // `plain` keeps the optimiser from making this a computation with `v`.
    while (bits-- > 0)
        if (v >> bits & 1) known = plain(known | UINT64_C(1) << bits);
    return known;
}

// Makes a value concrete that code outside is given, by branches: on the choices that it was made by, or on its bits.
static inline uint64_t decide(uint64_t v) {
    if (LIKELY(!is_labelled(v))) return v;
    return __chg_lost(v, CHG_LOSS_SIZE);
}

// The same for memory that code outside reads. Its labels stay: they say what was decided.
static inline void decide_memory(const void *p, size_t n) {
    if (LIKELY(!__chg_symbolic(p, n))) return;
    const char *at = (const char *)p;
    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        (void)decide(word);
    }
    for (; n > 0; n--, at++) (void)decide((unsigned char)*at);
}

// Labelled text goes to code that is not traced.
static inline void lose_text(const char *s) {
    if (s == NULL) return;
    size_t n = strlen(s) + 1;
    if (__chg_symbolic(s, n)) __chg_lost_memory(s, n, CHG_LOSS_EXTERNAL_MEMORY);
}

// Character classes of the C locale without branches: a condition on a
// symbolic character is one condition.
static inline unsigned below(unsigned c, unsigned first, unsigned count) { return c - first < count; }
static inline unsigned is_digit(int c) { return below((unsigned)c, '0', 10); }
static inline unsigned is_upper(int c) { return below((unsigned)c, 'A', 26); }
static inline unsigned is_lower(int c) { return below((unsigned)c, 'a', 26); }
static inline unsigned is_alpha(int c) { return below((unsigned)c | 32u, 'a', 26); }
static inline unsigned is_space(int c) { return below((unsigned)c, 9, 5) | ((unsigned)c == 32u); }
static inline int lower(int c) { return c + (int)(is_upper(c) << 5); }
static inline int upper(int c) { return c - (int)(is_lower(c) << 5); }

// Value of a digit in bases up to 36; 255 for anything else.
static inline unsigned digit_value(int c) {
    unsigned decimal = (unsigned)c - '0';
    unsigned letter = ((unsigned)c | 32u) - 'a';
    unsigned of_letter = letter < 26u ? letter + 10u : 255u;
    return decimal < 10u ? decimal : of_letter;
}

#endif
