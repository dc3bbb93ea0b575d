/* SPDX-License-Identifier: MIT */
/* Moving a paused clock: one thread at a time, from deadline to deadline, and from each only when
 * every worker sleeps. */
#include "clock/paused.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>

enum goal { BY, TO, NEXT };

static uint64_t ceiling(const struct paused *paused)
{
    return wall_monotonic_ns() + (uint64_t)paused->ceiling_ns;
}

/* Waits until every worker sleeps, idles or has ended. */
static int quiet(struct paused *paused, struct err *err)
{
    uint64_t until_ns = 0;

    while (paused->running > 0 || clock_waits_ready(paused)) {
        until_ns = until_ns ? until_ns : ceiling(paused);
        if (paused_watch(paused, until_ns) < 0 && paused->running > 0)
            return err_set(err, -ETIMEDOUT,
                           "move a paused clock: %d of its workers neither slept nor ended within "
                           "%lld s of real time\nhint: a worker that waits for something else says "
                           "so with vitro_worker_idle_begin",
                           paused->running, (long long)(paused->ceiling_ns / (int64_t)NS_PER_SEC));
    }
    return 0;
}

/* How far the goal is. 0 or more is forward. */
static int goal_far(const struct paused *paused, enum goal goal, int64_t ns, uint64_t *ret_far,
                    struct err *err)
{
    int64_t now_ns = atomic_load(&paused->now_ns), at;

    *ret_far = 0;
    if (goal == NEXT) {
        uint64_t far = paused_next(paused);
        *ret_far = far == UINT64_MAX ? 0 : far;
    } else if (goal == TO) {
        *ret_far = (uint64_t)ns - (uint64_t)now_ns;
    } else if (__builtin_add_overflow(now_ns, ns, &at)) {
        return err_set(err, -ERANGE, "move a paused clock by %lld ns: past the year 2262",
                       (long long)ns);
    } else {
        *ret_far = (uint64_t)ns;
    }
    return 0;
}

static int64_t go(struct paused *paused, enum goal goal, int64_t ns, struct err *err)
{
    int64_t woken = 0;
    uint64_t far;
    int r = quiet(paused, err);

    if (r < 0)
        return r;
    if (goal == TO && ns < atomic_load(&paused->now_ns)) {
        atomic_store(&paused->now_ns, ns);
        return 0;
    }
    if ((r = goal_far(paused, goal, ns, &far, err)) < 0)
        return r;
    uint64_t target = atomic_load(&paused->monotonic_ns) + far;
    if (goal == NEXT && paused_next(paused) == UINT64_MAX)
        return 0;
    while (paused_step(paused, target - atomic_load(&paused->monotonic_ns)) != WOKE_NOBODY) {
        woken++;
        if ((r = quiet(paused, err)) < 0)
            return r;
    }
    paused_move_by(paused, target - atomic_load(&paused->monotonic_ns));
    return woken;
}

static int64_t move(struct vitro_clock *clock, enum goal goal, int64_t ns, struct err *err)
{
    struct paused *paused = paused_of(clock);
    const struct lane *lane = lane_self();

    if (!paused)
        return err_set(err, -EINVAL, "move a clock: it is not a paused clock and wraps none");
    if (goal == BY && ns < 0)
        return err_set(err, -EINVAL,
                       "move a paused clock by %lld ns: an advance goes forward\nhint: "
                       "vitro_clock_set moves the time of day back",
                       (long long)ns);
    bool counted = lane->clock == &paused->clock && !lane->idle;
    (void)pthread_mutex_lock(&paused->lock);
    if (paused_is_mover(paused)) {
        (void)pthread_mutex_unlock(&paused->lock);
        return err_set(err, -EDEADLK, "move a paused clock: from a timer that this move fires");
    }
    paused->running -= counted;
    paused->inside++;
    paused_tell(paused);
    paused->watchers++;
    while (paused->moving)
        (void)pthread_cond_wait(&paused->changed, &paused->lock);
    paused->watchers--;
    paused->moving = true;
    paused->mover = pthread_self();
    int64_t woken = go(paused, goal, ns, err);
    paused->moving = false;
    paused->running += counted;
    paused->inside--;
    paused_tell(paused);
    (void)pthread_mutex_unlock(&paused->lock);
    return woken;
}

int64_t vitro_clock_advance(struct vitro_clock *clock, int64_t ns, struct vitro_clock_error *error)
{
    return move(clock, BY, ns, clock_err(error));
}

int64_t vitro_clock_set(struct vitro_clock *clock, int64_t now_ns, struct vitro_clock_error *error)
{
    return move(clock, TO, now_ns, clock_err(error));
}

int64_t vitro_clock_advance_to_next(struct vitro_clock *clock, struct vitro_clock_error *error)
{
    return move(clock, NEXT, 0, clock_err(error));
}

int64_t vitro_clock_advance_ticks(struct vitro_clock *clock, uint64_t count, int64_t tick_ns,
                                  struct vitro_clock_error *error)
{
    int64_t woken = 0;

    for (uint64_t i = 0; i < count; i++) {
        int64_t r = vitro_clock_advance(clock, tick_ns, error);
        if (r < 0)
            return r;
        woken += r;
    }
    return woken;
}

static int64_t waiting(const struct paused *paused)
{
    return (int64_t)paused->asleep + timers_count(&paused->timers[BY_MONOTONIC]) +
           timers_count(&paused->timers[BY_DAY]);
}

int64_t vitro_clock_sleepers(struct vitro_clock *clock)
{
    struct paused *paused = paused_of(clock);

    if (!paused)
        return -EINVAL;
    (void)pthread_mutex_lock(&paused->lock);
    int64_t count = waiting(paused);
    (void)pthread_mutex_unlock(&paused->lock);
    return count;
}

int vitro_clock_await_sleepers(struct vitro_clock *clock, int64_t count,
                               struct vitro_clock_error *error)
{
    struct paused *paused = paused_of(clock);
    int r = 0;

    if (!paused)
        return err_set(clock_err(error), -EINVAL,
                       "await sleepers: not a paused clock and wraps none");
    uint64_t until_ns = ceiling(paused);
    (void)pthread_mutex_lock(&paused->lock);
    paused->inside++;
    while (r == 0 && waiting(paused) < count) {
        if (paused->stopped)
            r = err_set(clock_err(error), -ECANCELED, "await sleepers: the clock was stopped");
        else if (paused_watch(paused, until_ns) < 0 && waiting(paused) < count)
            r = err_set(clock_err(error), -ETIMEDOUT,
                        "await %lld sleepers: %lld wait after %lld s of real time",
                        (long long)count, (long long)waiting(paused),
                        (long long)(paused->ceiling_ns / (int64_t)NS_PER_SEC));
    }
    paused->inside--;
    paused_tell(paused);
    (void)pthread_mutex_unlock(&paused->lock);
    return r;
}
