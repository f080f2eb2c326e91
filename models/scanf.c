// <stdio.h>: the scanf family.
#include "scan.h"

static int scan_file(FILE *file, const char *format, va_list list, bool gnu) {
    struct source source = {.input = __mdl_input(file), .file = file};
    return __mdl_scan(&source, format, list, gnu);
}

static int scan_text(const char *text, const char *format, va_list list, bool gnu) {
    struct source source = {.text = (const unsigned char *)text};
    return __mdl_scan(&source, format, list, gnu);
}

#define FAMILY(prefix, gnu)                                                              \
    int __model_##prefix##vfscanf(FILE *file, const char *format, va_list list) {        \
        return scan_file(file, format, list, gnu);                                       \
    }                                                                                    \
    int __model_##prefix##vscanf(const char *format, va_list list) {                     \
        return scan_file(stdin, format, list, gnu);                                      \
    }                                                                                    \
    int __model_##prefix##vsscanf(const char *text, const char *format, va_list list) {  \
        return scan_text(text, format, list, gnu);                                       \
    }                                                                                    \
    int __model_##prefix##fscanf(FILE *file, const char *format, ...) {                  \
        va_list list;                                                                    \
        va_start(list, format);                                                          \
        int done = scan_file(file, format, list, gnu);                                   \
        va_end(list);                                                                    \
        return done;                                                                     \
    }                                                                                    \
    int __model_##prefix##scanf(const char *format, ...) {                               \
        va_list list;                                                                    \
        va_start(list, format);                                                          \
        int done = scan_file(stdin, format, list, gnu);                                  \
        va_end(list);                                                                    \
        return done;                                                                     \
    }                                                                                    \
    int __model_##prefix##sscanf(const char *text, const char *format, ...) {            \
        va_list list;                                                                    \
        va_start(list, format);                                                          \
        int done = scan_text(text, format, list, gnu);                                   \
        va_end(list);                                                                    \
        return done;                                                                     \
    }

FAMILY(, true)
FAMILY(__isoc99_, false)
FAMILY(__isoc23_, false)
