/* SPDX-License-Identifier: MIT */
/* Clocks and event logs at work, one task a run:
 *
 *     host_bench read COUNT       reads of a paused clock, through its interface
 *     host_bench time COUNT       clock_gettime of libc, or with libvitro_interpose preloaded
 *     host_bench sleepers COUNT   timers on a paused clock, armed in no order, fired by one advance
 *     host_bench append COUNT     events of 32 bytes to a log in memory, with a subscriber
 *     host_bench subscribe COUNT  subscribing to a topic of 1,000 events and receiving the last one
 *     host_bench wake COUNT       from an append to its reception in another thread, in real time
 *     host_bench append-file, append-sqlite, wake-file, wake-sqlite
 *                                 the same with a log in a file or a database of the directory
 *
 * Prints "NANOSECONDS ns" of CPU time, user and system, but for `wake`: the median of real times.
 * `sleepers` fails unless they fire by (deadline, order of arming). */
#include "base/buf.h"
#include "base/wall.h"
#include "vitro/clock.h"
#include "vitro/eventlog.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* One thread that never waits: its own CPU time is taken, or the neighbours on the machine would
 * decide the figure. */
static uint64_t cpu_ns(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return ((uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
            (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)) *
           1000;
}

static int64_t read_clock(uint64_t count)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    uint64_t sum = 0, started_ns = cpu_ns();

    for (uint64_t i = 0; i < count; i++)
        sum += (uint64_t)vitro_clock_now(clock);
    int64_t took_ns = (int64_t)(cpu_ns() - started_ns);
    if (sum != count * (uint64_t)vitro_clock_now(clock))
        return -1;
    vitro_clock_free(clock);
    return took_ns;
}

static int64_t read_time(uint64_t count)
{
    struct timespec now;
    int64_t sum = 0;
    uint64_t started_ns = cpu_ns();

    for (uint64_t i = 0; i < count; i++) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        sum += now.tv_nsec;
    }
    return sum < 0 ? -1 : (int64_t)(cpu_ns() - started_ns);
}

struct sleeper {
    struct vitro_clock_timer timer;
    int64_t at_ns;
};
static struct sleeper *last;
static uint64_t fired, wrong;

static void fire(struct vitro_clock_timer *timer)
{
    struct sleeper *sleeper = (struct sleeper *)timer;

    wrong +=
        last && (last->at_ns > sleeper->at_ns || (last->at_ns == sleeper->at_ns && last > sleeper));
    last = sleeper;
    fired++;
}

static int64_t wake_sleepers(uint64_t count)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct sleeper *sleepers = mem_alloc(count * sizeof *sleepers);
    uint64_t chance = 1;

    uint64_t started_ns = cpu_ns();
    for (uint64_t i = 0; i < count; i++) {
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sleepers[i] = (struct sleeper){.timer.fire = fire, .at_ns = (int64_t)(chance >> 44) + 1};
        (void)vitro_clock_arm(clock, &sleepers[i].timer, sleepers[i].at_ns);
    }
    int64_t woken = vitro_clock_advance(clock, INT64_C(1) << 21, NULL);
    int64_t took_ns = (int64_t)(cpu_ns() - started_ns);
    vitro_clock_free(clock);
    free(sleepers);
    return wrong || (uint64_t)woken != count || fired != count ? -1 : took_ns;
}

/* A log of its own, by the store behind it. */
static vitro_eventlog *log_in_memory(void)
{
    return vitro_eventlog_memory();
}

static vitro_eventlog *log_in_file(void)
{
    (void)unlink("bench.log");
    return vitro_eventlog_open("bench.log", NULL, NULL);
}

static vitro_eventlog *log_in_database(void)
{
    (void)unlink("bench.db");
    (void)unlink("bench.db-wal");
    return vitro_eventlog_open_sqlite("bench.db", NULL, NULL);
}

static int64_t append_to(vitro_eventlog *log, uint64_t count)
{
    static const char data[32] = "a job was taken by worker seven";

    if (!log)
        return -1;
    vitro_events *events = vitro_events_subscribe(
        log, "jobs", 0, &(struct vitro_events_options){.queue_max = count}, NULL);

    uint64_t started_ns = cpu_ns();
    for (uint64_t i = 0; i < count; i++)
        (void)vitro_eventlog_append(log, "jobs", "taken", data, sizeof data, NULL);
    int64_t took_ns = (int64_t)(cpu_ns() - started_ns);
    if (vitro_eventlog_latest(log, "jobs") != (int64_t)count)
        took_ns = -1;
    vitro_events_free(events);
    vitro_eventlog_free(log);
    return took_ns;
}

static int64_t append(uint64_t count)
{
    return append_to(log_in_memory(), count);
}

static int64_t append_file(uint64_t count)
{
    return append_to(log_in_file(), count);
}

static int64_t append_sqlite(uint64_t count)
{
    return append_to(log_in_database(), count);
}

static int64_t subscribe(uint64_t count)
{
    enum { HISTORY = 1000 };
    vitro_eventlog *log = vitro_eventlog_memory();
    uint64_t received = 0;

    for (int i = 0; i < HISTORY; i++)
        (void)vitro_eventlog_append(log, "jobs", "taken", NULL, 0, NULL);
    uint64_t started_ns = cpu_ns();
    for (uint64_t i = 0; i < count; i++) {
        struct vitro_log_event event;
        vitro_events *events = vitro_events_subscribe(log, "jobs", HISTORY - 1, NULL, NULL);
        received +=
            vitro_events_receive(events, "the last", &event, NULL) == 1 && event.id == HISTORY;
        vitro_events_free(events);
    }
    int64_t took_ns = (int64_t)(cpu_ns() - started_ns);
    vitro_eventlog_free(log);
    return received == count ? took_ns : -1;
}

/* ---- from thread to thread */

struct echo {
    vitro_eventlog *log;
    uint64_t count;
    uint64_t *took_ns;
};

static int echo(void *arg)
{
    struct echo *self = arg;
    vitro_events *events = vitro_events_subscribe(self->log, "there", 0, NULL, NULL);
    struct vitro_log_event event;

    for (uint64_t i = 0; i < self->count; i++) {
        uint64_t sent_ns;
        if (vitro_events_receive(events, "a ping", &event, NULL) != 1)
            break;
        memcpy(&sent_ns, event.data, sizeof sent_ns);
        self->took_ns[i] = wall_monotonic_ns() - sent_ns;
        (void)vitro_eventlog_append(self->log, "back", "pong", NULL, 0, NULL);
    }
    vitro_events_free(events);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int64_t wake_by(vitro_eventlog *log, uint64_t count)
{
    struct echo self = {log, count, mem_alloc((count + 1) * sizeof(uint64_t))};

    if (!log)
        return -1;
    vitro_events *back = vitro_events_subscribe(self.log, "back", 0, NULL, NULL);
    vitro_worker *worker = vitro_worker_start(NULL, echo, &self);
    struct vitro_log_event event;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t now_ns = wall_monotonic_ns();
        (void)vitro_eventlog_append(self.log, "there", "ping", &now_ns, sizeof now_ns, NULL);
        (void)vitro_events_receive(back, "a pong", &event, NULL);
    }
    (void)vitro_worker_join(worker);
    qsort(self.took_ns, count, sizeof(uint64_t), by_size);
    int64_t median_ns = (int64_t)self.took_ns[count / 2];
    vitro_events_free(back);
    vitro_eventlog_free(self.log);
    free(self.took_ns);
    return median_ns;
}

static int64_t wake(uint64_t count)
{
    return wake_by(log_in_memory(), count);
}

static int64_t wake_file(uint64_t count)
{
    return wake_by(log_in_file(), count);
}

static int64_t wake_sqlite(uint64_t count)
{
    return wake_by(log_in_database(), count);
}

static const struct {
    const char *name;
    int64_t (*run)(uint64_t count);
} tasks[] = {{"read", read_clock},         {"time", read_time},
             {"sleepers", wake_sleepers},  {"append", append},
             {"subscribe", subscribe},     {"wake", wake},
             {"append-file", append_file}, {"append-sqlite", append_sqlite},
             {"wake-file", wake_file},     {"wake-sqlite", wake_sqlite}};

int main(int argc, char **argv)
{
    int64_t ns = -1;

    for (size_t i = 0; argc > 2 && i < ARRAY_LENGTH(tasks); i++)
        if (strcmp(argv[1], tasks[i].name) == 0)
            ns = tasks[i].run(strtoull(argv[2], NULL, 10));
    if (ns < 0)
        return 1;
    printf("%lld ns\n", (long long)ns);
    return 0;
}
