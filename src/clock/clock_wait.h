/* SPDX-License-Identifier: MIT */
/* clock_wait: waiting for something else than the clock, until a time of the clock at most. What
 * the interposed libc waits with.
 *
 *     struct clock_wait wait = {.wake = wake, .is_ready = is_ready};
 *     clock_wait_begin(&wait, paused, BY_MONOTONIC, at);     from here on the clock may move
 *     ... blocks until wake() was called, or for a reason of its own ...
 *     if (clock_wait_end(&wait) == WAIT_TIME_CAME)
 *
 * The thread does not count as running meanwhile, and counts again before anybody can move the
 * clock past what woke it: the mover counts it when its time comes, clock_wait_wake when somebody
 * makes it ready, and a clock that is about to jump asks `is_ready` of all who wait. */
#pragma once
#include "clock/paused.h"

enum wait_state {
    WAIT_NOT_BEGUN,
    WAIT_WAITING,
    WAIT_TIME_CAME,
    WAIT_WOKEN,
    WAIT_STOPPED, /* the clock was */
};

struct clock_wait {
    struct vitro_clock_timer timer; /* its deadline; first: the mover has its address */
    struct clock_wait *prev, *next; /* of the clock, oldest first */
    struct paused *paused;
    enum wait_state state; /* under the clock's lock */
    bool counted;          /* it was running, and will be */
    bool listed;
    void (*wake)(struct clock_wait *wait);     /* it need not wait any longer; must not block */
    bool (*is_ready)(struct clock_wait *wait); /* may be NULL. With the clock's lock held */
};

/* `at` is a key of `base` (paused_key); UINT64_MAX: no deadline. Returns the state, which may have
 * come to something else than WAIT_WAITING: a clock that jumps may have jumped. */
enum wait_state clock_wait_begin(struct clock_wait *wait, struct paused *paused, enum base base,
                                 uint64_t at);
/* By who makes it ready, in any thread, from before `begin` to `end`. False: it was over before. */
bool clock_wait_wake(struct clock_wait *wait);
enum wait_state clock_wait_end(struct clock_wait *wait);

/* A key `ns` from now, or of a time of day. */
uint64_t paused_key_after(struct paused *paused, int64_t ns);
