#include "format.h"
#include "format_number.h"
#include <stdio.h>

size_t __model_strlen(const char *s);
size_t __model_strnlen(const char *s, size_t limit);
char *__model_strchrnul(const char *s, int c);

// --- text

static void append(struct format *format, const char *p, size_t n) {
    if (n == 0) return;
    if (format->length + n > format->capacity) {
        size_t capacity = 2 * (format->length + n) + 64;
        char *larger = realloc(format->text, capacity);
        if (larger == NULL) abort();
        format->text = larger;
        format->capacity = capacity;
    }
    memcpy(format->text + format->length, p, n);
}

static void emit(struct format *format, const char *p, size_t n) {
    if (n == 0) return;
    switch (format->mode) {
    case FORMAT_PROBE: format->symbolic |= __chg_symbolic(p, n) != 0; break;
    case FORMAT_REPORT: __chg_output(format->fd, p, n); break;
    case FORMAT_BUILD: append(format, p, n); break;
    }
    format->length += n;
    format->count += n;
}

static void emit_padding(struct format *format, size_t n) {
    static const char spaces[64] = "                                                               ";
    for (; n >= 63; n -= 63) emit(format, spaces, 63);
    emit(format, spaces, n);
}

static void emit_padded(struct format *format, const struct spec *spec, const char *p, size_t n) {
    size_t padding = spec->width > 0 && (size_t)spec->width > n ? (size_t)spec->width - n : 0;
    if (!spec->left) emit_padding(format, padding);
    emit(format, p, n);
    if (spec->left) emit_padding(format, padding);
}

static void emit_string(struct format *format, const struct spec *spec, const char *s) {
    size_t limit = spec->precision >= 0 ? (size_t)spec->precision : SIZE_MAX;
    if (s == NULL) {
        s = limit >= 6 ? "(null)" : "";
        emit_padded(format, spec, s, strlen(s));
        return;
    }
    if (format->mode == FORMAT_PROBE) {
        size_t n = strnlen(s, limit);
        format->symbolic |= is_moving(s) || __chg_symbolic(s, n < limit ? n + 1 : n) != 0;
        return;
    }
    emit_padded(format, spec, s, limit == SIZE_MAX ? __model_strlen(s) : __model_strnlen(s, limit));
}

// --- numbers

static void emit_number(struct format *format, const struct spec *spec, uint64_t value, int bits) {
    if (!is_labelled(value)) {
        if (format->mode == FORMAT_PROBE) return;
        struct rendering rendering;
        emit(format, __mdl_render_number(&rendering, spec, value, bits), rendering.length);
        __mdl_render_free(&rendering);
        return;
    }
    struct rendering rendering;
    switch (format->mode) {
    case FORMAT_PROBE: format->symbolic = true; return;
    case FORMAT_REPORT: {
        const char *text = __mdl_render_number(&rendering, spec, value, bits);
        __chg_clear(text, rendering.length);
        __chg_output_value(format->fd, value, bits, rendering.conversion, text, rendering.length);
        format->count += __mdl_number_length(spec, value, bits);
        break;
    }
    case FORMAT_BUILD: {
        const char *text = __mdl_build_number(&rendering, spec, value, bits);
        append(format, text, rendering.length);
        format->count += rendering.length;
        break;
    }
    }
    format->length += rendering.length;
    __mdl_render_free(&rendering);
}

// --- arguments

enum class { NONE, INT, LONG, DOUBLE, LONG_DOUBLE, POINTER };

union argument {
    uint64_t integer;
    double number;
    long double long_number;
    void *pointer;
};

// Arguments in turn, or, if the format numbers them, all of them beforehand.
struct arguments {
    va_list rest;
    union argument *numbered;
    size_t count;
};

static union argument next_of(struct arguments *arguments, enum class class) {
    union argument argument = {.integer = 0};
    switch (class) {
    case NONE: break;
    case INT: argument.integer = (uint64_t)(int64_t)va_arg(arguments->rest, int); break;
    case LONG: argument.integer = va_arg(arguments->rest, uint64_t); break;
    case DOUBLE: argument.number = va_arg(arguments->rest, double); break;
    case LONG_DOUBLE: argument.long_number = va_arg(arguments->rest, long double); break;
    case POINTER: argument.pointer = va_arg(arguments->rest, void *); break;
    }
    return argument;
}

static union argument fetch(struct arguments *arguments, int position, enum class class) {
    if (position > 0 && (size_t)position <= arguments->count) return arguments->numbered[position - 1];
    return next_of(arguments, class);
}

static enum class integer_class(const struct spec *spec) {
    switch (spec->size) {
    case SIZE_LONG:
    case SIZE_LONG_LONG: return LONG;
    default: return INT;
    }
}

static enum class class_of(const struct spec *spec) {
    switch (spec->conversion) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': return integer_class(spec);
    case 'c': return INT;
    case 's': case 'p': case 'n': return POINTER;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        return spec->size == SIZE_LONG_LONG ? LONG_DOUBLE : DOUBLE;
    default: return NONE;
    }
}

static void need(enum class *classes, size_t *count, int position, enum class class) {
    if (position <= 0 || position > 64) return;
    if ((size_t)position > *count) *count = (size_t)position;
    if (class != NONE) classes[position - 1] = class;
}

// Takes all arguments if the format numbers them.
static bool number_arguments(const char *text, struct arguments *arguments) {
    enum class classes[64];
    for (size_t i = 0; i < 64; i++) classes[i] = INT;
    size_t count = 0;
    for (size_t i = 0; text[i] != 0;) {
        if (text[i++] != '%') continue;
        struct spec spec;
        if (!__mdl_parse_spec(text, &i, &spec)) return false;
        need(classes, &count, spec.argument, class_of(&spec));
        need(classes, &count, spec.width_argument, INT);
        need(classes, &count, spec.precision_argument, INT);
    }
    if (count == 0) return true;
    arguments->numbered = calloc(count, sizeof *arguments->numbered);
    if (arguments->numbered == NULL) return false;
    arguments->count = count;
    for (size_t i = 0; i < count; i++) arguments->numbered[i] = next_of(arguments, classes[i]);
    return true;
}

static int star(struct format *format, struct arguments *arguments, int position) {
    uint64_t value = fetch(arguments, position, INT).integer;
    if (format->mode == FORMAT_PROBE) {
        format->symbolic |= is_labelled(value);
        return (int)plain(value);
    }
    return (int)pin(value);
}

// --- conversions

static void store_count(struct format *format, const struct spec *spec, void *to) {
    if (format->mode == FORMAT_PROBE) {
        // What is stored there now has no label, whatever was there before.
        format->symbolic = true;
        return;
    }
    switch (spec->size) {
    case SIZE_CHAR: *(signed char *)to = (signed char)format->count; break;
    case SIZE_SHORT: *(short *)to = (short)format->count; break;
    case SIZE_INT: *(int *)to = (int)format->count; break;
    default: *(int64_t *)to = (int64_t)format->count; break;
    }
}

static bool convert(struct format *format, const struct spec *spec, struct arguments *arguments) {
    struct rendering rendering;
    switch (spec->conversion) {
    case '%': emit(format, "%", 1); return true;
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': {
        int bits = __mdl_size_bits(spec->size);
        uint64_t value = fetch(arguments, spec->argument, integer_class(spec)).integer;
        uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        emit_number(format, spec, value & mask, bits);
        return true;
    }
    case 'c': {
        if (spec->size == SIZE_LONG) return false;
        char c = (char)fetch(arguments, spec->argument, INT).integer;
        emit_padded(format, spec, &c, 1);
        return true;
    }
    case 's':
        if (spec->size == SIZE_LONG) return false;
        emit_string(format, spec, fetch(arguments, spec->argument, POINTER).pointer);
        return true;
    case 'n': store_count(format, spec, fetch(arguments, spec->argument, POINTER).pointer); return true;
    case 'p': {
        void *pointer = fetch(arguments, spec->argument, POINTER).pointer;
        if (format->mode == FORMAT_PROBE) {
            format->symbolic |= is_moving(pointer);
            return true;
        }
        if (is_moving(pointer)) pointer = (void *)(uintptr_t)__chg_lost((uintptr_t)pointer, CHG_LOSS_FORMATTED);
        emit(format, __mdl_render_pointer(&rendering, spec, pointer), rendering.length);
        break;
    }
    case 'm':
        errno = (int)pin((uint32_t)format->number);
        emit(format, __mdl_render_pointer(&rendering, spec, NULL), rendering.length);
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        if (spec->size == SIZE_LONG_LONG) {
            long double value = fetch(arguments, spec->argument, LONG_DOUBLE).long_number;
            if (format->mode == FORMAT_PROBE) return true;
            emit(format, __mdl_render_long_double(&rendering, spec, value), rendering.length);
        } else {
            double value = fetch(arguments, spec->argument, DOUBLE).number;
            if (format->mode == FORMAT_PROBE) return true;
            emit(format, __mdl_render_double(&rendering, spec, value), rendering.length);
        }
        break;
    default: return false;
    }
    __mdl_render_free(&rendering);
    return true;
}

static bool walk(struct format *format, const char *text, struct arguments *arguments) {
    for (size_t i = 0;;) {
        size_t end = (size_t)(__model_strchrnul(text + i, '%') - text);
        emit(format, text + i, end - i);
        if (text[end] == 0) return true;
        i = end + 1;
        struct spec spec;
        if (!__mdl_parse_spec(text, &i, &spec)) return false;
        if (spec.width_star) {
            spec.width = star(format, arguments, spec.width_argument);
            if (spec.width < 0) {
                spec.left = true;
                spec.width = spec.width == INT32_MIN ? INT32_MAX : -spec.width;
            }
        }
        if (spec.precision_star) {
            spec.precision = star(format, arguments, spec.precision_argument);
            if (spec.precision < 0) spec.precision = -1;
        }
        if (!convert(format, &spec, arguments)) return false;
        if (format->mode == FORMAT_PROBE && format->symbolic) return true;
    }
}

bool __mdl_format(struct format *format, const char *text, va_list list) {
    struct arguments arguments = {.numbered = NULL};
    va_copy(arguments.rest, list);
    bool complete = true;
    if (format->mode == FORMAT_PROBE && __chg_symbolic(text, strlen(text) + 1)) {
        format->symbolic = true;
    } else {
        if (strchr(text, '$') != NULL) complete = number_arguments(text, &arguments);
        complete = complete && walk(format, text, &arguments);
    }
    free(arguments.numbered);
    va_end(arguments.rest);
    return complete;
}
