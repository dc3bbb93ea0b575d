/* SPDX-License-Identifier: MIT */
/* Semaphores, events, barriers, once, and values that are assigned once. */
#include "sched/sched.h"

static struct op op_on(const struct vitro_object *object, enum op_kind kind, unsigned flags,
                       const char *where)
{
    return (struct op){
        .where = where, .object = object->id, .kind = (uint8_t)kind, .flags = (uint8_t)flags};
}

/* ---- semaphores */

static bool has_permit(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_sem *)object)->count > 0;
}

static void bind_sem(vitro_task *task, struct vitro_sem *sem)
{
    if (object_bind(task->sched, &sem->object, OBJECT_SEM))
        sem->count = sem->permits;
}

int vitro_acquire_at(struct vitro_sem *sem, uint64_t deadline_ns, const char *where)
{
    TASK_OR_RETURN("acquire", &sem->object);
    bind_sem(task, sem);
    int r = task_wait(task, op_on(&sem->object, OP_ACQUIRE, OP_CANCELS, where), &sem->object,
                      has_permit, deadline_ns);
    if (r < 0)
        return r;
    sem->count--;
    object_changed(&sem->object);
    return 0;
}

void vitro_release_at(struct vitro_sem *sem, const char *where)
{
    TASK_OR_LEAVE("release", &sem->object);
    bind_sem(task, sem);
    (void)task_point(task, op_on(&sem->object, OP_RELEASE, 0, where));
    sem->count++;
    object_changed(&sem->object);
}

/* ---- events */

static bool is_set(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_event *)object)->set;
}

static void bind_event(vitro_task *task, struct vitro_event *event)
{
    if (object_bind(task->sched, &event->object, OBJECT_EVENT))
        event->set = false;
}

int vitro_event_wait_at(struct vitro_event *event, uint64_t deadline_ns, const char *where)
{
    TASK_OR_RETURN("event wait", &event->object);
    bind_event(task, event);
    return task_wait(task, op_on(&event->object, OP_WAIT, OP_CANCELS | OP_READS, where),
                     &event->object, is_set, deadline_ns);
}

void vitro_event_set_at(struct vitro_event *event, const char *where)
{
    TASK_OR_LEAVE("event set", &event->object);
    bind_event(task, event);
    (void)task_point(task, op_on(&event->object, OP_SET, 0, where));
    event->set = true;
    object_changed(&event->object);
}

void vitro_event_reset_at(struct vitro_event *event, const char *where)
{
    TASK_OR_LEAVE("event reset", &event->object);
    bind_event(task, event);
    (void)task_point(task, op_on(&event->object, OP_RESET, 0, where));
    event->set = false;
    object_changed(&event->object);
}

/* ---- barriers */

static bool round_over(struct vitro_object *object, const struct wait *wait)
{
    return ((struct vitro_barrier *)object)->round != (uint32_t)wait->value;
}

int vitro_arrive_at(struct vitro_barrier *barrier, const char *where)
{
    TASK_OR_RETURN("arrive", &barrier->object);
    if (!barrier->parties)
        mistake("arrive at %s: a barrier of no parties", where ? where : "?");
    if (object_bind(task->sched, &barrier->object, OBJECT_BARRIER))
        barrier->arrived = barrier->round = 0;
    int r = task_point(task, op_on(&barrier->object, OP_ARRIVE, OP_CANCELS, where));
    if (r < 0)
        return r;
    if (++barrier->arrived == barrier->parties) {
        barrier->arrived = 0;
        barrier->round++;
        object_changed(&barrier->object);
        return 1;
    }
    task->wait = (struct wait){
        .task = task, .object = &barrier->object, .ready = round_over, .value = barrier->round};
    uint32_t round = barrier->round;
    r = task_wait_many(task, op_on(&barrier->object, OP_WAIT, OP_CANCELS | OP_READS, where),
                       &task->wait, 1, VITRO_FOREVER);
    if (r < 0 && barrier->round == round && barrier->arrived)
        barrier->arrived--; /* it is not there any more */
    return r;
}

/* ---- once */

enum { ONCE_NEW, ONCE_RUNNING, ONCE_DONE };

static bool not_running(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_once *)object)->state != ONCE_RUNNING;
}

int vitro_once_at(struct vitro_once *once, vitro_fn fn, void *arg, const char *where)
{
    TASK_OR_RETURN("once", &once->object);
    if (object_bind(task->sched, &once->object, OBJECT_ONCE))
        once->state = ONCE_NEW;
    int r = task_wait(task, op_on(&once->object, OP_ONCE, OP_CANCELS, where), &once->object,
                      not_running, VITRO_FOREVER);
    if (r < 0 || once->state == ONCE_DONE)
        return r;
    once->state = ONCE_RUNNING;
    object_changed(&once->object);
    r = fn(arg);
    core_access(&task->sched->core, &task->core, once->object.id, true);
    once->state = r < 0 ? ONCE_NEW : ONCE_DONE;
    object_changed(&once->object);
    return r;
}

/* ---- single assignment */

static bool is_assigned(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_single *)object)->assigned;
}

static void bind_single(vitro_task *task, struct vitro_single *single)
{
    if (object_bind(task->sched, &single->object, OBJECT_SINGLE))
        single->assigned = false;
}

int vitro_assign_at(struct vitro_single *single, vitro_value value, const char *where)
{
    TASK_OR_RETURN("assign", &single->object);
    bind_single(task, single);
    (void)task_point(task, op_on(&single->object, OP_ASSIGN, 0, where));
    if (single->assigned)
        return -EALREADY;
    single->assigned = true;
    single->value = value;
    object_changed(&single->object);
    return 0;
}

int vitro_deref_at(struct vitro_single *single, vitro_value *ret, uint64_t deadline_ns,
                   const char *where)
{
    TASK_OR_RETURN("deref", &single->object);
    bind_single(task, single);
    int r = task_wait(task, op_on(&single->object, OP_DEREF, OP_CANCELS | OP_READS, where),
                      &single->object, is_assigned, deadline_ns);
    if (r == 0)
        *ret = single->value;
    return r;
}
