// A runtime for tests: no labels, but models are told that there are some.
#ifndef NATIVE_H
#define NATIVE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../chg.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whatever a model is told, its result must be that of the real function.
enum mode { CONCRETE, SYMBOLIC, RANDOM };
void native_mode(enum mode mode);

// Streams of up to 64 KiB; the number is the stream's.
void native_stream(int stream, const char *path, const void *bytes, size_t n);
void native_bind(int fd, int stream);

// What models reported for a descriptor.
const char *native_output(int fd, size_t *n);
void native_output_clear(int fd);
// Numbers reported by __chg_output_value since the last clear.
size_t native_output_values(void);
const char *native_observed(void);

// Deterministic random numbers, apart from those of the runtime.
uint32_t next_random(void);
static inline uint32_t below_random(uint32_t n) { return next_random() % n; }

// Ends the test at the first mismatch.
__attribute__((format(printf, 1, 2), noreturn)) void mismatch(const char *text, ...);
#define CHECK(condition, ...)                  \
    do {                                       \
        if (!(condition)) mismatch(__VA_ARGS__); \
        checks++;                              \
    } while (0)
extern size_t checks;

#endif
