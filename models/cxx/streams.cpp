// The standard streams and the facets of the classic locale: objects that the
// C++ library has made before `main`, with virtual functions that are not
// traced. They get those of this library instead. Nothing else about them
// changes: a program that looks at its buffers or locales finds the same objects.
#include "cxx.h"

#include <cctype>
#include <ext/stdio_filebuf.h>
#include <typeinfo>

namespace {

using Writer = std::num_put<char>;

// Where an iterator writes to: its first member.
FILE *destination(const std::ostreambuf_iterator<char> &to);

} // namespace

namespace changeling {

// Prints numbers. A symbolic one is one event, not a path for each of its digits,
// where the text goes straight to standard output.
class Printer : public Writer {
protected:
    template <class T> static bool whole(iter_type to, std::ios_base &io, char fill, T value)
    {
        if (__chg_label(static_cast<uint64_t>(value)) == 0 || to.failed())
            return false;
        std::ios_base::fmtflags flags = io.flags(), base = flags & std::ios_base::basefield;
        std::ios_base::fmtflags adjust = flags & std::ios_base::adjustfield;
        std::streamsize width = io.width();
        if (width < 0 || width > 64 || __chg_label(static_cast<uint64_t>(width)) != 0)
            return false;
        // Other ways to fill are not those of <stdio.h>.
        if (width > 0 && (fill != ' ' || adjust == std::ios_base::internal))
            return false;
        FILE *file = destination(to);
        if (file == nullptr || io.getloc() != std::locale::classic())
            return false;
        constexpr bool has_sign = static_cast<T>(-1) < static_cast<T>(0);
        bool decimal = base != std::ios_base::oct && base != std::ios_base::hex;
        char conversion = decimal ? (has_sign ? 'd' : 'u') : base == std::ios_base::oct ? 'o' : 'x';
        if (conversion == 'x' && (flags & std::ios_base::uppercase) != 0)
            conversion = 'X';
        bool plus = has_sign && decimal && (flags & std::ios_base::showpos) != 0;
        bool alternate = !decimal && (flags & std::ios_base::showbase) != 0;
        if (!__mdl_print_number(file, static_cast<uint64_t>(value), conversion, adjust == std::ios_base::left, plus,
                                alternate, static_cast<int>(width)))
            return false;
        io.width(0);
        return true;
    }

    iter_type do_put(iter_type to, std::ios_base &io, char fill, long value) const override;
    iter_type do_put(iter_type to, std::ios_base &io, char fill, unsigned long value) const override;
    iter_type do_put(iter_type to, std::ios_base &io, char fill, long long value) const override;
    iter_type do_put(iter_type to, std::ios_base &io, char fill, unsigned long long value) const override;
};

#define PRINT(type)                                                                                            \
    Printer::iter_type Printer::do_put(iter_type to, std::ios_base &io, char fill, type value) const           \
    {                                                                                                          \
        return whole(to, io, fill, value) ? to : Writer::do_put(to, io, fill, value);                          \
    }
PRINT(long)
PRINT(unsigned long)
#undef PRINT

// Of the same size, so half of the code will do.
Printer::iter_type Printer::do_put(iter_type to, std::ios_base &io, char fill, long long value) const
{
    return Printer::do_put(to, io, fill, static_cast<long>(value));
}

Printer::iter_type Printer::do_put(iter_type to, std::ios_base &io, char fill, unsigned long long value) const
{
    return Printer::do_put(to, io, fill, static_cast<unsigned long>(value));
}

// Reads numbers.
class Reader : public std::num_get<char> {
protected:
    iter_type do_get(iter_type from, iter_type end, std::ios_base &io, std::ios_base::iostate &state,
                     long long &value) const override;
    iter_type do_get(iter_type from, iter_type end, std::ios_base &io, std::ios_base::iostate &state,
                     unsigned long long &value) const override;
};

static_assert(sizeof(long) == sizeof(long long));

Reader::iter_type Reader::do_get(iter_type from, iter_type end, std::ios_base &io, std::ios_base::iostate &state,
                                 long long &value) const
{
    return num_get::do_get(from, end, io, state, reinterpret_cast<long &>(value));
}

Reader::iter_type Reader::do_get(iter_type from, iter_type end, std::ios_base &io, std::ios_base::iostate &state,
                                 unsigned long long &value) const
{
    return num_get::do_get(from, end, io, state, reinterpret_cast<unsigned long &>(value));
}

// Classes and cases of characters in the C locale.
class Characters : public std::ctype<char> {
public:
    static auto table() { return &Characters::_M_table; }

protected:
    char do_toupper(char c) const override;
    const char *do_toupper(char *from, const char *end) const override;
    char do_tolower(char c) const override;
    const char *do_tolower(char *from, const char *end) const override;
};

char Characters::do_toupper(char c) const { return static_cast<char>(::upper(static_cast<unsigned char>(c))); }
char Characters::do_tolower(char c) const { return static_cast<char>(::lower(static_cast<unsigned char>(c))); }

const char *Characters::do_toupper(char *from, const char *end) const
{
    for (; from < end; ++from)
        *from = static_cast<char>(::upper(static_cast<unsigned char>(*from)));
    return end;
}

const char *Characters::do_tolower(char *from, const char *end) const
{
    for (; from < end; ++from)
        *from = static_cast<char>(::lower(static_cast<unsigned char>(*from)));
    return end;
}

// The table of classes, in memory that is known to be a table.
struct Classes {
    std::ctype_base::mask of[256] = {};
    constexpr Classes()
    {
        using B = std::ctype_base;
        for (int c = 0; c < 128; c++) {
            bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
            bool graph = c > 32 && c < 127, alpha = upper || lower;
            bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            // The C library's own bits for what has several classes.
            unsigned m = (graph ? _ISgraph : 0u) | (alpha || digit ? _ISalnum : 0u);
            m |= upper ? B::upper : 0;
            m |= lower ? B::lower : 0;
            m |= alpha ? B::alpha : 0;
            m |= digit ? B::digit : 0;
            m |= hex ? B::xdigit : 0;
            m |= c == ' ' || (c >= 9 && c <= 13) ? B::space : 0;
            m |= graph || c == ' ' ? B::print : 0;
            m |= c < 32 || c == 127 ? B::cntrl : 0;
            m |= graph && !alpha && !digit ? B::punct : 0;
            m |= c == ' ' || c == '\t' ? B::blank : 0;
            of[c] = static_cast<B::mask>(m);
        }
    }
};
constexpr Classes classes;

} // namespace changeling

extern "C" {

// Virtual functions: those of the C++ library, and those of this one.
extern void *__real__ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE[];
extern void *__real__ZTVSt7num_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE[];
extern void *__real__ZTVSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE[];
extern void *__real__ZTVSt5ctypeIcE[];
extern void *_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE[];
extern void *_ZTVN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEE[];
extern void *_ZTVN10changeling6ReaderE[];
extern void *_ZTVN10changeling7PrinterE[];
extern void *_ZTVN10changeling10CharactersE[];
}

namespace {

// An object points behind the two words that every table begins with.
void **&functions_of(const void *object) { return *static_cast<void ***>(const_cast<void *>(object)); }

void trade(const void *object, void **from, void **to)
{
    if (functions_of(object) == from + 2)
        functions_of(object) = to + 2;
}

// The buffers that print through <stdio.h>.
std::streambuf *printed_out, *printed_error;

// A buffer of the C++ library that is in step with <stdio.h>. Gives it back; null for any other.
std::streambuf *adopt(std::streambuf *buffer)
{
    if (buffer == nullptr)
        return nullptr;
    void **ours = _ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE;
    trade(buffer, __real__ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE, ours);
    return functions_of(buffer) == ours + 2 ? buffer : nullptr;
}

// Programs that have streams of their own only, without <iostream>, leave the standard ones unmade: they are no objects
// yet, and have no table of virtual functions.
bool has_standard_streams() { return functions_of(&std::cin) != nullptr && functions_of(&std::clog) != nullptr; }

void adopt_buffers()
{
    if (!has_standard_streams())
        return;
    adopt(std::cin.rdbuf());
    printed_out = adopt(std::cout.rdbuf());
    printed_error = adopt(std::cerr.rdbuf());
    adopt(std::clog.rdbuf());
}

FILE *destination(const std::ostreambuf_iterator<char> &to)
{
    std::streambuf *buffer;
    __builtin_memcpy(&buffer, &to, sizeof buffer);
    return buffer == printed_out ? stdout : buffer == printed_error ? stderr : nullptr;
}

void adopt_characters()
{
    using changeling::Characters, changeling::classes;
    auto &facet = std::use_facet<std::ctype<char>>(std::locale::classic());
    auto &table = const_cast<const std::ctype_base::mask *&>(facet.*Characters::table());
    // Another library may have more classes than are known here.
    if (__builtin_memcmp(table, classes.of, sizeof classes.of) != 0)
        return;
    table = classes.of;
    trade(&facet, __real__ZTVSt5ctypeIcE, _ZTVN10changeling10CharactersE);
    // With tables of what characters become elsewhere.
    __chg_object(&facet, sizeof facet);
}

} // namespace

// Called before `main`: if the program has streams, if it reads numbers from
// them, if it prints numbers to them.
extern "C" void __model_cxx_start_streams()
{
    adopt_buffers();
    adopt_characters();
}

extern "C" void __model_cxx_start_reader()
{
    trade(&std::use_facet<std::num_get<char>>(std::locale::classic()),
          __real__ZTVSt7num_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVN10changeling6ReaderE);
}

extern "C" void __model_cxx_start_printer()
{
    trade(&std::use_facet<Writer>(std::locale::classic()),
          __real__ZTVSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVN10changeling7PrinterE);
    // Digits are looked up in it.
    const auto *digits = std::__use_cache<std::__numpunct_cache<char>>()(std::locale::classic());
    __chg_object(digits, sizeof *digits);
}

// From here on the streams may have buffers of their own.
extern "C" bool __real__ZNSt8ios_base15sync_with_stdioEb(bool);
extern "C" bool __model__ZNSt8ios_base15sync_with_stdioEb(bool together)
{
    bool result = __real__ZNSt8ios_base15sync_with_stdioEb(together);
    adopt_buffers();
    if (!has_standard_streams())
        return result;
    for (std::ios *stream : {static_cast<std::ios *>(&std::cin), static_cast<std::ios *>(&std::cout),
                             static_cast<std::ios *>(&std::cerr), static_cast<std::ios *>(&std::clog)}) {
        std::streambuf *buffer = stream->rdbuf();
        // The table of such buffers has no name outside the C++ library.
        if (buffer != nullptr && typeid(*buffer) == typeid(__gnu_cxx::stdio_filebuf<char>))
            functions_of(buffer) = _ZTVN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEE + 2;
    }
    return result;
}
