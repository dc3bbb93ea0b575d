/* SPDX-License-Identifier: MIT */
/* Calls on any clock, and the real one. */
#include "clock/clock.h"
#include "base/wall.h"
#include "base/when.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static_assert(sizeof(struct vitro_clock_error) == sizeof(struct err), "one layout");
static_assert(offsetof(struct vitro_clock_error, text) == offsetof(struct err, text), "one layout");

static inline struct vitro_clock *given(struct vitro_clock *clock)
{
    return clock ? clock : vitro_clock_in_force();
}

int64_t vitro_clock_now(struct vitro_clock *clock)
{
    clock = given(clock);
    return clock->ops->now(clock);
}

uint64_t vitro_clock_monotonic(struct vitro_clock *clock)
{
    clock = given(clock);
    return clock->ops->monotonic(clock);
}

int vitro_clock_sleep(struct vitro_clock *clock, int64_t ns)
{
    clock = given(clock);
    return clock->ops->sleep(clock, ns);
}

int vitro_clock_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    clock = given(clock);
    return clock->ops->sleep_until(clock, now_ns);
}

void vitro_clock_stop(struct vitro_clock *clock)
{
    clock = given(clock);
    if (clock->ops->stop)
        clock->ops->stop(clock);
}

void vitro_clock_free(struct vitro_clock *clock)
{
    if (clock && clock->ops->free)
        clock->ops->free(clock);
}

struct vitro_clock *clock_innermost(struct vitro_clock *clock)
{
    clock = given(clock);
    while (clock->ops->inner)
        clock = clock->ops->inner(clock);
    return clock;
}

/* ---- the real clock */

static int64_t real_now(struct vitro_clock *clock)
{
    (void)clock;
    return wall_now_ns();
}

static uint64_t real_monotonic(struct vitro_clock *clock)
{
    (void)clock;
    return wall_monotonic_ns();
}

static int nap(clockid_t clock, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};
    int r;

    do
        r = clock_nanosleep(clock, TIMER_ABSTIME, &until, NULL);
    while (r == EINTR);
    return -r;
}

static int real_sleep(struct vitro_clock *clock, int64_t ns)
{
    (void)clock;
    return ns <= 0 ? 0 : nap(CLOCK_MONOTONIC, wall_monotonic_ns() + (uint64_t)ns);
}

static int real_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    (void)clock;
    return now_ns <= 0 ? 0 : nap(CLOCK_REALTIME, (uint64_t)now_ns);
}

struct vitro_clock *vitro_clock_real(void)
{
    static const struct vitro_clock_ops ops = {.now = real_now,
                                               .monotonic = real_monotonic,
                                               .sleep = real_sleep,
                                               .sleep_until = real_sleep_until};
    static struct vitro_clock clock = {.ops = &ops};

    return &clock;
}
