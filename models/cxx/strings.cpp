// std::to_string of numbers with a sign. The one in the header adds the sign to
// a place in the text, which would then depend on the input.
#include "cxx.h"

#include <bits/charconv.h>

namespace {

template <bool negative, class Unsigned> std::string digits(Unsigned size)
{
    unsigned length = std::__detail::__to_chars_len(size);
    std::string text(length + negative, '-');
    std::__detail::__to_chars_10_impl(&text[negative], length, size);
    return text;
}

template <class Unsigned, class T> std::string text_of(T value)
{
    if (value < 0)
        return digits<true>(Unsigned(0) - static_cast<Unsigned>(value));
    return digits<false>(static_cast<Unsigned>(value));
}

} // namespace

extern "C" {

std::string __model__ZNSt7__cxx119to_stringEi(int value) { return text_of<unsigned>(value); }
std::string __model__ZNSt7__cxx119to_stringEl(long value) { return text_of<unsigned long>(value); }
std::string __model__ZNSt7__cxx119to_stringEx(long long value) { return text_of<unsigned long long>(value); }

} // extern "C"
