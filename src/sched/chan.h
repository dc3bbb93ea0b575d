/* SPDX-License-Identifier: MIT */
/* What select needs to know of channels. */
#pragma once
#include "sched/sched.h"

/* A value held out at a rendezvous. Those of one select hang together: when one is taken, the
 * others are withdrawn in the same step. */
struct offer {
    struct offer *next;    /* on the channel, oldest first */
    struct offer *sibling; /* of the same select */
    struct vitro_chan *chan;
    vitro_task *by;
    vitro_value value;
    bool taken, gone; /* gone: with its channel */
};

void chan_bind(vitro_sched *sched, struct vitro_chan *chan);
bool chan_can_receive(struct vitro_object *object, const struct wait *wait);
bool chan_can_send(struct vitro_object *object, const struct wait *wait);
int chan_put(struct vitro_chan *chan, vitro_value value); /* -EPIPE */
/* For `task`, which cannot take what it offers itself; -EPIPE. */
int chan_get(struct vitro_chan *chan, vitro_task *task, vitro_value *ret);

void chan_offer(struct offer *offer); /* stays the caller's, until taken or withdrawn */
void chan_withdraw(struct offer *offer);
/* Ready when the offer in wait->value was taken, or its channel closed. */
bool chan_was_taken(struct vitro_object *object, const struct wait *wait);
