/* The random devices, where the program sees the machine's own /dev. */
#define _GNU_SOURCE
#include "shim.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE_BYTES (64 << 10)

static bool is_random(const char *path) {
    return duty_devices && path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
}

/* A file of random bytes, at its beginning. */
static int open_random(int flags) {
    int fd = (int)raw_call(SYS_memfd_create, (long)"random", (flags & O_CLOEXEC) ? 1 : 0, 0, 0, 0, 0);
    char block[4096];
    for (size_t done = 0; fd >= 0 && done < DEVICE_BYTES; done += sizeof block) {
        fill_random(block, sizeof block);
        raw_call(SYS_pwrite64, fd, (long)block, sizeof block, (long)done, 0, 0);
    }
    return (int)with_errno(fd);
}

static int open_any(int directory, const char *path, int flags, mode_t mode) {
    if (is_random(path)) return open_random(flags);
    return (int)with_errno(raw_call(SYS_openat, directory, (long)path, flags, (long)mode, 0, 0));
}

#define MODE_OF(flags)                                                                                \
    mode_t mode = 0;                                                                                  \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                          \
        va_list rest;                                                                                 \
        va_start(rest, flags);                                                                        \
        mode = va_arg(rest, mode_t);                                                                  \
        va_end(rest);                                                                                 \
    }

EXPORT int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_any(directory, path, flags, mode);
}

EXPORT int openat64(int directory, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_any(directory, path, flags, mode);
}

EXPORT int __open_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
EXPORT int __openat_2(int directory, const char *path, int flags) { return open_any(directory, path, flags, 0); }
EXPORT int __openat64_2(int directory, const char *path, int flags) { return open_any(directory, path, flags, 0); }

static FILE *open_stream(const char *mode) {
    int fd = open_random(strchr(mode, 'e') ? O_CLOEXEC : 0);
    return fd < 0 ? NULL : fdopen(fd, mode);
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    BEHIND(FILE *, "fopen", const char *, const char *);
    return is_random(path) ? open_stream(mode) : real(path, mode);
}

EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
    BEHIND(FILE *, "fopen64", const char *, const char *);
    return is_random(path) ? open_stream(mode) : real(path, mode);
}
