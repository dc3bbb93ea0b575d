/* SPDX-License-Identifier: MIT */
/* Locks of somebody's own: futexes by number, as GLib, C++ and Rust have them. Those that are
 * private to the process are parked like any lock, so that their timeouts are times of the clock.
 * Others may be woken by another process; who waits for one stands aside, in real time.
 *
 * A wait may end without a reason: that is so for the kernel's, too, and everybody looks again. */
#include "interpose/calls.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static long real_futex(const long a[6])
{
    return REAL.syscall(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- waking: by any thread, of a bench or not */

static long wake(const long a[6], bool all)
{
    const void *key = (const void *)a[0];
    long r = real_futex(a), wanted = (int)a[2];

    if (r < 0)
        return r;
    if (all || wanted == INT_MAX) {
        unpark(key, true);
        return r;
    }
    bool put_off = lane_self()->inside != 0; /* a signal handler: then all are woken, and later */
    for (; r < wanted && unpark_one(key); r++)
        if (put_off)
            break;
    return r;
}

/* ---- waiting */

struct futex_wait {
    const uint32_t *word;
    uint32_t value;
    bool began;
};

static int try_futex(void *arg)
{
    struct futex_wait *wait = arg;

    if (wait->began)
        return 0;
    wait->began = true;
    return __atomic_load_n(wait->word, __ATOMIC_SEQ_CST) == wait->value ? EBUSY : EAGAIN;
}

static long wait_parked(struct lane *lane, struct vitro_clock *clock, const long a[6])
{
    const struct timespec *time = (const struct timespec *)a[3];
    struct futex_wait wait = {.word = (const uint32_t *)a[0], .value = (uint32_t)a[2]};
    struct deadline until = no_deadline;

    if (time && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
        until = deadline_after(ns_of(time));
    else if (time)
        until = deadline_at(clock, a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                            time);
    int r = park(lane, clock, &(struct parking){wait.word, try_futex, NULL, &wait}, &until);
    if (r == 0 || r == ECANCELED)
        return 0;
    errno = r;
    return -1;
}

static long wait_aside(const struct lane *lane, const void *caller, const long a[6])
{
    if (a[3] && lane_clock(lane))
        leak_here("clock/futex", caller);
    vitro_worker_idle_begin();
    long r = real_futex(a);
    int code = errno;
    vitro_worker_idle_end();
    errno = code;
    return r;
}

static bool may_park(const long a[6])
{
    const struct timespec *time = (const struct timespec *)a[3];

    return a[1] & FUTEX_PRIVATE_FLAG && a[0] && a[0] % (long)sizeof(uint32_t) == 0 &&
           (!time || ns_of(time) >= 0);
}

long call_futex(const void *caller, const long a[6])
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;

    if (is_library(caller))
        return real_futex(a);
    switch (a[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
        return wake(a, false);
    case FUTEX_WAKE_BITSET: /* whom it means is not known here: all look again */
        return wake(a, (uint32_t)a[5] != FUTEX_BITSET_MATCH_ANY);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP: {
        long r = real_futex(a);
        int code = errno;
        unpark((const void *)a[0], true);
        unpark((const void *)a[4], true);
        errno = code;
        return r;
    }
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (clock && may_park(a))
            return wait_parked(lane, clock, a);
        return lane ? wait_aside(lane, caller, a) : real_futex(a);
    case FUTEX_LOCK_PI:
        return lane ? wait_aside(lane, caller, a) : real_futex(a);
    default:
        return real_futex(a);
    }
}
