// Large copies through buffers, and a file read back.
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    FILE *f = fopen("large", "w");
    for (int i = 0; i < 200000; i++)
        fprintf(f, "%d,", i);
    fclose(f);
    f = fopen("large", "r");
    unsigned sum = 0, c;
    while ((int)(c = (unsigned)getc(f)) != EOF)
        sum = sum * 31 + c;
    printf("%u %ld\n", sum, ftell(f));
    printf("%d\n", remove("large"));
    return 0;
}
