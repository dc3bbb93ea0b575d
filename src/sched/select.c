/* SPDX-License-Identifier: MIT */
/* Select: one wait on many objects. It is ready when any case is; which of the ready ones is done
 * is a decision. A send case on a rendezvous is held out while the select waits: whoever receives
 * there first makes the choice, and the select's other offers are withdrawn in that step. */
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

static bool is_offer(const struct vitro_case *c)
{
    return c->kind == VITRO_CASE_SEND && ((struct vitro_chan *)c->object)->capacity == 0;
}

/* Binds the object of a case and says what to wait for; `offer` is for a send at a rendezvous. */
static struct wait prepare(vitro_task *task, struct vitro_case *c, struct offer *offer)
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
        wait.ready = is_offer(c) ? chan_was_taken : chan_can_send;
        if (is_offer(c)) {
            *offer = (struct offer){.chan = c->object, .by = task, .value = c->value};
            wait.value = vitro_val(offer);
        }
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
        c->result = chan_get(c->object, task, &c->value);
        break;
    case VITRO_CASE_SEND:
        /* Nobody took the offer, or it would not come to this: the rendezvous is closed. */
        c->result = is_offer(c) ? -EPIPE : chan_put(c->object, c->value);
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

enum { CASES_MAX = 64 };

struct selection {
    struct wait waits[CASES_MAX];
    uint32_t of[CASES_MAX], count; /* the case of each wait */
    uint32_t objects[CASES_MAX];   /* and its object */
    struct offer offers[CASES_MAX];
    uint32_t offer_of[CASES_MAX], offer_count;
    uint64_t deadline;
    int timer; /* the case that ends at `deadline` */
};

static int select_prepare(vitro_task *task, struct selection *s, struct vitro_case *cases, size_t n,
                          const char *where)
{
    if (n > CASES_MAX)
        return fail_text(task->sched, -E2BIG, "select at %s: more than %d cases",
                         where ? where : "?", CASES_MAX);
    for (size_t i = 0; i < n; i++) {
        if (cases[i].kind == VITRO_CASE_AFTER) {
            uint64_t at = task->sched->now_ns + cases[i].ns;
            if (cases[i].ns > (uint64_t)INT64_MAX - task->sched->now_ns)
                return fail_text(task->sched, -ERANGE, "select at %s: beyond the end of time",
                                 where ? where : "?");
            if (at < s->deadline) {
                s->deadline = at;
                s->timer = (int)i;
            }
            continue;
        }
        s->waits[s->count] = prepare(task, &cases[i], &s->offers[s->offer_count]);
        s->objects[s->count] = s->waits[s->count].object->id;
        s->of[s->count++] = (uint32_t)i;
        if (is_offer(&cases[i]))
            s->offer_of[s->offer_count++] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < s->offer_count && s->offer_count > 1; i++) /* a ring */
        s->offers[i].sibling = &s->offers[(i + 1) % s->offer_count];
    return 0;
}

static void select_touch(vitro_task *task, const struct offer *offer)
{
    if (!offer->gone)
        core_access(&task->sched->core, &task->core, offer->chan->object.id, true);
}

/* Holding out is a step of its own: others see it before this task goes on. */
static int select_offer(vitro_task *task, struct selection *s, struct op op)
{
    if (!s->offer_count)
        return 0;
    int r = task_point(task, op);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < s->offer_count; i++) {
        select_touch(task, &s->offers[i]);
        if (!s->offers[i].chan->closed)
            chan_offer(&s->offers[i]);
    }
    return 0;
}

/* The case whose offer was taken; -1 when none was, and then they are all withdrawn. */
static int select_taken(vitro_task *task, struct selection *s)
{
    for (uint32_t i = 0; i < s->offer_count; i++)
        if (s->offers[i].taken)
            return (int)s->offer_of[i];
    for (uint32_t i = 0; i < s->offer_count; i++) {
        select_touch(task, &s->offers[i]);
        chan_withdraw(&s->offers[i]);
    }
    return -1;
}

int vitro_select_at(struct vitro_case *cases, size_t n, const char *where)
{
    struct selection s;
    TASK_OR_RETURN("select", NULL);

    s.count = s.offer_count = 0;
    s.deadline = VITRO_FOREVER;
    s.timer = -1;
    int r = select_prepare(task, &s, cases, n, where);
    if (r < 0)
        return r;
    struct op op = {.where = where,
                    .object = s.count ? s.waits[0].object->id : CORE_MEMORY,
                    .kind = OP_SELECT,
                    .flags = OP_CANCELS};
    task->core.also = s.objects;
    task->core.also_count = s.count;
    r = select_offer(task, &s, op);
    if (r == 0)
        r = task_wait_many(task, op, s.waits, s.count, s.deadline);
    task->core.also_count = 0;
    int taken = select_taken(task, &s);
    if (taken >= 0) { /* also when time was up or it was cancelled at the same moment */
        cases[taken].result = 0;
        return taken;
    }
    if (r == -ETIMEDOUT)
        return s.timer;
    if (r < 0)
        return r;
    uint32_t ready[CASES_MAX], able = 0;
    for (uint32_t i = 0; i < s.count; i++) {
        core_access(&task->sched->core, &task->core, s.waits[i].object->id, true);
        if (s.waits[i].ready(s.waits[i].object, &s.waits[i]))
            ready[able++] = s.of[i];
    }
    if (!able)
        return -ECANCELED; /* the run is taken down */
    uint32_t chosen = ready[core_draw(&task->sched->core, CORE_WAITER, able)];
    act(task, &cases[chosen], where);
    return (int)chosen;
}
