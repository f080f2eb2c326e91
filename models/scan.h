// The formats of the scanf family.
#ifndef SCAN_H
#define SCAN_H

#include "input.h"

// Where characters come from: a text, a FILE that reads a symbolic stream, or
// any other FILE.
struct source {
    const unsigned char *text;
    struct input *input;
    FILE *file;
    // Characters taken so far; the next one's place in a text.
    uint64_t taken;
    // A FILE came to its end.
    bool ended;
    // Characters seen, and errno when the last of them was seen: running into
    // the end a second time brings that errno back.
    uint64_t seen;
    int seen_errno;
};

// `gnu`: %as, %aS and %a[ allocate, as in programs that do not ask for C99.
int __mdl_scan(struct source *source, const char *format, va_list arguments, bool gnu);

#endif
