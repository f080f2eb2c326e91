// <unistd.h>, <fcntl.h>, <sys/uio.h>: descriptors.
#include "place.h"
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

// --- reading and writing

ssize_t __model_read(int fd, void *to, size_t n) {
    struct place *place = __mdl_place(fd);
    if (place != NULL) {
        // Programs use the count as a size and as a bound of loops, so each
        // length is a path of its own.
        ssize_t count = __mdl_place_read(fd, place, to, n, NULL);
        return plain((uint64_t)count) <= 0x7ffff000 ? (ssize_t)pin((uint64_t)count) : count;
    }
    ssize_t got = read(fd, to, n);
    if (got > 0) __chg_clear(to, (size_t)got);
    return got;
}

ssize_t __model___read_chk(int fd, void *to, size_t n, size_t size) {
    if (n > size) __chk_fail();
    return __model_read(fd, to, n);
}

ssize_t __model_pread(int fd, void *to, size_t n, off_t offset) {
    int stream = fd < 0 ? -1 : __chg_fd_stream(fd);
    ssize_t got = pread(fd, to, n, offset);
    if (got > 0) __chg_clear(to, (size_t)got);
    if (stream < 0 || got < 0) return got;
    if (got > 0) {
        offset = (off_t)pin((uint64_t)offset);
        uint64_t length = __chg_concrete_length(stream);
        uint64_t known = (uint64_t)offset < length ? length - (uint64_t)offset : 0;
        __chg_label_input(to, known < (uint64_t)got ? known : (uint64_t)got, stream, (uint64_t)offset);
    }
    uint64_t count = __mdl_left(stream, (uint64_t)offset, n);
    return (ssize_t)plain(count) == got ? (ssize_t)pin(count) : got;
}

ssize_t __model_pread64(int fd, void *to, size_t n, off_t offset) {
    return __model_pread(fd, to, n, offset);
}

ssize_t __model___pread_chk(int fd, void *to, size_t n, off_t offset, size_t size) {
    if (n > size) __chk_fail();
    return __model_pread(fd, to, n, offset);
}

ssize_t __model___pread64_chk(int fd, void *to, size_t n, off_t offset, size_t size) {
    return __model___pread_chk(fd, to, n, offset, size);
}

ssize_t __model_write(int fd, const void *from, size_t n) {
    n = pin(n);
    __mdl_place_spoil(fd);
    ssize_t put = write(fd, from, n);
    if (put > 0) __chg_output(fd, from, (size_t)put);
    return put;
}

// Written out of order: the bytes are in the file that the run leaves, but not
// in the stream of outputs.
ssize_t __model_pwrite(int fd, const void *from, size_t n, off_t offset) {
    n = pin(n);
    offset = (off_t)pin((uint64_t)offset);
    __mdl_place_spoil(fd);
    if (__chg_symbolic(from, n)) __chg_lost_memory(from, n, CHG_LOSS_EXTERNAL_MEMORY);
    return pwrite(fd, from, n, offset);
}

ssize_t __model_pwrite64(int fd, const void *from, size_t n, off_t offset) {
    return __model_pwrite(fd, from, n, offset);
}

static void decide_parts(const struct iovec *parts, int count) {
    for (int i = 0; i < count && i < 1024; i++) decide_memory(&parts[i], sizeof parts[i]);
}

// Parts are read one by one, as far as the bytes go: the real function does
// the same in one step.
ssize_t __model_readv(int fd, const struct iovec *parts, int count) {
    struct place *place = __mdl_place(fd);
    if (place == NULL || count < 0 || count > 1024) {
        ssize_t got = readv(fd, parts, count);
        size_t left = got > 0 ? (size_t)got : 0;
        for (int i = 0; left > 0; i++) {
            size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
            __chg_clear(parts[i].iov_base, n);
            left -= n;
        }
        return got;
    }
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len == 0) continue;
        ssize_t got = __model_read(fd, parts[i].iov_base, parts[i].iov_len);
        ssize_t concrete = (ssize_t)plain((uint64_t)got);
        if (concrete < 0) return i > 0 ? total : got;
        total += got;
        if ((size_t)concrete < parts[i].iov_len) break;
    }
    return total;
}

// As much of the parts as was read in one step holds bytes of the stream from `offset` on.
static ssize_t read_parts(ssize_t got, int fd, const struct iovec *parts, int count, off_t offset) {
    if (got < 0) return got;
    int stream = fd < 0 ? -1 : __chg_fd_stream(fd);
    uint64_t length = stream < 0 ? 0 : __chg_concrete_length(stream);
    uint64_t at = (uint64_t)offset, wanted = 0, left = (uint64_t)got;
    for (int i = 0; i < count; i++) {
        wanted += parts[i].iov_len;
        size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
        if (n == 0) continue;
        __chg_clear(parts[i].iov_base, n);
        uint64_t known = at < length ? length - at : 0;
        if (known > 0) __chg_label_input(parts[i].iov_base, known < n ? known : n, stream, at);
        at += n;
        left -= n;
    }
    if (stream < 0) return got;
    uint64_t all = __mdl_left(stream, (uint64_t)offset, wanted);
    return (ssize_t)plain(all) == got ? (ssize_t)pin(all) : got;
}

ssize_t __model_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    offset = (off_t)decide((uint64_t)offset);
    count = (int)decide((uint32_t)count);
    decide_parts(parts, count);
    if (offset == -1 && flags == 0) return __model_readv(fd, parts, count);
    off_t from = offset;
    struct place *place = offset == -1 ? __mdl_place(fd) : NULL;
    if (place != NULL) from = (off_t)decide(__mdl_position(place));
    return read_parts(preadv2(fd, parts, count, offset, flags), fd, parts, count, from);
}

ssize_t __model_preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    offset = (off_t)decide((uint64_t)offset);
    count = (int)decide((uint32_t)count);
    decide_parts(parts, count);
    return read_parts(preadv(fd, parts, count, offset), fd, parts, count, offset);
}

ssize_t __model_preadv64(int fd, const struct iovec *parts, int count, off_t offset) {
    return __model_preadv(fd, parts, count, offset);
}

ssize_t __model_preadv64v2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return __model_preadv2(fd, parts, count, offset, flags);
}

ssize_t __model_writev(int fd, const struct iovec *parts, int count) {
    __mdl_place_spoil(fd);
    for (int i = 0; i < count && i < 1024; i++) (void)pin(parts[i].iov_len);
    ssize_t put = writev(fd, parts, count);
    size_t left = put > 0 ? (size_t)put : 0;
    for (int i = 0; left > 0; i++) {
        size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
        if (n > 0) __chg_output(fd, parts[i].iov_base, n);
        left -= n;
    }
    return put;
}

// Out of order, as with `pwrite`.
ssize_t __model_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    offset = (off_t)decide((uint64_t)offset);
    if (offset == -1 && flags == 0) return __model_writev(fd, parts, count);
    count = (int)decide((uint32_t)count);
    decide_parts(parts, count);
    __mdl_place_spoil(fd);
    for (int i = 0; i < count && i < 1024; i++)
        if (__chg_symbolic(parts[i].iov_base, parts[i].iov_len))
            __chg_lost_memory(parts[i].iov_base, parts[i].iov_len, CHG_LOSS_EXTERNAL_MEMORY);
    return pwritev2(fd, parts, count, offset, flags);
}

ssize_t __model_pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    offset = (off_t)decide((uint64_t)offset);
    // There it is an error, and no word for the place of the descriptor.
    if (offset < 0) return pwritev(fd, parts, count, offset);
    return __model_pwritev2(fd, parts, count, offset, 0);
}

ssize_t __model_pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
    return __model_pwritev(fd, parts, count, offset);
}

ssize_t __model_pwritev64v2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return __model_pwritev2(fd, parts, count, offset, flags);
}

off_t __model_lseek(int fd, off_t offset, int whence) {
    struct place *place = __mdl_place(fd);
    if (place == NULL) {
        whence = (int)pin((uint32_t)whence);
        if (whence != SEEK_SET) __mdl_lose_length(fd);
        return lseek(fd, (off_t)pin((uint64_t)offset), whence);
    }
    return __mdl_place_seek(fd, place, offset, whence);
}

off_t __model_lseek64(int fd, off_t offset, int whence) { return __model_lseek(fd, offset, whence); }

int __model_ftruncate(int fd, off_t length) {
    __mdl_place_spoil(fd);
    return ftruncate(fd, (off_t)pin((uint64_t)length));
}

int __model_ftruncate64(int fd, off_t length) { return __model_ftruncate(fd, length); }

// --- opening and closing

static int open_path(int directory, const char *path, int flags, mode_t mode) {
    lose_text(path);
    int fd = openat(directory, path, flags, mode);
    char room[PATH_MAX];
    __mdl_place_open(fd, __mdl_path_at(directory, path, room), flags);
    return fd;
}

// The mode is there only if a file may be created.
#define MODE(flags, last)                                          \
    mode_t mode = 0;                                               \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {        \
        va_list rest;                                              \
        va_start(rest, last);                                      \
        mode = va_arg(rest, mode_t);                               \
        va_end(rest);                                              \
    }

int __model_open(const char *path, int flags, ...) {
    MODE(flags, flags)
    return open_path(AT_FDCWD, path, flags, mode);
}

int __model_open64(const char *path, int flags, ...) {
    MODE(flags, flags)
    return open_path(AT_FDCWD, path, flags, mode);
}

int __model_openat(int directory, const char *path, int flags, ...) {
    MODE(flags, flags)
    return open_path(directory, path, flags, mode);
}

int __model_openat64(int directory, const char *path, int flags, ...) {
    MODE(flags, flags)
    return open_path(directory, path, flags, mode);
}

int __model___open_2(const char *path, int flags) { return open_path(AT_FDCWD, path, flags, 0); }
int __model___open64_2(const char *path, int flags) { return open_path(AT_FDCWD, path, flags, 0); }
int __model___openat_2(int directory, const char *path, int flags) { return open_path(directory, path, flags, 0); }
int __model___openat64_2(int directory, const char *path, int flags) { return open_path(directory, path, flags, 0); }

int __model_creat(const char *path, mode_t mode) {
    return open_path(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int __model_creat64(const char *path, mode_t mode) { return __model_creat(path, mode); }

int __model_close(int fd) {
    int result = close(fd);
    if (result == 0) {
        __mdl_place_forget(fd);
        __mdl_bind(fd, -1);
    }
    return result;
}

int __model_dup(int fd) {
    int copy = dup(fd);
    if (copy >= 0) __mdl_place_share(fd, copy);
    return copy;
}

int __model_dup2(int fd, int wanted) {
    int copy = dup2(fd, wanted);
    if (copy >= 0) __mdl_place_share(fd, copy);
    return copy;
}

int __model_dup3(int fd, int wanted, int flags) {
    int copy = dup3(fd, wanted, flags);
    if (copy >= 0) __mdl_place_share(fd, copy);
    return copy;
}

// Every argument of fcntl fits a register, whatever its type.
int __model_fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    int result = fcntl(fd, command, argument);
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) __mdl_place_share(fd, result);
    return result;
}

int __model_fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    return __model_fcntl(fd, command, argument);
}
