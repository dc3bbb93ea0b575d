/* SPDX-License-Identifier: MIT */
#include "base/wall.h"
#include "base/when.h"
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool by_call; /* set once, in a process of one thread */

void wall_avoid_counter(void)
{
    by_call = true;
}

static int64_t now(clockid_t clock)
{
    struct timespec now;

    if (by_call)
        (void)syscall(SYS_clock_gettime, clock, &now);
    else
        (void)clock_gettime(clock, &now);
    return now.tv_sec * (int64_t)NS_PER_SEC + now.tv_nsec;
}

uint64_t wall_monotonic_ns(void)
{
    return (uint64_t)now(CLOCK_MONOTONIC);
}

int64_t wall_now_ns(void)
{
    return now(CLOCK_REALTIME);
}

int64_t wall_coarse_ns(void)
{
    return now(CLOCK_REALTIME_COARSE);
}

uint64_t wall_cpu_ns(pid_t pid)
{
    /* As of clock_getcpuclockid(3), which would ask whether there is such a process. */
    const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
    struct timespec used;

    if (clock_gettime(clock, &used) < 0)
        return 0;
    return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}
