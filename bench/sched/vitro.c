/* SPDX-License-Identifier: MIT */
/* What the scheduler costs. One line a measure: name, nanoseconds (or another unit in the name),
 * the best of several rounds, since the machine is shared. */
#include "sched/explore.h"
#include "sched/switch.h"
#include "base/fd.h"
#include "base/wall.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 25 };
static uint64_t begun;

static void start(void)
{
    begun = wall_monotonic_ns();
}
static double elapsed(void)
{
    return (double)(wall_monotonic_ns() - begun);
}
static void best(double *so_far, double value)
{
    if (*so_far == 0 || value < *so_far)
        *so_far = value;
}
static void say(const char *name, double value)
{
    printf("%s %.1f\n", name, value);
}

/* ---- switch */

static void *here, *there;
static void echo(void *arg)
{
    (void)arg;
    for (;;)
        vitro__switch(&there, here);
}
static void bench_switch(void)
{
    enum { N = 2000000 };
    double ns = 0;
    struct stack *stack = stack_take(0);

    there = switch_prepare(stack->low, stack->size, echo, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        start();
        for (int i = 0; i < N; i++)
            vitro__switch(&here, there);
        best(&ns, elapsed() / (2.0 * N));
    }
    say("switch_ns", ns);
}

/* ---- steps */

struct load {
    long tasks, yields;
};
static int yields(void *arg)
{
    for (long n = ((struct load *)arg)->yields; n > 0; n--)
        vitro_yield();
    return 0;
}
static int spread(void *arg)
{
    struct load *load = arg;
    vitro_task **tasks = malloc((size_t)load->tasks * sizeof *tasks);

    for (long i = 0; i < load->tasks; i++)
        tasks[i] = vitro_spawn(yields, load);
    for (long i = 0; i < load->tasks; i++)
        vitro_join(tasks[i]);
    free(tasks);
    return 0;
}
static void bench_steps(const char *name, long tasks, enum vitro_strategy strategy)
{
    struct load load = {tasks, 300000 / tasks};
    double ns = 0;

    for (int r = 0; r < ROUNDS; r++) {
        vitro_sched *sched =
            vitro_sched_new(.strategy = strategy, .seed = 1, .max_steps = UINT32_MAX);
        start();
        (void)vitro_run(sched, spread, &load);
        best(&ns, elapsed() / (double)sched->core.steps);
        vitro_sched_free(sched);
    }
    say(name, ns);
}

/* ---- spawn */

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}
static double spawn_ns, cycle_ns;
static int spawner(void *arg)
{
    enum { N = 1000 };
    vitro_task *tasks[N];

    (void)arg;
    for (int r = 0; r < 300; r++) {
        start();
        for (int i = 0; i < N; i++)
            tasks[i] = vitro_spawn(nothing, NULL);
        best(&spawn_ns, elapsed() / N);
        for (int i = 0; i < N; i++)
            vitro_join(tasks[i]);
        start();
        for (int i = 0; i < N; i++)
            vitro_join(vitro_spawn(nothing, NULL));
        best(&cycle_ns, elapsed() / N);
    }
    return 0;
}

/* ---- sleepers */

static int an_hour(void *arg)
{
    (void)arg;
    return vitro_sleep(VITRO_SEC(3600));
}
static int sleepers(void *arg)
{
    enum { N = 100000 };
    static vitro_task *tasks[N];

    (void)arg;
    for (int i = 0; i < N; i++)
        tasks[i] = vitro_spawn(an_hour, NULL);
    for (int i = 0; i < N; i++)
        vitro_join(tasks[i]);
    return 0;
}
static void bench_sleepers(void)
{
    double cold = 0, warm = 0;

    for (int r = 0; r < ROUNDS + 3; r++) {
        vitro_sched *sched = vitro_sched_new();
        start();
        (void)vitro_run(sched, sleepers, NULL);
        double ms = elapsed() / 1e6;
        if (r == 0)
            cold = ms;
        else
            best(&warm, ms);
        vitro_sched_free(sched);
    }
    say("sleepers_100k_first_ms", cold);
    say("sleepers_100k_ms", warm);
}

/* ---- timers */

static uint64_t state = 88172645463325252u;
static uint64_t number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 20;
}
static void bench_timers(void)
{
    enum { MILLION = 1000000, MORE = 100000 };
    struct timer *all = mem_alloc((MILLION + MORE) * sizeof *all);
    struct timers timers = {0};
    double insert = 0, cancel = 0, fire = 0;

    for (int i = 0; i < MILLION; i++)
        timer_arm(&timers, &all[i], number(), false);
    for (int r = 0; r < ROUNDS; r++) {
        start();
        for (int i = 0; i < MORE; i++)
            timer_arm(&timers, &all[MILLION + i], number(), false);
        best(&insert, elapsed() / MORE);
        start();
        for (int i = 0; i < MORE; i++)
            timer_cancel(&timers, &all[MILLION + i]);
        best(&cancel, elapsed() / MORE);
    }
    for (int r = 0; r < ROUNDS; r++) {
        start();
        for (int i = 0; i < MORE / 10; i++)
            (void)timers_pop(&timers);
        best(&fire, elapsed() / (MORE / 10));
    }
    say("timer_insert_1m_ns", insert);
    say("timer_cancel_1m_ns", cancel);
    say("timer_fire_1m_ns", fire);
    timers_done(&timers);
    free(all);
}

/* ---- schedules */

static int sections(void *arg)
{
    for (int i = 0; i < 2; i++) {
        vitro_lock((struct vitro_mutex *)arg);
        vitro_unlock((struct vitro_mutex *)arg);
    }
    return 0;
}
static int two_by_two(void *arg)
{
    struct vitro_mutex mutex = {0};
    vitro_task *a = vitro_spawn(sections, &mutex), *b = vitro_spawn(sections, &mutex);

    (void)arg;
    vitro_join(a);
    vitro_join(b);
    return 0;
}
static int add(void *arg)
{
    int *value = arg, seen = *value;

    vitro_yield();
    *value = seen + 1;
    return 0;
}
static int lost_update(void *arg)
{
    int value = 0;
    vitro_task *tasks[3];

    (void)arg;
    for (int i = 0; i < 3; i++)
        tasks[i] = vitro_spawn(add, &value);
    for (int i = 0; i < 3; i++)
        vitro_join(tasks[i]);
    return 0;
}
static void bench_schedules(const char *name, vitro_fn fn, enum vitro_strategy strategy)
{
    enum { N = 50000 };
    double ns = 0;

    for (int r = 0; r < ROUNDS; r++) {
        start();
        struct vitro_verdict v = vitro_check_with(
            fn, NULL, &(struct vitro_check_options){.strategy = strategy, .schedules = N});
        best(&ns, elapsed() / N);
        vitro_verdict_done(&v);
    }
    say(name, 1e9 / ns);
}
static void bench_prove(void)
{
    struct vitro_verdict v = vitro_prove(two_by_two, NULL);

    say("two_by_two_proof_executions", (double)(v.schedules + v.cut));
    vitro_verdict_done(&v);
}
static size_t resident_kb(void)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (file_read("/proc/self/status", 1 << 20, &text, NULL) < 0)
        return 0;
    const char *line = strstr(text.data, "VmRSS:");
    return line ? strtoul(line + 6, NULL, 10) : 0;
}
static void bench_memory(uint64_t schedules)
{
    struct vitro_verdict v = vitro_check(two_by_two, NULL, .strategy = VITRO_RANDOM);
    vitro_verdict_done(&v);
    size_t before = resident_kb();
    v = vitro_check_with(
        two_by_two, NULL,
        &(struct vitro_check_options){.strategy = VITRO_RANDOM, .schedules = schedules});
    vitro_verdict_done(&v);
    printf("memory_growth_kb_over_%llu_schedules %ld\n", (unsigned long long)schedules,
           (long)resident_kb() - (long)before);
}

int main(int argc, char **argv)
{
    bench_memory(argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000);
    bench_switch();
    bench_steps("step_10_fifo_ns", 10, VITRO_FIFO);
    bench_steps("step_10_random_ns", 10, VITRO_RANDOM);
    bench_steps("step_1000_fifo_ns", 1000, VITRO_FIFO);
    bench_steps("step_1000_random_ns", 1000, VITRO_RANDOM);
    vitro_sched *sched = vitro_sched_new();
    (void)vitro_run(sched, spawner, NULL);
    vitro_sched_free(sched);
    say("spawn_ns", spawn_ns);
    say("spawn_run_join_ns", cycle_ns);
    bench_timers();
    bench_schedules("two_by_two_random_per_s", two_by_two, VITRO_RANDOM);
    bench_schedules("two_by_two_pct_per_s", two_by_two, VITRO_PCT);
    bench_schedules("two_by_two_pos_per_s", two_by_two, VITRO_POS);
    bench_schedules("lost_update_3_random_per_s", lost_update, VITRO_RANDOM);
    bench_prove();
    bench_sleepers();
    return 0;
}
