// Sleeps and waits for input, on virtual time. Not for the oracle: its time is real.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    printf("%lld\n", (long long)time(NULL));
    sleep(86400);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%lld %lld\n", (long long)time(NULL), (long long)(b.tv_sec - a.tv_sec));
    struct pollfd in = {.fd = 0, .events = POLLIN};
    printf("poll %d\n", poll(&in, 1, 5000)); // nothing comes: five seconds
    printf("%lld\n", (long long)time(NULL));
    unsigned char r[8];
    printf("random %d\n", getentropy(r, sizeof r));
    for (int i = 0; i < 8; i++)
        printf("%02x", r[i]);
    puts("");
    return 0;
}
