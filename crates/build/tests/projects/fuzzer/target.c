#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size >= 2 && data[0] == 'h' && data[1] == 'i')
    puts("greeted");
  printf("%zu\n", size);
  return 0;
}
