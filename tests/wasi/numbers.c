// Arithmetic, floating point, sorting, recursion.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static int cmp(const void *a, const void *b)
{
    return *(int *)a - *(int *)b;
}
static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main(void)
{
    int v[1000];
    uint32_t x = 1;
    for (int i = 0; i < 1000; i++)
        v[i] = (int)((x = x * 1664525u + 1013904223u) >> 8) % 1000;
    qsort(v, 1000, sizeof *v, cmp);
    printf("%d %d %d\n", v[0], v[500], v[999]);
    printf("%.17g %.17g %a\n", sqrt(2), sin(1), 0.1);
    printf("%d %lld %llx\n", fib(24), 1LL << 40, (unsigned long long)-1 / 3);
    printf("%g %g %d\n", 1.0 / 0.0, fmod(7, 3), (int)lround(2.5));
    return 0;
}
