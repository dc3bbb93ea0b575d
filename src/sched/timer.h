/* SPDX-License-Identifier: MIT */
/* timer: deadlines in a 4-ary heap, ordered by (deadline, class, arming number).
 *
 * A timer is the caller's memory and knows its place, so cancelling is a matter of log n. Timers of
 * the earliest deadline can be moved to the "due" list, oldest last, from which any one may be
 * taken: that is how the order among equal deadlines becomes a decision. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct timer {
    uint64_t at_ns;
    uint64_t order; /* class in the top bit, then the arming number */
    uint32_t index; /* place in the heap or the due list, plus one; 0: not armed */
    uint32_t id;    /* for the trace */
    bool due;
};

struct timer_slot {
    uint64_t at_ns;
    uint64_t order;
    struct timer *timer;
};

struct timers {
    struct timer_slot *heap; /* owned */
    struct timer **due;      /* owned; oldest last */
    uint32_t count, capacity;
    uint32_t due_count, due_capacity;
    uint64_t armed; /* timers armed so far */
};

/* Work that ends fires before anything else of the same instant. */
#define TIMER_ORDINARY (UINT64_C(1) << 63)

void timers_done(struct timers *timers);
void timers_clear(struct timers *timers); /* forgets all, keeps memory */
void timer_arm(struct timers *timers, struct timer *timer, uint64_t at_ns, bool work_end);
void timer_cancel(struct timers *timers, struct timer *timer); /* nothing if it is not armed */
static inline bool timer_armed(const struct timer *timer)
{
    return timer->index != 0;
}
static inline uint32_t timers_count(const struct timers *timers)
{
    return timers->count + timers->due_count;
}
/* The earliest deadline; UINT64_MAX when nothing is armed. */
uint64_t timers_next_ns(const struct timers *timers);
/* Takes the earliest and oldest; NULL when nothing is armed. */
struct timer *timers_pop(struct timers *timers);
/* Moves all that share the earliest deadline to the due list; returns how many stand there. */
uint32_t timers_gather(struct timers *timers);
struct timer *timers_take_due(struct timers *timers, uint32_t which); /* 0: the oldest */
