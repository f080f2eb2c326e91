// Input streams and descriptors: the same random calls on a real FILE and on
// one that reads a symbolic stream.
#include "native.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int __model_getc(FILE *);
int __model_fgetc_unlocked(FILE *);
int __model_ungetc(int, FILE *);
char *__model_fgets(char *, int, FILE *);
char *__model___fgets_chk(char *, size_t, int, FILE *);
size_t __model_fread(void *, size_t, size_t, FILE *);
ssize_t __model_getline(char **, size_t *, FILE *);
ssize_t __model_getdelim(char **, size_t *, int, FILE *);
int __model_feof(FILE *);
int __model_ferror(FILE *);
void __model_clearerr(FILE *);
int __model_fseek(FILE *, long, int);
long __model_ftell(FILE *);
void __model_rewind(FILE *);
int __model_fgetpos(FILE *, fpos_t *);
int __model_fsetpos(FILE *, const fpos_t *);
FILE *__model_fopen(const char *, const char *);
FILE *__model_freopen(const char *, const char *, FILE *);
FILE *__model_fdopen(int, const char *);
int __model_fclose(FILE *);
int __model_fflush(FILE *);
int __model_setvbuf(FILE *, char *, int, size_t);
int __model_putc(int, FILE *);
ssize_t __model_read(int, void *, size_t);
ssize_t __model_pread(int, void *, size_t, off_t);
ssize_t __model_readv(int, const struct iovec *, int);
ssize_t __model_writev(int, const struct iovec *, int);
int __model_statx(int, const char *, int, unsigned, struct statx *);
ssize_t __model_write(int, const void *, size_t);
off_t __model_lseek(int, off_t, int);
int __model_open(const char *, int, ...);
int __model_close(int);
int __model_dup(int);
int __model_dup2(int, int);
int __model_fcntl(int, int, ...);
int __model_fstat(int, struct stat *);
int __model_stat(const char *, struct stat *);
void *__model_mmap(void *, size_t, int, int, int, off_t);
int __model_munmap(void *, size_t);
int __model_getchar(void);
char *__model_gets(char *);

static char content[20000];
static size_t content_length;

static void random_content(void) {
    content_length = below_random(3) == 0 ? below_random(sizeof content) : below_random(200);
    for (size_t i = 0; i < content_length; i++)
        content[i] = below_random(30) == 0 ? '\n' : below_random(60) == 0 ? 0 : (char)(below_random(3) ? 'a' + below_random(26) : below_random(256));
    native_stream(0, "symbolic.txt", content, content_length);
}

static void write_file(const char *path) {
    FILE *file = fopen(path, "w");
    fwrite(content, 1, content_length, file);
    fclose(file);
}

// --- FILEs

struct pair {
    FILE *real, *model;
    // The library seeks to whole pages, which nobody can see.
    bool seeked;
};

static void same_state(struct pair *pair, const char *what) {
    CHECK(feof(pair->real) == __model_feof(pair->model), "feof after %s is %d", what, __model_feof(pair->model));
    CHECK(ferror(pair->real) == __model_ferror(pair->model), "ferror after %s", what);
    long real = ftell(pair->real), model = __model_ftell(pair->model);
    CHECK(real == model, "ftell after %s is %ld, not %ld", what, model, real);
    if (!pair->seeked) {
        off_t real_offset = lseek(fileno(pair->real), 0, SEEK_CUR), model_offset = lseek(fileno(pair->model), 0, SEEK_CUR);
        CHECK(real_offset == model_offset, "descriptor after %s at %ld, not %ld", what, model_offset, real_offset);
    }
}

static void one_character(struct pair *pair) {
    int real = getc(pair->real), model = below_random(2) ? __model_getc(pair->model) : __model_fgetc_unlocked(pair->model);
    CHECK(real == model, "getc is %d, not %d", model, real);
    if (below_random(3) == 0) {
        int c = below_random(3) == 0 ? (int)below_random(256) : real;
        CHECK(ungetc(c, pair->real) == __model_ungetc(c, pair->model), "ungetc(%d)", c);
    }
}

static void one_line(struct pair *pair) {
    char first[300], second[300];
    memset(first, '#', sizeof first);
    memset(second, '#', sizeof second);
    int size = (int)below_random(below_random(2) ? 6 : 300);
    char *real = fgets(first, size, pair->real);
    char *model = below_random(2) ? __model_fgets(second, size, pair->model)
                                  : __model___fgets_chk(second, sizeof second, size, pair->model);
    CHECK((real == NULL) == (model == NULL), "fgets(%d) is %p", size, (void *)model);
    CHECK(memcmp(first, second, sizeof first) == 0, "fgets(%d) gives '%.300s'", size, second);
}

static void one_block(struct pair *pair) {
    static char first[30000], second[30000];
    memset(first, '#', sizeof first);
    memset(second, '#', sizeof second);
    size_t size = below_random(5), count = below_random(4) == 0 ? below_random(6000) : below_random(12);
    size_t real = fread(first, size, count, pair->real);
    size_t model = __model_fread(second, size, count, pair->model);
    CHECK(real == model, "fread(%zu, %zu) is %zu, not %zu; ftell %ld %ld length %zu feof %d", size, count, model, real, ftell(pair->real), __model_ftell(pair->model), content_length, feof(pair->real));
    CHECK(memcmp(first, second, sizeof first) == 0, "fread(%zu, %zu) reads others", size, count);
}

static void one_long_line(struct pair *pair, char **first, size_t *first_size, char **second, size_t *second_size) {
    int delimiter = below_random(2) ? '\n' : below_random(4) ? 'e' : 0;
    ssize_t real = getdelim(first, first_size, delimiter, pair->real);
    ssize_t model = delimiter == '\n' ? __model_getline(second, second_size, pair->model)
                                      : __model_getdelim(second, second_size, delimiter, pair->model);
    CHECK(real == model, "getdelim(%d) is %zd, not %zd", delimiter, model, real);
    CHECK(*first_size == *second_size, "getdelim(%d) leaves a size of %zu, not %zu", delimiter, *second_size, *first_size);
    if (real >= 0) CHECK(memcmp(*first, *second, (size_t)real + 1) == 0, "getdelim(%d) reads others", delimiter);
}

static void one_seek(struct pair *pair) {
    static const int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END, 77};
    int whence = origins[below_random(below_random(8) ? 3 : 4)];
    long offset = (long)below_random((uint32_t)content_length + 20) - (whence == SEEK_SET ? 3 : (long)content_length / 2);
    if (below_random(4) == 0) offset = 0;
    errno = 0;
    int real = fseek(pair->real, offset, whence), real_errno = errno;
    errno = 0;
    int model = __model_fseek(pair->model, offset, whence);
    CHECK(real == model && errno == real_errno, "fseek(%ld, %d) is %d, errno %d", offset, whence, model, errno);
    pair->seeked = true;
}

static void streams(void) {
    random_content();
    write_file("symbolic.txt");
    struct pair pair = {.real = fopen("symbolic.txt", "r")};
    if (below_random(2)) {
        pair.model = __model_fopen("symbolic.txt", "r");
    } else {
        int fd = __model_open("symbolic.txt", O_RDONLY);
        pair.model = __model_fdopen(fd, "r");
    }
    char own[2][64];
    uint32_t buffering = below_random(10);
    if (buffering == 0) {
        setvbuf(pair.real, NULL, _IONBF, 0);
        __model_setvbuf(pair.model, NULL, _IONBF, 0);
    } else if (buffering == 1) {
        setvbuf(pair.real, own[0], _IOFBF, 64);
        __model_setvbuf(pair.model, own[1], _IOFBF, 64);
    }
    char *first = NULL, *second = NULL;
    size_t first_size = 0, second_size = 0;
    fpos_t real_position, model_position;
    bool positions = false;
    bool seeks = below_random(2);
    for (int i = 0; i < 40; i++) {
        switch (below_random(seeks ? 9 : 6)) {
        case 0:
        case 1: one_character(&pair); same_state(&pair, "getc"); break;
        case 2: one_line(&pair); same_state(&pair, "fgets"); break;
        case 3: one_block(&pair); same_state(&pair, "fread"); break;
        case 4: one_long_line(&pair, &first, &first_size, &second, &second_size); same_state(&pair, "getdelim"); break;
        case 5:
            if (below_random(4)) break;
            clearerr(pair.real);
            __model_clearerr(pair.model);
            same_state(&pair, "clearerr");
            break;
        case 6: one_seek(&pair); same_state(&pair, "fseek"); break;
        case 7:
            if (below_random(2)) {
                rewind(pair.real);
                __model_rewind(pair.model);
                pair.seeked = true;
                same_state(&pair, "rewind");
            } else if (positions) {
                CHECK(fsetpos(pair.real, &real_position) == __model_fsetpos(pair.model, &model_position), "fsetpos");
                pair.seeked = true;
                same_state(&pair, "fsetpos");
            } else {
                CHECK(fgetpos(pair.real, &real_position) == __model_fgetpos(pair.model, &model_position), "fgetpos");
                positions = ftell(pair.real) >= 0;
            }
            break;
        case 8:
            // With characters pushed back the library moves the descriptor to
            // places that mean nothing.
            CHECK(fseek(pair.real, 0, SEEK_CUR) == __model_fseek(pair.model, 0, SEEK_CUR), "fseek");
            pair.seeked = true;
            CHECK(fflush(pair.real) == __model_fflush(pair.model), "fflush");
            same_state(&pair, "fflush");
            break;
        }
    }
    // What remains for a descriptor that shares the offset.
    int real_copy = dup(fileno(pair.real)), model_copy = dup(fileno(pair.model));
    CHECK(fclose(pair.real) == __model_fclose(pair.model), "fclose");
    off_t real_offset = lseek(real_copy, 0, SEEK_CUR), model_offset = lseek(model_copy, 0, SEEK_CUR);
    if (!pair.seeked) CHECK(real_offset == model_offset, "fclose leaves the descriptor at %ld, not %ld", model_offset, real_offset);
    close(real_copy);
    close(model_copy);
    free(first);
    free(second);
    unlink("symbolic.txt");
}

// --- descriptors

static void descriptors(void) {
    random_content();
    write_file("symbolic.txt");
    int real = open("symbolic.txt", O_RDONLY), model = __model_open("symbolic.txt", O_RDONLY);
    int real_copy = dup(real), model_copy = __model_dup(model);
    CHECK(__chg_fd_stream(model) == 0 && __chg_fd_stream(model_copy) == 0, "descriptors are not bound");
    for (int i = 0; i < 20; i++) {
        static char first[9000], second[9000];
        int a = below_random(3) ? real : real_copy, b = a == real ? model : model_copy;
        size_t n = below_random(2) ? below_random(sizeof first) : below_random(20);
        off_t offset = (off_t)below_random((uint32_t)content_length + 50) - 5;
        ssize_t x, y;
        errno = 0;
        int real_errno;
        switch (below_random(5)) {
        case 4: {
            size_t half = below_random((uint32_t)n + 1);
            struct iovec parts[2][3] = {{{first, half}, {first, 0}, {first + half, n - half}},
                                        {{second, half}, {second, 0}, {second + half, n - half}}};
            x = readv(a, parts[0], 3);
            real_errno = errno;
            errno = 0;
            y = __model_readv(b, parts[1], 3);
            break;
        }
        case 0:
        case 1:
            x = read(a, first, n);
            real_errno = errno;
            errno = 0;
            y = __model_read(b, second, n);
            break;
        case 2:
            x = pread(a, first, n, offset);
            real_errno = errno;
            errno = 0;
            y = __model_pread(b, second, n, offset);
            break;
        default: {
            static const int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_HOLE, 99};
            int whence = origins[below_random(below_random(5) ? 3 : 5)];
            if (below_random(3) == 0) offset = 0;
            x = lseek(a, offset, whence);
            real_errno = errno;
            errno = 0;
            y = __model_lseek(b, offset, whence);
            n = 0;
            break;
        }
        }
        CHECK(x == y && errno == real_errno, "read, pread or lseek is %zd (errno %d), not %zd", y, errno, x);
        if (n > 0 && x > 0) CHECK(memcmp(first, second, (size_t)x) == 0, "other bytes");
    }

    struct stat status, by_path;
    CHECK(__model_fstat(model, &status) == 0 && status.st_size == (off_t)content_length, "fstat");
    CHECK(__model_stat("symbolic.txt", &by_path) == 0 && by_path.st_ino == status.st_ino, "stat");
    struct statx extended;
    CHECK(__model_statx(model, "", AT_EMPTY_PATH, STATX_SIZE, &extended) == 0 && extended.stx_size == content_length, "statx");
    CHECK(__model_statx(AT_FDCWD, "symbolic.txt", 0, STATX_ALL, &extended) == 0 && extended.stx_size == content_length, "statx");
    CHECK(__model_stat("no such file", &by_path) == -1 && errno == ENOENT, "stat of nothing");
    errno = 0;
    char *memory = __model_mmap(NULL, content_length, PROT_READ | PROT_WRITE, MAP_PRIVATE, model, 0);
    if (content_length == 0) CHECK(memory == MAP_FAILED && errno == EINVAL, "mmap of nothing");
    else {
        CHECK(memory != MAP_FAILED && memcmp(memory, content, content_length) == 0, "mmap");
        CHECK(__model_munmap(memory, content_length) == 0, "munmap");
    }
    int third = __model_fcntl(model, F_DUPFD, 50);
    CHECK(third >= 50 && __chg_fd_stream(third) == 0, "fcntl");
    CHECK(__model_dup2(1, third) == third && __chg_fd_stream(third) == -1, "dup2");
    CHECK(__model_close(third) == 0 && __model_close(third) == -1 && errno == EBADF, "close");
    CHECK(__model_close(model) == 0 && __chg_fd_stream(model) == -1, "close leaves a binding");
    __model_close(model_copy);
    close(real);
    close(real_copy);
    unlink("symbolic.txt");
}

// --- mixtures

static void mixtures(void) {
    random_content();
    write_file("symbolic.txt");
    // A FILE and its descriptor in turn.
    FILE *real = fopen("symbolic.txt", "r"), *model = __model_fopen("symbolic.txt", "r");
    CHECK(getc(real) == __model_getc(model), "getc");
    char first[5000], second[5000];
    ssize_t x = read(fileno(real), first, sizeof first), y = __model_read(fileno(model), second, sizeof second);
    CHECK(x == y && (x <= 0 || memcmp(first, second, (size_t)x) == 0), "read behind getc is %zd, not %zd", y, x);
    for (int i = 0; i < 6000; i++) {
        int c = getc(real), d = __model_getc(model);
        CHECK(c == d, "getc behind read is %d, not %d", d, c);
    }
    fclose(real);
    __model_fclose(model);

    // Reading and writing.
    FILE *other = fopen("symbolic.txt", "r");
    FILE *update = __model_fopen("symbolic.txt", "r+");
    CHECK(__model_getc(update) == getc(other), "getc for update");
    __model_fseek(update, 0, SEEK_SET);
    CHECK(__model_putc('!', update) == '!', "putc for update");
    __model_fseek(update, 0, SEEK_SET);
    CHECK(__model_getc(update) == '!', "what was written");
    __model_fclose(update);
    fclose(other);

    // A file that is written anew is not an input.
    FILE *output = __model_fopen("symbolic.txt", "w");
    CHECK(__chg_fd_stream(fileno(output)) == -1, "an output is bound");
    __model_fclose(output);
    CHECK(__model_fopen("no such file", "r") == NULL, "fopen of nothing");
    unlink("symbolic.txt");
}

// freopen of stdin, and the functions without a FILE.
static void standard_input(void) {
    memcpy(content, "first\nsecond\nx", 14);
    content_length = 14;
    native_stream(0, "symbolic.txt", content, content_length);
    write_file("symbolic.txt");
    CHECK(__model_freopen("symbolic.txt", "r", stdin) == stdin, "freopen");
    CHECK(__chg_fd_stream(0) == 0, "freopen does not bind");
    CHECK(__model_getchar() == 'f', "getchar");
    char line[32];
    CHECK(__model_gets(line) == line && strcmp(line, "irst") == 0, "gets gives '%s'", line);
    CHECK(__model_gets(line) == line && strcmp(line, "second") == 0, "gets gives '%s'", line);
    CHECK(__model_gets(line) == line && strcmp(line, "x") == 0, "gets gives '%s'", line);
    CHECK(__model_gets(line) == NULL && __model_feof(stdin), "gets at the end");
    CHECK(__model_freopen("/dev/null", "r", stdin) == stdin && __chg_fd_stream(0) == -1, "freopen elsewhere");
    CHECK(__model_getchar() == EOF, "getchar of nothing");
    unlink("symbolic.txt");
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]) / 4;
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        for (int i = 0; i < rounds; i++) streams();
        for (int i = 0; i < rounds / 2; i++) descriptors();
        for (int i = 0; i < 20; i++) mixtures();
        standard_input();
    }
    printf("input: %zu checks\n", checks);
    return 0;
}
