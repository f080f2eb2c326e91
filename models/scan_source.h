// Characters for the scanf family, one at a time. The end of a text is its
// NUL, which is not a character of its own: no directive but those that match
// anything needs to ask whether it is there.
#ifndef SCAN_SOURCE_H
#define SCAN_SOURCE_H

#include "scan.h"

static inline int source_get(struct source *source) {
    uint64_t at = source->taken++;
    if (source->text != NULL) {
        if (source->taken > source->seen) {
            source->seen = source->taken;
            source->seen_errno = errno;
        }
        return source->text[at];
    }
    if (source->ended) {
        errno = source->seen_errno;
        return EOF;
    }
    int c;
    if (source->input != NULL) {
        unsigned char byte = 0;
        source->ended = !__mdl_input_next(source->input, &byte);
        c = source->ended ? EOF : byte;
    } else {
        c = getc(source->file);
        source->ended = c == EOF;
    }
    source->seen_errno = errno;
    return c;
}

// Of the last character taken.
static inline bool source_is_end(const struct source *source, int c) {
    if (source->text == NULL) return source->ended;
    if (c != 0) return false;
    errno = source->seen_errno;
    return true;
}

// Undoes the last source_get.
static inline void source_unget(struct source *source, int c) {
    source->taken--;
    if (source->text != NULL || source->ended) return;
    if (source->input != NULL) __mdl_input_unget(source->input, (unsigned char)c);
    else ungetc(c, source->file);
}

#endif
