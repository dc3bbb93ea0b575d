/* SPDX-License-Identifier: MIT */
/* core: which task goes next, and nothing about what a task is.
 *
 * A front (our coroutines; threads of a real program) tells the core which tasks exist, which can
 * go on, and what each is about to do: an operation on an object. The core asks the decider, keeps
 * the list of decisions, counts steps and preemptions, and folds who touched what after whom into a
 * fingerprint: two runs with the same fingerprint differ only in the order of steps that have
 * nothing to do with each other.
 *
 * Rules a front keeps:
 *  - a task that runs is not in the ready set; it publishes its next operation (core_publish) and
 *    calls core_choose with itself, if it can go on, or NULL;
 *  - the chosen task's operation is carried out at once, before anything else is published;
 *  - touching a further object within a step is told by core_access.
 *
 * Objects are numbers the core hands out in order of first use; object CORE_MEMORY stands for plain
 * memory nobody declared; the object of task t (its beginning, end, cancellation) is
 * CORE_TASK_OBJECT | t. */
#pragma once
#include "base/buf.h"
#include "sched/op.h"
#include <stdbool.h>
#include <stdint.h>

struct decider;

enum core_choice { /* every kind of chance; public names in explore.h */
                   CORE_TASK,
                   CORE_TIMER,    /* which of the timers due at one instant */
                   CORE_WAITER,   /* which waiter a signal wakes, which ready case a select takes */
                   CORE_SPURIOUS, /* 1: a wait on a condition variable ends without a signal */
                   CORE_TIMEOUT,  /* 1: the earliest deadline fires though tasks could go on */
                   CORE_RANDOM,   /* the test's own chance */
                   CORE_CHOICES
};

enum { CORE_NOT_READY = UINT32_MAX, CORE_MEMORY = 0, CORE_RING = 1024 };
#define CORE_TASK_OBJECT UINT32_C(0x80000000)

struct core_task {
    struct core_task *next, *prev; /* ready tasks, in the order they became ready */
    uint32_t id;                   /* number in this run, from 1 */
    uint32_t ready_at;             /* place in core.ready, or CORE_NOT_READY */
    struct op op;                  /* what it is about to do */
    const uint32_t *also;          /* objects it does it to, beside op.object; borrowed */
    uint32_t also_count;
    bool memory;   /* its running step is known to touch plain memory */
    uint64_t hash; /* its past */
    uint64_t mark; /* the decider's own */
};

struct core_object {
    uint64_t written, reads; /* fingerprint of the last write; of the reads since, summed */
};

struct core_name { /* outlives the task */
    uint32_t parent, children;
    const char *label; /* NULL, or in the run's name buffer */
};

struct core_decision {
    uint32_t value;    /* the task's id, or the number drawn */
    unsigned n : 24;   /* out of how many; always more than 1 */
    unsigned kind : 7; /* enum core_choice */
    unsigned dull : 1; /* what a run without any preemption would have done */
};

struct core_step {
    uint32_t task;
    struct op op;
};

struct core {
    struct decider *decider; /* borrowed */
    struct core_task **ready;
    uint32_t ready_count, ready_capacity;
    struct core_task fifo;  /* head of the ring of ready tasks */
    struct core_task *last; /* the task that ran the last step; may have ended */
    uint32_t last_id;
    uint32_t streak; /* steps in a row of one task at points where it offered to give way */

    uint32_t task_count, names_capacity;
    struct core_name *names; /* by task id */
    uint64_t *task_objects_hash;
    struct core_object *objects;
    uint32_t object_count, object_capacity;

    struct core_decision *decisions;
    size_t decision_count, decision_capacity;
    uint64_t steps, preemptions, switches;
    uint64_t check; /* rolling hash of (task, operation, object): the check stream */
    uint64_t ended; /* fingerprints of tasks that ended, summed */
    struct core_step ring[CORE_RING];
    struct core_step *log; /* when set, every step goes here as well (borrowed by core_log) */
    size_t log_count, log_capacity;
    bool logging;
    bool cut;   /* the decider says that this run need not be finished */
    bool quiet; /* the run is being taken down: nothing is decided, recorded or counted */
};

void core_init(struct core *core);
void core_done(struct core *core);
void core_begin(struct core *core, struct decider *decider); /* a new run; memory is kept */

void core_task_add(struct core *core, struct core_task *task, uint32_t parent, const char *label);
void core_task_end(struct core *core, struct core_task *task);
uint32_t core_object_add(struct core *core);

void core_enable(struct core *core, struct core_task *task);  /* nothing if it is ready */
void core_disable(struct core *core, struct core_task *task); /* nothing if it is not */

/* `current` is the task that asks and can go on; NULL when the one that ran cannot. NULL when no
 * task can go on, or when core->cut says to stop. What is chosen has left the ready set, and
 * `current` has entered it unless it was chosen. */
struct core_task *core_choose(struct core *core, struct core_task *current);
/* Instead of choosing: this ready task goes. */
void core_take(struct core *core, struct core_task *task);
/* A number below n; 0 is the dull answer. n of 1 or 0 gives 0 and decides nothing. */
uint32_t core_draw(struct core *core, enum core_choice kind, uint32_t n);
/* The running task touches another object in the same step. */
void core_access(struct core *core, struct core_task *task, uint32_t object, bool write);

/* What a run without preemptions does: goes on with `current`, else the task ready longest. */
struct core_task *core_dull(const struct core *core, struct core_task *current);
uint64_t core_fingerprint(const struct core *core);
/* "main/left"; siblings with one label are told apart as left, left#2. */
void core_add_name(const struct core *core, uint32_t task, struct buf *buf);

static inline void core_publish(struct core_task *task, struct op op)
{
    task->op = op;
}
