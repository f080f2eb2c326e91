#include <stdio.h>
int twice(int), native_double(int), native_triple(int), prebuilt(int);
int main(void) {
  int n = 0;
  if (scanf("%d", &n) != 1)
    return 1;
  printf(GREETING " %d %d %d %d\n", twice(n), native_double(n), native_triple(n), prebuilt(n));
  return 0;
}
