// The templates for `char` that programs otherwise find ready-made in the C++
// library: strings, streams, their buffers, reading and printing of numbers.
// Their bodies are in the headers; made once more here, they are traced.
#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#include <fstream>
#include <iomanip>
#include <istream>
#include <locale>
#include <ostream>
#include <sstream>
#include <string>

namespace std {

template class basic_string<char>;
template string::basic_string(char *, char *, const allocator<char> &);
template string::basic_string(const char *, const char *, const allocator<char> &);
template string operator+(const char *, const string &);
template string operator+(char, const string &);
template string operator+(const string &, const string &);

template class basic_streambuf<char>;
template class basic_ios<char>;
template class basic_istream<char>;
template class basic_ostream<char>;
template class basic_iostream<char>;
template class basic_stringbuf<char>;
template class basic_istringstream<char>;
template class basic_ostringstream<char>;
template class basic_stringstream<char>;
template class basic_filebuf<char>;
template class basic_ifstream<char>;
template class basic_ofstream<char>;
template class basic_fstream<char>;
template class num_get<char>;
template class num_put<char>;

template streamsize __copy_streambufs(streambuf *, streambuf *);

template istream &ws(istream &);
template istream &operator>>(istream &, char &);
template istream &operator>>(istream &, signed char &);
template istream &operator>>(istream &, unsigned char &);
template istream &operator>>(istream &, _Setfill<char>);
template ostream &endl(ostream &);
template ostream &ends(ostream &);
template ostream &flush(ostream &);
template ostream &operator<<(ostream &, char);
template ostream &operator<<(ostream &, signed char);
template ostream &operator<<(ostream &, unsigned char);
template ostream &operator<<(ostream &, const char *);
template ostream &operator<<(ostream &, const signed char *);
template ostream &operator<<(ostream &, const unsigned char *);
template ostream &operator<<(ostream &, const string &);
template ostream &operator<<(ostream &, _Setfill<char>);
template ostream &__ostream_insert(ostream &, const char *, streamsize);

#define READ(T) template istream &istream::_M_extract(T &);
READ(bool)
READ(unsigned short)
READ(unsigned int)
READ(long)
READ(unsigned long)
READ(long long)
READ(unsigned long long)
READ(float)
READ(double)
READ(long double)
READ(void *)
#undef READ

#define PRINT(T) template ostream &ostream::_M_insert(T);
PRINT(bool)
PRINT(long)
PRINT(unsigned long)
PRINT(long long)
PRINT(unsigned long long)
PRINT(double)
PRINT(long double)
PRINT(const void *)
#undef PRINT

} // namespace std

namespace __gnu_cxx {

template class stdio_sync_filebuf<char>;
template class stdio_filebuf<char>;

} // namespace __gnu_cxx
