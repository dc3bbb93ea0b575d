/* SPDX-License-Identifier: MIT */
/* A clock that gives the answers of a log again, lane by lane. It never waits. */
#include "base/buf.h"
#include "clock/clock_log.h"
#include <errno.h>
#include <string.h>

struct replayed {
    struct vitro_clock clock;
    const vitro_clock_log *log; /* borrowed */
    pthread_mutex_t lock;
    size_t *used;   /* events of each lane, by number; owned */
    int64_t now_ns; /* answers where the log has none: what was read last */
    uint64_t monotonic_ns;
    bool stopped;
    struct err diverged; /* the first */
};

static const struct clock_lane *lane_find(const struct replayed *replayed, const char *name,
                                          size_t *ret)
{
    for (*ret = 0; *ret < replayed->log->lane_count; (*ret)++)
        if (strcmp(replayed->log->lanes[*ret].name, name) == 0)
            return &replayed->log->lanes[*ret];
    return NULL;
}

/* The next event of the caller's lane, if it is of this kind and, for sleeps, of this value. */
static const struct logged *take(struct replayed *replayed, enum vitro_clock_event_kind kind,
                                 const int64_t *value_ns)
{
    const char *name = vitro_worker_name();
    size_t number;
    const struct clock_lane *lane = lane_find(replayed, name, &number);
    const struct logged *event = NULL;

    if (lane && replayed->used[number] < lane->count)
        event = &replayed->log->events[lane->events[replayed->used[number]]];
    if (event && event->kind == kind && (!value_ns || event->value_ns == *value_ns)) {
        replayed->used[number]++;
        return event;
    }
    if (replayed->diverged.code)
        return NULL;
    CLEANUP(buf_done) struct buf text = {0};
    buf_addf(&text, "replay of a clock: worker '%s' asks for %s", name, clock_event_name(kind));
    if (value_ns)
        buf_addf(&text, " %lld ns", (long long)*value_ns);
    if (event)
        buf_addf(&text, ", the recording has %s %lld ns (event %zu of this worker)",
                 clock_event_name(event->kind), (long long)event->value_ns,
                 replayed->used[number] + 1);
    else
        buf_addf(&text, ", the recording of this worker has ended after %zu events",
                 lane ? lane->count : 0);
    (void)err_set(&replayed->diverged, -ESTALE, "%s", buf_text(&text));
    return NULL;
}

static int64_t replayed_now(struct vitro_clock *clock)
{
    struct replayed *replayed = (struct replayed *)clock;

    (void)pthread_mutex_lock(&replayed->lock);
    const struct logged *event = take(replayed, VITRO_CLOCK_NOW, NULL);
    int64_t ns = event ? event->value_ns : replayed->now_ns;
    replayed->now_ns = ns;
    (void)pthread_mutex_unlock(&replayed->lock);
    return ns;
}

static uint64_t replayed_monotonic(struct vitro_clock *clock)
{
    struct replayed *replayed = (struct replayed *)clock;

    (void)pthread_mutex_lock(&replayed->lock);
    const struct logged *event = take(replayed, VITRO_CLOCK_MONOTONIC, NULL);
    uint64_t ns = event ? (uint64_t)event->value_ns : replayed->monotonic_ns;
    if (ns > replayed->monotonic_ns)
        replayed->monotonic_ns = ns;
    (void)pthread_mutex_unlock(&replayed->lock);
    return ns;
}

static int slept(struct vitro_clock *clock, enum vitro_clock_event_kind kind, int64_t ns)
{
    struct replayed *replayed = (struct replayed *)clock;

    (void)pthread_mutex_lock(&replayed->lock);
    const struct logged *event = take(replayed, kind, &ns);
    int r = event ? event->result : replayed->stopped ? -ECANCELED : -ESTALE;
    (void)pthread_mutex_unlock(&replayed->lock);
    return r;
}

static int replayed_sleep(struct vitro_clock *clock, int64_t ns)
{
    return slept(clock, VITRO_CLOCK_SLEEP, ns);
}

static int replayed_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    return slept(clock, VITRO_CLOCK_SLEEP_UNTIL, now_ns);
}

static void replayed_stop(struct vitro_clock *clock)
{
    struct replayed *replayed = (struct replayed *)clock;

    (void)pthread_mutex_lock(&replayed->lock);
    replayed->stopped = true;
    (void)pthread_mutex_unlock(&replayed->lock);
}

static void replayed_free(struct vitro_clock *clock)
{
    struct replayed *replayed = (struct replayed *)clock;

    (void)pthread_mutex_destroy(&replayed->lock);
    free(replayed->used);
    free(replayed);
}

static const struct vitro_clock_ops ops = {.now = replayed_now,
                                           .monotonic = replayed_monotonic,
                                           .sleep = replayed_sleep,
                                           .sleep_until = replayed_sleep_until,
                                           .stop = replayed_stop,
                                           .free = replayed_free};

struct vitro_clock *vitro_clock_replayed(const vitro_clock_log *log)
{
    struct replayed *replayed = mem_alloc(sizeof *replayed);

    replayed->clock.ops = &ops;
    replayed->log = log;
    replayed->used = mem_alloc((log->lane_count + 1) * sizeof *replayed->used);
    (void)pthread_mutex_init(&replayed->lock, NULL);
    return &replayed->clock;
}

int vitro_clock_replay_check(struct vitro_clock *clock, struct vitro_clock_error *error)
{
    struct err *err = clock_err(error);
    struct replayed *replayed = (struct replayed *)clock_innermost(clock);
    int r = 0;

    if (replayed->clock.ops != &ops)
        return err_set(err, -EINVAL, "check a replay: not a replayed clock");
    (void)pthread_mutex_lock(&replayed->lock);
    if (replayed->diverged.code)
        r = err_set(err, replayed->diverged.code, "%s", replayed->diverged.text);
    for (size_t i = 0; r == 0 && i < replayed->log->lane_count; i++) {
        const struct clock_lane *lane = &replayed->log->lanes[i];
        if (replayed->used[i] == lane->count)
            continue;
        const struct logged *event = &replayed->log->events[lane->events[replayed->used[i]]];
        r = err_set(
            err, -ESTALE,
            "replay of a clock: worker '%s' did not ask for %zu of %zu events, the first %s "
            "%lld ns",
            lane->name, lane->count - replayed->used[i], lane->count, clock_event_name(event->kind),
            (long long)event->value_ns);
    }
    (void)pthread_mutex_unlock(&replayed->lock);
    return r;
}
