/* SPDX-License-Identifier: MIT */
/* order: who of the box runs when, and on which CPU. */
#pragma once
#include "box/box_internal.h"

void order_choose(struct box *box);       /* before init is made: the CPU, and box->realtime */
void order_beside(const struct box *box); /* init goes there, the supervisor elsewhere for now */
void order_supervisor(const struct box *box); /* and takes its place there */
void order_guests(const struct box *box);     /* in init: inherited by every guest */
void order_init(const struct box *box);       /* above the guests: it has to see the caller's end */
/* The guests are gone: init may end beside the box. */
void order_apart(const struct box *box);
/* A guest that could run goes behind all others that can. */
void order_behind(const struct box *box, pid_t tid);
/* The supervisor gets the CPU whenever it wants it, or in its turn. */
void order_watch(const struct box *box, bool above);
/* How long order_choose may take: that much later is the ceiling of real time. */
uint64_t order_wait_max_ns(const struct box_options *options);
/* Now, a sched_yield of the supervisor's lets every guest run that can. */
bool order_takes_turns(const struct box *box);
