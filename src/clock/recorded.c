/* SPDX-License-Identifier: MIT */
/* A clock that logs what another one answers. */
#include "base/buf.h"
#include "clock/clock.h"

struct recorded {
    struct vitro_clock clock;
    struct vitro_clock *inner; /* borrowed */
    vitro_clock_log *log;      /* borrowed */
};

static void note(struct vitro_clock *clock, enum vitro_clock_event_kind kind, int64_t value_ns,
                 int result)
{
    (void)vitro_clock_log_push(
        ((struct recorded *)clock)->log,
        &(struct vitro_clock_event){
            .kind = kind, .value_ns = value_ns, .result = result, .lane = vitro_worker_name()});
}

static struct vitro_clock *recorded_inner(struct vitro_clock *clock)
{
    return ((struct recorded *)clock)->inner;
}

static int64_t recorded_now(struct vitro_clock *clock)
{
    int64_t ns = vitro_clock_now(recorded_inner(clock));

    note(clock, VITRO_CLOCK_NOW, ns, 0);
    return ns;
}

static uint64_t recorded_monotonic(struct vitro_clock *clock)
{
    uint64_t ns = vitro_clock_monotonic(recorded_inner(clock));

    note(clock, VITRO_CLOCK_MONOTONIC, (int64_t)ns, 0);
    return ns;
}

static int recorded_sleep(struct vitro_clock *clock, int64_t ns)
{
    int r = vitro_clock_sleep(recorded_inner(clock), ns);

    note(clock, VITRO_CLOCK_SLEEP, ns, r);
    return r;
}

static int recorded_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    int r = vitro_clock_sleep_until(recorded_inner(clock), now_ns);

    note(clock, VITRO_CLOCK_SLEEP_UNTIL, now_ns, r);
    return r;
}

static void recorded_stop(struct vitro_clock *clock)
{
    vitro_clock_stop(recorded_inner(clock));
}

static void recorded_free(struct vitro_clock *clock)
{
    free(clock);
}

struct vitro_clock *vitro_clock_recorded(struct vitro_clock *inner, vitro_clock_log *log)
{
    static const struct vitro_clock_ops ops = {.now = recorded_now,
                                               .monotonic = recorded_monotonic,
                                               .sleep = recorded_sleep,
                                               .sleep_until = recorded_sleep_until,
                                               .stop = recorded_stop,
                                               .inner = recorded_inner,
                                               .free = recorded_free};
    struct recorded *recorded = mem_alloc(sizeof *recorded);

    recorded->clock.ops = &ops;
    recorded->inner = inner ? inner : vitro_clock_in_force();
    recorded->log = log;
    return &recorded->clock;
}
