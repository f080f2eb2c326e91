// What the models of C++ streams need of <stdio.h>. In C, since here the plain
// functions are the real ones.
#include "format_number.h"
#include "output.h"
#include "place.h"

// A number as printf would print it, as one event. False if it was not printed.
bool __mdl_print_number(FILE *file, uint64_t value, char conversion, bool left, bool plus, bool alternate, int width) {
    struct spec spec = {
        .left = left, .plus = plus, .alternate = alternate, .width = width, .precision = -1,
        .size = SIZE_LONG_LONG, .conversion = conversion,
    };
    int fd = __mdl_output_fd(file);
    struct rendering text;
    const char *bytes = __mdl_render_number(&text, &spec, value, 64);
    bool whole = fwrite(bytes, 1, text.length, file) == text.length;
    if (whole) __chg_output_value(fd, value, 64, text.conversion, bytes, text.length);
    __mdl_render_free(&text);
    return whole;
}

void __mdl_place_close(int fd) {
    __mdl_place_forget(fd);
    __mdl_bind(fd, -1);
}

// How many bytes there are behind the descriptor's place, if `known` is what the
// system says.
int64_t __mdl_bytes_left(int fd, int64_t known) {
    struct place *place = __mdl_place(fd);
    if (place == NULL || known < 0) return known;
    uint64_t left = __mdl_left(place->stream, __mdl_position(place), INT64_MAX);
    return plain(left) == (uint64_t)known ? (int64_t)left : known;
}
