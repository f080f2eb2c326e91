/* Names of temporary files: the library draws them from randomness that cannot be replaced from outside. */
#define _GNU_SOURCE
#include "shim.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 6
#define ATTEMPTS 1000

enum what { NAME, DIRECTORY, OPEN_FILE };

static long make(enum what what, const char *path, int flags) {
    struct stat info;
    switch (what) {
    case DIRECTORY: return raw_call(SYS_mkdir, (long)path, 0700, 0, 0, 0, 0);
    case OPEN_FILE: return raw_call(SYS_openat, AT_FDCWD, (long)path, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600, 0, 0);
    default: return lstat(path, &info) == 0 ? -EEXIST : 0;
    }
}

/* Fills the six X before the suffix until something new could be made. */
static long create(enum what what, char *pattern, int suffix, int flags) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t length = strlen(pattern);
    if (suffix < 0 || length < PLACES + (size_t)suffix) return -EINVAL;
    char *places = pattern + length - PLACES - suffix;
    if (memcmp(places, "XXXXXX", PLACES) != 0) return -EINVAL;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        unsigned char drawn[PLACES];
        fill_random(drawn, sizeof drawn);
        for (int i = 0; i < PLACES; i++) places[i] = letters[drawn[i] % (sizeof letters - 1)];
        long result = make(what, pattern, flags);
        if (result != -EEXIST) return result;
    }
    return -EEXIST;
}

EXPORT int mkstemp(char *pattern) { return (int)with_errno(create(OPEN_FILE, pattern, 0, 0)); }
EXPORT int mkstemp64(char *pattern) { return (int)with_errno(create(OPEN_FILE, pattern, 0, 0)); }
EXPORT int mkostemp(char *pattern, int flags) { return (int)with_errno(create(OPEN_FILE, pattern, 0, flags)); }
EXPORT int mkostemp64(char *pattern, int flags) { return (int)with_errno(create(OPEN_FILE, pattern, 0, flags)); }
EXPORT int mkstemps(char *pattern, int suffix) { return (int)with_errno(create(OPEN_FILE, pattern, suffix, 0)); }
EXPORT int mkstemps64(char *pattern, int suffix) { return (int)with_errno(create(OPEN_FILE, pattern, suffix, 0)); }
EXPORT int mkostemps(char *pattern, int suffix, int flags) { return (int)with_errno(create(OPEN_FILE, pattern, suffix, flags)); }
EXPORT int mkostemps64(char *pattern, int suffix, int flags) { return (int)with_errno(create(OPEN_FILE, pattern, suffix, flags)); }
EXPORT char *mkdtemp(char *pattern) { return with_errno(create(DIRECTORY, pattern, 0, 0)) < 0 ? NULL : pattern; }

EXPORT char *mktemp(char *pattern) {
    if (with_errno(create(NAME, pattern, 0, 0)) < 0) *pattern = 0;
    return pattern;
}

EXPORT char *tmpnam(char *buffer) {
    static char own[L_tmpnam];
    char *name = buffer ? buffer : own;
    snprintf(name, L_tmpnam, "%s/fileXXXXXX", P_tmpdir);
    return create(NAME, name, 0, 0) < 0 ? NULL : name;
}

EXPORT char *tempnam(const char *directory, const char *prefix) {
    const char *chosen = getenv("TMPDIR");
    if (!chosen || access(chosen, W_OK) != 0) chosen = directory && access(directory, W_OK) == 0 ? directory : P_tmpdir;
    char *name = NULL;
    if (asprintf(&name, "%s/%.5sXXXXXX", chosen, prefix ? prefix : "file") < 0) return NULL;
    if (with_errno(create(NAME, name, 0, 0)) >= 0) return name;
    free(name);
    return NULL;
}

/* The library would make it in /tmp, which nobody can write to here. */
EXPORT FILE *tmpfile(void) {
    int fd = (int)with_errno(raw_call(SYS_memfd_create, (long)"tmpfile", 0, 0, 0, 0, 0));
    if (fd < 0) return NULL;
    FILE *file = fdopen(fd, "w+");
    if (!file) raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return file;
}

EXPORT FILE *tmpfile64(void) { return tmpfile(); }
