/* SPDX-License-Identifier: MIT */
/* The deciders without memory: first in first out, never preempting, and uniform chance. */
#include "sched/decider.h"
#include "base/rng.h"
#include <stdlib.h>

struct decider *decider_free(struct decider *decider)
{
    if (decider && decider->free)
        decider->free(decider);
    free(decider);
    return NULL;
}

static uint32_t draw_nothing(struct decider *decider, struct core *core, enum core_choice kind,
                             uint32_t n)
{
    (void)decider, (void)core, (void)kind, (void)n;
    return 0;
}

static struct core_task *fifo_pick(struct decider *decider, struct core *core,
                                   struct core_task *current)
{
    (void)decider;
    if (current && !(current->op.flags & OP_GIVES_WAY))
        return current;
    return core->ready_count ? core->fifo.next : current;
}

struct decider *decider_fifo_new(void)
{
    struct decider *decider = mem_alloc(sizeof *decider);

    *decider = (struct decider){.name = "fifo", .pick = fifo_pick, .draw = draw_nothing};
    return decider;
}

static struct core_task *dull_pick(struct decider *decider, struct core *core,
                                   struct core_task *current)
{
    (void)decider;
    return core_dull(core, current);
}

struct decider *decider_dull_new(void)
{
    struct decider *decider = mem_alloc(sizeof *decider);

    *decider = (struct decider){.name = "dull", .pick = dull_pick, .draw = draw_nothing};
    return decider;
}

struct random {
    struct decider decider;
    struct rng rng;
    uint64_t seed, index;
};

static void random_begin(struct decider *decider, struct core *core)
{
    struct random *random = (struct random *)decider;
    uint64_t state = random->seed + random->index * UINT64_C(0xd1342543de82ef95);

    (void)core;
    rng_seed(&random->rng, rng_mix(&state));
}

static struct core_task *random_pick(struct decider *decider, struct core *core,
                                     struct core_task *current)
{
    struct random *random = (struct random *)decider;
    uint64_t i = rng_below(&random->rng, core->ready_count + (current != NULL));

    return i < core->ready_count ? core->ready[i] : current;
}

static uint32_t random_draw(struct decider *decider, struct core *core, enum core_choice kind,
                            uint32_t n)
{
    struct random *random = (struct random *)decider;

    (void)core;
    /* What hardly ever happens is drawn seldom. */
    if (kind == CORE_SPURIOUS || kind == CORE_TIMEOUT)
        return rng_below(&random->rng, 8) == 0;
    return (uint32_t)rng_below(&random->rng, n);
}

static bool random_next(struct decider *decider, struct core *core)
{
    (void)core;
    ((struct random *)decider)->index++;
    return true;
}

static void random_seek(struct decider *decider, uint64_t index)
{
    ((struct random *)decider)->index = index;
}

struct decider *decider_random_new(uint64_t seed)
{
    struct random *random = mem_alloc(sizeof *random);

    *random = (struct random){.decider = {.name = "random",
                                          .pick = random_pick,
                                          .draw = random_draw,
                                          .begin = random_begin,
                                          .next = random_next,
                                          .seek = random_seek},
                              .seed = seed};
    return &random->decider;
}
