/* SPDX-License-Identifier: MIT */
/* plain: a session without a box, on real time. */
#pragma once
#include "term/term_internal.h"

/* Starts options->box.argv; t->master and t->slave are set. */
int plain_start(vitro_term *t, const struct vitro_term_options *options, const char *const *envp,
                struct err *err);
int plain_wait(vitro_term *t, uint64_t give_up_ns, bool at_output, enum drive_end *ret);
/* The program is settled, but real time, or the world, may change that: waits for output, its end,
 * or a while. */
int plain_pause(vitro_term *t, const struct term_wait *wait, enum drive_end *ret);
void plain_stop(struct plain *plain); /* ends everything in it; frees */
