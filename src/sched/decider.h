/* SPDX-License-Identifier: MIT */
/* decider: the one interface behind every choice.
 *
 * draw(kind, n) answers a number below n, 0 being the dull answer; for the choice of a task, pick()
 * answers with one of the ready tasks or `current` (NULL: the one that ran cannot go on). A decider
 * lives over many runs: begin() starts each of them, next() prepares the following one and says
 * false when there is nothing left to try.
 *
 * A decider is a struct that begins with `struct decider`; free it with decider_free. */
#pragma once
#include "base/cleanup.h"
#include "sched/core.h"

enum decider_flags {
    DECIDER_EVERY_STEP = 1, /* pick() is called at steps with one candidate too */
    DECIDER_ACCESSES = 2,   /* accessed() is called */
};

struct decider {
    const char *name;
    unsigned flags;
    bool incomplete; /* it left something out: the end of its runs is not the end of all */
    struct core_task *(*pick)(struct decider *decider, struct core *core,
                              struct core_task *current);
    uint32_t (*draw)(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n);
    /* The rest may be NULL. */
    void (*begin)(struct decider *decider, struct core *core);
    void (*spawned)(struct decider *decider, struct core *core, struct core_task *task);
    void (*executed)(struct decider *decider, struct core *core, struct core_task *task);
    void (*accessed)(struct decider *decider, struct core *core, struct core_task *task,
                     uint32_t object, bool write);
    void (*idle)(struct decider *decider, struct core *core); /* no task can go on; time moves */
    bool (*next)(struct decider *decider, struct core *core); /* after a run */
    void (*seek)(struct decider *decider, uint64_t index);    /* the number of the next run */
    void (*free)(struct decider *decider);
};

struct decider *decider_free(struct decider *decider);
DEFINE_CLEANUP(struct decider *, decider_free)

struct decider *decider_fifo_new(void);
struct decider *decider_dull_new(void); /* no preemption at all */
/* Uniform among candidates; run i of seed s is always the same, however many ran before. */
struct decider *decider_random_new(uint64_t seed);
struct decider *decider_pct_new(uint64_t seed, unsigned depth);
struct decider *decider_pos_new(uint64_t seed);
struct decider *decider_surw_new(uint64_t seed);
struct decider *decider_mutate_new(uint64_t seed);
/* One run of each in turn: fifo once, then random, PCT, POS and SURW. */
struct decider *decider_portfolio_new(uint64_t seed);
/* All schedules with at most `bound` preemptions (delays), bound after bound; UINT32_MAX: all. */
struct decider *decider_dfs_new(uint32_t bound_first, uint32_t bound_last, bool delays);
/* The bound the depth-first search stands at; how many runs its last finished bound took. */
uint32_t decider_dfs_bound(const struct decider *decider);
struct decider *decider_dpor_new(bool opaque);
uint64_t decider_dpor_cut(const struct decider *decider); /* runs that were not finished */
/* Why the search had to give up ("more than 64 tasks"), or NULL. */
const char *decider_dpor_trouble(const struct decider *decider);

void decider_pct_expect(struct decider *decider, uint64_t steps); /* how long runs are */
/* The one of a portfolio that is at work; else the decider itself. */
const struct decider *decider_at_work(const struct decider *decider);

/* Plays a list of decisions (borrowed); behind its end, or where it does not fit, the dull choice.
 */
struct decider *decider_list_new(const struct core_decision *decisions, size_t count);
void decider_list_set(struct decider *decider, const struct core_decision *decisions, size_t count);
