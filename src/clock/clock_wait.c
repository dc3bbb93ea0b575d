/* SPDX-License-Identifier: MIT */
/* Waits for something else than the clock, known to the clock. Their states change under its lock,
 * and who changes one away from WAIT_WAITING counts its thread as running. */
#include "clock/clock_wait.h"

static struct clock_wait *wait_of(struct vitro_clock_timer *timer)
{
    return (struct clock_wait *)timer;
}

/* With the lock held. */
static bool settle(struct clock_wait *wait, enum wait_state state)
{
    if (wait->state != WAIT_WAITING)
        return false;
    wait->state = state;
    wait->paused->running += wait->counted;
    return true;
}

static void time_came(struct vitro_clock_timer *timer)
{
    struct clock_wait *wait = wait_of(timer);

    (void)pthread_mutex_lock(&wait->paused->lock);
    bool first = settle(wait, WAIT_TIME_CAME);
    (void)pthread_mutex_unlock(&wait->paused->lock);
    if (first)
        wait->wake(wait); /* its memory stays: clock_wait_end waits until this has returned */
}

static void list_add(struct paused *paused, struct clock_wait *wait)
{
    wait->prev = paused->last_wait;
    wait->next = NULL;
    *(wait->prev ? &wait->prev->next : &paused->first_wait) = wait;
    paused->last_wait = wait;
    wait->listed = true;
}

static void list_remove(struct paused *paused, struct clock_wait *wait)
{
    *(wait->prev ? &wait->prev->next : &paused->first_wait) = wait->next;
    *(wait->next ? &wait->next->prev : &paused->last_wait) = wait->prev;
    wait->listed = false;
}

enum wait_state clock_wait_begin(struct clock_wait *wait, struct paused *paused, enum base base,
                                 uint64_t at)
{
    const struct lane *lane = lane_self();

    (void)pthread_mutex_lock(&paused->lock);
    wait->paused = paused;
    if (wait->state == WAIT_NOT_BEGUN && paused->stopped)
        wait->state = WAIT_STOPPED;
    if (wait->state == WAIT_NOT_BEGUN) {
        wait->state = WAIT_WAITING;
        wait->counted = lane->clock == &paused->clock && !lane->idle;
        wait->timer.fire = time_came;
        list_add(paused, wait);
        if (at != UINT64_MAX)
            paused_arm(paused, &wait->timer, base, at);
        paused->running -= wait->counted;
        paused->inside++;
        paused_tell(paused);
        paused_jumps(paused);
    }
    enum wait_state state = wait->state;
    (void)pthread_mutex_unlock(&paused->lock);
    return state;
}

bool clock_wait_wake(struct clock_wait *wait)
{
    struct paused *paused = wait->paused;

    (void)pthread_mutex_lock(&paused->lock);
    bool first = wait->state == WAIT_NOT_BEGUN;
    if (first)
        wait->state = WAIT_WOKEN;
    else
        first = settle(wait, WAIT_WOKEN);
    (void)pthread_mutex_unlock(&paused->lock);
    return first;
}

enum wait_state clock_wait_end(struct clock_wait *wait)
{
    struct paused *paused = wait->paused;

    if (wait->listed)
        (void)vitro_clock_disarm(&paused->clock, &wait->timer);
    (void)pthread_mutex_lock(&paused->lock);
    (void)settle(wait, WAIT_WOKEN);
    if (wait->listed) {
        list_remove(paused, wait);
        paused->inside--;
        paused_tell(paused);
    }
    enum wait_state state = wait->state;
    (void)pthread_mutex_unlock(&paused->lock);
    return state;
}

bool clock_waits_ready(struct paused *paused)
{
    for (struct clock_wait *wait = paused->first_wait; wait; wait = wait->next)
        if (wait->state == WAIT_WAITING && wait->counted && wait->is_ready &&
            wait->is_ready(wait) && settle(wait, WAIT_WOKEN))
            return true;
    return false;
}

void clock_waits_stop(struct paused *paused)
{
    for (struct clock_wait *wait = paused->first_wait; wait; wait = wait->next)
        if (settle(wait, WAIT_STOPPED))
            wait->wake(wait);
}

void clock_waits_forget(struct paused *paused)
{
    for (struct clock_wait *wait = paused->first_wait; wait; wait = wait->next)
        paused_disarm(paused, &wait->timer);
    paused->first_wait = paused->last_wait = NULL;
}
