#include "format_number.h"
#include <limits.h>
#include <stdio.h>

// --- parsing

// -1 if the number does not fit.
static int parse_number(const char *text, size_t *at) {
    int64_t n = 0;
    while (is_digit((unsigned char)text[*at])) {
        n = n * 10 + (text[*at] - '0');
        if (n > INT_MAX - 1) return -1;
        (*at)++;
    }
    return (int)n;
}

// `digits$`, or nothing.
static int parse_position(const char *text, size_t *at) {
    size_t i = *at;
    if (!is_digit((unsigned char)text[i])) return 0;
    int n = parse_number(text, &i);
    if (n <= 0 || text[i] != '$') return 0;
    *at = i + 1;
    return n;
}

static bool parse_flag(char c, struct spec *spec) {
    switch (c) {
    case '-': spec->left = true; return true;
    case '+': spec->plus = true; return true;
    case ' ': spec->space = true; return true;
    case '#': spec->alternate = true; return true;
    case '0': spec->zero = true; return true;
    case '\'': spec->group = true; return true;
    case 'I': spec->other_digits = true; return true;
    default: return false;
    }
}

static void parse_size(const char *text, size_t *at, struct spec *spec) {
    switch (text[*at]) {
    case 'h':
        (*at)++;
        spec->size = SIZE_SHORT;
        if (text[*at] == 'h') {
            (*at)++;
            spec->size = SIZE_CHAR;
        }
        break;
    case 'l':
        (*at)++;
        spec->size = SIZE_LONG;
        if (text[*at] == 'l') {
            (*at)++;
            spec->size = SIZE_LONG_LONG;
        }
        break;
    case 'L':
    case 'q':
        (*at)++;
        spec->size = SIZE_LONG_LONG;
        break;
    case 'j':
    case 'z':
    case 't':
    case 'Z':
        (*at)++;
        spec->size = SIZE_LONG;
        break;
    default: break;
    }
}

bool __mdl_parse_spec(const char *text, size_t *at, struct spec *spec) {
    *spec = (struct spec){.precision = -1};
    spec->argument = parse_position(text, at);
    while (parse_flag(text[*at], spec)) (*at)++;
    if (text[*at] == '*') {
        (*at)++;
        spec->width_star = true;
        spec->width_argument = parse_position(text, at);
    } else {
        spec->width = parse_number(text, at);
        if (spec->width < 0) return false;
    }
    if (text[*at] == '.') {
        (*at)++;
        if (text[*at] == '*') {
            (*at)++;
            spec->precision_star = true;
            spec->precision_argument = parse_position(text, at);
        } else {
            spec->precision = parse_number(text, at);
            if (spec->precision < 0) return false;
        }
    }
    parse_size(text, at, spec);
    spec->conversion = text[*at];
    if (spec->conversion == 0) return false;
    (*at)++;
    return true;
}

int __mdl_size_bits(enum size size) {
    switch (size) {
    case SIZE_CHAR: return 8;
    case SIZE_SHORT: return 16;
    case SIZE_INT: return 32;
    default: return 64;
    }
}

// --- the real function's text

static void put_number(char **to, int n) {
    char digits[12];
    size_t count = 0;
    do digits[count++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (count > 0) *(*to)++ = digits[--count];
}

static void write_conversion(char *to, const struct spec *spec, const char *size, char conversion) {
    *to++ = '%';
    if (spec->left) *to++ = '-';
    if (spec->plus) *to++ = '+';
    if (spec->space) *to++ = ' ';
    if (spec->alternate) *to++ = '#';
    if (spec->zero) *to++ = '0';
    if (spec->group) *to++ = '\'';
    if (spec->other_digits) *to++ = 'I';
    if (spec->width > 0) put_number(&to, spec->width);
    if (spec->precision >= 0) {
        *to++ = '.';
        put_number(&to, spec->precision);
    }
    while (*size != 0) *to++ = *size++;
    *to++ = conversion;
    *to = 0;
}

#define RENDER(to, ...)                                                                     \
    do {                                                                                    \
        (to)->large = NULL;                                                                 \
        int n = snprintf((to)->small, sizeof (to)->small, (to)->conversion, __VA_ARGS__);   \
        (to)->length = n < 0 ? 0 : (size_t)n;                                               \
        if ((to)->length < sizeof (to)->small) {                                            \
            __chg_clear((to)->small, sizeof (to)->small);                                   \
            return (to)->small;                                                             \
        }                                                                                   \
        (to)->large = malloc((to)->length + 1);                                             \
        if ((to)->large == NULL) abort();                                                   \
        snprintf((to)->large, (to)->length + 1, (to)->conversion, __VA_ARGS__);             \
        __chg_clear((to)->large, (to)->length + 1);                                         \
        return (to)->large;                                                                 \
    } while (0)

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"

const char *__mdl_render_number(struct rendering *to, const struct spec *spec, uint64_t value, int bits) {
    const char *size = bits == 64 ? "ll" : bits == 16 ? "h" : bits == 8 ? "hh" : "";
    write_conversion(to->conversion, spec, size, spec->conversion == 'i' ? 'd' : spec->conversion);
    RENDER(to, (unsigned long long)value);
}

const char *__mdl_render_double(struct rendering *to, const struct spec *spec, double value) {
    write_conversion(to->conversion, spec, "", spec->conversion);
    RENDER(to, value);
}

const char *__mdl_render_long_double(struct rendering *to, const struct spec *spec, long double value) {
    write_conversion(to->conversion, spec, "L", spec->conversion);
    RENDER(to, value);
}

const char *__mdl_render_pointer(struct rendering *to, const struct spec *spec, const void *value) {
    write_conversion(to->conversion, spec, "", spec->conversion);
    RENDER(to, value);
}

#pragma clang diagnostic pop

void __mdl_render_free(struct rendering *rendering) {
    free(rendering->large);
    rendering->large = NULL;
}

// --- text of symbolic numbers

static unsigned base_of(const struct spec *spec) {
    switch (spec->conversion) {
    case 'x':
    case 'X': return 16;
    case 'o': return 8;
    default: return 10;
    }
}

static bool is_signed(const struct spec *spec) { return spec->conversion == 'd' || spec->conversion == 'i'; }

static int64_t sign_extended(uint64_t value, int bits) {
    switch (bits) {
    case 8: return (int8_t)value;
    case 16: return (int16_t)value;
    case 32: return (int32_t)value;
    default: return (int64_t)value;
    }
}

// The next power of the base, 0 if it does not fit `bits`.
static uint64_t next_power(uint64_t power, unsigned base, int bits) {
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return power > most / base ? 0 : power * base;
}

uint64_t __mdl_number_length(const struct spec *spec, uint64_t value, int bits) {
    unsigned base = base_of(spec);
    uint64_t size = value;
    uint64_t sign = 0;
    if (is_signed(spec)) {
        int64_t extended = sign_extended(value, bits);
        size = extended < 0 ? 0 - (uint64_t)extended : (uint64_t)extended;
        sign = spec->plus || spec->space ? 1 : (uint64_t)(extended < 0);
    }
    uint64_t digits = 1;
    for (uint64_t power = base; power != 0; power = next_power(power, base, bits)) digits += size >= power;
    if (spec->precision == 0) digits = size == 0 ? 0 : digits;
    uint64_t precision = spec->precision > 0 ? (uint64_t)spec->precision : 0;
    uint64_t length = digits < precision ? precision : digits;
    if (spec->alternate && base == 8) {
        // One more zero in front, if there is none.
        uint64_t has_zero = (digits < precision) | ((size == 0) & (digits != 0));
        length += 1 - has_zero;
    }
    if (spec->alternate && base == 16) length += size != 0 ? 2 : 0;
    length += sign;
    uint64_t width = (uint64_t)spec->width;
    return length < width ? width : length;
}

static char digit_character(unsigned digit, char conversion) {
    unsigned letter = (conversion == 'X' ? 'A' : 'a') - 10u + digit;
    return (char)(digit < 10 ? '0' + digit : letter);
}

const char *__mdl_build_number(struct rendering *to, const struct spec *spec, uint64_t value, int bits) {
    unsigned base = base_of(spec);
    char prefix[4];
    size_t prefix_length = 0;
    uint64_t size = value;
    if (is_signed(spec)) {
        int64_t extended = sign_extended(value, bits);
        bool negative = extended < 0;
        size = negative ? 0 - (uint64_t)extended : (uint64_t)extended;
        if (negative) {
            BRANCH;
            prefix[prefix_length++] = '-';
        } else if (spec->plus) prefix[prefix_length++] = '+';
        else if (spec->space) prefix[prefix_length++] = ' ';
    }

    // Digits from the last to the first.
    char digits[24];
    size_t count = 0;
    uint64_t power = 1;
    do {
        digits[count++] = digit_character((unsigned)(size / power % base), spec->conversion);
        power = next_power(power, base, bits);
    } while (power != 0 && size >= power);
    bool zero = false;
    if (count == 1 && (spec->precision == 0 || spec->alternate)) {
        if (size == 0) {
            BRANCH;
            zero = true;
            if (spec->precision == 0) count = 0;
        }
    }
    if (spec->alternate && base == 16 && !zero) {
        prefix[prefix_length++] = '0';
        prefix[prefix_length++] = spec->conversion;
    }

    size_t precision = spec->precision > 0 ? (size_t)spec->precision : 0;
    if (spec->alternate && base == 8 && precision <= count && !(zero && count == 1)) precision = count + 1;
    size_t zeros = precision > count ? precision - count : 0;
    size_t width = (size_t)spec->width;
    size_t used = prefix_length + zeros + count;
    if (spec->zero && !spec->left && spec->precision < 0 && used < width) zeros += width - used;
    used = prefix_length + zeros + count;
    size_t padding = used < width ? width - used : 0;

    to->length = used + padding;
    to->large = to->length < sizeof to->small ? NULL : malloc(to->length + 1);
    char *text = to->length < sizeof to->small ? to->small : to->large;
    if (text == NULL) abort();
    char *p = text;
    if (!spec->left) {
        memset(p, ' ', padding);
        p += padding;
    }
    memcpy(p, prefix, prefix_length);
    p += prefix_length;
    memset(p, '0', zeros);
    p += zeros;
    while (count > 0) *p++ = digits[--count];
    if (spec->left) memset(p, ' ', padding);
    return text;
}
