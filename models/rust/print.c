// Rust: numbers that are printed. `__rust_f` is the function of Rust's library
// that `__model_rust_f` stands in for. A symbolic number is written as one text
// (chg.h) if it goes to standard output or error, or into a string; otherwise
// the library makes its digits, which are traced like all other code.
#include "../format_number.h"

// As in core::fmt of Rust 1.95; whether it is so is checked before any of this
// is linked to a program.
struct table {
    void (*drop)(void *);
    size_t size, alignment;
    bool (*write_str)(void *sink, const char *text, size_t n);
};

struct formatter {
    void *sink;
    const struct table *table;
    uint32_t flags;
    uint16_t width, precision;
};

struct string {
    size_t capacity;
    char *bytes;
    size_t length;
};

enum {
    FILL = (1 << 21) - 1,
    PLUS = 1 << 21,
    ALTERNATE = 1 << 23,
    ZERO = 1 << 24,
    HAS_WIDTH = 1 << 27,
    HAS_PRECISION = 1 << 28,
    ALIGNMENT_SHIFT = 29,
};
enum { LEFT, RIGHT, CENTRE, UNKNOWN };

// Functions that write to standard output and error, by whatever buffers, and
// end with NULL. Set by the pass.
extern const void *const __chg_rust_streams[];

bool __rust_string_write_str(struct string *string, const char *p, size_t n);
bool __rust_string_write_char(struct string *string, uint32_t c);
bool __rust_show_str(const char *p, size_t n, const struct formatter *formatter);

// --- where text goes

static bool is_stream(const struct formatter *formatter) {
    const void *write = (const void *)formatter->table->write_str;
    for (size_t i = 0; __chg_rust_streams[i] != NULL; i++)
        if (__chg_rust_streams[i] == write) return true;
    return false;
}

// How long a string is depends on the numbers in it, but where it is cut into
// blocks of memory does not show: so that is decided as in this run. What is
// behind a number is marked as moved.
bool __model_rust_string_write_str(struct string *string, const char *p, size_t n) {
    size_t length = string->length;
    bool grows = is_labelled(n);
    if (LIKELY(!is_labelled(length) && !grows)) return __rust_string_write_str(string, p, n);
    if (grows && !__chg_text_covers(p, n, n)) return __rust_string_write_str(string, p, n);
    size_t before = plain(length), count = plain(n);
    string->length = before;
    bool failed = __rust_string_write_str(string, p, count);
    if (is_labelled(length)) __chg_text_moved(string->bytes + before, count, length);
    string->length = length + n;
    return failed;
}

bool __model_rust_string_write_char(struct string *string, uint32_t c) {
    if (LIKELY(!is_labelled(string->length))) return __rust_string_write_char(string, c);
    if (c < 128) {
        char byte = (char)c;
        return __model_rust_string_write_str(string, &byte, 1);
    }
    string->length = pin(string->length);
    return __rust_string_write_char(string, c);
}

static bool is_string(const struct formatter *formatter) {
    return formatter->table->write_str == (bool (*)(void *, const char *, size_t))__model_rust_string_write_str;
}

// --- numbers

static bool read_options(const struct formatter *formatter, char conversion, struct spec *spec) {
    uint32_t flags = formatter->flags;
    if (is_labelled(flags) || is_labelled(formatter->width)) return false;
    *spec = (struct spec){.precision = -1, .conversion = conversion, .width = formatter->width};
    spec->plus = (flags & PLUS) != 0;
    spec->zero = (flags & ZERO) != 0;
    unsigned alignment = flags >> ALIGNMENT_SHIFT & 3;
    // A space is printed in front of what is not a sign in Rust alone.
    if (spec->plus && conversion != 'd') return false;
    if ((flags & ALTERNATE) != 0 && conversion != 'd' && conversion != 'u') return false;
    if (spec->width == 0 || spec->zero) return true;
    spec->left = alignment == LEFT;
    return alignment != CENTRE && (flags & FILL) == ' ';
}

static size_t count_digits(uint64_t value, int bits, char conversion) {
    unsigned base = conversion == 'x' || conversion == 'X' ? 16 : conversion == 'o' ? 8 : 10;
    if (conversion == 'd' && (value >> (bits - 1) & 1) != 0) {
        value = 0 - value;
        if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
    }
    size_t count = 1;
    while ((value /= base) != 0) count++;
    return count;
}

enum outcome { WRITTEN, FAILED, LEFT_ALONE };

static enum outcome write_number(const struct formatter *formatter, uint64_t value, int bits, char conversion) {
    struct spec spec;
    if (!read_options(formatter, conversion, &spec)) return LEFT_ALONE;
    bool string = is_string(formatter);
    if (!string && !is_stream(formatter)) return LEFT_ALONE;
    struct rendering rendering;
    const char *text = __mdl_render_number(&rendering, &spec, value, bits);
    size_t length = rendering.length;
    size_t digits = count_digits(plain(value), bits, conversion);
    size_t end = length;
    if (spec.left)
        while (text[end - 1] == ' ') end--;
    uint64_t symbolic_length = __mdl_number_length(&spec, value, bits);
    enum outcome outcome = LEFT_ALONE;
    if (plain(symbolic_length) == length &&
        __chg_text(text, length, end - digits, digits, value, bits, symbolic_length, rendering.conversion)) {
        bool failed = string ? __model_rust_string_write_str(formatter->sink, text, symbolic_length)
                             : formatter->table->write_str(formatter->sink, text, length);
        outcome = failed ? FAILED : WRITTEN;
        __chg_clear(text, length);
    }
    __mdl_render_free(&rendering);
    return outcome;
}

#define SHOW(name, type, bits, conversion)                                                        \
    bool __rust_##name(const type *value, const struct formatter *formatter);                    \
    bool __model_rust_##name(const type *value, const struct formatter *formatter) {             \
        uint64_t number = (uint64_t)*value;                                                       \
        if (LIKELY(!is_labelled(number))) return __rust_##name(value, formatter);                 \
        enum outcome outcome = write_number(formatter, number, bits, conversion);                 \
        return outcome == LEFT_ALONE ? __rust_##name(value, formatter) : outcome == FAILED;       \
    }

#define SHOW_ALL(trait, conversion, signed_conversion)        \
    SHOW(trait##_u8, uint8_t, 8, conversion)                  \
    SHOW(trait##_u16, uint16_t, 16, conversion)               \
    SHOW(trait##_u32, uint32_t, 32, conversion)               \
    SHOW(trait##_u64, uint64_t, 64, conversion)               \
    SHOW(trait##_usize, uint64_t, 64, conversion)             \
    SHOW(trait##_i8, uint8_t, 8, signed_conversion)           \
    SHOW(trait##_i16, uint16_t, 16, signed_conversion)        \
    SHOW(trait##_i32, uint32_t, 32, signed_conversion)        \
    SHOW(trait##_i64, uint64_t, 64, signed_conversion)        \
    SHOW(trait##_isize, uint64_t, 64, signed_conversion)

SHOW_ALL(Display, 'u', 'd')
SHOW_ALL(LowerHex, 'x', 'x')
SHOW_ALL(UpperHex, 'X', 'X')
SHOW_ALL(Octal, 'o', 'o')

// --- text with numbers in it

bool __model_rust_show_str(const char *p, size_t n, const struct formatter *formatter) {
    if (LIKELY(!is_labelled(n))) return __rust_show_str(p, n, formatter);
    bool whole = !is_labelled(formatter->flags) && (formatter->flags & (HAS_WIDTH | HAS_PRECISION)) == 0;
    if (whole && is_string(formatter)) return __model_rust_string_write_str(formatter->sink, p, n);
    if (whole && is_stream(formatter) && __chg_text_covers(p, n, n))
        return formatter->table->write_str(formatter->sink, p, plain(n));
    return __rust_show_str(p, n, formatter);
}
