// <sys/stat.h>, <sys/mman.h>: symbolic files by size and as memory.
#include "place.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int with_size(int result, struct stat *to, int stream) {
    if (result != 0) return result;
    __chg_clear(to, sizeof *to);
    if (stream < 0) return result;
    uint64_t length = __chg_stream_length(stream);
    if ((off_t)plain(length) == to->st_size) to->st_size = (off_t)length;
    // It was written to since.
    else (void)__chg_lost(length, CHG_LOSS_OVERWRITTEN);
    return result;
}

static int path_stream(int directory, const char *path) {
    lose_text(path);
    char room[PATH_MAX];
    return __chg_path_stream(__mdl_path_at(directory, path, room));
}

int __model_fstat(int fd, struct stat *to) {
    __mdl_lose_length(fd);
    return with_size(fstat(fd, to), to, fd < 0 ? -1 : __chg_fd_stream(fd));
}

int __model_stat(const char *path, struct stat *to) {
    return with_size(stat(path, to), to, path_stream(AT_FDCWD, path));
}

int __model_lstat(const char *path, struct stat *to) {
    return with_size(lstat(path, to), to, path_stream(AT_FDCWD, path));
}

int __model_fstatat(int directory, const char *path, struct stat *to, int flags) {
    int result = fstatat(directory, path, to, flags);
    int stream = (flags & AT_EMPTY_PATH) && path[0] == 0 && directory >= 0 ? __chg_fd_stream(directory)
                                                                           : path_stream(directory, path);
    return with_size(result, to, stream);
}

int __model_statx(int directory, const char *path, int flags, unsigned mask, struct statx *to) {
    int result = statx(directory, path, flags, mask, to);
    if (result != 0) return result;
    __chg_clear(to, sizeof *to);
    bool itself = path == NULL || ((flags & AT_EMPTY_PATH) && path[0] == 0);
    int stream = !itself ? path_stream(directory, path) : directory >= 0 ? __chg_fd_stream(directory) : -1;
    if (stream < 0) return result;
    uint64_t length = __chg_stream_length(stream);
    if (plain(length) == to->stx_size) to->stx_size = length;
    else (void)__chg_lost(length, CHG_LOSS_OVERWRITTEN);
    return result;
}

// On this platform the 64-bit structure is the same.
int __model_fstat64(int fd, struct stat *to) { return __model_fstat(fd, to); }
int __model_stat64(const char *path, struct stat *to) { return __model_stat(path, to); }
int __model_lstat64(const char *path, struct stat *to) { return __model_lstat(path, to); }
int __model_fstatat64(int directory, const char *path, struct stat *to, int flags) {
    return __model_fstatat(directory, path, to, flags);
}

// Names that older headers use.
int __model___fxstat(int version, int fd, struct stat *to) {
    (void)version;
    return __model_fstat(fd, to);
}
int __model___xstat(int version, const char *path, struct stat *to) {
    (void)version;
    return __model_stat(path, to);
}
int __model___lxstat(int version, const char *path, struct stat *to) {
    (void)version;
    return __model_lstat(path, to);
}

void *__model_mmap(void *where, size_t n, int protection, int flags, int fd, off_t offset) {
    // A size is often that of the file. What matters is only whether there is
    // any: the pages behind the end are not for the program to use.
    if (n == 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    n = plain(n);
    offset = (off_t)pin((uint64_t)offset);
    void *memory = mmap(where, n, protection, flags, fd, offset);
    if (memory == MAP_FAILED) return memory;
    __chg_clear(memory, n);
    if ((flags & MAP_ANONYMOUS) || fd < 0) return memory;
    if ((flags & MAP_SHARED) && (protection & PROT_WRITE)) __chg_maps_file();
    int stream = __chg_fd_stream(fd);
    if (stream < 0) return memory;
    // Behind the end of the file the last page holds zeros.
    uint64_t length = pin(__chg_stream_length(stream));
    if ((uint64_t)offset >= length) return memory;
    uint64_t known = length - (uint64_t)offset;
    __chg_label_input(memory, known < n ? known : n, stream, (uint64_t)offset);
    return memory;
}

void *__model_mmap64(void *where, size_t n, int protection, int flags, int fd, off_t offset) {
    return __model_mmap(where, n, protection, flags, fd, offset);
}

// Labels of memory that is gone do no harm: mmap clears what it hands out.
int __model_munmap(void *memory, size_t n) { return munmap((void *)decide((uintptr_t)memory), decide(n)); }
