// Grows its memory; says how much it got.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int want = argc > 1 ? atoi(argv[1]) : 20, got = 0;
    for (; got < want; got++) {
        char *volatile p = malloc(1 << 20); // volatile: or the compiler takes it away
        if (!p)
            break;
        memset(p, 7, 1 << 20);
    }
    printf("%d\n", got);
    return 0;
}
