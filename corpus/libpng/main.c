/* Reads a PNG file from standard input and prints what is in it. With -i, wrong checksums do not matter. */
#include "png.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void failed(png_structp png, png_const_charp text)
{
    fprintf(stderr, "error: %s\n", text);
    png_longjmp(png, 1);
}

static void warned(png_structp png, png_const_charp text)
{
    (void)png;
    fprintf(stderr, "warning: %s\n", text);
}

static void print_bytes(const char *name, png_const_bytep bytes, size_t count)
{
    printf("%s", name);
    for (size_t i = 0; i < count; i++)
        printf(" %02x", bytes[i]);
    putchar('\n');
}

static void print_colours(png_structp png, png_infop info)
{
    png_colorp palette;
    png_bytep alpha;
    png_color_16p colour;
    png_fixed_point gamma, points[8];
    png_uint_16p histogram;
    int count, intent;

    if (png_get_PLTE(png, info, &palette, &count))
        print_bytes("palette", (png_const_bytep)palette, 3 * (size_t)count);
    if (png_get_tRNS(png, info, &alpha, &count, &colour)) {
        printf("transparent %d of %d %d %d\n", colour->gray, colour->red, colour->green, colour->blue);
        if (alpha != NULL)
            print_bytes("alpha", alpha, (size_t)count);
    }
    if (png_get_bKGD(png, info, &colour))
        printf("background %d or %d %d %d %d\n", colour->index, colour->gray, colour->red, colour->green, colour->blue);
    if (png_get_gAMA_fixed(png, info, &gamma))
        printf("gamma %d\n", gamma);
    if (png_get_sRGB(png, info, &intent))
        printf("sRGB %d\n", intent);
    if (png_get_cHRM_fixed(png, info, &points[0], &points[1], &points[2], &points[3], &points[4], &points[5], &points[6], &points[7])) {
        printf("chromaticities");
        for (int i = 0; i < 8; i++)
            printf(" %d", points[i]);
        putchar('\n');
    }
    if (png_get_hIST(png, info, &histogram))
        printf("histogram %d\n", histogram[0]);
#ifdef PNG_cICP_SUPPORTED
    png_byte primaries, transfer, matrix, full;
    if (png_get_cICP(png, info, &primaries, &transfer, &matrix, &full))
        printf("coding %d %d %d %d\n", primaries, transfer, matrix, full);
#endif
}

static void print_rest(png_structp png, png_infop info)
{
    png_textp texts;
    png_timep time;
    png_bytep exif;
    png_uint_32 length, x, y;
    int count, unit;

    png_get_text(png, info, &texts, &count);
    for (int i = 0; i < count; i++)
        printf("text %d %s = %s\n", texts[i].compression, texts[i].key, texts[i].text);
    if (png_get_tIME(png, info, &time))
        printf("time %d-%d-%d %d:%d:%d\n", time->year, time->month, time->day, time->hour, time->minute, time->second);
    if (png_get_pHYs(png, info, &x, &y, &unit))
        printf("pixels %u %u %d\n", x, y, unit);
    if (png_get_eXIf_1(png, info, &length, &exif))
        print_bytes("exif", exif, length);
}

int main(int argc, char **argv)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, failed, warned);
    png_infop info = png_create_info_struct(png);

    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "-i") == 0)
        png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    /* Larger ones are refused by the library. */
    png_set_user_limits(png, 64, 64);
    png_init_io(png, stdin);
    png_read_info(png, info);
    png_uint_32 width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    printf("%u x %u, %d bits, colour type %d, interlace %d\n", width, height, png_get_bit_depth(png, info),
           png_get_color_type(png, info), png_get_interlace_type(png, info));
    print_colours(png, info);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t size = png_get_rowbytes(png, info);
    png_bytep image = png_calloc(png, size * height);
    png_bytep rows[64];
    for (png_uint_32 y = 0; y < height; y++)
        rows[y] = image + y * size;
    png_read_image(png, rows);
    png_read_end(png, info);
    for (png_uint_32 y = 0; y < height; y++)
        print_bytes("row", rows[y], size);
    print_rest(png, info);
    png_free(png, image);
    png_destroy_read_struct(&png, &info, NULL);
    return 0;
}
