/* SPDX-License-Identifier: MIT */
/* Exhaustive search with partial-order reduction: source sets and sleep sets (after Abdulla,
 * Aronis, Jonsson and Sagonas, 2014).
 *
 * Two steps have nothing to do with each other when they touch different objects, or only read.
 * Runs that differ by the order of such steps are one class; the search finishes exactly one run of
 * each class. After each step it looks for races: earlier steps of other tasks that touched the
 * same object and could have come later. For each race, a task that can begin the other order is
 * added to what remains to be tried where the earlier step was taken. A task whose step was tried
 * there sleeps in the rest of the search below, until a step that has to do with it is taken; a run
 * in which every task that could go sleeps is cut: its class was seen.
 *
 *   node    a point of the search: a choice of a task (also when there was but one), or another
 *           choice, of which all answers are tried
 *   event   a step of the current run; its clock says which events it comes after
 *   feet    what a step touched
 *
 * A step that waited for another (a lock for its unlock) cannot be turned around with it, but maybe
 * with what made it wait: the search looks through events before which the task could not go, see
 * dpor_race.c.
 * When time moves, everything before comes before everything after. At most 63 tasks. */
#include "sched/decider.h"
#include "sched/dpor.h"
#include <stdlib.h>
#include <string.h>

static uint64_t bit(uint32_t task)
{
    return UINT64_C(1) << task;
}

/* ---- feet */

static void feet_add(struct dpor_feet *feet, uint32_t object, bool write)
{
    for (uint32_t i = 0; i < feet->count; i++)
        if (feet->list[i].object == object) {
            feet->list[i].write |= write;
            return;
        }
    if (feet->count == feet->capacity) {
        feet->capacity = feet->capacity ? feet->capacity * 2 : 4;
        feet->list = mem_grow(feet->list, feet->capacity * sizeof *feet->list);
    }
    feet->list[feet->count++] = (struct dpor_foot){object, write};
}

static void feet_merge(struct dpor_feet *to, const struct dpor_feet *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        feet_add(to, from->list[i].object, from->list[i].write);
}

static bool feet_conflict(const struct dpor_feet *a, const struct dpor_feet *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++)
            if (a->list[i].object == b->list[k].object && (a->list[i].write || b->list[k].write))
                return true;
    return false;
}

/* ---- nodes */

static void node_done(struct dpor_node *node)
{
    for (uint32_t i = 0; i < node->trod_count; i++)
        free(node->trod[i].feet.list);
    free(node->trod);
    *node = (struct dpor_node){0};
}

static struct dpor_feet *node_feet(struct dpor_node *node, uint32_t task)
{
    for (uint32_t i = 0; i < node->trod_count; i++)
        if (node->trod[i].task == task)
            return &node->trod[i].feet;
    node->trod = mem_grow(node->trod, (node->trod_count + 1) * sizeof *node->trod);
    node->trod[node->trod_count] = (struct dpor_trod){.task = task};
    return &node->trod[node->trod_count++].feet;
}

static struct dpor_node *node_push(struct dpor *d)
{
    if (d->node_count == d->node_capacity) {
        d->node_capacity = d->node_capacity ? d->node_capacity * 2 : 64;
        d->nodes = mem_grow(d->nodes, d->node_capacity * sizeof *d->nodes);
    }
    struct dpor_node *node = &d->nodes[d->node_count++];
    *node = (struct dpor_node){0};
    return node;
}

static void node_drop_to(struct dpor *d, uint32_t count)
{
    while (d->node_count > count)
        node_done(&d->nodes[--d->node_count]);
}

/* Who sleeps at a new node: those who slept or were done at the last one and have nothing to do
 * with the step taken there. */
static void inherit_sleep(struct dpor *d, struct dpor_node *node)
{
    if (!d->event_count || d->events[d->event_count - 1].barrier_after)
        return;
    const struct dpor_event *event = &d->events[d->event_count - 1];
    struct dpor_node *before = &d->nodes[event->node];
    uint64_t asleep = (before->sleep | before->done) & ~bit(event->task);
    for (uint32_t t = 1; asleep >> t; t++) {
        if (!(asleep & bit(t)))
            continue;
        struct dpor_feet *feet = node_feet(before, t);
        if (feet_conflict(feet, &event->feet))
            continue;
        node->sleep |= bit(t);
        feet_merge(node_feet(node, t), feet);
    }
}

/* ---- picking */

static uint64_t enabled_mask(struct dpor *d, const struct core *core,
                             const struct core_task *current)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < core->ready_count; i++) {
        if (core->ready[i]->id >= DPOR_TASKS)
            d->trouble = "more than 63 tasks";
        else
            mask |= bit(core->ready[i]->id);
    }
    if (current && current->id < DPOR_TASKS)
        mask |= bit(current->id);
    return mask;
}

static struct core_task *find(const struct core *core, struct core_task *current, uint32_t id)
{
    if (current && current->id == id)
        return current;
    for (uint32_t i = 0; i < core->ready_count; i++)
        if (core->ready[i]->id == id)
            return core->ready[i];
    return NULL;
}

static struct dpor_event *event_push(struct dpor *d, uint32_t task, uint32_t node)
{
    if (d->event_count == d->event_capacity) {
        uint32_t capacity = d->event_capacity ? d->event_capacity * 2 : 64;
        d->events = mem_grow(d->events, capacity * sizeof *d->events);
        memset(d->events + d->event_capacity, 0,
               (capacity - d->event_capacity) * sizeof *d->events);
        d->event_capacity = capacity;
    }
    struct dpor_event *event = &d->events[d->event_count++];
    event->task = task;
    event->node = node;
    event->feet.count = 0;
    event->barrier_after = event->finished = false;
    return event;
}

static struct core_task *pick(struct decider *decider, struct core *core, struct core_task *current)
{
    struct dpor *d = (struct dpor *)decider;
    struct core_task *task;

    /* Whether it was cancelled is looked at when an operation is reached, and again when it ends.
     */
    if (core->last && core->last->op.flags & OP_CANCELS && d->event_count &&
        d->events[d->event_count - 1].task == core->last->id)
        feet_add(&d->events[d->event_count - 1].feet, CORE_TASK_OBJECT | core->last->id, false);
    dpor_finish_event(d);
    uint64_t enabled = enabled_mask(d, core, current);
    if (d->trouble)
        return NULL;
    if (d->pos == d->node_count) {
        struct dpor_node *node = node_push(d);
        inherit_sleep(d, node);
        node->enabled = enabled;
        uint64_t awake = enabled & ~node->sleep;
        if (!awake) {
            d->was_cut = true;
            return NULL;
        }
        task = core_dull(core, current);
        for (uint32_t t = 1; !(awake & bit(task->id)); t++)
            if (awake & bit(t))
                task = find(core, current, t);
        node->task = task->id;
        node->backtrack = bit(task->id);
    } else {
        struct dpor_node *node = &d->nodes[d->pos];
        task = find(core, current, node->task);
        if (node->n || node->enabled != enabled || !task) {
            d->trouble = "the program does not repeat itself";
            return NULL;
        }
    }
    event_push(d, task->id, d->pos++);
    return task;
}

static uint32_t draw(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core, (void)kind;
    if (d->pos == d->node_count) {
        struct dpor_node *node = node_push(d);
        node->n = n;
        node->owner = d->event_count ? d->events[d->event_count - 1].node + 1 : 0;
    }
    struct dpor_node *node = &d->nodes[d->pos++];
    return node->value < n ? node->value : 0;
}

/* ---- what happens in a run */

static void begin(struct decider *decider, struct core *core)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    d->pos = d->event_count = d->barrier = 0;
    d->was_cut = false;
    memset(d->last_of, 0, sizeof d->last_of);
    memset(d->born, 0, sizeof d->born);
    memset(d->clock, 0, sizeof d->clock);
    memset(d->tasks, 0, sizeof d->tasks);
    dpor_history_clear(d);
}

static void spawned(struct decider *decider, struct core *core, struct core_task *task)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    if (task->id >= DPOR_TASKS)
        return;
    d->tasks[task->id] = task;
    d->born[task->id] = d->event_count; /* number of the event that spawned it, plus one */
}

static void executed(struct decider *decider, struct core *core, struct core_task *task)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    if (!d->event_count)
        return;
    d->events[d->event_count - 1].kind = task->op.kind;
    dpor_feet_of_op(&d->events[d->event_count - 1].feet, task, d->opaque);
}

void dpor_feet_of_op(struct dpor_feet *feet, const struct core_task *task, bool opaque)
{
    const struct op *op = &task->op;

    if (op->object != CORE_MEMORY)
        feet_add(feet, op->object, !(op->flags & OP_READS));
    for (uint32_t i = 0; i < task->also_count; i++)
        feet_add(feet, task->also[i], true);
    if (op->flags & OP_CANCELS)
        feet_add(feet, CORE_TASK_OBJECT | task->id, false);
    if (opaque || op->flags & OP_OPAQUE)
        feet_add(feet, CORE_MEMORY, true);
}

static void accessed(struct decider *decider, struct core *core, struct core_task *task,
                     uint32_t object, bool write)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    if (!d->event_count)
        return;
    feet_add(&d->events[d->event_count - 1].feet, object, write);
    if (write && object == (CORE_TASK_OBJECT | task->id) && task->id < DPOR_TASKS)
        d->tasks[task->id] = NULL; /* its end */
}

static void idle(struct decider *decider, struct core *core)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    dpor_finish_event(d);
    dpor_pending_races(d); /* what cannot go now may end by a timer: it could have gone before */
    if (d->event_count)
        d->events[d->event_count - 1].barrier_after = true;
    d->barrier = d->event_count;
}

/* ---- from run to run */

static bool next(struct decider *decider, struct core *core)
{
    struct dpor *d = (struct dpor *)decider;

    (void)core;
    dpor_finish_event(d);
    dpor_pending_races(d); /* also of runs that were cut: others may start from their beginnings */
    d->cut += d->was_cut;
    if (d->trouble)
        return false;
    uint32_t event = d->event_count;
    while (d->node_count) {
        struct dpor_node *node = &d->nodes[d->node_count - 1];
        if (node->n) {
            if (node->value + 1 < node->n) {
                node->value++;
                if (node->owner) { /* the step is not done yet: remember what it touched so far */
                    struct dpor_node *owner = &d->nodes[node->owner - 1];
                    while (event && d->events[event - 1].node + 1 > node->owner)
                        event--;
                    if (event)
                        feet_merge(node_feet(owner, owner->task), &d->events[event - 1].feet);
                }
                d->changed = d->node_count - 1;
                return true;
            }
            node_drop_to(d, d->node_count - 1);
            continue;
        }
        while (event && d->events[event - 1].node + 1 > d->node_count)
            event--;
        if (event && d->events[event - 1].node + 1 == d->node_count)
            feet_merge(node_feet(node, node->task), &d->events[event - 1].feet);
        node->done |= bit(node->task);
        uint64_t left = node->backtrack & ~node->done & ~node->sleep;
        if (left && node->task) {
            node->task = (uint32_t)__builtin_ctzll(left);
            d->changed = d->node_count - 1;
            return true;
        }
        node_drop_to(d, d->node_count - 1);
    }
    return false;
}

static void done(struct decider *decider)
{
    struct dpor *d = (struct dpor *)decider;

    node_drop_to(d, 0);
    for (uint32_t i = 0; i < d->event_capacity; i++)
        free(d->events[i].feet.list);
    free(d->events);
    free(d->nodes);
    dpor_history_done(d);
}

uint64_t decider_dpor_cut(const struct decider *decider)
{
    return ((const struct dpor *)decider)->cut;
}

const char *decider_dpor_trouble(const struct decider *decider)
{
    return ((const struct dpor *)decider)->trouble;
}

struct decider *decider_dpor_new(bool opaque)
{
    struct dpor *d = mem_alloc(sizeof *d);

    d->decider = (struct decider){.name = "dpor",
                                  .flags = DECIDER_EVERY_STEP | DECIDER_ACCESSES,
                                  .pick = pick,
                                  .draw = draw,
                                  .begin = begin,
                                  .spawned = spawned,
                                  .executed = executed,
                                  .accessed = accessed,
                                  .idle = idle,
                                  .next = next,
                                  .free = done};
    d->opaque = opaque;
    return &d->decider;
}
