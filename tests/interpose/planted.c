/* SPDX-License-Identifier: MIT */
/* A shared library with a leak: it measures its own processor time. And one that behaves. */
#include <stdint.h>
#include <time.h>

int64_t planted_cost(void);
int64_t planted_stamp(void);

int64_t planted_cost(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t planted_stamp(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
