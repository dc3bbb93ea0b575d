/* SPDX-License-Identifier: MIT */
/* Sleeping, and waiting for signals. A sleep on a clock that was stopped ends as by a signal. */
#include "base/when.h"
#include "interpose/calls.h"
#include <sys/signalfd.h>

/* 0, or EINTR with what is left. */
static int sleep_for(struct lane *lane, struct vitro_clock *clock, int64_t ns, int64_t *ret_left)
{
    uint64_t began = vitro_clock_monotonic(clock);
    struct deadline until = deadline_after(ns);

    if (ns <= 0)
        return 0;
    enum waited waited = wait_fds(lane, clock, NULL, 0, &until, NULL);
    int64_t slept = (int64_t)(vitro_clock_monotonic(clock) - began);
    world_note(lane_world(lane), "clock_sleep", "{\"duration_ns\":%lld}", (long long)slept);
    if (waited != WAITED_SIGNAL)
        return 0;
    *ret_left = ns > slept ? ns - slept : 0;
    return EINTR;
}

static int sleep_until(struct lane *lane, struct vitro_clock *clock, clockid_t id,
                       const struct timespec *at)
{
    struct deadline until = deadline_at(clock, id, at);
    bool passed = until.base == BY_DAY ? until.ns <= vitro_clock_now(clock) : until.ns <= 0;

    return passed || wait_fds(lane, clock, NULL, 0, &until, NULL) != WAITED_SIGNAL ? 0 : EINTR;
}

int call_clock_nanosleep(const void *caller, clockid_t id, int flags, const struct timespec *wanted,
                         struct timespec *left)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;
    int64_t left_ns;

    if (!clock || !wanted || ns_of(wanted) < 0 || !(is_day(id) || is_monotonic(id)))
        return REAL.clock_nanosleep(id, flags, wanted, left);
    if (flags & TIMER_ABSTIME)
        return sleep_until(lane, clock, id, wanted);
    int r = sleep_for(lane, clock, ns_of(wanted), &left_ns);
    if (r && left)
        *left = timespec_of(left_ns);
    return r;
}

int call_nanosleep(const void *caller, const struct timespec *wanted, struct timespec *left)
{
    int r = call_clock_nanosleep(caller, CLOCK_MONOTONIC, 0, wanted, left);

    if (r == 0)
        return 0;
    errno = r;
    return -1;
}

int call_thrd_sleep(const void *caller, const struct timespec *wanted, struct timespec *left)
{
    int r = call_clock_nanosleep(caller, CLOCK_MONOTONIC, 0, wanted, left);

    return r == 0 ? 0 : r == EINTR ? -1 : -2;
}

int call_usleep(const void *caller, useconds_t us)
{
    struct timespec wanted = timespec_of((int64_t)us * 1000);

    return call_nanosleep(caller, &wanted, NULL);
}

unsigned call_sleep(const void *caller, unsigned seconds)
{
    struct timespec wanted = {.tv_sec = seconds}, left = {0};

    if (call_nanosleep(caller, &wanted, &left) == 0)
        return 0;
    return (unsigned)left.tv_sec + (left.tv_nsec >= (long)NS_PER_SEC / 2);
}

/* ---- signals */

int call_sigsuspend(const void *caller, const sigset_t *mask)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;

    if (!clock || !mask)
        return REAL.sigsuspend(mask);
    while (wait_fds(lane, clock, NULL, 0, &no_deadline, mask) != WAITED_SIGNAL)
        ;
    errno = EINTR;
    return -1;
}

int call_pause(const void *caller)
{
    sigset_t mask;

    if (!lane_here(caller))
        return REAL.pause();
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return call_sigsuspend(caller, &mask);
}

/* A blocked signal that is waited for: a signalfd tells that it has come. */
int call_sigtimedwait(const void *caller, const sigset_t *restrict set, siginfo_t *restrict ret,
                      const struct timespec *restrict wait)
{
    static const struct timespec none;
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;

    if (!clock || (wait && ns_of(wait) <= 0))
        return REAL.sigtimedwait(set, ret, wait);
    int r = REAL.sigtimedwait(set, ret, &none);
    if (r >= 0 || errno != EAGAIN)
        return r;
    struct pollfd fd = {.fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN};
    struct deadline until = wait ? deadline_after(ns_of(wait)) : no_deadline;
    enum waited waited;
    do {
        waited = wait_fds(lane, clock, &fd, 1, &until, NULL);
        r = REAL.sigtimedwait(set, ret, &none);
    } while (waited == WAITED_READY && r < 0 && errno == EAGAIN);
    int code = waited == WAITED_SIGNAL ? EINTR : EAGAIN;
    (void)REAL.close(fd.fd);
    if (r < 0)
        errno = code;
    return r;
}

int call_sigwaitinfo(const void *caller, const sigset_t *restrict set, siginfo_t *restrict ret)
{
    return lane_here(caller) ? call_sigtimedwait(caller, set, ret, NULL)
                             : REAL.sigwaitinfo(set, ret);
}

int call_sigwait(const void *caller, const sigset_t *restrict set, int *restrict ret)
{
    int r;

    if (!lane_here(caller))
        return REAL.sigwait(set, ret);
    do
        r = call_sigtimedwait(caller, set, NULL, NULL);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return errno;
    *ret = r;
    return 0;
}
