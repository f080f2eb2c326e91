// Streams of <stdio.h> that read a symbolic stream: their buffer and position
// are kept here instead of in the FILE.
#ifndef INPUT_H
#define INPUT_H

#include "place.h"
#include <stdio.h>

struct input {
    FILE *file;
    int fd;
    int stream;
    // Offset of the next byte in the stream; see `struct place`.
    uint64_t at;
    bool clamped;
    // Whether the last block that was asked for was cut short, if that is
    // symbolic and nothing has happened since.
    unsigned cut;
    // buffer[0 .. end - base] are the bytes base .. end; the descriptor is at
    // `end`.
    uint64_t base;
    uint64_t end;
    size_t chunk;
    unsigned char *buffer;
    // Whether it is the program's, which may look into it.
    bool given;
    // Characters pushed back, the next one last. The first `returned` of them
    // are the very characters read before, which for the library is a step
    // back in its buffer.
    unsigned char *pushed;
    size_t pushed_count;
    size_t returned;
    size_t pushed_capacity;
    struct input *next;
};

// The flags for "end of file" and "error" stay in the FILE, where macros of
// <stdio.h> look for them.
#define EOF_FLAG 0x10
#define ERROR_FLAG 0x20

// NULL if the FILE does not read a symbolic stream.
struct input *__mdl_input(FILE *file);
// Puts the descriptor where the program believes it is.
void __mdl_input_sync(struct input *input);
// Forget what is known of a FILE that is closed, reopened or written to.
void __mdl_input_drop(FILE *file);

// Whether a FILE reads memory; branches decide what is there.
bool __mdl_reads_memory(FILE *file);
void __mdl_memory_drop(FILE *file);

// The next byte, false at the end: one branch on the length. Whether a byte is
// there is concrete, so that nobody needs to compare a symbolic one with EOF.
bool __mdl_input_next(struct input *input, unsigned char *byte);
// False if there is no memory for it.
bool __mdl_input_unget(struct input *input, unsigned char c);
// Up to `n` bytes without a branch; the symbolic number of them.
size_t __mdl_input_read(struct input *input, void *to, size_t n);

int64_t __mdl_input_tell(struct input *input);
int __mdl_input_seek(struct input *input, int64_t offset, int whence);

#endif
