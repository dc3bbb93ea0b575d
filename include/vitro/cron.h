/* SPDX-License-Identifier: MIT */
/* Cron: when something is to happen, as crontab(5) writes it, in any time zone, on any clock.
 *
 *     vitro_cron *cron = vitro_cron_parse("30 2 * * mon-fri", zone, &error);
 *     int64_t next_ns;
 *     vitro_cron_next(cron, vitro_clock_now(clock), &next_ns);
 *     vitro_cron_run(cron, clock, NULL, backup, &db, &error);         until the clock is stopped
 *
 *     field          values              names
 *     minute         0-59
 *     hour           0-23
 *     day of month   1-31
 *     month          1-12                jan-dec
 *     day of week    0-7, 0 and 7 Sunday sun-sat
 *
 * A field is '*', or a list "1,15,20-25"; a '*' or a range may have a step, "0-30/10". If both days
 * are restricted (neither begins with '*') either is enough; else both must hold. Instead of
 * fields:
 * "@hourly", "@daily" or "@midnight", "@weekly", "@monthly", "@yearly" or "@annually", and
 * "@every 1h30m", which is so much time after the last one, whatever clocks on the wall show.
 *
 * WHEN CLOCKS CHANGE: a job that runs in every hour of the day follows the hours that pass: an hour
 * that comes twice has its runs twice, one that is left out has none. Any other job follows the
 * clock on the wall: it runs the first time only where an hour comes twice, and what falls into an
 * hour that is left out runs once, at the change. (docs/decisions/0080)
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: a schedule does not change: any number of threads may use it. */
#ifndef VITRO_CRON_H
#define VITRO_CRON_H

#include "vitro/clock.h"
#include "vitro/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_cron vitro_cron;

/* Borrows the zone (NULL: UTC), copies the text. NULL with words that name the column and the
 * closest form. */
VITRO_API vitro_cron *vitro_cron_parse(const char *text, const vitro_zone *zone,
                                       struct vitro_clock_error *error);
VITRO_API void vitro_cron_free(vitro_cron *cron);
VITRO_API const char *vitro_cron_text(const vitro_cron *cron);

/* The first time after `after_ns`. -ERANGE: past the year 2261. */
VITRO_API int vitro_cron_next(const vitro_cron *cron, int64_t after_ns, int64_t *ret_ns);

/* Calls `job` at each time, with the time it was due, and returns what it returned when that is not
 * 0, -ECANCELED when the clock was stopped, -ERANGE at the end of time. A clock set back repeats
 * nothing: runs wait until it has passed the last one again. */
enum vitro_cron_missed { /* times that passed while a job ran, or that a clock was set past */
                         VITRO_CRON_ONCE, /* one run for all of them, with the last time */
                         VITRO_CRON_SKIP, /* none */
                         VITRO_CRON_ALL,  /* one run for each, in order */
};
struct vitro_cron_options { /* all may be zero */
    enum vitro_cron_missed missed;
};
VITRO_API int vitro_cron_run(const vitro_cron *cron, struct vitro_clock *clock,
                             const struct vitro_cron_options *options,
                             int (*job)(void *arg, int64_t due_ns), void *arg,
                             struct vitro_clock_error *error);

#ifdef __cplusplus
}
#endif
#endif
