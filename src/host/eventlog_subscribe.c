/* SPDX-License-Identifier: MIT */
/* Subscriptions: a place in a topic. Who waits is woken by the append itself, which also counts a
 * worker as running for its clock: an advance after an append cannot overtake who was told. */
#include "base/wall.h"
#include "base/when.h"
#include "clock/clock.h"
#include "host/eventlog.h"
#include <errno.h>
#include <string.h>

enum { QUEUE_MAX = 128 };
#define CEILING_NS INT64_C(45000000000)

struct vitro_events {
    vitro_eventlog *log; /* borrowed */
    struct topic *topic; /* borrowed */
    vitro_events *next;  /* of the topic */
    uint64_t next_id;
    uint64_t live_id; /* the first that was not there yet when it subscribed */
    size_t queue_max;
    int64_t ceiling_ns;
    pthread_cond_t wake;
    bool waiting, stopped;
    struct vitro_clock *clock; /* of the worker that waits; NULL: no worker, or counted already */
    enum { LISTENS, LAGGED, ENDED } state;
    uint64_t behind; /* when it lagged */
    struct buf held; /* kind and data handed out last */
};

static void running(struct vitro_clock *clock, int change)
{
    if (clock && clock->ops->running)
        clock->ops->running(clock, change);
}

vitro_events *vitro_events_subscribe(vitro_eventlog *log, const char *topic_name, uint64_t after,
                                     const struct vitro_events_options *options,
                                     struct vitro_event_error *error)
{
    static const struct vitro_events_options none;
    pthread_condattr_t attributes;

    options = options ? options : &none;
    if (eventlog_topic_check(topic_name, event_err(error)) < 0)
        return NULL;
    vitro_events *events = mem_alloc(sizeof *events);
    events->log = log;
    events->queue_max = options->queue_max ? options->queue_max : QUEUE_MAX;
    events->ceiling_ns = options->ceiling_ns > 0 ? options->ceiling_ns : CEILING_NS;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&events->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_lock(&log->lock);
    struct topic *topic = events->topic = eventlog_topic(log, topic_name, true);
    events->live_id = topic_next_id(topic);
    events->next_id = after >= events->live_id ? events->live_id : after + 1;
    if (events->next_id < topic->first_id)
        events->next_id = topic->first_id; /* what was forgotten before is no history */
    events->next = topic->subscriptions;
    topic->subscriptions = events;
    (void)pthread_mutex_unlock(&log->lock);
    return events;
}

void vitro_events_free(vitro_events *events)
{
    if (!events)
        return;
    (void)pthread_mutex_lock(&events->log->lock);
    for (vitro_events **at = &events->topic->subscriptions; *at; at = &(*at)->next)
        if (*at == events) {
            *at = events->next;
            break;
        }
    (void)pthread_mutex_unlock(&events->log->lock);
    (void)pthread_cond_destroy(&events->wake);
    buf_done(&events->held);
    free(events);
}

/* ---- waking */

static void wake(vitro_events *events)
{
    if (!events->waiting)
        return;
    events->waiting = false;
    running(events->clock, +1);
    events->clock = NULL;
    (void)pthread_cond_signal(&events->wake);
}

void eventlog_wake(struct topic *topic)
{
    for (vitro_events *events = topic->subscriptions; events; events = events->next) {
        uint64_t from = events->next_id > events->live_id ? events->next_id : events->live_id;
        uint64_t behind = topic_next_id(topic) - from;
        if (events->state == LISTENS && behind > events->queue_max) {
            events->state = LAGGED;
            events->behind = behind;
        }
        wake(events);
    }
}

void eventlog_wake_all(struct topic *topic)
{
    for (vitro_events *events = topic->subscriptions; events; events = events->next)
        wake(events);
}

void vitro_events_stop(vitro_events *events)
{
    (void)pthread_mutex_lock(&events->log->lock);
    events->stopped = true;
    wake(events);
    (void)pthread_mutex_unlock(&events->log->lock);
}

void vitro_eventlog_stop(vitro_eventlog *log)
{
    (void)pthread_mutex_lock(&log->lock);
    log->stopped = true;
    for (size_t i = 0; i < log->topic_count; i++)
        eventlog_wake_all(log->topics[i]);
    (void)pthread_mutex_unlock(&log->lock);
}

/* ---- receiving */

/* With the lock held. -EAGAIN: nothing yet. */
static int take(vitro_events *events, struct vitro_log_event *ret, struct err *err)
{
    const struct topic *topic = events->topic;

    if (events->state == LISTENS && events->next_id < topic->first_id) {
        events->state = LAGGED; /* forgotten by a compaction */
        events->behind = topic_next_id(topic) - events->next_id;
    }
    if (events->state == LAGGED) {
        events->state = ENDED;
        return err_set(err, -EOVERFLOW,
                       "receive from topic '%s': lagged %llu events behind after event %llu\n"
                       "hint: receive sooner, or subscribe with a larger queue_max",
                       topic->name, (unsigned long long)events->behind,
                       (unsigned long long)events->next_id - 1);
    }
    if (events->state == ENDED)
        return 0;
    if (events->next_id == topic_next_id(topic))
        return events->log->stopped || events->stopped
                   ? err_set(err, -ECANCELED, "receive from topic '%s': the %s was stopped",
                             topic->name, events->stopped ? "subscription" : "log")
                   : -EAGAIN;
    *ret = eventlog_event(topic, events->next_id++);
    size_t kind_length = strlen(ret->kind);
    buf_clear(&events->held);
    buf_add(&events->held, ret->kind, kind_length + 1);
    buf_add(&events->held, ret->data, ret->length);
    ret->kind = events->held.data;
    ret->data = events->held.data + kind_length + 1;
    return 1;
}

/* Waits for one wake-up; the lock is held. The lock is let go while the clock is told, because a
 * clock that jumps may fire timers there, which may append. */
static int await(vitro_events *events, uint64_t until_ns)
{
    const struct lane *lane = lane_self();
    struct vitro_clock *clock = lane->idle ? NULL : lane->clock;
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};
    int r = 0;

    events->waiting = true;
    events->clock = clock;
    if (clock) {
        (void)pthread_mutex_unlock(&events->log->lock);
        running(clock, -1);
        (void)pthread_mutex_lock(&events->log->lock);
    }
    while (events->waiting && r == 0)
        r = pthread_cond_timedwait(&events->wake, &events->log->lock, &until);
    if (events->waiting)
        wake(events);
    return -r;
}

int vitro_events_receive(vitro_events *events, const char *label, struct vitro_log_event *ret,
                         struct vitro_event_error *error)
{
    uint64_t until_ns = 0;
    int r;

    (void)pthread_mutex_lock(&events->log->lock);
    while ((r = take(events, ret, event_err(error))) == -EAGAIN) {
        until_ns = until_ns ? until_ns : wall_monotonic_ns() + (uint64_t)events->ceiling_ns;
        if (await(events, until_ns) < 0 && events->next_id == topic_next_id(events->topic) &&
            events->state == LISTENS && !events->log->stopped && !events->stopped) {
            r = err_set(
                event_err(error), -ETIMEDOUT,
                "%s: nothing came to topic '%s' after event %llu within %lld s of real time",
                label ? label : "receive", events->topic->name,
                (unsigned long long)events->next_id - 1,
                (long long)(events->ceiling_ns / (int64_t)NS_PER_SEC));
            break;
        }
    }
    (void)pthread_mutex_unlock(&events->log->lock);
    return r;
}

int vitro_events_poll(vitro_events *events, struct vitro_log_event *ret,
                      struct vitro_event_error *error)
{
    (void)pthread_mutex_lock(&events->log->lock);
    int r = take(events, ret, event_err(error));
    (void)pthread_mutex_unlock(&events->log->lock);
    return r;
}

int vitro_events_barrier(vitro_events *events, const char *label, const char *kind,
                         struct vitro_event_error *error)
{
    struct vitro_log_event event;
    int r = vitro_events_receive(events, label, &event, error);

    label = label ? label : "barrier";
    if (r == 0)
        return err_set(event_err(error), -EPIPE, "%s: the stream has ended", label);
    if (r > 0 && strcmp(event.kind, kind) != 0)
        return err_set(event_err(error), -EEXIST,
                       "%s: event %llu of topic '%s' is '%s', and nothing was to come before '%s'",
                       label, (unsigned long long)event.id, event.topic, event.kind, kind);
    if (r > 0 && (r = vitro_events_poll(events, &event, error)) > 0)
        return err_set(event_err(error), -EEXIST,
                       "%s: event %llu of topic '%s', '%s', came after '%s'", label,
                       (unsigned long long)event.id, event.topic, event.kind, kind);
    return r == -EAGAIN || r == -ECANCELED ? 0 : r;
}
