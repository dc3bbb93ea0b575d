/* SPDX-License-Identifier: MIT */
/* Event logs: what happened, by topic, in order; for programs that tell and tests that wait.
 *
 *     vitro_eventlog *log = vitro_eventlog_memory();
 *     vitro_events *jobs = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
 *     start(log);
 *     vitro_events_receive(jobs, "the first job", &event, &error);      no sleep, no polling
 *
 * An event has an id, counted from 1 in its topic, a kind and any bytes. A subscription gives the
 * history after an id, then what comes, none lost and none twice. Topics are letters, digits, '.',
 * '_' and '-', at most 255; kinds and consumers are texts of at most 255 bytes.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: a log may be used by any number of threads, a subscription by one at a time. A worker
 * (vitro/clock.h) that waits here does not hold its clock, and runs again, for the clock, from the
 * moment of the append that wakes it. */
#ifndef VITRO_EVENTLOG_H
#define VITRO_EVENTLOG_H

#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_event_error {
    int code; /* -errno */
    char text[1024];
};
struct vitro_log_event {
    uint64_t id;
    const char *topic, *kind;
    const void *data; /* a NUL stands behind it */
    size_t length;
};

typedef struct vitro_eventlog vitro_eventlog;
typedef struct vitro_events vitro_events; /* a subscription */

VITRO_API vitro_eventlog *vitro_eventlog_memory(void);
/* Kept in a file as well, made if there is none, by one process at a time (-EBUSY). Every append is
 * in the file when it returns: it survives the end of the process by whatever means. A record that
 * was cut short at the end is dropped; damage anywhere else is refused (-EBADMSG) by its place.
 * docs/formats/eventlog.md has the bytes. NULL with words. */
struct vitro_eventlog_options { /* all may be zero */
    int sync;                   /* appends reach the disk, too: survives the end of the machine */
};
VITRO_API vitro_eventlog *vitro_eventlog_open(const char *path,
                                              const struct vitro_eventlog_options *options,
                                              struct vitro_event_error *error);
/* The same, kept in an SQLite database, to be asked by others when it is closed. The library is
 * loaded by this call, and by nothing else of vitro: -ENOPKG when there is none. */
VITRO_API vitro_eventlog *vitro_eventlog_open_sqlite(const char *path,
                                                     const struct vitro_eventlog_options *options,
                                                     struct vitro_event_error *error);
VITRO_API uint64_t
vitro_eventlog_dropped(const vitro_eventlog *log); /* bytes, when it was opened */
/* Everybody who waits gets -ECANCELED, and so does everybody who would wait later. */
VITRO_API void vitro_eventlog_stop(vitro_eventlog *log);
VITRO_API void vitro_eventlog_free(vitro_eventlog *log); /* after its subscriptions */

/* The id. Copies everything. At most 16 MiB of data. */
VITRO_API int64_t vitro_eventlog_append(vitro_eventlog *log, const char *topic, const char *kind,
                                        const void *data, size_t length,
                                        struct vitro_event_error *error);
/* The last id of the topic; 0 when there never was one. */
VITRO_API int64_t vitro_eventlog_latest(vitro_eventlog *log, const char *topic);

/* Copies of events with an id greater than `after`, at most `limit` (0: all). The number of them.
 */
struct vitro_event_list {
    struct vitro_log_event *events;
    size_t count;
};
VITRO_API int64_t vitro_eventlog_read(vitro_eventlog *log, const char *topic, uint64_t after,
                                      size_t limit, struct vitro_event_list *ret,
                                      struct vitro_event_error *error);
VITRO_API void vitro_event_list_done(struct vitro_event_list *list);

/* How far a consumer has come, kept in the log. An ack moves forward only: 1 if it did. -ERANGE:
 * behind the last event. */
VITRO_API int vitro_eventlog_ack(vitro_eventlog *log, const char *topic, const char *consumer,
                                 uint64_t id, struct vitro_event_error *error);
VITRO_API int64_t vitro_eventlog_cursor(vitro_eventlog *log, const char *topic,
                                        const char *consumer);
/* Forgets events with an id less than `before`; ids stay as they are. The number forgotten. A
 * subscription that had not come so far has lagged. */
VITRO_API int64_t vitro_eventlog_compact(vitro_eventlog *log, const char *topic, uint64_t before,
                                         struct vitro_event_error *error);

/* ---- subscriptions */
#define VITRO_EVENTS_NEW UINT64_MAX /* as `after`: no history */
struct vitro_events_options {       /* all may be zero */
    size_t queue_max;               /* appends it may be behind, history not counted; 0 for 128 */
    int64_t ceiling_ns;             /* how long a receive waits, in real time; 0 for 45 s */
};

/* NULL with words. Borrows the log. */
VITRO_API vitro_events *vitro_events_subscribe(vitro_eventlog *log, const char *topic,
                                               uint64_t after,
                                               const struct vitro_events_options *options,
                                               struct vitro_event_error *error);
VITRO_API void vitro_events_free(vitro_events *events);
/* From any thread: who waits with it gets -ECANCELED, and so does who would wait later. */
VITRO_API void vitro_events_stop(vitro_events *events);
/* 1 with the next event, valid until the next call with this subscription. -EOVERFLOW, once: it
 * lagged behind, and words say how far; 0 after that: the stream has ended. -ETIMEDOUT: nothing
 * came within the ceiling; the words name `label`. -ECANCELED: the log or the
 * subscription was stopped. */
VITRO_API int vitro_events_receive(vitro_events *events, const char *label,
                                   struct vitro_log_event *ret, struct vitro_event_error *error);
/* The same without waiting: -EAGAIN when there is nothing now. */
VITRO_API int vitro_events_poll(vitro_events *events, struct vitro_log_event *ret,
                                struct vitro_event_error *error);
/* Proves that nothing else arrived: the next event has this kind (append it when all that could
 * tell has told), and none follows. -EEXIST names what did arrive. */
VITRO_API int vitro_events_barrier(vitro_events *events, const char *label, const char *kind,
                                   struct vitro_event_error *error);

#ifdef __cplusplus
}
#endif
#endif
