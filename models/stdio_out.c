// <stdio.h>: output. The real function writes; what is written is then
// reported with its labels.
#include "output.h"

size_t __model_strlen(const char *s);

int __mdl_output_fd(FILE *file) {
    int saved = errno;
    int fd = fileno(file);
    errno = saved;
    if (fd >= 0 && __chg_fd_stream(fd) >= 0) {
        struct input *input = __mdl_input(file);
        if (input != NULL) __mdl_input_sync(input);
        __mdl_input_drop(file);
        __mdl_place_spoil(fd);
    }
    return fd;
}

// --- characters

static int put(int c, FILE *file) {
    int fd = __mdl_output_fd(file);
    if (putc(c, file) == EOF) return EOF;
    unsigned char byte = (unsigned char)c;
    report(fd, &byte, 1);
    return byte;
}

int __model_putc(int c, FILE *file) { return put(c, file); }
int __model_fputc(int c, FILE *file) { return put(c, file); }
int __model__IO_putc(int c, FILE *file) { return put(c, file); }
int __model_putc_unlocked(int c, FILE *file) { return put(c, file); }
int __model_fputc_unlocked(int c, FILE *file) { return put(c, file); }
// The slow way of putc_unlocked as a macro, and the only one in traced programs.
int __model___overflow(FILE *file, int c) { return put(c, file); }
int __model_putchar(int c) { return put(c, stdout); }
int __model_putchar_unlocked(int c) { return put(c, stdout); }

// --- texts

int __model_fputs(const char *s, FILE *file) {
    int fd = __mdl_output_fd(file);
    size_t n = __model_strlen(s);
    int result = fputs(s, file);
    if (result != EOF) report(fd, s, n);
    return result;
}

int __model_fputs_unlocked(const char *s, FILE *file) { return __model_fputs(s, file); }

int __model_puts(const char *s) {
    int fd = __mdl_output_fd(stdout);
    size_t n = __model_strlen(s);
    int result = puts(s);
    if (result == EOF) return EOF;
    report(fd, s, n);
    report(fd, "\n", 1);
    return result;
}

// --- blocks

size_t __model_fwrite(const void *from, size_t size, size_t count, FILE *file) {
    int fd = __mdl_output_fd(file);
    size = pin(size);
    count = pin(count);
    size_t put_count = fwrite(from, size, count, file);
    report(fd, from, put_count * size);
    return put_count;
}

size_t __model_fwrite_unlocked(const void *from, size_t size, size_t count, FILE *file) {
    return __model_fwrite(from, size, count, file);
}

// --- messages

void __model_perror(const char *s) {
    int number = (int)pin((uint32_t)errno);
    int fd = __mdl_output_fd(stderr);
    size_t n = s != NULL ? __model_strlen(s) : 0;
    errno = number;
    perror(s);
    if (n > 0) {
        report(fd, s, n);
        report(fd, ": ", 2);
    }
    const char *message = strerror(number);
    report(fd, message, strlen(message));
    report(fd, "\n", 1);
}
