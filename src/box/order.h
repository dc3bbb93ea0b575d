/* SPDX-License-Identifier: MIT */
/* order: who of the box runs when, and on which CPU. */
#pragma once
#include "box/box_internal.h"

void order_supervisor(struct box *box);   /* before init is made: sets box->realtime */
void order_init(const struct box *box);   /* above the guests: it has to see the caller's end */
void order_guests(const struct box *box); /* in init: inherited by every guest */
/* A guest that could run goes behind all others that can. */
void order_behind(const struct box *box, pid_t tid);
/* The supervisor gets the CPU whenever it wants it, or in its turn. */
void order_watch(const struct box *box, bool above);
