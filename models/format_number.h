// One conversion of the printf family and the text of numbers.
#ifndef FORMAT_NUMBER_H
#define FORMAT_NUMBER_H

#include "model.h"

enum size { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_LONG_LONG };

struct spec {
    bool left, plus, space, alternate, zero, group, other_digits;
    bool width_star, precision_star;
    // Numbers of arguments, `n$`; 0 means the next one.
    int argument, width_argument, precision_argument;
    int width;
    // -1: none given.
    int precision;
    enum size size;
    char conversion;
};

// `*at` is behind the `%` and moves behind the conversion. False if it is cut
// short or its numbers are too large.
bool __mdl_parse_spec(const char *text, size_t *at, struct spec *spec);
int __mdl_size_bits(enum size size);

// The text of one conversion; small ones without an allocation.
struct rendering {
    // The conversion in a normal form: flags in the order `-+ #0'I`, numbers
    // in digits, sizes `hh`, `h`, none and `ll` by the width in bits, `d` for
    // `i`. Conversions of the same meaning are mostly equal as texts.
    char conversion[48];
    char small[128];
    char *large;
    size_t length;
};

const char *__mdl_render_number(struct rendering *to, const struct spec *spec, uint64_t value, int bits);
const char *__mdl_render_double(struct rendering *to, const struct spec *spec, double value);
const char *__mdl_render_long_double(struct rendering *to, const struct spec *spec, long double value);
// Also for %m, which takes no argument.
const char *__mdl_render_pointer(struct rendering *to, const struct spec *spec, const void *value);
void __mdl_render_free(struct rendering *rendering);

// The same text with digits that are expressions of the value; how many there
// are is decided by branches.
const char *__mdl_build_number(struct rendering *to, const struct spec *spec, uint64_t value, int bits);
// How long the text is, as an expression without branches.
uint64_t __mdl_number_length(const struct spec *spec, uint64_t value, int bits);

#endif
