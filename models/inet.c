// <arpa/inet.h>: byte order, and addresses as texts.
#include "model.h"
#include <arpa/inet.h>

unsigned long __model_strtoul(const char *text, char **end, int base);

// With optimisation these are macros.
uint32_t __model_htonl(uint32_t n) { return __builtin_bswap32(n); }
uint32_t __model_ntohl(uint32_t n) { return __builtin_bswap32(n); }
uint16_t __model_htons(uint16_t n) { return __builtin_bswap16(n); }
uint16_t __model_ntohs(uint16_t n) { return __builtin_bswap16(n); }

// --- from texts

// Up to four numbers in the notations of C; the last fills all bytes that are left. False, and nothing written, if it is no address.
static bool parse_loose(const char *text, uint32_t *address) {
    uint32_t above = 0;
    unsigned parts = 0;
    for (;; parts++) {
        if (!is_digit((unsigned char)*text)) return false;
        char *end;
        unsigned long number = __model_strtoul(text, &end, 0);
        unsigned char behind = (unsigned char)*end;
        if (behind != '.') {
            BRANCH;
            if ((behind != 0) & !is_space(behind)) return false;
            if (number > UINT32_MAX >> 8 * parts) return false;
            *address = __builtin_bswap32(above | (uint32_t)number);
            return true;
        }
        if (parts == 3 || number > 255) return false;
        above |= (uint32_t)number << (24 - 8 * parts);
        text = end + 1;
    }
}

int __model_inet_aton(const char *text, struct in_addr *address) {
    int saved = errno;
    uint32_t value = 0;
    bool good = parse_loose(text, &value);
    errno = saved;
    if (good && address != NULL) address->s_addr = value;
    return good;
}

in_addr_t __model_inet_addr(const char *text) {
    struct in_addr address;
    return __model_inet_aton(text, &address) ? address.s_addr : INADDR_NONE;
}

// Four decimal numbers, up to the end of the text.
static bool parse_quad(const unsigned char *text, unsigned char *to) {
    unsigned char bytes[4] = {0};
    unsigned at = 0, digits = 0, number = 0;
    for (;; text++) {
        if (is_digit(*text)) {
            BRANCH;
            if (digits > 0 && number == 0) return false;
            number = number * 10 + (*text - (unsigned)'0');
            if (number > 255) return false;
            digits++;
            continue;
        }
        if (digits == 0) return false;
        bytes[at++] = (unsigned char)number;
        if (at == 4) break;
        if (*text != '.') return false;
        digits = number = 0;
    }
    if (*text != 0) return false;
    memcpy(to, bytes, sizeof bytes);
    return true;
}

static bool parse_groups(const unsigned char *text, unsigned char *to) {
    unsigned char bytes[16] = {0};
    unsigned at = 0, digits = 0, number = 0;
    // Where `::` was.
    enum { NOWHERE = 17 };
    unsigned gap = NOWHERE;
    if (*text == ':') {
        BRANCH;
        if (*++text != ':') return false;
    }
    const unsigned char *group = text;
    for (;; text++) {
        unsigned digit = digit_value(*text);
        if (digit < 16) {
            BRANCH;
            if (digits == 4) return false;
            number = number << 4 | digit;
            digits++;
            continue;
        }
        if (*text == ':') {
            BRANCH;
            group = text + 1;
            if (digits == 0) {
                if (gap != NOWHERE) return false;
                gap = at;
                continue;
            }
            if (text[1] == 0 || at == 16) return false;
            bytes[at++] = (unsigned char)(number >> 8);
            bytes[at++] = (unsigned char)number;
            digits = number = 0;
            continue;
        }
        if (*text == '.') {
            BRANCH;
            if (at > 12 || !parse_quad(group, bytes + at)) return false;
            at += 4;
            digits = 0;
            break;
        }
        if (*text != 0) return false;
        break;
    }
    if (digits > 0) {
        if (at == 16) return false;
        bytes[at++] = (unsigned char)(number >> 8);
        bytes[at++] = (unsigned char)number;
    }
    if ((at == 16) != (gap == NOWHERE)) return false;
    // What is behind the gap goes to the end.
    unsigned zeros = 16 - at;
    for (unsigned i = 0; i < 16; i++) {
        if (i < gap) to[i] = bytes[i];
        else if (i < gap + zeros) to[i] = 0;
        else to[i] = bytes[i - zeros];
    }
    return true;
}

int __model_inet_pton(int family, const char *text, void *to) {
    switch (pin((uint64_t)(int64_t)family)) {
    case AF_INET: return parse_quad((const unsigned char *)text, to);
    case AF_INET6: return parse_groups((const unsigned char *)text, to);
    default: errno = EAFNOSUPPORT; return -1;
    }
}

// --- to texts

// The number of digits is decided by branches; the digits are expressions.
static char *print_decimal(char *p, unsigned byte) {
    if (byte > 99) {
        BRANCH;
        *p++ = (char)('0' + byte / 100);
    }
    if (byte > 9) {
        BRANCH;
        *p++ = (char)('0' + byte / 10 % 10);
    }
    *p++ = (char)('0' + byte % 10);
    return p;
}

static char *print_quad(char *p, const unsigned char *bytes) {
    for (unsigned i = 0; i < 4; i++) {
        if (i > 0) *p++ = '.';
        p = print_decimal(p, bytes[i]);
    }
    *p = 0;
    return p;
}

static char *print_hexadecimal(char *p, unsigned number) {
    for (int shift = 12; shift >= 0; shift -= 4) {
        if (shift > 0 && number < 1u << shift) continue;
        BRANCH;
        unsigned digit = number >> shift & 15;
        *p++ = (char)(digit + '0' + (digit > 9 ? 'a' - '0' - 10 : 0));
    }
    return p;
}

static char *print_groups(char *p, const unsigned char *bytes) {
    unsigned groups[8];
    for (unsigned i = 0; i < 8; i++) groups[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    // The first of the longest runs of two zeros or more is left out.
    unsigned first = 8, length = 1, run = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (groups[i] != 0) {
            BRANCH;
            run = 0;
            continue;
        }
        if (++run > length) {
            length = run;
            first = i + 1 - run;
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        if (first < 8 && i >= first && i < first + length) {
            if (i == first) *p++ = ':';
            continue;
        }
        if (i > 0) *p++ = ':';
        if (i == 6 && first == 0 && (length == 6 || (length == 5 && groups[5] == 0xffff))) return print_quad(p, bytes + 12);
        p = print_hexadecimal(p, groups[i]);
    }
    if (first < 8 && first + length == 8) *p++ = ':';
    *p = 0;
    return p;
}

const char *__model_inet_ntop(int family, const void *bytes, char *to, socklen_t size) {
    char text[INET6_ADDRSTRLEN], *end;
    switch (pin((uint64_t)(int64_t)family)) {
    case AF_INET: end = print_quad(text, bytes); break;
    case AF_INET6: end = print_groups(text, bytes); break;
    default: errno = EAFNOSUPPORT; return NULL;
    }
    size_t length = (size_t)(end - text) + 1;
    if (size < length) {
        errno = ENOSPC;
        return NULL;
    }
    memcpy(to, text, length);
    return to;
}

char *__model_inet_ntoa(struct in_addr address) {
    // The library's own place for the text.
    char *text = inet_ntoa((struct in_addr){(in_addr_t)plain(address.s_addr)});
    __chg_clear(text, INET_ADDRSTRLEN);
    unsigned char bytes[4];
    for (unsigned i = 0; i < 4; i++) bytes[i] = (unsigned char)(address.s_addr >> 8 * i);
    print_quad(text, bytes);
    return text;
}
