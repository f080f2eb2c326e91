/* What happens when the shim is loaded. */
#define _GNU_SOURCE
#include "shim.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool duty_processes, duty_devices;

void *behind(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        static const char message[] = "changeling: the C library lacks a function that the program calls\n";
        raw_call(1, 2, (long)message, sizeof message - 1, 0, 0, 0);
        _exit(126);
    }
    return found;
}

/* The loader leaves time stamps on the stack, where a program that reads uninitialised variables finds them. */
static __attribute__((noinline)) void scrub_stack(void) {
    char room[32 << 10];
    memset(room, 0, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

__attribute__((constructor)) static void start(void) {
    scrub_stack();
    const char *duties = getenv("CHANGELING_SHIM");
    duty_processes = duties && strchr(duties, 'p');
    duty_devices = duties && strchr(duties, 'r');
    /* Sixteen bytes from the kernel for whoever wants a seed. The library has taken its own share before. */
    void *seed = (void *)getauxval(AT_RANDOM);
    if (seed) memset(seed, 0x5a, 16);
}
