/* A process for each call that waits for descriptors, on pipes into which nobody writes. No EXPECT:
 * it never ends by itself. */
#include "guest.h"
int main(void)
{
    int a[2], b[2], epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(a) < 0 || pipe(b) < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, b[0], &event) < 0)
        return 1;
    struct pollfd fds[2] = {{.fd = a[0], .events = POLLIN}, {.fd = b[0], .events = POLLIN}};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(a[0], &set);
    if (!fork())
        return poll(fds, 2, -1);
    if (!fork())
        return select(a[0] + 1, &set, NULL, NULL, NULL);
    pid_t last = fork();
    if (!last)
        return epoll_wait(epoll, &event, 1, -1);
    return waitpid(last, NULL, 0) < 0;
}
