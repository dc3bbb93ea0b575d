/* SPDX-License-Identifier: MIT */
#include "host/mock_wait.h"
#include "base/wall.h"
#include "base/when.h"
#include "clock/paused.h"
#include <errno.h>

#define CEILING_NS INT64_C(45000000000)

struct mock_waiter {
    struct vitro_clock_timer timer; /* first: fire() finds the rest by it */
    struct mock_room *room;
    struct mock_waiter *next;
    pthread_cond_t wake;
    struct vitro_clock *counted; /* the worker's clock, while it is counted off; else NULL */
    bool woken, timed_out;
};

void mock_room_init(struct mock_room *room, struct vitro_clock *clock, int64_t ceiling_ns)
{
    *room =
        (struct mock_room){.clock = clock, .ceiling_ns = ceiling_ns > 0 ? ceiling_ns : CEILING_NS};
    (void)pthread_mutex_init(&room->lock, NULL);
}

void mock_room_done(struct mock_room *room)
{
    (void)pthread_mutex_destroy(&room->lock);
}

static void wake(struct mock_waiter *waiter)
{
    if (waiter->woken)
        return;
    waiter->woken = true;
    if (waiter->counted && waiter->counted->ops->running)
        waiter->counted->ops->running(waiter->counted, +1);
    waiter->counted = NULL;
    (void)pthread_cond_signal(&waiter->wake);
}

void mock_room_wake(struct mock_room *room)
{
    for (struct mock_waiter *waiter = room->first; waiter; waiter = waiter->next)
        wake(waiter);
}

static void fire(struct vitro_clock_timer *timer)
{
    struct mock_waiter *waiter = (struct mock_waiter *)timer;

    (void)pthread_mutex_lock(&waiter->room->lock);
    waiter->timed_out = true;
    wake(waiter);
    (void)pthread_mutex_unlock(&waiter->room->lock);
}

static void enter(struct mock_room *room, struct mock_waiter *waiter)
{
    pthread_condattr_t attributes;

    waiter->room = room;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&waiter->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    waiter->next = room->first;
    room->first = waiter;
}

static void leave(struct mock_room *room, struct mock_waiter *waiter)
{
    struct mock_waiter **at = &room->first;

    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    (void)pthread_cond_destroy(&waiter->wake);
}

/* Until somebody wakes it, or `until_ns` of the real monotonic clock has come: -ETIMEDOUT. */
static int nap(struct mock_room *room, struct mock_waiter *waiter, uint64_t until_ns)
{
    const struct lane *lane = lane_self();
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};
    struct vitro_clock *worker = lane->clock && !lane->idle ? lane->clock : NULL;
    int r = 0;

    waiter->woken = false;
    waiter->counted = worker;
    if (worker && worker->ops->running) { /* which may fire timers, who take the lock */
        (void)pthread_mutex_unlock(&room->lock);
        worker->ops->running(worker, -1);
        (void)pthread_mutex_lock(&room->lock);
    }
    while (!waiter->woken && r == 0)
        r = -pthread_cond_timedwait(&waiter->wake, &room->lock, &until);
    if (!waiter->woken)
        wake(waiter); /* counts us as running again */
    return r;
}

static uint64_t after(uint64_t from_ns, int64_t ns)
{
    uint64_t at;

    return __builtin_add_overflow(from_ns, (uint64_t)ns, &at) ? UINT64_MAX : at;
}

/* A clock that jumps does so at the sleep of a thread that is no worker: this is one. True: it
 * moved, to the next deadline and not beyond. */
static bool jump(struct mock_room *room, const struct paused *paused)
{
    if (!paused || !paused->jumps || lane_self()->clock == &paused->clock)
        return false;
    (void)pthread_mutex_unlock(&room->lock);
    int64_t woken = vitro_clock_advance_to_next(room->clock, NULL);
    (void)pthread_mutex_lock(&room->lock);
    return woken > 0;
}

int mock_room_wait(struct mock_room *room, bool (*ready)(void *context), void *context,
                   int64_t timeout_ns, const char *what, struct err *err)
{
    const struct paused *paused = paused_of(room->clock);
    bool real = clock_innermost(room->clock) == vitro_clock_real();
    uint64_t start_ns = wall_monotonic_ns(), ceiling_ns = after(start_ns, room->ceiling_ns);
    struct mock_waiter waiter = {.timer = {.fire = fire}};
    int r = 0;

    if (ready(context))
        return 0;
    if (timeout_ns == 0)
        return -ETIMEDOUT;
    enter(room, &waiter);
    if (paused && timeout_ns > 0)
        r = vitro_clock_arm(room->clock, &waiter.timer, timeout_ns);
    while (r == 0 && !ready(context)) {
        if (waiter.timed_out) {
            r = -ETIMEDOUT;
        } else if (!paused && !real && timeout_ns > 0) { /* a clock of somebody's own */
            (void)pthread_mutex_unlock(&room->lock);
            r = vitro_clock_sleep(room->clock, timeout_ns);
            (void)pthread_mutex_lock(&room->lock);
            waiter.timed_out = true;
        } else if (!jump(room, paused) && !ready(context) && !waiter.timed_out) {
            uint64_t until_ns = real && timeout_ns > 0 ? after(start_ns, timeout_ns) : ceiling_ns;
            if (nap(room, &waiter, until_ns < ceiling_ns ? until_ns : ceiling_ns) < 0 &&
                !ready(context) && !waiter.timed_out)
                r = until_ns <= ceiling_ns && real && timeout_ns > 0
                        ? -ETIMEDOUT
                        : err_set(err, -EDEADLK, "%s: nothing happened for %lld s of real time",
                                  what, (long long)(room->ceiling_ns / (int64_t)NS_PER_SEC));
        }
    }
    if (paused && timeout_ns > 0) { /* it may be firing, and wants the lock */
        (void)pthread_mutex_unlock(&room->lock);
        (void)vitro_clock_disarm(room->clock, &waiter.timer);
        (void)pthread_mutex_lock(&room->lock);
    }
    leave(room, &waiter);
    return r;
}
