// Leaves in different ways.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    printf("before\n");
    fflush(stdout);
    if (!strcmp(how, "exit"))
        exit(42);
    if (!strcmp(how, "trap"))
        __builtin_trap();
    if (!strcmp(how, "divide")) {
        volatile int zero = 0;
        return argc / zero;
    }
    if (!strcmp(how, "memory"))
        return *(volatile int *)0xfffffff0u;
    if (!strcmp(how, "spin"))
        for (volatile int i = 0;; i++)
            ;
    return 7;
}
