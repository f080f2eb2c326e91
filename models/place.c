#include "place.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define FDS 1024

static struct place *places[FDS];
// The stream, plus one, of a file that is written to from where it ended.
static uint16_t longer[FDS];
void *__mdl_plain_file;

void __mdl_bind(int fd, int stream) {
    __chg_fd_bind(fd, stream);
    __mdl_plain_file = NULL;
}

static uint64_t real_offset(int fd) {
    int saved = errno;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    errno = saved;
    return offset < 0 ? 0 : (uint64_t)offset;
}

struct place *__mdl_place(int fd) {
    if (fd < 0) return NULL;
    int stream = __chg_fd_stream(fd);
    if (stream < 0 || fd >= FDS) return NULL;
    struct place *place = places[fd];
    if (place != NULL && place->stream != stream) {
        __mdl_place_forget(fd);
        place = NULL;
    }
    uint64_t real = real_offset(fd);
    if (place == NULL) {
        place = malloc(sizeof *place);
        if (place == NULL) return NULL;
        *place = (struct place){.stream = stream, .users = 1, .at = real, .real = real};
        places[fd] = place;
    } else if (place->real != real) {
        // Something that is not modelled has moved it.
        place->at = real;
        place->clamped = false;
        place->real = real;
    }
    return place;
}

void __mdl_place_forget(int fd) {
    if (fd < 0 || fd >= FDS) return;
    longer[fd] = 0;
    if (places[fd] == NULL) return;
    if (--places[fd]->users == 0) free(places[fd]);
    places[fd] = NULL;
}

void __mdl_place_share(int from, int to) {
    if (from == to) return;
    __mdl_place_forget(to);
    if (from >= 0 && from < FDS && to >= 0 && to < FDS) longer[to] = longer[from];
    struct place *place = __mdl_place(from);
    __mdl_bind(to, place != NULL ? place->stream : -1);
    if (place == NULL || to < 0 || to >= FDS) return;
    places[to] = place;
    place->users++;
}

void __mdl_place_open(int fd, const char *path, int flags) {
    if (fd < 0) return;
    __mdl_place_forget(fd);
    bool readable = (flags & O_ACCMODE) != O_WRONLY && (flags & O_TRUNC) == 0;
    int stream = readable ? __chg_path_stream(path) : -1;
    if ((flags & (O_ACCMODE | O_TRUNC)) == O_WRONLY && fd < FDS) longer[fd] = (uint16_t)(__chg_path_stream(path) + 1);
    if (readable && stream < 0) {
        __chg_reads_file();
        __chg_reads_system_file(path);
    }
    __mdl_bind(fd, stream);
}

const char *__mdl_path_at(int directory, const char *path, char room[PATH_MAX]) {
    if (directory == AT_FDCWD || path == NULL || path[0] == '/') return path;
    int n = snprintf(room, PATH_MAX, "/proc/self/fd/%d/%s", directory, path);
    return n < PATH_MAX ? room : path;
}

void __mdl_lose_length(int fd) {
    if (fd >= 0 && fd < FDS && longer[fd] != 0)
        (void)__chg_lost(__chg_stream_length(longer[fd] - 1), CHG_LOSS_OVERWRITTEN);
}

uint64_t __mdl_left(int stream, uint64_t at, uint64_t n) {
    uint64_t length = __chg_stream_length(stream);
    uint64_t left = length;
    if (is_labelled(at) || at != 0) left = length > at ? length - at : 0;
    return left < n ? left : n;
}

uint64_t __mdl_position(const struct place *place) {
    if (!place->clamped) return place->at;
    uint64_t length = __chg_stream_length(place->stream);
    return place->at < length ? place->at : length;
}

ssize_t __mdl_place_read(int fd, struct place *place, void *to, size_t n, uint64_t *first) {
    ssize_t got = read(fd, to, n);
    uint64_t start = place->real;
    if (first != NULL) *first = start;
    if (got < 0) return got;
    place->real = start + (uint64_t)got;
    if (got > 0) {
        // Which bytes these are depends on where the program has seeked to.
        place->at = pin(place->at);
        uint64_t length = __chg_concrete_length(place->stream);
        uint64_t known = start < length ? length - start : 0;
        if (known > (uint64_t)got) known = (uint64_t)got;
        __chg_clear(to, (size_t)got);
        __chg_label_input(to, known, place->stream, start);
    }

    if (!place->clamped && (is_labelled(place->at) || place->at != 0)) {
        // Behind the end nothing is read and the place stays.
        if (place->at > __chg_stream_length(place->stream)) return got;
    }
    // The kernel's limit for one read.
    uint64_t most = 0x7ffff000;
    uint64_t wanted = n < most ? n : most;
    uint64_t count = __mdl_left(place->stream, place->at, wanted);
    place->at += wanted;
    place->clamped = true;
    if ((ssize_t)plain(count) != got) {
        // The file is no longer what the stream says.
        place->at = place->real;
        place->clamped = false;
        return got;
    }
    return (ssize_t)count;
}

int64_t __mdl_place_seek(int fd, struct place *place, int64_t offset, int whence) {
    whence = (int)pin((uint64_t)(int64_t)whence);
    if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) {
        // Where there is data: that depends on the length.
        (void)__chg_lost(__chg_stream_length(place->stream), CHG_LOSS_EXTERNAL_CALL);
        off_t moved = lseek(fd, (off_t)decide((uint64_t)offset), whence);
        if (moved >= 0) *place = (struct place){.stream = place->stream, .users = place->users, .at = (uint64_t)moved, .real = (uint64_t)moved};
        return moved;
    }
    int64_t origin = 0;
    if (whence == SEEK_CUR) origin = (int64_t)__mdl_position(place);
    if (whence == SEEK_END) origin = (int64_t)__chg_stream_length(place->stream);
    off_t moved = lseek(fd, offset, whence);
    int64_t target;
    if (__builtin_add_overflow(origin, offset, &target)) return moved;
    if (target < 0 || moved < 0) return moved;
    if ((off_t)plain((uint64_t)target) != moved) target = moved;
    place->real = (uint64_t)moved;
    if (whence == SEEK_CUR && !is_labelled((uint64_t)offset) && offset == 0) return target;
    place->at = (uint64_t)target;
    place->clamped = false;
    return target;
}

void __mdl_place_spoil(int fd) {
    int stream = fd < 0 ? -1 : __chg_fd_stream(fd);
    if (LIKELY(stream < 0)) return;
    int saved = errno;
    int flags = fcntl(fd, F_GETFL);
    errno = saved;
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return;
    (void)__chg_lost(__chg_stream_length(stream), CHG_LOSS_OVERWRITTEN);
    __mdl_place_forget(fd);
    __mdl_bind(fd, -1);
}
