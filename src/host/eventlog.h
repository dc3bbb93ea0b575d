/* SPDX-License-Identifier: MIT */
/* eventlog: topics of events in memory, and the file that may stand behind them.
 *
 * Public face: include/vitro/eventlog.h. One lock a log. An event is in the file before it is in
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
    /* the file; eventlog_file.c */
    int fd; /* -1: memory only */
    char *path;
    struct buf record;
    uint64_t size_bytes, dropped_bytes;
    bool sync, broken;
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

/* ---- the file: what is about to happen. 0 without a file. */
enum record_type { RECORD_EVENT = 1, RECORD_ACK, RECORD_START };
int eventlog_file_write(vitro_eventlog *log, enum record_type type, const char *topic,
                        const char *name, uint64_t id, const void *data, size_t length,
                        struct err *err);
int eventlog_file_compact(vitro_eventlog *log, struct err *err); /* writes what memory holds */
void eventlog_file_close(vitro_eventlog *log);
/* Fills an empty log; *ret_good is how much of it is whole. `where` names it in words. */
int eventlog_load(vitro_eventlog *log, const void *bytes, size_t length, const char *where,
                  size_t *ret_good, struct err *err);
