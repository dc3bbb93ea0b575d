/* A wait leaves the registers of its arguments as they were, whether it ends in time, not in time,
or
 * at once because its time had come.
EXPECT
poll 500 500
futex kept kept
at once kept kept
epoll 300 300
*/
#include "guest.h"
static long raw(long number, long a, long b, long *c, long *d)
{
    long result;
    register long r10 __asm__("r10") = *d;
    __asm__ volatile("syscall"
                     : "=a"(result), "+d"(*c), "+r"(r10)
                     : "a"(number), "D"(a), "S"(b)
                     : "rcx", "r11", "memory");
    *d = r10;
    return result;
}
int main(void)
{
    int pipes[2];
    if (pipe(pipes) < 0)
        return 1;
    struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
    long timeout = 500, unused = 0;
    raw(SYS_poll, (long)&fd, 1, &timeout, &unused);
    long first = timeout;
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    raw(SYS_poll, (long)&fd, 1, &timeout, &unused);
    printf("poll %ld %ld\n", first, timeout);
    static int word;
    struct timespec t = {1, 0};
    long address = (long)&t, value = 0;
    raw(SYS_futex, (long)&word, 0, &value, &address);
    int kept = address == (long)&t;
    value = 1; /* EAGAIN at once */
    raw(SYS_futex, (long)&word, 0, &value, &address);
    printf("futex %s %s\n", kept ? "kept" : "lost", address == (long)&t ? "kept" : "lost");
    t = (struct timespec){0, 0};
    value = 0;
    raw(SYS_futex, (long)&word, 0, &value, &address);
    kept = address == (long)&t;
    t.tv_sec = 1; /* on the monotonic clock: long ago */
    raw(SYS_futex, (long)&word, 9, &value, &address);
    printf("at once %s %s\n", kept ? "kept" : "lost", address == (long)&t ? "kept" : "lost");
    int e = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    long max = 1, ms = 300;
    raw(SYS_epoll_wait, e, (long)&ev, &max, &ms);
    first = ms;
    epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &ev);
    raw(SYS_epoll_wait, e, (long)&ev, &max, &ms);
    printf("epoll %ld %ld\n", first, ms);
    return 0;
}
