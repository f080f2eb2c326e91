/* Parses standard input as HTTP and prints what the parser calls back with. */
#include "http_parser.h"
#include <stdio.h>

static int data(const char *what, const char *at, size_t length)
{
    printf("%s %.*s\n", what, (int)length, at);
    return 0;
}

static int on_url(http_parser *parser, const char *at, size_t length) { return data("url", at, length); }
static int on_field(http_parser *parser, const char *at, size_t length) { return data("field", at, length); }
static int on_value(http_parser *parser, const char *at, size_t length) { return data("value", at, length); }
static int on_body(http_parser *parser, const char *at, size_t length) { return data("body", at, length); }

static int on_headers_complete(http_parser *parser)
{
    if (parser->type == HTTP_REQUEST)
        printf("method %s", http_method_str(parser->method));
    else
        printf("status %d", parser->status_code);
    printf(" version %d.%d%s\n", parser->http_major, parser->http_minor, parser->upgrade ? " upgrade" : "");
    return 0;
}

static int on_message_complete(http_parser *parser)
{
    puts("complete");
    return 0;
}

int main(void)
{
    static char text[1 << 16];
    size_t length = fread(text, 1, sizeof text, stdin);
    http_parser_settings settings = { 0 };
    http_parser parser;

    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    settings.on_body = on_body;
    settings.on_headers_complete = on_headers_complete;
    settings.on_message_complete = on_message_complete;
    http_parser_init(&parser, HTTP_BOTH);
    size_t parsed = http_parser_execute(&parser, &settings, text, length);
    if (HTTP_PARSER_ERRNO(&parser) != HPE_OK) {
        printf("error %s at %zu\n", http_errno_name(HTTP_PARSER_ERRNO(&parser)), parsed);
        return 1;
    }
    http_parser_execute(&parser, &settings, text, 0);
    printf("end %s\n", http_errno_name(HTTP_PARSER_ERRNO(&parser)));
    return 0;
}
