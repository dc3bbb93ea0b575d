/* timerfd in epoll, expirations counted; POSIX timers with overruns; order of equal deadlines.
EXPECT
timerfd 1 at 1.0
timerfd 1 at 3.0
timerfd missed 4 at 11.0
left 2.0
posix signal 42 at 1.5
overrun 3
5000 timers
order abcde
*/
#include "guest.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char order[8];
static void *sleeper(void *name)
{
    struct timespec at = {200000, 0};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    pthread_mutex_lock(&mutex);
    strncat(order, name, 1);
    pthread_mutex_unlock(&mutex);
    return NULL;
}
int main(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), e = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    uint64_t count;
    epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev);
    int64_t t = now_ns();
    timerfd_settime(fd, 0, &(struct itimerspec){{2, 0}, {1, 0}}, NULL);
    for (int i = 0; i < 2; i++) {
        if (epoll_wait(e, &ev, 1, -1) != 1 || read(fd, &count, 8) != 8)
            return 1;
        printf("timerfd %lu at %.1f\n", count, since(t));
    }
    sleep(8);
    if (read(fd, &count, 8) != 8)
        return 1;
    printf("timerfd missed %lu at %.1f\n", count, since(t));
    struct itimerspec now;
    timerfd_gettime(fd, &now);
    printf("left %ld.%ld\n", now.it_value.tv_sec, now.it_value.tv_nsec / 100000000);
    close(fd);
    timer_t id;
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 42};
    timer_create(CLOCK_REALTIME, &event, &id);
    t = now_ns();
    timer_settime(id, 0, &(struct itimerspec){{1, 0}, {1, 500000000}}, NULL);
    sigwaitinfo(&set, &info);
    printf("posix signal %d at %.1f\n", info.si_value.sival_int, since(t));
    sleep(4); /* due at 2.5, 3.5, 4.5, 5.5: one queued, three overrun */
    sigwaitinfo(&set, &info);
    printf("overrun %d\n", timer_getoverrun(id));
    timer_delete(id);
    int made = 0;
    for (int i = 0; i < 5000; i++, made++)
        if (timer_create(CLOCK_MONOTONIC, NULL, &id) < 0 || timer_delete(id) < 0)
            break;
    printf("%d timers\n", made);
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) {
        pthread_create(&threads[i], NULL, sleeper, &"abcde"[i]);
        usleep(1000);
    }
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    printf("order %s\n", order);
    return 0;
}
