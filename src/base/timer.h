/* SPDX-License-Identifier: MIT */
/* timer: deadlines in a 4-ary heap, ordered by (deadline, class, arming number).
 *
 * A timer is the caller's memory and has a handle while it is armed, so cancelling is a matter of
 * log n. A slot of the heap is 16 bytes and the four children of one fill a cache line; what moves
 * is the slot and a 4-byte place by handle, not the timer, which is likely cold.
 *
 * Timers of the earliest deadline can be moved to the "due" list, oldest last, from which any one
 * may be taken: that is how the order among equal deadlines becomes a decision. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct timer {
    uint64_t at_ns;
    uint32_t order;  /* class in the top bit, then the arming number */
    uint32_t handle; /* 0: not armed */
    uint32_t id;     /* for the trace */
    bool due;
};

struct timer_slot {
    uint64_t at_ns;
    uint32_t order;
    uint32_t handle;
};

struct timers {
    struct timer_slot *heap; /* first slot; three before it are padding. Owned through `memory` */
    void *memory;
    struct timer **timers; /* by handle; owned */
    uint32_t *places;      /* in the heap or the due list, by handle; owned */
    uint32_t *free;        /* handles; owned */
    struct timer **due;    /* oldest last; owned */
    uint32_t count, capacity;
    uint32_t handle_count, handle_capacity, free_count;
    uint32_t due_count, due_capacity;
    uint32_t armed; /* timers armed so far; starts over when none is armed */
};

/* Work that ends fires before anything else of the same instant. */
#define TIMER_ORDINARY (UINT32_C(1) << 31)

void timers_done(struct timers *timers);
void timers_clear(struct timers *timers); /* forgets all, keeps memory */
void timer_arm(struct timers *timers, struct timer *timer, uint64_t at_ns, bool work_end);
void timer_cancel(struct timers *timers, struct timer *timer); /* nothing if it is not armed */
static inline bool timer_armed(const struct timer *timer)
{
    return timer->handle != 0;
}
static inline uint32_t timers_count(const struct timers *timers)
{
    return timers->count + timers->due_count;
}
/* The earliest deadline; UINT64_MAX when nothing is armed. */
uint64_t timers_next_ns(const struct timers *timers);
/* Takes the earliest and oldest; NULL when nothing is armed. */
struct timer *timers_pop(struct timers *timers);
struct timer *timers_first(const struct timers *timers); /* of the heap; NULL: empty */
/* Moves all that share the earliest deadline to the due list; returns how many stand there. */
uint32_t timers_gather(struct timers *timers);
struct timer *timers_take_due(struct timers *timers, uint32_t which); /* 0: the oldest */
/* Number i of timers_count, in no order. */
struct timer *timers_at(const struct timers *timers, uint32_t i);
