// Positions of descriptors that stand for symbolic streams.
#ifndef PLACE_H
#define PLACE_H

#include "model.h"
#include <limits.h>
#include <sys/types.h>

// Where the next read begins. `at` is an offset in the stream and may be
// symbolic after a seek. If `clamped`, the position is min(at, length): after
// reading `n` bytes `at` has grown by `n`, however many there were, so that
// for ordinary programs it stays concrete while the position does not.
struct place {
    int stream;
    int users;
    bool clamped;
    uint64_t at;
    // Offset of the descriptor as the kernel knows it.
    uint64_t real;
};

// A FILE that is known not to read a symbolic stream. Forgotten whenever a
// descriptor changes its meaning.
extern void *__mdl_plain_file;
// Says what a descriptor stands for from now on.
void __mdl_bind(int fd, int stream);

// Place of a descriptor that stands for a stream; NULL for any other.
struct place *__mdl_place(int fd);
// The descriptor was opened on, or became a copy of, something else.
void __mdl_place_forget(int fd);
void __mdl_place_share(int from, int to);
void __mdl_place_open(int fd, const char *path, int flags);
// A name by which a path below a directory's descriptor can be found from anywhere: the path itself, or in `room`.
const char *__mdl_path_at(int directory, const char *path, char room[PATH_MAX]);
// What is asked about a file that is only written to, but not from its beginning, depends on how long it was.
void __mdl_lose_length(int fd);

// A read of real bytes, labelled, and the symbolic number of them. The offset
// of the first byte is stored if asked for.
ssize_t __mdl_place_read(int fd, struct place *place, void *to, size_t n, uint64_t *first);
// min(n, what is left of the stream behind the place), as an expression.
uint64_t __mdl_left(int stream, uint64_t at, uint64_t n);
uint64_t __mdl_position(const struct place *place);
int64_t __mdl_place_seek(int fd, struct place *place, int64_t offset, int whence);
// The program writes to the stream's file: from now on it is an ordinary file.
void __mdl_place_spoil(int fd);

#endif
