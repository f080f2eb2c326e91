// The formats of the printf family.
#ifndef FORMAT_H
#define FORMAT_H

#include "model.h"

// Where formatted text goes besides the real output.
enum format_mode {
    // Only look whether anything is symbolic.
    FORMAT_PROBE,
    // Report to a descriptor what was written there.
    FORMAT_REPORT,
    // Build the text in memory, digits of symbolic numbers as expressions.
    FORMAT_BUILD,
};

struct format {
    enum format_mode mode;
    // FORMAT_PROBE: the answer.
    bool symbolic;
    // FORMAT_REPORT.
    int fd;
    // FORMAT_BUILD.
    char *text;
    size_t capacity;
    // Bytes so far: how many in this run, and as an expression (the number of
    // digits of a symbolic number is symbolic).
    size_t length;
    uint64_t count;
    // errno on entry, for %m.
    int number;
};

// Goes through the format. False if it holds something that cannot be
// followed (wide characters, an unknown conversion): the text up to there has
// been dealt with.
bool __mdl_format(struct format *format, const char *text, va_list arguments);

#endif
