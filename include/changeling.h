/* Values that a program shows to Changeling although it does not print them.
 *
 * An observed value is part of the program's observable behaviour: two versions
 * that observe different values, or in a different order, behave differently.
 * Outside of Changeling the calls do nothing. No library is needed.
 */
#ifndef CHANGELING_H
#define CHANGELING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Never inlined and with these very names, so that a tracer finds them. Weak,
 * so that every file of a program may include this header. */
#define CHANGELING_API__ __attribute__((weak, noinline, used))

/* What the header needs of the C library, declared here to keep it light. */
extern char *getenv(const char *name);
extern long write(int descriptor, const void *bytes, size_t count);

static inline void changeling_put__(const char *text, size_t length) {
  const char *variable = getenv("CHANGELING_OBSERVE_FD");
  int descriptor = 0;
  if (!variable || !*variable)
    return;
  for (; *variable; variable++) {
    if (*variable < '0' || *variable > '9' || descriptor > 99999)
      return;
    descriptor = descriptor * 10 + (*variable - '0');
  }
  while (length > 0) {
    long written = write(descriptor, text, length);
    if (written <= 0)
      return;
    text += written;
    length -= (size_t)written;
  }
}

/* Appends the name and `=`; characters that would break the line are replaced. */
static inline size_t changeling_name__(char *line, size_t room, const char *name) {
  size_t length = 0;
  for (; name && *name && length + 1 < room; name++)
    line[length++] = *name == '\n' || *name == '=' ? '_' : *name;
  line[length++] = '=';
  return length;
}

/* Observes a number. */
CHANGELING_API__ void changeling_observe(const char *name, long long value) {
  char line[256];
  char digits[24];
  size_t length = changeling_name__(line, 200, name);
  size_t count = 0;
  unsigned long long rest = value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0)
    line[length++] = '-';
  while (count)
    line[length++] = digits[--count];
  line[length++] = '\n';
  changeling_put__(line, length);
}

/* Observes bytes, written as hexadecimal digits. */
CHANGELING_API__ void changeling_observe_bytes(const char *name, const void *bytes, size_t count) {
  static const char digits[] = "0123456789abcdef";
  char part[512];
  size_t length = changeling_name__(part, 200, name);
  size_t i;
  for (i = 0; i < count; i++) {
    unsigned char byte = ((const unsigned char *)bytes)[i];
    if (length + 2 > sizeof part) {
      changeling_put__(part, length);
      length = 0;
    }
    part[length++] = digits[byte >> 4];
    part[length++] = digits[byte & 15];
  }
  if (length == sizeof part) {
    changeling_put__(part, length);
    length = 0;
  }
  part[length++] = '\n';
  changeling_put__(part, length);
}

#undef CHANGELING_API__

#ifdef __cplusplus
}
#endif

#endif
