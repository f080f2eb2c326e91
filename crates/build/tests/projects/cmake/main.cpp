#include "area.h"
#include <iostream>
#include <stdexcept>
#include <string>

static int checked(int width, int height) {
  int result = area(width, height);
  if (result < 0)
    throw std::invalid_argument("negative: " + std::to_string(width) + "x" + std::to_string(height));
  return result;
}

int main() {
  int width, height;
  while (std::cin >> width >> height) {
    try {
      std::cout << checked(width, height) << "\n";
    } catch (const std::invalid_argument &error) {
      std::cout << error.what() << "\n";
    }
  }
  return 0;
}
