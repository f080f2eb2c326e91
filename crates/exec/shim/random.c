/* Randomness: a counter, well mixed. Every process starts with the same one. */
#define _GNU_SOURCE
#include "shim.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

static _Atomic uint64_t drawn;

static uint64_t draw(void) {
    uint64_t z = (atomic_fetch_add(&drawn, 1) + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void fill_random(void *buffer, size_t size) {
    for (unsigned char *at = buffer; size > 0;) {
        uint64_t word = draw();
        size_t part = size < sizeof word ? size : sizeof word;
        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
}

EXPORT ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    (void)flags;
    fill_random(buffer, size);
    return (ssize_t)size;
}

EXPORT int getentropy(void *buffer, size_t size) {
    if (size > 256) {
        errno = EIO;
        return -1;
    }
    fill_random(buffer, size);
    return 0;
}

EXPORT uint32_t arc4random(void) { return (uint32_t)draw(); }

EXPORT void arc4random_buf(void *buffer, size_t size) { fill_random(buffer, size); }

EXPORT uint32_t arc4random_uniform(uint32_t bound) {
    if (bound < 2) return 0;
    /* Numbers below this would make the first remainders likelier. */
    uint32_t least = -bound % bound, number;
    do number = (uint32_t)draw();
    while (number < least);
    return number % bound;
}

/* std::random_device of libstdc++ asks the processor directly; these are its two ways to a number. */
EXPORT unsigned random_device_value(void *self) __asm__("_ZNSt13random_device9_M_getvalEv");
EXPORT unsigned random_device_value(void *self) {
    (void)self;
    return (unsigned)draw();
}

EXPORT unsigned random_device_old(void *self) __asm__("_ZNSt13random_device16_M_getval_pretr1Ev");
EXPORT unsigned random_device_old(void *self) {
    (void)self;
    return (unsigned)draw();
}
