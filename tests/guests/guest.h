/* SPDX-License-Identifier: MIT */
/* guest: what the C guests share. A guest has one behaviour, prints what happened in virtual time,
 * and carries the output it must give in a box in a comment that starts with EXPECT. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static __attribute__((unused)) double since(int64_t start)
{
    return (double)(now_ns() - start) / 1e9;
}
static __attribute__((unused)) const char *why(int result)
{
    return result < 0 ? strerrorname_np(errno) : "ok";
}
