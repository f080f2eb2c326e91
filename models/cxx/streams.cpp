// C++ streams: the buffers behind std::cin, std::cout, std::cerr and std::clog
// and the facets that read and print numbers are objects of the C++ library,
// and their code is not traced. Before `main` they get the virtual functions of
// this file instead. Nothing else about them changes: a program that looks at
// its buffers or locales finds the same objects.
#include "streams.h"

#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#include <new>

namespace {

using Traits = std::char_traits<char>;
using Int = Traits::int_type;

// What the virtual functions of a buffer need beside what is in it. The
// buffers of the library hide theirs.
struct Standard {
    std::streambuf *buffer;
    FILE *file;
    // The last character taken, for `unget`.
    Int taken;
};

Standard standards[3];

Standard &standard(const std::streambuf *buffer)
{
    for (Standard &each : standards)
        if (each.buffer == buffer)
            return each;
    __builtin_trap();
}

// The way of a stream that is in step with <stdio.h>: no buffer of its own.
class InStep : public __gnu_cxx::stdio_sync_filebuf<char> {
public:
    explicit InStep(FILE *file) : stdio_sync_filebuf(file) {}

protected:
    Int underflow() override
    {
        FILE *file = standard(this).file;
        Int c = __model_getc(file);
        return Traits::eq_int_type(c, Traits::eof()) ? c : __model_ungetc(c, file);
    }

    Int uflow() override
    {
        Standard &own = standard(this);
        own.taken = __model_getc(own.file);
        return own.taken;
    }

    Int pbackfail(Int c) override
    {
        Standard &own = standard(this);
        if (Traits::eq_int_type(c, Traits::eof()))
            c = own.taken;
        Int result = Traits::eq_int_type(c, Traits::eof()) ? c : __model_ungetc(c, own.file);
        own.taken = Traits::eof();
        return result;
    }

    std::streamsize xsgetn(char *to, std::streamsize count) override
    {
        Standard &own = standard(this);
        // A byte at a time: how many there are is decided by the path.
        std::streamsize done = 0;
        Int last = Traits::eof();
        while (done < count) {
            Int c = __model_getc(own.file);
            if (Traits::eq_int_type(c, Traits::eof()))
                break;
            to[done++] = Traits::to_char_type(c);
            last = c;
        }
        own.taken = last;
        return done;
    }

    Int overflow(Int c) override
    {
        FILE *file = standard(this).file;
        if (!Traits::eq_int_type(c, Traits::eof()))
            return __model_fputc(c, file);
        return __model_fflush(file) != 0 ? Traits::eof() : Traits::not_eof(c);
    }

    std::streamsize xsputn(const char *from, std::streamsize count) override
    {
        return static_cast<std::streamsize>(__model_fwrite(from, 1, static_cast<size_t>(count), standard(this).file));
    }

    int sync() override { return __model_fflush(standard(this).file); }
};

// Reads numbers with traced copies of the library's templates.
using Reader = std::num_get<char>;
class TracedReader : public Reader {
public:
    explicit TracedReader(size_t references) : Reader(references) {}

protected:
#define READ(type)                                                                                                                 \
    iter_type do_get(iter_type from, iter_type end, std::ios_base &io, std::ios_base::iostate &state, type &value) const override \
    {                                                                                                                              \
        return Reader::do_get(from, end, io, state, value);                                                                        \
    }
    READ(bool)
    READ(long)
    READ(unsigned short)
    READ(unsigned int)
    READ(unsigned long)
    READ(long long)
    READ(unsigned long long)
    READ(float)
    READ(double)
    READ(long double)
    READ(void *)
#undef READ
};

// Where an iterator writes to: its first member.
FILE *destination(const std::ostreambuf_iterator<char> &to)
{
    std::streambuf *buffer;
    __builtin_memcpy(&buffer, &to, sizeof buffer);
    for (int i = 1; i < 3; i++)
        if (standards[i].buffer == buffer)
            return standards[i].file;
    return nullptr;
}

// Prints numbers. A symbolic one in plain decimal is one event, not a path for
// each of its digits.
using Printer = std::num_put<char>;
class TracedPrinter : public Printer {
public:
    explicit TracedPrinter(size_t references) : Printer(references) {}

protected:
    template <class T> static bool whole(iter_type to, std::ios_base &io, T value, const char *format, const char *conversion)
    {
        if (__chg_label(static_cast<uint64_t>(value)) == 0 || to.failed() || io.width() != 0)
            return false;
        std::ios_base::fmtflags base = io.flags() & std::ios_base::basefield;
        if (base == std::ios_base::oct || base == std::ios_base::hex || (io.flags() & std::ios_base::showpos) != 0)
            return false;
        FILE *file = destination(to);
        if (file == nullptr || io.getloc() != std::locale::classic())
            return false;
        char text[32];
        T known = value;
        __chg_clear(&known, sizeof known);
        int length = snprintf(text, sizeof text, format, known);
        __chg_clear(text, sizeof text);
        if (fwrite(text, 1, static_cast<size_t>(length), file) != static_cast<size_t>(length))
            return false;
        __chg_output_value(fileno(file), static_cast<uint64_t>(value), 64, conversion, text, static_cast<size_t>(length));
        return true;
    }

#define PRINT(type, format, conversion)                                                                \
    iter_type do_put(iter_type to, std::ios_base &io, char_type fill, type value) const override       \
    {                                                                                                  \
        return whole(to, io, value, format, conversion) ? to : Printer::do_put(to, io, fill, value);  \
    }
    PRINT(long, "%ld", SIGNED)
    PRINT(unsigned long, "%lu", UNSIGNED)
    PRINT(long long, "%lld", SIGNED)
    PRINT(unsigned long long, "%llu", UNSIGNED)
#undef PRINT
    iter_type do_put(iter_type to, std::ios_base &io, char_type fill, bool value) const override
    {
        return Printer::do_put(to, io, fill, value);
    }
};

// The classes of the C locale, in memory that is known to be a table.
struct Classes {
    std::ctype_base::mask of[256] = {};
    constexpr Classes()
    {
        using B = std::ctype_base;
        for (int c = 0; c < 128; c++) {
            bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
            bool graph = c > 32 && c < 127, alpha = upper || lower;
            bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            unsigned m = 0;
            if (upper) m |= B::upper;
            if (lower) m |= B::lower;
            if (alpha) m |= B::alpha;
            if (digit) m |= B::digit;
            if (hex) m |= B::xdigit;
            if (c == ' ' || (c >= 9 && c <= 13)) m |= B::space;
            if (graph || c == ' ') m |= B::print;
            if (c < 32 || c == 127) m |= B::cntrl;
            if (graph && !alpha && !digit) m |= B::punct;
            if (c == ' ' || c == '\t') m |= B::blank;
            of[c] = static_cast<B::mask>(m | (graph ? 0x8000u : 0u));
        }
    }
};
constexpr Classes classes;

struct Characters : std::ctype<char> {
    static auto table_member() { return &Characters::_M_table; }
};

void take_table()
{
    auto &facet = std::use_facet<std::ctype<char>>(std::locale::classic());
    const std::ctype_base::mask *now = facet.*Characters::table_member();
    // Another library may have more classes than are known here.
    if (__builtin_memcmp(now, classes.of, sizeof classes.of) != 0)
        return;
    const std::ctype_base::mask *ours = classes.of;
    __builtin_memcpy(const_cast<std::ctype_base::mask **>(
                         reinterpret_cast<std::ctype_base::mask *const *>(&(facet.*Characters::table_member()))),
                     &ours, sizeof ours);
}

void *virtual_functions(const void *object)
{
    void *table;
    __builtin_memcpy(&table, object, sizeof table);
    return table;
}

void give(const void *object, void *table) { __builtin_memcpy(const_cast<void *>(object), &table, sizeof table); }

// Memory for one object of each class, made to learn where its virtual functions are.
template <class T, class A> void *functions_of(A argument)
{
    alignas(T) static char room[sizeof(T)];
    return virtual_functions(new (room) T(argument));
}

// Is this still one of the library's buffers that are in step with <stdio.h>?
bool in_step(std::streambuf *buffer, FILE *file)
{
    static __gnu_cxx::stdio_sync_filebuf<char> *sample;
    alignas(__gnu_cxx::stdio_sync_filebuf<char>) static char room[sizeof(__gnu_cxx::stdio_sync_filebuf<char>)];
    if (sample == nullptr)
        sample = new (room) __gnu_cxx::stdio_sync_filebuf<char>(file);
    return buffer != nullptr && virtual_functions(buffer) == virtual_functions(sample);
}

bool started;

void adopt(Standard &own, std::ios &stream, FILE *file)
{
    std::streambuf *buffer = stream.rdbuf();
    if (!in_step(buffer, file))
        return;
    own = {buffer, file, Traits::eof()};
    give(buffer, functions_of<InStep>(file));
}

} // namespace

// Called once, just before `main`.
extern "C" void __model_cxx_start()
{
    started = true;
    adopt(standards[0], std::cin, stdin);
    adopt(standards[1], std::cout, stdout);
    adopt(standards[2], std::cerr, stderr);
    give(&std::use_facet<Reader>(std::locale::classic()), functions_of<TracedReader>(1));
    give(&std::use_facet<Printer>(std::locale::classic()), functions_of<TracedPrinter>(1));
    take_table();
    // Static constructors may have chosen other buffers, which are not known.
    if (standards[0].buffer == nullptr)
        __chg_untraced_input_now();
}

// From here on the streams have buffers of their own in the library.
extern "C" bool __model__ZNSt8ios_base15sync_with_stdioEb(bool together)
{
    std::streambuf *before = std::cin.rdbuf();
    bool result = std::ios_base::sync_with_stdio(together);
    if (started && std::cin.rdbuf() != before && __chg_fd_stream(0) >= 0)
        __chg_untraced_input_now();
    return result;
}
