/* SPDX-License-Identifier: MIT */
/* paused: a clock that stands until it is moved. What is in paused.c may be called with the lock
 * held only where it says so. */
#pragma once
#include "base/timer.h"
#include "clock/clock.h"
#include <pthread.h>
#include <stdatomic.h>

/* A thread that sleeps; on its own stack. */
struct sleeper {
    struct sleeper *prev, *next;
    uint64_t at;
    const char *lane;
    pthread_cond_t wake;
    bool counted; /* a worker of this clock: running while it does not sleep */
    bool woken;
};

/* Deadlines by monotonic time, and by time of day: a key of the latter is the signed time with its
 * top bit turned over, so that both compare as unsigned. */
enum base { BY_MONOTONIC, BY_DAY, BASES };

struct paused {
    struct vitro_clock clock;
    _Atomic int64_t now_ns; /* both are written under the lock only */
    _Atomic uint64_t monotonic_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;        /* anything below; nobody signals it while `watchers` is 0 */
    pthread_condattr_t attributes; /* of `changed` */
    uint32_t watchers;
    struct timers timers[BASES];
    struct sleeper *first[BASES], *last[BASES]; /* by (at, lane, arrival) */
    uint32_t asleep;                            /* threads on the lists */
    struct clock_wait *first_wait, *last_wait;  /* who waits for something else (clock_wait.h) */
    uint32_t inside;                            /* threads that will still touch the clock */
    int32_t running;                            /* workers that neither sleep nor idle */
    bool jumps, stopped, moving;
    pthread_t mover;
    struct vitro_clock_timer *firing; /* by the mover, now */
    int64_t ceiling_ns;
};

enum woke { WOKE_NOBODY, WOKE_TIMER, WOKE_THREAD };

struct paused *paused_of(struct vitro_clock *clock); /* NULL: neither is nor wraps one */
uint64_t paused_day_key(int64_t now_ns);
static inline bool paused_is_mover(const struct paused *paused)
{
    return paused->moving && pthread_equal(paused->mover, pthread_self());
}
/* With the lock held. */
void paused_tell(struct paused *paused);
/* Waits for a change until `until_ns` of the real clock: 0, or -ETIMEDOUT. */
int paused_watch(struct paused *paused, uint64_t until_ns);
uint64_t paused_next(const struct paused *paused); /* how far; UINT64_MAX: nobody waits */
void paused_arm(struct paused *paused, struct vitro_clock_timer *timer, enum base base,
                uint64_t at);                                               /* not armed yet */
void paused_disarm(struct paused *paused, struct vitro_clock_timer *timer); /* armed or not */
void paused_move_by(struct paused *paused, uint64_t ns);
/* Lets a clock that jumps do so, until somebody runs. */
void paused_jumps(struct paused *paused);
/* One of those who wait for something else can run already, and counts as running now. */
bool clock_waits_ready(struct paused *paused);
void clock_waits_stop(struct paused *paused);
void clock_waits_forget(struct paused *paused); /* their threads are gone */
/* Moves to the next deadline, if it is at most so far, and wakes who is first there. */
enum woke paused_step(struct paused *paused, uint64_t limit_ns);
/* Around a fork: nobody else is in the clock. In the child the calling thread is the only one. */
void paused_fork_begin(struct paused *paused);
void paused_fork_end(struct paused *paused, bool is_child);
