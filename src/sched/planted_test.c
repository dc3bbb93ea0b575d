/* SPDX-License-Identifier: MIT */
/* Twelve planted bugs of depth 1 to 3. PCT must find each within the number of runs that its bound
 * promises with a chance of 999 in 1000: 7 n k^(d-1) runs for n tasks and k choices; POS and SURW
 * are given the same number. Each failure is made small, down to the known fewest preemptions, and
 * replays 100 times out of 100. With the bug taken out, the proof is complete. */
#include "sched/explore.h"
#include "lib/check.h"
#include <math.h>

struct shared {
    int x, y, z;
    struct vitro_mutex a, b, c;
    struct vitro_cond cond;
    bool fixed; /* the bug is taken out */
};

typedef int (*body)(struct shared *s);
struct part {
    struct shared *shared;
    body run;
};

static int run_part(void *arg)
{
    struct part *part = arg;

    return part->run(part->shared);
}

static int get(int *place)
{
    vitro_read(place);
    return *place;
}

static void put(int *place, int value)
{
    vitro_write(place);
    *place = value;
}

/* Runs the bodies as tasks; the first failure of any. */
static int together(struct shared *s, const body *bodies, int n)
{
    struct part parts[4];
    vitro_task *tasks[4];
    int result = 0;

    for (int i = 0; i < n; i++) {
        parts[i] = (struct part){s, bodies[i]};
        tasks[i] = vitro_spawn(run_part, &parts[i]);
    }
    for (int i = 0; i < n; i++) {
        int r = vitro_join(tasks[i]);
        result = result ? result : r;
    }
    return result;
}
#define TOGETHER(s, ...)                                                                           \
    together(s, (const body[]){__VA_ARGS__},                                                       \
             (int)(sizeof((const body[]){__VA_ARGS__}) / sizeof(body)))

/* ---- depth 1: one order */

static int set_x(struct shared *s)
{
    put(&s->x, 1);
    return 0;
}
static int need_x(struct shared *s)
{
    return get(&s->x) == 1 || s->fixed ? 0 : -EILSEQ;
}
static int reads_too_early(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    return TOGETHER(&s, set_x, need_x);
}

static int use_it(struct shared *s)
{
    return get(&s->x) == 0 || s->fixed ? 0 : -EILSEQ;
}
static int used_after_release(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    return TOGETHER(&s, use_it, set_x);
}

static int config_late(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    struct part part = {&s, need_x};
    vitro_task *worker = vitro_spawn(run_part, &part, .name = "worker");

    put(&s.x, 1);
    return vitro_join(worker);
}

static int await_x(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    if (get(&s->x) == 0) {
        if (!s->fixed)
            vitro_lock(&s->a);
        vitro_wait(&s->cond, &s->a);
        if (!s->fixed)
            vitro_unlock(&s->a);
    }
    if (s->fixed)
        vitro_unlock(&s->a);
    return 0;
}
static int signal_x(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    put(&s->x, 1);
    vitro_signal(&s->cond);
    if (s->fixed)
        vitro_unlock(&s->a);
    return 0;
}
static int wakeup_lost(void *arg)
{
    struct shared s = {.a = VITRO_MUTEX("a"), .cond = VITRO_COND("x set"), .fixed = arg != NULL};
    return TOGETHER(&s, await_x, signal_x);
}

/* ---- depth 2: one order within another */

static int increment(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    put(&s->x, get(&s->x) + 10);
    if (s->fixed)
        vitro_unlock(&s->a);
    return 0;
}
static int update_lost(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    (void)TOGETHER(&s, increment, increment);
    return s.x == 20 ? 0 : -EILSEQ;
}

static int claim(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    if (get(&s->x) == 0) {
        put(&s->x, 1);
        s->y++;
    }
    if (s->fixed)
        vitro_unlock(&s->a);
    return 0;
}
static int claimed_twice(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    (void)TOGETHER(&s, claim, claim);
    return s.y == 1 ? 0 : -EILSEQ;
}

static int lock_ab(struct shared *s)
{
    vitro_lock(&s->a);
    vitro_lock(&s->b);
    vitro_unlock(&s->b);
    vitro_unlock(&s->a);
    return 0;
}
static int lock_ba(struct shared *s)
{
    if (s->fixed)
        return lock_ab(s);
    vitro_lock(&s->b);
    vitro_lock(&s->a);
    vitro_unlock(&s->a);
    vitro_unlock(&s->b);
    return 0;
}
static int locks_crosswise(void *arg)
{
    struct shared s = {.a = VITRO_MUTEX("a"), .b = VITRO_MUTEX("b"), .fixed = arg != NULL};
    return TOGETHER(&s, lock_ab, lock_ba);
}

static int two_sections(struct shared *s)
{
    vitro_lock(&s->a);
    int seen = s->x;
    if (!s->fixed) {
        vitro_unlock(&s->a);
        vitro_lock(&s->a);
    }
    s->x = seen + 1;
    vitro_unlock(&s->a);
    return 0;
}
static int section_split(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    (void)TOGETHER(&s, two_sections, two_sections);
    return s.x == 2 ? 0 : -EILSEQ;
}

/* ---- depth 3: two windows */

static int write_pair(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    put(&s->x, 1);
    put(&s->y, 1);
    if (s->fixed)
        vitro_unlock(&s->a);
    return 0;
}
static int read_pair_twice(struct shared *s)
{
    if (s->fixed)
        vitro_lock(&s->a);
    int y = get(&s->y), x = get(&s->x);
    int again = get(&s->y);
    if (s->fixed)
        vitro_unlock(&s->a);
    return y == 0 && x == 1 && again == 1 ? -EILSEQ : 0; /* old, new, new: torn */
}
static int pair_torn(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    return TOGETHER(&s, read_pair_twice, write_pair);
}

static int ping(struct shared *s)
{
    put(&s->x, 1);
    if (get(&s->y) == 1 && !s->fixed)
        s->z = 1;
    put(&s->x, 0);
    return 0;
}
static int pong(struct shared *s)
{
    if (get(&s->x) == 1) {
        put(&s->y, 1); /* for a moment only */
        put(&s->y, 0);
    }
    return 0;
}
static int window_in_window(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    (void)TOGETHER(&s, ping, pong);
    return s.z ? -EILSEQ : 0;
}

static int first_two(struct shared *s)
{
    vitro_lock(&s->a);
    vitro_lock(&s->b);
    vitro_unlock(&s->b);
    vitro_unlock(&s->a);
    return 0;
}
static int second_two(struct shared *s)
{
    vitro_lock(&s->b);
    vitro_lock(&s->c);
    vitro_unlock(&s->c);
    vitro_unlock(&s->b);
    return 0;
}
static int third_two(struct shared *s)
{
    vitro_lock(s->fixed ? &s->a : &s->c);
    vitro_lock(s->fixed ? &s->c : &s->a);
    vitro_unlock(s->fixed ? &s->c : &s->a);
    vitro_unlock(s->fixed ? &s->a : &s->c);
    return 0;
}
static int three_in_a_ring(void *arg)
{
    struct shared s = {
        .a = VITRO_MUTEX("a"), .b = VITRO_MUTEX("b"), .c = VITRO_MUTEX("c"), .fixed = arg != NULL};
    return TOGETHER(&s, first_two, second_two, third_two);
}

static int all_but_one_lost(void *arg)
{
    struct shared s = {.fixed = arg != NULL};
    (void)TOGETHER(&s, increment, increment, increment);
    return s.x == 10 ? -EILSEQ : 0;
}

/* ---- the table */

static const struct bug {
    const char *name;
    vitro_fn fn;
    unsigned depth;
    enum vitro_kind kind;
    unsigned preemptions; /* the fewest that show it */
} bugs[] = {
    {"reads_too_early", reads_too_early, 1, VITRO_ERROR, 0},
    {"used_after_release", used_after_release, 1, VITRO_ERROR, 0},
    {"config_late", config_late, 1, VITRO_ERROR, 1},
    {"wakeup_lost", wakeup_lost, 2, VITRO_DEADLOCK, 1},
    {"update_lost", update_lost, 2, VITRO_ERROR, 1},
    {"claimed_twice", claimed_twice, 2, VITRO_ERROR, 1},
    {"locks_crosswise", locks_crosswise, 2, VITRO_DEADLOCK, 1},
    {"section_split", section_split, 2, VITRO_ERROR, 1},
    {"pair_torn", pair_torn, 2, VITRO_ERROR, 1},
    {"window_in_window", window_in_window, 3, VITRO_ERROR, 2},
    {"three_in_a_ring", three_in_a_ring, 3, VITRO_DEADLOCK, 1},
    {"all_but_one_lost", all_but_one_lost, 3, VITRO_ERROR, 1},
};

/* 7 n k^(d-1), with n and k of a run without preemptions. */
static uint64_t runs_promised(const struct bug *bug)
{
    struct session s;
    CLEANUP(decider_free) struct decider *random = decider_random_new(1);

    session_init(&s, bug->fn, NULL, &(struct vitro_check_options){0}, false);
    session_run(&s, random, NULL);
    double n = s.sched->core.task_count, k = (double)s.sched->core.decision_count;
    sched_reset(s.sched, decider_fifo_new(), false);
    session_done(&s);
    return (uint64_t)(7 * n * pow(k < 2 ? 2 : k, bug->depth - 1));
}

static void find_with(enum vitro_strategy strategy)
{
    for (size_t i = 0; i < ARRAY_LENGTH(bugs); i++) {
        uint64_t runs = runs_promised(&bugs[i]);
        struct vitro_verdict v =
            vitro_check(bugs[i].fn, NULL, .name = bugs[i].name, .strategy = strategy,
                        .depth = bugs[i].depth, .schedules = runs);
        if (v.kind != bugs[i].kind)
            check_fail(__FILE__, __LINE__, "%s: %s in %llu runs, not %s", bugs[i].name,
                       vitro_kind_name(v.kind), (unsigned long long)runs,
                       vitro_kind_name(bugs[i].kind));
        if (v.preemptions != bugs[i].preemptions || !v.minimal)
            check_fail(__FILE__, __LINE__, "%s: shrunk to %llu preemptions%s, not %u\n%s",
                       bugs[i].name, (unsigned long long)v.preemptions,
                       v.minimal ? "" : " (not minimal)", bugs[i].preemptions, v.report);
        vitro_verdict_done(&v);
    }
}

TEST(pct_finds_twelve_bugs_within_its_bound_and_shrinks_them_to_the_fewest_preemptions)
{
    find_with(VITRO_PCT);
}

TEST(pos_finds_twelve_bugs_in_as_many_runs)
{
    find_with(VITRO_POS);
}

TEST(surw_finds_twelve_bugs_in_as_many_runs)
{
    find_with(VITRO_SURW);
}

TEST(random_preemptions_delays_mutation_and_the_portfolio_find_them_too)
{
    static const enum vitro_strategy strategies[] = {VITRO_RANDOM, VITRO_PREEMPTIONS, VITRO_DELAYS,
                                                     VITRO_MUTATE, VITRO_PORTFOLIO,   VITRO_DFS,
                                                     VITRO_DPOR};

    for (size_t k = 0; k < ARRAY_LENGTH(strategies); k++)
        for (size_t i = 0; i < ARRAY_LENGTH(bugs); i++) {
            struct vitro_verdict v =
                vitro_check(bugs[i].fn, NULL, .name = bugs[i].name, .strategy = strategies[k],
                            .bound = 3, .schedules = 20000, .no_shrink = true);
            if (v.kind != bugs[i].kind)
                check_fail(__FILE__, __LINE__, "%s: %s with %s", bugs[i].name,
                           vitro_kind_name(v.kind), vitro_strategy_name(strategies[k]));
            vitro_verdict_done(&v);
        }
}

TEST(every_failure_replays_one_hundred_times_of_one_hundred)
{
    for (size_t i = 0; i < ARRAY_LENGTH(bugs); i++) {
        struct vitro_verdict v = vitro_check(bugs[i].fn, NULL, .schedules = 20000);
        CHECK_INT(v.kind, bugs[i].kind);
        for (int n = 0; n < 100; n++) {
            struct vitro_verdict again = vitro_replay(bugs[i].fn, NULL, v.shrunk);
            CHECK_INT(again.kind, bugs[i].kind);
            CHECK_INT(again.result, v.result);
            vitro_verdict_done(&again);
        }
        vitro_verdict_done(&v);
    }
}

TEST(without_the_bug_every_schedule_is_proved_right)
{
    int fixed = 1;

    for (size_t i = 0; i < ARRAY_LENGTH(bugs); i++) {
        struct vitro_verdict v = vitro_prove(bugs[i].fn, &fixed, .name = bugs[i].name);
        if (v.kind != VITRO_OK || !v.complete)
            check_fail(__FILE__, __LINE__, "%s", v.report);
        CHECK_HAS(v.report, "fully explored");
        vitro_verdict_done(&v);
    }
}

TEST(the_reduced_search_runs_each_class_that_the_plain_one_sees_once)
{
    int fixed = 1;

    for (size_t i = 0; i < 2 * ARRAY_LENGTH(bugs); i++) {
        const struct bug *bug = &bugs[i / 2];
        void *arg = i % 2 ? &fixed : NULL;
        struct vitro_outcomes plain =
            vitro_explore(bug->fn, arg, .strategy = VITRO_DFS, .schedules = 400000);
        struct vitro_outcomes reduced =
            vitro_explore(bug->fn, arg, .strategy = VITRO_DPOR, .schedules = 400000);
        if (plain.complete && (plain.distinct != reduced.schedules || !reduced.complete ||
                               plain.count != reduced.count))
            check_fail(__FILE__, __LINE__, "%s: %llu classes, %llu runs; %zu and %zu outcomes",
                       bug->name, (unsigned long long)plain.distinct,
                       (unsigned long long)reduced.schedules, plain.count, reduced.count);
        vitro_outcomes_done(&plain);
        vitro_outcomes_done(&reduced);
    }
}
