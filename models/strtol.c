// <stdlib.h>, <inttypes.h>: texts to integers.
#include "number.h"
#include <inttypes.h>

struct parsed {
    struct number number;
    bool negative;
};

// `binary`: the prefixes of C23 are recognised too. Returns false, with errno
// set, if the base is not valid.
static bool parse(const char *text, char **end, int base, bool binary, struct parsed *parsed) {
    base = (int)pin((uint64_t)(int64_t)base);
    *parsed = (struct parsed){.number = number_in(10)};
    if (base < 0 || base == 1 || base > 36) {
        errno = EINVAL;
        return false;
    }
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (is_space(s[i])) i++;
    if (s[i] == '-') {
        BRANCH;
        parsed->negative = true;
        i++;
    } else if (s[i] == '+') {
        BRANCH;
        i++;
    }

    size_t prefix = 0;
    if (base == 0 || base == 16 || (binary && base == 2)) {
        if (s[i] == '0') {
            BRANCH;
            if (base != 2 && (s[i + 1] | 32) == 'x') {
                BRANCH;
                base = 16;
                prefix = 2;
            } else if (binary && base != 16 && (s[i + 1] | 32) == 'b') {
                BRANCH;
                base = 2;
                prefix = 2;
            } else if (base == 0) {
                base = 8;
            }
        } else if (base == 0) {
            base = 10;
        }
    }

    parsed->number = number_in((unsigned)base);
    size_t first = i + prefix;
    size_t k = first;
    for (;; k++) {
        unsigned digit = base <= 10 ? (unsigned)s[k] - '0' : digit_value(s[k]);
        if (digit >= (unsigned)base) break;
        number_add(&parsed->number, digit);
    }
    if (end != NULL) {
        if (k > first) *end = (char *)text + k;
        // A prefix without digits behind it is the number 0 before a letter.
        else if (prefix > 0) *end = (char *)text + i + 1;
        else *end = (char *)text;
    }
    return true;
}

static int64_t signed_value(const char *text, char **end, int base, bool binary) {
    struct parsed parsed;
    if (!parse(text, end, base, binary, &parsed)) return 0;
    return number_signed(&parsed.number, parsed.negative);
}

static uint64_t unsigned_value(const char *text, char **end, int base, bool binary) {
    struct parsed parsed;
    if (!parse(text, end, base, binary, &parsed)) return 0;
    return number_unsigned(&parsed.number, parsed.negative);
}

#define SIGNED(type, name)                                                      \
    type __model_##name(const char *text, char **end, int base) {               \
        return signed_value(text, end, base, false);                            \
    }                                                                           \
    type __model___isoc23_##name(const char *text, char **end, int base) {      \
        return signed_value(text, end, base, true);                             \
    }
#define UNSIGNED(type, name)                                                    \
    type __model_##name(const char *text, char **end, int base) {               \
        return unsigned_value(text, end, base, false);                          \
    }                                                                           \
    type __model___isoc23_##name(const char *text, char **end, int base) {      \
        return unsigned_value(text, end, base, true);                           \
    }

SIGNED(long, strtol)
SIGNED(long long, strtoll)
SIGNED(intmax_t, strtoimax)
UNSIGNED(unsigned long, strtoul)
UNSIGNED(unsigned long long, strtoull)
UNSIGNED(uintmax_t, strtoumax)

long long __model_strtoq(const char *text, char **end, int base) {
    return signed_value(text, end, base, false);
}

unsigned long long __model_strtouq(const char *text, char **end, int base) {
    return unsigned_value(text, end, base, false);
}

// The last argument asks for grouping, which the C locale does not have.

long __model___strtol_internal(const char *text, char **end, int base, int group) {
    (void)group;
    return signed_value(text, end, base, false);
}

long long __model___strtoll_internal(const char *text, char **end, int base, int group) {
    (void)group;
    return signed_value(text, end, base, false);
}

unsigned long __model___strtoul_internal(const char *text, char **end, int base, int group) {
    (void)group;
    return unsigned_value(text, end, base, false);
}

unsigned long long __model___strtoull_internal(const char *text, char **end, int base, int group) {
    (void)group;
    return unsigned_value(text, end, base, false);
}

int __model_atoi(const char *text) { return (int)signed_value(text, NULL, 10, false); }
long __model_atol(const char *text) { return signed_value(text, NULL, 10, false); }
long long __model_atoll(const char *text) { return signed_value(text, NULL, 10, false); }
