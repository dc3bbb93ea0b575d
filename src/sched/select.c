/* SPDX-License-Identifier: MIT */
/* Select: one wait on many objects. It is ready when any case is; which of the ready ones is done
 * is a decision. A send case on a rendezvous is refused: a select takes part there by receiving. */
#include "sched/sched.h"
#include "sched/chan.h"

static bool mutex_free(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_mutex *)object)->owner == 0;
}
static bool has_permit(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_sem *)object)->count > 0;
}
static bool is_set(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_event *)object)->set;
}
static bool is_assigned(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_single *)object)->assigned;
}
static bool has_ended(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((vitro_task *)((char *)object - offsetof(struct vitro_task, done)))->state == TASK_DONE;
}

/* Binds the object of a case and says what to wait for. */
static struct wait prepare(vitro_task *task, struct vitro_case *c)
{
    vitro_sched *sched = task->sched;
    struct wait wait = {.task = task, .object = c->object};

    switch (c->kind) {
    case VITRO_CASE_RECEIVE:
        chan_bind(sched, c->object);
        wait.ready = chan_can_receive;
        break;
    case VITRO_CASE_SEND:
        chan_bind(sched, c->object);
        wait.ready = chan_can_send;
        break;
    case VITRO_CASE_LOCK:
        if (object_bind(sched, wait.object, OBJECT_MUTEX))
            ((struct vitro_mutex *)c->object)->owner = 0;
        wait.ready = mutex_free;
        break;
    case VITRO_CASE_ACQUIRE:
        if (object_bind(sched, wait.object, OBJECT_SEM))
            ((struct vitro_sem *)c->object)->count = ((struct vitro_sem *)c->object)->permits;
        wait.ready = has_permit;
        break;
    case VITRO_CASE_EVENT:
        if (object_bind(sched, wait.object, OBJECT_EVENT))
            ((struct vitro_event *)c->object)->set = false;
        wait.ready = is_set;
        break;
    case VITRO_CASE_DEREF:
        if (object_bind(sched, wait.object, OBJECT_SINGLE))
            ((struct vitro_single *)c->object)->assigned = false;
        wait.ready = is_assigned;
        break;
    case VITRO_CASE_JOIN:
        wait.object = &((vitro_task *)c->object)->done;
        wait.ready = has_ended;
        break;
    case VITRO_CASE_AFTER:
        break;
    }
    return wait;
}

static void act(vitro_task *task, struct vitro_case *c, const char *where)
{
    c->result = 0;
    switch (c->kind) {
    case VITRO_CASE_RECEIVE:
        c->result = chan_get(c->object, &c->value);
        break;
    case VITRO_CASE_SEND:
        c->result = chan_put(c->object, c->value);
        break;
    case VITRO_CASE_LOCK:
        ((struct vitro_mutex *)c->object)->owner = task->core.id;
        ((struct vitro_mutex *)c->object)->where = where;
        object_changed(c->object);
        break;
    case VITRO_CASE_ACQUIRE:
        ((struct vitro_sem *)c->object)->count--;
        object_changed(c->object);
        break;
    case VITRO_CASE_DEREF:
        c->value = ((struct vitro_single *)c->object)->value;
        break;
    case VITRO_CASE_EVENT:
    case VITRO_CASE_JOIN:
    case VITRO_CASE_AFTER:
        break;
    }
}

int vitro_select_at(struct vitro_case *cases, size_t n, const char *where)
{
    enum { CASES_MAX = 64 };
    struct wait waits[CASES_MAX];
    uint32_t of[CASES_MAX], count = 0;
    uint64_t deadline = VITRO_FOREVER;
    int timer = -1;
    TASK_OR_RETURN("select", NULL);

    if (n > CASES_MAX)
        return fail_text(task->sched, -E2BIG, "select at %s: more than %d cases",
                         where ? where : "?", CASES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct vitro_chan *chan = cases[i].object;
        if (cases[i].kind == VITRO_CASE_SEND && chan->capacity == 0)
            return fail_text(task->sched, -EINVAL, "select at %s: a send on a rendezvous",
                             where ? where : "?");
        if (cases[i].kind == VITRO_CASE_AFTER) {
            uint64_t at = task->sched->now_ns + cases[i].ns;
            if (cases[i].ns > (uint64_t)INT64_MAX - task->sched->now_ns)
                return fail_text(task->sched, -ERANGE, "select at %s: beyond the end of time",
                                 where ? where : "?");
            if (at < deadline) {
                deadline = at;
                timer = (int)i;
            }
            continue;
        }
        waits[count] = prepare(task, &cases[i]);
        of[count++] = (uint32_t)i;
    }
    struct op op = {.where = where,
                    .object = count ? waits[0].object->id : CORE_MEMORY,
                    .kind = OP_SELECT,
                    .flags = OP_CANCELS};
    int r = task_wait_many(task, op, waits, count, deadline);
    if (r == -ETIMEDOUT)
        return timer;
    if (r < 0)
        return r;
    uint32_t ready[CASES_MAX], able = 0;
    for (uint32_t i = 0; i < count; i++) {
        core_access(&task->sched->core, &task->core, waits[i].object->id, true);
        if (waits[i].ready(waits[i].object, &waits[i]))
            ready[able++] = of[i];
    }
    if (!able)
        return -ECANCELED; /* the run is taken down */
    uint32_t chosen = ready[core_draw(&task->sched->core, CORE_WAITER, able)];
    act(task, &cases[chosen], where);
    return (int)chosen;
}
