/* SPDX-License-Identifier: MIT */
/* What decide_dpor.c (the search) and dpor_race.c (clocks and races) share. */
#pragma once
#include "sched/decider.h"

enum { DPOR_TASKS = 64 };

struct dpor_foot {
    uint32_t object;
    bool write;
};
struct dpor_feet {
    struct dpor_foot *list; /* owned */
    uint32_t count, capacity;
};
struct dpor_trod { /* what the step of a task touched from here */
    uint32_t task;
    struct dpor_feet feet;
};

struct dpor_node {
    uint64_t enabled, backtrack, done, sleep; /* a bit a task */
    uint32_t task;                            /* the one taken */
    uint32_t n, value;                        /* of a choice that is not of a task; else n is 0 */
    uint32_t owner;                           /* its task node, plus one */
    struct dpor_trod *trod;                   /* of those that sleep or are done; owned */
    uint32_t trod_count;
};

struct dpor_event {
    uint32_t task, node;
    uint32_t clock[DPOR_TASKS]; /* by task: its last event this one comes after, plus one */
    struct dpor_feet feet;
    uint8_t kind; /* enum op_kind */
    bool barrier_after, finished;
};

struct dpor_touch {
    uint32_t event;
    bool write;
};
struct dpor_history { /* who touched an object, in order */
    struct dpor_touch *list;
    uint32_t count, capacity;
};

struct dpor {
    struct decider decider;
    struct dpor_node *nodes;
    uint32_t node_count, node_capacity, pos;
    uint32_t changed; /* nodes below this one are as they were in the run before */
    struct dpor_event *events;
    uint32_t event_count, event_capacity;
    uint32_t barrier;             /* events before this one come before all that follow */
    uint32_t last_of[DPOR_TASKS]; /* last event of a task, plus one */
    uint32_t born[DPOR_TASKS];    /* the event that spawned it, plus one */
    uint32_t clock[DPOR_TASKS][DPOR_TASKS];
    struct core_task *tasks[DPOR_TASKS]; /* alive */
    struct dpor_history *objects, tasks_history[DPOR_TASKS];
    uint32_t object_capacity;
    uint64_t cut;
    bool was_cut, opaque;
    const char *trouble;
};

void dpor_finish_event(struct dpor *d);  /* the last step is complete: its clock, its races */
void dpor_pending_races(struct dpor *d); /* of operations that never became possible */
void dpor_feet_of_op(struct dpor_feet *feet, const struct core_task *task, bool opaque);
void dpor_history_clear(struct dpor *d);
void dpor_history_done(struct dpor *d);
