// <wctype.h> in the C locale: only the characters of ASCII belong to a class, and those as <ctype.h> says.
#include "model.h"

#define CLASS(name) \
    int __model_is##name(int c); \
    int __model_isw##name(unsigned c) { return __model_is##name((int)c); }

CLASS(alpha)
CLASS(alnum)
CLASS(upper)
CLASS(lower)
CLASS(space)
CLASS(blank)
CLASS(cntrl)
CLASS(print)
CLASS(graph)
CLASS(punct)
CLASS(xdigit)

// Tested without a table in the library too.
int __model_iswdigit(unsigned c) { return (int)is_digit((int)c); }

unsigned __model_towlower(unsigned c) { return (unsigned)lower((int)c); }
unsigned __model_towupper(unsigned c) { return (unsigned)upper((int)c); }
