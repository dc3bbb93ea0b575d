/* SPDX-License-Identifier: MIT */
/* What select needs to know of channels. */
#pragma once
#include "sched/sched.h"

void chan_bind(vitro_sched *sched, struct vitro_chan *chan);
bool chan_can_receive(struct vitro_object *object, const struct wait *wait);
bool chan_can_send(struct vitro_object *object, const struct wait *wait);
int chan_put(struct vitro_chan *chan, vitro_value value); /* -EPIPE */
int chan_get(struct vitro_chan *chan, vitro_value *ret);  /* -EPIPE */
