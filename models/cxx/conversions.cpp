// Numbers with a fraction: what makes one of its text is not traced.
#include "cxx.h"

template <class T, class Convert> static void convert(const char *text, T &value, std::ios_base::iostate &state, Convert real)
{
    size_t length = strlen(text) + 1;
    if (__chg_symbolic(text, length))
        __chg_lost_memory(text, length, CHG_LOSS_FLOAT);
    real();
    __chg_clear(&value, sizeof value);
    __chg_clear(&state, sizeof state);
}

#define CONVERT(letter, type)                                                                                      \
    extern "C" void __real__ZSt14__convert_to_vI##letter##EvPKcRT_RSt12_Ios_IostateRKP15__locale_struct(            \
        const char *, type &, std::ios_base::iostate &, const std::__c_locale &);                                  \
    extern "C" void __model__ZSt14__convert_to_vI##letter##EvPKcRT_RSt12_Ios_IostateRKP15__locale_struct(           \
        const char *text, type &value, std::ios_base::iostate &state, const std::__c_locale &locale)               \
    {                                                                                                              \
        convert(text, value, state, [&] {                                                                          \
            __real__ZSt14__convert_to_vI##letter##EvPKcRT_RSt12_Ios_IostateRKP15__locale_struct(text, value, state, locale); \
        });                                                                                                        \
    }
CONVERT(f, float)
CONVERT(d, double)
CONVERT(e, long double)
