/* SPDX-License-Identifier: MIT */
/* A service with a nightly job, an inbox and a port, and its test: thirty days of it in the time it
 * takes to run the job thirty times. The summer time that begins on 29 March leaves out half past
 * two, and the report comes all the same. */
#include "tap.h"
#include "vitro/retry.h"
#include "vitro/service.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOUR (3600 * INT64_C(1000000000))
#define DAY  (24 * HOUR)

/* ---- the program: knows nothing of tests */

struct reporter {
    const vitro_zone *zone;
    const char *schedule;
    vitro_service *service;
    int reports, refusals;
    int64_t due_ns[64];
};

/* The archive refuses twice, every night. */
static int upload(void *arg, uint32_t number)
{
    struct reporter *reporter = arg;

    reporter->refusals += number <= 2;
    return number <= 2 ? -EAGAIN : 0;
}

static int report(void *arg, int64_t due_ns)
{
    struct reporter *reporter = arg;
    struct vitro_retry_options patience = {.first_ns = 60 * INT64_C(1000000000), .tries_max = 5};
    int r = vitro_retry("upload the report", NULL, &patience, upload, reporter, NULL);

    if (r == 0)
        reporter->due_ns[reporter->reports++ % 64] = due_ns;
    return r;
}

static int answer(void *arg, const struct vitro_log_event *event)
{
    struct reporter *reporter = arg;

    return (int)vitro_eventlog_append(vitro_service_log(reporter->service), "answers", event->kind,
                                      "done", 4, NULL) < 0;
}

static int configure(vitro_service *self, void *arg)
{
    struct reporter *reporter = arg;

    return vitro_service_cron(self, "report", reporter->schedule, reporter->zone, NULL, report,
                              reporter, NULL);
}

static int serve(vitro_service *self, void *arg)
{
    struct reporter *reporter = arg;
    int fd, r = configure(self, arg);

    reporter->service = self;
    if (r < 0 || (r = vitro_service_pump(self, "inbox", "reporter", answer, arg, NULL)) < 0)
        return r;
    vitro_service_ready(self);
    while ((fd = vitro_service_accept(self)) >= 0)
        (void)close(fd);
    return 0;
}

/* ---- its test */

static double elapsed_us(const struct timespec *since)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e6 +
           (double)(now.tv_nsec - since->tv_nsec) / 1e3;
}

int main(void)
{
    struct vitro_clock_error error = {0};
    struct vitro_clock *clock = vitro_clock_paused(
        &(struct vitro_paused_options){.now_ns = INT64_C(1772578800000000000)}); /* 4 March */
    vitro_zone *berlin = vitro_zone_open("Europe/Berlin", &error);
    struct reporter reporter = {.zone = berlin, .schedule = "30 2 * * *"};
    struct timespec started;

    vitro_service *service =
        vitro_service_start(&(struct vitro_service_options){.name = "reporter",
                                                            .clock = clock,
                                                            .run = serve,
                                                            .reload = configure,
                                                            .arg = &reporter},
                            &error);
    tap(service && vitro_service_port(service) > 0, "the service is ready, at a port of its own");
    if (!service) {
        tap_note(error.text);
        return tap_end();
    }

    (void)clock_gettime(CLOCK_MONOTONIC, &started);
    (void)vitro_clock_advance(clock, 30 * DAY, &error);
    printf("# 30 days took %.0f us\n", elapsed_us(&started));
    tap(reporter.reports == 30 && reporter.refusals == 60, "thirty days are thirty reports");
    tap(vitro_eventlog_latest(vitro_service_log(service), "cron") == 30, "and thirty events");
    tap(reporter.due_ns[25] - reporter.due_ns[24] == DAY - HOUR / 2 &&
            reporter.due_ns[26] - reporter.due_ns[25] == DAY - HOUR / 2,
        "the night that has no half past two has its report at the change");

    vitro_events *answers =
        vitro_events_subscribe(vitro_service_log(service), "answers", 0, NULL, NULL);
    struct vitro_log_event event = {0};
    (void)vitro_service_pause(service, 0, &error);
    (void)vitro_eventlog_append(vitro_service_log(service), "inbox", "question", NULL, 0, NULL);
    tap(vitro_events_poll(answers, &event, NULL) == -EAGAIN, "a held pump answers nothing");
    vitro_service_release(service);
    tap(vitro_events_receive(answers, "an answer", &event, NULL) == 1 &&
            strcmp(event.kind, "question") == 0,
        "a released one does");

    reporter.schedule = "@hourly";
    reporter.reports = 0;
    tap(vitro_service_reload(service, &error) == 0, "a reload reads the schedule again");
    (void)vitro_clock_advance(clock, DAY + HOUR / 2, &error);
    tap(reporter.reports == 24, "and a day has twenty-four reports");

    tap(vitro_service_shutdown(service, 0, &error) == 0, "it shuts down");
    tap(vitro_service_shutdown(service, 0, &error) == 0, "twice is once");
    tap(vitro_clock_sleepers(clock) == 0, "and leaves nothing on the clock");
    tap_note(error.text);
    vitro_events_free(answers);
    vitro_service_free(service);
    vitro_zone_free(berlin);
    vitro_clock_free(clock);
    return tap_end();
}
