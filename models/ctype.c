// <ctype.h> in the C locale. The functions return the bit that the real ones
// take from their table, computed without a table and without a branch.
#include "model.h"
#include "ctype_tables.h"

enum {
    BLANK = 1,
    CNTRL = 2,
    PUNCT = 4,
    ALNUM = 8,
    UPPER = 256,
    LOWER = 512,
    ALPHA = 1024,
    DIGIT = 2048,
    XDIGIT = 4096,
    SPACE = 8192,
    PRINT = 16384,
    GRAPH = 32768,
};

static inline int bit(unsigned member, int class) { return member ? class : 0; }

int __model_isalpha(int c) { return bit(is_alpha(c), ALPHA); }
int __model_isdigit(int c) { return bit(is_digit(c), DIGIT); }
int __model_isalnum(int c) { return bit(is_alpha(c) | is_digit(c), ALNUM); }
int __model_isupper(int c) { return bit(is_upper(c), UPPER); }
int __model_islower(int c) { return bit(is_lower(c), LOWER); }
int __model_isspace(int c) { return bit(is_space(c), SPACE); }
int __model_isblank(int c) { return bit((c == ' ') | (c == '\t'), BLANK); }
int __model_iscntrl(int c) { return bit(below((unsigned)c, 0, 32) | (c == 127), CNTRL); }
int __model_isprint(int c) { return bit(below((unsigned)c, 32, 95), PRINT); }
int __model_isgraph(int c) { return bit(below((unsigned)c, 33, 94), GRAPH); }

int __model_ispunct(int c) {
    unsigned visible = below((unsigned)c, 33, 94);
    return bit(visible & ~(is_alpha(c) | is_digit(c)) & 1u, PUNCT);
}

int __model_isxdigit(int c) {
    return bit(is_digit(c) | below((unsigned)c | 32u, 'a', 6), XDIGIT);
}

int __model_isascii(int c) { return (c & ~0x7f) == 0; }
int __model_toascii(int c) { return c & 0x7f; }

// The real tables give the characters of a signed `char`, except for EOF, the
// values of the unsigned one.
static inline int unsigned_char(int c) { return (unsigned)c + 128u < 127u ? c + 256 : c; }

int __model_tolower(int c) { return lower(unsigned_char(c)); }
int __model_toupper(int c) { return upper(unsigned_char(c)); }
int __model__tolower(int c) { return __model_tolower(c); }
int __model__toupper(int c) { return __model_toupper(c); }

// Our tables, not those of the library: their bounds are known, so that an
// access with a symbolic character stays symbolic.

const unsigned short **__model___ctype_b_loc(void) {
    static const unsigned short *table = class_table + 128;
    return &table;
}

const int **__model___ctype_tolower_loc(void) {
    static const int *table = lower_table + 128;
    return &table;
}

const int **__model___ctype_toupper_loc(void) {
    static const int *table = upper_table + 128;
    return &table;
}
