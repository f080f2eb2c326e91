// <string.h>, <strings.h>: functions that write. Block copies are traced by
// the compiler pass, so copying labels needs no loop here.
#include "model.h"
#include <strings.h>

size_t __model_strlen(const char *s);
size_t __model_strnlen(const char *s, size_t limit);
void *__model_memchr(const void *s, int c, size_t n);

char *__model_stpcpy(char *to, const char *from) {
    size_t n = __model_strlen(from);
    memcpy(to, from, n + 1);
    return to + n;
}

char *__model___stpcpy(char *to, const char *from) { return __model_stpcpy(to, from); }

char *__model_strcpy(char *to, const char *from) {
    __model_stpcpy(to, from);
    return to;
}

char *__model_stpncpy(char *to, const char *from, size_t n) {
    n = pin(n);
    size_t length = __model_strnlen(from, n);
    memcpy(to, from, length);
    if (length < n) memset(to + length, 0, n - length);
    return to + length;
}

char *__model_strncpy(char *to, const char *from, size_t n) {
    __model_stpncpy(to, from, n);
    return to;
}

char *__model_strcat(char *to, const char *from) {
    __model_stpcpy(to + __model_strlen(to), from);
    return to;
}

char *__model_strncat(char *to, const char *from, size_t n) {
    char *end = to + __model_strlen(to);
    size_t length = __model_strnlen(from, n);
    memcpy(end, from, length);
    end[length] = 0;
    return to;
}

char *__model_strdup(const char *s) {
    size_t n = __model_strlen(s) + 1;
    char *copy = malloc(n);
    if (copy != NULL) memcpy(copy, s, n);
    return copy;
}

char *__model___strdup(const char *s) { return __model_strdup(s); }

char *__model_strndup(const char *s, size_t limit) {
    size_t n = __model_strnlen(s, limit);
    char *copy = malloc(n + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

char *__model___strndup(const char *s, size_t limit) { return __model_strndup(s, limit); }

// In the C locale the transformed text is the text itself.
size_t __model_strxfrm(char *to, const char *from, size_t n) {
    size_t length = __model_strlen(from);
    if (n != 0) __model_stpncpy(to, from, length + 1 < n ? length + 1 : n);
    return length;
}

void *__model_mempcpy(void *to, const void *from, size_t n) {
    n = pin(n);
    memcpy(to, from, n);
    return (char *)to + n;
}

void *__model___mempcpy(void *to, const void *from, size_t n) { return __model_mempcpy(to, from, n); }

void *__model_memccpy(void *to, const void *from, int c, size_t n) {
    n = pin(n);
    const char *found = __model_memchr(from, c, n);
    if (found == NULL) {
        memcpy(to, from, n);
        return NULL;
    }
    size_t length = (size_t)(found - (const char *)from) + 1;
    memcpy(to, from, length);
    return (char *)to + length;
}

void __model_bzero(void *s, size_t n) { memset(s, 0, n); }
void __model_explicit_bzero(void *s, size_t n) { memset(s, 0, n); }
void __model_bcopy(const void *from, void *to, size_t n) { memmove(to, from, n); }

// --- fortified variants: `size` is that of the destination object

static void need_room(size_t size, size_t n) {
    if (n > size) __chk_fail();
}

void *__model___memcpy_chk(void *to, const void *from, size_t n, size_t size) {
    need_room(size, n);
    return memcpy(to, from, n);
}

void *__model___memmove_chk(void *to, const void *from, size_t n, size_t size) {
    need_room(size, n);
    return memmove(to, from, n);
}

void *__model___memset_chk(void *to, int c, size_t n, size_t size) {
    need_room(size, n);
    return memset(to, c, n);
}

void *__model___mempcpy_chk(void *to, const void *from, size_t n, size_t size) {
    need_room(size, n);
    return __model_mempcpy(to, from, n);
}

void __model___explicit_bzero_chk(void *s, size_t n, size_t size) {
    need_room(size, n);
    memset(s, 0, n);
}

char *__model___stpcpy_chk(char *to, const char *from, size_t size) {
    size_t n = __model_strlen(from);
    need_room(size, n + 1);
    memcpy(to, from, n + 1);
    return to + n;
}

char *__model___strcpy_chk(char *to, const char *from, size_t size) {
    __model___stpcpy_chk(to, from, size);
    return to;
}

char *__model___strncpy_chk(char *to, const char *from, size_t n, size_t size) {
    need_room(size, n);
    return __model_strncpy(to, from, n);
}

char *__model___stpncpy_chk(char *to, const char *from, size_t n, size_t size) {
    need_room(size, n);
    return __model_stpncpy(to, from, n);
}

char *__model___strcat_chk(char *to, const char *from, size_t size) {
    size_t used = __model_strlen(to);
    size_t n = __model_strlen(from);
    need_room(size, used + n + 1);
    memcpy(to + used, from, n + 1);
    return to;
}

char *__model___strncat_chk(char *to, const char *from, size_t n, size_t size) {
    size_t used = __model_strlen(to);
    size_t length = __model_strnlen(from, n);
    need_room(size, used + length + 1);
    memcpy(to + used, from, length);
    to[used + length] = 0;
    return to;
}
