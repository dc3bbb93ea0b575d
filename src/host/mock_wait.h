/* SPDX-License-Identifier: MIT */
/* mock_wait: waiting for what a test does to a double, or for a deadline of a clock, whichever
 * comes first.
 *
 * Who waits gives its lock away meanwhile. A worker that waits is not running, for its clock; who
 * wakes it counts it as running before it runs, so that a clock that is moved next cannot overtake
 * it. */
#pragma once
#include "base/err.h"
#include "vitro/clock.h"
#include <pthread.h>
#include <stdbool.h>

struct mock_waiter;
struct mock_room { /* what is waited in */
    pthread_mutex_t lock;
    struct mock_waiter *first; /* who waits */
    struct vitro_clock *clock; /* borrowed */
    int64_t ceiling_ns;        /* of real time */
};

void mock_room_init(struct mock_room *room, struct vitro_clock *clock, int64_t ceiling_ns);
void mock_room_done(struct mock_room *room);
void mock_room_wake(struct mock_room *room); /* with the lock held: something changed */

/* With the lock held. Waits until `ready` holds: 0. -ETIMEDOUT: `timeout_ns` of the clock have
 * passed; less than 0 is no timeout. -EDEADLK: nothing happened before the ceiling of real time,
 * with words that say what was waited for. `ready` is called with the lock held. */
int mock_room_wait(struct mock_room *room, bool (*ready)(void *context), void *context,
                   int64_t timeout_ns, const char *what, struct err *err);
