// Exceptions of <stdexcept> keep a copy of their message.
#include "cxx.h"

#include <stdexcept>

static void keep(std::exception *error, const char *text, size_t length)
{
    // Also if there are none: the copy may be where an older one was.
    __chg_copy(const_cast<char *>(error->what()), text, length + 1);
}

#define ERROR(mangled, type)                                                                                                  \
    extern "C" void __real__ZNSt##mangled##C1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(type *, const std::string &); \
    extern "C" void __real__ZNSt##mangled##C1EPKc(type *, const char *);                                                       \
    extern "C" void __model__ZNSt##mangled##C1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(type *error,             \
                                                                                                      const std::string &text) \
    {                                                                                                                         \
        __real__ZNSt##mangled##C1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(error, text);                         \
        keep(error, text.data(), pin(text.size()));                                                                               \
    }                                                                                                                         \
    extern "C" void __model__ZNSt##mangled##C2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(type *error,             \
                                                                                                      const std::string &text) \
    {                                                                                                                         \
        __model__ZNSt##mangled##C1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(error, text);                        \
    }                                                                                                                         \
    extern "C" void __model__ZNSt##mangled##C1EPKc(type *error, const char *text)                                              \
    {                                                                                                                         \
        size_t length = strlen(text);                                                                                         \
        __real__ZNSt##mangled##C1EPKc(error, text);                                                                            \
        keep(error, text, length);                                                                                            \
    }                                                                                                                         \
    extern "C" void __model__ZNSt##mangled##C2EPKc(type *error, const char *text) { __model__ZNSt##mangled##C1EPKc(error, text); }

ERROR(11logic_error, std::logic_error)
ERROR(12domain_error, std::domain_error)
ERROR(16invalid_argument, std::invalid_argument)
ERROR(12length_error, std::length_error)
ERROR(12out_of_range, std::out_of_range)
ERROR(13runtime_error, std::runtime_error)
ERROR(11range_error, std::range_error)
ERROR(14overflow_error, std::overflow_error)
ERROR(15underflow_error, std::underflow_error)
