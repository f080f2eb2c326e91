#include "scan.h"
#include "number.h"
#include "scan_float.h"
#include "scan_source.h"
#include <limits.h>
#include <wchar.h>

// How a directive ended.
enum outcome { MATCHED, NO_INPUT, NO_MATCH };

struct directive {
    bool suppress, allocate, wide;
    // -1: none given.
    int width;
    // Number of the argument, `n$`; 0 means the next one.
    int position;
    // Bytes of an integer; for floating-point numbers 4, 8 and 16.
    unsigned size;
    char conversion;
    // Members of a %[ set.
    bool set[256];
};

struct scan {
    struct source *source;
    const unsigned char *format;
    va_list first;
    va_list rest;
    bool gnu;
    bool skip_space;
    int done;
};

static void *target(struct scan *scan, const struct directive *directive) {
    if (directive->position == 0) return va_arg(scan->rest, void *);
    va_list list;
    va_copy(list, scan->first);
    void *pointer = NULL;
    for (int i = 0; i < directive->position; i++) pointer = va_arg(list, void *);
    va_end(list);
    return pointer;
}

static void skip_spaces(struct source *source) {
    int saved = errno;
    int c;
    do c = source_get(source);
    while (is_space(c));
    errno = saved;
    source_unget(source, c);
}

// At the end of a format errno is not kept; see `struct source`.
static void skip_last_spaces(struct source *source) {
    int c;
    do c = source_get(source);
    while (is_space(c));
    if (errno != source->seen_errno) (void)source_is_end(source, c);
    source_unget(source, c);
}

// --- integers

static void store_integer(void *to, unsigned size, uint64_t value) {
    switch (size) {
    case 1: *(uint8_t *)to = (uint8_t)value; break;
    case 2: *(uint16_t *)to = (uint16_t)value; break;
    case 4: *(uint32_t *)to = (uint32_t)value; break;
    default: *(uint64_t *)to = value; break;
    }
}

// "(nil)", whose first character has been taken.
static bool scan_nil(struct source *source, int width, int *c) {
    if (width >= 0 && width < 5) return false;
    for (const char *rest = "nil)"; *rest != 0; rest++) {
        *c = source_get(source);
        if (lower(*c) != *rest) return false;
    }
    return true;
}

static enum outcome scan_integer(struct scan *scan, struct directive *directive) {
    static const struct { char conversion; unsigned char base; bool is_signed; } kinds[] = {
        {'d', 10, true}, {'i', 0, true}, {'u', 10, false}, {'o', 8, false}, {'x', 16, false}, {'p', 16, false},
    };
    unsigned base = 10;
    bool is_signed = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].conversion != directive->conversion) continue;
        base = kinds[i].base;
        is_signed = kinds[i].is_signed;
    }
    if (directive->conversion == 'p') directive->size = 8;

    struct source *source = scan->source;
    int width = directive->width;
    int c = source_get(source);
    if (source_is_end(source, c)) {
        source_unget(source, c);
        return NO_INPUT;
    }
    bool negative = false, sign = false, zero = false;
    if ((c == '-') | (c == '+')) {
        sign = true;
        negative = c == '-';
        if (width > 0) width--;
        c = source_get(source);
    }
    if (width != 0 && c == '0' && (base == 0 || base == 16)) {
        zero = true;
        if (width > 0) width--;
        c = source_get(source);
        if (width != 0 && (c | 32) == 'x') {
            BRANCH;
            base = 16;
            if (width > 0) width--;
            c = source_get(source);
        } else if (base == 0) {
            base = 8;
        }
    }
    if (base == 0) base = 10;

    struct number number = number_in(base);
    while (width != 0) {
        unsigned digit = base <= 10 ? (unsigned)c - '0' : digit_value(c);
        if (digit >= base) break;
        number_add(&number, digit);
        if (width > 0) width--;
        c = source_get(source);
    }
    if (number.digits == 0 && !zero) {
        bool nil = directive->conversion == 'p' && !sign && c == '(' && scan_nil(source, width, &c);
        if (!nil) {
            source_unget(source, c);
            return NO_MATCH;
        }
    } else {
        source_unget(source, c);
    }
    uint64_t value = is_signed ? (uint64_t)number_signed(&number, negative) : number_unsigned(&number, negative);
    if (directive->suppress) return MATCHED;
    store_integer(target(scan, directive), directive->size, value);
    scan->done++;
    return MATCHED;
}

// --- floating-point numbers

static enum outcome scan_floating(struct scan *scan, const struct directive *directive) {
    struct source *source = scan->source;
    int c = source_get(source);
    source_unget(source, c);
    if (source_is_end(source, c)) return NO_INPUT;
    char *text = __mdl_scan_float(source, directive->width);
    if (text == NULL) return NO_MATCH;
    size_t n = strlen(text);
    if (__chg_symbolic(text, n)) __chg_lost_memory(text, n, CHG_LOSS_FLOAT);
    char *end;
    float short_value = 0;
    double value = 0;
    long double long_value = 0;
    switch (directive->size) {
    case 4: short_value = strtof(text, &end); break;
    case 8: value = strtod(text, &end); break;
    default: long_value = strtold(text, &end); break;
    }
    bool matched = end != text;
    free(text);
    if (!matched) return NO_MATCH;
    if (directive->suppress) return MATCHED;
    void *to = target(scan, directive);
    switch (directive->size) {
    case 4: *(float *)to = short_value; break;
    case 8: *(double *)to = value; break;
    default: *(long double *)to = long_value; break;
    }
    __chg_clear(to, directive->size == 16 ? 10 : directive->size);
    scan->done++;
    return MATCHED;
}

// --- characters

// Where %s, %c and %[ put their characters: the program's memory, or memory
// that grows.
struct characters {
    char *to;
    char **allocated;
    size_t count;
    size_t capacity;
    size_t unit;
    bool failed;
};

static void put_character(struct characters *characters, int c) {
    if (characters->to == NULL && characters->allocated == NULL) return;
    size_t needed = (characters->count + 1) * characters->unit;
    if (characters->allocated != NULL && needed > characters->capacity) {
        size_t capacity = characters->capacity == 0 ? 100 : 2 * characters->capacity;
        char *larger = realloc(characters->to, capacity);
        if (larger == NULL) {
            characters->failed = true;
            return;
        }
        characters->to = larger;
        characters->capacity = capacity;
    }
    char *place = characters->to + characters->count++ * characters->unit;
    if (characters->unit == 1) *place = (char)c;
    else *(wchar_t *)(void *)place = (wchar_t)c;
}

static unsigned belongs(const struct directive *directive, int c) {
    if (directive->conversion == 's') return !is_space(c);
    if (directive->conversion == 'c') return 1;
    return directive->set[(unsigned char)c];
}

static enum outcome scan_characters(struct scan *scan, const struct directive *directive) {
    struct source *source = scan->source;
    struct characters characters = {.unit = directive->wide ? sizeof(wchar_t) : 1};
    if (!directive->suppress) {
        void *to = target(scan, directive);
        if (directive->allocate) {
            characters.allocated = to;
            *characters.allocated = NULL;
        } else {
            characters.to = to;
        }
    }
    int width = directive->width;
    if (width < 0) width = directive->conversion == 'c' ? 1 : INT_MAX;

    int taken = 0;
    int c = 0;
    while (taken < width) {
        c = source_get(source);
        // One condition for "does not belong" and "end of the text".
        unsigned stop = source->ended || !(belongs(directive, c) & (unsigned)((source->text == NULL) | (c != 0)));
        if (stop) {
            source_unget(source, c);
            break;
        }
        put_character(&characters, c);
        taken++;
    }
    if (taken == 0 || characters.failed) {
        free(characters.allocated != NULL ? characters.to : NULL);
        return characters.failed || source_is_end(source, c) ? NO_INPUT : NO_MATCH;
    }
    if (directive->suppress) return MATCHED;
    if (directive->conversion != 'c') put_character(&characters, 0);
    if (characters.allocated != NULL) {
        char *fitting = realloc(characters.to, characters.count * characters.unit);
        *characters.allocated = fitting != NULL ? fitting : characters.to;
    }
    scan->done++;
    return MATCHED;
}

// --- the format

static int scan_number(const unsigned char **format) {
    int64_t n = 0;
    for (; is_digit(**format); (*format)++) n = n > INT_MAX ? n : n * 10 + (**format - '0');
    return n > INT_MAX ? INT_MAX : (int)n;
}

// The set between the brackets; ranges only where they ascend. False if it is
// not closed.
static bool parse_set(const unsigned char **format, bool *set) {
    const unsigned char *f = *format;
    bool complement = *f == '^';
    if (complement) f++;
    memset(set, complement, 256);
    const unsigned char *first = f;
    for (; *f != 0 && (*f != ']' || f == first); f++) {
        bool range = *f == '-' && f != first && f[1] != 0 && f[1] != ']' && f[-1] <= f[1];
        if (!range) {
            set[*f] = !complement;
            continue;
        }
        for (unsigned c = f[-1]; c < f[1]; c++) set[c] = !complement;
    }
    if (*f == 0) return false;
    *format = f + 1;
    return true;
}

static void parse_size(struct scan *scan, struct directive *directive) {
    const unsigned char *f = scan->format;
    directive->size = 4;
    switch (*f++) {
    case 'h':
        directive->size = *f == 'h' ? 1 : 2;
        if (*f == 'h') f++;
        break;
    case 'l':
        directive->size = *f == 'l' ? 16 : 8;
        if (*f == 'l') f++;
        else directive->wide = true;
        break;
    case 'q':
    case 'L': directive->size = 16; break;
    case 'm':
        directive->allocate = true;
        if (*f == 'l') {
            directive->wide = true;
            f++;
        }
        break;
    case 'a':
        if (scan->gnu && (*f == 's' || *f == 'S' || *f == '[')) {
            directive->allocate = true;
            break;
        }
        f--;
        break;
    case 'z':
    case 'j':
    case 't': directive->size = 8; break;
    default: f--; break;
    }
    scan->format = f;
}

// A directive behind its `%`, up to its letter, which is NUL if the format
// breaks off.
static void parse_directive(struct scan *scan, struct directive *directive) {
    *directive = (struct directive){.width = -1};
    const unsigned char *f = scan->format;
    if (is_digit(*f)) {
        int n = scan_number(&f);
        if (*f == '$') {
            directive->position = n;
            f++;
        } else {
            directive->width = n > 0 ? n : -1;
            scan->format = f;
        }
    }
    if (directive->width < 0) {
        for (; *f == '*' || *f == '\'' || *f == 'I'; f++) directive->suppress |= *f == '*';
        if (is_digit(*f)) {
            int n = scan_number(&f);
            directive->width = n > 0 ? n : -1;
        }
    }
    scan->format = f;
    parse_size(scan, directive);
    directive->conversion = (char)*scan->format;
    if (directive->conversion == 0) return;
    scan->format++;
    switch (directive->conversion) {
    case 'X': directive->conversion = 'x'; break;
    case 'C':
        directive->conversion = 'c';
        directive->wide = true;
        break;
    case 'S':
        directive->conversion = 's';
        directive->wide = true;
        break;
    default: break;
    }
}

static enum outcome scan_literal(struct scan *scan, int wanted) {
    struct source *source = scan->source;
    int c = source_get(source);
    if (scan->skip_space) {
        while (is_space(c)) c = source_get(source);
        scan->skip_space = false;
    }
    if (c == wanted) return MATCHED;
    bool end = source_is_end(source, c);
    source_unget(source, c);
    return end ? NO_INPUT : NO_MATCH;
}

static enum outcome scan_directive(struct scan *scan) {
    struct directive directive;
    parse_directive(scan, &directive);
    char conversion = directive.conversion;
    bool keeps_space = conversion == '[' || conversion == 'c' || conversion == 'n';
    if (scan->skip_space || !keeps_space) {
        skip_spaces(scan->source);
        scan->skip_space = false;
    }
    switch (conversion) {
    case '%': return scan_literal(scan, '%');
    case 'n':
        if (!directive.suppress) store_integer(target(scan, &directive), directive.size, scan->source->taken);
        return MATCHED;
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'p': return scan_integer(scan, &directive);
    case '[':
        if (!parse_set(&scan->format, directive.set)) return NO_MATCH;
        return scan_characters(scan, &directive);
    case 's': case 'c': return scan_characters(scan, &directive);
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        return scan_floating(scan, &directive);
    default: return NO_MATCH;
    }
}

int __mdl_scan(struct source *source, const char *format, va_list arguments, bool gnu) {
    struct scan scan = {.source = source, .format = (const unsigned char *)format, .gnu = gnu};
    va_copy(scan.first, arguments);
    va_copy(scan.rest, arguments);
    enum outcome outcome = MATCHED;
    while (outcome == MATCHED && *scan.format != 0) {
        int c = *scan.format++;
        if (is_space(c)) scan.skip_space = true;
        else if (c == '%') outcome = scan_directive(&scan);
        else outcome = scan_literal(&scan, c);
    }
    if (outcome == MATCHED && scan.skip_space) skip_last_spaces(source);
    va_end(scan.first);
    va_end(scan.rest);
    return outcome == NO_INPUT && scan.done == 0 ? EOF : scan.done;
}
