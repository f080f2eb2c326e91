/* Reads XML from standard input and prints it again. */
#include "mxml.h"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char text[1 << 20];
    size_t length = fread(text, 1, sizeof text - 1, stdin);
    text[length] = 0;
    mxml_node_t *tree = mxmlLoadString(NULL, text, MXML_OPAQUE_CALLBACK);
    if (tree == NULL) {
        puts("no XML");
        return 1;
    }
    char *out = mxmlSaveAllocString(tree, MXML_NO_CALLBACK);
    puts(out ? out : "nothing");
    free(out);
    mxmlDelete(tree);
    return 0;
}
