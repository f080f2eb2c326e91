// <stdio.h>: streams that are no files. What the library reads behind them is decided by branches.
#include "input.h"

// --- fopencookie: the program's own functions

struct cookie {
    void *own;
    cookie_io_functions_t functions;
};

static ssize_t read_cookie(void *cookie, char *to, size_t n) {
    struct cookie *known = cookie;
    ssize_t got = (ssize_t)decide((uint64_t)known->functions.read(known->own, to, n));
    if (got <= 0 || (size_t)got > n) return got;
    decide_memory(to, (size_t)got);
    __chg_clear(to, (size_t)got);
    return got;
}

static ssize_t write_cookie(void *cookie, const char *from, size_t n) {
    struct cookie *known = cookie;
    return (ssize_t)decide((uint64_t)known->functions.write(known->own, from, n));
}

static int seek_cookie(void *cookie, off64_t *at, int whence) {
    struct cookie *known = cookie;
    int result = (int)decide((uint32_t)known->functions.seek(known->own, at, whence));
    decide_memory(at, sizeof *at);
    return result;
}

static int close_cookie(void *cookie) {
    struct cookie known = *(struct cookie *)cookie;
    free(cookie);
    return known.functions.close == NULL ? 0 : (int)decide((uint32_t)known.functions.close(known.own));
}

FILE *__model_fopencookie(void *own, const char *mode, cookie_io_functions_t functions) {
    lose_text(mode);
    struct cookie *cookie = malloc(sizeof *cookie);
    if (cookie == NULL) return NULL;
    *cookie = (struct cookie){own, functions};
    cookie_io_functions_t ours = {.close = close_cookie};
    if (functions.read != NULL) ours.read = read_cookie;
    if (functions.write != NULL) ours.write = write_cookie;
    if (functions.seek != NULL) ours.seek = seek_cookie;
    FILE *file = fopencookie(cookie, mode, ours);
    if (file == NULL) free(cookie);
    else __mdl_input_drop(file);
    return file;
}

// --- fmemopen: memory of the program's, which it may change while the stream is open

static struct memory {
    FILE *file;
    const void *from;
    size_t n;
    struct memory *next;
} *memories;

FILE *__model_fmemopen(void *from, size_t n, const char *mode) {
    lose_text(mode);
    n = decide(n);
    from = (void *)decide((uintptr_t)from);
    FILE *file = fmemopen(from, n, mode);
    if (file == NULL) return NULL;
    __mdl_input_drop(file);
    struct memory *memory = from != NULL ? malloc(sizeof *memory) : NULL;
    if (memory != NULL) {
        *memory = (struct memory){file, from, n, memories};
        memories = memory;
    }
    return file;
}

bool __mdl_reads_memory(FILE *file) {
    for (struct memory *memory = memories; memory != NULL; memory = memory->next) {
        if (memory->file != file) continue;
        decide_memory(memory->from, memory->n);
        return true;
    }
    return false;
}

void __mdl_memory_drop(FILE *file) {
    for (struct memory **link = &memories; *link != NULL; link = &(*link)->next) {
        struct memory *memory = *link;
        if (memory->file != file) continue;
        *link = memory->next;
        free(memory);
        return;
    }
}
