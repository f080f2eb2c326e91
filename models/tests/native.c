#include "native.h"
#include <sys/stat.h>
#include <unistd.h>

size_t checks;

static enum mode mode;
static uint64_t label_state = 88172645463325252u;
static uint32_t test_state = 2463534242u;

static int verdict(void) {
    if (mode == CONCRETE) return 0;
    if (mode == SYMBOLIC) return 1;
    label_state ^= label_state << 13;
    label_state ^= label_state >> 7;
    label_state ^= label_state << 17;
    return (label_state >> 20) & 1;
}

void native_mode(enum mode wanted) { mode = wanted; }

uint32_t next_random(void) {
    test_state ^= test_state << 13;
    test_state ^= test_state >> 17;
    test_state ^= test_state << 5;
    return test_state;
}

void mismatch(const char *text, ...) {
    va_list list;
    va_start(list, text);
    static const char *const names[] = {"concrete", "symbolic", "random"};
    fflush(stdout);
    fprintf(stderr, "MISMATCH (%s): ", names[mode]);
    vfprintf(stderr, text, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(1);
}

// --- streams

#define STREAMS 8
#define FDS 256
static struct {
    char path[64];
    uint64_t length;
    unsigned char bytes[65536];
} streams[STREAMS];
static int bound[FDS];

void native_stream(int stream, const char *path, const void *bytes, size_t n) {
    snprintf(streams[stream].path, sizeof streams[stream].path, "%s", path);
    memcpy(streams[stream].bytes, bytes, n);
    streams[stream].length = n;
}

void native_bind(int fd, int stream) { bound[fd] = stream + 1; }

int __chg_fd_stream(int fd) {
    if (fd < 0 || fd >= FDS) return -1;
    return bound[fd] - 1;
}

void __chg_reads_file(void) {}
void __chg_reads_system_file(const char *path) { (void)path; }
void __chg_maps_file(void) {}
void __chg_lose_input(void) {}
void __chg_hand_over(const void *p) { (void)p; }

int __chg_path_stream(const char *path) {
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].path[0] != 0 && strcmp(streams[i].path, path) == 0) return i;
    return -1;
}

void __chg_fd_bind(int fd, int stream) {
    if (fd < 0 || fd >= FDS) mismatch("descriptor %d bound", fd);
    bound[fd] = stream + 1;
}

uint64_t __chg_stream_length(int stream) { return streams[stream].length; }
uint64_t __chg_concrete_length(int stream) { return streams[stream].length; }

// Labels must be those of the bytes that are there.
void __chg_label_input(void *p, size_t n, int stream, uint64_t offset) {
    if (offset + n > streams[stream].length) mismatch("bytes %zu at %lu are not in stream %d", n, offset, stream);
    if (memcmp(p, streams[stream].bytes + offset, n) != 0) mismatch("other bytes than those labelled");
}

// --- labels

uint32_t __chg_label(uint64_t v) {
    (void)v;
    return (uint32_t)verdict();
}

// Reads the memory, so that the address sanitizer sees what models ask about.
static unsigned touch(const void *p, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((const unsigned char *)p)[i];
    return sum;
}

static volatile unsigned sink;

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
// Models may take it that labelled memory exists.
static bool exists(const void *p, size_t n) { return __asan_region_is_poisoned((void *)(uintptr_t)p, n) == NULL; }
#else
static bool exists(const void *p, size_t n) {
    (void)p, (void)n;
    return true;
}
#endif

int __chg_symbolic(const void *p, size_t n) {
    if (n == 1 && !exists(p, n)) return 0;
    return n > 0 && verdict();
}

void __chg_clear(const void *p, size_t n) {
    sink += n > 0 ? ((const unsigned char *)p)[0] + ((const unsigned char *)p)[n - 1] : 0;
}

void __chg_copy(void *dst, const void *src, size_t n) { sink += touch(dst, n) + touch(src, n); }

uint64_t __chg_lost(uint64_t v, int reason) {
    (void)reason;
    return v;
}

void __chg_lost_memory(const void *p, size_t n, int reason) {
    (void)reason;
    sink += touch(p, n);
}

// --- outputs

static struct {
    char *bytes;
    size_t length, capacity;
} outputs[FDS];
static size_t values;

void __chg_output(int fd, const void *p, size_t n) {
    if (fd < 0) return;
    if (fd >= FDS) mismatch("output to descriptor %d", fd);
    if (outputs[fd].length + n > outputs[fd].capacity) {
        outputs[fd].capacity = 2 * (outputs[fd].length + n);
        outputs[fd].bytes = realloc(outputs[fd].bytes, outputs[fd].capacity);
    }
    memcpy(outputs[fd].bytes + outputs[fd].length, p, n);
    outputs[fd].length += n;
}

void __chg_output_value(int fd, uint64_t value, int bits, const char *conversion, const char *text, size_t n) {
    if (bits < 64 && value >> bits != 0) mismatch("value %lx has more than %d bits", value, bits);
    char *expected;
    int length = asprintf(&expected, conversion, value);
    if (length < 0 || (size_t)length != n || memcmp(text, expected, n) != 0)
        mismatch("conversion %s of %lu is '%s', reported '%.*s'", conversion, value, expected, (int)n, text);
    free(expected);
    values++;
    __chg_output(fd, text, n);
}

const char *native_output(int fd, size_t *n) {
    *n = outputs[fd].length;
    return outputs[fd].bytes;
}

void native_output_clear(int fd) {
    outputs[fd].length = 0;
    values = 0;
}

size_t native_output_values(void) { return values; }

static char observed[4096];

void __chg_observe(const char *name, uint64_t value) {
    size_t used = strlen(observed);
    snprintf(observed + used, sizeof observed - used, "%s=%lld\n", name, (long long)value);
}

const char *native_observed(void) { return observed; }
