// Counts what comes on standard input, and copies it.
#include <stdio.h>
int main(void)
{
    int c, lines = 0, bytes = 0;
    while ((c = getchar()) != EOF) {
        putchar(c);
        bytes++;
        lines += c == '\n';
    }
    fprintf(stderr, "to stderr\n");
    printf("%d lines, %d bytes\n", lines, bytes);
    return lines;
}
