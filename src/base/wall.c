/* SPDX-License-Identifier: MIT */
#include "base/wall.h"
#include "base/when.h"
#include <time.h>

uint64_t wall_monotonic_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

int64_t wall_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * (int64_t)NS_PER_SEC + now.tv_nsec;
}

int64_t wall_coarse_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec * (int64_t)NS_PER_SEC + now.tv_nsec;
}
