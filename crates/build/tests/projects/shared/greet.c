int greet(int n) { return n > 3 ? n : 3; }
