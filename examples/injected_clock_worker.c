/* SPDX-License-Identifier: MIT */
/* A worker that takes its clock as an argument: a heartbeat every minute, a report every hour, and
 * a lease that ends at a time of day. In production it gets vitro_clock_real(); here a whole day of
 * it takes no time, and every beat stands where it belongs. */
#include "tap.h"
#include "vitro/clock.h"
#include "vitro/leaks.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE INT64_C(60000000000)
#define HOUR   (60 * MINUTE)

/* ---- the program: knows nothing of tests */

struct service {
    struct vitro_clock *clock;
    int64_t lease_until_ns;
    int beats, reports;
    int64_t last_beat_ns;
};

static int heartbeat(void *arg)
{
    struct service *service = arg;

    while (vitro_clock_now(service->clock) < service->lease_until_ns) {
        if (vitro_clock_sleep(service->clock, MINUTE) < 0)
            return -ECANCELED;
        service->beats++;
        service->last_beat_ns = vitro_clock_now(service->clock);
    }
    return 0;
}

static int report(void *arg)
{
    struct service *service = arg;

    while (vitro_clock_sleep(service->clock, HOUR) == 0) {
        service->reports++;
        (void)vitro_leak_now("report/stamp"); /* a look past the clock: the audit finds it */
    }
    return 0;
}

/* ---- its test */

int main(void)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    int64_t start_ns = vitro_clock_now(clock);
    struct service service = {.clock = clock, .lease_until_ns = start_ns + 24 * HOUR};
    struct vitro_clock_error error = {0};
    vitro_leaks *leaks = vitro_leaks_new(NULL);

    {
        VITRO_LEAKS(leaks);
        VITRO_MOCK(clock);
        vitro_worker *beats = vitro_worker_start(clock, heartbeat, &service);
        vitro_worker *reports = vitro_worker_start(clock, report, &service);

        tap(vitro_clock_advance(clock, MINUTE - 1, &error) == 0, "nothing beats before a minute");
        tap(vitro_clock_advance(clock, 1, &error) == 1 && service.beats == 1,
            "the first beat comes with the minute");
        tap(vitro_clock_advance(clock, 24 * HOUR - MINUTE, &error) == 24 * 60 - 1 + 24,
            "one advance wakes both workers at each of their deadlines");
        tap(service.beats == 24 * 60 && service.reports == 24,
            "a day has 1440 beats and 24 reports");
        tap(service.last_beat_ns == start_ns + 24 * HOUR, "the last beat sees its own time");
        tap(vitro_worker_join(beats) == 0, "the lease ended the heartbeat");
        vitro_clock_stop(clock);
        tap(vitro_worker_join(reports) == 0, "a stopped clock ended the reports");
    }
    char *text = vitro_leaks_text(leaks);
    tap(strcmp(text, "report/stamp 24\n") == 0, "the audit names who looked at the real clock");
    tap_note(error.text);
    free(text);
    vitro_leaks_free(leaks);
    vitro_clock_free(clock);
    return tap_end();
}
