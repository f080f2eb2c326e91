// Addresses as texts: random ones, most of them nearly right, in both directions.
#include "native.h"
#include <arpa/inet.h>

int __model_inet_aton(const char *, struct in_addr *);
in_addr_t __model_inet_addr(const char *);
int __model_inet_pton(int, const char *, void *);
const char *__model_inet_ntop(int, const void *, char *, socklen_t);
char *__model_inet_ntoa(struct in_addr);

static const char *const pieces[] = {
    "0",  "1",    "9",   "10",   "25",   "99",         "100",        "255",         "256",  "0x",    "0xff", "0XfF", "010", "08", "00",
    "1f", "ffff", "::",  ":",    ".",    "abcd",       "12345",      "4294967295",  "4294967296",    "65535", "65536", "16777215",
    " ",  "\t",   "x",   "g",    "/",    "\xff",       "-1",         "+1",          "0.0.0.0",       "1.2.3.4", "::ffff:", "16777216",
    "18446744073709551616", "192.168.1.1",
};

static void random_text(char *to) {
    *to = 0;
    static const char *const between[] = {".", ":", "", ".", ":"};
    unsigned style = below_random(5), count = 1 + below_random(style == 1 ? 9 : 5);
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = below_random(10);
        char piece[32];
        if (kind < 4) snprintf(piece, sizeof piece, "%u", below_random(below_random(3) ? 256 : 300));
        else if (kind < 7) snprintf(piece, sizeof piece, "%x", below_random(below_random(3) ? 65536 : 70000));
        else snprintf(piece, sizeof piece, "%s", pieces[below_random(sizeof pieces / sizeof *pieces)]);
        strcat(to, piece);
        if (i + 1 < count) strcat(to, below_random(8) ? between[style] : between[below_random(5)]);
    }
    if (below_random(4) == 0) strcat(to, pieces[below_random(sizeof pieces / sizeof *pieces)]);
}

static void from_text(const char *text) {
    struct in_addr real = {0x11223344}, model = real;
    errno = 7;
    int result = __model_inet_aton(text, &model);
    CHECK(errno == 7, "inet_aton of '%s' sets errno", text);
    CHECK(inet_aton(text, &real) == result && real.s_addr == model.s_addr, "inet_aton of '%s' is %d, %x", text, result, model.s_addr);
    CHECK(__model_inet_aton(text, NULL) == result, "inet_aton of '%s' without a place", text);
    CHECK(inet_addr(text) == __model_inet_addr(text), "inet_addr of '%s'", text);
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    for (unsigned i = 0; i < 3; i++) {
        unsigned char first[16], second[16];
        memset(first, '#', sizeof first);
        memset(second, '#', sizeof second);
        errno = 7;
        int expected = inet_pton(families[i], text, first), number = errno;
        errno = 7;
        int got = __model_inet_pton(families[i], text, second);
        CHECK(expected == got && number == errno && memcmp(first, second, sizeof first) == 0, "inet_pton of '%s' is %d, not %d", text, got,
              expected);
    }
}

static void to_text(void) {
    unsigned char bytes[16];
    // Groups of zeros matter.
    for (unsigned i = 0; i < 16; i += 2) {
        bool zero = below_random(2) == 0;
        bytes[i] = zero || below_random(3) == 0 ? 0 : (unsigned char)below_random(256);
        bytes[i + 1] = zero ? 0 : (unsigned char)below_random(below_random(2) ? 256 : 16);
    }
    if (below_random(3) == 0) memset(bytes, 0, 10 + below_random(7));
    if (below_random(3) == 0) memset(bytes + 10, 0xff, 2);
    socklen_t size = below_random(3) ? INET6_ADDRSTRLEN : below_random(INET6_ADDRSTRLEN);
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    for (unsigned i = 0; i < 3; i++) {
        char first[INET6_ADDRSTRLEN], second[INET6_ADDRSTRLEN];
        memset(first, '#', sizeof first);
        memset(second, '#', sizeof second);
        errno = 7;
        const char *real = inet_ntop(families[i], bytes, first, size);
        int number = errno;
        errno = 7;
        const char *model = __model_inet_ntop(families[i], bytes, second, size);
        CHECK((real == first) == (model == second) && (real == NULL) == (model == NULL) && number == errno,
              "inet_ntop into %u bytes is '%s', not '%s'", size, model ? model : "(null)", real ? real : "(null)");
        CHECK(real == NULL || strcmp(first, second) == 0, "inet_ntop is '%s', not '%s'", second, first);
    }
    struct in_addr address;
    memcpy(&address, bytes + 12, 4);
    char text[INET_ADDRSTRLEN];
    strcpy(text, inet_ntoa(address));
    CHECK(strcmp(text, __model_inet_ntoa(address)) == 0, "inet_ntoa is not '%s'", text);
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]) * 10;
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        for (int i = 0; i < rounds; i++) {
            char text[512];
            random_text(text);
            from_text(text);
            to_text();
        }
    }
    printf("inet: %zu checks\n", checks);
    return 0;
}
