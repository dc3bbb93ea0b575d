/* SPDX-License-Identifier: MIT */
/* Words for runs that stand still or go round: who waits for whom, and the cycle that repeats. */
#include "sched/sched.h"
#include <string.h>

static void add_task(const vitro_sched *sched, uint32_t id, struct buf *buf)
{
    buf_addc(buf, '\'');
    core_add_name(&sched->core, id, buf);
    buf_addc(buf, '\'');
}

static vitro_task *live_task(const vitro_sched *sched, uint32_t id)
{
    for (vitro_task *t = sched->live_first; t; t = t->next)
        if (t->core.id == id)
            return t;
    return NULL;
}

/* Whose move would let this wait end: 0 when that is not one task. */
static uint32_t holder(const vitro_task *task, const char **ret_where)
{
    *ret_where = NULL;
    if (!task->registered || task->wait_count != 1)
        return 0;
    const struct vitro_object *object = task->waits[0].object;
    switch (object->type) {
    case OBJECT_MUTEX:
        *ret_where = ((const struct vitro_mutex *)object)->where;
        return ((const struct vitro_mutex *)object)->owner;
    case OBJECT_RWLOCK:
        return ((const struct vitro_rwlock *)object)->writer;
    case OBJECT_TASK:
        return object->id & ~CORE_TASK_OBJECT;
    default:
        return 0;
    }
}

static void add_wait(const vitro_sched *sched, const vitro_task *task, struct buf *buf)
{
    const struct op *op = &task->core.op;
    const char *held_where;
    uint32_t by = holder(task, &held_where);

    buf_adds(buf, "\n  ");
    add_task(sched, task->core.id, buf);
    buf_addf(buf, " waits: %s", op_name(op->kind));
    if (op->object != CORE_MEMORY) {
        buf_addc(buf, ' ');
        object_add_name(sched, op->object, buf);
    }
    if (op->where)
        buf_addf(buf, " at %s", op->where);
    if (by && !(op->object & CORE_TASK_OBJECT)) {
        buf_adds(buf, ", held by ");
        add_task(sched, by, buf);
        if (held_where)
            buf_addf(buf, " since %s", held_where);
    }
    if (task->registered && task->wait_count == 1 && task->waits[0].object->type == OBJECT_COND) {
        const struct vitro_cond *cond = (const struct vitro_cond *)task->waits[0].object;
        if (cond->signals_lost)
            buf_addf(buf, "\n    hint: lost wake-up? %u %s at %s found nobody waiting",
                     cond->signals_lost, cond->signals_lost == 1 ? "signal, last" : "signals, last",
                     cond->lost_where ? cond->lost_where : "?");
    }
}

/* Follows "waits for" from a task; names the ring when it comes back to where it was. */
static bool add_ring(const vitro_sched *sched, const vitro_task *start, struct buf *buf)
{
    uint32_t path[64], length = 0;
    const vitro_task *task = start;
    const char *where;

    while (task && length < ARRAY_LENGTH(path)) {
        for (uint32_t i = 0; i < length; i++) {
            if (path[i] != task->core.id)
                continue;
            buf_adds(buf, "\n  cycle: ");
            for (; i < length; i++) {
                add_task(sched, path[i], buf);
                buf_adds(buf, " -> ");
            }
            add_task(sched, task->core.id, buf);
            return true;
        }
        path[length++] = task->core.id;
        uint32_t next = holder(task, &where);
        task = next ? live_task(sched, next) : NULL;
    }
    return false;
}

void report_deadlock(vitro_sched *sched, struct buf *buf)
{
    unsigned shown = 0;

    for (vitro_task *t = sched->live_first; t; t = t->next)
        if (++shown <= 32)
            add_wait(sched, t, buf);
    if (shown > 32)
        buf_addf(buf, "\n  and %u more", shown - 32);
    for (vitro_task *t = sched->live_first; t; t = t->next)
        if (add_ring(sched, t, buf))
            break;
}

/* ---- cycles */

static bool step_equal(const struct core_step *a, const struct core_step *b)
{
    return a->task == b->task && a->op.kind == b->op.kind && a->op.object == b->op.object;
}

/* The shortest period with which the last steps repeat at least three times, and for most of what
 * is remembered; 0: none. */
static uint32_t period(const struct core *core)
{
    uint64_t kept = core->steps < CORE_RING ? core->steps : CORE_RING;

    for (uint32_t p = 1; p <= 64 && p * 3 <= kept; p++) {
        uint64_t same = 0;
        while (same + p < kept && step_equal(&core->ring[(core->steps - 1 - same) % CORE_RING],
                                             &core->ring[(core->steps - 1 - same - p) % CORE_RING]))
            same++;
        if (same >= 2 * p && same + p >= kept * 3 / 4)
            return p;
    }
    return 0;
}

bool report_cycle(const vitro_sched *sched, struct buf *buf)
{
    const struct core *core = &sched->core;
    uint32_t p = period(core);

    if (!p)
        return false;
    buf_addf(buf, "livelock: the last steps repeat a cycle of %u:", p);
    for (uint32_t i = 0; i < p && i < 8; i++) {
        const struct core_step *step = &core->ring[(core->steps - p + i) % CORE_RING];
        buf_adds(buf, "\n  ");
        add_task(sched, step->task, buf);
        buf_addf(buf, " %s ", op_name(step->op.kind));
        object_add_name(sched, step->op.object, buf);
        if (step->op.where)
            buf_addf(buf, " at %s", step->op.where);
    }
    if (p > 8)
        buf_addf(buf, "\n  and %u more", p - 8);
    return true;
}
