/* SPDX-License-Identifier: MIT */
/* Channels: bounded, unbounded (a mailbox) and of no capacity (a rendezvous).
 *
 * A sender of a rendezvous puts its offer on the channel and waits until it was taken; a receiver
 * can go when there is an offer. `offers` is the list of those, oldest first. */
#include "sched/sched.h"
#include "sched/chan.h"
#include <stdlib.h>
#include <string.h>

/* The oldest offer that is not the task's own. */
static struct offer *offer_for(const struct vitro_chan *chan, const vitro_task *task)
{
    struct offer *offer = chan->offers;

    while (offer && offer->by == task)
        offer = offer->next;
    return offer;
}

bool chan_can_receive(struct vitro_object *object, const struct wait *wait)
{
    const struct vitro_chan *chan = (struct vitro_chan *)object;

    return chan->count || chan->closed || offer_for(chan, wait->task);
}

bool chan_can_send(struct vitro_object *object, const struct wait *wait)
{
    const struct vitro_chan *chan = (struct vitro_chan *)object;

    (void)wait;
    return chan->closed || chan->capacity == VITRO_UNBOUNDED || chan->count < chan->capacity;
}

void chan_bind(vitro_sched *sched, struct vitro_chan *chan)
{
    if (object_bind(sched, &chan->object, OBJECT_CHAN)) {
        chan->closed = false;
        chan->first = chan->count = 0;
        chan->offers = NULL;
    }
}

static void grow(struct vitro_chan *chan)
{
    uint32_t allocated = chan->allocated ? chan->allocated * 2 : 8;
    vitro_value *values = mem_alloc(allocated * sizeof *values);

    for (uint32_t i = 0; i < chan->count; i++)
        values[i] = chan->values[(chan->first + i) % chan->allocated];
    free(chan->values);
    chan->values = values;
    chan->allocated = allocated;
    chan->first = 0;
}

int chan_put(struct vitro_chan *chan, vitro_value value)
{
    if (chan->closed)
        return -EPIPE;
    if (chan->count == chan->allocated)
        grow(chan);
    chan->values[(chan->first + chan->count++) % chan->allocated] = value;
    object_changed(&chan->object);
    return 0;
}

/* What the task touches beside the channel it works on, for who counts dependences. */
static void touch(vitro_task *task, struct vitro_chan *chan)
{
    core_access(&task->sched->core, &task->core, chan->object.id, true);
}

static void take(struct offer *offer, vitro_task *task)
{
    offer->taken = true;
    for (struct offer *each = offer; each; each = each->sibling == offer ? NULL : each->sibling) {
        if (each != offer && !each->gone)
            touch(task, each->chan);
        chan_withdraw(each);
    }
}

int chan_get(struct vitro_chan *chan, vitro_task *task, vitro_value *ret)
{
    struct offer *offer = offer_for(chan, task);

    if (chan->count) {
        *ret = chan->values[chan->first];
        chan->first = (chan->first + 1) % chan->allocated;
        chan->count--;
    } else if (offer) {
        *ret = offer->value;
        take(offer, task);
    } else {
        return -EPIPE;
    }
    object_changed(&chan->object);
    return 0;
}

bool chan_was_taken(struct vitro_object *object, const struct wait *wait)
{
    return ((struct offer *)vitro_ptr(wait->value))->taken || ((struct vitro_chan *)object)->closed;
}

void chan_offer(struct offer *offer)
{
    struct offer **end = (struct offer **)&offer->chan->offers;

    while (*end)
        end = &(*end)->next;
    *end = offer;
    object_changed(&offer->chan->object);
}

void chan_withdraw(struct offer *offer)
{
    if (offer->gone)
        return;
    for (struct offer **link = (struct offer **)&offer->chan->offers; *link; link = &(*link)->next)
        if (*link == offer) {
            *link = offer->next;
            object_changed(&offer->chan->object);
            break;
        }
}

static int hand_over(vitro_task *task, struct vitro_chan *chan, vitro_value value,
                     uint64_t deadline_ns, struct op op)
{
    struct offer offer = {.chan = chan, .by = task, .value = value};
    int r = task_point(task, op);

    if (r < 0)
        return r;
    if (chan->closed)
        return -EPIPE;
    chan_offer(&offer);
    task->wait = (struct wait){
        .task = task, .object = &chan->object, .ready = chan_was_taken, .value = vitro_val(&offer)};
    r = task_wait_many(task, op, &task->wait, 1, deadline_ns);
    if (offer.taken)
        return 0; /* also when it was cancelled at the same time: it happened */
    if (offer.gone)
        return -EPIPE; /* and so is the channel */
    chan_withdraw(&offer);
    return r < 0 ? r : -EPIPE;
}

int vitro_send_at(struct vitro_chan *chan, vitro_value value, uint64_t deadline_ns,
                  const char *where)
{
    TASK_OR_RETURN("send", &chan->object);
    chan_bind(task->sched, chan);
    struct op op = {
        .where = where, .object = chan->object.id, .kind = OP_SEND, .flags = OP_CANCELS};
    if (chan->capacity == 0)
        return hand_over(task, chan, value, deadline_ns, op);
    int r = task_wait(task, op, &chan->object, chan_can_send, deadline_ns);
    return r < 0 ? r : chan_put(chan, value);
}

int vitro_receive_at(struct vitro_chan *chan, vitro_value *ret, uint64_t deadline_ns,
                     const char *where)
{
    TASK_OR_RETURN("receive", &chan->object);
    chan_bind(task->sched, chan);
    struct op op = {
        .where = where, .object = chan->object.id, .kind = OP_RECEIVE, .flags = OP_CANCELS};
    int r = task_wait(task, op, &chan->object, chan_can_receive, deadline_ns);
    return r < 0 ? r : chan_get(chan, task, ret);
}

void vitro_close_at(struct vitro_chan *chan, const char *where)
{
    TASK_OR_LEAVE("close", &chan->object);
    chan_bind(task->sched, chan);
    (void)task_point(task,
                     (struct op){.where = where, .object = chan->object.id, .kind = OP_CLOSE});
    chan->closed = true;
    object_changed(&chan->object);
}

void vitro_chan_done(struct vitro_chan *chan)
{
    if (chan->object.run) {
        vitro_task *task = task_here();
        if (task && chan->object.run == task->sched->run)
            for (struct offer *offer = chan->offers; offer; offer = offer->next)
                offer->gone = true;
        object_gone(&chan->object);
    }
    chan->offers = NULL;
    chan->closed = true; /* for the rest of this run */
    free(chan->values);
    chan->values = NULL;
    chan->allocated = chan->count = chan->first = 0;
}
