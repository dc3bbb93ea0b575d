/* A loop on the clock ends, whichever way it reads the clock.
EXPECT
vdso 1.0
raw 0.1
tsc moved
cpu 0.5
*/
#include "guest.h"
int main(void)
{
    int64_t t = now_ns();
    while (since(t) < 1.0)
        ;
    printf("vdso %.1f\n", since(t));
    struct timespec a, b;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &a);
    do
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 100000000);
    printf("raw %.1f\n",
           (double)((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec) / 1e9);
    uint64_t low = __builtin_ia32_rdtsc();
    while (__builtin_ia32_rdtsc() < low + 10000000)
        ;
    printf("tsc moved\n");
    clock_t c = clock();
    while (clock() - c < CLOCKS_PER_SEC / 2)
        ;
    printf("cpu %.1f\n", (double)(clock() - c) / CLOCKS_PER_SEC);
    return 0;
}
