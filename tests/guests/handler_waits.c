/* SPDX-License-Identifier: MIT */
/* handler_waits: a signal comes with what a wait was for, and its handler waits as well: each of
the two
 * waits ends as it would alone, and goes on where it was called.
EXPECT
poll: 1 ready, the handler's poll timed out after 5 ms
epoll: 1 ready, the handler's poll timed out after 5 ms
select: 1 ready, the handler's poll timed out after 5 ms
*/
#include "guest.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int quiet[2]; /* nobody writes to it */
static volatile int handled_ms, handled_result = -2;

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A call from a place of its own. */
static long poll_here(struct pollfd *fd, int milliseconds)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_poll), "D"(fd), "S"(1), "d"(milliseconds)
                     : "rcx", "r11", "memory");
    return result;
}

static void on_signal(int number)
{
    struct pollfd fd = {.fd = quiet[0], .events = POLLIN};
    long before = now_ms();

    (void)number;
    handled_result = (int)poll_here(&fd, 5);
    handled_ms = (int)(now_ms() - before);
}

static void tell(const char *name, int result, const char *what)
{
    printf("%s: %d %s, ", name, result, what);
    printf("the handler's poll %s after %d ms\n",
           handled_result == 0 ? "timed out" : "did not time out", handled_ms);
    handled_result = -2;
    handled_ms = 0;
    fflush(stdout);
}

/* What it writes sends the signal too (O_ASYNC): the parent finds both. */
static pid_t start_child(int fd)
{
    struct timespec moment = {0, 20000000};
    pid_t pid = fork();

    if (pid)
        return pid;
    nanosleep(&moment, NULL);
    _exit(write(fd, "x", 1) != 1);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    int data[2];
    char byte;

    if (pipe(quiet) < 0 || pipe(data) < 0)
        return 1;
    sigaction(SIGIO, &action, NULL);
    fcntl(data[0], F_SETOWN, getpid());
    fcntl(data[0], F_SETFL, O_ASYNC);

    pid_t child = start_child(data[1]);
    struct pollfd fd = {.fd = data[0], .events = POLLIN};
    int result = poll(&fd, 1, 1000);
    tell("poll", result, "ready");
    (void)!read(data[0], &byte, 1);
    waitpid(child, NULL, 0);

    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, data[0], &event);
    child = start_child(data[1]);
    result = epoll_wait(epoll, &event, 1, 1000);
    tell("epoll", result, "ready");
    (void)!read(data[0], &byte, 1);
    waitpid(child, NULL, 0);

    fd_set set;
    FD_ZERO(&set);
    FD_SET(data[0], &set);
    struct timeval limit = {1, 0};
    child = start_child(data[1]);
    result = select(data[0] + 1, &set, NULL, NULL, &limit);
    tell("select", result, "ready");
    (void)!read(data[0], &byte, 1);
    waitpid(child, NULL, 0);

    return 0;
}
