/* SPDX-License-Identifier: MIT */
/* Clocks and races of the search in decide_dpor.c. */
#include "sched/dpor.h"
#include <stdlib.h>
#include <string.h>

static uint64_t bit(uint32_t task)
{
    return UINT64_C(1) << task;
}

/* ---- who touched what */

static struct dpor_history *history(struct dpor *d, uint32_t object)
{
    if (object & CORE_TASK_OBJECT)
        return &d->tasks_history[(object & ~CORE_TASK_OBJECT) % DPOR_TASKS];
    if (object >= d->object_capacity) {
        uint32_t capacity = d->object_capacity ? d->object_capacity : 64;
        while (object >= capacity)
            capacity *= 2;
        d->objects = mem_grow(d->objects, capacity * sizeof *d->objects);
        memset(d->objects + d->object_capacity, 0,
               (capacity - d->object_capacity) * sizeof *d->objects);
        d->object_capacity = capacity;
    }
    return &d->objects[object];
}

void dpor_history_clear(struct dpor *d)
{
    for (uint32_t i = 0; i < d->object_capacity; i++)
        d->objects[i].count = 0;
    for (uint32_t i = 0; i < DPOR_TASKS; i++)
        d->tasks_history[i].count = 0;
}

void dpor_history_done(struct dpor *d)
{
    for (uint32_t i = 0; i < d->object_capacity; i++)
        free(d->objects[i].list);
    for (uint32_t i = 0; i < DPOR_TASKS; i++)
        free(d->tasks_history[i].list);
    free(d->objects);
}

static void history_add(struct dpor_history *h, uint32_t event, bool write)
{
    if (h->count == h->capacity) {
        h->capacity = h->capacity ? h->capacity * 2 : 8;
        h->list = mem_grow(h->list, h->capacity * sizeof *h->list);
    }
    h->list[h->count++] = (struct dpor_touch){event, write};
}

/* ---- clocks */

static void join(uint32_t *clock, const uint32_t *other)
{
    for (int i = 0; i < DPOR_TASKS; i++)
        if (other[i] > clock[i])
            clock[i] = other[i];
}

static bool is_before(const struct dpor *d, uint32_t event, const uint32_t *clock)
{
    return event < d->barrier || clock[d->events[event].task] > event;
}

/* Everything the event comes after by what it touches. */
static void clock_of(struct dpor *d, const struct dpor_feet *feet, uint32_t *clock)
{
    for (uint32_t i = 0; i < feet->count; i++) {
        const struct dpor_history *h = history(d, feet->list[i].object);
        for (uint32_t k = h->count; k-- > 0;) {
            if (!feet->list[i].write && !h->list[k].write)
                continue;
            join(clock, d->events[h->list[k].event].clock);
            if (h->list[k].write)
                break;
        }
    }
}

/* ---- races */

/* The tasks that can begin what came after `first` and does not depend on it, then `clock`'s event
 * of `task`. */
static uint64_t initials(const struct dpor *d, uint32_t first, uint32_t end, uint32_t task,
                         const uint32_t *clock)
{
    uint64_t seen = 0, result = 0;
    uint32_t of = d->events[first].task;

    for (uint32_t k = first + 1; k <= end; k++) {
        bool last = k == end;
        uint32_t t = last ? task : d->events[k].task;
        const uint32_t *c = last ? clock : d->events[k].clock;
        if (!last && c[of] > first)
            continue; /* depends on the event that is to come later */
        if (seen & bit(t))
            continue;
        seen |= bit(t);
        bool begins = true;
        for (uint32_t g = first + 1; begins && g < k; g++)
            if (d->events[g].clock[of] <= first && c[d->events[g].task] > g)
                begins = false;
        if (begins)
            result |= bit(t);
    }
    return result;
}

/* `waits`: the task could not go before `first`, but maybe after what others did since. */
static void add_backtrack(struct dpor *d, uint32_t first, uint32_t end, uint32_t task,
                          const uint32_t *clock, bool waits)
{
    struct dpor_node *node = &d->nodes[d->events[first].node];
    uint64_t begin = initials(d, first, end, task, clock);

    if (waits)
        begin &= ~bit(task);
    if (begin & node->backtrack || (waits && !begin))
        return;
    uint64_t able = begin & node->enabled;
    if (able & bit(task))
        node->backtrack |= bit(task);
    else if (able)
        node->backtrack |= able & -able;
    else
        node->backtrack |= node->enabled;
}

/* Whether `then` always comes before `now` on one object: what `now` waits for cannot hold before.
 */
static bool never_turned(const struct dpor_event *then, unsigned now, uint32_t object)
{
    if (object == CORE_MEMORY)
        return false;
    switch (now) {
    case OP_JOIN: /* what a task did comes before its end was waited for */
        return object == (CORE_TASK_OBJECT | then->task);
    case OP_LOCK:
        return then->kind == OP_UNLOCK || then->kind == OP_RDUNLOCK || then->kind == OP_WAIT;
    case OP_RDLOCK:
        return then->kind == OP_UNLOCK;
    default:
        return false;
    }
}

/* Operations that may have had to wait for what others did: an earlier event can be what let it go,
 * and an event before that what it races with. Locks are told apart by never_turned. */
static bool may_wait(unsigned kind)
{
    switch (kind) {
    case OP_ACQUIRE:
    case OP_SEND:
    case OP_RECEIVE:
    case OP_WAIT:
    case OP_DEREF:
    case OP_ARRIVE:
    case OP_ONCE:
    case OP_SELECT:
    case OP_WORK:
        return true;
    default:
        return false;
    }
}

/* Races of a step of `task` that touches `feet`, with events before number `end`. `clock` is what
 * the task comes after without this step, `full` with it. */
static void find_races(struct dpor *d, const struct dpor_feet *feet, unsigned kind, uint32_t task,
                       uint32_t end, const uint32_t *clock, const uint32_t *full)
{
    uint32_t seen[DPOR_TASKS];
    uint32_t arrived = d->last_of[task] > d->born[task] ? d->last_of[task] : d->born[task];

    memcpy(seen, clock, sizeof seen);
    for (uint32_t i = 0; i < feet->count; i++) {
        const struct dpor_history *h = history(d, feet->list[i].object);
        for (uint32_t k = h->count; k-- > 0;) {
            uint32_t e = h->list[k].event;
            const struct dpor_event *event = &d->events[e];
            bool write = h->list[k].write;
            if (e >= end || (!feet->list[i].write && !write))
                continue;
            if (is_before(d, e, seen) || event->task == task) {
                if (write)
                    break;
                continue;
            }
            if (never_turned(event, kind, feet->list[i].object))
                continue;
            /* It stood at this operation already, and could not go: look through. */
            bool waits = arrived <= e && !(d->nodes[event->node].enabled & bit(task));
            if (!waits || may_wait(kind))
                add_backtrack(d, e, end, task, full, waits);
            if (waits || may_wait(kind))
                continue;
            join(seen, event->clock);
            if (write)
                break;
        }
    }
}

void dpor_finish_event(struct dpor *d)
{
    if (!d->event_count || d->events[d->event_count - 1].finished)
        return;
    uint32_t index = d->event_count - 1;
    struct dpor_event *event = &d->events[index];
    uint32_t *own = d->clock[event->task];

    if (d->born[event->task] && !d->last_of[event->task])
        join(own, d->events[d->born[event->task] - 1].clock);
    memcpy(event->clock, own, sizeof event->clock);
    clock_of(d, &event->feet, event->clock);
    if (event->node >= d->changed) /* earlier ones were looked at in an earlier run */
        find_races(d, &event->feet, event->kind, event->task, index, own, event->clock);
    event->clock[event->task] = index + 1;
    memcpy(own, event->clock, sizeof event->clock);
    for (uint32_t i = 0; i < event->feet.count; i++)
        history_add(history(d, event->feet.list[i].object), index, event->feet.list[i].write);
    d->last_of[event->task] = index + 1;
    event->finished = true;
}

void dpor_pending_races(struct dpor *d)
{
    struct dpor_feet feet = {0};

    for (uint32_t t = 1; t < DPOR_TASKS; t++) {
        if (!d->tasks[t])
            continue;
        uint32_t clock[DPOR_TASKS];
        feet.count = 0;
        dpor_feet_of_op(&feet, d->tasks[t], d->opaque);
        memcpy(clock, d->clock[t], sizeof clock);
        clock_of(d, &feet, clock);
        find_races(d, &feet, d->tasks[t]->op.kind, t, d->event_count, d->clock[t], clock);
    }
    free(feet.list);
}
