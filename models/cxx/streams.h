// What the models of C++ streams share. As in C, a model of the symbol `f` is
// called `__model_f`. <iostream> is not included: it would construct the
// streams once more, at a time that is not the program's.
#ifndef STREAMS_H
#define STREAMS_H

#include <cstdint>
#include <cstdio>
#include <istream>
#include <locale>
#include <ostream>
#include <string>

namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
}

extern "C" {
#include "../chg.h"

// Standard input is read past the models from now on.
void __chg_untraced_input_now(void);

int __model_getc(FILE *);
int __model_ungetc(int, FILE *);
int __model_fputc(int, FILE *);
size_t __model_fwrite(const void *, size_t, size_t, FILE *);
int __model_fflush(FILE *);
}

#endif
