/* Waits that what they wait for ends take the time until then, and tell what is left.
EXPECT
poll 2.0 1
select 2.0 1 3.0
ppoll raw 2.0 1 3.0
epoll 2.0 1
futex 2.0 ok
cond 2.0 0
select 1.0 0 sets 0 0
pselect 1.0 0 set 0
*/
#include "guest.h"
#include <linux/futex.h>
static int pipes[2];
static int word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int flag;
static void *writer(void *unused)
{
    for (int i = 0; i < 4; i++) {
        sleep(2);
        if (write(pipes[1], "x", 1) != 1)
            abort();
        sched_yield();
    }
    sleep(2);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
    sleep(2);
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void take(void)
{
    char c;
    if (read(pipes[0], &c, 1) != 1)
        abort();
}
int main(void)
{
    pthread_t thread;
    if (pipe(pipes) < 0)
        return 1;
    pthread_create(&thread, NULL, writer, NULL);
    struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
    int64_t t = now_ns();
    int r = poll(&fd, 1, 5000);
    printf("poll %.1f %d\n", since(t), r);
    take();
    t = now_ns();
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[0], &set);
    struct timeval tv = {5, 0};
    r = (int)syscall(SYS_select, pipes[0] + 1, &set, NULL, NULL, &tv); /* musl's keeps tv */
    printf("select %.1f %d %ld.%ld\n", since(t), r, tv.tv_sec, tv.tv_usec / 100000);
    take();
    t = now_ns();
    struct timespec left = {5, 0};
    r = (int)syscall(SYS_ppoll, &fd, 1, &left, NULL, 8);
    printf("ppoll raw %.1f %d %ld.%ld\n", since(t), r, left.tv_sec, left.tv_nsec / 100000000);
    take();
    int e = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &ev);
    t = now_ns();
    r = epoll_wait(e, &ev, 1, 5000);
    printf("epoll %.1f %d\n", since(t), r);
    t = now_ns();
    r = (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &(struct timespec){5, 0}, NULL, 0);
    printf("futex %.1f %s\n", since(t), why(r));
    t = now_ns();
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 5;
    pthread_mutex_lock(&mutex);
    r = 0;
    while (!flag && r == 0)
        r = pthread_cond_timedwait(&cond, &mutex, &at);
    pthread_mutex_unlock(&mutex);
    printf("cond %.1f %d\n", since(t), r);
    pthread_join(thread, NULL);
    fd_set out; /* what times out leaves empty sets behind */
    int none[2];
    if (pipe(none) < 0)
        return 1;
    FD_ZERO(&set);
    FD_ZERO(&out);
    FD_SET(none[0], &set);
    tv = (struct timeval){1, 0};
    t = now_ns();
    r = select(1024, &set, &out, NULL, &tv);
    printf("select %.1f %d sets %d %d\n", since(t), r, FD_ISSET(none[0], &set) != 0,
           FD_ISSET(none[0], &out) != 0);
    FD_SET(none[0], &set);
    t = now_ns();
    r = pselect(none[0] + 1, &set, NULL, NULL, &(struct timespec){1, 0}, NULL);
    printf("pselect %.1f %d set %d\n", since(t), r, FD_ISSET(none[0], &set) != 0);
    return 0;
}
