/* Reads JSON from standard input; prints it formatted, unformatted and minified. */
#include "cJSON.h"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char text[1 << 20];
    size_t length = fread(text, 1, sizeof text - 1, stdin);
    text[length] = 0;
    cJSON *value = cJSON_Parse(text);
    if (value == NULL) {
        puts("no JSON");
    } else {
        char *formatted = cJSON_Print(value);
        char *unformatted = cJSON_PrintUnformatted(value);
        printf("%s\n%s\n", formatted, unformatted);
        free(formatted);
        free(unformatted);
        cJSON_Delete(value);
    }
    cJSON_Minify(text);
    puts(text);
    return 0;
}
