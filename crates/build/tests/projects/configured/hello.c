#include "config.h"
#include <stdio.h>
#include <string.h>

int main(void) {
#if defined HAVE_FANTASY || defined HAVE_WARNING || !defined HAVE_STDIN || !defined HAVE_GNUC
#error "the configure script got wrong answers"
#endif
#ifdef HAVE_STRNLEN
  printf("%s %s %zu\n", VERSION, COMPILER, strnlen("abc", 2));
#endif
  return 0;
}
