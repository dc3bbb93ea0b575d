/* SPDX-License-Identifier: MIT */
/* service: the state of a server in a test's process. Public face: include/vitro/service.h.
 *
 * One lock. It is taken before the lock of the log and of the given clock, never behind them: no
 * event is appended and no foreign code called while it is held. Whoever waits is on the list of
 * waits, and whoever wakes one counts its worker as running for the clock before it runs
 * (src/clock/paused.c): an advance cannot overtake who was woken. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "vitro/service.h"
#include <pthread.h>
#include <stdbool.h>

#define SERVICE_DEADLINE_NS INT64_C(45000000000)

struct wait {
    struct wait *next;
    pthread_cond_t wake;
    bool waiting;
    bool for_jobs;             /* a change of the jobs wakes it, too */
    bool for_release;          /* a release does */
    struct vitro_clock *clock; /* of the worker that waits; NULL: no worker of it */
};

struct part {
    vitro_service *service;
    char *name; /* owned; "run", "crons", "pump 'orders'" */
    int (*main)(struct part *part);
    vitro_worker *worker;
    pthread_t thread;
    bool started, running, ended; /* running: has a thread */
    bool busy;                    /* behind the gate */
    int result;
    char *doing; /* owned; NULL: nothing that has a name */
    /* of a pump */
    char *consumer; /* owned */
    vitro_events *events;
    int (*handle)(void *arg, const struct vitro_log_event *event);
    void *arg;
};

struct job {
    char *name; /* owned */
    vitro_cron *cron;
    enum vitro_cron_missed missed;
    int (*run)(void *arg, int64_t due_ns);
    void *arg;
    int64_t next_ns; /* INT64_MAX: never again */
    bool running, gone;
};

struct vitro_service {
    struct vitro_clock clock; /* the service's own; service_clock.c */
    struct vitro_clock *inner;
    enum { INNER_REAL, INNER_PAUSED, INNER_OTHER } kind;
    struct vitro_service_options options; /* texts owned */
    vitro_eventlog *log;
    bool owns_log;
    int listener, stop_fd; /* the latter is readable once the service is stopped */
    int port;
    char *url;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* ready, busy, ended */
    struct wait *waits;
    bool ready, stopping, held, joining, joined, overdue;
    struct part main, crons;
    struct part **pumps; /* owned */
    size_t pump_count;
    struct job **jobs; /* owned, in the order they were added */
    size_t job_count;
};

static inline struct err *service_err(struct vitro_clock_error *error)
{
    return (struct err *)error; /* one layout: asserted in src/clock */
}

/* ---- service_clock.c */
void service_clock_init(vitro_service *service, struct vitro_clock *inner);
/* With the lock held, which it lets go meanwhile. Until somebody wakes it. */
void service_wait(vitro_service *service, struct wait *wait);
void service_wake(struct wait *wait);
/* The same until a time of day: 0 when it has come, -EAGAIN when woken before. */
int service_wait_until(vitro_service *service, struct wait *wait, int64_t now_ns);

/* ---- service_net.c */
int service_listen(vitro_service *service, struct err *err);

/* ---- service_parts.c */
int service_crons_main(struct part *part);
int service_pump_main(struct part *part);
void service_job_free(struct job *job);

/* ---- service_hold.c */
/* Before and after a job or an event. -ECANCELED: the service is stopped. Takes `doing`. */
int service_gate_enter(struct part *part, char *doing);
void service_gate_leave(struct part *part);

/* ---- service.c */
struct part *service_part_at(vitro_service *service, size_t i); /* NULL behind the last */
/* Names the parts that `are`, and counts them; with the lock held. */
size_t service_parts_add(vitro_service *service, bool (*are)(const struct part *part),
                         struct buf *names);
/* Until something changes, or the real time has come: then -ETIMEDOUT. With the lock held. */
int service_await_change(vitro_service *service, uint64_t until_ns);
double service_seconds(int64_t ns);
void service_tell(vitro_service *service, const char *kind, const char *format, ...)
    PRINTF_LIKE(3, 4);
void service_failed(struct part *part, const char *what, int result);
