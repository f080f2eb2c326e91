// Functions of <istream> and <string> for characters that exist only inside
// the C++ library.
#include "cxx.h"

#include <algorithm>
#include <cxxabi.h>
#include <limits>

namespace {

using Traits = std::char_traits<char>;
using Int = Traits::int_type;
using State = std::ios_base::iostate;

constexpr State GOOD = std::ios_base::goodbit, BAD = std::ios_base::badbit;
constexpr State END = std::ios_base::eofbit, FAIL = std::ios_base::failbit;
constexpr std::streamsize MOST = std::numeric_limits<std::streamsize>::max();

// What streams and buffers keep to themselves.
struct Stream : std::istream {
    static std::streamsize &count(std::istream &in) { return in.*(&Stream::_M_gcount); }
};

struct Buffer : std::streambuf {
    static const char *next(std::streambuf *buffer) { return (buffer->*(&Buffer::gptr))(); }
    static std::streamsize held(std::streambuf *buffer) { return (buffer->*(&Buffer::egptr))() - next(buffer); }
    static void skip(std::streambuf *buffer, std::streamsize n) { (buffer->*(&Buffer::__safe_gbump))(n); }
};

bool is_end(Int c) { return Traits::eq_int_type(c, Traits::eof()); }

// Runs the body; an exception out of the buffer makes the stream bad.
template <class Body> void guarded(std::istream &in, Body body)
{
    try {
        body();
    } catch (__cxxabiv1::__forced_unwind &) {
        in._M_setstate(BAD);
        throw;
    } catch (...) {
        in._M_setstate(BAD);
    }
}

void settle(std::istream &in, State state)
{
    if (state != GOOD)
        in.setstate(state);
}

const std::ctype<char> &classes_of(std::istream &in) { return std::use_facet<std::ctype<char>>(in.getloc()); }

// Characters up to one on which `stop` holds, at most `most` of them, are added
// to the text: what the buffer holds at once, as the library does, so that
// strings grow alike. Returns the first character that was left.
template <class Stop>
Int take(std::streambuf *buffer, std::string &text, std::string::size_type most, std::string::size_type &taken, Stop stop)
{
    Int c = buffer->sgetc();
    while (taken < most && !is_end(c) && !stop(Traits::to_char_type(c))) {
        std::streamsize room = std::min<std::streamsize>(Buffer::held(buffer), most - taken);
        if (room <= 1) {
            text += Traits::to_char_type(c);
            ++taken;
            c = buffer->snextc();
            continue;
        }
        const char *first = Buffer::next(buffer);
        std::streamsize count = 1;
        while (count < room && !stop(first[count]))
            ++count;
        text.append(first, count);
        Buffer::skip(buffer, count);
        taken += count;
        c = buffer->sgetc();
    }
    return c;
}

// Up to `most` characters, and through `delimiter` if there is one.
std::istream &skip(std::istream &in, std::streamsize most, bool delimited, Int delimiter)
{
    std::streamsize &count = Stream::count(in);
    count = 0;
    std::istream::sentry ready(in, true);
    if (!ready || most <= 0)
        return in;
    State state = GOOD;
    guarded(in, [&] {
        std::streambuf *buffer = in.rdbuf();
        Int c = buffer->sgetc();
        while (count < most && !is_end(c) && !(delimited && Traits::eq_int_type(c, delimiter))) {
            ++count;
            c = buffer->snextc();
        }
        if (most != MOST && count >= most)
            return;
        if (is_end(c)) {
            state |= END;
        } else if (delimited) {
            if (count < MOST)
                ++count;
            buffer->sbumpc();
        }
    });
    settle(in, state);
    return in;
}

} // namespace

extern "C" {

// std::istream::ignore(std::streamsize) and (std::streamsize, int)
std::istream &__model__ZNSi6ignoreEl(std::istream *in, std::streamsize most)
{
    return most == 1 ? in->ignore() : skip(*in, most, false, 0);
}

std::istream &__model__ZNSi6ignoreEli(std::istream *in, std::streamsize most, int delimiter)
{
    if (is_end(delimiter))
        return in->ignore(most);
    return skip(*in, most, true, delimiter);
}

// std::istream::getline(char *, std::streamsize, char)
std::istream &__model__ZNSi7getlineEPclc(std::istream *self, char *to, std::streamsize room, char delimiter)
{
    std::istream &in = *self;
    std::streamsize &count = Stream::count(in);
    count = 0;
    State state = GOOD;
    std::istream::sentry ready(in, true);
    if (ready) {
        guarded(in, [&] {
            std::streambuf *buffer = in.rdbuf();
            Int last = Traits::to_int_type(delimiter);
            Int c = buffer->sgetc();
            while (count + 1 < room && !is_end(c) && !Traits::eq_int_type(c, last)) {
                *to++ = Traits::to_char_type(c);
                ++count;
                c = buffer->snextc();
            }
            if (is_end(c)) {
                state |= END;
            } else if (Traits::eq_int_type(c, last)) {
                ++count;
                buffer->sbumpc();
            } else {
                state |= FAIL;
            }
        });
    }
    if (room > 0)
        *to = 0;
    if (count == 0)
        state |= FAIL;
    settle(in, state);
    return in;
}

// std::getline(std::istream &, std::string &, char)
std::istream &
__model__ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_(
    std::istream &in, std::string &line, char delimiter)
{
    std::string::size_type taken = 0;
    State state = GOOD;
    std::istream::sentry ready(in, true);
    if (ready) {
        guarded(in, [&] {
            line.erase();
            std::streambuf *buffer = in.rdbuf();
            Int last = Traits::to_int_type(delimiter);
            Int c = take(buffer, line, line.max_size(), taken, [delimiter](char c) { return c == delimiter; });
            if (is_end(c)) {
                state |= END;
            } else if (Traits::eq_int_type(c, last)) {
                ++taken;
                buffer->sbumpc();
            } else {
                state |= FAIL;
            }
        });
    }
    if (taken == 0)
        state |= FAIL;
    settle(in, state);
    return in;
}

// operator>>(std::istream &, std::string &)
std::istream &__model__ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE(
    std::istream &in, std::string &word)
{
    std::string::size_type taken = 0;
    State state = GOOD;
    std::istream::sentry ready(in, false);
    if (ready) {
        guarded(in, [&] {
            word.erase();
            std::streamsize width = in.width();
            std::string::size_type most = width > 0 ? static_cast<std::string::size_type>(width) : word.max_size();
            const std::ctype<char> &classes = classes_of(in);
            Int c = take(in.rdbuf(), word, most, taken,
                         [&classes](char c) { return classes.is(std::ctype_base::space, c); });
            if (taken < most && is_end(c))
                state |= END;
            in.width(0);
        });
    }
    if (taken == 0)
        state |= FAIL;
    settle(in, state);
    return in;
}

// operator>>(std::istream &, char *) and arrays
void __model__ZSt17__istream_extractRSiPcl(std::istream &in, char *to, std::streamsize room)
{
    std::streamsize taken = 0;
    State state = GOOD;
    std::istream::sentry ready(in, false);
    if (ready) {
        guarded(in, [&] {
            std::streamsize width = in.width();
            if (width > 0 && width < room)
                room = width;
            const std::ctype<char> &classes = classes_of(in);
            std::streambuf *buffer = in.rdbuf();
            Int c = buffer->sgetc();
            while (taken < room - 1 && !is_end(c) && !classes.is(std::ctype_base::space, Traits::to_char_type(c))) {
                *to++ = Traits::to_char_type(c);
                ++taken;
                c = buffer->snextc();
            }
            if (taken < room - 1 && is_end(c))
                state |= END;
            *to = 0;
            in.width(0);
        });
    }
    if (taken == 0)
        state |= FAIL;
    settle(in, state);
}

// What streams read and print each other with: `out << in.rdbuf()`.
std::streamsize __model__ZSt21__copy_streambufs_eofIcSt11char_traitsIcEElPSt15basic_streambufIT_T0_ES6_Rb(
    std::streambuf *from, std::streambuf *to, bool &ended)
{
    std::streamsize copied = 0;
    ended = true;
    Int c = from->sgetc();
    while (!is_end(c)) {
        std::streamsize held = Buffer::held(from);
        if (held > 1) {
            std::streamsize put = to->sputn(Buffer::next(from), held);
            Buffer::skip(from, put);
            copied += put;
            ended = put == held;
            c = ended ? from->sgetc() : Traits::eof();
        } else if (is_end(to->sputc(Traits::to_char_type(c)))) {
            ended = false;
            break;
        } else {
            ++copied;
            c = from->snextc();
        }
    }
    return copied;
}

} // extern "C"
