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

// As changeling.h writes it: short, and without what would break the line.
static size_t begin_line(char *line, const char *name) {
    size_t length = 0;
    for (; name != NULL && *name != 0 && length + 1 < 200; name++)
        line[length++] = *name == '\n' || *name == '=' ? '_' : *name;
    line[length++] = '=';
    line[length] = 0;
    return length;
}

static void write_line(int fd, const char *line, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t put = write(fd, line + done, length - done);
        if (put <= 0) return;
        done += (size_t)put;
    }
}

void __model_changeling_observe(const char *name, long long value) {
    int saved = errno;
    char line[256];
    size_t length = begin_line(line, name);
    int fd = observer();
    if (fd >= 0) {
        char number[32];
        size_t digits = (size_t)sprintf(number, "%lld\n", value);
        memcpy(line + length, number, digits);
        write_line(fd, line, length + digits);
    }
    line[length - 1] = 0;
    __chg_observe(line, (uint64_t)value);
    errno = saved;
}

// On the wire the bytes are hexadecimal digits; the trace gets one value per
// byte.
void __model_changeling_observe_bytes(const char *name, const void *p, size_t n) {
    static const char digits[] = "0123456789abcdef";
    int saved = errno;
    const unsigned char *bytes = p;
    char line[256];
    size_t length = begin_line(line, name);
    n = pin(n);
    int fd = observer();
    if (fd >= 0) {
        write_line(fd, line, length);
        char part[512];
        size_t used = 0;
        for (size_t i = 0; i < n; i++) {
            unsigned byte = (unsigned)plain(bytes[i]);
            part[used++] = digits[byte >> 4];
            part[used++] = digits[byte & 15];
            if (used + 2 >= sizeof part) {
                write_line(fd, part, used);
                used = 0;
            }
        }
        part[used++] = '\n';
        write_line(fd, part, used);
    }
    line[length - 1] = 0;
    for (size_t i = 0; i < n; i++) __chg_observe(line, bytes[i]);
    errno = saved;
}
