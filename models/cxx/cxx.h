// What the models of the C++ library share. As in C, a model of the symbol `f`
// is called `__model_f`. The real one is `__real_f`, because here calls of `f`
// are calls of its model. <iostream> is not included: it would construct the
// streams once more, at a time that is not the program's.
#ifndef CXX_H
#define CXX_H

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <istream>
#include <locale>
#include <ostream>
#include <string>

namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
} // namespace std

extern "C" {
#include "../model.h"

// See place.h and stream_support.c.
void __mdl_place_open(int fd, const char *path, int flags);
void __mdl_place_close(int fd);
int64_t __mdl_bytes_left(int fd, int64_t known);
bool __mdl_print_number(FILE *, uint64_t value, char conversion, bool left, bool plus, bool alternate, int width);
}

// References to classes come back as in C++; nobody calls models from C.
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"

#endif
