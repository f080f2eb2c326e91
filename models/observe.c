// changeling.h: values that a program lets the outside see.
#include "model.h"
#include <stdio.h>
#include <unistd.h>

// Descriptor for the lines, -1 if nobody listens.
static int observer(void) {
    const char *text = getenv("CHANGELING_OBSERVE_FD");
    if (text == NULL || *text == 0) return -1;
    char *end;
    long fd = strtol(text, &end, 10);
    return *end == 0 && fd >= 0 && fd < 1 << 20 ? (int)fd : -1;
}

void __model_changeling_observe(const char *name, long long value) {
    int saved = errno;
    int fd = observer();
    if (fd >= 0) dprintf(fd, "%s=%lld\n", name, value);
    errno = saved;
    __chg_observe(name, (uint64_t)value);
}

// On the wire the bytes are hexadecimal digits; the trace gets one value per
// byte.
void __model_changeling_observe_bytes(const char *name, const void *p, size_t n) {
    int saved = errno;
    const unsigned char *bytes = p;
    n = pin(n);
    int fd = observer();
    char *line = fd >= 0 ? malloc(strlen(name) + 2 * n + 3) : NULL;
    if (line != NULL) {
        size_t length = (size_t)sprintf(line, "%s=", name);
        for (size_t i = 0; i < n; i++) length += (size_t)sprintf(line + length, "%02x", bytes[i]);
        line[length++] = '\n';
        for (size_t done = 0; done < length;) {
            ssize_t put = write(fd, line + done, length - done);
            if (put <= 0) break;
            done += (size_t)put;
        }
        free(line);
    }
    for (size_t i = 0; i < n; i++) __chg_observe(name, bytes[i]);
    errno = saved;
}
