/* SPDX-License-Identifier: MIT */
/* stall: a way out when a thread that counts as running is blocked in a call that is not
 * interposed, while others wait for a clock that waits for it.
 *
 * Who waits looks at the process every STALL_NS. When no thread of it ran in several looks, and the
 * clock stood, the clock jumps all the same, and that is a leak, "clock/stalled": what happens next
 * depends on real time. */
#pragma once
#include "clock/clock_wait.h"

#define STALL_NS 50000000

struct stall {
    unsigned looks;        /* in a row that found nobody running */
    uint64_t monotonic_ns; /* of the clock */
    int32_t running;
};
/* After STALL_NS of waiting in vain. */
void stall_look(struct stall *stall, struct paused *paused);
