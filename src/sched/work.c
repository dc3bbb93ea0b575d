/* SPDX-License-Identifier: MIT */
/* Work on lanes: a slot, a body that runs at once, and a duration after which the result is there.
 * A piece of work is a task of its own, so that it can be cancelled and shows in reports. */
#include "sched/sched.h"
#include "base/rng.h"
#include <stdio.h>

struct piece {
    vitro_fn fn;
    void *arg;
    const struct vitro_work_options *options;
    const char *where;
};

static bool has_slot(struct vitro_object *object, const struct wait *wait)
{
    const struct lane *lane = (struct lane *)object;

    (void)wait;
    return lane->used < lane->slots;
}

bool vitro_interrupted(void)
{
    vitro_task *task = task_here();

    return task && task->interrupted;
}

/* Durations come from a stream of their own: they do not move other choices. */
static uint64_t duration(const vitro_sched *sched, const vitro_task *task,
                         const struct vitro_work_options *options)
{
    const struct vitro_sched_options *o = &sched->options;
    struct rng rng;
    char name[16];

    if (options->duration_ns || o->work_ns_max <= o->work_ns_min)
        return options->duration_ns ? options->duration_ns : o->work_ns_min;
    (void)snprintf(name, sizeof name, "%u", task->core.id);
    rng_stream(&rng, o->seed, "work", name);
    return o->work_ns_min + rng_below(&rng, o->work_ns_max - o->work_ns_min + 1);
}

static void give_slot(vitro_task *task, struct lane *lane)
{
    lane->used--;
    core_access(&task->sched->core, &task->core, lane->object.id, true);
    object_changed(&lane->object);
}

static int run_piece(void *arg)
{
    struct piece *piece = arg;
    vitro_task *task = task_here();
    vitro_sched *sched = task->sched;
    struct lane *lane = &sched->lanes[piece->options->lane];

    task->lane = (uint8_t)(1 + piece->options->lane);
    (void)object_bind(sched, &lane->object, OBJECT_LANE);
    bool early = task->cancel; /* cancelled before it began: the body finds itself interrupted */
    if (!early) {
        struct op op = {
            .where = piece->where, .object = lane->object.id, .kind = OP_WORK, .flags = OP_CANCELS};
        int r = task_wait(task, op, &lane->object, has_slot, VITRO_FOREVER);
        early = r == -ECANCELED && !sched->unwinding;
        if (r < 0 && !early)
            return r;
        task->cancel |= early;
        if (!early)
            lane->used++;
    }
    task->interrupted = early;
    int result =
        sched->real ? real_work(task, piece->fn, piece->arg, piece->where) : piece->fn(piece->arg);
    if (early) {
        TRACE(sched, VITRO_EVENT_INTERRUPT_CLEARED, task, task->micro, 0, 0);
        task->interrupted = task->cancel = false;
        return result;
    }
    uint64_t ns = duration(sched, task, piece->options);
    int r = 0;
    if (ns && !sched->real)
        r = task_sleep_until(
            task,
            (struct op){.where = piece->where, .kind = OP_WORK, .flags = OP_OPAQUE | OP_CANCELS},
            sched->now_ns + ns, true);
    give_slot(task, lane);
    return r < 0 ? r : result;
}

int vitro_work_with(vitro_fn fn, void *arg, const struct vitro_work_options *options,
                    const char *where)
{
    struct piece piece = {fn, arg, options, where};
    TASK_OR_RETURN("work", NULL);
    vitro_task *worker = vitro_spawn_with(
        run_piece, &piece, &(struct vitro_spawn_options){.name = options->name}, where);
    bool joined = false, cancelled = false;
    int r = 0;

    /* The piece lives on our stack: we do not leave before it has ended. */
    while (!joined) {
        r = vitro_join_at(worker, &joined, where);
        if (joined)
            break;
        if (task->sched->unwinding)
            return r;
        cancelled = true;
        (void)vitro_cancel_at(worker, where);
    }
    return cancelled ? -ECANCELED : r;
}
