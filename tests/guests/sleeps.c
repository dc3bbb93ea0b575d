/* Every way to sleep takes exactly the time it says.
EXPECT
nanosleep 1.5
clock_nanosleep 2.0
absolute realtime 3.0
absolute monotonic 4.0
usleep 0.25
sleep 5.0 0
poll 0.5 0
select 0.75 0 0
pselect 0.125 0
epoll 6.0 0
ppoll 7.0 0
sigtimedwait 8.0 EAGAIN
futex 9.0 ETIMEDOUT
*/
#include "guest.h"
#include <linux/futex.h>
int main(void)
{
    int64_t t = now_ns();
    nanosleep(&(struct timespec){1, 500000000}, NULL);
    printf("nanosleep %.1f\n", since(t));
    t = now_ns();
    clock_nanosleep(CLOCK_BOOTTIME, 0, &(struct timespec){2, 0}, NULL);
    printf("clock_nanosleep %.1f\n", since(t));
    t = now_ns();
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 3;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
    printf("absolute realtime %.1f\n", since(t));
    t = now_ns();
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += 4;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    printf("absolute monotonic %.1f\n", since(t));
    t = now_ns();
    usleep(250000);
    printf("usleep %.2f\n", since(t));
    t = now_ns();
    unsigned left = sleep(5);
    printf("sleep %.1f %u\n", since(t), left);
    int pipes[2];
    if (pipe(pipes) < 0)
        return 1;
    struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
    t = now_ns();
    int r = poll(&fd, 1, 500);
    printf("poll %.1f %d\n", since(t), r);
    t = now_ns();
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[0], &set);
    struct timeval tv = {0, 750000};
    r = (int)syscall(SYS_select, pipes[0] + 1, &set, NULL, NULL, &tv); /* musl's keeps tv */
    printf("select %.2f %d %ld\n", since(t), r, tv.tv_sec * 1000000 + tv.tv_usec);
    t = now_ns();
    r = pselect(0, NULL, NULL, NULL, &(struct timespec){0, 125000000}, NULL);
    printf("pselect %.3f %d\n", since(t), r);
    int e = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &ev);
    t = now_ns();
    r = epoll_wait(e, &ev, 1, 6000);
    printf("epoll %.1f %d\n", since(t), r);
    t = now_ns();
    r = ppoll(&fd, 1, &(struct timespec){7, 0}, NULL);
    printf("ppoll %.1f %d\n", since(t), r);
    sigset_t sigs;
    sigemptyset(&sigs);
    sigaddset(&sigs, SIGUSR1);
    sigprocmask(SIG_BLOCK, &sigs, NULL);
    t = now_ns();
    r = sigtimedwait(&sigs, NULL, &(struct timespec){8, 0});
    printf("sigtimedwait %.1f %s\n", since(t), why(r));
    static int word;
    t = now_ns();
    r = (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &(struct timespec){9, 0}, NULL, 0);
    printf("futex %.1f %s\n", since(t), why(r));
    return 0;
}
