#include "input.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct input *inputs;

// --- which FILEs

static struct input *make_input(FILE *file, int fd, int stream) {
    struct place *place = __mdl_place(fd);
    if (place == NULL) return NULL;
    struct input *input = calloc(1, sizeof *input);
    if (input == NULL) return NULL;
    input->file = file;
    input->fd = fd;
    input->stream = stream;
    input->at = place->at;
    input->clamped = place->clamped;
    input->base = input->end = place->real;
    // As much at a time as the library would take.
    int saved = errno;
    struct stat status;
    input->chunk = BUFSIZ;
    if (fstat(fd, &status) == 0 && status.st_blksize > 0 && status.st_blksize < BUFSIZ)
        input->chunk = (size_t)status.st_blksize;
    errno = saved;
    input->next = inputs;
    inputs = input;
    return input;
}

struct input *__mdl_input(FILE *file) {
    if (LIKELY(file == __mdl_plain_file)) return NULL;
    for (struct input *input = inputs; input != NULL; input = input->next)
        if (input->file == file) return input;
    int saved = errno;
    int fd = fileno(file);
    errno = saved;
    int stream = fd < 0 ? -1 : __chg_fd_stream(fd);
    if (fd < 0 && __mdl_reads_memory(file)) return NULL;
    if (LIKELY(stream < 0)) {
        __mdl_plain_file = file;
        return NULL;
    }
    // A FILE that cannot read gives its errors itself.
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) return NULL;
    return make_input(file, fd, stream);
}

// The program's position, without its label and without characters pushed back.
static uint64_t concrete_position(const struct input *input) {
    uint64_t at = plain(input->at);
    uint64_t length = __chg_concrete_length(input->stream);
    return input->clamped && at > length ? length : at;
}

void __mdl_input_sync(struct input *input) {
    uint64_t position = concrete_position(input) - input->returned;
    if (position == input->end && input->pushed_count == 0) return;
    int saved = errno;
    lseek(input->fd, (off_t)position, SEEK_SET);
    errno = saved;
    if (input->pushed_count > 0) {
        input->pushed_count = input->returned = 0;
        input->at = position;
        input->clamped = false;
    }
    input->base = input->end = position;
}

void __mdl_input_drop(FILE *file) {
    __mdl_memory_drop(file);
    for (struct input **link = &inputs; *link != NULL; link = &(*link)->next) {
        struct input *input = *link;
        if (input->file != file) continue;
        *link = input->next;
        if (!input->given) free(input->buffer);
        free(input->pushed);
        free(input);
        return;
    }
}

// --- bytes

static bool has_error(const struct input *input) {
    return (input->file->_flags & ERROR_FLAG) != 0;
}

// Takes the next bytes from the descriptor into the buffer. False at the end.
static bool fill(struct input *input) {
    if (input->buffer == NULL) input->buffer = malloc(input->chunk);
    struct place *place = __mdl_place(input->fd);
    if (input->buffer == NULL || place == NULL) return false;
    uint64_t first;
    ssize_t got = __mdl_place_read(input->fd, place, input->buffer, input->chunk, &first);
    got = (ssize_t)plain((uint64_t)got);
    if (got < 0) {
        input->file->_flags |= ERROR_FLAG;
        return false;
    }
    if (first != input->end) {
        // The program has moved the descriptor under the FILE.
        input->at = first;
        input->clamped = false;
    }
    input->base = first;
    input->end = first + (uint64_t)got;
    return got > 0;
}

static unsigned char pop(struct input *input) {
    unsigned char c = input->pushed[--input->pushed_count];
    if (input->returned > input->pushed_count) input->returned = input->pushed_count;
    return c;
}

// Is this the character in front of those pushed back already?
static bool was_read(const struct input *input, unsigned char c) {
    uint64_t position = concrete_position(input) - input->returned;
    if (input->pushed_count != input->returned || position <= input->base || position > input->end) return false;
    unsigned char before = input->buffer[position - 1 - input->base];
    return plain(c) == plain(before);
}

static bool end(struct input *input) {
    if (!has_error(input)) input->file->_flags |= EOF_FLAG;
    return false;
}

bool __mdl_input_next(struct input *input, unsigned char *byte) {
    input->cut = 0;
    if (input->pushed_count > 0) {
        *byte = pop(input);
        return true;
    }
    // The one branch of this function that is recorded. All else follows from
    // it, as long as the file is what the stream says.
    if (input->at < __chg_stream_length(input->stream)) {
        input->at = pin(input->at);
        if (input->at >= input->end && !fill(input)) return end(input);
    } else {
        uint64_t position = concrete_position(input);
        if (position >= input->end) {
            if (!fill(input)) return end(input);
            position = input->base;
        }
        // Somebody has made the file longer.
        input->at = position;
        input->clamped = false;
    }
    *byte = input->buffer[input->at++ - input->base];
    return true;
}

bool __mdl_input_unget(struct input *input, unsigned char c) {
    if (input->pushed_count == input->pushed_capacity) {
        size_t capacity = input->pushed_capacity == 0 ? 16 : 2 * input->pushed_capacity;
        unsigned char *larger = realloc(input->pushed, capacity);
        if (larger == NULL) return false;
        input->pushed = larger;
        input->pushed_capacity = capacity;
    }
    if (was_read(input, c)) input->returned++;
    input->pushed[input->pushed_count++] = c;
    input->file->_flags &= ~EOF_FLAG;
    input->cut = 0;
    return true;
}

// Bytes from the buffer and the descriptor, as the library takes them: large
// amounts go past the buffer.
static size_t take(struct input *input, unsigned char *to, size_t n) {
    size_t done = 0;
    uint64_t position = concrete_position(input);
    while (done < n) {
        size_t wanted = n - done;
        size_t held = position < input->end ? (size_t)(input->end - position) : 0;
        if (held > 0) {
            size_t part = held < wanted ? held : wanted;
            memcpy(to + done, input->buffer + (position - input->base), part);
            done += part;
            position += part;
            continue;
        }
        if (wanted >= input->chunk) {
            struct place *place = __mdl_place(input->fd);
            size_t direct = input->chunk >= 128 ? wanted - wanted % input->chunk : wanted;
            ssize_t got = place == NULL ? -1 : __mdl_place_read(input->fd, place, to + done, direct, NULL);
            got = (ssize_t)plain((uint64_t)got);
            if (got < 0) input->file->_flags |= ERROR_FLAG;
            if (got <= 0) break;
            done += (size_t)got;
            position += (size_t)got;
            input->base = input->end = input->end + (uint64_t)got;
            continue;
        }
        if (!fill(input)) break;
        position = input->base;
    }
    return done;
}

size_t __mdl_input_read(struct input *input, void *to, size_t n) {
    unsigned char *bytes = to;
    size_t back = 0;
    input->cut = 0;
    while (input->pushed_count > 0 && back < n) bytes[back++] = pop(input);
    if (back == n) return n;
    n -= back;

    if (!input->clamped && (is_labelled(input->at) || input->at != 0)) {
        if (input->at > __chg_stream_length(input->stream)) {
            input->file->_flags |= EOF_FLAG;
            return back;
        }
    }
    uint64_t count = __mdl_left(input->stream, input->at, n);
    size_t taken = take(input, bytes + back, plain(n));
    // Which bytes these are depends on where the program has seeked to.
    if (taken > 0) input->at = pin(input->at);
    if (plain(count) == taken) {
        input->at += n;
        input->clamped = true;
        input->cut = input->at > __chg_stream_length(input->stream);
        if (plain(input->cut)) input->file->_flags |= EOF_FLAG;
        // What lies behind the count is as it was before, so which bytes are new
        // is part of the path.
        return back + (size_t)pin(count);
    }
    // The file is no longer what the stream says.
    input->at += taken;
    input->clamped = false;
    if (taken < n && !has_error(input)) input->file->_flags |= EOF_FLAG;
    return back + taken;
}

// --- positions

static int64_t position_of(const struct input *input) {
    if (!input->clamped) return (int64_t)input->at;
    uint64_t length = __chg_stream_length(input->stream);
    return (int64_t)(input->at < length ? input->at : length);
}

int64_t __mdl_input_tell(struct input *input) {
    return position_of(input) - (int64_t)input->pushed_count;
}

int __mdl_input_seek(struct input *input, int64_t offset, int whence) {
    int64_t origin = 0;
    switch (whence) {
    case SEEK_SET: break;
    case SEEK_CUR: origin = __mdl_input_tell(input); break;
    case SEEK_END: origin = (int64_t)__chg_stream_length(input->stream); break;
    default: errno = EINVAL; return -1;
    }
    int64_t target;
    if (__builtin_add_overflow(origin, offset, &target)) target = -1;
    if (target < 0) {
        input->pushed_count = input->returned;
        errno = EINVAL;
        return -1;
    }
    input->pushed_count = input->returned = 0;
    input->file->_flags &= ~EOF_FLAG;
    input->cut = 0;
    input->at = (uint64_t)target;
    input->clamped = false;
    uint64_t concrete = plain(input->at);
    if (concrete < input->base || concrete > input->end) {
        if (lseek(input->fd, (off_t)concrete, SEEK_SET) < 0) return -1;
        input->base = input->end = concrete;
    }
    return 0;
}
