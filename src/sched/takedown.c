/* SPDX-License-Identifier: MIT */
/* The end of a run: politely when it went well, by force when it did not, and by dropping what a
 * longjmp left behind. Nothing is decided or recorded here any more. */
#include "sched/sched.h"
#include <string.h>

enum { GRACE_STEPS = 2000 };

/* Keeps the newest block of names for the next run. */
static void labels_shorten(vitro_sched *sched)
{
    if (!sched->labels_capacity)
        return;
    char *newest = sched->labels;
    size_t capacity = sched->labels_capacity;
    memcpy(&sched->labels, newest, sizeof sched->labels);
    sched_free_labels(sched);
    memset((void *)newest, 0, sizeof(char *));
    sched->labels = newest;
    sched->labels_capacity = capacity;
}

uint32_t sched_add_live(const vitro_sched *sched, struct buf *buf, bool detached_too)
{
    uint32_t count = 0;

    for (vitro_task *t = sched->live_first; t; t = t->next) {
        if (t->detached && !detached_too)
            continue;
        if (count < 8) {
            buf_adds(buf, count ? ", '" : " '");
            core_add_name(&sched->core, t->core.id, buf);
            buf_addc(buf, '\'');
        }
        count++;
    }
    if (count > 8)
        buf_addf(buf, " and %u more", count - 8);
    return count;
}

/* Lets everything that is left go on without deciding or recording anything; true when all ended.
 */
static bool drain(vitro_sched *sched, uint64_t steps)
{
    vitro_sched *before = sched_here;

    sched_here = sched;
    sched->single = true;
    sched->driving = true;
    while (sched->live_count && steps--) {
        sched->single = false;
        vitro_task *next = sched_pick(sched, NULL);
        sched->single = true;
        if (next)
            task_switch(sched, NULL, next);
        else if (!timers_count(&sched->timers) || !sched_fire_one(sched))
            break;
    }
    sched->single = sched->driving = false;
    sched_here = before;
    return sched->live_count == 0;
}

/* The run went well: what is left is cancelled the ordinary way. */
static void end_politely(vitro_sched *sched)
{
    CLEANUP(buf_done) struct buf names = {0};

    for (vitro_task *t = sched->live_first; t; t = t->next)
        (void)vitro_cancel_at(t, NULL);
    if (drain(sched, GRACE_STEPS))
        return;
    (void)sched_add_live(sched, &names, true);
    sched->stopped = false;
    sched_fail(sched, VITRO_UNFINISHED, "cancelled but would not end:%s", names.data);
}

/* One at a time, the youngest first: children end before the parents whose memory they use. No
 * wait lets go of the processor, so each runs to its end in one stretch or uses up its grace. */
static void end_by_force(vitro_sched *sched)
{
    vitro_sched *before = sched_here;

    sched_here = sched;
    sched->unwinding = sched->driving = sched->single = true;
    while (sched->live_last) {
        vitro_task *task = sched->live_last;
        if (task->state == TASK_LIVE) {
            task->relock = NULL;
            task_wake(task, WAKE_CANCEL);
            core_disable(&sched->core, &task->core);
            sched->grace = GRACE_STEPS;
            task_switch(sched, NULL, task);
        }
        if (task == sched->live_last && task->state != TASK_DONE)
            task_abandon(task);
    }
    sched->unwinding = sched->driving = sched->single = false;
    sched_here = before;
}

/* A task that was left by longjmp is still marked as running, but our frame is not on its stack. */
bool sched_left_by_longjmp(const vitro_sched *sched)
{
    const char *here = __builtin_frame_address(0);
    const struct stack *stack = sched->current ? sched->current->stack : NULL;

    return stack && (here < stack->low || here >= stack->low + stack->size);
}

/* What is left of it can only be dropped. */
void sched_spoil(vitro_sched *sched)
{
    sched->stopped = sched->spoilt = true;
    sched->driving = false;
    sched->kind = VITRO_MISUSE;
    buf_clear(&sched->error);
    buf_adds(&sched->error, "task '");
    core_add_name(&sched->core, sched->current->core.id, &sched->error);
    buf_adds(&sched->error, "' was left by longjmp: its scheduler cannot go on");
    task_abandon(sched->current);
    sched->current = NULL;
    if (sched_here == sched)
        sched_here = NULL;
}

void sched_close(vitro_sched *sched)
{
    if (sched_left_by_longjmp(sched))
        sched_spoil(sched);
    sched->core.quiet = true;
    if (sched->live_count && !sched->stopped)
        end_politely(sched);
    if (sched->live_count)
        end_by_force(sched);
    while (sched->ended)
        task_recycle(sched->ended);
    timers_clear(&sched->timers);
    labels_shorten(sched);
    sched->run = 0;
}

uint64_t sched_fingerprint(const vitro_sched *sched)
{
    uint64_t sum = core_fingerprint(&sched->core);

    for (vitro_task *t = sched->live_first; t; t = t->next)
        sum += t->core.hash * UINT64_C(0x9e3779b97f4a7c15) ^ t->core.op.kind;
    return sum;
}
