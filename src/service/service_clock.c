/* SPDX-License-Identifier: MIT */
/* The clock of a service: the given one, with sleeps that end when the service is stopped. On a
 * paused clock a sleep is a timer, on the real one a wait with a deadline; other clocks are asked
 * to sleep themselves. */
#include "base/when.h"
#include "clock/clock.h"
#include "service/service.h"
#include <errno.h>

static void running(struct vitro_clock *clock, int change)
{
    if (clock && clock->ops->running)
        clock->ops->running(clock, change);
}

/* ---- waiting */

static void wait_begin(vitro_service *service, struct wait *wait)
{
    const struct lane *lane = lane_self();
    struct vitro_clock *innermost = clock_innermost(service->inner);

    (void)pthread_cond_init(&wait->wake, NULL);
    wait->waiting = true;
    wait->clock = lane->clock == innermost && !lane->idle ? innermost : NULL;
    wait->next = service->waits;
    service->waits = wait;
}

static void wait_end(vitro_service *service, struct wait *wait)
{
    struct wait **at = &service->waits;

    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    (void)pthread_cond_destroy(&wait->wake);
}

void service_wake(struct wait *wait)
{
    if (!wait->waiting)
        return;
    wait->waiting = false;
    running(wait->clock, +1);
    (void)pthread_cond_signal(&wait->wake);
}

/* The lock is let go while the clock is told: one that jumps may fire timers there. */
static void worker_rests(vitro_service *service, const struct wait *wait)
{
    (void)pthread_mutex_unlock(&service->lock);
    running(wait->clock, -1);
    (void)pthread_mutex_lock(&service->lock);
}

void service_wait(vitro_service *service, struct wait *wait)
{
    wait_begin(service, wait);
    worker_rests(service, wait);
    while (wait->waiting)
        (void)pthread_cond_wait(&wait->wake, &service->lock);
    wait_end(service, wait);
}

/* ---- waiting for a time */

struct nap {
    struct vitro_clock_timer timer;
    vitro_service *service;
    struct wait *wait;
    bool came;
};

static void nap_fire(struct vitro_clock_timer *timer)
{
    struct nap *nap = (struct nap *)timer;

    (void)pthread_mutex_lock(&nap->service->lock);
    nap->came = nap->wait->waiting;
    service_wake(nap->wait);
    (void)pthread_mutex_unlock(&nap->service->lock);
}

/* `by_day`: until a time of day, else for so long. With the lock held. */
static int nap_paused(vitro_service *service, struct wait *wait, bool by_day, int64_t ns)
{
    struct nap nap = {.timer.fire = nap_fire, .service = service, .wait = wait};

    wait_begin(service, wait);
    (void)pthread_mutex_unlock(&service->lock);
    (void)(by_day ? vitro_clock_arm_at(service->inner, &nap.timer, ns)
                  : vitro_clock_arm(service->inner, &nap.timer, ns));
    (void)pthread_mutex_lock(&service->lock);
    worker_rests(service, wait);
    while (wait->waiting)
        (void)pthread_cond_wait(&wait->wake, &service->lock);
    (void)pthread_mutex_unlock(&service->lock); /* one that fires now takes the lock */
    (void)vitro_clock_disarm(service->inner, &nap.timer);
    (void)pthread_mutex_lock(&service->lock);
    wait_end(service, wait);
    return nap.came ? 0 : -EAGAIN;
}

static int nap_real(vitro_service *service, struct wait *wait, bool by_day, int64_t ns)
{
    uint64_t until_ns =
        by_day ? (uint64_t)(ns < 0 ? 0 : ns) : vitro_clock_monotonic(service->inner) + (uint64_t)ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};
    int r = 0;

    wait_begin(service, wait);
    while (wait->waiting && r == 0)
        r = pthread_cond_clockwait(&wait->wake, &service->lock,
                                   by_day ? CLOCK_REALTIME : CLOCK_MONOTONIC, &until);
    bool woken = !wait->waiting;
    wait_end(service, wait);
    return woken ? -EAGAIN : 0;
}

/* A clock of another kind knows how to sleep, and nobody but itself can wake it. */
static int nap_other(vitro_service *service, bool by_day, int64_t ns)
{
    (void)pthread_mutex_unlock(&service->lock);
    int r = by_day ? vitro_clock_sleep_until(service->inner, ns)
                   : vitro_clock_sleep(service->inner, ns);
    (void)pthread_mutex_lock(&service->lock);
    return r;
}

static int nap(vitro_service *service, struct wait *wait, bool by_day, int64_t ns)
{
    switch (service->kind) {
    case INNER_REAL:
        return nap_real(service, wait, by_day, ns);
    case INNER_PAUSED:
        if (lane_self()->clock == clock_innermost(service->inner))
            return nap_paused(service, wait, by_day, ns);
        return nap_other(service, by_day, ns); /* no worker: a clock that jumps would not see it */
    case INNER_OTHER:
    default:
        return nap_other(service, by_day, ns);
    }
}

int service_wait_until(vitro_service *service, struct wait *wait, int64_t now_ns)
{
    if (vitro_clock_now(service->inner) >= now_ns)
        return 0;
    return nap(service, wait, true, now_ns);
}

/* ---- the clock */

static int64_t service_now(struct vitro_clock *clock)
{
    return vitro_clock_now(((vitro_service *)clock)->inner);
}

static uint64_t service_monotonic(struct vitro_clock *clock)
{
    return vitro_clock_monotonic(((vitro_service *)clock)->inner);
}

static int sleep_on(vitro_service *service, bool by_day, int64_t ns)
{
    struct wait wait = {0};
    int r = service->kind == INNER_PAUSED ? vitro_clock_sleep(service->inner, 0) : 0;

    (void)pthread_mutex_lock(&service->lock);
    if (r == 0 && service->stopping)
        r = -ECANCELED;
    if (r == 0 && (by_day ? ns > vitro_clock_now(service->inner) : ns > 0))
        r = nap(service, &wait, by_day, ns);
    (void)pthread_mutex_unlock(&service->lock);
    return r == -EAGAIN ? -ECANCELED : r;
}

static int service_sleep(struct vitro_clock *clock, int64_t ns)
{
    return sleep_on((vitro_service *)clock, false, ns);
}

static int service_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    return sleep_on((vitro_service *)clock, true, now_ns);
}

static void service_clock_stop(struct vitro_clock *clock)
{
    vitro_service_stop((vitro_service *)clock);
}

static struct vitro_clock *service_inner(struct vitro_clock *clock)
{
    return ((vitro_service *)clock)->inner;
}

static const struct vitro_clock_ops ops = {.now = service_now,
                                           .monotonic = service_monotonic,
                                           .sleep = service_sleep,
                                           .sleep_until = service_sleep_until,
                                           .stop = service_clock_stop,
                                           .inner = service_inner};

void service_clock_init(vitro_service *service, struct vitro_clock *inner)
{
    service->clock.ops = &ops;
    service->inner = inner ? inner : vitro_clock_in_force();
    if (service->inner == vitro_clock_real())
        service->kind = INNER_REAL;
    else if (!service->inner->ops->inner && vitro_clock_sleepers(service->inner) >= 0)
        service->kind = INNER_PAUSED;
    else
        service->kind = INNER_OTHER;
}
