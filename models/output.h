// Streams of <stdio.h> that are written to.
#ifndef OUTPUT_H
#define OUTPUT_H

#include "input.h"

// Descriptor behind a FILE that is about to be written to; -1 if it has none.
int __mdl_output_fd(FILE *file);

// Without a descriptor it goes to memory.
static inline void report(int fd, const void *p, size_t n) {
    if (n > 0) __chg_output(fd, p, n);
}

#endif
