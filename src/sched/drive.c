/* SPDX-License-Identifier: MIT */
/* Driving by hand: single steps, moving time, and looking at what is pending. */
#include "sched/sched.h"
#include <stdlib.h>

static const char *const lane_names[] = {"default", "cpu", "blk"};

vitro_task *vitro_start_with(vitro_sched *sched, vitro_fn fn, void *arg,
                             const struct vitro_spawn_options *options)
{
    if (sched_thread_check(sched, "start") < 0)
        return NULL;
    if (!fn) {
        (void)fail_text(sched, -EINVAL, "start: no function was given");
        return NULL;
    }
    (void)sched_open(sched);
    return sched_start(sched, fn, arg, options, 0);
}

/* One step on the driver's behalf; `task` NULL lets the decider choose. */
static int step(vitro_sched *sched, vitro_task *task)
{
    vitro_sched *before = sched_here;

    if (sched->driving)
        return fail_text(NULL, -EPERM, "step from inside a task of the same scheduler");
    sched_here = sched;
    sched->driving = true;
    vitro_task *next = task;
    if (task) {
        core_take(&sched->core, &task->core);
        TRACE(sched, VITRO_EVENT_RUN, task, task->micro, 0, 0);
        if (task->state == TASK_NEW && !task_prepare(task))
            next = NULL;
    } else {
        next = sched_pick(sched, NULL);
    }
    sched->single = true;
    if (next)
        task_switch(sched, NULL, next);
    sched->single = sched->driving = false;
    sched_here = before;
    if (sched->stopped)
        return sched_code(sched);
    return next != NULL;
}

int vitro_step(vitro_sched *sched)
{
    int r = sched_thread_check(sched, "step");

    if (r < 0)
        return r;
    if (sched->stopped)
        return sched_code(sched);
    return sched->run ? step(sched, NULL) : 0;
}

int vitro_step_task(vitro_sched *sched, uint32_t id)
{
    int r = sched_thread_check(sched, "step");

    if (r < 0)
        return r;
    if (sched->stopped)
        return sched_code(sched);
    for (struct core_task *t = sched->core.fifo.next; sched->run && t != &sched->core.fifo;
         t = t->next)
        if (t->id == id)
            return step(sched, task_of_core(t));
    CLEANUP(buf_done) struct buf ids = {0};
    for (struct core_task *t = sched->core.fifo.next; sched->run && t != &sched->core.fifo;
         t = t->next)
        buf_addf(&ids, "%s%u", ids.length ? " " : "", t->id);
    return fail_text(sched, -ENOENT, "no task %u can go on; these can: %s", id,
                     ids.length ? ids.data : "none");
}

int64_t vitro_tick(vitro_sched *sched)
{
    int64_t count = 0;

    for (;;) {
        int r = vitro_step(sched);
        if (r < 0)
            return r;
        if (r == 0)
            return count;
        count++;
    }
}

int vitro_advance_to(vitro_sched *sched, uint64_t at_ns)
{
    int64_t r = sched_thread_check(sched, "advance");

    if (r < 0)
        return (int)r;
    if (at_ns < sched->now_ns)
        return fail_text(sched, -EINVAL, "time cannot go back from %llu to %llu ns",
                         (unsigned long long)sched->now_ns, (unsigned long long)at_ns);
    if (at_ns > INT64_MAX)
        return fail_text(sched, -ERANGE, "%llu ns is beyond the end of time",
                         (unsigned long long)at_ns);
    for (;;) {
        if ((r = vitro_tick(sched)) < 0)
            return (int)r;
        if (!sched->run || timers_next_ns(&sched->timers) > at_ns)
            break;
        (void)sched_fire_one(sched);
    }
    if (at_ns > sched->now_ns) {
        TRACE(sched, VITRO_EVENT_ADVANCE, NULL, 0, at_ns, 0);
        sched->now_ns = at_ns;
    }
    return 0;
}

int vitro_advance(vitro_sched *sched, int64_t by_ns)
{
    if (!sched)
        return sched_thread_check(sched, "advance");
    if (by_ns < 0)
        return fail_text(sched, -EINVAL, "time cannot go back by %lld ns", (long long)-by_ns);
    if ((uint64_t)by_ns > (uint64_t)INT64_MAX - sched->now_ns)
        return fail_text(sched, -ERANGE, "%lld ns from now is beyond the end of time",
                         (long long)by_ns);
    return vitro_advance_to(sched, sched->now_ns + (uint64_t)by_ns);
}

int vitro_advance_to_next(vitro_sched *sched)
{
    int64_t r = vitro_tick(sched);

    if (r < 0)
        return (int)r;
    uint64_t at = sched->run ? timers_next_ns(&sched->timers) : UINT64_MAX;
    if (at == UINT64_MAX)
        return 0;
    r = vitro_advance_to(sched, at < sched->now_ns ? sched->now_ns : at);
    return r < 0 ? (int)r : 1;
}

bool vitro_auto_advance(vitro_sched *sched, bool on)
{
    vitro_task *task = task_here();

    if (!sched && task)
        sched = task->sched;
    if (!sched)
        return true;
    bool before = !sched->manual_time;
    sched->manual_time = !on;
    return before;
}

uint64_t vitro_now(const vitro_sched *sched)
{
    const vitro_task *task = task_here();

    if (!sched && task)
        sched = task->sched;
    return sched ? sched->now_ns : 0;
}

/* ---- looking */

static void describe(vitro_sched *sched, const vitro_task *task, struct vitro_pending *ret)
{
    struct buf *names = &sched->text[1];
    size_t at = names->length;

    core_add_name(&sched->core, task->core.id, names);
    buf_addc(names, '\0');
    *ret = (struct vitro_pending){.id = task->core.id,
                                  .name = (const char *)at, /* an offset until all are there */
                                  .kind = op_name(task->core.op.kind),
                                  .lane = lane_names[task->lane]};
}

static void settle_names(vitro_sched *sched, struct vitro_pending *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list[i].name = sched->text[1].data + (size_t)list[i].name;
}

size_t vitro_next_tasks(vitro_sched *sched, struct vitro_pending *ret, size_t max)
{
    size_t count = 0;

    if (!sched)
        return 0;
    buf_clear(&sched->text[1]);
    for (struct core_task *t = sched->core.fifo.next; sched->run && t != &sched->core.fifo;
         t = t->next, count++)
        if (count < max)
            describe(sched, task_of_core(t), &ret[count]);
    settle_names(sched, ret, count < max ? count : max);
    return count;
}

static int by_time(const void *a, const void *b)
{
    const struct timer *x = *(struct timer *const *)a, *y = *(struct timer *const *)b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

size_t vitro_pending(vitro_sched *sched, struct vitro_pending *ret, size_t max)
{
    uint32_t timers = sched ? timers_count(&sched->timers) : 0;
    size_t count = 0;

    if (!sched)
        return 0;
    buf_clear(&sched->text[1]);
    if (!sched->run)
        return 0;
    for (struct core_task *t = sched->core.fifo.next; t != &sched->core.fifo; t = t->next, count++)
        if (count < max)
            describe(sched, task_of_core(t), &ret[count]);
    CLEANUP(mem_free) struct timer **sorted = mem_alloc((timers + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < timers; i++)
        sorted[i] = timers_at(&sched->timers, i);
    qsort(sorted, timers, sizeof *sorted, by_time);
    for (uint32_t i = 0; i < timers; i++, count++) {
        if (count >= max)
            continue;
        describe(sched, task_of_timer(sorted[i]), &ret[count]);
        ret[count].timer = true;
        ret[count].at_ns = sorted[i]->at_ns;
    }
    settle_names(sched, ret, count < max ? count : max);
    return count;
}

int vitro_next_event(vitro_sched *sched, struct vitro_pending *ret)
{
    return vitro_pending(sched, ret, 1) > 0;
}
