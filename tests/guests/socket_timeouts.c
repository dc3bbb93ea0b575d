/* SO_RCVTIMEO and SO_SNDTIMEO time plain calls in virtual time; a periodic timerfd that was closed
 * does not keep the clock going.
EXPECT
recv EAGAIN after 3.0
accept EAGAIN after 2.5
from its listener: EAGAIN after 2.5
read of what came 1 after 2.0
set to 3.0
two small writes arrive: 2 bytes after 0.0
no timeout EINTR after 7.0
*/
#include "guest.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
static void on_alarm(int unused)
{
    (void)unused;
}
int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) < 0 ||
        connect(c, (struct sockaddr *)&address, size) < 0)
        return 1;
    int s = accept(server, NULL, NULL);
    char byte;
    struct timeval three = {3, 0}, half = {2, 500000}, none = {0, 0};
    setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &three, sizeof three);
    int64_t t = now_ns();
    int r = (int)recv(c, &byte, 1, 0);
    printf("recv %s after %.1f\n", why(r), since(t));
    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &half, sizeof half);
    t = now_ns();
    r = accept(server, NULL, NULL);
    printf("accept %s after %.1f\n", why(r), since(t));
    int c2 = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c2, (struct sockaddr *)&address, size) < 0)
        return 1;
    int s2 = accept(server, NULL, NULL);
    t = now_ns();
    r = (int)read(s2, &byte, 1);
    printf("from its listener: %s after %.1f\n", why(r), since(t));
    t = now_ns();
    if (fork() == 0) {
        sleep(2);
        _exit(write(s, "x", 1) != 1);
    }
    r = (int)read(c, &byte, 1);
    printf("read of what came %d after %.1f\n", r, since(t));
    wait(NULL);
    socklen_t length = sizeof none;
    getsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &none, &length);
    printf("set to %ld.%ld\n", none.tv_sec, none.tv_usec / 100000);
    t = now_ns();
    if (fork() == 0) /* the second write waits for the first one's acknowledgement */
        _exit(write(s, "a", 1) != 1 || write(s, "b", 1) != 1);
    char two[2];
    r = (int)recv(c, two, 2, MSG_WAITALL);
    printf("two small writes arrive: %d bytes after %.1f\n", r, since(t));
    wait(NULL);
    none = (struct timeval){0, 0};
    setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &(struct itimerspec){{0, 1000}, {1, 0}}, NULL);
    close(fd);
    t = now_ns();
    alarm(7);
    r = (int)recv(c, &byte, 1, 0);
    printf("no timeout %s after %.1f\n", why(r), since(t));
    return 0;
}
