/* SPDX-License-Identifier: MIT */
/* SURW (Zhao and others, 2025): the first run only counts which task touches which object how
 * often. Every later run chooses one object that several tasks touch, by its count, and makes all
 * orders of the operations on it equally likely: the task that is to go next is drawn with a weight
 * of what it still has to do there, children not yet spawned included. All other operations are
 * ordered by random priorities. Object CORE_MEMORY stands for what nobody declared.
 *
 * Objects and tasks are told apart by the order in which they appear, which may shift from schedule
 * to schedule: then the weights are worse, and nothing else. */
#include "sched/decider.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 256, TASKS_MAX = 64 };

struct surw {
    struct decider decider;
    struct rng rng;
    uint64_t seed, index;
    bool profiled;
    uint32_t count[OBJECTS_MAX][TASKS_MAX + 1]; /* by object and task of the first run */
    bool written[OBJECTS_MAX];
    uint32_t parent[TASKS_MAX + 1]; /* of the first run */
    uint32_t tasks;
    uint32_t object;                /* the interesting one of this run */
    uint32_t weight[TASKS_MAX + 1]; /* what the task still has to do there */
    uint32_t intended;              /* id of the task that is to go next; 0: not drawn */
    bool blocked[TASKS_MAX + 1];
};

static bool touches(const struct op *op, uint32_t object)
{
    return object == CORE_MEMORY ? op->flags & OP_OPAQUE : op->object == object;
}

/* What a task and all it will spawn do on the interesting object. */
static uint32_t subtree(const struct surw *s, uint32_t task)
{
    uint32_t sum = s->count[s->object][task];

    for (uint32_t child = task + 1; child <= s->tasks; child++)
        if (s->parent[child] == task)
            sum += subtree(s, child);
    return sum;
}

static uint32_t object_weight(const struct surw *s, uint32_t object)
{
    uint32_t tasks = 0, sum = 0;

    for (uint32_t t = 1; t <= s->tasks; t++) {
        tasks += s->count[object][t] > 0;
        sum += s->count[object][t];
    }
    return tasks >= 2 && s->written[object] ? sum : 0;
}

static void choose_object(struct surw *s)
{
    uint64_t total = 0;

    for (uint32_t o = 0; o < OBJECTS_MAX; o++)
        total += object_weight(s, o);
    s->object = CORE_MEMORY;
    if (!total)
        return;
    uint64_t at = rng_below(&s->rng, total);
    for (uint32_t o = 0; o < OBJECTS_MAX; o++) {
        uint32_t weight = object_weight(s, o);
        if (at < weight) {
            s->object = o;
            return;
        }
        at -= weight;
    }
}

static void begin(struct decider *decider, struct core *core)
{
    struct surw *s = (struct surw *)decider;
    uint64_t state = s->seed ^ s->index * UINT64_C(0xe7037ed1a0b428db);

    (void)core;
    rng_seed(&s->rng, rng_mix(&state));
    s->intended = 0;
    memset(s->blocked, 0, sizeof s->blocked);
    memset(s->weight, 0, sizeof s->weight);
    if (s->profiled)
        choose_object(s);
}

static void spawned(struct decider *decider, struct core *core, struct core_task *task)
{
    struct surw *s = (struct surw *)decider;

    if (task->id > TASKS_MAX)
        return;
    uint32_t parent = core->names[task->id].parent;
    if (!s->profiled) {
        s->parent[task->id] = parent;
        s->tasks = task->id;
        return;
    }
    s->weight[task->id] = subtree(s, task->id);
    if (parent && s->weight[parent] >= s->weight[task->id])
        s->weight[parent] -= s->weight[task->id];
}

static void executed(struct decider *decider, struct core *core, struct core_task *task)
{
    struct surw *s = (struct surw *)decider;

    (void)core;
    task->mark = 0;
    if (s->profiled || task->id > TASKS_MAX)
        return;
    if (task->op.object != CORE_MEMORY && task->op.object < OBJECTS_MAX) {
        s->count[task->op.object][task->id]++;
        s->written[task->op.object] |= !(task->op.flags & OP_READS);
    }
    if (task->op.flags & OP_OPAQUE) {
        s->count[CORE_MEMORY][task->id]++;
        s->written[CORE_MEMORY] = true;
    }
}

static struct core_task *propose(struct surw *s, const struct core *core, struct core_task *current)
{
    struct core_task *best = NULL;

    for (uint32_t i = 0; i <= core->ready_count; i++) {
        struct core_task *t = i < core->ready_count ? core->ready[i] : current;
        if (!t || (t->id <= TASKS_MAX && s->blocked[t->id]))
            continue;
        if (!t->mark)
            t->mark = rng_next(&s->rng) | 1;
        if (!best || t->mark > best->mark)
            best = t;
    }
    return best;
}

static uint32_t weight_of(const struct surw *s, const struct core_task *t)
{
    if (t->id > TASKS_MAX || s->blocked[t->id])
        return 0;
    return s->weight[t->id] ? s->weight[t->id] : touches(&t->op, s->object);
}

static uint32_t intend(struct surw *s, const struct core *core, struct core_task *current)
{
    uint64_t total = current ? weight_of(s, current) : 0;

    for (uint32_t i = 0; i < core->ready_count; i++)
        total += weight_of(s, core->ready[i]);
    if (!total)
        return 0;
    uint64_t at = rng_below(&s->rng, total);
    for (uint32_t i = 0; i < core->ready_count; i++) {
        uint32_t weight = weight_of(s, core->ready[i]);
        if (at < weight)
            return core->ready[i]->id;
        at -= weight;
    }
    return current ? current->id : 0;
}

static struct core_task *pick(struct decider *decider, struct core *core, struct core_task *current)
{
    struct surw *s = (struct surw *)decider;

    if (!s->profiled)
        return core_dull(core, current);
    for (;;) {
        struct core_task *t = propose(s, core, current);
        if (!t) { /* all stand back for one that cannot go */
            s->intended = 0;
            memset(s->blocked, 0, sizeof s->blocked);
            continue;
        }
        if (t->id > TASKS_MAX || !touches(&t->op, s->object))
            return t;
        if (!s->intended)
            s->intended = intend(s, core, current);
        if (!s->intended || s->intended == t->id) {
            s->weight[t->id] -= s->weight[t->id] > 0;
            s->intended = 0;
            memset(s->blocked, 0, sizeof s->blocked);
            return t;
        }
        s->blocked[t->id] = true;
    }
}

static uint32_t draw(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n)
{
    struct surw *s = (struct surw *)decider;

    (void)core;
    if (!s->profiled)
        return 0;
    if (kind == CORE_SPURIOUS || kind == CORE_TIMEOUT)
        return rng_below(&s->rng, 8) == 0;
    return (uint32_t)rng_below(&s->rng, n);
}

static bool next(struct decider *decider, struct core *core)
{
    struct surw *s = (struct surw *)decider;

    (void)core;
    s->profiled = true;
    s->index++;
    return true;
}

static void seek(struct decider *decider, uint64_t index)
{
    ((struct surw *)decider)->index = index;
}

struct decider *decider_surw_new(uint64_t seed)
{
    struct surw *s = mem_alloc(sizeof *s);

    s->decider = (struct decider){.name = "surw",
                                  .pick = pick,
                                  .draw = draw,
                                  .begin = begin,
                                  .spawned = spawned,
                                  .executed = executed,
                                  .next = next,
                                  .seek = seek};
    s->seed = seed;
    return &s->decider;
}
