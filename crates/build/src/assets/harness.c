/* The `main` of a plain binary whose program is an LLVMFuzzerTestOneInput: all
 * of standard input in one buffer of exactly its size, so that reading past
 * the end is as visible as it can be. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* With CHANGELING_WEAK it may be linked into programs that have their own `main`. */
#ifdef CHANGELING_WEAK
#define MAYBE_WEAK __attribute__((weak))
#else
#define MAYBE_WEAK
#endif

MAYBE_WEAK extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

MAYBE_WEAK int main(int argc, char **argv) {
  size_t size = 0, room = 4096;
  uint8_t *read_so_far = malloc(room);
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  while (read_so_far) {
    ssize_t count = read(0, read_so_far + size, room - size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      perror("cannot read standard input");
      return 1;
    }
    if (count == 0)
      break;
    size += (size_t)count;
    if (size == room)
      read_so_far = realloc(read_so_far, room *= 2);
  }
  if (!read_so_far)
    abort();
  uint8_t *exact = malloc(size ? size : 1);
  if (!exact)
    abort();
  for (size_t i = 0; i < size; i++)
    exact[i] = read_so_far[i];
  free(read_so_far);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return 0;
}
