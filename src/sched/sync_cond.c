/* SPDX-License-Identifier: MIT */
/* Condition variables. Waiting lets go of the mutex and joins the queue in one step; a signal picks
 * one waiter (a decision), which from then on waits for the mutex: see task_wake. */
#include "sched/sched.h"

static bool never(struct vitro_object *object, const struct wait *wait)
{
    (void)object, (void)wait;
    return false;
}

static void bind_cond(vitro_task *task, struct vitro_cond *cond)
{
    if (object_bind(task->sched, &cond->object, OBJECT_COND))
        cond->signals_lost = 0;
}

static struct op op_on(const struct vitro_cond *cond, enum op_kind kind, const char *where)
{
    return (struct op){.where = where, .object = cond->object.id, .kind = (uint8_t)kind};
}

/* The second half: queued, without the mutex, until woken; then with it. */
static int wait_woken(vitro_task *task, struct vitro_cond *cond, struct vitro_mutex *mutex,
                      uint64_t deadline_ns, const char *where)
{
    struct op op = op_on(cond, OP_WAIT, where);

    op.flags = OP_CANCELS;
    task->relock = mutex;
    task->wait = (struct wait){.task = task, .object = &cond->object, .ready = never};
    int r = task_wait_many(task, op, &task->wait, 1, deadline_ns);
    task->relock = NULL;
    if (task->sched->unwinding)
        return -ECANCELED;
    core_access(&task->sched->core, &task->core, cond->object.id, true);
    mutex->owner = task->core.id;
    mutex->where = where;
    if (mutex->object.first)
        object_changed(&mutex->object);
    return r;
}

int vitro_wait_at(struct vitro_cond *cond, struct vitro_mutex *mutex, uint64_t deadline_ns,
                  const char *where)
{
    TASK_OR_RETURN("wait", &cond->object);
    bind_cond(task, cond);
    if (mutex->owner != task->core.id && !task->sched->unwinding)
        mistake("wait at %s: mutex '%s' is not held by task '%s'", where ? where : "?",
                mutex->object.name ? mutex->object.name : "?", vitro_name(task));
    struct op op = op_on(cond, OP_WAIT, where);
    op.flags = OP_CANCELS;
    int r = task_point(task, op);
    if (r < 0)
        return r;
    core_access(&task->sched->core, &task->core, mutex->object.id, true);
    if (task->sched->options.spurious && core_draw(&task->sched->core, CORE_SPURIOUS, 2)) {
        /* Let go and take it back: others may come between. */
        mutex->owner = 0;
        object_changed(&mutex->object);
        return vitro_lock_at(mutex, VITRO_FOREVER, where);
    }
    mutex->owner = 0;
    object_changed(&mutex->object);
    return wait_woken(task, cond, mutex, deadline_ns, where);
}

static vitro_task *waiter(struct vitro_cond *cond, uint32_t which)
{
    struct wait *wait = cond->object.first;

    while (which--)
        wait = wait->next;
    return wait->task;
}

static uint32_t waiters(const struct vitro_cond *cond)
{
    uint32_t count = 0;

    for (const struct wait *wait = cond->object.first; wait; wait = wait->next)
        count++;
    return count;
}

void vitro_signal_at(struct vitro_cond *cond, const char *where)
{
    TASK_OR_LEAVE("signal", &cond->object);
    bind_cond(task, cond);
    (void)task_point(task, op_on(cond, OP_SIGNAL, where));
    uint32_t n = waiters(cond);
    if (n) {
        task_wake(waiter(cond, core_draw(&task->sched->core, CORE_WAITER, n)), WAKE_ACT);
    } else {
        cond->signals_lost++;
        cond->lost_where = where;
    }
}

void vitro_broadcast_at(struct vitro_cond *cond, const char *where)
{
    TASK_OR_LEAVE("broadcast", &cond->object);
    bind_cond(task, cond);
    (void)task_point(task, op_on(cond, OP_BROADCAST, where));
    if (!cond->object.first) {
        cond->signals_lost++;
        cond->lost_where = where;
    }
    while (cond->object.first)
        task_wake(waiter(cond, 0), WAKE_ACT);
}
