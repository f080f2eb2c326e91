#include "scan_float.h"
#include "scan_source.h"

struct digits {
    struct source *source;
    int width;
    char *text;
    size_t length;
    size_t capacity;
};

static void keep(struct digits *digits, int c) {
    if (digits->length + 1 >= digits->capacity) {
        digits->capacity = 2 * digits->capacity + 64;
        digits->text = realloc(digits->text, digits->capacity);
        if (digits->text == NULL) abort();
    }
    digits->text[digits->length++] = (char)c;
    digits->text[digits->length] = 0;
}

// The next character, if the width allows one and there is one.
static bool advance(struct digits *digits, int *c) {
    if (digits->width == 0) return false;
    *c = source_get(digits->source);
    if (source_is_end(digits->source, *c)) {
        source_unget(digits->source, *c);
        return false;
    }
    if (digits->width > 0) digits->width--;
    return true;
}

// The rest of a word whose first character is kept. What does not fit stays
// taken, as in the C library.
static bool scan_word(struct digits *digits, const char *rest) {
    int c;
    for (; *rest != 0; rest++) {
        if (!advance(digits, &c) || lower(c) != *rest) return false;
        keep(digits, c);
    }
    return true;
}

static bool scan_infinity(struct digits *digits) {
    if (!scan_word(digits, "nf")) return false;
    int c;
    if (!advance(digits, &c)) return true;
    if (lower(c) != 'i') {
        source_unget(digits->source, c);
        return true;
    }
    keep(digits, c);
    return scan_word(digits, "nity");
}

static bool scan_digits(struct digits *digits, int c, bool sign) {
    bool hexadecimal = false, digit = false, dot = false, exponent = false;
    if (c == '0') {
        keep(digits, c);
        digit = true;
        if (!advance(digits, &c)) return true;
        if (digits->width != 0 && lower(c) == 'x') {
            keep(digits, c);
            hexadecimal = true;
            digit = false;
            if (!advance(digits, &c)) return false;
        }
    }
    int exponent_letter = hexadecimal ? 'p' : 'e';
    while (true) {
        bool fits = is_digit(c);
        if (fits) digit = true;
        if (!fits && hexadecimal && !exponent && below((unsigned)c | 32u, 'a', 6)) fits = digit = true;
        if (!fits && exponent && digits->text[digits->length - 1] == exponent_letter) fits = (c == '-') | (c == '+');
        if (!fits && digit && !exponent && lower(c) == exponent_letter) {
            c = exponent_letter;
            fits = exponent = dot = true;
        }
        if (!fits && !dot && c == '.') fits = dot = true;
        if (!fits) {
            source_unget(digits->source, c);
            break;
        }
        keep(digits, c);
        if (!advance(digits, &c)) break;
    }
    size_t prefix = (size_t)sign + (hexadecimal ? 2 : 0);
    return digits->length > prefix;
}

static bool scan_all(struct digits *digits) {
    int c;
    if (!advance(digits, &c)) return false;
    bool sign = (c == '-') | (c == '+');
    if (sign) {
        keep(digits, c);
        if (!advance(digits, &c)) return false;
    }
    if (lower(c) == 'n') {
        keep(digits, c);
        return scan_word(digits, "an");
    }
    if (lower(c) == 'i') {
        keep(digits, c);
        return scan_infinity(digits);
    }
    return scan_digits(digits, c, sign);
}

char *__mdl_scan_float(struct source *source, int width) {
    struct digits digits = {.source = source, .width = width};
    if (scan_all(&digits)) return digits.text;
    free(digits.text);
    return NULL;
}
