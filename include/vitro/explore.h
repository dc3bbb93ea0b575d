/* SPDX-License-Identifier: MIT */
/* vitro/explore.h: the schedule that breaks it, or the proof that none does.
 *
 *     static int deposits(void *arg)              builds its own state: it runs once a schedule
 *     {
 *         struct account a = {0};
 *         vitro_task *left = vitro_spawn(worker, &a, .name = "left");
 *         vitro_task *right = vitro_spawn(worker, &a, .name = "right");
 *         vitro_join(left);
 *         vitro_join(right);
 *         return a.balance;
 *     }
 *
 *     vitro_assert_ok(vitro_check(deposits, NULL, .want = 20, .schedules = 1000));
 *     vitro_assert_ok(vitro_prove(deposits, NULL, .want = 20));
 *
 * A run fails when its result is not what was wanted, when it returns a failure, when it ends in a
 * deadlock, a livelock, a budget or a signal, or when it leaves tasks behind. The first failure is
 * run twice more to see that it repeats, made small (fewest preemptions), and described on one
 * screen: who ran when, the pair of operations whose order decides, and how to run it again.
 *
 * WHAT IS TAKEN TO BE SHARED. vitro_prove tries one schedule of every class that differs only in
 * the order of steps that have nothing to do with each other. Operations on objects of
 * vitro/sched.h and vitro_read/vitro_write say what they touch. Plain memory is taken to be touched
 * by code that runs up to or on from a vitro_yield or vitro_sleep, and otherwise to be protected by
 * the objects; with .opaque every step is taken to touch it.
 *
 * The seed is 1 unless given; VITRO_SEED and VITRO_SCHEDULES in the environment go before what the
 * program says, and VITRO_SCHEDULE (a file, or the text itself) replays. */
#ifndef VITRO_EXPLORE_H
#define VITRO_EXPLORE_H

#include "vitro/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_check_options {
    const char *name; /* of the test, for replays and reports; NULL: "test" */
    int want;         /* the result must be this, if it is not 0 ... */
    bool exact;       /* ... or if this is set. Otherwise failures (below 0) fail */
    bool (*property)(void *arg, int result); /* instead: says whether the result is right */
    void *(*make)(void *arg);     /* called before every run: what it returns is the run's arg */
    void (*unmake)(void *made);   /* called after it */
    uint64_t seed;                /* 0: 1 */
    uint64_t schedules;           /* how many to try; 0: 1,000 (prove: 10,000,000) */
    enum vitro_strategy strategy; /* VITRO_DEFAULT: the portfolio (prove: VITRO_DPOR) */
    unsigned depth;               /* of VITRO_PCT; 0: 3 */
    unsigned bound;               /* of VITRO_PREEMPTIONS and VITRO_DELAYS; 0: 2 */
    unsigned workers;     /* processes that share the work; 0: 1. Not for exhaustive searches */
    bool isolate;         /* runs in child processes: a crash is a verdict, not the end */
    uint64_t max_steps;   /* of one run; 0: 100,000 */
    uint64_t max_time_ns; /* virtual, of one run; 0: no limit */
    uint64_t max_wall_ns; /* real, of all of it; 0: no limit. What was tried by then counts */
    bool allow_leaks;
    bool spurious;     /* as in struct vitro_sched_options */
    bool early_timers; /* the same; VITRO_DPOR then searches like VITRO_DFS, which takes longer */
    bool opaque;       /* every step is taken to touch plain memory */
    bool no_shrink;
    bool no_selfcheck;
    bool progress;    /* a line on standard error, if it is a terminal */
    const char *save; /* a file for the schedule of a failure; NULL: none */
    uint64_t start_ns;
    size_t stack_size;
};

struct vitro_verdict {
    enum vitro_kind kind; /* VITRO_OK: no run failed */
    bool complete;        /* every schedule (of a bounded search: within the bound) was covered */
    bool minimal;         /* no schedule with fewer preemptions fails this way */
    int result;           /* of the failing run */
    uint64_t schedules;   /* runs that were finished */
    uint64_t cut;         /* runs that were not: their class was seen */
    uint64_t distinct;    /* classes of schedules seen, counted up to a million */
    uint64_t steps;       /* of all runs */
    uint64_t seed, index; /* which run failed, from 0 */
    uint64_t preemptions; /* of the shrunk schedule */
    uint64_t preemptions_before;
    double miss; /* of VITRO_PCT: bound on the chance that a bug of that depth was missed */
    const char *strategy; /* at work when it failed */
    char *error;    /* what was wrong, in a sentence; owned, as all that follow; may be NULL */
    char *schedule; /* as it was found */
    char *shrunk;   /* and made small: give it to vitro_replay */
    char *lanes;    /* who ran when */
    char *report;   /* the screen; never NULL after a check */
};
VITRO_API void vitro_verdict_done(struct vitro_verdict *verdict);

#define vitro_check(fn, arg, ...)                                                                  \
    vitro_check_with(fn, arg, &(struct vitro_check_options){__VA_ARGS__})
VITRO_API struct vitro_verdict vitro_check_with(vitro_fn fn, void *arg,
                                                const struct vitro_check_options *options);
/* Exhaustive: ok and complete means that no schedule fails. */
#define vitro_prove(fn, arg, ...)                                                                  \
    vitro_prove_with(fn, arg, &(struct vitro_check_options){__VA_ARGS__})
VITRO_API struct vitro_verdict vitro_prove_with(vitro_fn fn, void *arg,
                                                const struct vitro_check_options *options);

/* Runs one schedule: a text of ours, as found, shrunk or edited. Strict: what does not fit is
 * VITRO_DIVERGED and names the first difference. */
struct vitro_replay_options {
    struct vitro_check_options check;
    bool tolerant; /* goes on with the dull choice instead; the first difference is in error */
};
#define vitro_replay(fn, arg, schedule, ...)                                                       \
    vitro_replay_with(fn, arg, schedule, &(struct vitro_replay_options){__VA_ARGS__})
VITRO_API struct vitro_verdict vitro_replay_with(vitro_fn fn, void *arg, const char *schedule,
                                                 const struct vitro_replay_options *options);
/* Makes a failing schedule small. */
VITRO_API struct vitro_verdict vitro_shrink_with(vitro_fn fn, void *arg, const char *schedule,
                                                 const struct vitro_check_options *options);

/* What can come out: by the result, or by what vitro_outcome said, or by the kind of failure. */
struct vitro_outcome {
    char *label; /* "10", "deadlock"; owned */
    int result;
    enum vitro_kind kind;
    uint64_t count;
    char *schedule; /* the shortest that gave it (fewest preemptions, then steps); owned */
    uint64_t preemptions, steps;
};
struct vitro_outcomes {
    struct vitro_outcome *list; /* owned; most frequent first */
    size_t count;
    uint64_t schedules, distinct, seed;
    double unseen; /* estimate of the share of schedules with an outcome not seen */
    bool complete;
};
#define vitro_explore(fn, arg, ...)                                                                \
    vitro_explore_with(fn, arg, &(struct vitro_check_options){__VA_ARGS__})
VITRO_API struct vitro_outcomes vitro_explore_with(vitro_fn fn, void *arg,
                                                   const struct vitro_check_options *options);
VITRO_API void vitro_outcomes_done(struct vitro_outcomes *outcomes);
/* In a task: names the outcome of this run. */
VITRO_API void vitro_outcome(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the report of a failure and ends the program, or calls what was set here (which may jump
 * out); releases the verdict. */
#define vitro_assert_ok(verdict) vitro_assert_ok_at(verdict, __FILE__, __LINE__)
VITRO_API void vitro_assert_ok_at(struct vitro_verdict verdict, const char *file, int line);
VITRO_API void vitro_on_failure(void (*fail)(const char *report, const char *file, int line));

/* ------------------------------------------------------------------ test programs
 *
 * A program whose main is vitro_main, or that calls vitro_args first, understands
 *     --vitro-list              the names of its tests
 *     --vitro-replay FILE       replays a schedule; other tests are not run
 *     --vitro-shrink FILE OUT   makes it small
 *     --vitro-seed N, --vitro-schedules N
 */
struct vitro_test {
    const char *name;
    vitro_fn fn;
    void *arg;
    struct vitro_check_options options;
    bool prove;
    struct vitro_test *next;
};
VITRO_API void vitro_test_add(struct vitro_test *test);
#define VITRO_CHECK(function, ...)                                                                 \
    static struct vitro_test vitro_test_##function = {                                             \
        .name = #function, .fn = function, .options = {__VA_ARGS__}};                              \
    __attribute__((constructor)) static void vitro_add_##function(void)                            \
    {                                                                                              \
        vitro_test_add(&vitro_test_##function);                                                    \
    }
#define VITRO_PROVE(function, ...)                                                                 \
    static struct vitro_test vitro_test_##function = {                                             \
        .name = #function, .fn = function, .options = {__VA_ARGS__}, .prove = true};               \
    __attribute__((constructor)) static void vitro_add_##function(void)                            \
    {                                                                                              \
        vitro_test_add(&vitro_test_##function);                                                    \
    }
/* Takes the --vitro options out of the arguments. 0, or -EINVAL with words in vitro_error(NULL). */
VITRO_API int vitro_args(int *argc, char **argv);
/* Runs every registered test and prints TAP; returns the exit status. */
VITRO_API int vitro_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
