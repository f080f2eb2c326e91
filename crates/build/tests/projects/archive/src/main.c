#include "words.h"
#include <math.h>
#include <stdio.h>

int main(void) {
  char line[256];
  int total = 0;
  while (fgets(line, sizeof line, stdin))
    total += count_words(line);
  printf("%d %.1f\n", total, sqrt(total));
  return 0;
}
