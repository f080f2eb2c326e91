// Files behind the buffers of <fstream>: std::__basic_file<char>, a class of
// the C++ library that calls the C library.
#include "cxx.h"

#include <bits/basic_file.h>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

using File = std::__basic_file<char>;
using Mode = std::ios_base::openmode;

extern "C" {

File *__real__ZNSt12__basic_fileIcE4openEPKcSt13_Ios_Openmodei(File *, const char *, Mode, int);
File *__real__ZNSt12__basic_fileIcE5closeEv(File *);
std::streamsize __real__ZNSt12__basic_fileIcE9showmanycEv(File *);

File *__model__ZNSt12__basic_fileIcE4openEPKcSt13_Ios_Openmodei(File *file, const char *name, Mode mode, int protection)
{
    size_t length = strlen(name) + 1;
    if (__chg_symbolic(name, length))
        __chg_lost_memory(name, length, CHG_LOSS_EXTERNAL_MEMORY);
    File *opened = __real__ZNSt12__basic_fileIcE4openEPKcSt13_Ios_Openmodei(file, name, mode, protection);
    if (opened != nullptr) {
        bool reads = (mode & std::ios_base::in) != 0, writes = (mode & ~std::ios_base::in & ~std::ios_base::binary) != 0;
        int flags = reads && writes ? O_RDWR : reads ? O_RDONLY : O_WRONLY;
        __mdl_place_open(file->fd(), name, (mode & std::ios_base::trunc) != 0 ? flags | O_TRUNC : flags);
    }
    return opened;
}

File *__model__ZNSt12__basic_fileIcE5closeEv(File *file)
{
    int fd = file->is_open() ? file->fd() : -1;
    File *closed = __real__ZNSt12__basic_fileIcE5closeEv(file);
    // A descriptor that the file was only made for stays open.
    if (fd >= 0 && fcntl(fd, F_GETFD) < 0)
        __mdl_place_close(fd);
    return closed;
}

// The destructor closes what is open.
void __real__ZNSt12__basic_fileIcED1Ev(File *);
void __model__ZNSt12__basic_fileIcED1Ev(File *file)
{
    if (file->is_open())
        file->close();
    __real__ZNSt12__basic_fileIcED1Ev(file);
}

std::streamsize __model__ZNSt12__basic_fileIcE6xsgetnEPcl(File *file, char *to, std::streamsize count)
{
    std::streamsize got;
    do
        got = read(file->fd(), to, static_cast<size_t>(count));
    while (got == -1 && errno == EINTR);
    return got;
}

std::streamsize __model__ZNSt12__basic_fileIcE6xsputnEPKcl(File *file, const char *from, std::streamsize count)
{
    std::streamsize left = count;
    while (true) {
        std::streamsize put = write(file->fd(), from, static_cast<size_t>(left));
        if (put == -1 && errno == EINTR)
            continue;
        if (put == -1)
            break;
        left -= put;
        if (left == 0)
            break;
        from += put;
    }
    return count - left;
}

std::streamsize __model__ZNSt12__basic_fileIcE8xsputn_2EPKclS2_l(File *file, const char *first, std::streamsize count,
                                                                 const char *second, std::streamsize more)
{
    std::streamsize all = count + more, left = all;
    while (true) {
        iovec parts[2] = {{const_cast<char *>(first), static_cast<size_t>(count)},
                          {const_cast<char *>(second), static_cast<size_t>(more)}};
        std::streamsize put = writev(file->fd(), parts, 2);
        if (put == -1 && errno == EINTR)
            continue;
        if (put == -1)
            break;
        left -= put;
        if (left == 0)
            break;
        if (put >= count)
            return all - left + file->xsputn(second + (put - count), left);
        first += put;
        count -= put;
    }
    return all - left;
}

std::streamoff __model__ZNSt12__basic_fileIcE7seekoffElSt12_Ios_Seekdir(File *file, std::streamoff offset,
                                                                        std::ios_base::seekdir way)
{
    return lseek(file->fd(), offset, way);
}

// How many bytes are there without waiting.
std::streamsize __model__ZNSt12__basic_fileIcE9showmanycEv(File *file)
{
    return __mdl_bytes_left(file->fd(), __real__ZNSt12__basic_fileIcE9showmanycEv(file));
}

} // extern "C"
