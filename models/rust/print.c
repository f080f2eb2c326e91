// Rust: numbers that are printed. `__real_rust_f` is the function of Rust's library
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

bool __real_rust_string_write_str(struct string *string, const char *p, size_t n);
bool __real_rust_string_write_char(struct string *string, uint32_t c);
void __real_rust_string_push_str(struct string *string, const char *p, size_t n);
void __real_rust_string_push(struct string *string, uint32_t c);
void __real_rust_string_clone(struct string *to, const struct string *from);
bool __real_rust_show_str(const char *p, size_t n, const struct formatter *formatter);

// --- where text goes

static bool is_stream(const struct formatter *formatter) {
    const void *write = (const void *)formatter->table->write_str;
    for (size_t i = 0; __chg_rust_streams[i] != NULL; i++)
        if (__chg_rust_streams[i] == write) return true;
    return false;
}

// How long a string is depends on the numbers in it, but where its memory is and
// how much it has does not show: so that is decided as in this run. What is behind
// a number is marked as moved.
static bool takes_text(const struct string *string, const char *p, size_t n) {
    bool grows = is_labelled(n);
    if (LIKELY(!is_labelled(string->length) && !grows)) return false;
    return !grows || __chg_text_covers(p, n, n);
}

#define TAKE(string, p, n, append)                                                                         \
    do {                                                                                                   \
        size_t length = (string)->length;                                                                  \
        size_t before = plain(length), count = plain(n);                                                   \
        (string)->length = before;                                                                         \
        (string)->capacity = plain((string)->capacity);                                                    \
        append(string, p, count);                                                                          \
        if (is_labelled(length)) __chg_text_moved((string)->bytes + before, count, length);                \
        (string)->length = length + (n);                                                                   \
    } while (0)

// They cannot fail.
bool __model_rust_string_write_str(struct string *string, const char *p, size_t n) {
    if (!takes_text(string, p, n)) return __real_rust_string_write_str(string, p, n);
    TAKE(string, p, n, __real_rust_string_write_str);
    return false;
}

void __model_rust_string_push_str(struct string *string, const char *p, size_t n) {
    if (takes_text(string, p, n)) TAKE(string, p, n, __real_rust_string_push_str);
    else __real_rust_string_push_str(string, p, n);
}

static unsigned encode(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    unsigned size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = size - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(0xf00 >> size | c);
    return size;
}

bool __model_rust_string_write_char(struct string *string, uint32_t c) {
    if (LIKELY(!is_labelled(string->length))) return __real_rust_string_write_char(string, c);
    char bytes[4];
    unsigned size = encode(bytes, c);
    return __model_rust_string_write_str(string, bytes, size);
}

void __model_rust_string_push(struct string *string, uint32_t c) {
    if (LIKELY(!is_labelled(string->length))) {
        __real_rust_string_push(string, c);
        return;
    }
    char bytes[4];
    unsigned size = encode(bytes, c);
    // Not every program has `push_str`.
    (void)__model_rust_string_write_str(string, bytes, size);
}

void __model_rust_string_clone(struct string *to, const struct string *from) {
    size_t length = from->length;
    if (LIKELY(!is_labelled(length))) {
        __real_rust_string_clone(to, from);
        return;
    }
    struct string known = {from->capacity, from->bytes, plain(length)};
    __real_rust_string_clone(to, &known);
    to->length = length;
    // A copy has room for what it holds, and no more.
    if (plain(to->capacity) == plain(length)) to->capacity = length;
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
    // In Rust alone numbers without a sign have a plus.
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

// The text of a number, marked as such; false if that cannot be.
static bool make_text(struct rendering *rendering, const struct spec *spec, uint64_t value, int bits, uint64_t *length) {
    const char *text = __mdl_render_number(rendering, spec, value, bits);
    size_t digits = count_digits(plain(value), bits, spec->conversion);
    size_t end = rendering->length;
    if (spec->left)
        while (text[end - 1] == ' ') end--;
    *length = __mdl_number_length(spec, value, bits);
    if (text == rendering->small && plain(*length) == rendering->length &&
        __chg_text(text, rendering->length, end - digits, digits, value, bits, *length, rendering->conversion))
        return true;
    __mdl_render_free(rendering);
    return false;
}

enum outcome { WRITTEN, FAILED, LEFT_ALONE };

static enum outcome write_number(const struct formatter *formatter, uint64_t value, int bits, char conversion) {
    struct spec spec;
    if (!read_options(formatter, conversion, &spec)) return LEFT_ALONE;
    bool string = is_string(formatter);
    if (!string && !is_stream(formatter)) return LEFT_ALONE;
    struct rendering rendering;
    uint64_t length;
    if (!make_text(&rendering, &spec, value, bits, &length)) return LEFT_ALONE;
    const char *text = rendering.small;
    bool failed = string ? __model_rust_string_write_str(formatter->sink, text, length)
                         : formatter->table->write_str(formatter->sink, text, rendering.length);
    __chg_clear(text, rendering.length);
    return failed ? FAILED : WRITTEN;
}

#define SHOW(name, type, bits, conversion)                                                        \
    bool __real_rust_##name(const type *value, const struct formatter *formatter);                    \
    bool __model_rust_##name(const type *value, const struct formatter *formatter) {             \
        uint64_t number = (uint64_t)*value;                                                       \
        if (LIKELY(!is_labelled(number))) return __real_rust_##name(value, formatter);                 \
        enum outcome outcome = write_number(formatter, number, bits, conversion);                 \
        return outcome == LEFT_ALONE ? __real_rust_##name(value, formatter) : outcome == FAILED;       \
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

#define TO_STRING(name, type, bits, letter)                                                            \
    void __real_rust_to_string_##name(struct string *to, const type *value);                          \
    void __model_rust_to_string_##name(struct string *to, const type *value) {                        \
        uint64_t number = (uint64_t)*value, length;                                                    \
        struct spec spec = {.precision = -1, .conversion = letter};                                    \
        struct rendering rendering;                                                                    \
        if (LIKELY(!is_labelled(number)) || !make_text(&rendering, &spec, number, bits, &length)) {    \
            __real_rust_to_string_##name(to, value);                                                   \
            return;                                                                                    \
        }                                                                                              \
        type known = (type)plain(number);                                                              \
        __real_rust_to_string_##name(to, &known);                                                      \
        __chg_copy(to->bytes, rendering.small, rendering.length);                                      \
        to->length = length;                                                                           \
        __chg_clear(rendering.small, rendering.length);                                                \
    }

TO_STRING(u8, uint8_t, 8, 'u')
TO_STRING(u16, uint16_t, 16, 'u')
TO_STRING(u32, uint32_t, 32, 'u')
TO_STRING(u64, uint64_t, 64, 'u')
TO_STRING(usize, uint64_t, 64, 'u')
TO_STRING(i8, uint8_t, 8, 'd')
TO_STRING(i16, uint16_t, 16, 'd')
TO_STRING(i32, uint32_t, 32, 'd')
TO_STRING(i64, uint64_t, 64, 'd')
TO_STRING(isize, uint64_t, 64, 'd')

// --- text with numbers in it

bool __model_rust_show_str(const char *p, size_t n, const struct formatter *formatter) {
    if (LIKELY(!is_labelled(n))) return __real_rust_show_str(p, n, formatter);
    bool whole = !is_labelled(formatter->flags) && (formatter->flags & (HAS_WIDTH | HAS_PRECISION)) == 0;
    if (whole && is_string(formatter)) return __model_rust_string_write_str(formatter->sink, p, n);
    if (whole && is_stream(formatter) && __chg_text_covers(p, n, n))
        return formatter->table->write_str(formatter->sink, p, plain(n));
    return __real_rust_show_str(p, n, formatter);
}
