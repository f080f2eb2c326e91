/* Reads records: a kind, a length, that many bytes, and their checksum, which must be right before anything else is looked at.
   Kind 'c' has a CRC-32 with a table, kind 'a' an Adler-32, kind 'f' a Fletcher-16. Sums are big-endian. */
#include <stdint.h>
#include <stdio.h>

enum { MOST = 256 };

static uint32_t table[256];

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t entry = i;

        for (int bit = 0; bit < 8; bit++)
            entry = entry & 1 ? entry >> 1 ^ 0xedb88320u : entry >> 1;
        table[i] = entry;
    }
}

static uint32_t crc32(const unsigned char *bytes, int length)
{
    uint32_t value = ~0u;

    for (int i = 0; i < length; i++)
        value = table[(value ^ bytes[i]) & 0xff] ^ value >> 8;
    return ~value;
}

static uint32_t adler32(const unsigned char *bytes, int length)
{
    uint32_t low = 1, high = 0;

    for (int i = 0; i < length; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static uint32_t fletcher16(const unsigned char *bytes, int length)
{
    uint32_t low = 0, high = 0;

    for (int i = 0; i < length; i++) {
        low = (low + bytes[i]) % 255;
        high = (high + low) % 255;
    }
    return high << 8 | low;
}

/* A number of `size` bytes, or -1 at the end of the input. */
static int64_t number(int size)
{
    int64_t value = 0;

    for (int i = 0; i < size; i++) {
        int c = getchar();

        if (c == EOF)
            return -1;
        value = value << 8 | c;
    }
    return value;
}

static int accept(int kind, const unsigned char *bytes, int length)
{
    uint32_t sum = kind == 'c' ? crc32(bytes, length) : kind == 'a' ? adler32(bytes, length) : fletcher16(bytes, length);

    return number(kind == 'f' ? 2 : 4) == sum;
}

int main(void)
{
    unsigned char bytes[MOST];
    long total = 0;
    int kind;

    fill_table();
    while ((kind = getchar()) != EOF) {
        int length = getchar();

        if ((kind != 'c' && kind != 'a' && kind != 'f') || length == EOF) {
            printf("malformed\n");
            return 1;
        }
        for (int i = 0; i < length; i++) {
            int c = getchar();

            if (c == EOF) {
                printf("cut off\n");
                return 1;
            }
            bytes[i] = (unsigned char)c;
        }
        if (!accept(kind, bytes, length)) {
            printf("wrong sum\n");
            return 1;
        }
        for (int i = 0; i < length; i++)
            total += bytes[i] == '+' ? 1 : bytes[i] == '-' ? -1 : 0;
        if (total > 2)
            printf("high\n");
    }
    printf("%ld\n", total);
    return 0;
}
