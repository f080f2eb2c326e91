#include <stdio.h>
int greet(int);
int main(void) { printf("%d\n", greet(getchar() - 48)); return 0; }
