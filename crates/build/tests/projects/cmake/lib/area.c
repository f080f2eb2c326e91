#include "area.h"
int area(int width, int height) {
  if (width < 0 || height < 0)
    return -1;
  return width * height;
}
