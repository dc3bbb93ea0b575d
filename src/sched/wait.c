/* SPDX-License-Identifier: MIT */
/* Waiting: points, waits on objects, sleeps. Everything a task does with the others comes through
 * here, and what is not taken is cheap: a point passed without a switch registers nothing. */
#include "sched/sched.h"
#include "base/wall.h"

void wait_add(struct wait *wait)
{
    struct vitro_object *object = wait->object;

    wait->next = NULL;
    wait->prev = object->last;
    if (wait->prev)
        wait->prev->next = wait;
    else
        object->first = wait;
    object->last = wait;
}

void wait_remove(struct wait *wait)
{
    if (wait->prev)
        wait->prev->next = wait->next;
    else
        wait->object->first = wait->next;
    if (wait->next)
        wait->next->prev = wait->prev;
    else
        wait->object->last = wait->prev;
}

void waits_register(vitro_task *task)
{
    for (uint32_t i = 0; i < task->wait_count; i++)
        wait_add(&task->waits[i]);
    task->registered = true;
}

void waits_unregister(vitro_task *task)
{
    if (!task->registered)
        return;
    for (uint32_t i = 0; i < task->wait_count; i++)
        wait_remove(&task->waits[i]);
    task->registered = false;
}

bool waits_ready(const vitro_task *task)
{
    for (uint32_t i = 0; i < task->wait_count; i++)
        if (task->waits[i].ready(task->waits[i].object, &task->waits[i]))
            return true;
    return false;
}

static void arm(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    if (task->deadline_ns == VITRO_FOREVER || timer_armed(&task->timer))
        return;
    timer_arm(&sched->timers, &task->timer, task->deadline_ns, false);
    TRACE(sched, VITRO_EVENT_TIMER, task, task->timer.id = ++sched->micro_last, task->deadline_ns,
          0);
}

void object_changed(struct vitro_object *object)
{
    for (struct wait *wait = object->first; wait; wait = wait->next) {
        vitro_task *task = wait->task;
        bool ready = wait->ready(object, wait);
        if (!ready && task->wait_count > 1)
            ready = waits_ready(task);
        if (ready) {
            task_enable(task);
        } else {
            core_disable(&task->sched->core, &task->core);
            arm(task); /* it could have gone, and somebody was faster */
        }
    }
}

void object_gone(struct vitro_object *object)
{
    vitro_sched *sched = sched_here;

    if (!sched || object->run != sched->run)
        return; /* of a run that is over */
    while (object->first)
        task_wake(((struct wait *)object->first)->task, WAKE_GONE);
}

/* Budgets, now and then; false stops the run. */
static bool checkpoint(vitro_sched *sched)
{
    uint64_t steps = sched->core.steps;

    if (atomic_load_explicit(&sched->foreign, memory_order_relaxed)) {
        sched_fail(sched, VITRO_MISUSE, "%s was called from another thread than the scheduler's",
                   atomic_load(&sched->foreign));
        return false;
    }
    if (steps >= sched->step_limit) {
        CLEANUP(buf_done) struct buf cycle = {0};
        bool repeats = report_cycle(sched, &cycle);
        sched_fail(sched, repeats ? VITRO_LIVELOCK : VITRO_STEPS,
                   "step budget exceeded: %llu > %llu%s%s", (unsigned long long)steps + 1,
                   (unsigned long long)sched->step_limit, repeats ? "\n" : "", buf_text(&cycle));
        return false;
    }
    uint64_t wall = wall_monotonic_ns();
    uint64_t budget = sched->options.max_wall_ns;
    if (!sched->wall_limit_ns)
        sched->wall_limit_ns = wall + budget < wall ? UINT64_MAX : wall + budget;
    if (!sched->real && wall > sched->wall_limit_ns) {
        sched_fail(sched, VITRO_WALL, "real time budget exceeded: more than %llu ms",
                   (unsigned long long)(budget / 1000000));
        return false;
    }
    uint64_t next = steps + 256;
    sched->checkpoint_steps = next < sched->step_limit ? next : sched->step_limit;
    return true;
}

/* The next task to run; `current` may go on, NULL if the one that ran cannot. NULL: back to the
 * driver. */
vitro_task *sched_pick(vitro_sched *sched, vitro_task *current)
{
    struct core *core = &sched->core;

    if (__builtin_expect(core->steps >= sched->checkpoint_steps, 0) && !core->quiet &&
        (sched->stopped || !checkpoint(sched)))
        return NULL;
    if (__builtin_expect(sched->single, 0)) {
        if (current)
            core_enable(core, &current->core);
        return NULL;
    }
    if (__builtin_expect(sched->options.early_timers, 0) && timers_count(&sched->timers) &&
        core->ready_count + (current != NULL) > 0 && core_draw(core, CORE_TIMEOUT, 2))
        (void)sched_fire_one(sched);
    uint32_t candidates = core->ready_count + (current != NULL);
    vitro_task *next = task_of_core(core_choose(core, current ? &current->core : NULL));
    if (next) {
        if (core->ready_count > 16)
            task_prefetch(task_of_core(core->fifo.next));
        if (candidates > 1)
            TRACE(sched, VITRO_EVENT_SELECT, next, next->micro, 0, candidates);
        TRACE(sched, VITRO_EVENT_RUN, next, next->micro, 0, 0);
        if (__builtin_expect(next->state == TASK_NEW, 0) && !task_prepare(next))
            return NULL;
    } else if (core->cut) {
        sched->stopped = true;
    }
    return next;
}

/* Every wait ends at once while a run is taken down. */
static int unwound(vitro_task *task, struct op op)
{
    vitro_sched *sched = task->sched;

    if (sched->grace == 0)
        task_switch(sched, task, NULL); /* and never back */
    sched->grace--;
    bool fails = op.flags & OP_CANCELS || op.kind == OP_LOCK || op.kind == OP_RDLOCK;
    return fails ? -ECANCELED : 0;
}

static int deliver_cancel(vitro_task *task)
{
    task->cancel = false;
    core_access(&task->sched->core, &task->core, task->done.id, false);
    return -ECANCELED;
}

int task_point(vitro_task *task, struct op op)
{
    vitro_sched *sched = task->sched;

    if (__builtin_expect(sched->unwinding, 0))
        return unwound(task, op);
    if (__builtin_expect(task->cancel, 0) && op.flags & OP_CANCELS)
        return deliver_cancel(task);
    core_publish(&task->core, op);
    task->wake = WAKE_ACT;
    vitro_task *next = sched_pick(sched, task);
    if (next != task) {
        task_switch(sched, task, next);
        if (__builtin_expect(task->wake != WAKE_ACT, 0) && op.flags & OP_CANCELS)
            return deliver_cancel(task);
    }
    return 0;
}

static int woken(vitro_task *task)
{
    if (task->wake == WAKE_TIMER)
        return -ETIMEDOUT;
    if (task->wake == WAKE_CANCEL)
        return deliver_cancel(task);
    if (task->wake == WAKE_GONE)
        return -EPIPE;
    return 0;
}

static int wait_slowly(vitro_task *task, bool ready, uint64_t deadline_ns)
{
    vitro_sched *sched = task->sched;

    waits_register(task);
    task->deadline_ns = deadline_ns;
    if (!ready)
        arm(task);
    vitro_task *next = sched_pick(sched, ready ? task : NULL);
    if (next != task)
        task_switch(sched, task, next);
    waits_unregister(task);
    if (timer_armed(&task->timer)) {
        TRACE(sched, VITRO_EVENT_CANCEL_TIMER, task, task->timer.id, task->timer.at_ns, 0);
        timer_cancel(&sched->timers, &task->timer);
    }
    task->wait_count = 0;
    return task->wake == WAKE_ACT ? 0 : woken(task);
}

int task_wait_many(vitro_task *task, struct op op, struct wait *waits, uint32_t count,
                   uint64_t deadline_ns)
{
    vitro_sched *sched = task->sched;

    if (__builtin_expect(sched->unwinding, 0))
        return unwound(task, op);
    if (__builtin_expect(task->cancel, 0) && op.flags & OP_CANCELS)
        return deliver_cancel(task);
    core_publish(&task->core, op);
    task->wake = WAKE_ACT;
    task->waits = waits;
    task->wait_count = count;
    bool ready = waits_ready(task);
    /* Nobody else can go: the fast way, without registering. */
    if (ready && !sched->core.ready_count && !sched->single && !sched->options.early_timers) {
        vitro_task *next = sched_pick(sched, task);
        if (__builtin_expect(next != task, 0))
            task_switch(sched, task, next);
        task->wait_count = 0;
        return task->wake == WAKE_ACT ? 0 : woken(task);
    }
    return wait_slowly(task, ready, deadline_ns);
}

int task_wait(vitro_task *task, struct op op, struct vitro_object *object, ready_fn ready,
              uint64_t deadline_ns)
{
    task->wait.task = task;
    task->wait.object = object;
    task->wait.ready = ready;
    if (object->first)
        op.flags |= OP_GIVES_WAY; /* others wait already: a fifo run lets them go first */
    return task_wait_many(task, op, &task->wait, 1, deadline_ns);
}

int task_sleep_until(vitro_task *task, struct op op, uint64_t at_ns, bool work_end)
{
    vitro_sched *sched = task->sched;

    if (__builtin_expect(sched->unwinding, 0))
        return unwound(task, op);
    if (__builtin_expect(task->cancel, 0) && op.flags & OP_CANCELS)
        return deliver_cancel(task);
    core_publish(&task->core, op);
    task->wake = WAKE_ACT;
    task->wait_count = 0;
    if (at_ns != VITRO_FOREVER) {
        timer_arm(&sched->timers, &task->timer, at_ns, work_end);
        TRACE(sched, VITRO_EVENT_TIMER, task, task->timer.id = ++sched->micro_last, at_ns, 0);
    }
    vitro_task *next = sched_pick(sched, NULL);
    if (next != task)
        task_switch(sched, task, next);
    if (timer_armed(&task->timer)) {
        TRACE(sched, VITRO_EVENT_CANCEL_TIMER, task, task->timer.id, task->timer.at_ns, 0);
        timer_cancel(&sched->timers, &task->timer);
    }
    return task->wake == WAKE_CANCEL ? deliver_cancel(task) : 0;
}
