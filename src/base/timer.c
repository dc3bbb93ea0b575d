/* SPDX-License-Identifier: MIT */
#include "base/timer.h"
#include "base/buf.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ARITY = 4, SHIFT_MAX = 1024, LINE = 64, PADDING = 3 };

void timers_clear(struct timers *timers)
{
    for (uint32_t i = 0; i < timers->count; i++)
        timers->timers[timers->heap[i].handle]->handle = 0;
    for (uint32_t i = 0; i < timers->due_count; i++)
        timers->due[i]->handle = 0;
    timers->count = timers->due_count = 0;
    timers->handle_count = timers->free_count = 0;
    timers->armed = 0;
}

void timers_done(struct timers *timers)
{
    timers_clear(timers);
    free(timers->memory);
    free(timers->timers);
    free(timers->places);
    free(timers->free);
    free(timers->due);
    *timers = (struct timers){0};
}

/* ---- handles */

static uint32_t handle_take(struct timers *timers, struct timer *timer)
{
    if (!timers->free_count && timers->handle_count + 1 >= timers->handle_capacity) {
        uint32_t capacity = timers->handle_capacity ? timers->handle_capacity * 2 : 64;
        timers->timers = mem_grow(timers->timers, capacity * sizeof(struct timer *));
        timers->places = mem_grow(timers->places, capacity * sizeof *timers->places);
        timers->free = mem_grow(timers->free, capacity * sizeof *timers->free);
        timers->handle_capacity = capacity;
    }
    uint32_t handle =
        timers->free_count ? timers->free[--timers->free_count] : ++timers->handle_count;
    timers->timers[handle] = timer;
    return handle;
}

static void handle_give(struct timers *timers, struct timer *timer)
{
    timers->free[timers->free_count++] = timer->handle;
    timer->handle = 0;
}

/* ---- the heap */

static inline bool before(const struct timer_slot *a, const struct timer_slot *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void put(struct timers *timers, uint32_t i, struct timer_slot slot)
{
    timers->heap[i] = slot;
    timers->places[slot.handle] = i;
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
        for (uint32_t child = first; child < first + ARITY; child++) /* their children */
            __builtin_prefetch(&timers->heap[(size_t)child * ARITY + 1]);
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

/* Children 4i+1 to 4i+4 begin on a cache line: slot 0 is the last of its line. */
static void heap_grow(struct timers *timers)
{
    uint32_t capacity = timers->capacity ? timers->capacity * 2 : 64;
    size_t bytes = (capacity + PADDING + 1) * sizeof(struct timer_slot);
    char *memory = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);

    if (!memory)
        abort();
    struct timer_slot *heap = (struct timer_slot *)memory + PADDING;
    if (timers->count)
        memcpy(heap, timers->heap, timers->count * sizeof *heap);
    free(timers->memory);
    timers->memory = memory;
    timers->heap = heap;
    timers->capacity = capacity;
}

static int by_order(const void *a, const void *b)
{
    const struct timer_slot *x = a, *y = b;

    return before(x, y) ? -1 : 1;
}

/* The arming numbers have run out: those in use are given new ones in the same order. */
static void renumber(struct timers *timers)
{
    uint32_t next = 0;

    qsort(timers->heap, timers->count, sizeof *timers->heap, by_order); /* a heap, too */
    for (uint32_t i = 0; i < timers->count; i++) {
        struct timer_slot slot = timers->heap[i];
        slot.order = next++ | (slot.order & TIMER_ORDINARY);
        timers->timers[slot.handle]->order = slot.order;
        put(timers, i, slot);
    }
    timers->armed = next;
}

void timer_arm(struct timers *timers, struct timer *timer, uint64_t at_ns, bool work_end)
{
    assert(!timer_armed(timer));
    if (timers->count == timers->capacity)
        heap_grow(timers);
    if (timers_count(timers) == 0)
        timers->armed = 0;
    if (timers->armed == TIMER_ORDINARY - 1)
        renumber(timers);
    timer->at_ns = at_ns;
    timer->order = timers->armed++ | (work_end ? 0 : TIMER_ORDINARY);
    timer->due = false;
    timer->handle = handle_take(timers, timer);
    sift_up(timers, timers->count++, (struct timer_slot){at_ns, timer->order, timer->handle});
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
            timers->places[timers->due[k]->handle] = k;
    } else {
        timers->due[i] = timers->due[timers->due_count - 1];
        timers->places[timers->due[i]->handle] = i;
    }
    timers->due_count--;
}

void timer_cancel(struct timers *timers, struct timer *timer)
{
    if (!timer_armed(timer))
        return;
    uint32_t i = timers->places[timer->handle];
    if (timer->due)
        due_remove(timers, i);
    else
        heap_remove(timers, i);
    handle_give(timers, timer);
}

uint64_t timers_next_ns(const struct timers *timers)
{
    if (timers->due_count) {
        uint64_t at = timers->due[timers->due_count - 1]->at_ns;
        return timers->count && timers->heap[0].at_ns < at ? timers->heap[0].at_ns : at;
    }
    return timers->count ? timers->heap[0].at_ns : UINT64_MAX;
}

struct timer *timers_first(const struct timers *timers)
{
    return timers->count ? timers->timers[timers->heap[0].handle] : NULL;
}

struct timer *timers_at(const struct timers *timers, uint32_t i)
{
    return i < timers->count ? timers->timers[timers->heap[i].handle]
                             : timers->due[i - timers->count];
}

struct timer *timers_pop(struct timers *timers)
{
    struct timer *timer = timers_first(timers);

    if (timer) {
        __builtin_prefetch(timer, 1); /* likely cold, and so is the one after it */
        heap_remove(timers, 0);
        if (timers->count)
            __builtin_prefetch(&timers->timers[timers->heap[0].handle]);
        handle_give(timers, timer);
    }
    return timer;
}

/* ---- the due list */

static void due_add(struct timers *timers, struct timer *timer)
{
    if (timers->due_count == timers->due_capacity) {
        timers->due_capacity = timers->due_capacity ? timers->due_capacity * 2 : 16;
        timers->due = mem_grow(timers->due, timers->due_capacity * sizeof(struct timer *));
    }
    timer->due = true;
    timers->due[timers->due_count++] = timer;
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
        struct timer *timer = timers_first(timers);
        heap_remove(timers, 0);
        due_add(timers, timer);
    }
    if (timers->due_count == old)
        return old;
    due_reverse(timers, 0);
    due_reverse(timers, timers->due_count - old);
    for (uint32_t i = 0; i < timers->due_count; i++)
        timers->places[timers->due[i]->handle] = i;
    return timers->due_count;
}

struct timer *timers_take_due(struct timers *timers, uint32_t which)
{
    assert(which < timers->due_count);
    uint32_t i = timers->due_count - 1 - which;
    struct timer *timer = timers->due[i];
    due_remove(timers, i);
    handle_give(timers, timer);
    return timer;
}
