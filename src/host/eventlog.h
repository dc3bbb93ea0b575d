/* SPDX-License-Identifier: MIT */
/* eventlog: topics of events in memory, and the store that may stand behind them.
 *
 * Public face: include/vitro/eventlog.h. One lock a log. An event is in the store before it is in
 * memory; a subscription is a place in a topic, so history and what comes are the same to it. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "vitro/eventlog.h"
#include <pthread.h>
#include <stdbool.h>

enum { NAME_MAX_BYTES = 255, DATA_MAX_BYTES = 16 << 20 };

struct entry {
    uint64_t offset; /* of its kind, then a NUL, its data, a NUL; `bytes_dropped` less in `bytes` */
    uint32_t kind_length, data_length;
};
struct cursor {
    char *consumer; /* owned */
    uint64_t id;
};
struct topic {
    char *name;            /* owned */
    struct entry *entries; /* owned; the first has the id first_id */
    size_t count, capacity;
    uint64_t first_id; /* the next one has first_id + count */
    struct buf bytes;
    uint64_t bytes_dropped;
    struct cursor *cursors; /* owned */
    size_t cursor_count;
    vitro_events *subscriptions;
};
struct vitro_eventlog {
    pthread_mutex_t lock;
    struct topic **topics; /* by name; owned */
    size_t topic_count;
    bool stopped;
    const struct store_ops *store; /* NULL: memory only */
    void *stored;                  /* what the store keeps; owned by it */
    uint64_t dropped_bytes;
};

static inline struct err *event_err(struct vitro_event_error *error)
{
    return (struct err *)error; /* one layout: asserted in eventlog.c */
}

/* All with the lock held. */
int eventlog_name_check(const char *what, const char *name, struct err *err);
int eventlog_topic_check(const char *name, struct err *err);
struct topic *eventlog_topic(vitro_eventlog *log, const char *name, bool make); /* NULL: none */
static inline uint64_t topic_next_id(const struct topic *topic)
{
    return topic->first_id + topic->count;
}
struct vitro_log_event eventlog_event(const struct topic *topic, uint64_t id); /* borrows */
void eventlog_add(struct topic *topic, const char *kind, const void *data, size_t length);
uint64_t *eventlog_cursor_of(struct topic *topic, const char *consumer, bool make);
size_t eventlog_forget(struct topic *topic, uint64_t before);
void eventlog_wake(struct topic *topic);     /* an event was added */
void eventlog_wake_all(struct topic *topic); /* the log was stopped */

/* ---- the store behind a log, told what is about to happen: all with the lock held */
enum record_type { RECORD_EVENT = 1, RECORD_ACK, RECORD_START };
struct record {
    enum record_type type;
    const char *topic, *name; /* name: kind of an event, consumer of an ack, "" for a start */
    uint64_t id;
    const void *data;
    size_t length;
};
struct store_ops {
    int (*write)(vitro_eventlog *log, const struct record *record, struct err *err);
    /* A topic was shortened in memory: what memory holds is what is to be kept. */
    int (*compact)(vitro_eventlog *log, const struct topic *topic, struct err *err);
    void (*close)(vitro_eventlog *log);
};
/* What was read from a store; NULL, or what is wrong with it. */
const char *eventlog_apply(vitro_eventlog *log, const struct record *record);

/* A file's bytes into an empty log; *ret_good is how much of it is whole. `where` names it. */
int eventlog_load(vitro_eventlog *log, const void *bytes, size_t length, const char *where,
                  size_t *ret_good, struct err *err);
