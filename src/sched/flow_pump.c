/* SPDX-License-Identifier: MIT */
/* Discrete flows with tasks that work for them: relieve, merge and stream. */
#include "sched/flow.h"
#include <stdlib.h>
#include <string.h>

bool flow_end_tasks(vitro_task **tasks, size_t n)
{
    vitro_task *self = task_here();
    bool cancelled = false;

    for (size_t i = 0; i < n; i++)
        if (tasks[i])
            (void)vitro_cancel_at(tasks[i], VITRO_HERE);
    for (size_t i = 0; i < n; i++) {
        bool joined = false;
        while (tasks[i] && !joined) {
            if (!self || self->sched->unwinding) {
                if (tasks[i]->state != TASK_DONE)
                    return false;
                break; /* the younger ones were taken down before us */
            }
            (void)vitro_join_at(tasks[i], &joined, VITRO_HERE);
            cancelled |= !joined;
        }
        tasks[i] = NULL;
    }
    if (cancelled)
        self->cancel = true;
    return true;
}

/* ---- relieve: a task pulls as fast as it can into one slot */

struct relieve {
    vitro_flow flow;
    vitro_flow *in;
    vitro_fold fold;
    void *arg;
    vitro_task *pump;
    struct vitro_object slot;
    vitro_value value;
    bool full, ended;
    int end;
};

static bool slot_full(struct vitro_object *object, const struct wait *wait)
{
    const struct relieve *r = (struct relieve *)((char *)object - offsetof(struct relieve, slot));

    (void)wait;
    return r->full || r->ended;
}

static int relieve_pump(void *arg)
{
    struct relieve *r = arg;
    vitro_task *task = task_here();
    vitro_value value;
    int got;

    while ((got = r->in->next(r->in, &value, VITRO_HERE)) == 1) {
        r->value = r->full ? r->fold(r->arg, r->value, value) : value;
        r->full = true;
        core_access(&task->sched->core, &task->core, r->slot.id, true);
        object_changed(&r->slot);
    }
    r->ended = true;
    r->end = got;
    core_access(&task->sched->core, &task->core, r->slot.id, true);
    object_changed(&r->slot);
    return 0;
}

static int relieve_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct relieve *r = (struct relieve *)flow;
    TASK_OR_RETURN("flow next", NULL);

    (void)object_bind(task->sched, &r->slot, OBJECT_FLOW);
    if (!r->pump && !r->ended)
        r->pump = vitro_spawn_with(relieve_pump, r,
                                   &(struct vitro_spawn_options){.name = "relieve"}, where);
    struct op op = {.where = where, .object = r->slot.id, .kind = OP_RECEIVE, .flags = OP_CANCELS};
    int got = task_wait(task, op, &r->slot, slot_full, VITRO_FOREVER);
    if (got < 0)
        return got;
    if (!r->full)
        return r->end;
    *ret = r->value;
    r->full = false;
    return 1;
}

static void relieve_free(vitro_flow *flow)
{
    struct relieve *r = (struct relieve *)flow;

    flow->lost = !flow_end_tasks(&r->pump, 1);
    if (!flow->lost)
        vitro_flow_free(r->in);
}

vitro_flow *vitro_flow_relieve(vitro_fold fold, void *arg, vitro_flow *in)
{
    struct relieve *r = mem_alloc(sizeof *r);

    *r = (struct relieve){.flow = {.next = relieve_next, .free = relieve_free},
                          .in = in,
                          .fold = fold,
                          .arg = arg,
                          .slot.name = "relieve"};
    return &r->flow;
}

/* ---- merge: a task for each input, one rendezvous for all */

struct merge;
struct branch {
    struct merge *merge;
    vitro_flow *in;
};
struct merge {
    vitro_flow flow;
    struct vitro_chan out;
    size_t n, open;
    bool begun;
    int failure;
    vitro_task **tasks;
    struct branch branches[];
};

static int merge_pump(void *arg)
{
    struct branch *branch = arg;
    struct merge *merge = branch->merge;
    vitro_value value;
    int r;

    while ((r = branch->in->next(branch->in, &value, VITRO_HERE)) == 1)
        if ((r = vitro_send(&merge->out, value)) < 0)
            break;
    if (r < 0 && r != -ECANCELED)
        merge->failure = r;
    if (--merge->open == 0 || (r < 0 && r != -ECANCELED))
        vitro_close(&merge->out);
    return 0;
}

static int merge_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct merge *merge = (struct merge *)flow;

    if (!merge->begun) {
        merge->begun = true;
        for (size_t i = 0; i < merge->n; i++)
            merge->tasks[i] =
                vitro_spawn_with(merge_pump, &merge->branches[i],
                                 &(struct vitro_spawn_options){.name = "merge"}, where);
    }
    int r = vitro_receive_at(&merge->out, ret, VITRO_FOREVER, where);
    if (r == -EPIPE)
        return merge->failure;
    return r < 0 ? r : 1;
}

static void merge_free(vitro_flow *flow)
{
    struct merge *merge = (struct merge *)flow;

    flow->lost = !flow_end_tasks(merge->tasks, merge->n);
    if (flow->lost)
        return;
    for (size_t i = 0; i < merge->n; i++)
        vitro_flow_free(merge->branches[i].in);
    free(merge->tasks);
    vitro_chan_done(&merge->out);
}

vitro_flow *vitro_flow_merge(vitro_flow *const *flows, size_t n)
{
    struct merge *merge = mem_alloc(sizeof *merge + n * sizeof merge->branches[0]);

    merge->flow = (vitro_flow){.next = merge_next, .free = merge_free};
    merge->out = (struct vitro_chan)VITRO_RENDEZVOUS("merge");
    merge->n = merge->open = n;
    merge->tasks = mem_alloc((n + 1) * sizeof(vitro_task *));
    for (size_t i = 0; i < n; i++)
        merge->branches[i] = (struct branch){merge, flows[i]};
    return &merge->flow;
}

/* ---- stream: one task pulls and hands each value to every consumer */

struct stream {
    vitro_flow *in;
    vitro_task *pump;
    size_t n, alive;
    int end;
    struct tap **taps;
};
struct tap {
    vitro_flow flow;
    struct stream *stream;
    struct vitro_chan chan;
    bool gone;
};

static int stream_pump(void *arg)
{
    struct stream *s = arg;
    vitro_value value;

    while ((s->end = s->in->next(s->in, &value, VITRO_HERE)) == 1)
        for (size_t i = 0; i < s->n; i++) {
            int r = s->taps[i]->gone ? 0 : vitro_send(&s->taps[i]->chan, value);
            if (r == -ECANCELED)
                return r;
        }
    for (size_t i = 0; i < s->n; i++)
        if (!s->taps[i]->gone)
            vitro_close(&s->taps[i]->chan);
    return 0;
}

static int tap_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct tap *tap = (struct tap *)flow;
    struct stream *s = tap->stream;

    if (!s->pump)
        s->pump = vitro_spawn_with(stream_pump, s, &(struct vitro_spawn_options){.name = "stream"},
                                   where);
    int r = vitro_receive_at(&tap->chan, ret, VITRO_FOREVER, where);
    if (r == -EPIPE)
        return s->end < 0 ? s->end : 0;
    return r < 0 ? r : 1;
}

/* The memory of all taps stays until the last consumer is gone: the pump goes through all of them.
 */
static void tap_free(vitro_flow *flow)
{
    struct tap *tap = (struct tap *)flow;
    struct stream *s = tap->stream;

    tap->gone = true;
    flow->lost = true;
    if (task_here() && !task_here()->sched->unwinding)
        vitro_close(&tap->chan); /* a pump that offers a value here goes on to the next */
    if (--s->alive > 0 || (s->pump && !flow_end_tasks(&s->pump, 1)))
        return;
    vitro_flow_free(s->in);
    for (size_t i = 0; i < s->n; i++) {
        vitro_chan_done(&s->taps[i]->chan);
        free(s->taps[i] == tap ? NULL : s->taps[i]);
    }
    free(s->taps);
    free(s);
    flow->lost = false;
}

void vitro_flow_stream(vitro_flow *in, vitro_flow **ret, size_t n)
{
    struct stream *s = mem_alloc(sizeof *s);

    *s = (struct stream){.in = in, .n = n, .alive = n};
    s->taps = mem_alloc((n + 1) * sizeof(struct tap *));
    for (size_t i = 0; i < n; i++) {
        struct tap *tap = mem_alloc(sizeof *tap);
        *tap = (struct tap){.flow = {.next = tap_next, .free = tap_free},
                            .stream = s,
                            .chan = VITRO_RENDEZVOUS("stream")};
        s->taps[i] = tap;
        ret[i] = &tap->flow;
    }
}
