#include "words.h"
#include <ctype.h>

int count_words(const char *text) {
  int count = 0, inside = 0;
  for (; *text; text++) {
    if (isspace((unsigned char)*text)) {
      inside = 0;
    } else if (!inside) {
      inside = 1;
      count++;
    }
  }
  return count;
}
