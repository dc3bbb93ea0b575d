/* SPDX-License-Identifier: MIT */
/* Deciders that follow a list: one plays it; the other changes lists that showed something new and
 * plays those (feedback). */
#include "sched/decider.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

static struct core_task *find(const struct core *core, struct core_task *current, uint32_t id)
{
    if (current && current->id == id)
        return current;
    for (uint32_t i = 0; i < core->ready_count; i++)
        if (core->ready[i]->id == id)
            return core->ready[i];
    return NULL;
}

struct list {
    struct decider decider;
    const struct core_decision *decisions; /* borrowed */
    size_t count, pos;
};

static void list_begin(struct decider *decider, struct core *core)
{
    (void)core;
    ((struct list *)decider)->pos = 0;
}

static const struct core_decision *list_next(struct list *list, enum core_choice kind)
{
    if (list->pos >= list->count)
        return NULL;
    const struct core_decision *decision = &list->decisions[list->pos++];
    return decision->kind == kind && !decision->dull ? decision : NULL;
}

static struct core_task *list_pick(struct decider *decider, struct core *core,
                                   struct core_task *current)
{
    const struct core_decision *decision = list_next((struct list *)decider, CORE_TASK);
    struct core_task *task = decision ? find(core, current, decision->value) : NULL;

    return task ? task : core_dull(core, current);
}

static uint32_t list_draw(struct decider *decider, struct core *core, enum core_choice kind,
                          uint32_t n)
{
    const struct core_decision *decision = list_next((struct list *)decider, kind);

    (void)core;
    return decision && decision->value < n ? decision->value : 0;
}

struct decider *decider_list_new(const struct core_decision *decisions, size_t count)
{
    struct list *list = mem_alloc(sizeof *list);

    *list = (struct list){
        .decider = {.name = "list", .pick = list_pick, .draw = list_draw, .begin = list_begin}};
    decider_list_set(&list->decider, decisions, count);
    return &list->decider;
}

void decider_list_set(struct decider *decider, const struct core_decision *decisions, size_t count)
{
    struct list *list = (struct list *)decider;

    list->decisions = decisions;
    list->count = count;
}

/* ---- feedback: lists whose runs had a fingerprint nobody had seen are kept; a run plays one of
 * them with a few decisions changed, and goes on by chance behind its end. */

enum { CORPUS_MAX = 256, SEEN_SLOTS = 1 << 14 };

struct kept {
    struct core_decision *decisions; /* owned */
    size_t count;
};

struct mutate {
    struct decider decider;
    struct rng rng;
    uint64_t seed, index;
    struct kept corpus[CORPUS_MAX];
    size_t corpus_count;
    struct core_decision *plan; /* owned */
    size_t plan_count, plan_capacity, pos;
    uint64_t seen[SEEN_SLOTS];
};

static void mutate_begin(struct decider *decider, struct core *core)
{
    struct mutate *m = (struct mutate *)decider;
    uint64_t state = m->seed ^ m->index * UINT64_C(0x8ebc6af09c88c6e3);

    (void)core;
    rng_seed(&m->rng, rng_mix(&state));
    m->pos = m->plan_count = 0;
    if (!m->corpus_count || rng_below(&m->rng, 8) == 0)
        return;
    const struct kept *kept = &m->corpus[rng_below(&m->rng, m->corpus_count)];
    if (!kept->count)
        return;
    size_t keep = 1 + rng_below(&m->rng, kept->count);
    if (keep > m->plan_capacity) {
        m->plan_capacity = keep * 2;
        m->plan = mem_grow(m->plan, m->plan_capacity * sizeof *m->plan);
    }
    memcpy(m->plan, kept->decisions, keep * sizeof *m->plan);
    m->plan_count = keep;
    for (uint64_t changes = rng_below(&m->rng, 3); changes > 0; changes--)
        m->plan[rng_below(&m->rng, keep)].kind = CORE_CHOICES; /* drawn anew when it is reached */
}

static const struct core_decision *planned(struct mutate *m, enum core_choice kind)
{
    if (m->pos >= m->plan_count)
        return NULL;
    const struct core_decision *decision = &m->plan[m->pos++];
    return decision->kind == kind ? decision : NULL;
}

static struct core_task *mutate_pick(struct decider *decider, struct core *core,
                                     struct core_task *current)
{
    struct mutate *m = (struct mutate *)decider;
    const struct core_decision *decision = planned(m, CORE_TASK);
    struct core_task *task = decision ? find(core, current, decision->value) : NULL;

    if (task)
        return task;
    uint64_t i = rng_below(&m->rng, core->ready_count + (current != NULL));
    return i < core->ready_count ? core->ready[i] : current;
}

static uint32_t mutate_draw(struct decider *decider, struct core *core, enum core_choice kind,
                            uint32_t n)
{
    struct mutate *m = (struct mutate *)decider;
    const struct core_decision *decision = planned(m, kind);

    (void)core;
    if (decision && decision->value < n)
        return decision->value;
    return (uint32_t)rng_below(&m->rng, n);
}

static bool mutate_next(struct decider *decider, struct core *core)
{
    struct mutate *m = (struct mutate *)decider;
    uint64_t print = core_fingerprint(core) | 1;
    uint64_t *slot = &m->seen[print % SEEN_SLOTS];

    m->index++;
    if (*slot == print)
        return true;
    *slot = print;
    size_t at = m->corpus_count < CORPUS_MAX ? m->corpus_count++ : rng_below(&m->rng, CORPUS_MAX);
    struct kept *kept = &m->corpus[at];
    free(kept->decisions);
    kept->count = core->decision_count;
    kept->decisions = mem_alloc((kept->count + 1) * sizeof *kept->decisions);
    memcpy(kept->decisions, core->decisions, kept->count * sizeof *kept->decisions);
    return true;
}

static void mutate_free(struct decider *decider)
{
    struct mutate *m = (struct mutate *)decider;

    for (size_t i = 0; i < m->corpus_count; i++)
        free(m->corpus[i].decisions);
    free(m->plan);
}

struct decider *decider_mutate_new(uint64_t seed)
{
    struct mutate *m = mem_alloc(sizeof *m);

    m->decider = (struct decider){.name = "mutate",
                                  .pick = mutate_pick,
                                  .draw = mutate_draw,
                                  .begin = mutate_begin,
                                  .next = mutate_next,
                                  .free = mutate_free};
    m->seed = seed;
    return &m->decider;
}
