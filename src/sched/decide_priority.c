/* SPDX-License-Identifier: MIT */
/* Deciders by priority.
 *
 * PCT (Burckhardt and others, 2010): every task gets a random priority, the highest that can go
 * goes; at depth-1 random steps of the run the task about to go falls below all others. A bug of
 * depth d among n tasks and k steps is met with a chance of at least 1/(n k^(d-1)) a run. k is
 * learnt: the longest run so far. Steps with one candidate are not counted.
 *
 * POS (Yuan, Yang, Gu, 2018): every pending operation has a random priority; when one is carried
 * out, the operations that conflict with it draw again, and so does its task's next. */
#include "sched/decider.h"
#include "base/rng.h"
#include <stdlib.h>

enum { DEPTH_MAX = 16, STARVING = 32 };

struct priority {
    struct decider decider;
    struct rng rng;
    uint64_t seed, index;
    unsigned depth;
    uint64_t expected, counted; /* steps: longest run so far, this run */
    uint64_t change[DEPTH_MAX];
    uint64_t fallen; /* times a task that would not let go was put last */
};

static void seed_run(struct priority *p)
{
    uint64_t state = p->seed ^ p->index * UINT64_C(0xa0761d6478bd642f) ^ p->depth;

    rng_seed(&p->rng, rng_mix(&state));
}

static uint32_t draw(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n)
{
    struct priority *p = (struct priority *)decider;

    (void)core;
    if (kind == CORE_SPURIOUS || kind == CORE_TIMEOUT)
        return rng_below(&p->rng, 8) == 0;
    return (uint32_t)rng_below(&p->rng, n);
}

static bool next(struct decider *decider, struct core *core)
{
    struct priority *p = (struct priority *)decider;

    (void)core;
    p->index++;
    if (p->counted > p->expected)
        p->expected = p->counted;
    return true;
}

static void seek(struct decider *decider, uint64_t index)
{
    ((struct priority *)decider)->index = index;
}

void decider_pct_expect(struct decider *decider, uint64_t steps)
{
    struct priority *p = (struct priority *)decider;

    if (steps > p->expected)
        p->expected = steps;
}

static struct core_task *highest(const struct core *core, struct core_task *current)
{
    struct core_task *best = current;

    for (uint32_t i = 0; i < core->ready_count; i++)
        if (!best || core->ready[i]->mark > best->mark)
            best = core->ready[i];
    return best;
}

/* ---- PCT: mark is the priority. High ones have the top bit; change points are small numbers. */

static void pct_begin(struct decider *decider, struct core *core)
{
    struct priority *p = (struct priority *)decider;

    (void)core;
    seed_run(p);
    p->counted = p->fallen = 0;
    for (unsigned i = 0; i + 1 < p->depth; i++)
        p->change[i] = 1 + rng_below(&p->rng, p->expected ? p->expected : 16);
}

static void pct_spawned(struct decider *decider, struct core *core, struct core_task *task)
{
    struct priority *p = (struct priority *)decider;

    (void)core;
    task->mark = rng_next(&p->rng) | UINT64_C(1) << 63;
}

static struct core_task *pct_pick(struct decider *decider, struct core *core,
                                  struct core_task *current)
{
    struct priority *p = (struct priority *)decider;
    struct core_task *best = highest(core, current);

    p->counted++;
    for (unsigned i = 0; i + 1 < p->depth; i++)
        if (p->change[i] == p->counted) {
            best->mark = (UINT64_C(1) << 32) + p->depth - i;
            best = highest(core, current);
        }
    if (best == current && core->streak >= STARVING) { /* it spins: the others are its only hope */
        best->mark = (UINT64_C(1) << 32) - ++p->fallen;
        core->streak = 0;
        best = highest(core, current);
    }
    return best;
}

struct decider *decider_pct_new(uint64_t seed, unsigned depth)
{
    struct priority *p = mem_alloc(sizeof *p);

    depth = depth ? depth : 3;
    *p = (struct priority){.decider = {.name = "pct",
                                       .pick = pct_pick,
                                       .draw = draw,
                                       .begin = pct_begin,
                                       .spawned = pct_spawned,
                                       .next = next,
                                       .seek = seek},
                           .seed = seed,
                           .depth = depth < DEPTH_MAX ? depth : DEPTH_MAX};
    return &p->decider;
}

/* ---- POS: mark is the priority of the pending operation, 0 while it is not drawn. */

static void pos_begin(struct decider *decider, struct core *core)
{
    (void)core;
    seed_run((struct priority *)decider);
}

static struct core_task *pos_pick(struct decider *decider, struct core *core,
                                  struct core_task *current)
{
    struct priority *p = (struct priority *)decider;

    if (current && !current->mark)
        current->mark = rng_next(&p->rng) | 1;
    for (uint32_t i = 0; i < core->ready_count; i++)
        if (!core->ready[i]->mark)
            core->ready[i]->mark = rng_next(&p->rng) | 1;
    return highest(core, current);
}

static void pos_executed(struct decider *decider, struct core *core, struct core_task *task)
{
    (void)decider;
    task->mark = 0;
    for (uint32_t i = 0; i < core->ready_count; i++)
        if (op_conflict(&core->ready[i]->op, &task->op))
            core->ready[i]->mark = 0;
}

struct decider *decider_pos_new(uint64_t seed)
{
    struct priority *p = mem_alloc(sizeof *p);

    *p = (struct priority){.decider = {.name = "pos",
                                       .pick = pos_pick,
                                       .draw = draw,
                                       .begin = pos_begin,
                                       .executed = pos_executed,
                                       .next = next,
                                       .seek = seek},
                           .seed = seed};
    return &p->decider;
}
