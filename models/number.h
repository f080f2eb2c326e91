// Reading integers: the accumulator that strtol and scanf share.
#ifndef NUMBER_H
#define NUMBER_H

#include "model.h"

struct number {
    unsigned base;
    // Digits that cannot overflow 64 bits; before that many nothing needs to be
    // asked of a symbolic value.
    unsigned safe_digits;
    unsigned digits;
    uint64_t value;
    bool overflow;
};

static inline struct number number_in(unsigned base) {
    unsigned safe = 0;
    for (uint64_t reach = UINT64_MAX; reach >= base; reach /= base) safe++;
    return (struct number){.base = base, .safe_digits = safe};
}

static inline void number_add(struct number *number, unsigned digit) {
    // Leading zeros do not count, but asking a symbolic digit is not worth it:
    // numbers that long are rare.
    if (number->digits++ < number->safe_digits) {
        number->value = number->value * number->base + digit;
        return;
    }
    if (number->overflow) return;
    uint64_t cut = UINT64_MAX / number->base;
    uint64_t last = UINT64_MAX % number->base;
    if ((number->value > cut) | ((number->value == cut) & (digit > last))) {
        number->overflow = true;
        return;
    }
    number->value = number->value * number->base + digit;
}

// Are the digits so few that the value certainly fits a signed 64-bit number?
static inline bool number_is_small(const struct number *number) {
    return number->digits < number->safe_digits;
}

static inline int64_t number_signed(const struct number *number, bool negative) {
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    if (!number_is_small(number) && (number->overflow || number->value > limit)) {
        errno = ERANGE;
        return negative ? INT64_MIN : INT64_MAX;
    }
    return (int64_t)(negative ? 0 - number->value : number->value);
}

static inline uint64_t number_unsigned(const struct number *number, bool negative) {
    if (number->overflow) {
        errno = ERANGE;
        return UINT64_MAX;
    }
    return negative ? 0 - number->value : number->value;
}

#endif
