/* SPDX-License-Identifier: MIT */
/* A bounded buffer with one condition variable for two reasons: a signal meant for a consumer wakes
 * a producer, and everybody sleeps. Two condition variables cure it. */
#include "tap.h"
#include <string.h>
#include <vitro/explore.h>

struct buffer {
    struct vitro_mutex mutex;
    struct vitro_cond filled, emptied;
    int count;
    bool two; /* the fix: a condition variable a reason */
};

static int produce(void *arg)
{
    struct buffer *b = arg;

    vitro_lock(&b->mutex);
    while (b->count == 1)
        if (vitro_wait(b->two ? &b->emptied : &b->filled, &b->mutex) < 0)
            break;
    b->count = 1;
    vitro_signal(&b->filled);
    vitro_unlock(&b->mutex);
    return 0;
}

static int consume(void *arg)
{
    struct buffer *b = arg;

    vitro_lock(&b->mutex);
    while (b->count == 0)
        if (vitro_wait(&b->filled, &b->mutex) < 0)
            break;
    b->count = 0;
    vitro_signal(b->two ? &b->emptied : &b->filled);
    vitro_unlock(&b->mutex);
    return 0;
}

static int exchange(void *arg)
{
    struct buffer b = {.mutex = VITRO_MUTEX("buffer"),
                       .filled = VITRO_COND("filled"),
                       .emptied = VITRO_COND("emptied"),
                       .two = arg != NULL};
    struct vitro_call calls[] = {{consume, &b, "consumer 1", 0},
                                 {consume, &b, "consumer 2", 0},
                                 {produce, &b, "producer 1", 0},
                                 {produce, &b, "producer 2", 0}};

    return vitro_join_all(calls, 4);
}

int main(void)
{
    int fixed = 1;
    struct vitro_verdict v = vitro_check(exchange, NULL, .name = "exchange", .schedules = 20000);

    tap(v.kind == VITRO_DEADLOCK, "one condition variable for two reasons loses a wake-up");
    tap(v.error && strstr(v.error, "waits: wait cond 'filled'"), "the report shows who sleeps");
    vitro_verdict_done(&v);
    v = vitro_check(exchange, &fixed, .name = "fixed exchange", .schedules = 5000);
    tap(v.kind == VITRO_OK, "one for each reason does not");
    vitro_verdict_done(&v);
    return tap_end();
}
