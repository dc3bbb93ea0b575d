/* What a guest opens and closes again and again leaves nothing behind: timerfds, armed or expired,
 * /dev/urandom. A timerfd that was closed is gone from its epoll, and moves no clock.
EXPECT
10000 timerfds
expired and closed: 0
armed and closed: 0 at 20.0
kept by the child: 1 at 30.0
2000 streams
a child of many
*/
#include "guest.h"
static int timer(int seconds)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (fd < 0 || timerfd_settime(fd, 0, &(struct itimerspec){{0, 0}, {seconds, 0}}, NULL) < 0)
        exit(1);
    return fd;
}
int main(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int64_t start = now_ns();
    int made = 0, epoll = epoll_create1(0);
    for (; made < 10000; made++)
        close(timer(made % 2 ? 1 : 100000));
    printf("%d timerfds\n", made);
    int fd = timer(5);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    sleep(10);
    close(fd); /* it had expired, and was not read */
    printf("expired and closed: %d\n", epoll_wait(epoll, &event, 1, 0));
    fd = timer(5);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    close(fd);
    int ready = epoll_wait(epoll, &event, 1, 10000);
    printf("armed and closed: %d at %.1f\n", ready, since(start));
    fflush(stdout);
    fd = timer(10);
    pid_t pid = fork();
    if (!pid) {
        uint64_t count;
        if (read(fd, &count, sizeof count) == sizeof count)
            printf("kept by the child: %lu at %.1f\n", count, since(start));
        return 0;
    }
    close(fd);
    waitpid(pid, NULL, 0);
    char bytes[16], last[16] = {0};
    int streams = 0;
    for (; streams < 2000; streams++) {
        int random = open("/dev/urandom", O_RDONLY);
        if (random < 0 || read(random, bytes, 16) != 16 || memcmp(bytes, last, 16) == 0)
            break;
        memcpy(last, bytes, 16);
        close(random);
    }
    printf("%d streams\n", streams);
    fflush(stdout);
    int random = open("/dev/urandom", O_RDONLY);
    if (!fork()) { /* it reads more than was there, from an end that it alone has */
        sleep(1);
        for (int i = 0; i < 200000; i++)
            if (read(random, bytes, 16) != 16)
                return 1;
        puts("a child of many");
        return 0;
    }
    close(random);
    wait(NULL);
    return 0;
}
