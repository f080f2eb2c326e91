// <err.h>, <error.h>: messages on stderr.
#include "output.h"
#include <err.h>
#include <error.h>

int __model_fprintf(FILE *file, const char *format, ...);
int __model_vfprintf(FILE *file, const char *format, va_list list);
int __model_fputs(const char *s, FILE *file);

// --- err.h: `name: text: message`, the last part only where errno is asked for

static void message(const char *format, va_list list, const int *number) {
    __model_fprintf(stderr, "%s: ", program_invocation_short_name);
    if (format != NULL) {
        __model_vfprintf(stderr, format, list);
        if (number != NULL) __model_fputs(": ", stderr);
    }
    if (number != NULL) __model_fputs(strerror((int)pin((uint32_t)*number)), stderr);
    __model_fputs("\n", stderr);
}

void __model_vwarn(const char *format, va_list list) {
    int number = errno;
    message(format, list, &number);
    errno = number;
}

void __model_vwarnx(const char *format, va_list list) { message(format, list, NULL); }

void __model_verr(int status, const char *format, va_list list) {
    __model_vwarn(format, list);
    exit(status);
}

void __model_verrx(int status, const char *format, va_list list) {
    __model_vwarnx(format, list);
    exit(status);
}

#define WITH_LIST(last, call) \
    va_list list;             \
    va_start(list, last);     \
    call;                     \
    va_end(list);

void __model_warn(const char *format, ...) { WITH_LIST(format, __model_vwarn(format, list)) }
void __model_warnx(const char *format, ...) { WITH_LIST(format, __model_vwarnx(format, list)) }
void __model_err(int status, const char *format, ...) { WITH_LIST(format, __model_verr(status, format, list)) }
void __model_errx(int status, const char *format, ...) { WITH_LIST(format, __model_verrx(status, format, list)) }

// --- error.h

// The program may say its name itself.
static void begin(void) {
    fflush(stdout);
    if (error_print_progname != NULL) error_print_progname();
    else __model_fprintf(stderr, "%s", program_invocation_name);
}

static void end(int status, int number, const char *format, va_list list) {
    __model_vfprintf(stderr, format, list);
    error_message_count++;
    if (number != 0) {
        char text[1024];
        __model_fprintf(stderr, ": %s", strerror_r((int)pin((uint32_t)number), text, sizeof text));
    }
    __model_fputs("\n", stderr);
    fflush(stderr);
    if (status != 0) exit(status);
}

void __model_error(int status, int number, const char *format, ...) {
    begin();
    __model_fputs(": ", stderr);
    WITH_LIST(format, end(status, number, format, list))
}

void __model_error_at_line(int status, int number, const char *file, unsigned line, const char *format, ...) {
    static const char *last_file;
    static unsigned last_line;
    if (error_one_per_line) {
        bool same_file = last_file == file || (last_file != NULL && file != NULL && strcmp(last_file, file) == 0);
        if (last_line == line && same_file) return;
        last_file = file;
        last_line = line;
    }
    begin();
    if (file != NULL) __model_fprintf(stderr, ":%s:%u: ", file, line);
    else __model_fputs(": ", stderr);
    WITH_LIST(format, end(status, number, format, list))
}
