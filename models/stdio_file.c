// <stdio.h>: opening, closing, positions and states of FILEs.
#include "input.h"
#include <fcntl.h>

// --- opening and closing

// Reading keeps the labels only if the file still is what it was.
static int open_flags(const char *mode) {
    if (mode[0] == 'w') return O_WRONLY | O_TRUNC;
    bool both = false;
    for (const char *m = mode; *m != 0 && *m != ','; m++) both |= *m == '+';
    if (mode[0] == 'a') return both ? O_RDWR : O_WRONLY;
    return O_RDONLY;
}

FILE *__model_fopen(const char *path, const char *mode) {
    lose_text(path);
    FILE *file = fopen(path, mode);
    if (file != NULL) {
        __mdl_input_drop(file);
        __mdl_place_open(fileno(file), path, open_flags(mode));
    }
    return file;
}

FILE *__model_fopen64(const char *path, const char *mode) { return __model_fopen(path, mode); }

FILE *__model_freopen(const char *path, const char *mode, FILE *file) {
    lose_text(path);
    int old = fileno(file);
    __mdl_input_drop(file);
    FILE *opened = freopen(path, mode, file);
    if (path == NULL) return opened;
    if (old >= 0) {
        __mdl_place_forget(old);
        __mdl_bind(old, -1);
    }
    if (opened != NULL) __mdl_place_open(fileno(opened), path, open_flags(mode));
    return opened;
}

FILE *__model_freopen64(const char *path, const char *mode, FILE *file) {
    return __model_freopen(path, mode, file);
}

FILE *__model_fdopen(int fd, const char *mode) {
    FILE *file = fdopen(fd, mode);
    if (file != NULL) __mdl_input_drop(file);
    __mdl_plain_file = NULL;
    return file;
}

int __model_fclose(FILE *file) {
    int fd = fileno(file);
    __mdl_input_drop(file);
    int result = fclose(file);
    if (fd >= 0) {
        __mdl_place_forget(fd);
        __mdl_bind(fd, -1);
    }
    return result;
}

int __model_fflush(FILE *file) {
    struct input *input = file != NULL ? __mdl_input(file) : NULL;
    if (input != NULL) __mdl_input_sync(input);
    return fflush(file);
}

int __model_fflush_unlocked(FILE *file) { return __model_fflush(file); }

// The program does more with a buffer than to give it away.
void __model_sees_buffer(FILE *file, const char *buffer) {
    if (buffer != NULL && __mdl_input(file) == NULL) __chg_lose_input();
}

int __model_setvbuf(FILE *file, char *buffer, int mode, size_t size) {
    mode = (int)decide((uint32_t)mode);
    size = decide(size);
    int result = setvbuf(file, buffer, mode, size);
    struct input *input = __mdl_input(file);
    if (result == 0 && input != NULL && input->buffer == NULL) {
        if (mode == _IONBF) input->chunk = 1;
        else if (buffer != NULL && size > 0) {
            input->chunk = size;
            input->buffer = (unsigned char *)buffer;
            input->given = true;
        }
    }
    return result;
}

void __model_setbuf(FILE *file, char *buffer) {
    __model_setvbuf(file, buffer, buffer != NULL ? _IOFBF : _IONBF, BUFSIZ);
}

void __model_setbuffer(FILE *file, char *buffer, size_t size) {
    __model_setvbuf(file, buffer, buffer != NULL ? _IOFBF : _IONBF, size);
}

void __model_setlinebuf(FILE *file) { __model_setvbuf(file, NULL, _IOLBF, 0); }

// --- states

int __model_feof(FILE *file) {
    int flag = (file->_flags & EOF_FLAG) != 0;
    struct input *input = __mdl_input(file);
    // The same as an expression, unless somebody has changed the flag.
    if (input != NULL && is_labelled(input->cut) && (int)plain(input->cut) == flag) return (int)input->cut;
    return flag;
}

int __model_feof_unlocked(FILE *file) { return __model_feof(file); }
int __model_ferror(FILE *file) { return (file->_flags & ERROR_FLAG) != 0; }
int __model_ferror_unlocked(FILE *file) { return __model_ferror(file); }

void __model_clearerr(FILE *file) {
    file->_flags &= ~(EOF_FLAG | ERROR_FLAG);
    struct input *input = __mdl_input(file);
    if (input != NULL) input->cut = 0;
}

void __model_clearerr_unlocked(FILE *file) { __model_clearerr(file); }

// --- positions

int __model_fseeko(FILE *file, off_t offset, int whence) {
    struct input *input = __mdl_input(file);
    whence = (int)pin((uint64_t)(int64_t)whence);
    if (input != NULL) return __mdl_input_seek(input, offset, whence);
    return fseeko(file, (off_t)pin((uint64_t)offset), whence);
}

int __model_fseeko64(FILE *file, off_t offset, int whence) { return __model_fseeko(file, offset, whence); }
int __model_fseek(FILE *file, long offset, int whence) { return __model_fseeko(file, offset, whence); }

off_t __model_ftello(FILE *file) {
    struct input *input = __mdl_input(file);
    if (input != NULL) return (off_t)__mdl_input_tell(input);
    __mdl_lose_length(fileno(file));
    return ftello(file);
}

off_t __model_ftello64(FILE *file) { return __model_ftello(file); }
long __model_ftell(FILE *file) { return __model_ftello(file); }

void __model_rewind(FILE *file) {
    struct input *input = __mdl_input(file);
    if (input == NULL) {
        rewind(file);
        return;
    }
    __mdl_input_seek(input, 0, SEEK_SET);
    __model_clearerr(file);
}

// The position is the first word of the opaque structure, as in the library.

int __model_fgetpos(FILE *file, fpos_t *to) {
    struct input *input = __mdl_input(file);
    int result = fgetpos(file, to);
    __chg_clear(to, sizeof *to);
    if (input == NULL) __mdl_lose_length(fileno(file));
    if (input == NULL || result != 0) return result;
    int64_t position = __mdl_input_tell(input);
    memcpy(to, &position, sizeof position);
    return 0;
}

int __model_fsetpos(FILE *file, const fpos_t *from) {
    struct input *input = __mdl_input(file);
    if (input == NULL) return fsetpos(file, from);
    int64_t position;
    memcpy(&position, from, sizeof position);
    return __mdl_input_seek(input, position, SEEK_SET);
}

int __model_fgetpos64(FILE *file, fpos_t *to) { return __model_fgetpos(file, to); }
int __model_fsetpos64(FILE *file, const fpos_t *from) { return __model_fsetpos(file, from); }
