/* Waits of a program that is alone with the clock. Each stands behind one that was over in time;
what is there, or comes
 * by a signal, ends it at once, and errors are the kernel's. With an argument: as many waits of a
millisecond. EXPECT epoll 1.0 0 ok epoll ready 0.0 1 ok epoll edge, seen before 1.0 0 ok epoll
signalfd 0.0 1 ok epoll_pwait signal 0.0 -1 EINTR no epoll 0.0 -1 EINVAL no events 0.0 -1 EINVAL
poll 1.0 0 ok revents 0
poll ready 0.0 1 ok revents 1
poll closed 0.0 1 ok revents 32
poll nothing 1.0 0 ok
futex 1.0 -1 ETIMEDOUT
futex changed 0.0 -1 EAGAIN
futex crooked 0.0 -1 EINVAL
futex, no bits 0.0 -1 EINVAL
of a thread's own 0.0 1 ok
of the others 1.0 0 ok
*/
#include "guest.h"
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

static struct epoll_event event;
static int epoll_fd, event_fd;
static uint64_t count = 1;

/* The wait before: over in time. */
static int64_t start(void)
{
    nanosleep(&(struct timespec){0, 1000}, NULL);
    return now_ns();
}

static void say(const char *what, int64_t from, int result)
{
    const char *reason = why(result);
    printf("%s %.1f %d %s\n", what, since(from), result, reason);
}

static void wait_epoll(const char *what, int fd, int events, const sigset_t *mask)
{
    int64_t from = start();
    say(what, from, epoll_pwait(fd, &event, events, 1000, mask));
}

static void wait_poll(const char *what, struct pollfd *fd)
{
    int64_t from = start();
    int result = poll(fd, 1, 1000);
    printf("%s %.1f %d %s revents %d\n", what, since(from), result, why(result), fd->revents);
}

static void wait_futex(const char *what, void *word, int operation, int value, int bits)
{
    int64_t from = start();
    struct timespec at = {(from + 1000000000) / 1000000000, (from + 1000000000) % 1000000000};
    struct timespec second = {1, 0};
    say(what, from,
        (int)syscall(SYS_futex, word, operation, value, operation == FUTEX_WAIT ? &second : &at,
                     NULL, bits));
}

static void fill(void)
{
    if (write(event_fd, &count, sizeof count) != sizeof count)
        abort();
}

static void drain(void)
{
    uint64_t value;
    if (read(event_fd, &value, sizeof value) != sizeof value)
        abort();
}

static void watch(int fd, uint32_t events)
{
    event.events = events;
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void on_signal(int signal)
{
    (void)signal;
}

static void signals(void)
{
    sigset_t set, none;
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, on_signal);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, 0);
    watch(fd, EPOLLIN);
    raise(SIGUSR1);
    wait_epoll("epoll signalfd", epoll_fd, 1, NULL);
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    wait_epoll("epoll_pwait signal", epoll_fd, 1, &none);
    close(fd);
}

/* The same number stands for something else here than in the rest of the process. */
static void *other_table(void *unused)
{
    unshare(CLONE_FILES);
    drain();
    int other = eventfd(1, 0);
    dup2(other, event_fd);
    struct pollfd fd = {.fd = event_fd, .events = POLLIN};
    int64_t from = start();
    say("of a thread's own", from, poll(&fd, 1, 1000));
    return unused;
}

int main(int argc, char **argv)
{
    uint32_t word = 7, shifted[2] = {7 << 8, 0};
    epoll_fd = epoll_create1(0);
    event_fd = eventfd(0, 0);
    watch(event_fd, EPOLLIN);
    if (argc > 1) {
        for (int i = atoi(argv[1]); i; i--)
            epoll_wait(epoll_fd, &event, 1, 1);
        return 0;
    }
    wait_epoll("epoll", epoll_fd, 1, NULL);
    fill();
    wait_epoll("epoll ready", epoll_fd, 1, NULL);
    watch(event_fd, EPOLLIN | EPOLLET);
    epoll_wait(epoll_fd, &event, 1, 0);
    wait_epoll("epoll edge, seen before", epoll_fd, 1, NULL);
    signals();
    drain();
    wait_epoll("no epoll", event_fd, 1, NULL);
    wait_epoll("no events", epoll_fd, 0, NULL);
    struct pollfd fd = {.fd = event_fd, .events = POLLIN, .revents = POLLHUP};
    wait_poll("poll", &fd);
    fill();
    wait_poll("poll ready", &fd);
    fd.fd = 100;
    wait_poll("poll closed", &fd);
    int64_t from = start();
    say("poll nothing", from, poll(&(struct pollfd){.fd = -1}, 1, 1000));
    wait_futex("futex", &word, FUTEX_WAIT, 7, 0);
    wait_futex("futex changed", &word, FUTEX_WAIT_BITSET, 8, -1);
    wait_futex("futex crooked", (char *)shifted + 1, FUTEX_WAIT, 7, 0);
    wait_futex("futex, no bits", &word, FUTEX_WAIT_BITSET, 7, 0);
    pthread_t thread;
    start();
    pthread_create(&thread, NULL, other_table, NULL);
    pthread_join(thread, NULL);
    fd.fd = event_fd;
    from = start();
    say("of the others", from, poll(&fd, 1, 1000));
    return 0;
}
