/* SPDX-License-Identifier: MIT */
/* The paused clock: reading it, sleeping on it, its timers. Moving it is in paused_move.c.
 *
 * What a change must keep: who wakes a worker counts it as running, before the worker runs; a
 * worker counts itself off as it goes to sleep. So `running` is 0 only when no worker can do
 * anything before the clock moves. */
#include "clock/paused.h"
#include "base/buf.h"
#include "base/wall.h"
#include "base/when.h"
#include "clock/clock_wait.h"
#include <assert.h>
#include <errno.h>

#define CEILING_NS INT64_C(45000000000)
#define START_NS   INT64_C(1767225600000000000) /* 2026-01-01T00:00:00Z */

struct hidden {
    struct timer timer;
    enum base base;
};
static_assert(sizeof(struct hidden) <= sizeof(((struct vitro_clock_timer *)0)->hidden), "fits");

static struct hidden *hidden_of(struct vitro_clock_timer *timer)
{
    return (void *)timer->hidden;
}

static struct vitro_clock_timer *timer_of(struct timer *timer)
{
    return (void *)((char *)timer - offsetof(struct vitro_clock_timer, hidden));
}

uint64_t paused_day_key(int64_t now_ns)
{
    return (uint64_t)now_ns ^ UINT64_C(1) << 63;
}

static uint64_t key(const struct paused *paused, enum base base)
{
    return base == BY_DAY ? paused_day_key(atomic_load(&paused->now_ns))
                          : atomic_load(&paused->monotonic_ns);
}

/* As far as the time of day goes, at most. */
static uint64_t monotonic_after(const struct paused *paused, int64_t ns)
{
    uint64_t room = (uint64_t)INT64_MAX - (uint64_t)atomic_load(&paused->now_ns);
    uint64_t wanted = ns < 0 ? 0 : (uint64_t)ns, at;

    if (__builtin_add_overflow(key(paused, BY_MONOTONIC), wanted < room ? wanted : room, &at))
        at = UINT64_MAX;
    return at;
}

uint64_t paused_key_after(struct paused *paused, int64_t ns)
{
    (void)pthread_mutex_lock(&paused->lock);
    uint64_t at = monotonic_after(paused, ns);
    (void)pthread_mutex_unlock(&paused->lock);
    return at;
}

/* ---- telling and watching */

void paused_tell(struct paused *paused)
{
    if (paused->watchers)
        (void)pthread_cond_broadcast(&paused->changed);
}

int paused_watch(struct paused *paused, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};

    paused->watchers++;
    int r = pthread_cond_timedwait(&paused->changed, &paused->lock, &until);
    paused->watchers--;
    return -r;
}

/* ---- who is next */

static uint64_t distance(const struct paused *paused, enum base base, uint64_t at)
{
    uint64_t now = key(paused, base);

    return at > now ? at - now : 0;
}

/* Timers before threads, then monotonic time before time of day. */
static uint64_t next(const struct paused *paused, enum woke *ret_who, enum base *ret_base)
{
    uint64_t least = UINT64_MAX;

    *ret_who = WOKE_NOBODY;
    for (enum woke who = WOKE_TIMER; who <= WOKE_THREAD; who++)
        for (enum base base = 0; base < BASES; base++) {
            const struct timers *timers = &paused->timers[base];
            bool any = who == WOKE_TIMER ? timers_count(timers) : paused->first[base] != NULL;
            if (!any)
                continue;
            uint64_t far = distance(
                paused, base, who == WOKE_TIMER ? timers_next_ns(timers) : paused->first[base]->at);
            if (*ret_who && far >= least)
                continue;
            least = far;
            *ret_who = who;
            *ret_base = base;
        }
    return least;
}

uint64_t paused_next(const struct paused *paused)
{
    enum woke who;
    enum base base;

    return next(paused, &who, &base);
}

static void sleeper_remove(struct paused *paused, enum base base, struct sleeper *sleeper)
{
    *(sleeper->prev ? &sleeper->prev->next : &paused->first[base]) = sleeper->next;
    *(sleeper->next ? &sleeper->next->prev : &paused->last[base]) = sleeper->prev;
    paused->asleep--;
}

static void sleeper_add(struct paused *paused, enum base base, struct sleeper *sleeper)
{
    struct sleeper *before = paused->last[base];

    while (before && (before->at > sleeper->at ||
                      (before->at == sleeper->at && lane_compare(before->lane, sleeper->lane) > 0)))
        before = before->prev;
    sleeper->prev = before;
    sleeper->next = before ? before->next : paused->first[base];
    *(before ? &before->next : &paused->first[base]) = sleeper;
    *(sleeper->next ? &sleeper->next->prev : &paused->last[base]) = sleeper;
    paused->asleep++;
}

/* ---- one step */

void paused_move_by(struct paused *paused, uint64_t ns)
{
    if (ns == 0)
        return;
    uint64_t monotonic_ns = atomic_load_explicit(&paused->monotonic_ns, memory_order_relaxed);
    uint64_t now_ns = (uint64_t)atomic_load_explicit(&paused->now_ns, memory_order_relaxed);
    atomic_store_explicit(&paused->monotonic_ns, monotonic_ns + ns, memory_order_release);
    atomic_store_explicit(&paused->now_ns, (int64_t)(now_ns + ns), memory_order_release);
}

static void fire(struct paused *paused, struct vitro_clock_timer *timer)
{
    paused->firing = timer;
    (void)pthread_mutex_unlock(&paused->lock);
    timer->fire(timer);
    (void)pthread_mutex_lock(&paused->lock);
    paused->firing = NULL;
    paused_tell(paused);
}

enum woke paused_step(struct paused *paused, uint64_t limit_ns)
{
    enum woke who;
    enum base base;
    uint64_t far = next(paused, &who, &base);

    assert(paused_is_mover(paused));
    if (who == WOKE_NOBODY || far > limit_ns)
        return WOKE_NOBODY;
    paused_move_by(paused, far);
    if (who == WOKE_TIMER) {
        fire(paused, timer_of(timers_pop(&paused->timers[base])));
    } else {
        struct sleeper *sleeper = paused->first[base];
        sleeper_remove(paused, base, sleeper);
        sleeper->woken = true;
        paused->running += sleeper->counted;
        (void)pthread_cond_signal(&sleeper->wake);
    }
    return who;
}

/* A clock that jumps does so when no worker runs. True: a timer fired, and there may be more. After
 * waking a thread it is that thread's turn. */
static bool jump(struct paused *paused)
{
    if (!paused->jumps || paused->running || paused->moving || paused->stopped)
        return false;
    if (paused->first_wait && clock_waits_ready(paused))
        return false;
    paused->moving = true;
    paused->mover = pthread_self();
    enum woke who = paused_step(paused, UINT64_MAX);
    paused->moving = false;
    paused_tell(paused);
    return who == WOKE_TIMER;
}

void paused_jumps(struct paused *paused)
{
    while (jump(paused))
        ;
}

/* ---- sleeping */

static int nap(struct paused *paused, enum base base, struct sleeper *sleeper)
{
    const struct lane *lane = lane_self();

    if (paused->stopped)
        return -ECANCELED;
    if (paused_is_mover(paused))
        return -EDEADLK;
    sleeper->lane = lane_name(lane);
    sleeper->counted = lane->clock == &paused->clock && !lane->idle;
    (void)pthread_cond_init(&sleeper->wake, NULL);
    sleeper_add(paused, base, sleeper);
    paused->running -= sleeper->counted;
    paused->inside++;
    paused_tell(paused);
    while (!sleeper->woken && !paused->stopped)
        if (!jump(paused) && !sleeper->woken && !paused->stopped)
            (void)pthread_cond_wait(&sleeper->wake, &paused->lock);
    if (!sleeper->woken) {
        sleeper_remove(paused, base, sleeper);
        paused->running += sleeper->counted;
    }
    paused->inside--;
    paused_tell(paused);
    (void)pthread_cond_destroy(&sleeper->wake);
    return sleeper->woken ? 0 : -ECANCELED;
}

static int paused_sleep(struct vitro_clock *clock, int64_t ns)
{
    struct paused *paused = (struct paused *)clock;

    (void)pthread_mutex_lock(&paused->lock);
    struct sleeper sleeper = {.at = monotonic_after(paused, ns)};
    int r = ns <= 0 ? paused->stopped ? -ECANCELED : 0 : nap(paused, BY_MONOTONIC, &sleeper);
    (void)pthread_mutex_unlock(&paused->lock);
    return r;
}

static int paused_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    struct paused *paused = (struct paused *)clock;
    struct sleeper sleeper = {.at = paused_day_key(now_ns)};

    (void)pthread_mutex_lock(&paused->lock);
    int r = now_ns <= atomic_load(&paused->now_ns) ? paused->stopped ? -ECANCELED : 0
                                                   : nap(paused, BY_DAY, &sleeper);
    (void)pthread_mutex_unlock(&paused->lock);
    return r;
}

static void paused_running(struct vitro_clock *clock, int change)
{
    struct paused *paused = (struct paused *)clock;

    (void)pthread_mutex_lock(&paused->lock);
    paused->running += change;
    paused_tell(paused);
    if (change < 0)
        paused_jumps(paused);
    (void)pthread_mutex_unlock(&paused->lock);
}

void paused_fork_begin(struct paused *paused)
{
    (void)pthread_mutex_lock(&paused->lock);
}

void paused_fork_end(struct paused *paused, bool is_child)
{
    const struct lane *lane = lane_self();

    if (is_child) {
        for (enum base base = 0; base < BASES; base++)
            paused->first[base] = paused->last[base] = NULL;
        clock_waits_forget(paused);
        paused->asleep = paused->inside = paused->watchers = 0;
        paused->running = lane->clock == &paused->clock && !lane->idle;
        paused->moving = false;
        (void)pthread_cond_init(&paused->changed, &paused->attributes);
    }
    (void)pthread_mutex_unlock(&paused->lock);
}

/* ---- timers */

void paused_arm(struct paused *paused, struct vitro_clock_timer *timer, enum base base, uint64_t at)
{
    struct hidden *hidden = hidden_of(timer);

    hidden->base = base;
    timer_arm(&paused->timers[base], &hidden->timer, at, false);
}

static int arm(struct vitro_clock *clock, struct vitro_clock_timer *timer, enum base base,
               int64_t ns)
{
    struct paused *paused = paused_of(clock);

    if (!paused || !timer || !timer->fire)
        return -EINVAL;
    struct hidden *hidden = hidden_of(timer);
    (void)pthread_mutex_lock(&paused->lock);
    int r = timer_armed(&hidden->timer) ? -EBUSY : 0;
    if (r == 0) {
        paused_arm(paused, timer, base,
                   base == BY_DAY ? paused_day_key(ns) : monotonic_after(paused, ns));
        paused_tell(paused);
    }
    (void)pthread_mutex_unlock(&paused->lock);
    return r;
}

int vitro_clock_arm(struct vitro_clock *clock, struct vitro_clock_timer *timer, int64_t ns)
{
    return arm(clock, timer, BY_MONOTONIC, ns);
}

int vitro_clock_arm_at(struct vitro_clock *clock, struct vitro_clock_timer *timer, int64_t now_ns)
{
    return arm(clock, timer, BY_DAY, now_ns);
}

void paused_disarm(struct paused *paused, struct vitro_clock_timer *timer)
{
    struct hidden *hidden = hidden_of(timer);

    if (timer_armed(&hidden->timer))
        timer_cancel(&paused->timers[hidden->base], &hidden->timer);
}

int vitro_clock_disarm(struct vitro_clock *clock, struct vitro_clock_timer *timer)
{
    struct paused *paused = paused_of(clock);

    if (!paused || !timer)
        return -EINVAL;
    struct hidden *hidden = hidden_of(timer);
    (void)pthread_mutex_lock(&paused->lock);
    while (paused->firing == timer && !paused_is_mover(paused)) {
        paused->watchers++;
        (void)pthread_cond_wait(&paused->changed, &paused->lock);
        paused->watchers--;
    }
    int r = timer_armed(&hidden->timer);
    if (r)
        timer_cancel(&paused->timers[hidden->base], &hidden->timer);
    (void)pthread_mutex_unlock(&paused->lock);
    return r;
}

/* ---- the clock itself */

static int64_t paused_now(struct vitro_clock *clock)
{
    return atomic_load_explicit(&((struct paused *)clock)->now_ns, memory_order_acquire);
}

static uint64_t paused_monotonic(struct vitro_clock *clock)
{
    return atomic_load_explicit(&((struct paused *)clock)->monotonic_ns, memory_order_acquire);
}

static void paused_stop(struct vitro_clock *clock)
{
    struct paused *paused = (struct paused *)clock;

    (void)pthread_mutex_lock(&paused->lock);
    paused->stopped = true;
    for (enum base base = 0; base < BASES; base++)
        for (struct sleeper *sleeper = paused->first[base]; sleeper; sleeper = sleeper->next)
            (void)pthread_cond_signal(&sleeper->wake);
    clock_waits_stop(paused);
    paused_tell(paused);
    (void)pthread_mutex_unlock(&paused->lock);
}

static void paused_free(struct vitro_clock *clock)
{
    struct paused *paused = (struct paused *)clock;

    paused_stop(clock);
    (void)pthread_mutex_lock(&paused->lock);
    paused->watchers++;
    while (paused->inside || paused->moving)
        (void)pthread_cond_wait(&paused->changed, &paused->lock);
    (void)pthread_mutex_unlock(&paused->lock);
    for (enum base base = 0; base < BASES; base++)
        timers_done(&paused->timers[base]);
    (void)pthread_cond_destroy(&paused->changed);
    (void)pthread_condattr_destroy(&paused->attributes);
    (void)pthread_mutex_destroy(&paused->lock);
    free(paused);
}

static const struct vitro_clock_ops ops = {.now = paused_now,
                                           .monotonic = paused_monotonic,
                                           .sleep = paused_sleep,
                                           .sleep_until = paused_sleep_until,
                                           .stop = paused_stop,
                                           .running = paused_running,
                                           .free = paused_free};

struct paused *paused_of(struct vitro_clock *clock)
{
    clock = clock_innermost(clock);
    return clock->ops == &ops ? (struct paused *)clock : NULL;
}

struct vitro_clock *vitro_clock_paused(const struct vitro_paused_options *options)
{
    static const struct vitro_paused_options none;
    struct paused *paused = mem_alloc(sizeof *paused);

    options = options ? options : &none;
    paused->clock.ops = &ops;
    atomic_init(&paused->now_ns, options->now_ns || options->at_epoch ? options->now_ns : START_NS);
    paused->jumps = options->jumps != 0;
    paused->ceiling_ns = options->ceiling_ns > 0 ? options->ceiling_ns : CEILING_NS;
    (void)pthread_mutex_init(&paused->lock, NULL);
    (void)pthread_condattr_init(&paused->attributes);
    (void)pthread_condattr_setclock(&paused->attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&paused->changed, &paused->attributes);
    return &paused->clock;
}
