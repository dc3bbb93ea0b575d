/* SPDX-License-Identifier: MIT */
#include "sched/timer.h"
#include "base/buf.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ARITY = 4, SHIFT_MAX = 1024 };

void timers_clear(struct timers *timers)
{
    for (uint32_t i = 0; i < timers->count; i++)
        timers->heap[i].timer->index = 0;
    for (uint32_t i = 0; i < timers->due_count; i++)
        timers->due[i]->index = 0;
    timers->count = timers->due_count = 0;
    timers->armed = 0;
}

void timers_done(struct timers *timers)
{
    timers_clear(timers);
    free(timers->heap);
    free(timers->due);
    *timers = (struct timers){0};
}

static inline bool before(const struct timer_slot *a, const struct timer_slot *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void put(struct timers *timers, uint32_t i, struct timer_slot slot)
{
    timers->heap[i] = slot;
    slot.timer->index = i + 1;
}

static void sift_up(struct timers *timers, uint32_t i, struct timer_slot slot)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;
        if (!before(&slot, &timers->heap[parent]))
            break;
        put(timers, i, timers->heap[parent]);
        i = parent;
    }
    put(timers, i, slot);
}

static void sift_down(struct timers *timers, uint32_t i, struct timer_slot slot)
{
    for (;;) {
        uint32_t first = i * ARITY + 1, least = first;
        if (first >= timers->count)
            break;
        uint32_t end = first + ARITY < timers->count ? first + ARITY : timers->count;
        for (uint32_t child = first + 1; child < end; child++)
            if (before(&timers->heap[child], &timers->heap[least]))
                least = child;
        if (!before(&timers->heap[least], &slot))
            break;
        put(timers, i, timers->heap[least]);
        i = least;
    }
    put(timers, i, slot);
}

void timer_arm(struct timers *timers, struct timer *timer, uint64_t at_ns, bool work_end)
{
    assert(!timer_armed(timer));
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? timers->capacity * 2 : 64;
        timers->heap = mem_grow(timers->heap, timers->capacity * sizeof *timers->heap);
    }
    timer->at_ns = at_ns;
    timer->order = timers->armed++ | (work_end ? 0 : TIMER_ORDINARY);
    timer->due = false;
    struct timer_slot slot = {at_ns, timer->order, timer};
    sift_up(timers, timers->count++, slot);
}

static void heap_remove(struct timers *timers, uint32_t i)
{
    struct timer_slot last = timers->heap[--timers->count];

    if (i == timers->count)
        return;
    if (i > 0 && before(&last, &timers->heap[(i - 1) / ARITY]))
        sift_up(timers, i, last);
    else
        sift_down(timers, i, last);
}

/* Closes the gap at i: short lists keep their order; long ones are in use only where the choice is
 * random, and take the cheap way. */
static void due_remove(struct timers *timers, uint32_t i)
{
    uint32_t behind = timers->due_count - i - 1;

    if (behind <= SHIFT_MAX) {
        memmove(&timers->due[i], &timers->due[i + 1], behind * sizeof timers->due[0]);
        for (uint32_t k = i; k < i + behind; k++)
            timers->due[k]->index = k + 1;
    } else {
        timers->due[i] = timers->due[timers->due_count - 1];
        timers->due[i]->index = i + 1;
    }
    timers->due_count--;
}

void timer_cancel(struct timers *timers, struct timer *timer)
{
    if (!timer_armed(timer))
        return;
    uint32_t i = timer->index - 1;
    timer->index = 0;
    if (timer->due)
        due_remove(timers, i);
    else
        heap_remove(timers, i);
}

uint64_t timers_next_ns(const struct timers *timers)
{
    if (timers->due_count) {
        uint64_t at = timers->due[timers->due_count - 1]->at_ns;
        return timers->count && timers->heap[0].at_ns < at ? timers->heap[0].at_ns : at;
    }
    return timers->count ? timers->heap[0].at_ns : UINT64_MAX;
}

struct timer *timers_pop(struct timers *timers)
{
    if (!timers->count)
        return NULL;
    struct timer *timer = timers->heap[0].timer;
    timer->index = 0;
    heap_remove(timers, 0);
    return timer;
}

static void due_add(struct timers *timers, struct timer *timer)
{
    if (timers->due_count == timers->due_capacity) {
        timers->due_capacity = timers->due_capacity ? timers->due_capacity * 2 : 16;
        timers->due = mem_grow(timers->due, timers->due_capacity * sizeof *timers->due);
    }
    timers->due[timers->due_count] = timer;
    timer->due = true;
    timer->index = ++timers->due_count;
}

static void due_reverse(struct timers *timers, uint32_t from)
{
    for (uint32_t a = from, b = timers->due_count; a + 1 < b; a++, b--) {
        struct timer *timer = timers->due[a];
        timers->due[a] = timers->due[b - 1];
        timers->due[b - 1] = timer;
    }
}

/* Newcomers are younger than what already stands there, so they go in front: the whole list is
 * turned over, then the old part is turned back. */
uint32_t timers_gather(struct timers *timers)
{
    uint64_t at = timers_next_ns(timers);
    uint32_t old = timers->due_count;
    bool work_end = false;

    while (timers->count && timers->heap[0].at_ns == at) {
        if (!(timers->heap[0].order & TIMER_ORDINARY))
            work_end = true;
        else if (work_end)
            break; /* ends of work are not in the same tie as what waits for time */
        due_add(timers, timers_pop(timers));
    }
    if (timers->due_count == old)
        return old;
    due_reverse(timers, 0);
    due_reverse(timers, timers->due_count - old);
    for (uint32_t i = 0; i < timers->due_count; i++)
        timers->due[i]->index = i + 1;
    return timers->due_count;
}

struct timer *timers_take_due(struct timers *timers, uint32_t which)
{
    assert(which < timers->due_count);
    uint32_t i = timers->due_count - 1 - which;
    struct timer *timer = timers->due[i];
    timer->index = 0;
    due_remove(timers, i);
    return timer;
}
