// The characters of a floating-point number, as scanf takes them.
#ifndef SCAN_FLOAT_H
#define SCAN_FLOAT_H

#include "scan.h"

// A new text for strtod; NULL if what is there cannot be a number. `width` is
// -1 if there is none.
char *__mdl_scan_float(struct source *source, int width);

#endif
