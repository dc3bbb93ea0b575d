/* SPDX-License-Identifier: MIT */
/* Reading the time. No locks, no allocation: these are called from signal handlers. CPU time stays
 * real, and is a leak. */
#include "base/when.h"
#include "interpose/calls.h"
#include <string.h>

int64_t ns_of(const struct timespec *time)
{
    int64_t ns;

    if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= (long)NS_PER_SEC)
        return -1;
    if (__builtin_mul_overflow(time->tv_sec, (int64_t)NS_PER_SEC, &ns) ||
        __builtin_add_overflow(ns, time->tv_nsec, &ns))
        return INT64_MAX;
    return ns;
}

struct timespec timespec_of(int64_t ns)
{
    int64_t seconds = ns / (int64_t)NS_PER_SEC, rest = ns % (int64_t)NS_PER_SEC;

    if (rest < 0) {
        seconds--;
        rest += (int64_t)NS_PER_SEC;
    }
    return (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)rest};
}

bool is_monotonic(clockid_t id)
{
    return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE ||
           id == CLOCK_BOOTTIME || id == CLOCK_BOOTTIME_ALARM;
}

bool is_day(clockid_t id)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

/* false: a clock that stays real. */
static bool read_clock(struct vitro_clock *clock, clockid_t id, struct timespec *ret)
{
    if (is_day(id))
        *ret = timespec_of(vitro_clock_now(clock));
    else if (is_monotonic(id))
        *ret = timespec_of((int64_t)vitro_clock_monotonic(clock) + MONOTONIC_OFFSET_NS);
    else
        return false;
    return true;
}

int call_clock_gettime(const void *caller, clockid_t id, struct timespec *ret)
{
    struct vitro_clock *clock = clock_here(caller);

    if (!clock || !ret)
        return REAL.clock_gettime(id, ret);
    if (read_clock(clock, id, ret))
        return 0;
    leak_here("clock/cpu", caller);
    return REAL.clock_gettime(id, ret);
}

int call_clock_getres(const void *caller, clockid_t id, struct timespec *ret)
{
    struct vitro_clock *clock = clock_here(caller);

    if (!clock || !(is_day(id) || is_monotonic(id)))
        return REAL.clock_getres(id, ret);
    if (ret)
        *ret = (struct timespec){.tv_nsec = 1};
    return 0;
}

time_t call_time(const void *caller, time_t *ret)
{
    struct vitro_clock *clock = clock_here(caller);
    struct timespec now;

    if (!clock)
        return REAL.time(ret);
    (void)read_clock(clock, CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

int call_gettimeofday(const void *caller, struct timeval *restrict ret, void *restrict zone)
{
    struct vitro_clock *clock = clock_here(caller);
    struct timespec now;

    if (!clock || !ret)
        return REAL.gettimeofday(ret, zone);
    (void)read_clock(clock, CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    if (zone)
        memset(zone, 0, sizeof(struct timezone));
    return 0;
}

int call_timespec_get(const void *caller, struct timespec *ret, int base)
{
    struct vitro_clock *clock = clock_here(caller);

    if (!clock || base != TIME_UTC)
        return REAL.timespec_get(ret, base);
    (void)read_clock(clock, CLOCK_REALTIME, ret);
    return base;
}

/* Processor times are real; what is returned is a time of the clock, in ticks. */
clock_t call_times(const void *caller, struct tms *ret)
{
    struct vitro_clock *clock = clock_here(caller);
    clock_t real = REAL.times(ret);

    if (!clock)
        return real;
    if (ret)
        leak_here("clock/cpu", caller);
    return (clock_t)(vitro_clock_monotonic(clock) / (NS_PER_SEC / 100));
}

clock_t call_clock(const void *caller)
{
    if (clock_here(caller))
        leak_here("clock/cpu", caller);
    return REAL.clock();
}

/* ---- setting it: the mock's, never the machine's */

static int set_to(struct lane *lane, struct vitro_clock *clock, int64_t ns)
{
    inside_begin(lane);
    int64_t r = vitro_clock_set(clock, ns, NULL);
    inside_end(lane);
    if (r >= 0)
        return 0;
    errno = r == -EINVAL ? EPERM : EINVAL;
    return -1;
}

int call_clock_settime(const void *caller, clockid_t id, const struct timespec *to)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;

    if (!clock || id != CLOCK_REALTIME || !to || ns_of(to) < 0)
        return REAL.clock_settime(clock && id == CLOCK_REALTIME ? (clockid_t)-1 : id, to);
    return set_to(lane, clock, ns_of(to));
}

int call_settimeofday(const void *caller, const struct timeval *to, const struct timezone *zone)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;

    if (!clock || !to)
        return REAL.settimeofday(to, zone);
    struct timespec time = {.tv_sec = to->tv_sec, .tv_nsec = to->tv_usec * 1000};
    if (ns_of(&time) >= 0)
        return set_to(lane, clock, ns_of(&time));
    errno = EINVAL;
    return -1;
}
