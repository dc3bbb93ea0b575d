/* recvmmsg and its timeout, which counts from the first datagram on; IPv6 needs no acknowledgements
 * that are late; packets carry no stamps of real time.
EXPECT
one came in time: 1 after 3.0, left 0.0
none came in time: 1 after 4.0, left 0.0
both came: 2 after 2.0, left 3.0
what is there: 1 after 0.0, left 0.0
the next call is fine: 1
the first is enough: 1 after 1.0, left 4.0
SO_RCVTIMEO: EAGAIN after 1.5
bad timeout: EINVAL
stamps: ok, none came
IPv6: 30000 bytes after 0.0
*/
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
static int out, in;
static struct mmsghdr messages[4];
static void prepare(void)
{
    static char bytes[4];
    static struct iovec vectors[4];
    for (int i = 0; i < 4; i++) {
        vectors[i] = (struct iovec){&bytes[i], 1};
        messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1, .msg_control = NULL};
    }
}
static pid_t sender;
static void later(int seconds, int count)
{
    sender = fork();
    if (sender == 0) {
        for (int i = 0; i < count; i++) {
            sleep((unsigned)seconds);
            if (send(out, "x", 1, 0) != 1)
                _exit(1);
        }
        pause(); /* its end is a signal */
    }
}
static void receive(const char *what, unsigned count, int flags, int seconds)
{
    struct timespec timeout = {seconds, 0};
    int64_t t = now_ns();
    prepare();
    int r = recvmmsg(in, messages, count, flags, &timeout);
    printf("%s: %d after %.1f, left %.1f\n", what, r, since(t),
           (double)timeout.tv_sec + (double)timeout.tv_nsec / 1e9);
    if (sender > 0)
        kill(sender, SIGKILL);
    while (wait(NULL) > 0)
        ;
    sender = 0;
}
static void stream(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof address;
    int server = socket(AF_INET6, SOCK_STREAM, 0), c = socket(AF_INET6, SOCK_STREAM, 0);
    char bytes[1000] = {0};
    int64_t t = now_ns();
    size_t total = 0;
    if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) < 0)
        exit(1);
    if (fork() == 0) {
        int s = accept(server, NULL, NULL);
        for (int i = 0; i < 30; i++)
            if (write(s, bytes, 1) != 1 || write(s, bytes, 998) != 998 || write(s, bytes, 1) != 1 ||
                read(s, bytes, 1) != 1)
                _exit(1);
        _exit(0);
    }
    if (connect(c, (struct sockaddr *)&address, size) < 0)
        exit(1);
    for (size_t part = 0; total < 30000; part = 0) {
        struct pollfd p = {c, POLLIN, 0};
        while (part < 1000 && poll(&p, 1, 500) >= 0) {
            ssize_t r = recv(c, bytes, sizeof bytes, MSG_DONTWAIT);
            part += r > 0 ? (size_t)r : 0;
        }
        total += part;
        if (write(c, "x", 1) != 1)
            exit(1);
    }
    printf("IPv6: %zu bytes after %.1f\n", total, since(t));
}
int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char byte, control[256];
    setvbuf(stdout, NULL, _IONBF, 0);
    in = socket(AF_INET, SOCK_DGRAM, 0);
    out = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(in, (struct sockaddr *)&address, size) < 0 ||
        getsockname(in, (struct sockaddr *)&address, &size) < 0 ||
        connect(out, (struct sockaddr *)&address, size) < 0)
        return 1;
    later(2, 1);
    receive("one came in time", 2, 0, 3);
    later(4, 1);
    receive("none came in time", 2, 0, 3);
    later(1, 2);
    receive("both came", 2, 0, 5);
    if (send(out, "a", 1, 0) != 1 || send(out, "b", 1, 0) != 1)
        return 1;
    receive("what is there", 2, 0, 0);
    printf("the next call is fine: %zd\n", recv(in, &byte, 1, 0));
    later(1, 1);
    receive("the first is enough", 4, MSG_WAITFORONE, 5);
    struct timeval half = {1, 500000}, none = {0, 0};
    setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &half, sizeof half);
    int64_t t = now_ns();
    int r = recvmmsg(in, messages, 2, 0, NULL);
    printf("SO_RCVTIMEO: %s after %.1f\n", why(r), since(t));
    setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    struct timespec bad = {0, -1};
    r = recvmmsg(in, messages, 2, 0, &bad);
    printf("bad timeout: %s\n", why(r));
    int on = 1;
    r = setsockopt(in, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on);
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    if (send(out, "a", 1, 0) != 1 || recvmsg(in, &message, 0) != 1)
        return 1;
    printf("stamps: %s, %s came\n", why(r), CMSG_FIRSTHDR(&message) ? "one" : "none");
    stream();
    return 0;
}
