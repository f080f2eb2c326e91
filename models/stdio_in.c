// <stdio.h>: input.
#include "input.h"

// --- characters

static int get(FILE *file) {
    struct input *input = __mdl_input(file);
    if (input == NULL) return getc(file);
    unsigned char byte;
    return __mdl_input_next(input, &byte) ? byte : EOF;
}

// As above, for those who want to know whether it is the end.
static bool get_byte(FILE *file, unsigned char *byte) {
    struct input *input = __mdl_input(file);
    if (input != NULL) return __mdl_input_next(input, byte);
    int c = getc(file);
    *byte = (unsigned char)c;
    return c != EOF;
}

int __model_getc(FILE *file) { return get(file); }
int __model_fgetc(FILE *file) { return get(file); }
int __model__IO_getc(FILE *file) { return get(file); }
int __model_getc_unlocked(FILE *file) { return get(file); }
int __model_fgetc_unlocked(FILE *file) { return get(file); }
int __model_getchar(void) { return get(stdin); }
int __model_getchar_unlocked(void) { return get(stdin); }

// The slow way of getc_unlocked as a macro; the fast one finds the buffer of
// the FILE empty.
int __model___uflow(FILE *file) { return get(file); }

int __model_ungetc(int c, FILE *file) {
    struct input *input = __mdl_input(file);
    if (input != NULL) {
        if (c == EOF) return EOF;
        return __mdl_input_unget(input, (unsigned char)c) ? (unsigned char)c : EOF;
    }
    // What comes back out of the FILE has no label.
    return ungetc((int)(int64_t)__chg_lost((uint64_t)(int64_t)c, CHG_LOSS_EXTERNAL_CALL), file);
}

// --- lines

char *__model_fgets(char *to, int size, FILE *file) {
    struct input *input = __mdl_input(file);
    if (input == NULL) {
        char *line = fgets(to, (int)pin((uint64_t)(int64_t)size), file);
        if (line != NULL) __chg_clear(line, strlen(line) + 1);
        return line;
    }
    if (size <= 0) return NULL;
    int i = 0;
    if (size == 1) {
        to[0] = 0;
        return to;
    }
    while (i < size - 1) {
        unsigned char c;
        if (!__mdl_input_next(input, &c)) break;
        to[i++] = (char)c;
        if (c == '\n') break;
    }
    if (i == 0 || (file->_flags & ERROR_FLAG) != 0) return NULL;
    to[i] = 0;
    return to;
}

char *__model_fgets_unlocked(char *to, int size, FILE *file) { return __model_fgets(to, size, file); }

char *__model___fgets_chk(char *to, size_t room, int size, FILE *file) {
    if (size > 0 && (size_t)size > room) __chk_fail();
    return __model_fgets(to, size, file);
}

char *__model___fgets_unlocked_chk(char *to, size_t room, int size, FILE *file) {
    return __model___fgets_chk(to, room, size, file);
}

static char *get_line(char *to, size_t room, bool limited) {
    size_t i = 0;
    bool more = true;
    while (true) {
        unsigned char c;
        more = get_byte(stdin, &c);
        if (!more || c == '\n') break;
        if (limited && i + 1 >= room) __chk_fail();
        to[i++] = (char)c;
    }
    if (!more && (i == 0 || (stdin->_flags & ERROR_FLAG) != 0)) return NULL;
    to[i] = 0;
    return to;
}

char *__model_gets(char *to) { return get_line(to, 0, false); }
char *__model___gets_chk(char *to, size_t room) { return get_line(to, room, true); }

// Room for a part of a line. The size can be seen by the program, so it grows
// in the steps of the library: at least twofold.
static bool make_room(char **line, size_t *size, size_t needed) {
    if (needed <= *size) return true;
    if (needed < 2 * *size) needed = 2 * *size;
    char *larger = realloc(*line, needed);
    if (larger == NULL) return false;
    *line = larger;
    *size = needed;
    return true;
}

// Bytes in the buffer that have not been read.
static size_t held(const struct input *input) {
    uint64_t at = plain(input->at);
    return at < input->end ? (size_t)(input->end - at) : 0;
}

static ssize_t get_delimited(char **line, size_t *size, int delimiter, struct input *input) {
    if (line == NULL || size == NULL) {
        errno = EINVAL;
        return -1;
    }
    if (*line == NULL || *size == 0) {
        *size = 120;
        *line = malloc(*size);
        if (*line == NULL) return -1;
    }
    size_t length = 0;
    bool ended = false;
    // A part goes up to the delimiter or the end of what is at hand; `left`
    // bytes of it are still to come.
    unsigned char *part = NULL;
    size_t count = 0, left = 0;
    while (!ended) {
        size_t pushed = input->pushed_count - input->returned;
        unsigned char c;
        if (!__mdl_input_next(input, &c)) break;
        if (left == 0) {
            left = pushed > 0 ? pushed : 1 + input->returned + held(input);
            unsigned char *longer = realloc(part, left);
            if (longer == NULL) break;
            part = longer;
        }
        part[count++] = c;
        left--;
        if (delimiter != EOF && c == (unsigned char)delimiter) {
            BRANCH;
            ended = true;
        }
        if (!ended && left > 0) continue;
        if (!make_room(line, size, length + count + 1)) {
            free(part);
            return -1;
        }
        memcpy(*line + length, part, count);
        length += count;
        count = left = 0;
    }
    free(part);
    if (length == 0 || (input->file->_flags & ERROR_FLAG) != 0) return -1;
    (*line)[length] = 0;
    return (ssize_t)length;
}

ssize_t __model_getdelim(char **line, size_t *size, int delimiter, FILE *file) {
    struct input *input = __mdl_input(file);
    if (input != NULL) return get_delimited(line, size, delimiter, input);
    ssize_t length = getdelim(line, size, delimiter, file);
    if (line != NULL) __chg_clear(line, sizeof *line);
    if (size != NULL) __chg_clear(size, sizeof *size);
    if (length >= 0) __chg_clear(*line, (size_t)length + 1);
    return length;
}

ssize_t __model___getdelim(char **line, size_t *size, int delimiter, FILE *file) {
    return __model_getdelim(line, size, delimiter, file);
}

ssize_t __model_getline(char **line, size_t *size, FILE *file) {
    return __model_getdelim(line, size, '\n', file);
}

// --- blocks

size_t __model_fread(void *to, size_t size, size_t count, FILE *file) {
    struct input *input = __mdl_input(file);
    if (input == NULL) {
        size = pin(size);
        count = pin(count);
        size_t got = fread(to, size, count, file);
        // A part of an element may follow the last whole one.
        __chg_clear(to, got < count ? (got + 1) * size : got * size);
        return got;
    }
    size_t wanted = size * count;
    if (wanted == 0) return 0;
    size_t got = __mdl_input_read(input, to, wanted);
    if (!is_labelled(size) && size == 1) return got;
    return got / size;
}

size_t __model_fread_unlocked(void *to, size_t size, size_t count, FILE *file) {
    return __model_fread(to, size, count, file);
}

size_t __model___fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file) {
    size_t wanted;
    if (__builtin_mul_overflow(size, count, &wanted) || wanted > room) __chk_fail();
    return __model_fread(to, size, count, file);
}

size_t __model___fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *file) {
    return __model___fread_chk(to, room, size, count, file);
}
