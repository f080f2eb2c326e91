// <stdio.h>: the printf family.
#include "format.h"
#include "output.h"

int __vfprintf_chk(FILE *file, int flag, const char *text, va_list list);
int __vdprintf_chk(int fd, int flag, const char *text, va_list list);
int __vsprintf_chk(char *to, int flag, size_t room, const char *text, va_list list);
int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *text, va_list list);

// `flag` of the fortified functions; the plain ones have none.
#define PLAIN (-1)

static bool anything_symbolic(const char *text, va_list list) {
    struct format probe = {.mode = FORMAT_PROBE};
    __mdl_format(&probe, text, list);
    return probe.symbolic;
}

// Reports the text that the real function printed, from byte `from` on, as it
// is.
static void report_text(int fd, size_t from, size_t length, int number, const char *text, va_list list) {
    char small[512];
    char *printed = length < sizeof small ? small : malloc(length + 1);
    if (printed == NULL) abort();
    va_list copy;
    va_copy(copy, list);
    errno = number;
    vsnprintf(printed, length + 1, text, copy);
    va_end(copy);
    __chg_clear(printed, length + 1);
    if (from < length) report(fd, printed + from, length - from);
    if (printed != small) free(printed);
}

// What the real function printed (`length` bytes) to a descriptor. Returns
// the length, as an expression.
static int report_printed(int fd, int length, int number, const char *text, va_list list) {
    int saved = errno;
    if (length < 0) {
        // A format that breaks off was printed up to there.
        struct format format = {.mode = FORMAT_REPORT, .fd = fd, .number = number};
        if (errno == EINVAL) __mdl_format(&format, text, list);
        errno = saved;
        return length;
    }
    uint64_t count = (uint64_t)length;
    if (!anything_symbolic(text, list)) {
        report_text(fd, 0, (size_t)length, number, text, list);
    } else {
        struct format format = {.mode = FORMAT_REPORT, .fd = fd, .number = number};
        if (__mdl_format(&format, text, list)) count = format.count;
        else report_text(fd, format.length, (size_t)length, number, text, list);
    }
    errno = saved;
    return (int)plain(count) == length ? (int)count : length;
}

static int print_file(FILE *file, int flag, const char *text, va_list list) {
    int fd = __mdl_output_fd(file);
    int number = errno;
    va_list copy;
    va_copy(copy, list);
    int length = flag == PLAIN ? vfprintf(file, text, copy) : __vfprintf_chk(file, flag, text, copy);
    va_end(copy);
    return report_printed(fd, length, number, text, list);
}

static int print_fd(int fd, int flag, const char *text, va_list list) {
    __mdl_place_spoil(fd);
    int number = errno;
    va_list copy;
    va_copy(copy, list);
    int length = flag == PLAIN ? vdprintf(fd, text, copy) : __vdprintf_chk(fd, flag, text, copy);
    va_end(copy);
    return report_printed(fd, length, number, text, list);
}

// `size` is SIZE_MAX for the functions that do not take one.
static int print_real(char *to, size_t size, int flag, size_t room, const char *text, va_list list) {
    if (size == SIZE_MAX) return flag == PLAIN ? vsprintf(to, text, list) : __vsprintf_chk(to, flag, room, text, list);
    return flag == PLAIN ? vsnprintf(to, size, text, list) : __vsnprintf_chk(to, size, flag, room, text, list);
}

static int print_memory(char *to, size_t size, int flag, size_t room, const char *text, va_list list) {
    int number = errno;
    size = pin(size);
    // The text is built first: printing a buffer into itself is common.
    struct format format = {.mode = FORMAT_BUILD, .number = number};
    bool symbolic = anything_symbolic(text, list);
    if (symbolic) __mdl_format(&format, text, list);

    va_list copy;
    va_copy(copy, list);
    errno = number;
    int length = print_real(to, size, flag, room, text, copy);
    va_end(copy);

    int result = length;
    if (length >= 0 && size > 0) {
        size_t written = (size_t)length < size ? (size_t)length : size - 1;
        __chg_clear(to, written + 1);
        size_t known = format.length < written ? format.length : written;
        if (known > 0 && memcmp(format.text, to, known) == 0) memcpy(to, format.text, known);
    }
    if (symbolic && (int)plain(format.count) == length) result = (int)format.count;
    free(format.text);
    return result;
}

static int print_allocated(char **to, int flag, const char *text, va_list list) {
    va_list copy;
    va_copy(copy, list);
    int number = errno;
    int length = vsnprintf(NULL, 0, text, copy);
    va_end(copy);
    if (length < 0) return length;
    char *memory = malloc((size_t)length + 1);
    if (memory == NULL) return -1;
    errno = number;
    *to = memory;
    return print_memory(memory, (size_t)length + 1, flag, (size_t)length + 1, text, list);
}

#define WITH_LIST(last, call)      \
    va_list list;                  \
    va_start(list, last);          \
    int result = call;             \
    va_end(list);                  \
    return result;

int __model_vprintf(const char *text, va_list list) { return print_file(stdout, PLAIN, text, list); }
int __model_vfprintf(FILE *file, const char *text, va_list list) { return print_file(file, PLAIN, text, list); }
int __model_vdprintf(int fd, const char *text, va_list list) { return print_fd(fd, PLAIN, text, list); }
int __model_vsprintf(char *to, const char *text, va_list list) {
    return print_memory(to, SIZE_MAX, PLAIN, 0, text, list);
}
int __model_vsnprintf(char *to, size_t size, const char *text, va_list list) {
    if (size == SIZE_MAX) size--;
    return print_memory(to, size, PLAIN, 0, text, list);
}
int __model_vasprintf(char **to, const char *text, va_list list) { return print_allocated(to, PLAIN, text, list); }

int __model_printf(const char *text, ...) { WITH_LIST(text, __model_vprintf(text, list)) }
int __model_fprintf(FILE *file, const char *text, ...) { WITH_LIST(text, __model_vfprintf(file, text, list)) }
int __model_dprintf(int fd, const char *text, ...) { WITH_LIST(text, __model_vdprintf(fd, text, list)) }
int __model_sprintf(char *to, const char *text, ...) { WITH_LIST(text, __model_vsprintf(to, text, list)) }
int __model_snprintf(char *to, size_t size, const char *text, ...) {
    WITH_LIST(text, __model_vsnprintf(to, size, text, list))
}
int __model_asprintf(char **to, const char *text, ...) { WITH_LIST(text, __model_vasprintf(to, text, list)) }
int __model___asprintf(char **to, const char *text, ...) { WITH_LIST(text, __model_vasprintf(to, text, list)) }

// --- fortified variants

int __model___vprintf_chk(int flag, const char *text, va_list list) { return print_file(stdout, flag, text, list); }
int __model___vfprintf_chk(FILE *file, int flag, const char *text, va_list list) {
    return print_file(file, flag, text, list);
}
int __model___vdprintf_chk(int fd, int flag, const char *text, va_list list) { return print_fd(fd, flag, text, list); }
int __model___vsprintf_chk(char *to, int flag, size_t room, const char *text, va_list list) {
    return print_memory(to, SIZE_MAX, flag, room, text, list);
}
int __model___vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *text, va_list list) {
    return print_memory(to, size, flag, room, text, list);
}
int __model___vasprintf_chk(char **to, int flag, const char *text, va_list list) {
    return print_allocated(to, flag, text, list);
}

int __model___printf_chk(int flag, const char *text, ...) {
    WITH_LIST(text, print_file(stdout, flag, text, list))
}
int __model___fprintf_chk(FILE *file, int flag, const char *text, ...) {
    WITH_LIST(text, print_file(file, flag, text, list))
}
int __model___dprintf_chk(int fd, int flag, const char *text, ...) {
    WITH_LIST(text, print_fd(fd, flag, text, list))
}
int __model___sprintf_chk(char *to, int flag, size_t room, const char *text, ...) {
    WITH_LIST(text, print_memory(to, SIZE_MAX, flag, room, text, list))
}
int __model___snprintf_chk(char *to, size_t size, int flag, size_t room, const char *text, ...) {
    WITH_LIST(text, print_memory(to, size, flag, room, text, list))
}
int __model___asprintf_chk(char **to, int flag, const char *text, ...) {
    WITH_LIST(text, print_allocated(to, flag, text, list))
}
