/* SPDX-License-Identifier: MIT */
/* The default of a check: one fifo run, then of every fifty runs one uniform, ten PCT of depth 2 to
 * 4, and the rest POS and SURW by turns. Which strategy meets a bug first depends on the bug. */
#include "sched/decider.h"
#include <stdlib.h>

enum { FIFO, UNIFORM, PCT2, PCT3, PCT4, POS, SURW, MEMBERS };

struct portfolio {
    struct decider decider;
    struct decider *members[MEMBERS]; /* owned */
    struct decider *active;
    uint64_t index;
};

static unsigned member_of(uint64_t index)
{
    if (index == 0)
        return FIFO;
    uint64_t k = index % 50;
    if (k == 0)
        return UNIFORM;
    if (k % 5 == 1)
        return PCT2 + (unsigned)(k / 5 % 3);
    return k % 2 ? SURW : POS;
}

static void begin(struct decider *decider, struct core *core)
{
    struct portfolio *p = (struct portfolio *)decider;

    p->active = p->members[member_of(p->index)];
    if (p->active->seek)
        p->active->seek(p->active, p->index);
    if (p->active->begin)
        p->active->begin(p->active, core);
}

static struct core_task *pick(struct decider *decider, struct core *core, struct core_task *current)
{
    struct decider *active = ((struct portfolio *)decider)->active;

    return active->pick(active, core, current);
}

static uint32_t draw(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n)
{
    struct decider *active = ((struct portfolio *)decider)->active;

    return active->draw(active, core, kind, n);
}

static void spawned(struct decider *decider, struct core *core, struct core_task *task)
{
    struct decider *active = ((struct portfolio *)decider)->active;

    if (active->spawned)
        active->spawned(active, core, task);
}

static void executed(struct decider *decider, struct core *core, struct core_task *task)
{
    struct decider *active = ((struct portfolio *)decider)->active;

    if (active->executed)
        active->executed(active, core, task);
}

static bool next(struct decider *decider, struct core *core)
{
    struct portfolio *p = (struct portfolio *)decider;

    if (p->active->next)
        (void)p->active->next(p->active, core);
    for (int i = PCT2; i <= PCT4; i++)
        decider_pct_expect(p->members[i], core->decision_count);
    p->index++;
    return true;
}

static void seek(struct decider *decider, uint64_t index)
{
    ((struct portfolio *)decider)->index = index;
}

static void done(struct decider *decider)
{
    struct portfolio *p = (struct portfolio *)decider;

    for (int i = 0; i < MEMBERS; i++)
        decider_free(p->members[i]);
}

const struct decider *decider_at_work(const struct decider *decider)
{
    if (decider->pick != pick)
        return decider;
    return ((const struct portfolio *)decider)->active;
}

struct decider *decider_portfolio_new(uint64_t seed)
{
    struct portfolio *p = mem_alloc(sizeof *p);

    p->decider = (struct decider){.name = "portfolio",
                                  .pick = pick,
                                  .draw = draw,
                                  .begin = begin,
                                  .spawned = spawned,
                                  .executed = executed,
                                  .next = next,
                                  .seek = seek,
                                  .free = done};
    p->members[FIFO] = decider_fifo_new();
    p->members[UNIFORM] = decider_random_new(seed);
    p->members[PCT2] = decider_pct_new(seed, 2);
    p->members[PCT3] = decider_pct_new(seed, 3);
    p->members[PCT4] = decider_pct_new(seed, 4);
    p->members[POS] = decider_pos_new(seed);
    p->members[SURW] = decider_surw_new(seed);
    p->active = p->members[FIFO];
    return &p->decider;
}
