/* SPDX-License-Identifier: MIT */
/* A server inside the process of its test: started, told, held, reloaded and shut down by calls, on
 * the clock that is handed in. No subprocess, no fixed port, no sleep.
 *
 *     static int serve(vitro_service *self, void *arg)                the server
 *     {
 *         vitro_service_cron(self, "nightly", "0 3 * * *", zone, NULL, report, arg, NULL);
 *         vitro_service_ready(self);
 *         int fd;
 *         while ((fd = vitro_service_accept(self)) >= 0)
 *             answer(fd);
 *         return 0;
 *     }
 *
 *     vitro_service *s = vitro_service_start(                         its test
 *         &(struct vitro_service_options){.clock = paused, .run = serve, .arg = &state}, &error);
 *     connect_to(vitro_service_port(s));
 *     vitro_clock_advance(paused, 30 * DAY, &clock_error);            30 reports
 *     vitro_service_shutdown(s, 0, &error);
 *     vitro_service_free(s);
 *
 * PARTS of a service are `run`, its crons (one thread runs all jobs, by time and then in the order
 * they were added) and its pumps (one thread a topic). Each is a worker of vitro/clock.h, so that a
 * paused clock waits for them; in each the clock in force is the service's own, which is the given
 * one, except that its sleeps end with -ECANCELED when the service is stopped. A given clock of
 * another making, or one that records, cannot be left early: stopping the service stops it.
 *
 * A paused clock does not know of bytes on their way: before it is advanced past something a
 * request causes, wait for an event of the log that says the request was taken.
 *
 * The log has a topic "service" with the events "ready", "reloaded", "failed", "stopping" and
 * "stopped", and a topic "cron" with an event for each run, whose kind is the name of the job.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: all of this may be called from any thread. */
#ifndef VITRO_SERVICE_H
#define VITRO_SERVICE_H

#include "vitro/clock.h"
#include "vitro/cron.h"
#include "vitro/eventlog.h"
#include <poll.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_service vitro_service;

struct vitro_service_options { /* all but `run` may be zero */
    const char *name;          /* for words; NULL for "service". Copied, like all texts */
    struct vitro_clock *clock; /* borrowed; NULL: the clock in force */
    vitro_eventlog *log;       /* borrowed; NULL: one of its own, in memory */
    const char *state_dir;     /* for the server; NULL: none */
    const char *address;       /* numeric; NULL for 127.0.0.1 */
    uint16_t port;             /* 0: one that is free */
    int no_listener;
    /* The server. It calls vitro_service_ready when it is, and returns when it is stopped, or
     * before: crons and pumps go on. A failure is what vitro_service_shutdown returns. */
    int (*run)(vitro_service *self, void *arg);
    /* Called by vitro_service_reload while crons and pumps are held. May be NULL. */
    int (*reload)(vitro_service *self, void *arg);
    void *arg;
    int64_t ceiling_ns; /* how long starting waits, in real time; 0 for 45 s */
};

/* ---- for the test */

/* Returns when the server is ready. NULL with words: the port is in use, `run` failed before it was
 * ready, or it was not ready within the ceiling. */
VITRO_API vitro_service *vitro_service_start(const struct vitro_service_options *options,
                                             struct vitro_clock_error *error);
/* Holds crons and pumps before their next job or event, and returns when none is at work, at most
 * so long in real time (0 for 45 s). -ETIMEDOUT names who still is, and nothing is held. -EDEADLK:
 * from such work. Twice is once. */
VITRO_API int vitro_service_pause(vitro_service *service, int64_t deadline_ns,
                                  struct vitro_clock_error *error);
VITRO_API void vitro_service_release(vitro_service *service);
/* Holds, calls the server's `reload` in this thread, releases (unless it was held before), and
 * returns what it returned. -ENOTSUP: it has none. */
VITRO_API int vitro_service_reload(vitro_service *service, struct vitro_clock_error *error);
/* The trigger alone: everything is told to end, and nobody is waited for. */
VITRO_API void vitro_service_stop(vitro_service *service);
/* Stops it and waits until all parts have ended, at most so long in real time (0 for 45 s).
 * -ETIMEDOUT names what has not ended and what it is doing; it may be called again. Otherwise the
 * failure of `run`, if it failed; a second call returns the same as the first. -EDEADLK: from one
 * of its parts. */
VITRO_API int vitro_service_shutdown(vitro_service *service, int64_t deadline_ns,
                                     struct vitro_clock_error *error);
/* Shuts it down, if nobody has. What would not end keeps its memory. NULL: nothing. */
VITRO_API void vitro_service_free(vitro_service *service);

/* ---- for both; borrowed */
VITRO_API struct vitro_clock *vitro_service_clock(vitro_service *service);
VITRO_API vitro_eventlog *vitro_service_log(vitro_service *service);
VITRO_API const char *vitro_service_state_dir(const vitro_service *service); /* NULL: none */
VITRO_API int vitro_service_port(const vitro_service *service);              /* 0: no listener */
VITRO_API const char *vitro_service_url(const vitro_service *service); /* "http://127.0.0.1:4711" */
VITRO_API int vitro_service_is_stopping(vitro_service *service);

/* ---- for the server */

VITRO_API void vitro_service_ready(vitro_service *service);
/* A job. One of the same name takes the place of the old one. -EINVAL with words: vitro_cron_parse
 * refused the text. Borrows the zone. A failure of the job is an event "failed", and it stays. */
VITRO_API int vitro_service_cron(vitro_service *service, const char *name, const char *text,
                                 const vitro_zone *zone, const struct vitro_cron_options *options,
                                 int (*job)(void *arg, int64_t due_ns), void *arg,
                                 struct vitro_clock_error *error);
VITRO_API int vitro_service_cron_remove(vitro_service *service, const char *name); /* or -ENOENT */
/* Calls `handle` with each event of a topic. With a consumer it begins behind that consumer's last
 * ack, and acks what was handled, so that a service that starts again goes on; without, at the
 * first event there is. A failure is an event "failed", and the next event is next. -EBUSY: the
 * service is ready already. */
VITRO_API int vitro_service_pump(vitro_service *service, const char *topic, const char *consumer,
                                 int (*handle)(void *arg, const struct vitro_log_event *event),
                                 void *arg, struct vitro_clock_error *error);
VITRO_API int vitro_service_listener(const vitro_service *service); /* an fd; -1: none */
/* The next connection, to be closed by the caller; -ECANCELED when the service is stopped. */
VITRO_API int vitro_service_accept(vitro_service *service);
/* poll(2), with a timeout on the service's clock (less than 0: none) and -ECANCELED when it is
 * stopped. -ENOTSUP: a timeout on a clock that is neither real nor paused. */
VITRO_API int vitro_service_poll(vitro_service *service, struct pollfd *fds, size_t count,
                                 int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
