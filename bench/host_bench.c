/* SPDX-License-Identifier: MIT */
/* Clocks at work, one task a run:
 *
 *     host_bench read COUNT       reads of a paused clock, through its interface
 *     host_bench sleepers COUNT   timers on a paused clock, armed in no order, fired by one advance
 *
 * Prints "NANOSECONDS ns" of CPU time, user and system. `sleepers` fails unless they fire by
 * (deadline, order of arming). */
#include "base/buf.h"
#include "vitro/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

int main(int argc, char **argv)
{
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    int64_t ns = -1;

    if (argc > 2 && strcmp(argv[1], "read") == 0)
        ns = read_clock(count);
    else if (argc > 2 && strcmp(argv[1], "sleepers") == 0)
        ns = wake_sleepers(count);
    if (ns < 0)
        return 1;
    printf("%lld ns\n", (long long)ns);
    return 0;
}
