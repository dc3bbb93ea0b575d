/* A signal with a handler ends a sleep with EINTR and the time that is left; one without does not.
EXPECT
alarm ends nanosleep EINTR at 3.0, left 7.0
alarm ends read EINTR at 2.0
alarm ends epoll EINTR at 2.0
SA_RESTART goes on with read: ok at 4.0
ignored SIGCHLD leaves epoll alone: 5.0
handlers may sleep: 2.5, left 9.0
itimer 3 ticks at 3.0
*/
#include "guest.h"
static volatile int ticks;
static void on_alarm(int unused)
{
    ticks += unused != 0;
}
static void on_alarm_sleep(int unused)
{
    (void)unused;
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1500);
}
static void handle(void (*function)(int), int flags)
{
    struct sigaction action = {.sa_handler = function, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
}
int main(void)
{
    int pipes[2];
    char c;
    if (pipe(pipes) < 0)
        return 1;
    handle(on_alarm, 0);
    int64_t t = now_ns();
    alarm(3);
    struct timespec left = {0, 0};
    int r = nanosleep(&(struct timespec){10, 0}, &left);
    printf("alarm ends nanosleep %s at %.1f, left %ld.%ld\n", why(r), since(t), left.tv_sec,
           left.tv_nsec / 100000000);
    t = now_ns();
    alarm(2);
    r = (int)read(pipes[0], &c, 1);
    printf("alarm ends read %s at %.1f\n", why(r), since(t));
    int e = epoll_create1(0);
    struct epoll_event ev;
    t = now_ns();
    alarm(2);
    r = epoll_wait(e, &ev, 1, 9000);
    printf("alarm ends epoll %s at %.1f\n", why(r), since(t));
    handle(on_alarm, SA_RESTART);
    t = now_ns();
    alarm(2);
    if (fork() == 0) {
        sleep(4);
        _exit(write(pipes[1], "x", 1) != 1);
    }
    r = (int)read(pipes[0], &c, 1);
    printf("SA_RESTART goes on with read: %s at %.1f\n", why(r), since(t));
    wait(NULL);
    t = now_ns();
    if (fork() == 0) {
        sleep(1);
        _exit(0);
    }
    r = epoll_wait(e, &ev, 1, 5000);
    printf("ignored SIGCHLD leaves epoll alone: %.1f\n", since(t));
    wait(NULL);
    handle(on_alarm_sleep, 0);
    t = now_ns();
    alarm(1);
    left = (struct timespec){0, 0};
    r = nanosleep(&(struct timespec){10, 0}, &left);
    printf("handlers may sleep: %.1f, left %ld.%ld\n", since(t), left.tv_sec,
           left.tv_nsec / 100000000);
    handle(on_alarm, 0);
    ticks = 0;
    struct itimerval timer = {{1, 0}, {1, 0}};
    t = now_ns();
    setitimer(ITIMER_REAL, &timer, NULL);
    while (ticks < 3)
        pause();
    printf("itimer %d ticks at %.1f\n", ticks, since(t));
    return 0;
}
